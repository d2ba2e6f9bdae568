//! The package `series`: what the demo asks of a time series.

use arraygpu::prelude::*;
use arraygpu_examples::*;

fn main() -> arraygpu::Result<()> {
    Package::new("series")
        .function("smooth", ["xs"], "result", moving_average::wmavg(&moving_average::spencer()))
        .doc(moving_average::WMAVG_DOC)
        .function("difference", ["xs"], "result", forward_difference::forward_difference)
        .doc(forward_difference::DOC)
        .function("rmse", ["x", "y"], "result", rmse::rmse)
        .doc(rmse::DOC)
        .run()
}
