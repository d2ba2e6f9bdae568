//! The package `kernels`: what the benchmarks time, on processors and on GPUs. `BENCH_PACKAGE` gives it another name,
//! so that packages of two compilers can be timed in one process (`arraygpu-gpu-bench --package`).

use arraygpu::prelude::*;
use arraygpu_examples::*;
use moving_average::{average, spencer, triangle};

const OPTION: [&str; 5] = ["price", "strike", "years", "rate", "volatility"];
const BODIES: [&str; 5] = ["x", "y", "z", "mass", "epsilon2"];

/// Stencils, each also without caching: `NAME_direct` (Larsen 2011, figure 5, compares the two).
fn stencils(mut package: Package) -> Package {
    for (suffix, cached) in [("", true), ("_direct", false)] {
        let kept = |p: Package| if cached { p } else { p.stencil(StencilHint::Direct) };
        let name = |name: &str| format!("{name}{suffix}");
        package = kept(package.function(
            name("difference"),
            ["xs"],
            "result",
            forward_difference::forward_difference,
        ));
        for (taps, weights) in [(15, spencer()), (31, triangle(31)), (63, triangle(63))] {
            package =
                kept(package.function(name(&format!("average{taps}")), ["xs"], "result", average(&weights)));
        }
        package = kept(package.function(name("jacobi"), ["m"], "result", jacobi::jacobi));
        for k in [3, 5, 7, 9] {
            package =
                kept(package.function(name(&format!("square{k}")), ["m"], "result", filters::square(k)));
        }
    }
    package
        .function("jacobi_clamped", ["m"], "result", jacobi::jacobi_clamped)
        .doc(jacobi::CLAMPED_DOC)
        .function("jacobi_steps", ["m", "k"], "result", jacobi::jacobi_steps)
        .doc(jacobi::STEPS_DOC)
}

/// Reductions of the rows and of the columns, products with vectors, all pairs.
fn nested(package: Package) -> Package {
    package
        .function("row_sums", ["m"], "result", matrices::row_sums)
        .doc(matrices::ROW_SUMS_DOC)
        .function("col_sums", ["m"], "result", matrices::col_sums)
        .doc(matrices::COL_SUMS_DOC)
        .function("matvec", ["m", "v"], "result", matrices::matvec)
        .doc(matrices::MATVEC_DOC)
        .function("matmul", ["a", "b"], "result", matrices::matmul)
        .doc(matrices::MATMUL_DOC)
        .function("outer", ["x", "y"], "result", matrices::outer)
        .doc(matrices::OUTER_DOC)
        .function("transpose", ["m"], "result", matrices::transpose)
        .doc(matrices::TRANSPOSE_DOC)
        .function("bodies", BODIES, ["ax", "ay", "az"], nbody::accelerations)
        .doc(nbody::DOC)
        .function("bodies_fast", BODIES, ["ax", "ay", "az"], nbody::accelerations)
        .doc(nbody::DOC)
        .fast_math()
        .function("bodies_fast_in_order", BODIES, ["ax", "ay", "az"], nbody::accelerations_in_order)
        .doc(nbody::DOC)
        .fast_math()
}

/// Staged values, each function beside itself without.
fn staged(package: Package) -> Package {
    package
        .function("total_staged", ["x"], "result", staged::total_staged)
        .doc(staged::TOTAL_DOC)
        .function("bodies_staged", BODIES, ["ax", "ay", "az"], staged::accelerations_staged)
        .doc(staged::ACCELERATIONS_DOC)
        .function("convolution", ["x", "radius"], "result", staged::convolution)
        .doc(staged::CONVOLUTION_DOC)
        .function("convolution_staged", ["x", "radius"], "result", staged::convolution_staged)
        .doc(staged::STAGED_CONVOLUTION_DOC)
}

fn main() -> arraygpu::Result<()> {
    let name = std::env::var("BENCH_PACKAGE").unwrap_or_else(|_| "kernels".into());
    let package = Package::new(name)
        .function("saxpy", ["a", "x", "y"], "result", saxpy::saxpy)
        .doc(saxpy::DOC)
        .function("vadd", ["b", "c"], "a", expression_templates::add)
        .doc(expression_templates::ADD_DOC)
        .function("expr2", ["b", "c"], "a", expression_templates::axpby)
        .doc(expression_templates::AXPBY_DOC)
        .function("expr3", ["a", "b", "c"], "result", expression_templates::expr3)
        .doc(expression_templates::EXPR3_DOC)
        .function("normalise", ["a"], "result", expression_templates::normalise)
        .doc(expression_templates::NORMALISE_DOC)
        .function("total", ["x"], "result", total::total)
        .doc(total::DOC)
        .function("dot", ["x", "y"], "result", sdot::sdot)
        .doc(sdot::DOC)
        .function("rmse", ["x", "y"], "result", rmse::rmse)
        .doc(rmse::DOC)
        .function("rmse_unfused", ["x", "y"], "result", rmse::rmse_unfused)
        .doc(rmse::UNFUSED_DOC)
        .function("average", ["xs"], "result", average(&spencer()))
        .doc(moving_average::AVERAGE_DOC)
        .function("options", OPTION, ["call", "put"], black_scholes::black_scholes)
        .doc(black_scholes::DOC)
        .function("options_tails", OPTION, ["call", "put"], black_scholes::black_scholes_tails)
        .doc(black_scholes::DOC)
        .function("options_fast", OPTION, ["call", "put"], black_scholes::black_scholes)
        .doc(black_scholes::DOC)
        .fast_math();
    staged(nested(stencils(package))).run()
}
