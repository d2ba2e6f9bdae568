//! The package `examples`: what the C++ programs of `cpp-examples/` call.

use arraygpu::prelude::*;
use arraygpu_examples::*;

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
        .run()
}
