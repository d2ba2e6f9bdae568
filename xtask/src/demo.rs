//! `cargo xtask demo`: from Rust closures to a C++ program, on real data.

use crate::install::{self, Profile};
use crate::sh::{self, Result, say};
use crate::{cmake, system};
use std::path::{Path, PathBuf};

/// Where the demo's build leaves its program, in the build folder of `cpp-examples`.
const PROGRAMS: [&str; 3] = ["demo/demo", "demo", "bin/demo"];

/// Builds everything and runs the demo.
pub fn run() -> Result {
    system::ensure(system::BUILD)?;
    say("libarraygpu, built and installed");
    install::for_projects(Profile::Release)?;
    say("the package and the C++ programs that use it");
    let build = cmake::build("cpp-examples", Some("demo"), Profile::Release)?;
    let demo = PROGRAMS.iter().map(|p| build.join(p)).find(|p| p.is_file());
    let demo = demo.ok_or("the build of cpp-examples made no demo program")?;
    say("the demo");
    let out = sh::target().join("demo");
    std::fs::create_dir_all(&out).map_err(|e| format!("cannot make {}: {e}", out.display()))?;
    sh::run(sh::program(&demo.display().to_string()).current_dir(&out))?;
    for plot in plots(&out) {
        println!("\nplot: {}", plot.display());
    }
    Ok(())
}

fn plots(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path());
    let mut plots: Vec<_> =
        files.filter(|p| p.extension().is_some_and(|e| e == "svg" || e == "png")).collect();
    plots.sort();
    plots
}
