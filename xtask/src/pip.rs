//! Packages of PyPI, put into folders of the target directory by Python's installer.

use crate::sh::{self, Result};
use crate::system::{self, Need};
use std::path::Path;
use std::process::Command;

/// Python's installer, of the user's Python or the system's.
const PIP: &[Need] = &[Need { package: "python3-pip", found: || python().is_some() }];

/// The Python that has an installer, which is the one that its packages are for.
pub fn python() -> Option<&'static str> {
    let has = |python: &&str| sh::output(Command::new(python).args(["-m", "pip", "--version"])).is_some();
    system::PYTHONS.into_iter().find(has)
}

/// Installs packages, named with their versions, into a folder, and nothing that they ask for.
pub fn install(packages: &[&str], folder: &Path) -> Result {
    system::ensure(PIP)?;
    let mut install = Command::new(python().unwrap_or("python3"));
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    install.args(["--no-deps", "--no-compile", "--upgrade", "--target"]).arg(folder).args(packages);
    let out = install.output().map_err(|e| format!("cannot run pip: {e}"))?;
    if out.status.success() {
        return Ok(());
    }
    Err(format!("pip cannot fetch {}:\n{}", packages.join(" "), String::from_utf8_lossy(&out.stderr)))
}
