//! The package `rof`: what `cpp-examples/rof` calls.

use arraygpu::prelude::*;
use arraygpu_examples::{pictures, rof};

fn main() -> arraygpu::Result<()> {
    Package::new("rof")
        .function(
            "step",
            ["f", "u", "p", "q", "alpha", "tau", "sigma"],
            ["u_new", "p_new", "q_new"],
            rof::step,
        )
        .doc(rof::STEP_DOC)
        .function(
            "step_unfused",
            ["f", "u", "p", "q", "alpha", "tau", "sigma"],
            ["u_new", "p_new", "q_new"],
            rof::step_unfused,
        )
        .doc(rof::STEP_UNFUSED_DOC)
        .function(
            "steps",
            ["f", "u", "p", "q", "alpha", "tau", "sigma", "n"],
            ["u_new", "p_new", "q_new", "residual"],
            rof::steps,
        )
        .doc(rof::STEPS_DOC)
        .function("noisy", ["picture", "deviation", "seed"], "result", pictures::noisy)
        .doc(pictures::NOISY_DOC)
        .function("psnr", ["x", "picture"], "result", pictures::psnr)
        .doc(pictures::PSNR_DOC)
        .function("picture", ["x", "plus"], "result", pictures::picture)
        .doc(pictures::PICTURE_DOC)
        .run()
}
