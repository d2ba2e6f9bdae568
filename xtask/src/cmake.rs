//! Building and testing the CMake projects of the repository against an installed tree.

use crate::count::Counts;
use crate::install::Profile;
use crate::sh::{self, Result};
use std::path::{Path, PathBuf};

/// Configures the project in `folder` (relative to the root) and builds all of it or one target, with the library and
/// the generators of that profile; gives its build folder.
pub fn build(folder: &str, target: Option<&str>, profile: Profile) -> Result<PathBuf> {
    let source = sh::root().join(folder);
    let kind = match profile {
        Profile::Release => "cmake",
        Profile::Dev => "cmake-dev",
    };
    let projects = sh::target().join(kind);
    let out = projects.join(folder.replace('/', "-"));
    let prefix = profile.prefix();
    let mut configure = sh::program("cmake");
    configure.arg("-S").arg(&source).arg("-B").arg(&out).arg("-DCMAKE_BUILD_TYPE=Release");
    if let Profile::Dev = profile {
        // the C++ compiler takes half as long as at -O3
        configure.arg("-DCMAKE_CXX_FLAGS_RELEASE=-O1");
    }
    if let (Profile::Dev, Some(level)) = (profile, level_of_today()) {
        configure.arg(format!("-DGENERATOR_ARGS=--level;{level}"));
    }
    configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()));
    // the installed tree, not one that was found in an earlier run
    configure.arg(format!("-Darraygpu_DIR={}", prefix.join("lib/cmake/arraygpu").display()));
    configure.arg(format!("-DGENERATOR_CARGO_ARGS={}", profile.arguments().join(";")));
    // the packages of the examples serve the tests, too
    configure
        .arg("--no-warn-unused-cli")
        .arg(format!("-DPACKAGES={}", projects.join("cpp-examples/arraygpu").display()));
    sh::run(&mut configure)?;
    let mut build = sh::program("cmake");
    build.arg("--build").arg(&out).args(["--parallel", &sh::jobs()]);
    if let Some(target) = target {
        build.args(["--target", target]);
    }
    sh::run(&mut build)?;
    Ok(out)
}

/// The level of x86-64 that packages are compiled for when they are only tested: one of those that this machine runs,
/// another each day, because three take as long as all C++ programs. None, for all, where `ARRAYGPU_LONG=1`.
fn level_of_today() -> Option<&'static str> {
    if std::env::var_os("ARRAYGPU_LONG").is_some_and(|v| v == "1") {
        return None;
    }
    let mut levels = vec!["v2"];
    #[cfg(target_arch = "x86_64")]
    {
        levels.extend(is_x86_feature_detected!("avx2").then_some("v3"));
        levels.extend(is_x86_feature_detected!("avx512dq").then_some("v4"));
    }
    let day = std::time::UNIX_EPOCH.elapsed().map_or(0, |t| t.as_secs() / 86_400) as usize;
    Some(levels[day % levels.len()])
}

/// The packages that a project has made in its build folder.
pub fn packages(build: &Path) -> Result<Vec<PathBuf>> {
    let folder = build.join("arraygpu");
    let entries = std::fs::read_dir(&folder).map_err(|e| format!("cannot read {}: {e}", folder.display()))?;
    let mut packages: Vec<_> =
        entries.flatten().map(|e| e.path()).filter(|p| p.join("lib").is_dir()).collect();
    packages.sort();
    Ok(packages)
}

/// Runs ctest in a build folder.
pub fn test(build: &Path, counts: &mut Counts) -> Result {
    let mut ctest = sh::program("ctest");
    ctest.arg("--test-dir").arg(build).args([
        "--output-on-failure",
        "--no-tests=error",
        "--parallel",
        &sh::jobs(),
    ]);
    if sh::watch(&mut ctest, |line| counts.line(line))? { Ok(()) } else { Err("ctest failed".into()) }
}

/// Whether the repository has that project.
pub fn exists(folder: &str) -> bool {
    sh::root().join(folder).join("CMakeLists.txt").exists()
}
