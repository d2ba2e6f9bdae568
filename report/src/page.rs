//! The page: what is slower than a peer first, then everything.

mod codes;
mod compiler;
mod speed;

use crate::block::{Block, Table};
use crate::causes::Causes;
use crate::compare::{Comparison, mean, newest};
use crate::plot::{Axes, Series, svg};
use crate::rows::{By, Row, Rows};
use std::collections::{BTreeMap, BTreeSet};

/// Below this share of the best peer a row needs its cause.
pub const BAR: f64 = 0.97;

/// The cause of a row that has none in `bench/causes.toml`.
const UNEXPLAINED: &str = "not looked into";

/// The devices that the page is of; rows of others stand in its history.
const GPU: &str = "h200";
const CPU: &str = "xeon";

/// The blocks of the page.
///
/// # Errors
/// What the drawing library says.
pub fn page(rows: &Rows, causes: &Causes) -> Result<Vec<Block>, String> {
    let gpu = newest(rows, GPU);
    let mut blocks = head(rows, &gpu);
    blocks.extend(losses("Where we lose on a GPU", &gpu, causes));
    blocks.push(speed::ratios("Every case on a GPU beside its best peer", &gpu)?);
    blocks.extend(speed::sizes(rows)?);
    blocks.extend(speed::roofline(rows, &gpu)?);
    blocks.extend(papers(&gpu));
    blocks.extend(calls(rows));
    blocks.extend(processors(rows, causes)?);
    blocks.extend(compiler::compilation(rows)?);
    blocks.extend(compiler::nvcc(rows));
    blocks.extend(codes::compilers(rows));
    blocks.extend(codes::left_out(rows));
    blocks.extend(compiler::predictions(rows)?);
    blocks.extend(compiler::history(rows)?);
    blocks.extend(everything(&gpu));
    Ok(blocks)
}

fn two(v: Option<f64>) -> String {
    v.map_or_else(String::new, |v| format!("{v:.2}"))
}

fn time(ms: f64) -> String {
    let digits = if ms < 0.1 {
        4
    } else if ms < 10.0 {
        3
    } else {
        1
    };
    format!("{ms:.digits$}")
}

fn peer(row: Option<&Row>) -> String {
    match row.map(|r| &r.by) {
        Some(By::Peer(peer)) => format!("`{peer}`"),
        _ => String::new(),
    }
}

fn head(rows: &Rows, gpu: &[Comparison]) -> Vec<Block> {
    let ratios = || gpu.iter().filter_map(Comparison::ratio);
    let (n, good) = (ratios().count(), ratios().filter(|r| *r >= BAR).count());
    let mut blocks = vec![
        Block::Text(
            "Written by `cargo xtask report` from the rows in `bench/results`. Times are medians; a ratio is the peer's time over ours, so more than 1 is faster; \
             a peer stands here only if its result passed the check of its benchmark. \"Of a copy\" is the share of the speed of a device copy of as many bytes in the same run."
                .to_owned(),
        ),
        Block::Text(format!(
            "{n} cases have a peer on a GPU: the geometric mean of the ratios is {:.2}, and {good} of them are at {BAR} or more.",
            mean(ratios())
        )),
    ];
    let mut runs = Table::new(["run", "device and peers"]);
    let shown: BTreeSet<_> = rows.times.iter().map(|r| (&r.run.file, &r.run.said)).collect();
    for (file, said) in shown {
        runs.row([format!("`{file}`"), said.clone()]);
    }
    blocks.push(Block::Folded { title: "The runs".to_owned(), table: runs });
    if !rows.unread.is_empty() {
        blocks
            .push(Block::Text(format!("Rows of another form, which are not shown: {}.", list(&rows.unread))));
    }
    if !rows.wrong.is_empty() {
        blocks.push(Block::Text(format!(
            "Rows that failed their check, which are not shown: {}.",
            list(&rows.wrong)
        )));
    }
    blocks
}

fn list(words: &[String]) -> String {
    words.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", ")
}

/// Every case with a row below the bar: its worst row, and the cause.
fn losses(title: &'static str, all: &[Comparison], causes: &Causes) -> Vec<Block> {
    let mut cases: BTreeMap<&str, Vec<(f64, &Comparison)>> = BTreeMap::new();
    for c in all {
        if let Some(ratio) = c.ratio() {
            cases.entry(&c.ours.case).or_default().push((ratio, c));
        }
    }
    let mut worst = Vec::new();
    for rows in cases.values_mut() {
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        let below = rows.iter().filter(|(ratio, _)| *ratio < BAR).count();
        worst.extend(rows.first().filter(|_| below > 0).map(|first| (first.0, first.1, below, rows.len())));
    }
    worst.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut table = Table::new([
        "worst row of a case",
        "ratio",
        "rows below",
        "ours, ms",
        "peer, ms",
        "best peer",
        "cause",
    ]);
    for (ratio, c, below, of) in &worst {
        let cause = causes.of(&c.name()).unwrap_or(UNEXPLAINED);
        let theirs = c.best.map_or_else(String::new, |b| time(b.ms));
        table.row([
            c.name(),
            format!("{ratio:.2}"),
            format!("{below} of {of}"),
            time(c.ours.ms),
            theirs,
            peer(c.best),
            cause.to_owned(),
        ]);
    }
    let rows = worst.iter().map(|w| w.2).sum::<usize>();
    let text = format!(
        "{rows} rows of {} cases are below {BAR} of their best peer. The worst row of each:",
        worst.len()
    );
    vec![Block::Heading(title), Block::Text(text), Block::Table(table)]
}

/// Figures of the papers, as they come out today: the case of ours for each.
const FIGURES: [(&str, &str); 9] = [
    ("expression templates (Wiemann and others), figure 3: a = b + c", "vadd"),
    ("the same, figure 4: a = 0.12 b + 7.54 c", "expr2"),
    ("the same, figure 5: the long expression", "expr3"),
    ("the same, figure 6: a / norm(a)", "normalize"),
    ("Barracuda, figure 3: SAXPY beside cuBLAS", "saxpy"),
    ("Barracuda, figure 3: Black-Scholes", "blackscholes"),
    ("Barracuda, figure 4: RMSE, fused", "rmse"),
    ("Barracuda, figure 5: Jacobi, shared memory", "jacobi"),
    ("PACXX, figure 4: n bodies", "bodies"),
];

fn papers(gpu: &[Comparison]) -> Vec<Block> {
    let mut table = Table::new(["figure", "case", "ours, ms", "best peer", "ratio", "of a copy"]);
    for (figure, case) in FIGURES {
        let is_shown = |c: &&Comparison| {
            c.ours.case == case
                && c.ours.n.is_none_or(|n| [1 << 16, 1 << 20, 1 << 26].contains(&n) || !n.is_power_of_two())
        };
        for c in gpu.iter().filter(is_shown) {
            table.row([
                figure.to_owned(),
                c.name(),
                time(c.ours.ms),
                peer(c.best),
                two(c.ratio()),
                two(c.of_copy),
            ]);
        }
    }
    vec![
        Block::Heading("The papers' figures of today"),
        Block::Folded { title: "Programs of the papers, with the peers of today".to_owned(), table },
    ]
}

/// What a call costs the host.
fn calls(rows: &Rows) -> Vec<Block> {
    let Some(date) = rows.calls.iter().map(|c| &c.run.date).max() else { return Vec::new() };
    let mut table =
        Table::new(["the host's time of a call of saxpy, 2^10 elements, on a stream of the caller", "ns"]);
    for c in rows.calls.iter().filter(|c| &c.run.date == date) {
        table.row([c.by.clone(), format!("{:.0}", c.ns)]);
    }
    vec![Block::Heading("Calls"), Block::Table(table)]
}

fn processors(rows: &Rows, causes: &Causes) -> Result<Vec<Block>, String> {
    let cpu = newest(rows, CPU);
    let mut blocks = losses("Where we lose on a CPU", &cpu, causes);
    let Some((run, programs)) = rows.plain.iter().rfind(|(_, programs)| programs.len() > 100) else {
        return Ok(blocks);
    };
    let mut ratios: Vec<_> = programs.iter().map(|p| p.ratio).collect();
    ratios.sort_by(f64::total_cmp);
    let good = ratios.iter().filter(|r| **r >= 0.9).count();
    blocks.push(Block::Text(format!(
        "{} programs of the corpus beside plain C++, one thread (`{}`): {good} at 0.9 or more, median {:.2}; the causes of the others stand in `bench/NOTES.md`.",
        ratios.len(),
        run.file,
        ratios[ratios.len() / 2]
    )));
    let axes = Axes {
        y_is_log: true,
        mark: Some(1.0),
        ..Axes::new("program, the slowest first", "time of C++ / ours")
    };
    let points = ratios.iter().enumerate().map(|(k, r)| (k as f64, r.max(0.01))).collect();
    let plot = svg(
        "programs beside plain C++, one thread",
        &axes,
        &[Series { name: String::new(), points, line: false }],
    )?;
    blocks.push(Block::Plot {
        caption: format!("{}; ratios below 0.01 are drawn at 0.01", run.file),
        svg: plot,
    });
    Ok(blocks)
}

fn everything(gpu: &[Comparison]) -> Vec<Block> {
    let mut table = Table::new([
        "case",
        "device",
        "date",
        "ours, ms",
        "least to 90 %",
        "of a copy",
        "best peer",
        "ratio",
    ]);
    for c in gpu {
        let spread =
            c.ours.spread.map_or_else(String::new, |(low, high)| format!("{} to {}", time(low), time(high)));
        table.row([
            c.name(),
            c.ours.run.device.clone(),
            c.ours.run.date.clone(),
            time(c.ours.ms),
            spread,
            two(c.of_copy),
            peer(c.best),
            two(c.ratio()),
        ]);
    }
    vec![
        Block::Heading("Every case"),
        Block::Folded { title: format!("{} cases on GPUs", table.rows.len()), table },
    ]
}
