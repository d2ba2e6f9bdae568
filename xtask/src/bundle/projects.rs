//! The CMake projects of the repository in the bundle: their test programs, and the packages that
//! these use.

use super::{Bundle, work};
use crate::cmake;
use crate::cuda::Toolkit;
use crate::install::Profile;
use crate::sh::{self, Result};
use std::path::{Path, PathBuf};

/// Programs that have the path of their data built in, and the arguments that override it.
const WITH_DATA: [(&str, &str); 3] = [
    ("demo", "data/sunspots.csv @OUT@/sunspots.svg"),
    ("rof", "data/camera.pgm @OUT@"),
    ("rof_checks", "data/camera.pgm @OUT@"),
];

/// Builds a project for the bundle and takes every program that its tests run, and every package
/// that it has made.
pub fn add(bundle: &mut Bundle, project: &str, toolkit: Option<&Toolkit>) -> Result {
    let build = build(project, toolkit)?;
    for program in programs(&build)? {
        let name = program.file_name().unwrap_or_default();
        let data = WITH_DATA.iter().find(|(program, _)| name == *program);
        // an example and a test may have one name
        let folder = if project == "cpp-examples" { "tests/examples" } else { project };
        bundle.test(&program, folder, data.map_or("", |(_, arguments)| *arguments))?;
    }
    if project == "tests/cpp" {
        bundle.put_folder(&sh::root().join("tests/abi"), "abi")?;
        bundle.test(&build.join("abi"), "tests/cpp", "abi")?;
    }
    packages(bundle, &build)
}

/// Configures and builds a project so that its programs look for libraries in the bundle's `lib/`;
/// with a toolkit, its packages hold machine code beside the PTX.
pub fn build(project: &str, toolkit: Option<&Toolkit>) -> Result<PathBuf> {
    let out = work().join("build").join(project.replace('/', "-"));
    let prefix = Profile::Release.prefix();
    let mut configure = sh::program("cmake");
    configure.arg("-S").arg(sh::root().join(project)).arg("-B").arg(&out);
    configure.args(["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_BUILD_WITH_INSTALL_RPATH=ON"]);
    configure.arg("-DCMAKE_INSTALL_RPATH=$ORIGIN/../../lib;$ORIGIN/../lib");
    configure
        .arg(format!("-DGENERATOR_ARGS={}", toolkit.map_or(String::new(), |t| t.generator_args().join(";"))));
    // the C++ libraries are linked statically, without unused sections; messages of checks hold no
    // path of this machine
    configure.arg("-DCMAKE_EXE_LINKER_FLAGS=-static-libstdc++ -static-libgcc -Wl,--gc-sections");
    let map = format!("-ffile-prefix-map={}/=", sh::root().display());
    configure.arg(format!("-DCMAKE_CXX_FLAGS={map}")).arg(format!("-DCMAKE_C_FLAGS={map}"));
    configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()));
    configure.arg(format!("-Darraygpu_DIR={}", prefix.join("lib/cmake/arraygpu").display()));
    sh::run(&mut configure)?;
    sh::run(sh::program("cmake").arg("--build").arg(&out).args(["--parallel", &sh::jobs()]))?;
    Ok(out)
}

/// The programs of this project that its tests run without arguments; tests that run CMake need a
/// compiler, and stay here.
fn programs(build: &Path) -> Result<Vec<PathBuf>> {
    let listed = sh::output(sh::program("ctest").arg("--test-dir").arg(build).arg("--show-only=json-v1"));
    let listed = listed.ok_or("ctest cannot list its tests")?;
    let json: serde_json::Value =
        serde_json::from_str(&listed).map_err(|e| format!("ctest's list of tests: {e}"))?;
    let tests = json["tests"].as_array().ok_or("ctest's list has no tests")?;
    let commands = tests.iter().filter_map(|t| t["command"].as_array());
    let alone = commands.filter(|c| c.len() == 1).filter_map(|c| c[0].as_str()).map(PathBuf::from);
    Ok(alone.filter(|p| p.starts_with(build)).collect())
}

/// Takes the packages that a project has made.
pub fn packages(bundle: &mut Bundle, build: &Path) -> Result {
    for path in cmake::packages(build)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        bundle.put(&path.join(format!("lib/lib{name}.so")), "lib")?;
        bundle.put_folder(&path.join("share").join(&name), &format!("share/{name}"))?;
    }
    Ok(())
}
