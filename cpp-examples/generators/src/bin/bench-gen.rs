//! The package `kernels`: what the benchmarks time, on processors and on GPUs. `BENCH_PACKAGE` gives it another name, so that packages of
//! two compilers can be timed in one process (`arraygpu-gpu-bench --package`).

use arraygpu::prelude::*;
use arraygpu_examples::*;

const OPTION: [&str; 5] = ["price", "strike", "years", "rate", "volatility"];

fn main() -> arraygpu::Result<()> {
    let name = std::env::var("BENCH_PACKAGE").unwrap_or_else(|_| "kernels".into());
    Package::new(name)
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
        .function("average", ["xs"], "result", moving_average::average(&moving_average::spencer()))
        .doc(moving_average::AVERAGE_DOC)
        .function("options", OPTION, ["call", "put"], black_scholes::black_scholes)
        .doc(black_scholes::DOC)
        .function("options_tails", OPTION, ["call", "put"], black_scholes::black_scholes_tails)
        .doc(black_scholes::DOC)
        .function("options_fast", OPTION, ["call", "put"], black_scholes::black_scholes)
        .doc(black_scholes::DOC)
        .fast_math()
        .run()
}
