//! Implements `--explain`, which reports what was decided for each function, and why. [`report`]
//! fills the data of [`model`] once; `text` and JSON print it.

mod body;
mod formula;
mod hints;
mod kernel;
mod launched;
pub mod model;
mod names;
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

use crate::core::{NodeId, Require, Rule};
use crate::driver::{Compiled, CompiledFunction, on_big_stack};
use crate::error::{Error, Result};
use crate::plan::{Place, Plan, Slot, Step};
use formula::{Formulas, Sum};
use indexmap::IndexMap;
use model::{Alternative, Check, Report, Temporary};
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
    let (mut kernels, mut bytes, mut launches) = (Vec::new(), Sum::default(), Sum::default());
    let mut least = Least::default();
    for at in 0..units.list.len() {
        let described = kernel::kernel(c, &mut units, &sizes, at, options.bandwidth);
        kernels.push(described.kernel);
        bytes.extend(&described.moved);
        launches.extend(&described.times);
        least.add(&mut units, at, described.outside);
    }
    let (bytes, launches, least_bytes) = (bytes.amount(), launches.amount(), least.amount(&units));
    let predicted = predicted(&bytes, &launches, options.bandwidth);
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
    let hints = match (&known, operations, bytes.value, options.hints) {
        (Some(sizes), Some(made), Some(bytes), true) => {
            hints::hints(source, sizes, made, options.bandwidth, &moved, bytes)?
        }
        _ => Vec::new(),
    };
    let share_of_copy = time::share(&least_bytes, predicted.as_ref(), options.bandwidth);
    let mut warnings = warnings.clone();
    warnings.extend(kernels.iter().filter_map(variants::warning));
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
        records: records::layouts(f, plan, &options.records),
        checks: checks(&units),
        temporaries: temporaries(plan, &mut units.scopes[0].formulas),
        alternatives: alternatives(c, &units, &sizes),
        kernels,
        warnings,
        names: units.scopes[0].formulas.parts.list(),
    })
}

/// Returns the launches that run instead of others, each with its kernels where one of its variants serves these
/// sizes.
fn alternatives(c: &Compiled, units: &Units, sizes: &launched::Sizes) -> Vec<Alternative> {
    let mut out = Vec::new();
    for (at, step) in units.plan.steps.iter().enumerate() {
        let (Step::Instead(_), Some(Step::Launch(launch))) = (step, units.plan.steps.get(at + 1)) else {
            continue;
        };
        let others = units.plan.steps[at + 1..at + 1 + step.inside()].windows(2);
        // the others may have a launch among them that is instead of some of them
        let name = |pair: &[Step]| match pair {
            [before, Step::Launch(l)] if !matches!(before, Step::Instead(_)) => Some(l.name.clone()),
            _ => None,
        };
        out.push(Alternative {
            name: launch.name.clone(),
            instead_of: others.filter_map(name).collect(),
            cpu: variants::cpu(c, launch),
            gpu: variants::gpu(c, launch, &|place| units.name(place), sizes.launched(c, launch, 1)),
        });
    }
    out
}

/// The bytes that must move at least: what scopes get and give.
#[derive(Default)]
struct Least(IndexMap<(usize, Place), Sum>);

impl Least {
    /// Adds the arrays of a launch. Of an array of which launches read different parts, all counts.
    fn add(&mut self, units: &mut Units, at: usize, arrays: Vec<(Place, Sum)>) {
        let index = units.list[at].scope;
        for (place, bytes) in arrays {
            let Some(known) = self.0.get_mut(&(index, place)) else {
                self.0.insert((index, place), bytes);
                continue;
            };
            if known.amount().formula == bytes.amount().formula {
                continue;
            }
            let size = units.slot(&place).ty.elem.size() as u64;
            let scope = &mut units.scopes[index];
            if let Some(node) = scope.stored.get(&place).copied() {
                let extents = scope.formulas.extents(node);
                *known = Sum::default();
                known.add(&scope.formulas, size, &extents);
            }
        }
    }

    /// Returns the sum. Those of a step count for each launch of it.
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
