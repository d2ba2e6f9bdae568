//! Describes the variants of a kernel and the conditions under which each one runs.

use super::model::{Alternative, Cpu, CpuVariant, Gpu, GpuVariant, Kernel, Launched};
use crate::core::TILE;
use crate::counted;
use crate::driver::{Compiled, GpuCode};
use crate::plan::gpu::{self, Grid};
use crate::plan::{ANY_LENGTH, Launch, Place};
use crate::schedule;
use crate::schedule::strategy::Strategy;
use std::num::NonZeroU32;

/// Returns the kernel on CPUs, if it was compiled for them.
pub fn cpu(c: &Compiled, l: &Launch) -> Option<Cpu> {
    let variants = c.kernels.get(l.kernel as usize)?.cpu.as_ref().filter(|_| c.targets.cpu)?;
    let none = || Vec::new();
    let stores = variants.in_place.is_some();
    let first = match (&variants.strided, stores) {
        // an alternative has one variant: other calls run the launches that it replaces
        (None, _) if l.sequential => vec!["strides of 1".into(), "one thread".into()],
        (None, _) if !l.domain.is_empty() => {
            let unit = match (l.segment, l.grain) {
                (Some(_), columns @ 2..) => format!("{columns} columns"),
                _ => "a row".to_string(),
            };
            let mut conditions = vec!["strides of 1".into(), format!("at least {unit} for each thread")];
            let [least, most] = l.lengths;
            if least > ANY_LENGTH[0] {
                conditions.push(format!("segments of {least} or more"));
            }
            if most < ANY_LENGTH[1] {
                conditions.push(format!("segments of up to {most}"));
            }
            conditions
        }
        (None, _) => none(),
        (Some(_), false) => vec!["strides of 1".into()],
        (Some(_), true) => vec!["strides of 1".into(), "outputs apart from inputs".into()],
    };
    let conditions = [first, vec!["strides of 1".to_string()], none()];
    let variant = |(variant, conditions): (Option<&schedule::CpuVariant>, Vec<String>)| {
        let schedule::CpuVariant { kernel, strategy } = variant?;
        let (name, strategy_in_words) = (kernel.name.clone(), strategy.to_string());
        Some(CpuVariant { name, strategy: strategy.name(), strategy_in_words, conditions })
    };
    Some(Cpu {
        unit: l.grain,
        variants: variants.all().into_iter().zip(conditions).filter_map(variant).collect(),
    })
}

/// Returns the kernel on GPUs, if it was compiled for them.
pub fn gpu(
    c: &Compiled,
    l: &Launch,
    name: &dyn Fn(&Place) -> String,
    launched: Option<Launched>,
) -> Option<Gpu> {
    let kernel = c.kernels.get(l.kernel as usize)?.gpu.as_ref()?;
    let variant = |code: &GpuCode| GpuVariant {
        entry: code.launch.entry.clone(),
        strategy: code.strategy.name(),
        strategy_in_words: code.strategy.to_string(),
        threads: code.launch.threads,
        block: block(&code.launch),
        conditions: conditions(l, &code.launch, name),
    };
    Some(Gpu {
        absent: kernel.absent.clone(),
        variants: kernel.variants.iter().map(variant).collect(),
        stencils: kernel.stencils.iter().map(Into::into).collect(),
        transposed: kernel.transposed.iter().map(Into::into).collect(),
        limit: kernel.limit.clone(),
        shared: kernel.shared.clone(),
        launched,
    })
}

/// Whether some variant leaves panels of a product for another one to add, or packed operands for another one to
/// multiply.
pub fn has_panels(c: &Compiled, l: &Launch) -> bool {
    let kernel = c.kernels.get(l.kernel as usize);
    let is_first = |v: &GpuCode| matches!(v.launch.grid, Grid::Panels { .. } | Grid::Packs(_));
    kernel.is_some_and(|k| k.gpu_variants().iter().any(is_first))
}

fn plane(rows: u32, columns: u32) -> String {
    format!("{} by {}", counted(rows, "row"), counted(columns, "column"))
}

/// Describes the part of the index space that a block computes.
fn block(v: &gpu::GpuVariant) -> String {
    match v.grid {
        Grid::Elements(n) => format!("{} a block, {} a thread", counted(n, "element"), n / v.threads.max(1)),
        Grid::Plane { rows, columns: cols } => {
            format!("{} a block, {} a thread", plane(rows, cols), rows * cols / v.threads.max(1))
        }
        Grid::Volume { planes, rows, columns: cols } => {
            let each = planes * rows * cols / v.threads.max(1);
            format!("{} of {} a block, {each} a thread", counted(planes, "plane"), plane(rows, cols))
        }
        Grid::Stream { rows, columns: cols, min_planes: least, max_planes: most, .. } => {
            let each = rows * cols / v.threads.max(1);
            format!("{least} to {most} planes of {} a block, {each} of each a thread", plane(rows, cols))
        }
        Grid::Tiles { min_span: 1, max_span: 1 } => format!("a tile of {TILE} for 128 threads"),
        Grid::Tiles { min_span: least, max_span: most } => {
            format!("{least} to {most} tiles of {TILE} for 128 threads")
        }
        Grid::Segments(n) => format!("{} a block", counted(n, "segment")),
        Grid::Clusters { blocks, segments: 1 } => {
            format!("a segment for a cluster of {}", counted(blocks, "block"))
        }
        Grid::Clusters { blocks, segments } => {
            format!("{segments} segments for a cluster of {}", counted(blocks, "block"))
        }
        Grid::SegmentTiles { min_span: least, max_span: most } => {
            format!("{} to {} tiles of {TILE} of a segment a block", 8 * least, 8 * most)
        }
        Grid::Strips { columns: n, min_span: least, max_span: most } => {
            format!("{} a block, {} to {} columns of a tile", counted(n, "segment"), 8 * least, 8 * most)
        }
        Grid::Panels { rows, columns: cols } => {
            let each = rows * cols / v.threads.max(1);
            format!("a panel of {} a block, {each} a thread", plane(rows, cols))
        }
        Grid::Sums { .. } => "adds the panels of the one above".into(),
        Grid::Packs(n) => format!("copies the operands to aligned rows, {} a thread", counted(n, "element")),
        Grid::Packed { rows, columns: cols } => {
            let each = rows * cols / v.threads.max(1);
            format!("multiplies what the one above copies, {} a block, {each} a thread", plane(rows, cols))
        }
        Grid::Parts(n) => format!("{} of a tile of {TILE} rows a block", counted(n, "column")),
        Grid::Joins(n) => format!("joins the parts of the one above, {} a block", counted(n, "column")),
        Grid::Fills(n) => format!("fills {} a block", counted(n, "bin")),
        Grid::Shares(n) => {
            format!("joins to what the one above fills, a block of a part for {n} of its bins")
        }
        Grid::Stores(n) => format!("computes {} a block", counted(n, "element")),
        Grid::Stored => format!("a tile of {TILE} of what the one above computes for 128 threads"),
        Grid::Tickets { resident, .. } => {
            format!("segments by ticket, {} a multiprocessor", counted(resident, "block"))
        }
        Grid::One => "one block".into(),
    }
}

/// Returns the conditions that must hold for a variant to run.
fn conditions(l: &Launch, v: &gpu::GpuVariant, name: &dyn Fn(&Place) -> String) -> Vec<String> {
    let name = |i: &u32| l.arrays.get(*i as usize).map_or("?".into(), |(place, _)| name(place));
    let names = |list: &[u32]| list.iter().map(name).collect::<Vec<_>>().join(" ");
    let (p, is_panel) = (v.profit, matches!(v.grid, Grid::Panels { .. }));
    let (guards, steps) = (v.guards, v.steps_per_launch.map(NonZeroU32::get));
    let limit = |n: Option<u32>, text: fn(u32) -> String| (n.is_some(), n.map_or(String::new(), text));
    let conditions = [
        limit(p.max_rows, |n| format!("{} or fewer", counted(n, "row"))),
        limit(p.max_columns, |n| format!("{} or fewer", counted(n, "column"))),
        limit(p.min_rows, |n| format!("{} or more", counted(n, "row"))),
        limit(p.min_columns, |n| format!("{} or more", counted(n, "column"))),
        limit(
            p.max_blocks,
            if is_panel {
                |n| format!("{} or fewer a panel", counted(n, "block"))
            } else {
                |n| format!("{} or fewer", counted(n, "block"))
            },
        ),
        limit(p.max_elements, |n| format!("{} or fewer for each multiprocessor", counted(n, "element"))),
        limit(p.min_inner_length, |n| format!("sums of {} or more", counted(n, "element"))),
        limit(p.min_blocks, |n| format!("{} or more", counted(n, "block"))),
        limit(p.min_busy.filter(|n| *n > 0), |n| format!("{n} % of the device busy or more")),
        (guards.contiguous, "strides of 1".to_string()),
        (!v.flat.is_empty(), format!("{} without gaps between rows", names(&v.flat))),
        (!v.aligned.is_empty(), format!("{} at 16 bytes", names(&v.aligned))),
        limit(guards.capability, |n| format!("sm_{n} or later")),
        limit(guards.architecture, |n| format!("sm_{n} only")),
        limit(guards.longest, |n| format!("segments of up to {n}")),
        limit(guards.multiple.map(NonZeroU32::get), of_a_multiple),
        limit(guards.neighbours.map(NonZeroU32::get), |n| format!("a multiple of {}", counted(n, "column"))),
        limit(steps, |n| format!("up to {} at once", counted(n, "step"))),
        limit(guards.extent.map(NonZeroU32::get), |n| format!("axes of {n} or more")),
        (guards.narrow, "31-bit indices".into()),
        (guards.noalias, "outputs apart from inputs".into()),
    ];
    conditions.into_iter().filter(|c| c.0).map(|c| c.1).collect()
}

/// Returns a warning if the cost of an element contains an extent, and no strategy shares the loop
/// among threads. An alternative that runs instead has strategies of its own.
pub fn warning(k: &Kernel, alternatives: &[Alternative]) -> Option<String> {
    let is_alone = |g: &Gpu| g.variants.first().is_some_and(|v| v.strategy == Strategy::ElementLoops.name());
    let gpu = k.gpu.as_ref().filter(|g| is_alone(g))?;
    if k.replaced_by.is_some() || gpu.absent.is_some() {
        return None;
    }
    let is_other = |a: &&Alternative| a.runs != Some(false) && a.instead_of.contains(&k.name);
    let is_better = |a: &&Alternative| a.gpu.as_ref().is_some_and(|g| g.absent.is_none() && !is_alone(g));
    let other = alternatives.iter().filter(is_other).find(is_better);
    let has_extent =
        |formula: &str| ["len(", "rows(", "cols(", "extent("].iter().any(|name| formula.contains(name));
    let cost = k.operations_per_element.as_ref().filter(|n| has_extent(&n.formula))?;
    let what = "an element's cost contains an extent, and each thread of a GPU computes it alone";
    let unless = other.map(|a| format!(", where {} does not run instead", a.name)).unwrap_or_default();
    // the line with most of the operations
    let lines = k.computes.iter().flat_map(|c| &c.lines);
    let line = lines.max_by_key(|line| line.operations.values().sum::<u64>());
    let place = line.map(|line| format!(" ({}:{})", line.place.name(), line.place.line)).unwrap_or_default();
    Some(format!("{}: {what}{place}{unless}: {}", k.name, counted(&cost.formula, "operation")))
}

/// Says which lengths of segments a variant takes.
fn of_a_multiple(n: u32) -> String {
    match n {
        1 => "segments that are not empty".into(),
        n => format!("segments of a multiple of {n}"),
    }
}
