//! Matrices in C++: the classes, and a package made from core IR, built here without the installed tree.

use arraygpu_compiler::core::parse;
use arraygpu_compiler::driver;
use arraygpu_compiler::package::{self, Options};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The shared library that Cargo made: beside this test, or in the folder above.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folders = [test.parent().unwrap(), test.parent().unwrap().parent().unwrap()];
    let found = folders.iter().map(|f| f.join("libarraygpu_capi.so")).find(|p| p.exists());
    found.expect("cargo makes arraygpu-capi's shared library")
}

/// Builds a program of `tests/cpp` with a compiler, and runs it on the CPU.
fn run(compiler: &str, source: &str, folder: &Path, extra: &[PathBuf]) {
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
    build.args(["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&program);
    build.arg("-I").arg(root.join("include")).arg("-I").arg(folder.join("functions/include"));
    build.arg(root.join("tests/cpp").join(source)).args(extra).arg(&runtime);
    build.arg(format!("-Wl,-rpath,{}", folder.display()));
    let built = build.output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let ran = Command::new(&program).env("ARRAYGPU_DEVICE", "cpu").output().unwrap();
    let said = [ran.stdout, ran.stderr].map(|s| String::from_utf8_lossy(&s).into_owned());
    assert!(ran.status.success(), "{compiler}, {source}: {}{}", said[0], said[1]);
}

#[test]
fn classes() {
    let folder = tempfile::tempdir().unwrap();
    for compiler in ["g++", "clang++"] {
        run(compiler, "matrices.cpp", folder.path(), &[]);
    }
}

#[test]
fn functions_of_a_package() {
    let folder = tempfile::tempdir().unwrap();
    let functions = parse::parse(include_str!("cpp/without_cmake/functions.core")).unwrap();
    let compiled = driver::compile("functions", functions).unwrap();
    let out = folder.path().join("functions");
    package::write(&compiled, &Options { strict: true, ..Options::new(&out) }).unwrap();
    let archive = [out.join("lib/libfunctions.a")];
    for compiler in ["g++", "clang++"] {
        run(compiler, "without_cmake/functions.cpp", folder.path(), &archive);
    }
    let header = std::fs::read_to_string(out.join("include/functions.h")).unwrap();
    for words in [
        "@param b matrix of float, as large as a",
        "@param v vector of float of cols(a) elements",
        "@param[out] low matrix of float, as large as a",
        "result is made with the right extents",
    ] {
        assert!(header.contains(words), "no `{words}` in:\n{header}");
    }
    let header = std::fs::read_to_string(out.join("include/functions.hpp")).unwrap();
    for words in [
        "inline arraygpu::gpu_matrix<float> transposed(arraygpu::gpu_matrix_view<const float> a)",
        "@return matrix of float of cols(a) x rows(a) elements",
        "arraygpu::gpu_tensor3_view<std::int32_t> result",
    ] {
        assert!(header.contains(words), "no `{words}` in:\n{header}");
    }
}
