//! `cargo xtask cliffs`: the table of the programs that are farthest from the ideal
//! (`tests/programs`), and their times.

use crate::sh::{self, Result};

/// The device that is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum On {
    /// One thread of the CPU.
    Cpu,
    /// The first GPU.
    Gpu,
}

/// Writes the table and prints it.
pub fn run() -> Result {
    let table = sh::root().join("tests/programs/CLIFFS.md");
    let mut cargo = sh::cargo(&["run", "--quiet", "--package", "arraygpu-programs", "--", "--write"]);
    sh::run(cargo.arg(&table))?;
    println!("{}", String::from_utf8_lossy(&sh::get(&table)?));
    Ok(())
}

/// Measures the programs whose names contain `name`.
pub fn time(on: On, name: Option<&str>) -> Result {
    let option = if on == On::Gpu { "--time=gpu" } else { "--time" };
    let mut cargo =
        sh::cargo(&["run", "--quiet", "--release", "--package", "arraygpu-programs", "--", option]);
    sh::run(cargo.args(name))
}
