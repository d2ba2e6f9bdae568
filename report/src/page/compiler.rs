//! What the compiler costs and foresees, and what moved between dates.

use super::time;
use crate::block::{Block, Table};
use crate::compare::name;
use crate::plot::{Axes, Series, svg};
use crate::rows::{By, Prediction, Rows};
use std::collections::BTreeMap;

pub fn compilation(rows: &Rows) -> Result<Vec<Block>, String> {
    let mut blocks = vec![Block::Heading("Compile time")];
    let mut steps = BTreeMap::new();
    for s in &rows.steps {
        steps.insert((&s.kernel, &s.by, &s.step), s);
    }
    let mut table = Table::new(["kernel", "by", "step", "ms", "run"]);
    for s in steps.values() {
        table.row([s.kernel.clone(), s.by.clone(), s.step.replace('_', " "), time(s.ms), s.run.date.clone()]);
    }
    if !table.rows.is_empty() {
        blocks.push(Block::Folded {
            title: "Compilation while a program runs: ours, NVRTC, the driver".to_owned(),
            table,
        });
    }
    if let Some((run, kinds)) = rows.growth.last() {
        let mut table = Table::new(["kind of program, 1,000 times", "ms a 1,000 instructions of kernel IR"]);
        for (kind, ms) in kinds {
            table.row([kind.clone(), format!("{ms:.2}")]);
        }
        blocks.push(Block::Text(format!("Programs that grow (`{}`; bar 1.0):", run.file)));
        blocks.push(Block::Table(table));
    }
    Ok(blocks)
}

/// Our PTX beside nvcc's code of the same kernels, printed as CUDA C++.
pub fn nvcc(rows: &Rows) -> Vec<Block> {
    let Some((run, functions)) = rows.nvcc.last() else { return Vec::new() };
    let mut ratios: Vec<_> =
        functions.iter().map(|(name, ours, nvcc)| (nvcc / ours, name, *ours, *nvcc)).collect();
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut table = Table::new(["function", "nvcc / ours", "ours, ms", "nvcc, ms"]);
    for (ratio, name, ours, nvcc) in &ratios {
        table.row([(*name).clone(), format!("{ratio:.2}"), time(*ours), time(*nvcc)]);
    }
    let text = format!(
        "The kernels of {} functions, printed as CUDA C++ (`--emit cuda`) and compiled by nvcc -O3, beside our PTX (`{}`): the geometric mean of nvcc's time over ours is {:.3}.",
        ratios.len(),
        run.file,
        crate::compare::mean(ratios.iter().map(|r| r.0))
    );
    vec![
        Block::Heading("The same kernels by nvcc"),
        Block::Text(text),
        Block::Folded { title: "Every function".to_owned(), table },
    ]
}

pub fn predictions(rows: &Rows) -> Result<Vec<Block>, String> {
    let Some((run, programs)) = rows.predictions.last() else { return Ok(Vec::new()) };
    let close = programs.iter().filter(|p| (p.predicted / p.measured - 1.0).abs() <= 0.15).count();
    let points = |of: fn(&Prediction) -> f64| programs.iter().map(|p| (of(p), p.measured)).collect();
    let axes =
        Axes { x_is_log: true, y_is_log: true, diagonal: true, ..Axes::new("predicted, us", "measured, us") };
    let svg = svg(
        "the cost model's predictions",
        &axes,
        &[Series { name: String::new(), points: points(|p| p.predicted), line: false }],
    )?;
    let mut worst: Vec<_> = programs.iter().collect();
    worst.sort_by(|a, b| (b.measured / b.ideal).total_cmp(&(a.measured / a.ideal)));
    let mut table = Table::new([
        "program",
        "inputs and outputs once, us",
        "predicted, us",
        "measured, us",
        "measured / ideal",
    ]);
    for p in worst.iter().take(15) {
        let us = |v: f64| format!("{v:.1}");
        table.row([
            p.program.clone(),
            us(p.ideal),
            us(p.predicted),
            us(p.measured),
            format!("{:.1}", p.measured / p.ideal),
        ]);
    }
    Ok(vec![
        Block::Heading("Predictions"),
        Block::Text(format!(
            "`--explain` predicted {close} of {} programs within 15 % (`{}`).",
            programs.len(),
            run.file
        )),
        Block::Plot { caption: "each point is a program; the line is a right prediction".to_owned(), svg },
        Block::Folded {
            title: "Programs farthest from moving their inputs and outputs once".to_owned(),
            table,
        },
    ])
}

/// Cases that were measured at several dates on one kind of device.
pub fn history(rows: &Rows) -> Result<Vec<Block>, String> {
    let mut cases: BTreeMap<(String, &str), BTreeMap<&str, f64>> = BTreeMap::new();
    for row in rows.times.iter().filter(|r| matches!(r.by, By::Ours(_))) {
        cases.entry((name(row), &row.run.device)).or_default().insert(&row.run.date, row.ms);
    }
    let mut table = Table::new(["case", "device", "first, ms", "last, ms", "first / last"]);
    for ((case, device), dates) in &cases {
        let (Some((first, before)), Some((last, now))) = (dates.first_key_value(), dates.last_key_value())
        else {
            continue;
        };
        if first != last && (before / now - 1.0).abs() > 0.03 {
            table.row([
                case.clone(),
                (*device).to_owned(),
                format!("{} ({first})", time(*before)),
                format!("{} ({last})", time(*now)),
                format!("{:.2}", before / now),
            ]);
        }
    }
    let several = cases.values().filter(|dates| dates.len() > 1).count();
    let text = format!("{several} cases were measured at two dates or more; these moved by more than 3 %:");
    Ok(vec![
        Block::Heading("History"),
        Block::Text(text),
        Block::Folded { title: "Cases that moved".to_owned(), table },
    ])
}
