//! The options for writing a package, and the versions that a package records.

use super::cache::Cache;
use super::level::Level;
use super::ptxas::Arch;
use super::records::Records;
use std::path::PathBuf;

/// The version of the C ABI between packages and libarraygpu (`agpu_abi_version`).
pub const ABI_VERSION: i32 = 8;
/// The version of the arithmetic: results with one version have the same bits everywhere.
pub const ARITH_VERSION: i32 = 1;
/// The version of arraygpu.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The soname of the runtime, on which packages depend.
pub const RUNTIME_SONAME: &str = "libarraygpu.so.5";

/// The options for writing a package.
pub struct Options {
    /// The package's own folder (`OUT/include`, `OUT/lib`, ...). It is created, or replaced if it
    /// holds a package.
    pub out: PathBuf,
    /// The package's version, for CMake and pkg-config.
    pub version: String,
    /// Whether warnings of the C compiler and of ptxas are errors, as in the tests of arraygpu.
    pub strict: bool,
    /// The levels of the processor for which kernels are compiled. At run time the highest level
    /// that the processor supports is used.
    pub levels: Vec<Level>,
    /// Whether the C compiler optimises less, which takes a third of the time: kernels have the same bits, but are
    /// slower.
    pub debug: bool,
    /// The architectures that get machine code beside the PTX, which runs on all.
    pub cubin: Vec<Arch>,
    /// The ptxas to use; if `None`, `Ptxas::find` searches for one.
    pub ptxas: Option<PathBuf>,
    /// Keeps what the C compiler and the compression made, so that only what changed is made again.
    pub cache: Option<Cache>,
    /// The structs of the interface.
    pub records: Records,
    /// The maximum number of C compilers that run at the same time.
    pub jobs: usize,
    /// Whether to write the C source and the PTX beside the libraries, to read.
    pub sources: bool,
    /// Called with a short line for each step of the work.
    pub progress: Box<dyn Fn(&str)>,
    /// Called with each warning for the user; by default it is written to standard error.
    pub warn: Box<dyn Fn(&str)>,
}

impl Options {
    /// Makes options for a package in this folder that report no progress and use no cache. `ARRAYGPU_STRICT=1` in
    /// the environment makes warnings errors.
    pub fn new(out: impl Into<PathBuf>) -> Options {
        Options {
            out: out.into(),
            version: VERSION.into(),
            strict: std::env::var_os("ARRAYGPU_STRICT").is_some_and(|v| v == "1"),
            levels: Level::all().to_vec(),
            debug: false,
            cubin: Vec::new(),
            ptxas: None,
            cache: None,
            records: Records::default(),
            jobs: default_jobs(),
            sources: false,
            progress: Box::new(|_| ()),
            warn: Box::new(|text| eprintln!("{text}")),
        }
    }
}

/// Returns the number of C compilers that run at the same time unless the user says otherwise.
pub fn default_jobs() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
