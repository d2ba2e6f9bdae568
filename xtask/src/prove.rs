//! `cargo xtask prove`: asks SMT solvers whether every rewrite of scalars and indices is right for
//! all operands. What is claimed, and the log, are in `compiler/suite/tests/proofs`.

use crate::sh::{self, Result};
use crate::system::{self, Need};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// The solvers on PyPI.
const SOLVERS: [&str; 3] = ["bitwuzla==0.9.1", "z3-solver==5.4.1.0", "cvc5==1.4.2"];

/// What makes an environment for them.
const VENV: &[Need] = &[Need { package: "python3-venv", found: || venv_maker().is_some() }];

fn venv_maker() -> Option<&'static str> {
    let has =
        |python: &&str| sh::output(Command::new(python).args(["-c", "import ensurepip, venv"])).is_some();
    system::PYTHONS.into_iter().find(has)
}

/// Proves what the log has no proof of, or everything.
pub fn run(all: bool, limit: u32) -> Result {
    let python = solvers()?;
    let mut test =
        sh::cargo(&["test", "--package", "arraygpu-suite", "--test", "proofs", "--", "--nocapture"]);
    test.env("PROVE", python).env("PROVE_LIMIT", limit.to_string());
    if all {
        test.env("PROVE_ALL", "1");
    }
    sh::run(&mut test)
}

/// A Python that has the solvers: an environment of its own below `target/tools`.
fn solvers() -> Result<PathBuf> {
    let folder = sh::target().join("tools/solvers");
    let (python, installed) = (folder.join("bin/python"), folder.join("installed"));
    let wanted = SOLVERS.join("\n");
    if fs::read_to_string(&installed).is_ok_and(|list| list == wanted) {
        return Ok(python);
    }
    system::ensure(VENV)?;
    let _ = fs::remove_dir_all(&folder);
    sh::run(Command::new(venv_maker().unwrap_or("python3")).args(["-m", "venv"]).arg(&folder))?;
    sh::run(
        Command::new(&python)
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .args(SOLVERS),
    )?;
    sh::put(&installed, wanted.as_bytes())?;
    Ok(python)
}
