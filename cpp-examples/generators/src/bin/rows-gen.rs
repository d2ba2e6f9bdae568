//! The package `rows`: what `bench/torch_rows.py`, `torch_narrow.py`, `torch_products.py`, `torch_loops.py`, `torch_scans.py` and `torch_groups.py` time beside their peers.

use arraygpu::prelude::*;
use arraygpu::{bf16, f16};
use arraygpu_examples::{
    filters, groups, loops, narrow, products, reaction, rof, rows, scans, settle, volumes,
};

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
        .function("softmax_cols", ["x"], "result", |x: MExp<f32>| x.softmax_cols())
        .doc(rows::SOFTMAX_COLS_DOC)
        .function("normalise_cols", ["x"], "result", |x: MExp<f32>| x.normalise_cols())
        .doc(rows::NORMALISE_COLS_DOC)
        .function("standardise_cols", ["x"], "result", rows::standardise_cols)
        .doc(rows::STANDARDISE_COLS_DOC)
        .function("deviation", ["x"], "result", rows::deviation)
        .doc(rows::DEVIATION_DOC)
        .function("grey", ["r", "g", "b"], "result", narrow::grey)
        .doc(narrow::GREY_DOC)
        .function("grey_interleaved", ["image"], "result", narrow::grey_interleaved)
        .doc(narrow::INTERLEAVED_DOC)
        .function("u8_to_f32", ["x"], "result", narrow::u8_to_f32)
        .doc(narrow::TO_F32_DOC)
        .function("f32_to_u8", ["x"], "result", narrow::f32_to_u8)
        .doc(narrow::TO_U8_DOC)
        .function("f16_map", ["x", "y"], "result", narrow::f16_map)
        .doc(narrow::F16_MAP_DOC)
        .function("u8_box3", ["x"], "result", |x: MExp<u8>| narrow::box3(x, Boundary::Clamp))
        .doc(narrow::BOX3_DOC)
        .function("u8_box3_wrapped", ["x"], "result", |x: MExp<u8>| narrow::box3(x, Boundary::Wrap))
        .doc(narrow::BOX3_WRAPPED_DOC)
        .function("separable17", ["x"], "result", filters::separable17)
        .doc(filters::SEPARABLE_DOC)
        .function("separable17_two", ["x"], ["along_rows", "result"], filters::separable17_two)
        .doc(filters::SEPARABLE_TWO_DOC)
        .function("separable17_clamped", ["x"], "result", filters::separable17_clamped)
        .doc(filters::SEPARABLE_CLAMPED_DOC)
        .function("unsharp17", ["x"], "result", filters::unsharp17)
        .doc(filters::UNSHARP_DOC)
        .function("std", ["x"], "result", rows::std)
        .doc(rows::STD_DOC)
        .function("std_rows", ["x"], "result", |x: MExp<f32>| x.std_rows(0))
        .doc(rows::STD_ROWS_DOC)
        .function("sum_rows", ["x"], "result", |x: MExp<f32>| x.sum_rows())
        .doc("The sum of each row.")
        .function("argmax_rows", ["x"], "result", |x: MExp<f32>| x.argmax_rows())
        .doc("Where the greatest element of each row is.")
        .function("std_cols", ["x"], "result", |x: MExp<f32>| x.std_cols(0))
        .doc(rows::STD_COLS_DOC)
        .function("exponentials", ["x"], ["e", "sums"], rows::exponentials)
        .doc(rows::EXPONENTIALS_DOC)
        .function("unit", ["x"], "result", rows::unit)
        .doc(rows::UNIT_DOC)
        .function("atax", ["a", "x"], "result", rows::atax)
        .doc(rows::ATAX_DOC)
        .function(
            "rank2_matvec",
            ["a", "u1", "v1", "u2", "v2", "y", "z"],
            ["b", "result"],
            rows::rank2_matvec,
        )
        .doc(rows::RANK2_MATVEC_DOC)
        .function("u8_transpose", ["x"], "result", narrow::transpose::<u8>)
        .doc(narrow::TRANSPOSE_DOC)
        .function("f16_transpose", ["x"], "result", narrow::transpose::<f16>)
        .doc(narrow::TRANSPOSE_DOC)
        .function("f32_transpose", ["x"], "result", narrow::transpose::<f32>)
        .doc(narrow::TRANSPOSE_DOC)
        .function("f64_transpose", ["x"], "result", narrow::transpose::<f64>)
        .doc(narrow::TRANSPOSE_DOC)
        .function("add_transposed", ["x", "y"], "result", |x: MExp<f32>, y: MExp<f32>| x + y.transpose())
        .doc("A matrix plus another one transposed.")
        .function("sum_u8", ["x"], "result", narrow::sum::<u8, u32>)
        .doc(narrow::SUM_DOC)
        .function("sum_i16", ["x"], "result", narrow::sum::<i16, i32>)
        .doc(narrow::SUM_DOC)
        .function("sum_f16", ["x"], "result", narrow::sum::<f16, f32>)
        .doc(narrow::SUM_DOC)
        .function("sum_bf16", ["x"], "result", narrow::sum::<bf16, f32>)
        .doc(narrow::SUM_DOC)
        .function("sum_f32", ["x"], "result", narrow::sum::<f32, f32>)
        .doc(narrow::SUM_DOC)
        .function("matmul_f32", ["a", "b"], "result", products::product::<f32>)
        .doc(products::PRODUCT_DOC)
        .function("matmul_bt_f32", ["a", "b"], "result", products::transposed::<f32>)
        .doc(products::TRANSPOSED_DOC)
        .function("bias_gelu_f32", ["a", "b", "bias"], "result", products::bias_gelu::<f32>)
        .doc(products::BIAS_GELU_DOC)
        .function("batches_f32", ["a", "b"], "result", products::batches::<f32>)
        .doc(products::BATCHES_DOC)
        .function("matmul_f16_tensor", ["a", "b"], "result", products::product::<f16>)
        .doc(products::PRODUCT_DOC)
        .tensor_cores()
        .function("matmul_bt_f16_tensor", ["a", "b"], "result", products::transposed::<f16>)
        .doc(products::TRANSPOSED_DOC)
        .tensor_cores()
        .function("bias_gelu_f16_tensor", ["a", "b", "bias"], "result", products::bias_gelu::<f16>)
        .doc(products::BIAS_GELU_DOC)
        .tensor_cores()
        .function("matmul_bf16_tensor", ["a", "b"], "result", products::product::<bf16>)
        .doc(products::PRODUCT_DOC)
        .tensor_cores()
        .function("matmul_bt_bf16_tensor", ["a", "b"], "result", products::transposed::<bf16>)
        .doc(products::TRANSPOSED_DOC)
        .tensor_cores()
        .function("bias_gelu_bf16_tensor", ["a", "b", "bias"], "result", products::bias_gelu::<bf16>)
        .doc(products::BIAS_GELU_DOC)
        .tensor_cores()
        .function("matmul_tf32_tensor", ["a", "b"], "result", products::product::<f32>)
        .doc(products::PRODUCT_DOC)
        .tensor_cores()
        .function("matmul_bt_tf32_tensor", ["a", "b"], "result", products::transposed::<f32>)
        .doc(products::TRANSPOSED_DOC)
        .tensor_cores()
        .function("bias_gelu_tf32_tensor", ["a", "b", "bias"], "result", products::bias_gelu::<f32>)
        .doc(products::BIAS_GELU_DOC)
        .tensor_cores()
        .function("batches_f16_tensor", ["a", "b"], "result", products::batches::<f16>)
        .doc(products::BATCHES_DOC)
        .tensor_cores()
        .function("batches_bf16_tensor", ["a", "b"], "result", products::batches::<bf16>)
        .doc(products::BATCHES_DOC)
        .tensor_cores()
        .function("batches_tf32_tensor", ["a", "b"], "result", products::batches::<f32>)
        .doc(products::BATCHES_DOC)
        .tensor_cores()
        .function("scaled_until", ["x", "factor"], ["result", "steps"], |x: VExp<f32>, factor: SExp<f32>| {
            settle::scaled_until(x, factor, 1)
        })
        .doc(settle::SCALED_DOC)
        .function(
            "scaled_until_10",
            ["x", "factor"],
            ["result", "steps"],
            |x: VExp<f32>, factor: SExp<f32>| settle::scaled_until(x, factor, 10),
        )
        .doc(settle::SCALED_DOC)
        .function("jacobi_until", ["m", "eps"], ["result", "steps"], settle::jacobi_until)
        .doc(settle::JACOBI_DOC)
        .function(
            "rof_until",
            ["f", "u", "p", "q", "alpha", "tau", "sigma", "eps"],
            ["u_new", "p_new", "q_new", "steps"],
            rof::until,
        )
        .doc(rof::UNTIL_DOC)
        .function("laplace3d", ["u"], "result", volumes::laplace3d)
        .doc(volumes::LAPLACE3D_DOC)
        .function("laplace3d_inside", ["u"], "result", volumes::laplace3d_inside)
        .doc(volumes::LAPLACE3D_INSIDE_DOC)
        .function("laplace27", ["u"], "result", volumes::laplace27)
        .doc(volumes::LAPLACE27_DOC)
        .function(
            "rof_step",
            ["f", "u", "p", "q", "alpha", "tau", "sigma"],
            ["u_new", "p_new", "q_new"],
            rof::step,
        )
        .doc(rof::STEP_DOC)
        .function(
            "rof_step_unfused",
            ["f", "u", "p", "q", "alpha", "tau", "sigma"],
            ["u_new", "p_new", "q_new"],
            rof::step_unfused,
        )
        .doc(rof::STEP_UNFUSED_DOC)
        .function("two_states", ["u", "v"], ["u_new", "v_new"], reaction::step)
        .doc(reaction::STEP_DOC)
        .function("two_states4", ["u", "v"], ["u_new", "v_new"], reaction::four_steps)
        .doc(reaction::FOUR_STEPS_DOC)
        .function("mandelbrot", ["cx", "cy"], "result", loops::mandelbrot)
        .doc(loops::MANDELBROT_DOC)
        .function("libor", ["z", "sigma"], "result", loops::libor)
        .doc(loops::LIBOR_DOC)
        .function(
            "d2q9",
            ["f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8"],
            ["g0", "g1", "g2", "g3", "g4", "g5", "g6", "g7", "g8"],
            loops::d2q9,
        )
        .doc(loops::D2Q9_DOC)
        .function(
            "tridiagonal",
            ["a", "b", "c", "d"],
            ["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"],
            loops::tridiagonal,
        )
        .doc(loops::TRIDIAGONAL_DOC)
        .function("kmeans_assign", ["x", "centres"], "result", loops::kmeans_assign)
        .doc(loops::KMEANS_ASSIGN_DOC)
        .function("kmeans_assign_staged", ["x", "centres"], "result", loops::kmeans_assign_staged)
        .doc(loops::KMEANS_ASSIGN_DOC)
        .function("scan_f32", ["x"], "result", scans::prefix_sums::<f32>)
        .doc(scans::PREFIX_SUMS_DOC)
        .function("scan_u32", ["x"], "result", scans::prefix_sums::<u32>)
        .doc(scans::PREFIX_SUMS_DOC)
        .function("scan_map", ["x"], "result", scans::map_scan_map)
        .doc(scans::MAP_SCAN_MAP_DOC)
        .function("scan_recurrence", ["a", "b"], "result", scans::recurrence)
        .doc(scans::RECURRENCE_DOC)
        .function("scan_rows_f32", ["m"], "result", scans::sums_along_rows)
        .doc(scans::SUMS_ALONG_DOC)
        .function("scan_cols_f32", ["m"], "result", scans::sums_along_cols)
        .doc(scans::SUMS_ALONG_DOC)
        .function("scan_segments_f32", ["x", "offsets"], "result", scans::sums_in_segments)
        .doc(scans::SUMS_IN_SEGMENTS_DOC)
        .function("sort_u32", ["x"], ["sorted", "order"], groups::sorted::<u32>)
        .doc(groups::SORTED_DOC)
        .function("sort_f32", ["x"], ["sorted", "order"], groups::sorted::<f32>)
        .doc(groups::SORTED_DOC)
        .function("sort_pairs", ["keys", "values"], ["sorted", "moved"], groups::sorted_pairs)
        .doc(groups::SORTED_PAIRS_DOC)
        .function("positive", ["x"], ["kept", "count"], groups::positive)
        .doc(groups::POSITIVE_DOC)
        .function("positive_first", ["x"], ["parts", "count"], groups::positive_first)
        .doc(groups::POSITIVE_FIRST_DOC)
        .function("positive_sum", ["x"], "sum", groups::positive_sum)
        .doc(groups::POSITIVE_SUM_DOC)
        .function("run_lengths", ["x"], ["values", "lengths", "count"], groups::run_lengths)
        .doc(groups::RUN_LENGTHS_DOC)
        .function("histogram_256", ["x"], "counts", groups::histogram_256)
        .doc(groups::HISTOGRAM_256_DOC)
        .function("histogram_of_reals", ["x"], "counts", groups::histogram_of_reals)
        .doc(groups::HISTOGRAM_OF_REALS_DOC)
        .function("histogram_of_words", ["x", "n"], "counts", groups::histogram_of_words)
        .doc(groups::HISTOGRAM_OF_WORDS_DOC)
        .function("group_totals", ["x", "group", "n"], ["sums", "most"], groups::group_totals)
        .doc(groups::GROUP_TOTALS_DOC)
        .function("scattered", ["x", "group", "n"], "last", groups::scattered)
        .doc(groups::SCATTERED_DOC)
        .function(
            "group_statistics",
            ["x", "group", "n"],
            ["counts", "sums", "means"],
            groups::group_statistics,
        )
        .doc(groups::GROUP_STATISTICS_DOC)
        .function("segment_sums", ["x", "offsets"], "sums", groups::segment_sums)
        .doc(groups::SEGMENT_SUMS_DOC)
        .function("sums_by_key", ["keys", "x"], ["occurring", "sums", "count"], groups::sums_by_key)
        .doc(groups::SUMS_BY_KEY_DOC)
        .function("csr_by_vector", ["offsets", "columns", "values", "x"], "result", groups::csr_by_vector)
        .doc(groups::CSR_BY_VECTOR_DOC)
        .function("mss", ["x"], "result", loops::mss)
        .doc(loops::MSS_DOC)
        .run()
}
