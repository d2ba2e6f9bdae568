//! The command line of `arraygpu-tune`: which calls are measured, and the file that is written.

use crate::array::extents;
use crate::benchmark::Times;
use crate::call::{Call, Device, device_number};
use crate::package::{Function, Package};
use crate::problem::{Result, failure, usage};
use crate::runtime::Runtime;
use crate::slot::Slot;
use crate::tuner::{Spot, Tuned, Tuner};
use crate::{input, report};
use arraygpu_compiler::plan::gpu::{self, GpuKernel};
use arraygpu_compiler::plan::tuning::{Line, Runs, Section, key, parse};
use clap::Parser;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Measures the variants of a package's kernels on this machine's GPU, and writes a file by which libarraygpu runs
/// the fastest ones. No bit of a result changes.
#[derive(Parser, Debug)]
#[command(name = "arraygpu-tune", version, after_help = HELP)]
pub struct Arguments {
    /// The package's library: lib<name>.so
    package: PathBuf,

    /// The function that is called
    function: Option<String>,

    /// A parameter and its value, as of arraygpu-run
    #[arg(value_name = "NAME=VALUE")]
    values: Vec<String>,

    /// Calls to measure, one a line: FUNCTION NAME=VALUE ..
    #[arg(long, value_name = "FILE", conflicts_with = "function")]
    calls: Option<PathBuf>,

    /// Measure all functions with random arrays of about so many elements, and scalars of 1
    #[arg(long, value_name = "N", conflicts_with = "function")]
    size: Vec<String>,

    /// The file that is written; what it says of other calls stays [default: <name>.tuning beside the library]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// How often each variant is measured
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: u32,

    /// Which GPU: cuda, cuda:1 [default: $ARRAYGPU_DEVICE, else the first]
    #[arg(long)]
    device: Option<String>,

    /// libarraygpu.so.5 [default: the one in ../lib beside this program, else the system's]
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
}

const HELP: &str = "\
Examples:
  arraygpu-tune libstats.so rmse x=random:1:2^26 y=random:2:2^26
  arraygpu-tune libstats.so --calls calls.txt -o h200.tuning
  arraygpu-tune libstats.so --size 2^20 --size 2^26

Values are those of arraygpu-run. The file is used if it lies beside the library, if
ARRAYGPU_TUNING names it, or if the program loads it.

Exit codes: 0 success, 1 failure, 2 a wrong command line";

/// Does what the command line asks for; what is to be printed goes to `print`.
pub fn run(arguments: &Arguments, print: &mut dyn FnMut(&str)) -> Result<()> {
    let number = arguments.device.as_deref().map(device_number).transpose()?;
    let runtime = Runtime::load(arguments.library.as_deref())?;
    let package = Package::load(&runtime, &arguments.package)?;
    let calls = calls(arguments, &package)?;
    let output = match &arguments.output {
        Some(path) => path.clone(),
        None => arguments.package.with_file_name(format!("{}.tuning", package.name)),
    };
    let mut sections = existing(&output)?;
    let device = Device::open(&runtime, number, 0)?;
    if !device.is_gpu {
        return Err(failure(format!(
            "{} has nothing to tune: which variant of a kernel runs on a CPU follows from the arrays alone",
            report::device(&device)
        )));
    }
    let [plans, gpu_text] = package.texts()?;
    let kernels = gpu::parse(gpu_text).map_err(|e| failure(format!("{}: {}", package.name, e.message)))?;
    let section = Section {
        device: device.name.trim().into(),
        package: package.name.clone(),
        key: key(plans, gpu_text),
        lines: Vec::new(),
    };
    let at = match sections.iter().position(|old| old.is_like(&section)) {
        Some(at) => at,
        None => {
            // what was measured of an earlier build on this device is of no use any more
            sections.retain(|old| (&old.device, &old.package) != (&section.device, &section.package));
            sections.push(section.clone());
            sections.len() - 1
        }
    };
    let file = output.with_extension("tuning.part");
    let tuner = Tuner { device: &device, section, file: file.clone(), repetitions: arguments.repetitions };
    print(&format!("{} {}\n", package.name, report::device(&device)));
    let mut failed = Vec::new();
    for (function, values) in &calls {
        let numbers = package.kernels_of(function)?;
        let of_function: Vec<&GpuKernel> = numbers.iter().filter_map(|k| kernels.get(*k)).collect();
        print(&format!("\n{} {}\n", function.name, values.join(" ")));
        match tuned(&tuner, &package, function, values, &of_function) {
            Ok(tuned) => {
                print(&text(&tuned));
                add(&mut sections[at], &tuned.spots);
                write_file(&file, &output, &sections)?;
            }
            Err(problem) if calls.len() == 1 => {
                let _ = std::fs::remove_file(&file);
                return Err(problem);
            }
            Err(problem) => {
                print(&format!("  not measured: {}\n", problem.text));
                failed.push(function.name.as_str());
            }
        }
    }
    let _ = std::fs::remove_file(&file);
    if failed.len() == calls.len() {
        return Err(failure("no call could be measured"));
    }
    print(&format!("\n{}: {} lines\n", output.display(), sections[at].lines.len()));
    Ok(())
}

/// Returns the calls that are measured: functions with the values of their parameters.
fn calls<'p>(arguments: &Arguments, package: &'p Package) -> Result<Vec<(&'p Function, Vec<String>)>> {
    if let Some(name) = &arguments.function {
        return Ok(vec![(package.function(name)?, arguments.values.clone())]);
    }
    let mut all = Vec::new();
    if let Some(path) = &arguments.calls {
        let text = std::fs::read_to_string(path)
            .map_err(|e| failure(format!("{}: cannot be read: {e}", path.display())))?;
        let lines = text.lines().map(|l| l.split('#').next().unwrap_or_default());
        for mut words in lines.map(str::split_whitespace) {
            if let Some(name) = words.next() {
                all.push((package.function(name)?, words.map(String::from).collect()));
            }
        }
    }
    for size in &arguments.size {
        let [n] = extents(size).unwrap_or_default()[..] else {
            return Err(usage(format!("--size {size}: a number such as 1000000 or 2^20 is expected")));
        };
        all.extend(package.functions.iter().map(|f| (f, of_size(&f.params, n))));
    }
    if all.is_empty() {
        return Err(usage("which calls? FUNCTION NAME=VALUE .., --calls FILE or --size N says it"));
    }
    Ok(all)
}

/// Returns random arrays of about `n` elements, and scalars of 1.
fn of_size(params: &[Slot], n: i64) -> Vec<String> {
    let value = |(seed, slot): (usize, &Slot)| {
        if slot.rank == 0 {
            return format!("{}=1", slot.name);
        }
        let each = ((n as f64).powf(1.0 / slot.rank as f64).round() as i64).max(1);
        let extents = vec![each.to_string(); slot.rank].join("x");
        format!("{}=random:{}:{extents}", slot.name, seed + 1)
    };
    params.iter().enumerate().map(value).collect()
}

/// Returns the sections of the file that is to be written, if there is one.
fn existing(path: &Path) -> Result<Vec<Section>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let wrong = |why: String| failure(format!("{}: {why}; it would be overwritten", path.display()));
    let text = std::fs::read_to_string(path).map_err(|e| wrong(format!("cannot be read: {e}")))?;
    parse(&text).map_err(|e| wrong(e.message))
}

fn tuned(
    tuner: &Tuner,
    package: &Package,
    function: &Function,
    values: &[String],
    kernels: &[&GpuKernel],
) -> Result<Tuned> {
    let values = input::all(&function.params, values, &function.name)?;
    let mut call = Call::new(tuner.device, package, function, &values)?;
    call.first()?;
    tuner.tune(&call, kernels)
}

/// Puts what was measured in place of what a section says of the same kernels and sizes.
fn add(section: &mut Section, spots: &[Spot]) {
    let is_measured =
        |l: &Line| spots.iter().any(|s| s.kernel == l.kernel && Some(&s.sizes) == l.sizes.as_ref());
    section.lines.retain(|line| !is_measured(line));
    section.replace(spots.iter().filter_map(|s| s.line.clone()).collect());
}

/// Writes a file whole or not at all.
fn write_file(part: &Path, path: &Path, sections: &[Section]) -> Result<()> {
    let text: Vec<String> = sections.iter().map(Section::to_string).collect();
    let done = std::fs::write(part, text.join("\n")).and_then(|()| std::fs::rename(part, path));
    done.map_err(|e| failure(format!("{}: cannot be written: {e}", path.display())))
}

/// Returns what was measured as text.
fn text(tuned: &Tuned) -> String {
    let mut out = String::new();
    for spot in &tuned.spots {
        let own = if spot.own.is_empty() { "others".into() } else { spot.own.join(", ") };
        let mut rows = vec![(own, &spot.policy, "the policy's choice")];
        for (runs, times) in &spot.others {
            let is_chosen = spot.line.as_ref().is_some_and(|line| line.runs == *runs);
            let name = match runs {
                Runs::Variant(entry) => entry.clone(),
                Runs::Others => "others".into(),
            };
            rows.push((name, times, if is_chosen { "chosen" } else { "" }));
        }
        let _ = writeln!(out, "  {} over {}", spot.kernel, spot.sizes);
        let width = rows.iter().map(|r| r.0.len()).max().unwrap_or_default();
        for (name, t, word) in rows {
            let line = format!("    {name:width$}  {}  {word}", us(t));
            let _ = writeln!(out, "{}", line.trim_end());
        }
        if spot.hopeless > 0 {
            let _ = writeln!(out, "    {} more, slower by far", spot.hopeless);
        }
    }
    for remark in &tuned.remarks {
        let _ = writeln!(out, "  {remark}");
    }
    match &tuned.tuned {
        Some(t) => {
            let gain = tuned.policy.median / t.median;
            let _ = writeln!(out, "  a call: {}, tuned {}: {gain:.3}", us(&tuned.policy), us(t));
        }
        None if tuned.spots.is_empty() => out += "  there is no choice: one variant of each kernel can run\n",
        None => {
            let _ = writeln!(out, "  a call: {}: the policy's choices stay", us(&tuned.policy));
        }
    }
    out
}

fn us(t: &Times) -> String {
    format!("{:.2} us ({:.2} to {:.2})", t.median * 1e6, t.least * 1e6, t.most * 1e6)
}
