//! Tasks of the repository: `cargo xtask demo`, `cargo xtask test`, ... (`cargo xtask --help` lists
//! them).

mod bench;
mod bundle;
mod cliffs;
mod cmake;
mod count;
mod cuda;
mod demo;
mod fuzz;
mod independent;
mod install;
mod licences;
mod link;
mod part;
mod pip;
mod programs;
mod prove;
mod ptxas;
mod same_kernels;
mod sanitize;
mod sh;
mod system;
mod test;
mod tidy;
mod ulp;

use clap::{Parser, Subcommand};
use part::Part;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Tasks of the arraygpu repository", version)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Build everything, run the demo through an installed tree and say where its plot is
    Demo,
    /// Run all tests: Rust, style rules, and the C and C++ programs under ctest
    Test {
        /// Only this step: style, licences, formatting, clippy, rust, independent, cpp-examples,
        /// tests/cpp
        step: Option<String>,
        /// Leave out what takes long, and say what that is
        #[arg(long, conflicts_with = "step")]
        fast: bool,
        /// Take only this part of the tests of the programs that take longest: 2/4 is the third of four
        #[arg(long, value_name = "K/N", conflicts_with = "fast")]
        part: Option<Part>,
    },
    /// Build libarraygpu and install it with headers, CMake and pkg-config files (relocatable)
    Install {
        /// Where to: DIR/lib, DIR/include
        #[arg(long, value_name = "DIR")]
        prefix: PathBuf,
    },
    /// Remove what `install` put there
    Uninstall {
        /// Where from
        #[arg(long, value_name = "DIR")]
        prefix: PathBuf,
    },
    /// Build and run the benchmarks
    Bench {
        /// Only those whose name contains this
        name: Option<String>,
    },
    /// Make a folder with libraries, tests and benchmarks that runs on a machine with nothing but
    /// NVIDIA's driver
    Bundle,
    /// Compare what the compiler makes of a corpus of programs with the ideal; writes
    /// tests/programs/CLIFFS.md
    Cliffs {
        /// Measure instead, on one thread of the CPU or on the first GPU, and print predicted and
        /// measured times
        #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "cpu", value_name = "cpu|gpu")]
        time: Option<cliffs::On>,
        /// With --time: only programs whose name contains this
        #[arg(requires = "time")]
        name: Option<String>,
    },
    /// Turn the committed rows of bench/results into one page: bench/report/speed.md, and speed.html with plots
    Report,
    /// Regenerate include/arraygpu.h and the golden files that tests compare with
    Bless,
    /// Measure the elementary functions: errors against MPFR, and speed; writes rows and the table
    /// of docs/elementary.md (an hour for all)
    Ulp {
        /// Only these
        functions: Vec<String>,
        /// Inputs of each f64 function, and of each of two numbers
        #[arg(long, default_value_t = 1 << 28)]
        points: u64,
        /// Write the tables of hard cases for the tests of math/ instead
        #[arg(long)]
        hard: bool,
        /// Only write the table from the rows that are there
        #[arg(long)]
        table: bool,
        /// Take what the tools printed on another machine, in place of measuring here
        #[arg(long)]
        measured: Option<std::path::PathBuf>,
    },
    /// Run random programs through the passes, a simulated GPU, the block interpreter and C,
    /// against the interpreter; `--help` tells its options
    #[command(disable_help_flag = true)]
    Fuzz {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        options: Vec<String>,
    },
    /// Prove the rewrites of scalars and indices by SMT solvers; writes
    /// compiler/suite/tests/proofs/log.txt
    Prove {
        /// Prove again what is proven already (an hour)
        #[arg(long)]
        all: bool,
        /// Seconds that a solver may take for one claim
        #[arg(long, default_value_t = 600)]
        limit: u32,
    },
    /// Run the runtime's tests, random calls of its interface, and C++ programs under sanitizers,
    /// Miri, loom and valgrind (the nightly toolchain with rust-src and miri)
    Sanitize {
        /// Only this one
        tool: Option<sanitize::Tool>,
    },
    /// Compare the interpreter with an independent one, in Python with MPFR, to the bit (part of
    /// `test`)
    Independent {
        /// Programs, calls and results in the form of `fuzz/examples/oracle.rs`, in place of its
        /// own
        programs: Option<PathBuf>,
    },
    /// Compare the kernels of the repository's packages with those that the compiler wrote before a
    /// change
    SameKernels {
        /// Keep the kernels of now in this folder
        #[arg(long, value_name = "FOLDER", conflicts_with = "against", required_unless_present = "against")]
        save: Option<PathBuf>,
        /// Compare with the kernels that were kept in this folder
        #[arg(long, value_name = "FOLDER")]
        against: Option<PathBuf>,
    },
    /// Check the licences, sources and versions of the crates that we depend on against deny.toml
    /// (part of `test`)
    Licences,
    /// Check the repository's style rules (part of `test`)
    Tidy,
}

fn main() -> ExitCode {
    let result = match Cli::parse().task {
        Task::Demo => demo::run(),
        Task::Test { fast: true, .. } => test::fast(),
        Task::Test { step, part, fast: false } => test::run(step.as_deref(), part),
        Task::Install { prefix } => install::run(&prefix),
        Task::Uninstall { prefix } => install::uninstall(&prefix),
        Task::Bench { name } => bench::run(name.as_deref()),
        Task::Bundle => bundle::run(),
        Task::Cliffs { time: None, .. } => cliffs::run(),
        Task::Cliffs { time: Some(on), name } => cliffs::time(on, name.as_deref()),
        Task::Report => sh::run(&mut sh::cargo(&["run", "--quiet", "--package", "arraygpu-report"])),
        Task::Bless => test::bless(),
        Task::Ulp { functions, points, hard, table, measured } => {
            ulp::run(&ulp::Asked { functions, points, hard, table, measured })
        }
        Task::Fuzz { options } => fuzz::run(&options),
        Task::Prove { all, limit } => prove::run(all, limit),
        Task::Sanitize { tool } => sanitize::run(tool),
        Task::Independent { programs } => {
            independent::run(programs.as_deref(), &mut count::Counts::default())
        }
        Task::SameKernels { save: Some(folder), .. } => same_kernels::save(&folder),
        Task::SameKernels { against, .. } => same_kernels::compare(&against.unwrap_or_default()),
        Task::Licences => licences::run(),
        Task::Tidy => tidy::run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
