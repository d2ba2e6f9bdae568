//! `cargo xtask install`: libarraygpu as other projects use it.
//!
//! ```text
//! lib/libarraygpu.so -> libarraygpu.so.0 -> libarraygpu.so.0.1.0    lib/libarraygpu.a
//! lib/cmake/arraygpu/    lib/pkgconfig/arraygpu.pc    include/arraygpu.h  include/arraygpu.hpp
//! ```
//!
//! Nothing in it holds an absolute path: the tree can be moved. The library is built as `arraygpu_capi` (the facade crate has the
//! name `arraygpu`) and gets its file name here; its build script gives the soname.

use crate::sh::{self, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version of everything.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The shared library's soname: its number changes when the ABI breaks.
pub const SONAME: &str = "libarraygpu.so.0";

/// How the library and the generators are built.
#[derive(Clone, Copy)]
pub enum Profile {
    /// As users have them.
    Release,
    /// As the Rust tests have them: most of it is built by then.
    Dev,
}

impl Profile {
    /// Arguments of cargo.
    pub fn arguments(self) -> &'static [&'static str] {
        match self {
            Profile::Release => &["--release"],
            Profile::Dev => &[],
        }
    }

    /// Where `demo`, `test` and `bench` install.
    pub fn prefix(self) -> PathBuf {
        sh::target().join(match self {
            Profile::Release => "install",
            Profile::Dev => "install-dev",
        })
    }

    /// Where cargo puts the libraries.
    fn built(self) -> PathBuf {
        sh::target().join(match self {
            Profile::Release => "release",
            Profile::Dev => "debug",
        })
    }
}

/// Builds and installs.
pub fn run(prefix: &Path) -> Result {
    build_and_install(prefix, Profile::Release, &[])
}

/// The same where examples and tests expect it, with the generators that they run built along: in one go, because cargo would choose
/// other features of shared crates for the library alone and compile nearly everything twice.
pub fn for_projects(profile: Profile) -> Result {
    build_and_install(&profile.prefix(), profile, &["--package", "arraygpu-examples"])
}

fn build_and_install(prefix: &Path, profile: Profile, more: &[&str]) -> Result {
    let cwd = std::env::current_dir().map_err(|e| e.to_string())?;
    let prefix = &cwd.join(prefix);
    sh::run(sh::cargo(&["build", "--package", "arraygpu-capi"]).args(profile.arguments()).args(more))?;
    libraries(prefix, &profile.built())?;
    headers(&sh::root().join("include"), &prefix.join("include"))?;
    let templates = sh::root().join("cmake");
    for name in [
        "arraygpu-config.cmake",
        "arraygpu-config-version.cmake",
        "ArraygpuAddPackage.cmake",
        "ArraygpuGenerate.cmake",
    ] {
        let text = fill(&String::from_utf8_lossy(&sh::get(&templates.join(name))?));
        sh::put(&prefix.join("lib/cmake/arraygpu").join(name), text.as_bytes())?;
    }
    let pc = fill(&String::from_utf8_lossy(&sh::get(&templates.join("arraygpu.pc"))?));
    sh::put(&prefix.join("lib/pkgconfig/arraygpu.pc"), pc.as_bytes())?;
    println!("installed arraygpu {VERSION} in {}", prefix.display());
    Ok(())
}

/// Fills the placeholders of a template.
fn fill(text: &str) -> String {
    text.replace("@VERSION@", VERSION).replace("@SONAME@", SONAME)
}

fn libraries(prefix: &Path, built: &Path) -> Result {
    let lib = prefix.join("lib");
    let versioned = format!("libarraygpu.so.{VERSION}");
    sh::put(&lib.join(&versioned), &stripped(&built.join("libarraygpu_capi.so"))?)?;
    sh::put(&lib.join("libarraygpu.a"), &stripped(&built.join("libarraygpu_capi.a"))?)?;
    for (link, to) in [(SONAME, versioned.as_str()), ("libarraygpu.so", SONAME)] {
        let path = lib.join(link);
        if fs::read_link(&path).is_ok_and(|old| old == Path::new(to)) {
            continue;
        }
        let _ = fs::remove_file(&path);
        symlink(to, &path).map_err(|e| format!("cannot link {}: {e}", path.display()))?;
    }
    Ok(())
}

#[cfg(unix)]
fn symlink(to: &str, path: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(to, path)
}

#[cfg(not(unix))]
fn symlink(to: &str, path: &Path) -> std::io::Result<()> {
    fs::copy(path.with_file_name(to), path).map(|_| ())
}

/// The library without its debug information, which nobody needs to link it; as it is where there is no `strip`.
fn stripped(library: &Path) -> Result<Vec<u8>> {
    let out = library.with_extension("stripped");
    let done = sh::output(Command::new("strip").arg("-g").arg("-o").arg(&out).arg(library));
    sh::get(if done.is_some() { &out } else { library })
}

/// Copies the headers of a folder and of the folders in it.
fn headers(from: &Path, to: &Path) -> Result {
    let failed = |e: std::io::Error| format!("cannot read {}: {e}", from.display());
    for entry in fs::read_dir(from).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() {
            headers(&path, &to.join(name))?;
        } else if path.extension().is_some_and(|e| e == "h" || e == "hpp") {
            sh::put(&to.join(name), &sh::get(&path)?)?;
        }
    }
    Ok(())
}
