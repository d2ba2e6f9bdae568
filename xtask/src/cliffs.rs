//! `cargo xtask cliffs`: the table of the programs that are farthest from the ideal
//! (`tests/programs`).

use crate::sh::{self, Result};

/// Writes the table and shows what changed.
pub fn run() -> Result {
    let table = sh::root().join("tests/programs/CLIFFS.md");
    let mut cargo = sh::cargo(&["run", "--quiet", "--package", "arraygpu-programs", "--", "--write"]);
    sh::run(cargo.arg(&table))?;
    println!("{}", String::from_utf8_lossy(&sh::get(&table)?));
    Ok(())
}
