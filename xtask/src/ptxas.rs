//! NVIDIA's assembler for the tests: a program of the CUDA toolkit that PyPI offers as a package. It
//! needs neither a GPU nor a driver.

use crate::pip;
use crate::sh::{self, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The package on PyPI, with the version whose registers and spills are recorded in the golden
/// files.
const PACKAGE: &str = "nvidia-cuda-nvcc==13.0.88";
/// What `--version` says then.
const VERSION: &str = "V13.0.88";
/// Its place in the package.
const PROGRAM: &str = "nvidia/cu13/bin/ptxas";

/// Finds or installs ptxas; `ARRAYGPU_PTXAS` names another program.
pub fn ensure() -> Result<PathBuf> {
    if let Some(given) = std::env::var_os("ARRAYGPU_PTXAS") {
        return Ok(given.into());
    }
    let tools = sh::target().join("tools");
    let file = tools.join("ptxas");
    let right = |file: &Path| {
        sh::output(Command::new(file).arg("--version")).is_some_and(|said| said.contains(VERSION))
    };
    // installed alone, or with the rest of the toolkit
    if let Some(file) = [file.clone(), tools.join("cuda").join(PROGRAM)].into_iter().find(|f| right(f)) {
        return Ok(file);
    }
    println!("fetching ptxas: {PACKAGE} of PyPI ...");
    let failed = |e: std::io::Error| format!("cannot write {}: {e}", tools.display());
    let wheel = tools.join("nvcc");
    let _ = fs::remove_dir_all(&wheel);
    fs::create_dir_all(&wheel).map_err(failed)?;
    pip::install(&[PACKAGE], &wheel)
        .map_err(|e| format!("{e}\nARRAYGPU_PTXAS=FILE names a ptxas that is there already"))?;
    // only this file of the wheel is needed
    fs::rename(wheel.join(PROGRAM), &file).map_err(failed)?;
    fs::remove_dir_all(&wheel).map_err(failed)?;
    if right(&file) { Ok(file) } else { Err(format!("{} of {PACKAGE} does not run", file.display())) }
}
