//! Prints the report as text.

use super::model::{
    Alternative, Amount, Array, Bounded, Computed, Cpu, Function, Gpu, Hoisted, Kernel, Launched, Line,
    Place, Predicted, Report, Started,
};
use super::names::mentioned;
use crate::counted;
use crate::schedule::strategy::Strategy;
use std::fmt::Write;

/// Maximum number of kinds of operations that are listed for a place; the others are only counted.
const MAX_KINDS: usize = 4;

/// Prints all functions, with an empty line between them.
pub fn print(r: &Report) -> String {
    r.functions.iter().map(function).collect::<Vec<_>>().join("\n")
}

/// Whether tensor cores may compute a launch of the function.
fn has_tensor_product(f: &Function) -> bool {
    let gpus = f.kernels.iter().filter_map(|k| k.gpu.as_ref());
    let mut variants = gpus.flat_map(|gpu| &gpu.variants);
    variants.any(|v| v.strategy == Strategy::TensorProduct.name())
}

/// Whether an alternative has code of a strategy for CPUs.
fn is(a: &Alternative, strategy: Strategy) -> bool {
    let mut variants = a.cpu.iter().flat_map(|cpu| &cpu.variants);
    variants.any(|v| v.strategy == strategy.name())
}

fn function(f: &Function) -> String {
    let mut out = String::new();
    let place = f.place.as_ref().map(|p| format!(" ({})", short(p))).unwrap_or_default();
    let fast = if f.fast_math { ", fast_math: approximate on GPUs" } else { "" };
    let tensor = match f.tensor_cores {
        false => "",
        true if has_tensor_product(f) => ", tensor_cores: products in any order on GPUs",
        true => ", tensor_cores: no launch uses them (they multiply matrices of f16, bf16 and f32)",
    };
    let _ = writeln!(
        out,
        "{}{place}: {}, {}, moves {}{fast}{tensor}",
        f.name,
        launches(f),
        count(f.temporaries.len(), "temporary", "temporaries"),
        counted(&f.bytes, "byte")
    );
    let head = out.len();
    if f.least_bytes.formula != f.bytes.formula {
        let _ =
            writeln!(out, "  needs at least {}: inputs and outputs once", counted(&f.least_bytes, "byte"));
    }
    prediction(&mut out, "  ", f.predicted.as_ref());
    if let Some(share) = copy_speed(f) {
        let _ = writeln!(out, "  {share}");
    }
    if let Some(n) = f.operations.filter(|n| n.made as f64 > 1.2 * n.asked as f64) {
        let times = n.made as f64 / n.asked.max(1) as f64;
        let _ = writeln!(
            out,
            "  makes {}, {times:.1} times the {} of the program",
            counted(n.made, "operation"),
            n.asked
        );
    }
    for h in &f.hints {
        let place = h.place.as_ref().map(|p| format!(" behind {}", short(p))).unwrap_or_default();
        let _ = writeln!(
            out,
            "  hint: .materialize(){place} would make {} and move {}, {:.0}% less time",
            counted(h.operations, "operation"),
            counted(h.bytes, "byte"),
            100.0 * h.saves
        );
    }
    for place in &f.element_iterations {
        let _ = writeln!(
            out,
            "  iteration of {}: no element needs another one, so a launch makes all steps of each",
            short(place)
        );
    }
    for t in &f.temporaries {
        let extents: Vec<String> = t.extents.iter().map(|e| e.formula.clone()).collect();
        let of = if extents.is_empty() { "one".into() } else { extents.join(" by ") };
        let _ = writeln!(out, "  keeps {}: {of} {}, {}", t.name, t.element, counted(&t.bytes, "byte"));
    }
    for r in &f.records {
        let (done, used) = (if r.is_result { "written" } else { "read" }, r.used_bytes);
        let _ = write!(out, "  record {}: {} of {} fields are {done}, ", r.name, r.used, r.fields);
        let _ = match r.is_struct {
            true => writeln!(
                out,
                "{used} of the {} of a struct, whose lines of memory move whole; an array a field moves {} an element",
                counted(r.struct_bytes, "byte"),
                counted(used, "byte")
            ),
            false => writeln!(
                out,
                "{} an element in an array a field; an array of structs has {} an element",
                counted(used, "byte"),
                counted(r.struct_bytes, "byte")
            ),
        };
    }
    for k in &f.kernels {
        kernel(&mut out, k, f.kernels.len() > 1);
    }
    for a in &f.alternatives {
        let others = a.instead_of.join(", ");
        let what = match a.gpu.as_ref().and_then(|g| g.shared.as_ref()) {
            Some(_) => "keeps what is between them in shared memory",
            None if is(a, Strategy::WholeSort) => "sorts by all digits at once",
            None if is(a, Strategy::Put) => "stores elements at their destinations in order",
            None => "reads each element once",
        };
        let _ = writeln!(out, "  {}: instead of {others}: {what}, where a variant serves the call", a.name);
        if let Some(runs) = a.runs {
            let does = if runs { "runs" } else { "does not run" };
            let _ = writeln!(out, "    {does} with these sizes on a GPU");
            moves(&mut out, None, &a.bytes, &a.arrays);
            prediction(&mut out, "    ", a.predicted.as_ref());
        }
        a.cpu.iter().for_each(|c| on_cpu(&mut out, c));
        a.gpu.iter().for_each(|g| on_gpu(&mut out, g));
    }
    for c in &f.checks {
        let at = c.place.as_ref().map(|p| format!(" {}", short(p))).unwrap_or_default();
        let _ = writeln!(out, "  checked before anything runs: {} ({}){at}", c.condition, c.subject);
    }
    for w in &f.warnings {
        let _ = writeln!(out, "  warning: {w}");
    }
    out.insert_str(head, &names(f, &out));
    out
}

/// Writes what the names in a report stand for, a line each.
pub(super) fn names(f: &Function, report: &str) -> String {
    let mut out = String::new();
    for part in mentioned(&f.names, report) {
        let value = match part.value {
            Some(value) if part.is_condition => format!(": {}", if value == 1 { "true" } else { "false" }),
            Some(value) => format!(" = {value}"),
            None => String::new(),
        };
        let _ = writeln!(out, "  {} stands for {}{value}", part.name, part.formula);
    }
    out
}

pub(super) fn launches(f: &Function) -> String {
    counted(&f.launches, "launch").to_string()
}

/// Writes the share of a copy's speed that a call reaches.
pub(super) fn copy_speed(f: &Function) -> Option<String> {
    f.share_of_copy.map(|share| format!("at most {:.0}% of the device's copy speed", share * 100.0))
}

pub(super) fn count(n: usize, one: &str, many: &str) -> String {
    match n {
        0 => format!("no {many}"),
        1 => format!("1 {one}"),
        _ => format!("{n} {many}"),
    }
}

impl std::fmt::Display for super::model::Amount {
    /// Writes the formula, followed by its value if that is known and adds information.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.formula)?;
        match self.value.filter(|n| n.to_string() != self.formula) {
            Some(n) => write!(f, " = {n}"),
            None => Ok(()),
        }
    }
}

fn prediction(out: &mut String, pad: &str, p: Option<&Predicted>) {
    if let Some(p) = p {
        let us = p.us.map(|us| format!(" = {us:.1} us")).unwrap_or_default();
        let _ = writeln!(out, "{pad}predicted: {}{us}", p.formula);
    }
}

fn kernel(out: &mut String, k: &Kernel, of_many: bool) {
    let space: Vec<String> = k.index_space.iter().map(|n| n.to_string()).collect();
    let space = if space.is_empty() { "scalars only".into() } else { format!("over {}", space.join(" by ")) };
    let times = match k.launches.formula.as_str() {
        "1" => String::new(),
        _ if k.computes.iter().any(|c| c.what == "copies") => format!(", if {}", k.launches.formula),
        _ => format!(", {}", counted(&k.launches, "time")),
    };
    let _ = writeln!(out, "  {}: {space}{times}", k.name);
    if let Some(alternative) = &k.replaced_by {
        let _ = writeln!(out, "    does not run with these sizes on a GPU, but {alternative} instead");
    }
    if let Some(why) = &k.apart {
        let _ = writeln!(out, "    apart: {why}");
    }
    k.computes.iter().for_each(|c| computed(out, c));
    k.hoisted.iter().for_each(|h| hoisted(out, h));
    k.bounded.iter().for_each(|b| bounded(out, b));
    moves(out, k.bytes_per_element, &k.bytes, &k.arrays);
    if k.scratch_bytes_per_tile > 0 {
        let _ = writeln!(out, "    leaves {} a tile for the join", counted(k.scratch_bytes_per_tile, "byte"));
    }
    if let Some(n) = &k.operations_per_element {
        let _ = writeln!(out, "    computes {} an element", counted(n, "operation"));
    }
    if of_many {
        prediction(out, "    ", k.predicted.as_ref());
    }
    k.cpu.iter().for_each(|c| on_cpu(out, c));
    k.gpu.iter().for_each(|g| on_gpu(out, g));
}

fn computed(out: &mut String, c: &Computed) {
    let value = c.value.as_ref().map(|v| format!(" {v}")).unwrap_or_default();
    let lines: Vec<String> = c.lines.iter().map(line).collect();
    let from = if lines.is_empty() { String::new() } else { format!(": {}", lines.join(", ")) };
    let _ = writeln!(out, "    {}{value}{from}", c.what);
}

/// Writes a line as `stats.rs:12:5 (2 add, mul)`.
fn line(l: &Line) -> String {
    let kinds: Vec<String> = l
        .operations
        .iter()
        .map(|(name, n)| if *n == 1 { name.to_string() } else { format!("{n} {name}") })
        .collect();
    match kinds.len() {
        0 => short(&l.place),
        1..=MAX_KINDS => format!("{} ({})", short(&l.place), kinds.join(", ")),
        _ => {
            let all = counted(l.operations.values().sum::<u64>(), "operation");
            format!("{} ({all})", short(&l.place))
        }
    }
}

fn hoisted(out: &mut String, h: &Hoisted) {
    let to = match h.to.as_str() {
        "host" => "on the host".into(),
        "thread" => "once a thread".into(),
        "loop" => "before the nested loop".into(),
        kernel => format!("in {kernel}"),
    };
    let what = match (&h.of, h.to.as_str()) {
        (Some(formula), "host") => formula.clone(),
        (Some(array), _) => format!("{} {array}", h.operation),
        (None, _) => h.operation.into(),
    };
    let place = h.place.as_ref().map(|p| format!(" ({})", short(p))).unwrap_or_default();
    let _ = writeln!(out, "    hoisted {to}: {what}{place}");
}

fn bounded(out: &mut String, b: &Bounded) {
    let at = |place: &Option<Place>| place.as_ref().map(|p| format!(" ({})", short(p))).unwrap_or_default();
    let (reduction, condition) = (at(&b.reduction), at(&b.condition));
    let _ = writeln!(out, "    the reduction{reduction} goes through what the condition{condition} leaves");
}

fn moves(out: &mut String, of_element: Option<u64>, bytes: &Amount, arrays: &[Array]) {
    let parts: Vec<String> = arrays
        .iter()
        .map(|a| match a.access {
            "pointwise" => format!("reads {}", a.name),
            "write" => format!("writes {}", a.name),
            _ => format!("reads {} by other indices ({})", a.name, a.bytes.formula),
        })
        .collect();
    let each = of_element.map(|n| format!("{} an element, ", counted(n, "byte"))).unwrap_or_default();
    if !parts.is_empty() {
        let _ = writeln!(out, "    moves {each}{} in all: {}", counted(bytes, "byte"), parts.join(", "));
    }
}

fn on_cpu(out: &mut String, c: &Cpu) {
    let unit = count(c.unit as usize, "element", "elements");
    let _ = writeln!(out, "    on a CPU, {unit} a unit of work, the first that may run:");
    let rows = c.variants.iter().map(|v| (v.name.as_str(), v.strategy_in_words.clone(), &v.conditions[..]));
    variants(out, &rows.collect::<Vec<_>>());
}

fn on_gpu(out: &mut String, g: &Gpu) {
    if let Some(why) = &g.absent {
        let _ = writeln!(out, "    not on a GPU: {why}");
        return;
    }
    if g.variants.is_empty() {
        let _ = writeln!(out, "    not on a GPU");
        return;
    }
    let _ = writeln!(out, "    on a GPU, the first that may run:");
    let rows = g.variants.iter().map(|v| {
        let words = format!("{}; {}, {}", v.strategy_in_words, counted(v.threads, "thread"), v.block);
        (v.entry.as_str(), words, &v.conditions[..])
    });
    variants(out, &rows.collect::<Vec<_>>());
    for line in g.limit.iter().chain(&g.shared) {
        let _ = writeln!(out, "      {line}");
    }
    if let Some(l) = &g.launched {
        launched(out, l);
    }
    let stencils = g.stencils.iter().map(|s| &s.in_words);
    for words in stencils.chain(g.transposed.iter().map(|t| &t.in_words)) {
        let _ = writeln!(out, "    {words}");
    }
}

/// Writes a launch as `with these sizes on 132 multiprocessors: dot_0, 2048 blocks of 256 threads,
/// span 16; 131072 bytes of scratch`.
fn launched(out: &mut String, l: &Launched) {
    let kernel = |k: &Started| {
        let span = k.span.map_or(String::new(), |n| format!(", span {n}"));
        let blocks = count(k.blocks as usize, "block", "blocks");
        format!("{}, {blocks} of {}{span}", k.entry, counted(k.threads, "thread"))
    };
    let kernels: Vec<String> = l.kernels.iter().map(kernel).collect();
    let kernels = if kernels.is_empty() { "nothing".into() } else { kernels.join(", then ") };
    let scratch = match (l.scratch_bytes, l.counters) {
        (0, _) => String::new(),
        (bytes, 0) => format!("; {} of scratch", counted(bytes, "byte")),
        (bytes, n) => {
            format!("; {} of scratch, {}", counted(bytes, "byte"), count(n as usize, "counter", "counters"))
        }
    };
    let _ = writeln!(
        out,
        "      with these sizes on {}: {kernels}{scratch}",
        counted(l.multiprocessors, "multiprocessor")
    );
}

fn variants(out: &mut String, rows: &[(&str, String, &[String])]) {
    let width = rows.iter().map(|r| r.0.len()).max().unwrap_or(0);
    for (name, words, conditions) in rows {
        let held =
            if conditions.is_empty() { String::new() } else { format!("; if {}", conditions.join(", ")) };
        let _ = writeln!(out, "      {name:width$}  {words}{held}");
    }
}

/// Returns the file name without its folders.
fn short(p: &Place) -> String {
    let file = p.name();
    if p.column == 0 { format!("{file}:{}", p.line) } else { format!("{file}:{}:{}", p.line, p.column) }
}
