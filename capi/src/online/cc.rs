//! Kernels of a program by the system's C compiler, where the user allows it: `ARRAYGPU_CPU_CC=1` (or a compiler in `CC`). A library must not fork a compiler
//! behind its user's back, so without that there is the block interpreter, which computes the same bits.

use super::disk;
use super::program::refused;
use crate::abi::AgpuCpuKernel;
use crate::error::{Error, Result};
use crate::level::Level;
use crate::module::Kernels;
use arraygpu_compiler::backend::c;
use arraygpu_compiler::package::cc::Compiler;
use arraygpu_compiler::schedule::Versions;
use std::path::Path;
use std::sync::OnceLock;

/// Whether the environment allows it. Asked once a process.
pub(super) fn is_allowed() -> bool {
    static ALLOWED: OnceLock<bool> = OnceLock::new();
    *ALLOWED.get_or_init(|| {
        std::env::var("ARRAYGPU_CPU_CC").is_ok_and(|v| !matches!(v.as_str(), "" | "0" | "off"))
    })
}

/// The compiled kernels; `None` where no compiler may run, or none works.
pub(super) fn kernels(versions: &[Versions], level: Level) -> Result<Option<Kernels>> {
    if !is_allowed() || versions.is_empty() {
        return Ok(None);
    }
    let name = match level {
        Level::V2 => "v2",
        Level::V3 => "v3",
        Level::V4 => "v4",
    };
    let source = c::emit("program", versions);
    let failed = |e: std::io::Error| {
        crate::error::error(crate::error::UNAVAILABLE, format!("a temporary folder: {e}"))
    };
    let folder = tempfile::tempdir().map_err(failed)?;
    let compiler = Compiler::find(false).map_err(refused)?;
    let key = [compiler.version.as_str(), &compiler.flags.join(" "), name, &source].join("\n");
    let library = match disk::get(key.as_bytes()) {
        Some(code) => {
            let path = folder.path().join("program.so");
            std::fs::write(&path, code).map_err(failed)?;
            path
        }
        None => {
            let path = compiler.shared(&source, name, folder.path()).map_err(refused)?;
            disk::put(key.as_bytes(), &std::fs::read(&path).map_err(failed)?);
            path
        }
    };
    load(&library, name).map(Some)
}

fn load(path: &Path, level: &str) -> Result<Kernels> {
    let failed = |e: libloading::Error| -> Error {
        crate::error::error(crate::error::UNAVAILABLE, format!("compiled kernels: {e}"))
    };
    // SAFETY: a library of kernels only: it has no initialisers.
    let library = unsafe { libloading::Library::new(path) }.map_err(failed)?;
    // SAFETY: the symbol is the table of kernels, whose address dlsym gives.
    let symbol = unsafe { library.get::<*const AgpuCpuKernel>(format!("program_cpu_{level}").as_bytes()) }
        .map_err(failed)?;
    // SAFETY: only the address is taken.
    let kernels = unsafe { symbol.try_as_raw_ptr() }
        .map_or(std::ptr::null(), |p| p.cast::<AgpuCpuKernel>().cast_const());
    Ok(Kernels::Table { kernels, _code: Some(library) })
}
