//! `cargo xtask fuzz`: random programs through all stages, fresh ones each day.

use crate::sh::{self, Result};

/// Runs `arraygpu-fuzz run` with these options and a process for each processor, quickly built,
/// with every check of a debug build.
pub fn run(options: &[String]) -> Result {
    sh::run(&mut sh::cargo(&["build", "--profile", "fuzz", "-p", "arraygpu-fuzz"]))?;
    let program = sh::target().join("fuzz/arraygpu-fuzz");
    let mut command = sh::program(&program.display().to_string());
    sh::run(command.args(["run", "--jobs", &sh::jobs()]).args(options))
}
