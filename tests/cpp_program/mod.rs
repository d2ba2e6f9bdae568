//! Builds programs of `tests/cpp` without the installed tree, with the packages that they need.

use arraygpu_compiler::core::parse;
use arraygpu_compiler::driver;
use arraygpu_compiler::package::{self, Options};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Writes a package made from core IR into a folder; its archive.
pub fn package(name: &str, text: &str, folder: &Path) -> PathBuf {
    let compiled = driver::compile(name, parse::parse(text).unwrap()).unwrap();
    let out = folder.join(name);
    package::write(&compiled, &Options { strict: true, ..Options::new(&out) }).unwrap();
    out.join(format!("lib/lib{name}.a"))
}

/// The shared library that Cargo made: beside this test, or in the folder above.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folders = [test.parent().unwrap(), test.parent().unwrap().parent().unwrap()];
    let found = folders.iter().map(|f| f.join("libarraygpu_capi.so")).find(|p| p.exists());
    found.expect("cargo makes arraygpu-capi's shared library")
}

/// Builds a program of `tests/cpp` with a compiler and the archives of packages, and runs it on the CPU.
pub fn run(compiler: &str, source: &str, folder: &Path, extra: &[PathBuf]) {
    if Command::new(compiler).arg("--version").output().is_err() {
        return println!("no {compiler}");
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = folder.join(format!("program-{compiler}"));
    let runtime = folder.join("libarraygpu.so.0");
    if !runtime.exists() {
        std::os::unix::fs::symlink(library(), &runtime).unwrap();
    }
    let mut build = Command::new(compiler);
    build.args(["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"]).arg(&program);
    build.arg("-I").arg(root.join("include"));
    for package in extra.iter().filter_map(|archive| archive.parent()?.parent()) {
        build.arg("-I").arg(package.join("include"));
    }
    build.arg(root.join("tests/cpp").join(source)).args(extra).arg(&runtime);
    build.arg(format!("-Wl,-rpath,{}", folder.display()));
    let built = build.output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let ran = Command::new(&program).env("ARRAYGPU_DEVICE", "cpu").output().unwrap();
    let said = [ran.stdout, ran.stderr].map(|s| String::from_utf8_lossy(&s).into_owned());
    assert!(ran.status.success(), "{compiler}, {source}: {}{}", said[0], said[1]);
}
