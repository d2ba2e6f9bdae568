//! Implements `--explain`, which reports what was decided for each function, and why. [`report`]
//! fills the data of [`model`] once; `text` and JSON print it.

mod alternatives;
mod body;
mod formula;
mod hints;
mod kernel;
mod launched;
pub mod model;
mod names;
mod place;
mod reason;
mod records;
mod regions;
mod scope;
mod short;
mod sizes;
mod text;
mod time;
mod variants;

pub use records::Record;
pub use sizes::Extent;
pub use time::LAUNCH_US;

use crate::core::{Form, Function, NodeId, Op, Require, Rule};
use crate::driver::{Compiled, CompiledFunction, on_big_stack};
use crate::error::{Error, Result};
use crate::plan::{Place, Plan, Slot, Step};
use alternatives::DescribedAlternative;
use formula::{Formulas, Sum};
use indexmap::IndexMap;
use kernel::{Accessed, Described};
use model::{Check, Report, Temporary};
use rustc_hash::FxHashSet as HashSet;
use scope::Units;
use std::str::FromStr;
use time::predicted;

/// The format in which the report is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Text for people.
    Text,
    /// JSON for programs, described in `docs/explain.md`.
    Json,
    /// Text with a line for each launch.
    Short,
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Format> {
        match text {
            "text" => Ok(Format::Text),
            "json" => Ok(Format::Json),
            "short" => Ok(Format::Short),
            _ => Err(Error::user("E0110", format!("--explain is `text`, `short` or `json`, not `{text}`"))),
        }
    }
}

/// The device and sizes for which times are predicted.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Bandwidth of reads and writes together, in GB/s.
    pub bandwidth: Option<f64>,
    /// The sizes of parameters.
    pub extents: Vec<Extent>,
    /// The names of the functions that are reported on; all if there are none.
    pub functions: Vec<String>,
    /// Whether to try what storing arrays would save, where all sizes are given. The function is
    /// compiled once more for each array that is computed at several places.
    pub hints: bool,
    /// The parameters and results that are records.
    pub records: Vec<Record>,
}

impl Options {
    /// Parses a bandwidth.
    pub fn parse_bandwidth(text: &str) -> Result<f64> {
        let number = text.parse::<f64>().ok().filter(|n| n.is_finite() && *n > 0.0);
        number.ok_or_else(|| {
            Error::user("E0111", format!("`{text}` is no bandwidth: it must be a number of GB/s above 0"))
        })
    }
}

impl Compiled {
    /// Reports what was decided for each function, and why.
    pub fn explain(&self, options: &Options, format: Format) -> Result<String> {
        print(self, options, format)
    }
}

/// Prints the report on a compiled program.
pub fn print(c: &Compiled, options: &Options, format: Format) -> Result<String> {
    let report = report(c, options)?;
    match format {
        Format::Text => Ok(text::print(&report)),
        Format::Short => Ok(short::print(&report)),
        Format::Json => {
            let text = serde_json::to_string_pretty(&report);
            text.map(|t| t + "\n").map_err(|e| Error::bug("E0112", format!("the report has no JSON: {e}")))
        }
    }
}

/// Returns the report as data.
pub fn report(c: &Compiled, options: &Options) -> Result<Report> {
    sizes::check(&options.extents, &c.functions.iter().map(|f| &f.fused).collect::<Vec<_>>())?;
    let names = || c.functions.iter().map(|f| f.fused.name.as_str());
    if let Some(unknown) = options.functions.iter().find(|name| names().all(|known| known != name.as_str())) {
        let known: Vec<&str> = names().collect();
        let what = format!("no function is called `{unknown}`; there are {}", known.join(", "));
        return Err(Error::user("E0108", what));
    }
    let is_wanted = |name: &str| options.functions.is_empty() || options.functions.iter().any(|n| n == name);
    let wanted: Vec<usize> = names().zip(0..).filter(|(name, _)| is_wanted(name)).map(|of| of.1).collect();
    let functions =
        on_big_stack(|| wanted.into_iter().map(|i| function(c, i, options)).collect::<Result<Vec<_>>>())?;
    Ok(Report {
        version: model::VERSION,
        package: c.name.clone(),
        bandwidth_gb_s: options.bandwidth,
        functions,
    })
}

fn function(c: &Compiled, i: usize, options: &Options) -> Result<model::Function> {
    let CompiledFunction { source, fused: f, plan, warnings, .. } = &c.functions[i];
    let mut formulas = Formulas::new(f, plan);
    sizes::apply(&options.extents, f, &mut formulas)?;
    let known = sizes::known(f, &mut formulas);
    let mut units = Units::of(c, i, formulas)?;
    let sizes = launched::Sizes::of(plan, &mut units.scopes[0].formulas);
    let (mut described, mut least) = (Vec::new(), Least::default());
    for at in 0..units.list.len() {
        let one = kernel::kernel(c, &mut units, &sizes, at, options.bandwidth);
        least.add(&mut units, at, &one.accesses);
        described.push(one);
    }
    // hints compare plans without alternatives: they are compiled for CPUs, and it is not known which alternatives
    // run
    let mut of_others = Sum::default();
    described.iter().for_each(|d| of_others.extend(&d.moved));
    let instead = alternatives::alternatives(c, &mut units, &sizes, &mut described, options.bandwidth);
    let (bytes, launches, beyond) = of_call(&described, &instead);
    let (bytes, launches) = (bytes.amount(), launches.amount());
    let least_bytes = least.amount(&units);
    let predicted = predicted(&bytes, &launches, beyond, options.bandwidth);
    let operations = known.as_ref().map(|sizes| hints::operations(source, f, sizes)).transpose()?;
    let of_function = options.extents.iter().filter(|e| e.parameter(source).is_some()).cloned();
    let of_function = Options {
        hints: false,
        records: Vec::new(),
        extents: of_function.collect(),
        functions: Vec::new(),
        bandwidth: options.bandwidth,
    };
    let moved = |c: &Compiled| Ok(report(c, &of_function)?.functions[0].bytes.value);
    let hints = match (&known, operations, of_others.amount().value, options.hints) {
        (Some(sizes), Some(made), Some(bytes), true) => {
            hints::hints(source, sizes, made, options.bandwidth, &moved, bytes)?
        }
        _ => Vec::new(),
    };
    let share_of_copy = time::share(&least_bytes, predicted.as_ref(), options.bandwidth);
    let kernels: Vec<model::Kernel> = described.into_iter().map(|d| d.kernel).collect();
    let mut warnings = warnings.clone();
    let alternatives: Vec<model::Alternative> = instead.into_iter().map(|d| d.alternative).collect();
    warnings.extend(kernels.iter().filter_map(|k| variants::warning(k, &alternatives)));
    Ok(model::Function {
        name: f.name.clone(),
        place: f.loc.as_ref().map(Into::into),
        fast_math: f.fast,
        tensor_cores: f.tensor_cores,
        predicted,
        bytes,
        least_bytes,
        launches,
        share_of_copy,
        operations,
        hints,
        element_iterations: element_iterations(source, f),
        records: records::layouts(f, plan, &options.records),
        checks: checks(&units),
        temporaries: temporaries(plan, &mut units.scopes[0].formulas),
        alternatives,
        kernels,
        warnings,
        names: units.scopes[0].formulas.parts.list(),
    })
}

/// Returns the places of the iterations that are loops of elements after the passes (`passes/pointwise.rs`), which
/// are those whose step is left out.
fn element_iterations(source: &Function, fused: &Function) -> Vec<model::Place> {
    let mut places: Vec<model::Place> = Vec::new();
    for n in source.graph.reachable(source.results.iter().map(|r| r.value)) {
        let Op::Iterate { step, form: Form::Last, .. } = source.graph.op(n) else { continue };
        let is_left = fused.steps.iter().any(|s| s.name == source.steps[*step as usize].name);
        if let Some(loc) = source.graph.node(n).loc.first().filter(|_| !is_left) {
            places.push(loc.into());
        }
    }
    places.dedup_by(|a, b| (&a.file, a.line, a.column) == (&b.file, b.line, b.column));
    places
}

/// Returns the bytes and the number of the launches that a call runs, and by how many microseconds their operations
/// take longer than their bytes.
fn of_call(described: &[Described], instead: &[DescribedAlternative]) -> (Sum, Sum, f64) {
    let (mut bytes, mut launches, mut beyond) = (Sum::default(), Sum::default(), 0.0);
    let mut add = |moved: &Sum, times: &Sum, more: f64| {
        bytes.extend(moved);
        launches.extend(times);
        beyond += more * times.amount().value.unwrap_or(0) as f64;
    };
    for (at, one) in described.iter().enumerate() {
        let runs = |d: &&DescribedAlternative| d.first == at && d.alternative.runs == Some(true);
        instead.iter().filter(runs).for_each(|d| add(&d.moved, &d.times, d.beyond));
        if one.kernel.replaced_by.is_none() {
            add(&one.moved, &one.times, one.beyond);
        }
    }
    (bytes, launches, beyond)
}

/// The bytes that must move at least: what scopes get and give.
#[derive(Default)]
struct Least(IndexMap<(usize, Place), Sum>);

impl Least {
    /// Adds the arrays of a launch. If launches read different parts of an array, the whole array counts.
    fn add(&mut self, units: &mut Units, at: usize, accesses: &[Accessed]) {
        let index = units.list[at].scope;
        for Accessed { place, bytes, .. } in accesses.iter().filter(|a| a.is_outside) {
            let Some(known) = self.0.get_mut(&(index, *place)) else {
                self.0.insert((index, *place), bytes.clone());
                continue;
            };
            if known.amount().formula != bytes.amount().formula
                && let Some(whole) = units.whole(index, place)
            {
                *known = whole;
            }
        }
    }

    /// Returns the sum of the bytes. What a step of an iteration gets and gives counts for each launch of the step.
    fn amount(self, units: &Units) -> model::Amount {
        let mut sum = Sum::default();
        for ((scope, _), mut bytes) in self.0 {
            units.scopes[scope].times.iter().for_each(|n| bytes.times(n));
            sum.extend(&bytes);
        }
        sum.amount()
    }
}

/// Returns the arrays and scalars that stay on the device between launches.
fn temporaries(plan: &Plan, formulas: &mut Formulas) -> Vec<Temporary> {
    let host = formulas.host(plan);
    let allocated = plan.steps.iter().filter_map(|s| if let Step::Alloc(t) = s { Some(*t) } else { None });
    let allocated: HashSet<u32> = allocated.collect();
    let of = |slot: &Slot| {
        let extents: Vec<NodeId> = slot.extents.iter().map(|h| host[h.0 as usize]).collect();
        let mut bytes = Sum::default();
        bytes.add(formulas, slot.ty.elem.size() as u64, &extents);
        Temporary {
            name: slot.name.clone(),
            element: slot.ty.elem.name(),
            extents: extents.iter().map(|n| formulas.amount(*n)).collect(),
            bytes: bytes.amount(),
        }
    };
    let kept = plan.temps.iter().zip(0..).filter(|(s, t)| s.ty.is_scalar() || allocated.contains(t));
    kept.map(|(s, _)| of(s)).collect()
}

/// Returns the shape rules of the function, including those of the steps that it repeats.
fn checks(units: &Units) -> Vec<Check> {
    let Some(scope) = units.scopes.first() else { return Vec::new() };
    let of = |r: &Require| {
        let relation = if r.rule == Rule::Same { "==" } else { "<=" };
        let [a, b] = [r.a, r.b].map(|n| scope.formulas.exact(n));
        Check {
            rule: r.rule.name(),
            condition: format!("{a} {relation} {b}"),
            subject: r.subject.clone(),
            place: r.loc.first().map(Into::into),
        }
    };
    scope.f.requires.iter().map(of).collect()
}
