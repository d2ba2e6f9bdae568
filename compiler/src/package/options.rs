//! How a package is written, and the versions that it names.

use super::level::Level;
use super::ptxas::Arch;
use std::path::PathBuf;

/// The version of the C ABI between packages and libarraygpu (`agpu_abi_version`).
pub const ABI_VERSION: i32 = 5;
/// The version of the arithmetic (DESIGN: "the same bits everywhere").
pub const ARITH_VERSION: i32 = 1;
/// The version of arraygpu.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The runtime's soname, which packages need.
pub const RUNTIME_SONAME: &str = "libarraygpu.so.5";

/// How to write a package.
pub struct Options {
    /// The package's own folder (`OUT/include`, `OUT/lib`, ...). Made, or replaced if it holds a
    /// package.
    pub out: PathBuf,
    /// The package's version, for CMake and pkg-config.
    pub version: String,
    /// Warnings of the C compiler and of ptxas are errors: for our own tests.
    pub strict: bool,
    /// The levels of the processor that kernels are compiled for; a program takes the highest that
    /// its processor has.
    pub levels: Vec<Level>,
    /// The GPUs that get machine code beside the PTX, which runs on all.
    pub cubin: Vec<Arch>,
    /// The ptxas that makes it; `None`: see `Ptxas::find`.
    pub ptxas: Option<PathBuf>,
    /// Told what is being done, a short line each.
    pub progress: Box<dyn Fn(&str)>,
    /// Told what the user should know; by default it goes to standard error.
    pub warn: Box<dyn Fn(&str)>,
}

impl Options {
    /// Into that folder, without progress. `ARRAYGPU_STRICT=1` in the environment makes warnings
    /// errors.
    pub fn new(out: impl Into<PathBuf>) -> Options {
        Options {
            out: out.into(),
            version: VERSION.into(),
            strict: std::env::var_os("ARRAYGPU_STRICT").is_some_and(|v| v == "1"),
            levels: Level::all().to_vec(),
            cubin: Vec::new(),
            ptxas: None,
            progress: Box::new(|_| ()),
            warn: Box::new(|text| eprintln!("{text}")),
        }
    }
}
