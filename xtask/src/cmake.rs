//! Building and testing the CMake projects of the repository against an installed tree.

use crate::count::Counts;
use crate::install::Profile;
use crate::sh::{self, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Another build of a project, for a tool that watches its programs.
pub struct Watched {
    /// The name of its folder in the target directory.
    pub name: &'static str,
    /// Options of the C and the C++ compiler.
    pub flags: &'static str,
}

/// Configures the project in `folder` (relative to the root) and builds all of it or one target,
/// with the library and the generators of that profile; gives its build folder.
pub fn build(folder: &str, target: Option<&str>, profile: Profile) -> Result<PathBuf> {
    let kind = match profile {
        Profile::Release => "cmake",
        Profile::Dev => "cmake-dev",
    };
    let mut more = Vec::new();
    if let Profile::Dev = profile {
        // the C++ compiler takes a fifth to a third less time than at -O1
        more.push("-DCMAKE_CXX_FLAGS_RELEASE=-Og".into());
    }
    if let (Profile::Dev, Some(level)) = (profile, level_of_today()) {
        more.push(format!("-DGENERATOR_ARGS=--level;{level}"));
    }
    let projects = sh::target().join(kind);
    more.push(packages_in(&projects));
    build_in(&projects, folder, target.as_slice(), profile, &more)
}

/// The folder with the packages of the examples, which the tests use, too.
fn packages_in(projects: &Path) -> String {
    format!("-DPACKAGES={}", projects.join("cpp-examples/arraygpu").display())
}

/// Configures and builds all or some targets for a tool that watches programs, with the library of
/// the tests. The packages are shared by all such tools, and are compiled for a level without
/// AVX-512, which valgrind does not know.
pub fn build_watched(folder: &str, targets: &[&str], watched: &Watched) -> Result<PathBuf> {
    let projects = sh::target().join("cmake-watched");
    let level = levels().into_iter().rfind(|l| *l != "v4").unwrap_or("v2");
    let more = [
        "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -g1".into(),
        format!("-DCMAKE_C_FLAGS={}", watched.flags),
        format!("-DCMAKE_CXX_FLAGS={}", watched.flags),
        format!("-DGENERATOR_ARGS=--level;{level}"),
        packages_in(&projects.join("valgrind")),
    ];
    build_in(&projects.join(watched.name), folder, targets, Profile::Dev, &more)
}

fn build_in(
    projects: &Path,
    folder: &str,
    targets: &[&str],
    profile: Profile,
    more: &[String],
) -> Result<PathBuf> {
    let out = projects.join(folder.replace('/', "-"));
    let prefix = profile.prefix();
    let mut configure = sh::program("cmake");
    configure.arg("-S").arg(sh::root().join(folder)).arg("-B").arg(&out);
    configure.arg("-DCMAKE_BUILD_TYPE=Release").args(more);
    configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()));
    // the installed tree in place of one that an earlier run found
    configure.arg(format!("-Darraygpu_DIR={}", prefix.join("lib/cmake/arraygpu").display()));
    configure.arg(format!("-DGENERATOR_CARGO_ARGS={}", profile.arguments().join(";")));
    configure.arg("--no-warn-unused-cli");
    sh::run(&mut configure)?;
    let mut build = sh::program("cmake");
    build.arg("--build").arg(&out).args(["--parallel", &sh::jobs()]);
    if !targets.is_empty() {
        build.arg("--target").args(targets);
    }
    sh::run(&mut build)?;
    Ok(out)
}

/// The level of x86-64 that packages are compiled for when they are only tested: one of those that
/// this machine runs, another each day, because three take as long as all C++ programs. None, for
/// all, where `ARRAYGPU_LONG=1`.
fn level_of_today() -> Option<&'static str> {
    if std::env::var_os("ARRAYGPU_LONG").is_some_and(|v| v == "1") {
        return None;
    }
    let levels = levels();
    let fixed = std::env::var("ARRAYGPU_DAY").ok().and_then(|day| day.parse().ok());
    let today = || std::time::UNIX_EPOCH.elapsed().map_or(0, |t| t.as_secs() / 86_400) as usize;
    Some(levels[fixed.unwrap_or_else(today) % levels.len()])
}

/// The levels that this machine runs.
fn levels() -> Vec<&'static str> {
    let mut levels = vec!["v2"];
    #[cfg(target_arch = "x86_64")]
    {
        levels.extend(is_x86_feature_detected!("avx2").then_some("v3"));
        levels.extend(is_x86_feature_detected!("avx512dq").then_some("v4"));
    }
    levels
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
    let mut ctest = ctest(build);
    if sh::watch(&mut ctest, |line| counts.line(line))? { Ok(()) } else { Err("ctest failed".into()) }
}

/// All tests in a build folder.
pub fn ctest(build: &Path) -> Command {
    let mut ctest = sh::program("ctest");
    ctest.arg("--test-dir").arg(build).args([
        "--output-on-failure",
        "--no-tests=error",
        "--parallel",
        &sh::jobs(),
    ]);
    ctest
}

/// Whether the repository has that project.
pub fn exists(folder: &str) -> bool {
    sh::root().join(folder).join("CMakeLists.txt").exists()
}
