//! Random programs in the bundle: packages with the interpreter's results, made here, and the
//! program that runs them there. And those that compare the elementary functions' bits, and what
//! `fast_math` makes of them.
//!
//! The packages lie in `data/random.tar`: the bundle's archive compresses them better than an
//! archive of their own would, because their libraries have much in common.

use super::{Bundle, check, projects};
use crate::cuda::Toolkit;
use crate::sh::{self, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Adds the packages and the runner.
pub fn add(bundle: &mut Bundle, toolkit: Option<&Toolkit>) -> Result {
    let made = packages(toolkit)?;
    let unpacked = super::work().join("build/random");
    let _ = fs::remove_dir_all(&unpacked);
    let mut names = Vec::new();
    let entries = fs::read_dir(&made).map_err(|e| format!("cannot read {}: {e}", made.display()))?;
    for path in entries.flatten().map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "cases")) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        sh::put(&unpacked.join(format!("{name}.cases")), &sh::get(&path)?)?;
        let library = format!("lib{name}.so");
        sh::put(&unpacked.join(&library), &sh::get(&made.join(&name).join("lib").join(&library))?)?;
        names.push(name);
    }
    names.sort();
    // its bits are not the interpreter's: a separate program runs it
    names.retain(|n| n != "fast_math");
    check::libraries(&unpacked, &bundle.root)?;
    let archive = bundle.root.join("data/random.tar");
    sh::run(
        sh::program("tar").arg("-C").arg(super::work().join("build")).arg("-cf").arg(archive).arg("random"),
    )?;
    let build = projects::build("tests/gpu", toolkit)?;
    let arguments = format!("@OUT@/random @OUT@/random {}", names.join(" "));
    bundle.test(&build.join("random_bits"), "tests/cpp", &arguments)?;
    bundle.test(&build.join("fast_math"), "tests/cpp", "@OUT@/random")?;
    // the benchmark brings the package
    bundle.test(&build.join("function_bits"), "tests/cpp", "lib/libfunctions.so")
}

/// Runs the generator, unless this very one has run with these arguments.
fn packages(toolkit: Option<&Toolkit>) -> Result<PathBuf> {
    sh::run(&mut sh::cargo(&[
        "build",
        "--release",
        "--package",
        "arraygpu-fuzz",
        "--example",
        "random-packages",
    ]))?;
    let generator = sh::target().join("release/examples/random-packages");
    let out = super::work().join("build/random-packages");
    let arguments = toolkit.map_or(Vec::new(), |t| t.generator_args().to_vec());
    let mut stamp = sh::get(&generator)?;
    stamp.extend(arguments.join(" ").bytes());
    let stamp_file = out.join("made-by");
    if fs::read(&stamp_file).is_ok_and(|old| old == stamp) {
        return Ok(out);
    }
    println!("random programs, their packages and results (this takes minutes)");
    let _ = fs::remove_dir_all(&out);
    fs::create_dir_all(&out).map_err(|e| format!("cannot make {}: {e}", out.display()))?;
    sh::run(program(&generator).arg("--out").arg(&out).args(&arguments))?;
    sh::put(&stamp_file, &stamp)?;
    Ok(out)
}

fn program(path: &Path) -> std::process::Command {
    sh::program(&path.display().to_string())
}
