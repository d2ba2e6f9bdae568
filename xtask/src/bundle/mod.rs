//! `cargo xtask bundle`: one folder with libraries, packages, tests and benchmarks that runs on
//! another Linux machine, which needs nothing but glibc 2.36 and, for the GPU, NVIDIA's driver.
//!
//! ```text
//! lib/         libarraygpu.so.5 and the packages' libraries      share/   the packages' manifests and code to read
//! tests/cpp/   programs of tests/cpp/                            tests/examples/   programs of cpp-examples/
//! tests/rust/  test programs of the runtime
//! tests.list   what run-tests.sh runs, with arguments            data/    what they read
//! bench/       the benchmark                                     share/bench/   its peers' source
//! run-tests.sh  run-bench.sh  run-sanitizer.sh  README.txt  THIRD-PARTY.txt  sbom.json
//! ```
//!
//! Programs find libraries beside them (`$ORIGIN`), and data from the bundle's root, where the
//! scripts start them.

mod bench;
mod check;
mod fuzz;
mod projects;
mod random;
mod rust;

use crate::cuda::Toolkit;
use crate::install::{self, Profile};
use crate::sh::{self, Result, say};
use crate::{licences, system};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The bundle while it is made.
pub struct Bundle {
    /// The folder that travels.
    pub root: PathBuf,
    /// A line a test program: its path in the bundle, and arguments.
    pub tests: Vec<String>,
}

const FILES: [(&str, &str); 4] = [
    ("run-tests.sh", include_str!("../../bundle/run-tests.sh")),
    ("run-bench.sh", include_str!("../../bundle/run-bench.sh")),
    ("run-sanitizer.sh", include_str!("../../bundle/run-sanitizer.sh")),
    ("README.txt", include_str!("../../bundle/README.txt")),
];

/// The archive's dictionary holds the whole bundle: test programs that have the library inside, and
/// packages that have the same runtime code, are stored as what differs between them.
const XZ_OPTIONS: &str = "-T1 --lzma2=preset=3,dict=384MiB";

/// Makes the bundle anew.
pub fn run() -> Result {
    system::ensure(system::BUILD)?;
    let root = work().join("arraygpu-bundle");
    let _ = fs::remove_dir_all(&root);
    let mut bundle = Bundle { root, tests: Vec::new() };
    let toolkit = &Toolkit::find();
    let toolkit = toolkit.as_ref();
    if toolkit.is_none() {
        println!("no CUDA toolkit: packages get PTX, but no machine code");
    }
    say("libarraygpu, built and installed");
    install::for_projects(Profile::Release)?;
    bundle.put(&Profile::Release.prefix().join("lib").join(install::SONAME), "lib")?;
    say("C and C++ programs");
    for project in ["cpp-examples", "tests/cpp"] {
        projects::add(&mut bundle, project, toolkit)?;
    }
    for data in ["demo/data/sunspots.csv", "rof/data/camera.pgm"] {
        bundle.put(&sh::root().join("cpp-examples").join(data), "data")?;
    }
    say("test programs of the runtime");
    rust::add(&mut bundle)?;
    say("random programs");
    random::add(&mut bundle, toolkit)?;
    fuzz::add(&mut bundle)?;
    say("the benchmark");
    bench::add(&mut bundle, toolkit)?;
    for (name, text) in FILES {
        sh::put(&bundle.root.join(name), text.as_bytes())?;
        if name.ends_with(".sh") {
            executable(&bundle.root.join(name))?;
        }
    }
    let (notices, sbom) = licences::shipped()?;
    sh::put(&bundle.root.join("THIRD-PARTY.txt"), notices.as_bytes())?;
    sh::put(&bundle.root.join("sbom.json"), sbom.as_bytes())?;
    sh::put(&bundle.root.join("tests.list"), (bundle.tests.join("\n") + "\n").as_bytes())?;
    say("what the bundle needs of a machine");
    check::all(&bundle.root)?;
    let archive = bundle.root.with_extension("tar.xz");
    let (folder, name) = (work(), bundle.root.file_name().unwrap_or_default());
    let mut tar = sh::program("tar");
    sh::run(tar.env("XZ_OPT", XZ_OPTIONS).arg("-C").arg(folder).arg("-cJf").arg(&archive).arg(name))?;
    check::archive(&archive)
}

/// Where its parts are built, and the bundle lies.
pub fn work() -> PathBuf {
    sh::target().join("bundle")
}

impl Bundle {
    /// Copies a file into a folder of the bundle.
    pub fn put(&self, file: &Path, folder: &str) -> Result {
        let name = file.file_name().unwrap_or_default();
        self.put_as(file, &format!("{folder}/{}", name.to_string_lossy()))
    }

    /// Copies a file to a path in the bundle; programs and libraries without what only debuggers
    /// need.
    pub fn put_as(&self, file: &Path, name: &str) -> Result {
        let to = self.root.join(name);
        let failed = |e: std::io::Error| format!("cannot copy {} to {name}: {e}", file.display());
        fs::create_dir_all(to.parent().unwrap_or(&self.root)).map_err(failed)?;
        fs::copy(file, &to).map_err(failed)?;
        if check::is_elf(&to) {
            sh::output(sh::program("strip").arg("--strip-unneeded").arg(&to));
        }
        Ok(())
    }

    /// Copies a folder with all that is in it.
    pub fn put_folder(&self, from: &Path, name: &str) -> Result {
        for entry in fs::read_dir(from).map_err(|e| format!("cannot read {}: {e}", from.display()))? {
            let path = entry.map_err(|e| e.to_string())?.path();
            let inside = format!("{name}/{}", path.file_name().unwrap_or_default().to_string_lossy());
            if path.is_dir() { self.put_folder(&path, &inside)? } else { self.put_as(&path, &inside)? }
        }
        Ok(())
    }

    /// Adds a program that run-tests.sh runs.
    pub fn test(&mut self, program: &Path, folder: &str, arguments: &str) -> Result {
        let name = format!("{folder}/{}", program.file_name().unwrap_or_default().to_string_lossy());
        self.put_as(program, &name)?;
        self.tests.push(format!("{name} {arguments}").trim_end().to_string());
        Ok(())
    }
}

fn executable(path: &Path) -> Result {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
        .map_err(|e| format!("cannot make {} executable: {e}", path.display()))
}
