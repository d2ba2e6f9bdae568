//! The command line, and what the program does for it.

use crate::array::Array;
use crate::call::{Call, Device, device_number};
use crate::package::{Function, Package};
use crate::problem::{Result, failure, unknown, usage};
use crate::profile::{self, Predictions};
use crate::runtime::Runtime;
use crate::{benchmark, file, input, report};
use clap::Parser;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Calls a function of an arraygpu package, prints its results and measures it.
#[derive(Parser, Debug)]
#[command(name = "arraygpu-run", version, after_help = HELP)]
pub struct Arguments {
    /// The package's library: lib<name>.so
    package: PathBuf,

    /// The function; without it all are listed
    function: Option<String>,

    /// A parameter and its value, see below
    #[arg(value_name = "NAME=VALUE")]
    values: Vec<String>,

    /// Print signature, documentation and rules of the function, or of all
    #[arg(long)]
    describe: bool,

    /// Measure calls, beside copies of as many bytes
    #[arg(long, requires = "function")]
    benchmark: bool,

    /// Time each launch of a call
    #[arg(long, requires = "function")]
    profile: bool,

    /// With --profile: write the launches as a trace for Perfetto or Chrome
    #[arg(long, value_name = "FILE.json", requires = "profile")]
    trace: Option<PathBuf>,

    /// With --profile: what a generator's `--explain=json --bandwidth B --extent ..` printed
    #[arg(long, value_name = "FILE.json", requires = "profile")]
    explain: Option<PathBuf>,

    /// Batches of calls that are measured
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: u32,

    /// Where to run: cpu, cuda, cuda:1 [default: $ARRAYGPU_DEVICE, else the first GPU, else the CPU]
    #[arg(long)]
    device: Option<String>,

    /// Threads of the CPU [default: $ARRAYGPU_THREADS, else all processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    threads: Option<i32>,

    /// Write a result to a file: .npy, .csv, .png, .pgm, .ppm
    #[arg(long, value_name = "[RESULT=]FILE", requires = "function")]
    output: Vec<String>,

    /// Print one JSON object, for programs
    #[arg(long)]
    json: bool,

    /// libarraygpu.so.5 [default: the one in ../lib beside this program, else the system's]
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
}

const HELP: &str = "\
Values:
  1.5  true  nan                          a scalar
  zero:EXTENTS  iota:EXTENTS              zeros; 0, 1, 2, ..
  fill:VALUE:EXTENTS                      one value
  random:SEED:EXTENTS[:LOW:HIGH]          the same on every machine
  FILE.npy  FILE.csv  FILE.png  FILE.pgm  a file; FILE:as converts its elements,
                                          FILE:scale makes 0 to 1 of integers
EXTENTS: 1000, 2^26, 1024x512, 3x4x5

Example:
  arraygpu-run libstats.so rmse x=random:1:2^26 y=random:2:2^26 --benchmark

Exit codes: 0 success, 1 failure, 2 a wrong command line";

/// Does what the command line asks for; what is to be printed goes to `print`.
pub fn run(arguments: &Arguments, print: &mut dyn FnMut(&str)) -> Result<()> {
    let number = arguments.device.as_deref().map(device_number).transpose()?;
    let outputs = arguments.output.iter().map(|o| Output::parse(o)).collect::<Result<Vec<_>>>()?;
    let runtime = Runtime::load(arguments.library.as_deref())?;
    let package = Package::load(&runtime, &arguments.package)?;
    let Some(name) = &arguments.function else {
        return list(&package, arguments, print);
    };
    if name.contains('=') {
        let names: Vec<&str> = package.functions.iter().map(|f| f.name.as_str()).collect();
        return Err(usage(format!("`{name}`: a function comes first; there are: {}", names.join(", "))));
    }
    let function = package.function(name)?;
    if arguments.describe && !arguments.json {
        print(&package.describe(function));
    }
    if arguments.describe
        && arguments.values.is_empty()
        && !arguments.benchmark
        && !arguments.profile
        && outputs.is_empty()
    {
        if arguments.json {
            print(&pretty(&report::function_json(&package, function)));
        }
        return Ok(());
    }
    let targets = outputs.iter().map(|o| o.result(function)).collect::<Result<Vec<_>>>()?;
    let values = input::all(&function.params, &arguments.values, &function.name)?;
    let device = Device::open(&runtime, number, arguments.threads.unwrap_or(0))?;
    let mut call = Call::new(&device, &package, function, &values)?;
    let results = call.first()?;
    let bytes: [u64; 2] = [&values, &results].map(|list| list.iter().map(|a| a.bytes.len() as u64).sum());
    drop(values);
    let measured =
        arguments.benchmark.then(|| benchmark::measure(&device, &call, arguments.repetitions, bytes));
    let measured = measured.transpose()?;
    let profiled = arguments.profile.then(|| profile::launches(&device, &call)).transpose()?;
    let predictions = arguments.explain.as_deref().map(|file| Predictions::read(file, &function.name));
    let predictions = predictions.transpose()?;
    if let Some((file, launches)) = arguments.trace.as_ref().zip(profiled.as_ref()) {
        let text = profile::trace(launches, &device.name, &function.name);
        std::fs::write(file, text)
            .map_err(|e| failure(format!("{}: cannot be written: {e}", file.display())))?;
    }
    let shown = |i: &usize| !targets.contains(i);
    let tuning_problem = runtime.tuning_problem();
    if arguments.json {
        let mut out = report::function_json(&package, function);
        out["package"] = json!(package.name);
        out["on"] = report::device_json(&device);
        let each = function.results.iter().zip(&results).map(|(s, a)| report::result_json(s, a));
        out["results"] = each.collect::<Value>();
        out["benchmark"] = measured.as_ref().map(report::measured_json).into();
        out["tuning_problem"] = tuning_problem.into();
        out["launches"] = profiled.as_ref().map(|l| profile::json(l, predictions.as_ref())).into();
        print(&pretty(&out));
    } else {
        print(&format!("{} {}\n", function.name, report::device(&device)));
        tuning_problem.iter().for_each(|problem| print(&format!("{problem}\n")));
        for i in (0..results.len()).filter(shown) {
            print(&report::result(&function.results[i], &results[i]));
        }
        measured.iter().for_each(|m| print(&report::measured(m)));
        profiled.iter().for_each(|l| print(&profile::table(l, predictions.as_ref())));
    }
    write(&outputs, &targets, &results)
}

fn list(package: &Package, arguments: &Arguments, print: &mut dyn FnMut(&str)) -> Result<()> {
    if arguments.json {
        let each = package.functions.iter().map(|f| report::function_json(package, f));
        print(&pretty(&json!({ "package": package.name, "functions": each.collect::<Value>() })));
    } else {
        print(&report::listing(package, arguments.describe));
    }
    Ok(())
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

fn write(outputs: &[Output], targets: &[usize], results: &[Array]) -> Result<()> {
    outputs.iter().zip(targets).try_for_each(|(output, i)| file::write(output.file, &results[*i]))
}

/// `[RESULT=]FILE`
struct Output<'a> {
    name: Option<&'a str>,
    file: &'a str,
}

impl<'a> Output<'a> {
    fn parse(text: &'a str) -> Result<Output<'a>> {
        let (name, file) = match text.split_once('=') {
            // a folder may have the sign in its name
            Some((name, file)) if !name.contains('/') => (Some(name), file),
            _ => (None, text),
        };
        file::check_output(file)?;
        Ok(Output { name, file })
    }

    /// Returns the number of the result that is meant.
    fn result(&self, function: &Function) -> Result<usize> {
        let names = || function.results.iter().map(|r| r.name.as_str());
        match self.name {
            Some(name) => names()
                .position(|n| n == name)
                .ok_or_else(|| unknown(&format!("result of {}", function.name), name, names())),
            None if function.results.len() == 1 => Ok(0),
            None => {
                let all: Vec<&str> = names().collect();
                let (file, name) = (self.file, &function.name);
                Err(usage(format!("--output RESULT={file}: {name} has the results {}", all.join(", "))))
            }
        }
    }
}
