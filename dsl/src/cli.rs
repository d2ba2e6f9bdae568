//! The command line of a generator.
//!
//! Without options it writes the package. `--emit`, `--list` and `--explain` print to stdout, and
//! write nothing unless `--out` is given, too. Everything else that is said goes to stderr.

use crate::error::{Error, Result};
use crate::package::Package;
use crate::progress::Progress;
use arraygpu_compiler as compiler;
use arraygpu_compiler::budget::Budget;
use arraygpu_compiler::core::{Function, Type};
use arraygpu_compiler::driver::Targets;
use arraygpu_compiler::explain::{Extent, Format, Options};
use arraygpu_compiler::package::cache::Cache;
use arraygpu_compiler::package::level::Level;
use arraygpu_compiler::package::model::{c_type, cpp_class};
use arraygpu_compiler::package::ptxas::Arch;
use arraygpu_compiler::scalar::Ty;
use arraygpu_compiler::without::{self, Optimisation};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{CommandFactory, FromArgMatches, Parser, ValueEnum};
use std::ffi::OsString;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Writes this generator's package: headers, libraries, CMake and pkg-config files for C and C++.
#[derive(Parser, Debug)]
#[command(disable_version_flag = true)]
struct Arguments {
    /// The package's folder, made or replaced [default: ./<package>]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// What the package runs on
    #[arg(long, value_enum, value_delimiter = ',', default_value = "cpu,cuda", value_name = "TARGET,..")]
    target: Vec<Target>,

    /// Compile kernels for these levels of x86-64 only; a program takes the highest that its
    /// processor has, and has none below the lowest. `host` is the highest of this machine: for
    /// programs that run here, in a third of the time [default: all]
    #[arg(long, value_delimiter = ',', value_name = "v2,v3,v4|host", value_parser = level)]
    level: Vec<Level>,

    /// For debug builds: compile kernels for this machine's highest level alone unless --level names
    /// others, and let the C compiler optimise less; the same bits in a tenth of the time, but slower kernels
    #[arg(long)]
    debug: bool,

    /// Run at most this many C compilers at the same time [default: the number of processors]
    #[arg(long, short, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    /// Write the C source and the PTX to `share` in the package, to read
    #[arg(long)]
    sources: bool,

    /// Keep compiled functions in this folder, so that only those that changed are compiled again;
    /// `off`: nowhere [default: `packages` in $ARRAYGPU_CACHE, $XDG_CACHE_HOME/arraygpu or
    /// ~/.cache/arraygpu]
    #[arg(long, value_name = "DIR|off")]
    cache: Option<PathBuf>,

    /// Add machine code for these GPUs to the PTX, which runs on all from sm_80 on: the first call
    /// need not wait for the driver to make it
    #[arg(long, value_delimiter = ',', value_name = "sm_90,..", value_parser = architecture)]
    cubin: Vec<Arch>,

    /// NVIDIA's ptxas, which makes it [default: the first of PATH, $CUDA_HOME/bin, $CUDA_PATH/bin,
    /// /usr/local/cuda/bin]
    #[arg(long, value_name = "FILE")]
    ptxas: Option<PathBuf>,

    /// Print these stages of the compiler
    #[arg(long, value_enum, value_delimiter = ',', value_name = "STAGE,..")]
    emit: Vec<Stage>,

    /// Print what was decided for each function, and why: kernels, what fused, what is stored,
    /// bytes moved
    #[arg(long, value_parser = format, num_args = 0..=1, require_equals = true, default_missing_value = "text", value_name = "text|short|json")]
    explain: Option<Format>,

    /// With --explain: predict times at this bandwidth in GB/s, of reads and writes together
    #[arg(long, value_parser = bandwidth, requires = "explain", value_name = "GB/s")]
    bandwidth: Option<f64>,

    /// With --explain: predict bytes and times for parameters of this size, `x=67108864`,
    /// `m=8192x8192`, `rmse.x=1000`; of a scalar its value
    #[arg(long, value_parser = extent, requires = "explain", value_name = "[FUNCTION.]PARAMETER=N[xN..]")]
    extent: Vec<Extent>,

    /// With --explain: only these functions
    #[arg(long, value_delimiter = ',', requires = "explain", value_name = "NAME,..")]
    function: Vec<String>,

    /// Give up a function that takes more than this to compile [default: nodes=40000000,
    /// bytes=2147483648,seconds=600]
    #[arg(long, value_name = "nodes=N,bytes=N,seconds=S")]
    budget: Option<Budget>,

    /// Leave these optimisations of kernels for GPUs out, to measure what each does: no bit changes
    #[arg(long, value_delimiter = ',', value_name = "NAME,..", value_parser = optimisation())]
    without: Vec<Optimisation>,

    /// Print the functions with their C++ signatures
    #[arg(long)]
    list: bool,

    /// Do not report progress
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Target {
    /// x86-64 processors
    Cpu,
    /// NVIDIA GPUs
    Cuda,
}

/// Parses an architecture. clap asks for errors that are texts.
fn architecture(text: &str) -> std::result::Result<Arch, String> {
    text.parse().map_err(|e: compiler::Error| e.message)
}

fn level(text: &str) -> std::result::Result<Level, String> {
    text.parse().map_err(|e: compiler::Error| e.message)
}

fn format(text: &str) -> std::result::Result<Format, String> {
    text.parse().map_err(|e: compiler::Error| e.message)
}

fn bandwidth(text: &str) -> std::result::Result<f64, String> {
    Options::parse_bandwidth(text).map_err(|e| e.message)
}

fn extent(text: &str) -> std::result::Result<Extent, String> {
    text.parse().map_err(|e: compiler::Error| e.message)
}

/// Parses the name of an optimisation. The help lists all.
fn optimisation() -> impl TypedValueParser<Value = Optimisation> {
    PossibleValuesParser::new(Optimisation::ALL.map(Optimisation::name))
        .try_map(|name| name.parse::<Optimisation>())
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Stage {
    /// core IR as the author wrote it
    Core,
    /// core IR after all passes
    Fused,
    /// the plan of each function
    Plan,
    /// kernel IR
    Kernel,
    /// the C source of the CPU
    C,
    /// the PTX of GPUs
    Ptx,
    /// the kernels of GPUs as CUDA C++, to read or for nvcc
    Cuda,
}

impl Stage {
    fn name(self) -> &'static str {
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

    /// How a comment begins in the stage's text.
    fn comment(self) -> &'static str {
        if matches!(self, Stage::C | Stage::Ptx | Stage::Cuda) { "//" } else { ";" }
    }
}

impl Package {
    /// The generator's command line: does what the program's arguments say; without arguments it
    /// writes the package to `./NAME`. The result is meant for `main`: an error is printed with the
    /// author's file and line, and the exit code is not 0.
    ///
    /// Cost: compiles every function, in the generator, and runs the C compiler for each level of
    /// the instruction set.
    ///
    /// ```no_run
    /// use arraygpu_dsl::prelude::*;
    ///
    /// fn main() -> arraygpu_dsl::Result<()> {
    ///     Package::new("p").function("total", ["x"], "result", |x: VExp<f32>| x.sum()).run()
    /// }
    /// ```
    pub fn run(self) -> Result<()> {
        // a wrong command line ends the program as clap does: usage on stderr, exit code 2
        let arguments = parse(&self, std::env::args_os().skip(1).collect()).unwrap_or_else(|e| e.exit());
        execute(&self, &arguments, &mut std::io::stdout())
    }

    /// [`Package::run`] with these arguments in place of the program's; the program's name is not
    /// among them. A wrong command line is an error value.
    ///
    /// Cost: that of [`Package::run`].
    ///
    /// ```
    /// # use arraygpu_dsl::prelude::*;
    /// let package = Package::new("p").function("total", ["x"], "result", |x: VExp<f32>| x.sum());
    /// assert!(package.run_with(["--no-such-option"]).is_err());
    /// ```
    pub fn run_with<S: Into<OsString>>(self, arguments: impl IntoIterator<Item = S>) -> Result<()> {
        self.run_to(arguments, &mut std::io::stdout())
    }

    /// [`Package::run_with`], where `out` gets what `--emit`, `--list`, `--explain` and `--help`
    /// print.
    ///
    /// Cost: that of [`Package::run`].
    ///
    /// ```
    /// # use arraygpu_dsl::prelude::*;
    /// let package = Package::new("p").function("total", ["x"], "result", |x: VExp<f32>| x.sum());
    /// let mut out = Vec::new();
    /// package.run_to(["--list"], &mut out)?;
    /// assert!(String::from_utf8_lossy(&out).contains("void p::total("));
    /// # arraygpu_dsl::Result::Ok(())
    /// ```
    pub fn run_to<S: Into<OsString>>(
        self,
        arguments: impl IntoIterator<Item = S>,
        out: &mut dyn Write,
    ) -> Result<()> {
        match parse(&self, arguments.into_iter().map(Into::into).collect()) {
            Ok(arguments) => execute(&self, &arguments, out),
            Err(e) if e.use_stderr() => Err(Error::command_line(e.to_string().trim_start_matches("error: "))),
            Err(help) => print(out, &help.to_string()),
        }
    }
}

fn parse(package: &Package, arguments: Vec<OsString>) -> std::result::Result<Arguments, clap::Error> {
    let program = format!("{}-generator", package.name());
    let words = std::iter::once(program.clone().into()).chain(arguments);
    let command = Arguments::command().bin_name(program);
    command.try_get_matches_from(words).and_then(|matches| Arguments::from_arg_matches(&matches))
}

fn execute(package: &Package, arguments: &Arguments, stdout: &mut dyn Write) -> Result<()> {
    if arguments.list {
        let functions = package.functions()?;
        print(stdout, &functions.iter().map(|f| listed(package.name(), f)).collect::<String>())?;
        if arguments.emit.is_empty() && arguments.explain.is_none() && arguments.out.is_none() {
            return Ok(());
        }
    }
    let progress = Progress::new(package.name(), arguments.quiet);
    progress.say("compiling the functions");
    let has = |target| arguments.target.contains(&target);
    let targets = Targets { cpu: has(Target::Cpu), cuda: has(Target::Cuda) };
    let compiled = without::compiled(&arguments.without, || package.compile_for(targets, arguments.budget))?;
    let unsaid = arguments.explain.is_none() && !arguments.quiet;
    for warning in compiled.functions.iter().flat_map(|f| &f.warnings).filter(|_| unsaid) {
        eprintln!("{}: warning: {warning}", package.name());
    }
    for stage in &arguments.emit {
        if arguments.emit.len() > 1 {
            print(stdout, &format!("{} ---- {} ----\n", stage.comment(), stage.name()))?;
        }
        print(stdout, &compiled.emit(stage.name())?)?;
    }
    if let Some(format) = arguments.explain {
        let options = Options {
            bandwidth: arguments.bandwidth,
            extents: arguments.extent.clone(),
            functions: arguments.function.clone(),
            hints: true,
            records: package.explained(),
        };
        print(stdout, &compiled.explain(&options, format)?)?;
    }
    let only_prints = arguments.list || arguments.explain.is_some() || !arguments.emit.is_empty();
    if only_prints && arguments.out.is_none() {
        return Ok(());
    }
    let out = arguments.out.clone().unwrap_or_else(|| package.name().into());
    let levels = match arguments.level.as_slice() {
        [] if arguments.debug => vec![Level::host()],
        [] => Level::all().to_vec(),
        asked => asked.to_vec(),
    };
    let options = compiler::package::Options {
        levels,
        debug: arguments.debug,
        cubin: arguments.cubin.clone(),
        ptxas: arguments.ptxas.clone(),
        cache: match &arguments.cache {
            None => Cache::of_user(),
            Some(word) if word.as_os_str() == "off" => None,
            Some(folder) => Some(Cache::at(folder)),
        },
        jobs: arguments.jobs.map_or_else(compiler::package::default_jobs, NonZeroUsize::get),
        records: package.interface()?,
        sources: arguments.sources,
        progress: Box::new(move |text| progress.say(text)),
        ..compiler::package::Options::new(out)
    };
    Ok(compiler::package::write(&compiled, &options)?)
}

/// Prints to stdout. A reader that has closed the pipe (`| head`) is no error.
fn print(out: &mut dyn Write, text: &str) -> Result<()> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::command_line(format!("cannot write to stdout: {e}")))
        }
        _ => Ok(()),
    }
}

/// The element type in C++.
fn cpp_type(ty: Ty) -> &'static str {
    match ty {
        Ty::F16 => "arraygpu::half",
        Ty::Bf16 => "arraygpu::bfloat16",
        ty => c_type(ty),
    }
}

/// The function in `--list`: its documentation and its form with out-parameters.
fn listed(package: &str, f: &Function) -> String {
    let mut params = Vec::new();
    for p in &f.params {
        let elem = cpp_type(p.ty.elem);
        params.push(match p.ty.is_scalar() {
            true => format!("{elem} {}", p.name),
            false => format!("{}_view<const {elem}> {}", cpp_class(p.ty.rank), p.name),
        });
    }
    for r in &f.results {
        let Type { elem, rank } = f.graph.ty(r.value);
        let elem = cpp_type(elem);
        params.push(match rank {
            0 => format!("{elem}& {}", r.name),
            _ => format!("{}_view<{elem}> {}", cpp_class(rank), r.name),
        });
    }
    let doc: String =
        f.doc.trim().lines().map(|line| format!("// {line}").trim_end().to_string() + "\n").collect();
    format!("{doc}void {package}::{}({});\n", f.name, params.join(", "))
}
