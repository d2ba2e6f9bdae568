//! The package `rows`: what `bench/torch_rows.py` times beside PyTorch.

use arraygpu::prelude::*;
use arraygpu_examples::rows;

fn main() -> arraygpu::Result<()> {
    Package::new("rows")
        .function("softmax", ["x"], "result", rows::softmax::<f32>)
        .doc(rows::SOFTMAX_DOC)
        .function("softmax_f64", ["x"], "result", rows::softmax::<f64>)
        .doc(rows::SOFTMAX_DOC)
        .function("layer_norm", ["x"], "result", rows::layer_norm)
        .doc(rows::LAYER_NORM_DOC)
        .function("shares", ["x"], "result", rows::shares)
        .doc(rows::SHARES_DOC)
        .run()
}
