//! Prints the report with a line for each function and each launch.

use super::model::{Alternative, Function, Kernel, Report};
use super::text::{copy_speed, count, launches, names};
use crate::counted;
use std::fmt::Write;

/// Prints all functions.
pub fn print(r: &Report) -> String {
    r.functions.iter().map(function).collect()
}

fn function(f: &Function) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{}: {}, {}, {} of at least {}{}{}",
        f.name,
        launches(f),
        count(f.temporaries.len(), "temporary", "temporaries"),
        counted(&f.bytes, "byte"),
        f.least_bytes,
        us(f.predicted.as_ref().and_then(|p| p.us)),
        copy_speed(f).map(|s| format!(", {s}")).unwrap_or_default(),
    );
    let head = out.len();
    f.kernels.iter().for_each(|k| kernel(&mut out, k));
    for a in &f.alternatives {
        alternative(&mut out, a);
    }
    out.insert_str(head, &names(f, &out));
    out
}

/// Writes a launch as `  dot_0: reduction over len(x) = 1024, 8 * len(x) = 8192 bytes, 2.7 us`.
fn kernel(out: &mut String, k: &Kernel) {
    let on_gpu = k.gpu.as_ref().and_then(|g| g.variants.first()).map(|v| v.strategy);
    let strategy = on_gpu.or_else(|| k.cpu.as_ref()?.variants.first().map(|v| v.strategy));
    let strategy = strategy.unwrap_or("copy");
    let space: Vec<String> = k.index_space.iter().map(|n| n.to_string()).collect();
    let over = if space.is_empty() { String::new() } else { format!(" over {}", space.join(" by ")) };
    let times = match k.launches.formula.as_str() {
        "1" => String::new(),
        _ => format!(", {}", counted(&k.launches, "time")),
    };
    let operations = k.operations_per_element.as_ref();
    let operations =
        operations.map(|n| format!(", {} an element", counted(&n.formula, "operation"))).unwrap_or_default();
    let us = us(k.predicted.as_ref().and_then(|p| p.us));
    let instead = k.replaced_by.as_ref().map(|name| format!(", but {name} runs instead")).unwrap_or_default();
    let _ = writeln!(
        out,
        "  {}: {strategy}{over}{times}, {}{operations}{us}{instead}",
        k.name,
        counted(&k.bytes, "byte")
    );
}

/// Writes an alternative as `  f_0_rows: instead of f_0, f_1`; where it is known whether it runs, with its figures.
fn alternative(out: &mut String, a: &Alternative) {
    let _ = write!(out, "  {}: instead of {}", a.name, a.instead_of.join(", "));
    if let Some(runs) = a.runs {
        let does = if runs { "runs" } else { "does not run" };
        let _ = write!(out, ", {does} with these sizes on a GPU, {}", counted(&a.bytes, "byte"));
        out.push_str(&us(a.predicted.as_ref().and_then(|p| p.us)));
    }
    out.push('\n');
}

fn us(us: Option<f64>) -> String {
    us.map(|us| format!(", {us:.1} us")).unwrap_or_default()
}
