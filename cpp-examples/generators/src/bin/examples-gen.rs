//! The package `examples`: what the C++ programs of `cpp-examples/` call.

use arraygpu::prelude::*;
use arraygpu_examples::*;
use moving_average::{average, triangle};

fn main() -> arraygpu::Result<()> {
    Package::new("examples")
        .function("saxpy", ["a", "x", "y"], "result", saxpy::saxpy)
        .doc(saxpy::DOC)
        .function("sdot", ["x", "y"], "result", sdot::sdot)
        .doc(sdot::DOC)
        .function("rmse", ["x", "y"], "result", rmse::rmse)
        .doc(rmse::DOC)
        .function("wmavg", ["xs"], "result", moving_average::wmavg(&moving_average::spencer()))
        .doc(moving_average::WMAVG_DOC)
        .function("forward_difference", ["xs"], "result", forward_difference::forward_difference)
        .doc(forward_difference::DOC)
        .function(
            "black_scholes",
            ["price", "strike", "years", "rate", "volatility"],
            ["call", "put"],
            black_scholes::black_scholes,
        )
        .doc(black_scholes::DOC)
        .function("et_add", ["b", "c"], "a", expression_templates::add)
        .doc(expression_templates::ADD_DOC)
        .function("et_axpby", ["b", "c"], "a", expression_templates::axpby)
        .doc(expression_templates::AXPBY_DOC)
        .function("et_expr3", ["a", "b", "c"], "result", expression_templates::expr3)
        .doc(expression_templates::EXPR3_DOC)
        .function("et_normalise", ["a"], "result", expression_templates::normalise)
        .doc(expression_templates::NORMALISE_DOC)
        .function("standardise", ["x"], ["mean", "deviation", "scores"], standardise::standardise)
        .doc(standardise::DOC)
        .function("rmse_unfused", ["x", "y"], "result", rmse::rmse_unfused)
        .doc(rmse::UNFUSED_DOC)
        .function("average31", ["xs"], "result", average(&triangle(31)))
        .doc(moving_average::TRIANGLE_DOC)
        .function("average63", ["xs"], "result", average(&triangle(63)))
        .doc(moving_average::TRIANGLE_DOC)
        .function("double_arr", ["xs"], "output", double_arr::double_arr)
        .doc(double_arr::DOC)
        .function("jacobi", ["m"], "result", jacobi::jacobi)
        .doc(jacobi::DOC)
        .function("jacobi_clamped", ["m"], "result", jacobi::jacobi_clamped)
        .doc(jacobi::CLAMPED_DOC)
        .function("jacobi_steps", ["m", "k"], "result", jacobi::jacobi_steps)
        .doc(jacobi::STEPS_DOC)
        .function("waves", ["u", "before", "speed2", "k"], ["u_new", "before_new"], jacobi::waves)
        .doc(jacobi::WAVES_DOC)
        .function("box3", ["m"], "result", filters::box3)
        .doc(filters::BOX_DOC)
        .function("gaussian3", ["m"], "result", filters::gaussian3)
        .doc(filters::GAUSSIAN_DOC)
        .function(
            "group_statistics",
            ["x", "group", "n"],
            ["counts", "sums", "means"],
            groups::group_statistics,
        )
        .doc(groups::GROUP_STATISTICS_DOC)
        .function("positive", ["x"], ["kept", "count"], groups::positive)
        .doc(groups::POSITIVE_DOC)
        .function("positive_first", ["x"], ["parts", "count"], groups::positive_first)
        .doc(groups::POSITIVE_FIRST_DOC)
        .function("positive_sum", ["x"], "sum", groups::positive_sum)
        .doc(groups::POSITIVE_SUM_DOC)
        .function("run_lengths", ["x"], ["values", "lengths", "count"], groups::run_lengths)
        .doc(groups::RUN_LENGTHS_DOC)
        .function("group_begins", ["keys"], ["occurring", "begins", "count"], groups::group_begins)
        .doc(groups::GROUP_BEGINS_DOC)
        .function("weighted_positive", ["x", "w"], "result", groups::weighted_positive)
        .doc(groups::WEIGHTED_POSITIVE_DOC)
        .function("equalised", ["x"], "result", groups::equalised)
        .doc(groups::EQUALISED_DOC)
        .function("csr_by_vector", ["offsets", "columns", "values", "x"], "result", groups::csr_by_vector)
        .doc(groups::CSR_BY_VECTOR_DOC)
        .function("row_sums", ["m"], "result", matrices::row_sums)
        .doc(matrices::ROW_SUMS_DOC)
        .function("col_sums", ["m"], "result", matrices::col_sums)
        .doc(matrices::COL_SUMS_DOC)
        .function("means", ["m"], ["rows", "cols"], matrices::means)
        .doc(matrices::MEANS_DOC)
        .function("matvec", ["m", "v"], "result", matrices::matvec)
        .doc(matrices::MATVEC_DOC)
        .function("outer", ["x", "y"], "result", matrices::outer)
        .doc(matrices::OUTER_DOC)
        .function("transpose", ["m"], "result", matrices::transpose)
        .doc(matrices::TRANSPOSE_DOC)
        .function("scaled", ["a", "m"], "result", matrices::scaled)
        .doc(matrices::SCALED_DOC)
        .function("plane_means", ["t"], ["means", "picture"], matrices::plane_means)
        .doc(matrices::PLANES_DOC)
        .function(
            "accelerations",
            ["x", "y", "z", "mass", "epsilon2"],
            ["ax", "ay", "az"],
            nbody::accelerations,
        )
        .doc(nbody::DOC)
        .function(
            "accelerations_staged",
            ["x", "y", "z", "mass", "epsilon2"],
            ["ax", "ay", "az"],
            staged::accelerations_staged,
        )
        .doc(staged::ACCELERATIONS_DOC)
        .function("total", ["x"], "result", total::total)
        .doc(total::DOC)
        .function("total_staged", ["x"], "result", staged::total_staged)
        .doc(staged::TOTAL_DOC)
        .function("convolution", ["x", "radius"], "result", staged::convolution)
        .doc(staged::CONVOLUTION_DOC)
        .function("convolution_staged", ["x", "radius"], "result", staged::convolution_staged)
        .doc(staged::STAGED_CONVOLUTION_DOC)
        .run()
}
