//! How long it takes from closures to kernels: registration, passes, schedule and text of each example, without the C compiler and the assembler.
//! Prints the median of 20 runs in microseconds, after a first one; PTX are all versions of each kernel.

use arraygpu::prelude::*;
use arraygpu_compiler::driver::{self, Targets};
use arraygpu_examples::*;
use std::time::Instant;

const RUNS: usize = 20;

/// A package of one function.
type Example = (&'static str, fn() -> Package);

const EXAMPLES: &[Example] = &[
    ("saxpy", || one().function("saxpy", ["a", "x", "y"], "result", saxpy::saxpy)),
    ("sdot", || one().function("sdot", ["x", "y"], "result", sdot::sdot)),
    ("rmse", || one().function("rmse", ["x", "y"], "result", rmse::rmse)),
    ("wmavg", || {
        one().function("wmavg", ["xs"], "result", moving_average::wmavg(&moving_average::spencer()))
    }),
    ("average", || {
        one().function("average", ["xs"], "result", moving_average::average(&moving_average::spencer()))
    }),
    ("forward_difference", || {
        one().function("forward_difference", ["xs"], "result", forward_difference::forward_difference)
    }),
    ("black_scholes", || {
        let parameters = ["price", "strike", "years", "rate", "volatility"];
        one().function("black_scholes", parameters, ["call", "put"], black_scholes::black_scholes)
    }),
    ("et_add", || one().function("et_add", ["b", "c"], "a", expression_templates::add)),
    ("et_axpby", || one().function("et_axpby", ["b", "c"], "a", expression_templates::axpby)),
    ("et_expr3", || one().function("et_expr3", ["a", "b", "c"], "result", expression_templates::expr3)),
    ("et_normalise", || one().function("et_normalise", ["a"], "result", expression_templates::normalise)),
    ("standardise", || {
        one().function("standardise", ["x"], ["mean", "deviation", "scores"], standardise::standardise)
    }),
];

fn one() -> Package {
    Package::new("example")
}

/// Microseconds from nothing to the code for these targets.
fn time(example: fn() -> Package, targets: Targets) -> arraygpu::Result<f64> {
    let begin = Instant::now();
    let compiled = driver::compile_for("example", example().functions()?, targets)?;
    let time = begin.elapsed();
    assert!(!targets.cpu || !compiled.c_source.is_empty());
    Ok(time.as_secs_f64() * 1e6)
}

/// The median.
fn median(example: fn() -> Package, targets: Targets) -> arraygpu::Result<f64> {
    time(example, targets)?;
    let mut times = (0..RUNS).map(|_| time(example, targets)).collect::<arraygpu::Result<Vec<_>>>()?;
    times.sort_by(f64::total_cmp);
    Ok(times[RUNS / 2])
}

fn main() -> arraygpu::Result<()> {
    println!("{:<20} {:>10} {:>10}", "microseconds to", "C", "PTX");
    for (name, example) in EXAMPLES {
        let c = median(*example, Targets { cpu: true, cuda: false })?;
        let ptx = median(*example, Targets { cpu: false, cuda: true })?;
        println!("{name:<20} {c:10.0} {ptx:10.0}");
    }
    Ok(())
}
