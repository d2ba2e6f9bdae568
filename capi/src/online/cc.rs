//! Compiles kernels of a program by the system's C compiler if the user allows it, by
//! `ARRAYGPU_CPU_CC=1` or [`agpu_allow_cpu_compiler`]; `CC` names the compiler. A library must not
//! start a compiler without the user's consent. Without it the block interpreter runs the kernels
//! and gives the same bits.

use super::allowance;
use crate::abi::{AgpuCpuKernel, AgpuStatus};
use crate::disk;
use crate::environment;
use crate::error::{Error, Result};
use crate::guard::guard;
use crate::interrupt::{self, refused};
use crate::level::Level;
use crate::library;
use crate::module::Kernels;
use arraygpu_compiler::backend::c::{self, File};
use arraygpu_compiler::package::{self, cc::Compiler};
use arraygpu_compiler::schedule::CpuVariants;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

/// What the program asked for: 0 for nothing, 1 for no, 2 for yes.
static SAID: AtomicU8 = AtomicU8::new(0);

/// Whether the program allows the compiler, or else the environment, which is read once per
/// process.
pub(super) fn is_allowed() -> bool {
    static ALLOWED: OnceLock<bool> = OnceLock::new();
    // `CC` and `PATH` decide which compiler runs, so a privileged process must not trust them
    if environment::is_privileged() {
        return false;
    }
    match SAID.load(Ordering::Relaxed) {
        0 => *ALLOWED
            .get_or_init(|| environment::variable("ARRAYGPU_CPU_CC").is_some_and(|v| v != "0" && v != "off")),
        said => said == 2,
    }
}

/// Sets whether programs that first run on the CPU from now on are compiled by the system's C
/// compiler, which then runs as another process. Without this call the environment variable
/// ARRAYGPU_CPU_CC decides. Programs that are not compiled, or for which no compiler works
/// (agpu_cache_problem() says why), run in the block interpreter, with the same bits. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_allow_cpu_compiler(allowed: bool) -> AgpuStatus {
    guard(|| {
        SAID.store(1 + u8::from(allowed), Ordering::Relaxed);
        Ok(())
    })
}

/// Returns the compiled kernels, or `None` if no compiler may run or none works, which is no error:
/// the block interpreter gives the same bits. Returns an error if the call is interrupted.
/// `count` takes the size of the kernels' text in bytes, and may refuse it.
pub(super) fn kernels(
    variants: &[Option<CpuVariants>],
    level: Level,
    count: impl FnOnce(usize) -> arraygpu_compiler::Result<()>,
) -> Result<Option<Kernels>> {
    if !is_allowed() || variants.is_empty() {
        return Ok(None);
    }
    let mut source = c::Source::new("program");
    count(source.add("main", None, variants.iter().map(Option::as_ref))).map_err(refused)?;
    match compiled(&source.files(), level) {
        Err(e) if interrupt::is_passing(&e) => Err(e),
        Err(e) => {
            disk::note(format!("the C compiler is not used, kernels are interpreted: {}", e.message));
            Ok(None)
        }
        done => done.map(Some),
    }
}

fn compiled(files: &[File], level: Level) -> Result<Kernels> {
    let level: package::level::Level = level.name().parse().map_err(refused)?;
    let name = level.name;
    let failed = |e: std::io::Error| {
        crate::error::error(crate::error::UNAVAILABLE, format!("a temporary folder: {e}"))
    };
    let folder = tempfile::tempdir().map_err(failed)?;
    let compiler = Compiler::find(false).map_err(refused)?.within(allowance::allowed().time);
    let key = compiler.recipe(files, &level);
    if let Some(code) = disk::get(key.as_bytes()) {
        let path = folder.path().join("program.so");
        disk::write(&path, &[&code]).map_err(failed)?;
        return load(&path, name);
    }
    let path = compiler.shared(files, &level, folder.path()).map_err(refused)?;
    let kernels = load(&path, name)?;
    // only a library that loads is kept: a compiler that could not read its source may have made
    // one without kernels
    disk::put(key.as_bytes(), &std::fs::read(&path).map_err(failed)?);
    Ok(kernels)
}

fn load(path: &Path, level: &str) -> Result<Kernels> {
    let failed = |e: String| -> Error {
        crate::error::error(crate::error::UNAVAILABLE, format!("compiled kernels: {e}"))
    };
    // SAFETY: the library contains only kernels, and has no initialisers.
    let library = unsafe { library::open(path) }.map_err(failed)?;
    // SAFETY: the symbol is the table of kernels, whose address dlsym gives.
    let symbol = unsafe { library.get::<*const AgpuCpuKernel>(format!("program_cpu_{level}").as_bytes()) }
        .map_err(|e| failed(e.to_string()))?;
    // SAFETY: only the address is taken.
    let kernels = unsafe { symbol.try_as_raw_ptr() }
        .map_or(std::ptr::null(), |p| p.cast::<AgpuCpuKernel>().cast_const());
    Ok(Kernels::Table { kernels, _code: Some(library) })
}
