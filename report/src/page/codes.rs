//! Machine code: our PTX beside nvcc's code of the same kernels, and kernels with an optimisation left out.

use super::time;
use crate::block::{Block, Table};
use crate::compare::mean;
use crate::rows::Rows;
use crate::rows::codes::{Code, LeftOut, Times, TwoCompilers};
use std::collections::BTreeMap;

/// How many kernels with the fewest instructions of nvcc's are shown.
const WORST: usize = 20;

/// Shorter calls, in ms, are the host's work above all, and move by a fifth from run to run.
const SHORT: f64 = 0.03;

/// Registers, instructions, spills and compile time of both compilers.
pub fn compilers(rows: &Rows) -> Vec<Block> {
    let Some((run, kernels)) = rows.codes.compilers.last() else { return Vec::new() };
    let of = |f: fn(&TwoCompilers) -> f64| mean(kernels.iter().map(f).filter(|r| r.is_finite()));
    let spill = |f: fn(&TwoCompilers) -> Code| kernels.iter().filter(|k| f(k).spills > 0.0).count();
    let text = format!(
        "{} kernels without a GPU (`{}`), nvcc's by ours, geometric means: registers {:.2}, instructions {:.2}. {} of ours spill and {} of nvcc's. \
         nvcc takes {:.0} times as long for its code as ours for the PTX.",
        kernels.len(),
        run.file,
        of(|k| k.nvcc.registers / k.ours.registers),
        of(|k| k.nvcc.instructions / k.ours.instructions),
        spill(|k| k.ours),
        spill(|k| k.nvcc),
        of(|k| k.seconds.0 / k.seconds.1),
    );
    let mut worst: Vec<_> = kernels.iter().collect();
    let ratio = |k: &TwoCompilers| k.nvcc.instructions / k.ours.instructions;
    worst.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let mut table = Table::new([
        "kernel",
        "nvcc / ours, instructions",
        "instructions, ours, nvcc's",
        "registers, ours, nvcc's",
        "spilled bytes, ours, nvcc's",
    ]);
    for k in worst.into_iter().take(WORST) {
        let both = |f: fn(&Code) -> f64| format!("{}, {}", f(&k.ours), f(&k.nvcc));
        table.row([
            k.kernel.clone(),
            format!("{:.2}", ratio(k)),
            both(|c| c.instructions),
            both(|c| c.registers),
            both(|c| c.spills),
        ]);
    }
    let title = format!("The {WORST} kernels of which nvcc's code is the shortest beside ours");
    vec![Block::Text(text), Block::Folded { title, table }]
}

/// What each optimisation does to code and time.
pub fn left_out(rows: &Rows) -> Vec<Block> {
    let Some((run, kernels)) = rows.codes.left_out.last() else { return Vec::new() };
    let mut names: Vec<&String> = kernels.iter().flat_map(|k| k.without.keys()).collect();
    names.sort();
    names.dedup();
    let times = rows.codes.times.last().map_or(&[][..], |(_, times)| times);
    let mut table = Table::new([
        "left out",
        "kernels that change",
        "registers",
        "instructions",
        "kernels that spill, before, after",
        "time, geometric mean",
        "time at most",
    ]);
    for name in names {
        let changed: Vec<_> = kernels.iter().filter_map(|k| Some((k, k.without.get(name)?))).collect();
        let ratio = |f: fn(&Code) -> f64| mean(changed.iter().map(|(k, c)| f(c) / f(&k.all)));
        let spill = |f: fn(&(&LeftOut, &Code)) -> f64| changed.iter().filter(|k| f(k) > 0.0).count();
        let slower = slower(times, name);
        let most = slower.iter().max_by(|a, b| a.0.total_cmp(&b.0));
        table.row([
            format!("`{name}`"),
            format!("{} of {}", changed.len(), kernels.len()),
            format!("{:.2}", ratio(|c| c.registers)),
            format!("{:.2}", ratio(|c| c.instructions)),
            format!("{}, {}", spill(|k| k.0.all.spills), spill(|k| k.1.spills)),
            if slower.is_empty() {
                String::new()
            } else {
                format!("{:.3}", mean(slower.iter().map(|r| r.0)))
            },
            most.map_or_else(String::new, |(ratio, function)| format!("{ratio:.2} (`{function}`)")),
        ]);
    }
    let mut text = format!(
        "Kernels without one optimisation by those with all of them (`{}`; `docs/optimisations.md` says what each is), geometric means over the kernels whose text changes.",
        run.file
    );
    let mut blocks = vec![Block::Heading("Optimisations left out")];
    let mut all = Vec::new();
    if let Some((run, times)) = rows.codes.times.last() {
        text += &format!(
            " Times are of {} functions (`{}`), in the means those of {SHORT} ms or more.",
            times.len(),
            run.file
        );
        all.push(Block::Folded { title: "Times of each function, ms".to_owned(), table: functions(times) });
    }
    blocks.extend([Block::Text(text), Block::Table(table)]);
    blocks.extend(all);
    blocks
}

/// The time without an optimisation by that with all, of each function that was measured both ways.
fn slower<'a>(times: &'a [Times], name: &str) -> Vec<(f64, &'a str)> {
    let of = |ms: &BTreeMap<String, f64>| {
        let base = ms.get("base").filter(|ms| **ms >= SHORT)?;
        Some(ms.get(name)? / base)
    };
    times.iter().filter_map(|(function, ms)| Some((of(ms)?, function.as_str()))).collect()
}

fn functions(times: &[Times]) -> Table {
    let mut table = Table::new(["function", "all", "without, in order of time"]);
    for (function, ms) in times {
        let mut others: Vec<_> = ms.iter().filter(|(name, _)| *name != "base").collect();
        others.sort_by(|a, b| b.1.total_cmp(a.1));
        let others: Vec<_> = others.iter().map(|(name, ms)| format!("{name} {}", time(**ms))).collect();
        let base = ms.get("base").map_or_else(String::new, |ms| time(*ms));
        table.row([function.clone(), base, others.join(", ")]);
    }
    table
}
