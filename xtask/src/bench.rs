//! `cargo xtask bench`: our code beside hand-written C++, Eigen, NumPy and numexpr, in one run.

use crate::install::{self, Profile};
use crate::sh::{self, Result, say};
use crate::{cmake, system};

/// Builds and runs the benchmarks whose name contains `name`.
pub fn run(name: Option<&str>) -> Result {
    system::ensure(system::BUILD)?;
    if let Err(e) = system::ensure(system::BENCH) {
        println!("{e}\n(those rows are left out)");
    }
    say("libarraygpu, built and installed");
    install::for_projects(Profile::Release)?;
    say("benchmarks");
    let build = cmake::build("bench", None, Profile::Release)?;
    if name.is_none_or(|name| "calls".contains(name)) {
        sh::run(&mut sh::program(&build.join("arraygpu-calls-bench").display().to_string()))?;
    }
    for program in ["arraygpu-bench", "arraygpu-shape-bench"] {
        let mut bench = sh::program(&build.join(program).display().to_string());
        system::use_python_with_numexpr(&mut bench);
        sh::run(bench.args(name))?;
    }
    Ok(())
}
