//! The command line.

use arraygpu_compiler::budget::Budget;
use arraygpu_compiler::driver::Targets;
use arraygpu_compiler::error::{Error, Result};
use arraygpu_compiler::scalar::Lit;
use arraygpu_compiler::without::Optimisation;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Parser, ValueEnum};
use std::path::{Path, PathBuf};

/// Reads core IR or kernel IR as text, runs passes, prints any later stage.
#[derive(Parser, Clone, Debug)]
#[command(name = "arraygpu-opt", disable_version_flag = true)]
pub struct Arguments {
    /// Text of core IR, or of kernel IR (what it begins with says which); `-`: standard input
    #[arg(required_unless_present = "list_passes")]
    file: Option<PathBuf>,

    /// Core IR: print it after this pass; `all`: after each
    #[arg(long, value_name = "PASS|all")]
    pub(crate) dump_after: Vec<String>,

    /// Core IR: print these stages; kernel IR: `cuda` alone
    #[arg(long, value_enum, value_delimiter = ',', value_name = "STAGE,..")]
    pub(crate) emit: Vec<Stage>,

    /// Core IR: compile for this target only
    #[arg(long, value_enum, default_value = "all")]
    pub(crate) target: Target,

    /// With --emit kernel or cuda: print the variants of this name only
    #[arg(long, requires = "emit", value_name = "NAME")]
    pub(crate) kernel: Option<String>,

    /// Kernel IR: run these passes, in this order, and print the result
    #[arg(long, value_delimiter = ',', value_name = "PASS,..")]
    pub(crate) run: Vec<String>,

    /// Print what was decided for each function, and why: `text`, `short` or `json`
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "text", value_name = "text|short|json")]
    pub(crate) explain: Option<String>,

    /// With --explain: predict times at this bandwidth in GB/s, of reads and writes together
    #[arg(long, allow_hyphen_values = true, value_name = "GB/s")]
    pub(crate) bandwidth: Option<String>,

    /// With --explain: predict bytes and times for parameters of this size
    #[arg(long, allow_hyphen_values = true, value_name = "[FUNCTION.]PARAMETER=N[xN..]")]
    pub(crate) extent: Vec<String>,

    /// With --explain: only these functions
    #[arg(long, value_delimiter = ',', requires = "explain", value_name = "NAME,..")]
    pub(crate) function: Vec<String>,

    /// Core IR: leave these optimisations out, to see what each does (docs/optimisations.md)
    #[arg(long, value_delimiter = ',', value_name = "NAME,..", value_parser = optimisation())]
    pub(crate) without: Vec<Optimisation>,

    /// Core IR: specialise the functions for these values of what they stage
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true, value_name = "LITERAL,..")]
    pub(crate) stage: Vec<Lit>,

    /// Core IR: give up a function that takes more than this to compile
    #[arg(long, value_name = "nodes=N,bytes=N,seconds=S")]
    pub(crate) budget: Option<Budget>,

    /// Print the author's places, too
    #[arg(long)]
    pub(crate) locs: bool,

    /// Print the names of all passes
    #[arg(long)]
    pub(crate) list_passes: bool,
}

/// Parses the name of an optimisation. The help lists all.
fn optimisation() -> impl TypedValueParser<Value = Optimisation> {
    PossibleValuesParser::new(Optimisation::ALL.map(Optimisation::name))
        .try_map(|name| name.parse::<Optimisation>())
}

/// A stage of the compiler.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Stage {
    /// core IR as read from the file
    Core,
    /// core IR after all passes
    Fused,
    /// the plan of each function
    Plan,
    /// kernel IR: every variant of every kernel
    Kernel,
    /// the C source of the CPU
    C,
    /// the PTX of GPUs
    Ptx,
    /// the kernels of GPUs as CUDA C++, to read or for nvcc
    Cuda,
}

impl Stage {
    /// What the driver calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Stage::Core => "core",
            Stage::Fused => "fused",
            Stage::Plan => "plan",
            Stage::Kernel => "kernel",
            Stage::C => "c",
            Stage::Ptx => "ptx",
            Stage::Cuda => "cuda",
        }
    }
}

/// What to compile for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Target {
    /// x86-64 processors
    Cpu,
    /// NVIDIA GPUs
    Cuda,
    /// both
    All,
}

impl Target {
    pub(crate) fn targets(self) -> Targets {
        Targets { cpu: self != Target::Cuda, cuda: self != Target::Cpu }
    }
}

impl Arguments {
    /// Parses a command line without the file, whose text tests have already.
    pub fn of_options<'a>(options: impl IntoIterator<Item = &'a str>) -> Result<Arguments> {
        let words = ["arraygpu-opt", "-"].into_iter().chain(options);
        Arguments::try_parse_from(words)
            .map_err(|e| Error::user("E0104", e.to_string().trim_start_matches("error: ").trim_end()))
    }

    /// The file to read, `-` for standard input. There may be none where nothing is compiled.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }
}
