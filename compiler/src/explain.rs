//! `--explain`: for each function its kernels, what was fused into each with the author's lines, what is stored, the bytes moved, and the
//! versions for GPUs.

use crate::core::{Function, Graph, NodeId, Op, TILE};
use crate::plan::gpu::{GpuKernel, GpuVersion, Grid};
use crate::plan::{Access, Launch, Place, Plan, Slot, Step};
use crate::schedule::items::{self, Pass};
use crate::schedule::stencil::Kept;
use std::fmt::Write;

/// The report on one function. `gpu`: how the kernels of all functions are launched on a GPU, empty without that target; `stencils`: what was
/// decided of theirs.
pub fn function(f: &Function, plan: &Plan, gpu: &[GpuKernel], stencils: &[Vec<Kept>]) -> String {
    let mut out = String::new();
    let place = f.loc.as_ref().map(|l| format!(" ({})", l.short())).unwrap_or_default();
    let launches: Vec<&Launch> =
        plan.steps.iter().filter_map(|s| if let Step::Launch(l) = s { Some(l) } else { None }).collect();
    let vectors = plan.temps.iter().filter(|t| !t.ty.is_scalar()).count();
    let scalars = plan.temps.len() - vectors;
    let _ = writeln!(
        out,
        "{}{place}: {}, {}, {}{}",
        f.name,
        count(launches.len(), "kernel"),
        count(vectors, "temporary vector"),
        count(scalars, "scalar kept on the device"),
        if f.fast { ", fast_math: approximate on GPUs" } else { "" }
    );
    let passes = items::passes(f).unwrap_or_default();
    for (i, l) in launches.iter().enumerate() {
        match passes.get(i) {
            Some(p) => kernel(&mut out, f, plan, l, p),
            None => {
                let _ = writeln!(out, "  {}: scalars only, no pass over data", l.name);
            }
        }
        if let Some(kernel) = gpu.get(l.kernel as usize) {
            on_gpu(&mut out, plan, l, kernel);
            for s in stencils.get(l.kernel as usize).into_iter().flatten() {
                let _ = writeln!(out, "    {s}");
            }
        }
    }
    if passes.len() > 1 {
        let _ = writeln!(out, "  why {} passes:", passes.len());
        for (i, p) in passes.iter().enumerate().skip(1) {
            let _ = writeln!(out, "    {}: {}", launches[i].name, reason(&f.graph, &passes[..i], p));
        }
    }
    for r in &plan.rules {
        let at = r.loc.rsplit(['/', '\\']).next().unwrap_or("");
        let rule = format!("  checked before anything runs: {} ({}) {at}", r.rule.name(), r.subject);
        let _ = writeln!(out, "{}", rule.trim_end());
    }
    out
}

fn count(n: usize, what: &str) -> String {
    match (n, what) {
        (0, _) => format!("no {what}"),
        (1, _) => format!("1 {what}"),
        (_, "scalar kept on the device") => format!("{n} scalars kept on the device"),
        _ => format!("{n} {what}s"),
    }
}

fn kernel(out: &mut String, f: &Function, plan: &Plan, l: &Launch, pass: &Pass) {
    let strategy = match (pass.sequential, pass.items.iter().all(|it| items::is_store(&f.graph, it))) {
        (true, _) => "fold: in order, on one thread",
        (_, true) => "map: one loop",
        _ => "reduce: one pass with the fixed tree",
    };
    let _ = writeln!(out, "  {} ({strategy})", l.name);
    for it in &pass.items {
        let what = match (f.graph.op(it.node), it.result) {
            (Op::Reduce { .. }, _) => "reduces".to_string(),
            (Op::Dot { .. }, _) => "reduces by multiply-add".to_string(),
            (Op::Fold { .. }, _) => "folds".to_string(),
            (_, Some(r)) => format!("stores {}", f.results[r as usize].name),
            _ => "stores a temporary (materialize)".to_string(),
        };
        let lines = lines(&f.graph, it.node);
        let _ = writeln!(
            out,
            "    {what}; fused from {}",
            if lines.is_empty() { "its inputs".into() } else { lines }
        );
    }
    let (mut bytes, mut parts) = (0, Vec::new());
    for (place, access) in &l.arrays {
        let Slot { name, ty, .. } = slot(plan, place);
        bytes += ty.elem.size();
        let how = match access {
            Access::Pointwise => "reads",
            Access::Anywhere => "reads (shifted or indexed)",
            Access::Write => "writes",
        };
        parts.push(format!("{how} {name}"));
    }
    let _ = writeln!(out, "    moves {bytes} bytes an element: {}", parts.join(", "));
}

fn slot<'a>(plan: &'a Plan, place: &Place) -> &'a Slot {
    match place {
        Place::Param(i) => &plan.params[*i as usize],
        Place::Result(i) => &plan.results[*i as usize],
        Place::Temp(i) => &plan.temps[*i as usize],
    }
}

/// The versions of a kernel for GPUs.
fn on_gpu(out: &mut String, plan: &Plan, l: &Launch, kernel: &GpuKernel) {
    if let Some(why) = &kernel.absent {
        let _ = writeln!(out, "    not on a GPU: {why}");
        return;
    }
    let _ = writeln!(out, "    on a GPU, the first that may run:");
    let width = kernel.versions.iter().map(|v| v.entry.len()).max().unwrap_or(0);
    for v in &kernel.versions {
        let size = match v.grid {
            Grid::Elements(n) => format!("{n} elements a block, {} a thread", n / v.threads.max(1)),
            Grid::Plane(rows, cols) => {
                format!("{rows} rows by {cols} columns a block, {} a thread", rows * cols / v.threads.max(1))
            }
            Grid::Tiles(1, 1) => format!("a tile of {TILE} for 128 threads"),
            Grid::Tiles(least, most) => format!("{least} to {most} tiles of {TILE} for 128 threads"),
            Grid::Segments(n) => format!("{n} segments a block"),
            Grid::Chunks(least, most) => {
                format!("{} to {} tiles of {TILE} of a segment a block", 8 * least, 8 * most)
            }
            Grid::Strips(n, least, most) => {
                format!("{n} segments a block, {} to {} columns of a tile", 8 * least, 8 * most)
            }
            Grid::One => "one block".into(),
        };
        let conditions = conditions(plan, l, v);
        let _ = writeln!(out, "      {:width$}  {} threads, {size}{conditions}", v.entry, v.threads);
    }
}

/// What must hold for a version to run.
fn conditions(plan: &Plan, l: &Launch, v: &GpuVersion) -> String {
    let name = |i: &u32| l.arrays.get(*i as usize).map_or("?", |(place, _)| slot(plan, place).name.as_str());
    let aligned: Vec<&str> = v.aligned.iter().map(name).collect();
    let conditions = [
        (v.least > 0, format!("{} blocks or more", v.least)),
        (v.contiguous, "strides of 1".to_string()),
        (!aligned.is_empty(), format!("{} at 16 bytes", aligned.join(" "))),
        (v.longest.is_some(), format!("segments of up to {}", v.longest.unwrap_or(0))),
        (v.steps > 0, format!("up to {} steps at once", v.steps)),
        (v.extent > 0, format!("axes of {} or more", v.extent)),
        (v.narrow, "31-bit indices".into()),
        (v.separate, "outputs apart from inputs".into()),
    ];
    let held: Vec<String> = conditions.into_iter().filter(|c| c.0).map(|c| c.1).collect();
    if held.is_empty() { String::new() } else { format!("; if {}", held.join(", ")) }
}

/// The author's lines that were fused into an item.
fn lines(g: &Graph, n: NodeId) -> String {
    let stop = |m: NodeId| m != n && items::is_pass(g, m);
    let mut lines: Vec<(String, u32)> = Vec::new();
    let (mut stack, mut seen) = (vec![n], std::collections::HashSet::new());
    while let Some(m) = stack.pop() {
        if stop(m) || !seen.insert(m) {
            continue;
        }
        lines.extend(g.node(m).loc.0.iter().map(|l| (l.short(), l.line)));
        let op = g.op(m);
        stack.extend(op.operands().chain(op.lambda().map(|l| l.body)));
    }
    lines.sort_by(|a, b| a.1.cmp(&b.1).then(a.0.cmp(&b.0)));
    lines.dedup();
    lines.into_iter().map(|l| l.0).collect::<Vec<_>>().join(", ")
}

/// Why a pass is not part of an earlier one.
fn reason(g: &Graph, before: &[Pass], p: &Pass) -> String {
    let earlier: Vec<NodeId> = before.iter().flat_map(|p| p.items.iter().map(|it| it.node)).collect();
    let waits = p.items.iter().flat_map(|it| items::needs_of_item(g, it)).find(|n| earlier.contains(n));
    match waits {
        Some(n) => {
            let at = g.node(n).loc.first().map(|l| format!(" of {}", l.short())).unwrap_or_default();
            let what = if matches!(g.op(n), Op::Materialize(_)) { "stored vector" } else { "reduction" };
            format!("each element needs the {what}{at}, which is known only after a whole pass")
        }
        None if before.iter().any(|b| b.domain == p.domain && b.sequential == p.sequential) => format!(
            "the budget of a pass is {} results, {} operations and {} arrays",
            items::MAX_ITEMS,
            items::MAX_NODES,
            items::MAX_ARRAYS
        ),
        None if p.sequential => "a fold runs in order, the other pass does not".into(),
        None => "its index space is another one: the lengths are not known to be equal".into(),
    }
}
