//! `cargo xtask test` and `cargo xtask bless`.

use crate::count::Counts;
use crate::install::Profile;
use crate::part::Part;
use crate::programs::Which;
use crate::sh::{self, Result, say};
use crate::{cmake, independent, install, licences, programs, ptxas, system, tidy};
use std::ffi::OsStr;
use std::time::Instant;

/// The steps beside those projects.
const STEPS: [&str; 6] = ["style", "licences", "formatting", "clippy", "rust", "independent"];
/// The CMake projects with tests, beside the crates.
const PROJECTS: [&str; 2] = ["cpp-examples", "tests/cpp"];

/// What ran so far.
#[derive(Default)]
struct Run<'a> {
    /// The one step that is asked for, and what it needs.
    only: Option<&'a str>,
    counts: Counts,
    broken: Vec<String>,
    /// What each step took.
    times: Vec<String>,
}

impl Run<'_> {
    fn wants(&self, name: &str) -> bool {
        self.only.is_none_or(|only| only == name)
    }

    /// Runs one step, if it is asked for. A step that fails without a failed test counts as one
    /// failure.
    fn step(&mut self, name: &str, step: impl FnOnce(&mut Counts) -> Result) -> bool {
        if !self.wants(name) && name != "install" {
            return true;
        }
        say(name);
        let (start, mut counts) = (Instant::now(), Counts::default());
        let result = step(&mut counts);
        let seconds = start.elapsed().as_secs_f64();
        println!("   ({seconds:.1} s)");
        self.times.push(format!("{name} {seconds:.0}"));
        if let Err(message) = &result {
            println!("FAILED: {message}");
            self.broken.push(format!("{name}: {message}"));
            counts.failed = counts.failed.max(1);
        }
        self.counts.add(counts);
        result.is_ok()
    }

    /// The result of all steps.
    fn end(self) -> Result {
        println!("\nseconds of the steps: {}", self.times.join(", "));
        for b in &self.broken {
            println!("failed: {b}");
        }
        println!("{} passed, {} failed", self.counts.passed, self.counts.failed);
        if self.broken.is_empty() { Ok(()) } else { Err("there are failures, see above".into()) }
    }
}

/// Everything, or one step of that name, with a part of the tests that take longest if one is named; the last line is
/// `N passed, M failed`.
pub fn run(only: Option<&str>, part: Option<Part>) -> Result {
    system::ensure(system::BUILD)?;
    if let Some(name) = only.filter(|name| !STEPS.contains(name) && !PROJECTS.contains(name)) {
        return Err(format!(
            "there is no step `{name}`; there are {}, {}",
            STEPS.join(", "),
            PROJECTS.join(", ")
        ));
    }
    let mut all = Run { only, ..Run::default() };
    all.step("style", |_| tidy::run());
    all.step("licences", |_| licences::run());
    if sh::output(&mut sh::cargo(&["fmt", "--version"])).is_some() {
        all.step("formatting", |_| sh::run(&mut sh::cargo(&["fmt", "--all", "--check"])));
    } else {
        println!("no rustfmt on this machine: formatting is not checked");
    }
    if all.only == Some("clippy") {
        all.step("clippy", |_| lints());
    }
    all.step("rust", |counts| {
        let lints = || if only.is_none() { lints() } else { Ok(()) };
        let ptxas = ptxas::ensure()?;
        let which = part.map_or(Which::All, Which::Part);
        programs::run(which, &[("ARRAYGPU_PTXAS", ptxas.as_os_str())], counts, lints)
    });
    all.step("independent", |counts| independent::run(None, counts));
    let projects: Vec<&str> = PROJECTS.into_iter().filter(|p| all.wants(p)).collect();
    if !projects.is_empty() && all.step("install", |_| install::for_projects(Profile::Dev)) {
        for project in projects {
            all.step(project, |counts| {
                if !cmake::exists(project) {
                    return Err(format!("{project}/CMakeLists.txt is missing"));
                }
                cmake::test(&cmake::build(project, None, Profile::Dev)?, counts)
            });
        }
    }
    all.end()
}

/// Clippy's, of all crates.
fn lints() -> Result {
    if sh::output(&mut sh::cargo(&["clippy", "--version"])).is_none() {
        println!("no clippy on this machine: lints are not checked");
        return Ok(());
    }
    let start = Instant::now();
    let lint = |what: &[&str]| {
        let mut clippy = sh::cargo(&["clippy", "--quiet"]);
        sh::run(clippy.args(what).args(["--", "-D", "warnings"]))
    };
    let most = lint(&["--workspace", "--all-targets"]);
    // the compiler's unit tests are built apart from the others (`programs`)
    let units = lint(&["-p", "arraygpu-compiler", "--lib", "--profile", "test"]);
    println!("   clippy: {:.1} s", start.elapsed().as_secs_f64());
    most.and(units)
}

/// What a change is likely to break, in minutes; the last lines say what is left out.
pub fn fast() -> Result {
    system::ensure(system::BUILD)?;
    let mut all = Run::default();
    all.step("style", |_| tidy::run());
    if sh::output(&mut sh::cargo(&["fmt", "--version"])).is_some() {
        all.step("formatting", |_| sh::run(&mut sh::cargo(&["fmt", "--all", "--check"])));
    }
    all.step("rust", |counts| {
        let ptxas = ptxas::ensure()?;
        programs::run(Which::Quick, &[("ARRAYGPU_PTXAS", ptxas.as_os_str())], counts, || Ok(()))
    });
    println!("\nleft out: licences, clippy, independent, {},", PROJECTS.join(", "));
    println!("the examples in the documentation, and the test programs {}", programs::left_out());
    all.end()
}

/// Lets the tests write what they compare with, and shows what changed.
pub fn bless() -> Result {
    system::ensure(system::BUILD)?;
    let ptxas = ptxas::ensure()?;
    let variables = [("ARRAYGPU_PTXAS", ptxas.as_os_str()), ("BLESS", OsStr::new("1"))];
    programs::run(Which::All, &variables, &mut Counts::default(), || Ok(()))?;
    say("changed files");
    sh::run(sh::program("git").args(["status", "--short"]))
}
