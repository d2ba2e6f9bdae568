//! `cargo xtask independent`: the interpreter against one that was written from the documentation
//! alone (`tests/independent`).

use crate::count::Counts;
use crate::pip;
use crate::programs;
use crate::sh::{self, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs it on its own programs, or on a file of others in the same form. Adds how many agree.
pub fn run(file: Option<&Path>, counts: &mut Counts) -> Result {
    let packages = packages()?;
    // with the packages that the tests are built with, whose features the compiler was built for
    sh::run(sh::cargo(&["build", "--quiet", "--example", "oracle"]).args(programs::MOST))?;
    let mut compare = sh::program(pip::python().unwrap_or("python3"));
    compare.env("PYTHONPATH", packages).env("PYTHONDONTWRITEBYTECODE", "1");
    compare.arg(sh::root().join("tests/independent/main.py"));
    compare.arg(sh::target().join("debug/examples/oracle")).arg(sh::root().join("math/tests/bounds.txt"));
    compare.args(file);
    if sh::watch(&mut compare, |line| counts.line(line))? {
        return Ok(());
    }
    Err("the interpreters differ, or something was never compared".into())
}

/// The folder with what the other interpreter needs: the pinned versions, fetched once.
fn packages() -> Result<PathBuf> {
    let pins = String::from_utf8_lossy(&sh::get(&sh::root().join("tests/independent/requirements.txt"))?)
        .into_owned();
    let pins: Vec<&str> = pins.lines().collect();
    let folder = sh::target().join("tools/independent");
    let versions: Vec<String> = pins
        .iter()
        .filter_map(|p| p.split_once("=="))
        .map(|(name, version)| format!("import {name}; assert {name}.version() == '{version}'"))
        .map(|check| check.replace("numpy.version()", "numpy.__version__"))
        .collect();
    let there = |python: &str| {
        let mut check = Command::new(python);
        check.env("PYTHONPATH", &folder).args(["-c", &versions.join("; ")]);
        sh::output(&mut check).is_some()
    };
    if !pip::python().is_some_and(there) {
        println!("fetching {} of PyPI ...", pins.join(", "));
        pip::install(&pins, &folder)?;
        if !pip::python().is_some_and(there) {
            return Err(format!("{} were installed, but do not work", pins.join(", ")));
        }
    }
    Ok(folder)
}
