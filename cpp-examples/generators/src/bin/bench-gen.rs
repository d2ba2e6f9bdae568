//! The package `kernels`: what the benchmark times.

use arraygpu::prelude::*;
use arraygpu_examples::*;

fn main() -> arraygpu::Result<()> {
    Package::new("kernels")
        .function("saxpy", ["a", "x", "y"], "result", saxpy::saxpy)
        .doc(saxpy::DOC)
        .function("expr3", ["a", "b", "c"], "result", expression_templates::expr3)
        .doc(expression_templates::EXPR3_DOC)
        .function("total", ["x"], "result", total::total)
        .doc(total::DOC)
        .function("dot", ["x", "y"], "result", sdot::sdot)
        .doc(sdot::DOC)
        .function("rmse", ["x", "y"], "result", rmse::rmse)
        .doc(rmse::DOC)
        .function("average", ["xs"], "result", moving_average::average(&moving_average::spencer()))
        .doc(moving_average::AVERAGE_DOC)
        .run()
}
