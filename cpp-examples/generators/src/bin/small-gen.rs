//! Scratch.
use arraygpu::f16;
use arraygpu::prelude::*;
use arraygpu_examples::{filters, groups, narrow, products, rows, volumes};

fn main() -> arraygpu::Result<()> {
    Package::new("rows")
        .function("softmax", ["x"], "result", rows::softmax::<f32>)
        .function("softmax_f64", ["x"], "result", rows::softmax::<f64>)
        .function("layer_norm", ["x"], "result", rows::layer_norm)
        .function("softmax_cols", ["x"], "result", |x: MExp<f32>| x.softmax_cols())
        .function("normalise_cols", ["x"], "result", |x: MExp<f32>| x.normalise_cols())
        .function("u8_to_f32", ["x"], "result", narrow::u8_to_f32)
        .function("u8_box3", ["x"], "result", |x: MExp<u8>| narrow::box3(x, Boundary::Clamp))
        .function("separable17", ["x"], "result", filters::separable17)
        .function("std", ["x"], "result", rows::std)
        .function("std_rows", ["x"], "result", |x: MExp<f32>| x.std_rows(0))
        .function("std_cols", ["x"], "result", |x: MExp<f32>| x.std_cols(0))
        .function("sum_f16", ["x"], "result", narrow::sum::<f16, f32>)
        .function("matmul_f32", ["a", "b"], "result", products::product::<f32>)
        .function("matmul_bt_f32", ["a", "b"], "result", products::transposed::<f32>)
        .function("batches_f32", ["a", "b"], "result", products::batches::<f32>)
        .function("laplace3d", ["u"], "result", volumes::laplace3d)
        .function("laplace27", ["u"], "result", volumes::laplace27)
        .function("histogram_256", ["x"], "counts", groups::histogram_256)
        .function("max_f64", ["x"], "result", |x: MExp<f64>| x.map_rows(|row| row.max()))
        .function("min_f64", ["x"], "result", |x: MExp<f64>| x.map_rows(|row| row.min()))
        .function("each_f64", ["x"], "result", |x: MExp<f64>| x.map(|v| v.max(0.0) - (v * 2.0).min(v)))
        .run()
}
