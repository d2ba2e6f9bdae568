//! Builds programs of `tests/cpp` without the installed tree, with the packages that they need.

#![allow(dead_code, reason = "each test uses its part")]

use arraygpu_compiler::core::{Function, parse};
use arraygpu_compiler::driver;
use arraygpu_compiler::package::level::Level;
use arraygpu_compiler::package::{self, Options};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Writes a package made from core IR into a folder; its archive.
pub fn package(name: &str, text: &str, folder: &Path) -> PathBuf {
    package_of(name, parse::parse(text).unwrap(), folder)
}

/// Compiles functions of core IR to a package in a folder; its archive.
pub fn package_of(name: &str, functions: Vec<Function>, folder: &Path) -> PathBuf {
    let compiled = driver::compile(name, functions).unwrap();
    let out = folder.join(name);
    let options = Options { strict: true, debug: true, levels: vec![Level::host()], ..Options::new(&out) };
    package::write(&compiled, &options).unwrap();
    out.join(format!("lib/lib{name}.a"))
}

/// The shared library that Cargo made: beside this test, or in the folder above.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folders = [test.parent().unwrap(), test.parent().unwrap().parent().unwrap()];
    let found = folders.iter().map(|f| f.join("libarraygpu_capi.so")).find(|p| p.exists());
    found.expect("cargo makes arraygpu-capi's shared library")
}

/// The repository.
fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().find(|p| p.join("include/arraygpu.hpp").exists()).expect("the repository")
}

/// Builds a program of `tests/cpp` with a compiler and the archives of packages, and runs it on the CPU.
pub fn run(compiler: &str, source: &str, folder: &Path, extra: &[PathBuf]) {
    output(compiler, &root().join("tests/cpp").join(source), folder, extra);
}

/// The same with a program from anywhere: what it prints. None where there is no such compiler.
pub fn output(compiler: &str, source: &Path, folder: &Path, extra: &[PathBuf]) -> Option<String> {
    if Command::new(compiler).arg("--version").output().is_err() {
        println!("no {compiler}");
        return None;
    }
    let program = folder.join(format!("program-{compiler}"));
    let runtime = folder.join("libarraygpu.so.5");
    if !runtime.exists() {
        std::os::unix::fs::symlink(library(), &runtime).unwrap();
    }
    let mut build = Command::new(compiler);
    build.args(["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"]).arg(&program);
    build.arg("-I").arg(root().join("include"));
    for package in extra.iter().filter_map(|archive| archive.parent()?.parent()) {
        build.arg("-I").arg(package.join("include"));
    }
    build.arg(source).args(extra).arg(&runtime);
    build.arg(format!("-Wl,-rpath,{}", folder.display()));
    let built = build.output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let ran = Command::new(&program).env("ARRAYGPU_DEVICE", "cpu").output().unwrap();
    let said = [ran.stdout, ran.stderr].map(|s| String::from_utf8_lossy(&s).into_owned());
    assert!(ran.status.success(), "{compiler}, {}: {}{}", source.display(), said[0], said[1]);
    let [out, _] = said;
    Some(out)
}
