//! The libraries as they are installed, made of the static one of cargo's.
//!
//! Both show `agpu_*` and nothing else. Cargo can do neither: a version script of ours does not go
//! together with the one that rustc writes for a shared library, and in a static one all symbols of
//! Rust's standard library are global, so that two such libraries in one program would clash.

use crate::sh::{self, Result};
use std::path::{Path, PathBuf};

/// What code of Rust's standard library needs.
const NEEDED: [&str; 4] = ["-lgcc_s", "-lpthread", "-lm", "-ldl"];

/// The functions that it shows, with their versions.
pub fn map() -> PathBuf {
    sh::root().join("capi/symbols.map")
}

/// The shared library, with versions of its symbols and this soname.
pub fn shared(archive: &Path, soname: &str, out: &Path) -> Result {
    let mut link = sh::program("cc");
    link.arg("-shared").arg("-o").arg(out);
    link.arg("-Wl,--whole-archive").arg(archive).arg("-Wl,--no-whole-archive");
    link.arg(format!("-Wl,--version-script={}", map().display())).arg(format!("-Wl,-soname,{soname}"));
    // code of worker threads and thread-local destructors must stay after a dlclose
    link.args([
        "-Wl,-z,nodelete",
        "-Wl,-z,relro,-z,now",
        "-Wl,-z,defs",
        "-Wl,--gc-sections",
        "-Wl,--strip-debug",
    ]);
    sh::run(link.args(NEEDED))
}

/// The static library: one object, whose other symbols are local.
pub fn of_one_object(archive: &Path, out: &Path) -> Result {
    let [whole, object] = ["whole.o", "arraygpu.o"].map(|name| archive.with_file_name(name));
    let mut join = sh::program("ld");
    sh::run(join.arg("-r").arg("-o").arg(&whole).arg("--whole-archive").arg(archive))?;
    let mut localise = sh::program("objcopy");
    localise.args(["--strip-debug", "--wildcard", "--keep-global-symbol=agpu_*"]);
    // bitcode of the standard library, which is not valid in a joined object
    localise.args(["--remove-section=.llvmbc", "--remove-section=.llvmcmd"]);
    sh::run(localise.arg(&whole).arg(&object))?;
    let _ = std::fs::remove_file(out);
    sh::run(sh::program("ar").arg("rcsD").arg(out).arg(&object))?;
    let _ = std::fs::remove_file(&whole);
    Ok(())
}
