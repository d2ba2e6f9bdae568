//! `cargo xtask test` and `cargo xtask bless`.

use crate::count::Counts;
use crate::install::Profile;
use crate::sh::{self, Result, say};
use crate::{cmake, independent, install, licences, programs, ptxas, system, tidy};
use std::ffi::OsStr;
use std::time::Instant;

/// The CMake projects with tests, beside the crates.
const PROJECTS: [&str; 2] = ["cpp-examples", "tests/cpp"];

/// What ran so far.
struct Run {
    counts: Counts,
    broken: Vec<String>,
}

impl Run {
    /// One step. A step that fails without a failed test counts as one.
    fn step(&mut self, name: &str, step: impl FnOnce(&mut Counts) -> Result) -> bool {
        say(name);
        let (start, mut counts) = (Instant::now(), Counts::default());
        let result = step(&mut counts);
        println!("   ({:.1} s)", start.elapsed().as_secs_f64());
        if let Err(message) = &result {
            println!("FAILED: {message}");
            self.broken.push(format!("{name}: {message}"));
            counts.failed = counts.failed.max(1);
        }
        self.counts.add(counts);
        result.is_ok()
    }
}

/// Everything; the last line is `N passed, M failed`.
pub fn run() -> Result {
    system::ensure(system::BUILD)?;
    let mut all = Run { counts: Counts::default(), broken: Vec::new() };
    all.step("style rules", |_| tidy::run());
    all.step("licences", |_| licences::run());
    if sh::output(&mut sh::cargo(&["fmt", "--version"])).is_some() {
        all.step("formatting", |_| sh::run(&mut sh::cargo(&["fmt", "--all", "--check"])));
    } else {
        println!("no rustfmt on this machine: formatting is not checked");
    }
    if sh::output(&mut sh::cargo(&["clippy", "--version"])).is_some() {
        let lint = ["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"];
        all.step("clippy", |_| sh::run(&mut sh::cargo(&lint)));
        let units = ["clippy", "--quiet", "-p", "arraygpu-compiler", "--lib", "--profile", "test"];
        let units = [&units[..], &["--", "-D", "warnings"]].concat();
        all.step("clippy: the compiler's unit tests", |_| sh::run(&mut sh::cargo(&units)));
    } else {
        println!("no clippy on this machine: lints are not checked");
    }
    all.step("Rust tests", |counts| {
        programs::run(&[("ARRAYGPU_PTXAS", ptxas::ensure()?.as_os_str())], counts)
    });
    all.step("the interpreter and an independent one", |counts| independent::run(None, counts));
    if all.step("install", |_| install::for_projects(Profile::Dev)) {
        for project in PROJECTS {
            all.step(project, |counts| {
                if !cmake::exists(project) {
                    return Err(format!("{project}/CMakeLists.txt is missing"));
                }
                cmake::test(&cmake::build(project, None, Profile::Dev)?, counts)
            });
        }
    }
    println!();
    for b in &all.broken {
        println!("failed: {b}");
    }
    println!("{} passed, {} failed", all.counts.passed, all.counts.failed);
    if all.broken.is_empty() { Ok(()) } else { Err("there are failures, see above".into()) }
}

/// Lets the tests write what they compare with, and shows what changed.
pub fn bless() -> Result {
    system::ensure(system::BUILD)?;
    let ptxas = ptxas::ensure()?;
    let variables = [("ARRAYGPU_PTXAS", ptxas.as_os_str()), ("BLESS", OsStr::new("1"))];
    programs::run(&variables, &mut Counts::default())?;
    say("changed files");
    sh::run(sh::program("git").args(["status", "--short"]))
}
