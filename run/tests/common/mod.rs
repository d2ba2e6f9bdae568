//! An installed tree with `arraygpu-run` and `arraygpu-tune`, and a small package beside it.
#![allow(dead_code, reason = "each test uses a part")]

use arraygpu_compiler::core::parse;
use arraygpu_compiler::driver::{self, Targets};
use arraygpu_compiler::package::level::Level;
use arraygpu_compiler::package::{self, Options};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder with `bin`, `lib`, and a package of its own, in which commands run.
pub struct Tree {
    folder: tempfile::TempDir,
}

/// What a command did.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Tree {
    /// Installs the program, the library that Cargo made, and the package `stats`.
    pub fn new() -> Tree {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("bin")).unwrap();
        std::fs::create_dir_all(at("lib")).unwrap();
        std::fs::copy(env!("CARGO_BIN_EXE_arraygpu-run"), at("bin/arraygpu-run")).unwrap();
        std::fs::copy(env!("CARGO_BIN_EXE_arraygpu-tune"), at("bin/arraygpu-tune")).unwrap();
        std::os::unix::fs::symlink(library(), at("lib/libarraygpu.so.5")).unwrap();
        let mut functions = parse::parse(include_str!("../stats.core")).unwrap();
        functions[0].doc = "Root mean square error of two vectors of one length.".into();
        let targets = Targets { cpu: true, cuda: false };
        let compiled = driver::compile_for("stats", functions, targets).unwrap();
        let options = Options { levels: vec![Level::host()], debug: true, ..Options::new(at("stats")) };
        package::write(&compiled, &options).unwrap();
        std::os::unix::fs::symlink("stats/lib/libstats.so", at("libstats.so")).unwrap();
        Tree { folder }
    }

    /// Makes a package with code for CPUs and GPUs.
    pub fn add_package(&self, name: &str, text: &str) {
        let targets = Targets { cpu: true, cuda: true };
        let compiled = driver::compile_for(name, parse::parse(text).unwrap(), targets).unwrap();
        let options = Options { levels: vec![Level::host()], debug: true, ..Options::new(self.path(name)) };
        package::write(&compiled, &options).unwrap();
        let library = format!("lib{name}.so");
        std::os::unix::fs::symlink(format!("{name}/lib/{library}"), self.path(&library)).unwrap();
    }

    /// The path of a file.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs `arraygpu-run` with words, on the CPU.
    pub fn run(&self, words: &[&str]) -> Ran {
        self.run_program("arraygpu-run", words, &[("ARRAYGPU_DEVICE", "cpu")])
    }

    /// Runs a program with words and environment variables.
    pub fn run_program(&self, name: &str, words: &[&str], variables: &[(&str, &str)]) -> Ran {
        let mut command = Command::new(self.path("bin").join(name));
        // the library that Cargo makes has no soname, by which a package would find it
        command.env("LD_LIBRARY_PATH", self.path("lib")).envs(variables.iter().copied());
        let ran = command.args(words).current_dir(self.folder.path()).output().unwrap();
        let [out, err] = [ran.stdout, ran.stderr].map(|s| String::from_utf8_lossy(&s).into_owned());
        Ran { code: ran.status.code(), out, err }
    }
}

/// The shared library beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folders: [&Path; 2] = [test.parent().unwrap(), test.parent().unwrap().parent().unwrap()];
    let found = folders.iter().map(|f| f.join("libarraygpu_capi.so")).find(|p| p.exists());
    found.expect("cargo makes arraygpu-capi's shared library")
}
