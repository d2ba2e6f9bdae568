//! The page: what is slower than a peer first, then everything.

use crate::block::{Block, Table};
use crate::causes::Causes;
use crate::compare::{Comparison, mean, name, newest};
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
    blocks.push(ratios("Every case on a GPU beside its best peer", &gpu)?);
    blocks.extend(sizes(rows)?);
    blocks.extend(roofline(rows, &gpu)?);
    blocks.extend(papers(&gpu));
    blocks.extend(calls(rows));
    blocks.extend(processors(rows, causes)?);
    blocks.extend(compilation(rows)?);
    blocks.extend(predictions(rows)?);
    blocks.extend(history(rows)?);
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

/// All ratios, sorted.
fn ratios(title: &str, all: &[Comparison]) -> Result<Block, String> {
    let mut ratios: Vec<_> = all.iter().filter_map(Comparison::ratio).collect();
    ratios.sort_by(f64::total_cmp);
    let points = ratios.iter().enumerate().map(|(k, r)| (k as f64, *r)).collect();
    let axes = Axes {
        y_is_log: true,
        mark: Some(1.0),
        ..Axes::new("case, the slowest first", "best peer's time / ours")
    };
    let svg = svg(title, &axes, &[Series { name: String::new(), points, line: false }])?;
    Ok(Block::Plot { caption: format!("{title}; the line is the peer's speed"), svg })
}

/// Speed by length, of every case that was measured at three lengths or more in one run.
fn sizes(rows: &Rows) -> Result<Vec<Block>, String> {
    let mut cases: BTreeMap<(&str, &str, bool), Vec<&Row>> = BTreeMap::new();
    for row in rows.times.iter().filter(|r| r.run.device == GPU && r.gbps.is_some() && r.n.is_some()) {
        cases.entry((&row.case, &row.run.file, row.graph)).or_default().push(row);
    }
    // of the newest run that has the case; replayed where both are measured
    let mut newest: BTreeMap<&str, (&str, bool)> = BTreeMap::new();
    for ((case, file, graph), rows) in &cases {
        let lengths: BTreeSet<_> =
            rows.iter().filter(|r| r.by == By::Ours(String::new())).filter_map(|r| r.n).collect();
        if lengths.len() >= 3 {
            let date = |file: &str| {
                rows.first().map_or_else(String::new, |r| {
                    if r.run.file == file { r.run.date.clone() } else { String::new() }
                })
            };
            let kept = newest.entry(case).or_insert((file, *graph));
            if date(kept.0) <= date(file) {
                *kept = (file, *graph);
            }
        }
    }
    let mut blocks = vec![Block::Heading("Speed by length")];
    for (case, (file, _)) in newest {
        let of = |graph: bool| cases.get(&(case, file, graph)).map_or(&[][..], Vec::as_slice);
        let all: Vec<&Row> = of(true).iter().chain(of(false)).copied().collect();
        blocks.push(by_length(case, &all)?);
    }
    if blocks.len() == 1 {
        blocks.clear();
    }
    Ok(blocks)
}

/// One case: ours and its peers, calls that are replayed where a length has both.
fn by_length(case: &str, rows: &[&Row]) -> Result<Block, String> {
    let mut lines: BTreeMap<(bool, String), BTreeMap<u64, f64>> = BTreeMap::new();
    for row in rows {
        let label = match &row.by {
            By::Ours(way) if way.is_empty() => (false, "arraygpu".to_owned()),
            By::Ours(_) => continue,
            By::Copy => (true, "copy".to_owned()),
            By::Peer(peer) => (true, peer.clone()),
        };
        if let (Some(n), Some(gbps)) = (row.n, row.gbps) {
            lines.entry(label).or_default().entry(n).or_insert(gbps);
        }
    }
    // the best of each length is among these
    let last = |line: &BTreeMap<u64, f64>| line.values().sum::<f64>() / line.len() as f64;
    let mut lines: Vec<_> = lines.into_iter().filter(|(_, line)| line.len() >= 3).collect();
    lines.sort_by(|a, b| (a.0.0).cmp(&b.0.0).then(last(&b.1).total_cmp(&last(&a.1))));
    lines.truncate(5);
    let series: Vec<_> = lines
        .into_iter()
        .map(|((_, name), line)| Series {
            name,
            points: line.into_iter().map(|(n, gbps)| ((n as f64).log2(), gbps)).collect(),
            line: true,
        })
        .collect();
    let axes =
        Axes { x_is_log2: true, y_is_log: true, ..Axes::new("elements", "GB/s of inputs and outputs") };
    let run = rows.first().map_or_else(String::new, |r| format!("{}, {}", r.run.device, r.run.date));
    Ok(Block::Plot {
        caption: format!("`{case}` ({run}); up to 2^22 elements calls are replayed as a graph"),
        svg: svg(case, &axes, &series)?,
    })
}

/// Operations a byte and a second, of the rows that count operations, under the roofs of the device.
fn roofline(rows: &Rows, gpu: &[Comparison]) -> Result<Vec<Block>, String> {
    let copy = rows
        .times
        .iter()
        .filter(|r| r.run.device == GPU && r.by == By::Copy)
        .filter_map(|r| r.gbps)
        .fold(0.0, f64::max);
    let points: Vec<_> =
        gpu.iter().filter_map(|c| Some((c.ours.gflops? / c.ours.gbps?, c.ours.gflops?))).collect();
    if points.is_empty() || copy == 0.0 {
        return Ok(Vec::new());
    }
    // 132 multiprocessors, 128 multiply-adds each, 1.98 GHz
    let peak = 132.0 * 128.0 * 2.0 * 1.98;
    let roof = [0.125, peak / copy, 256.0].map(|x| (x, (x * copy).min(peak)));
    let axes = Axes { x_is_log: true, y_is_log: true, ..Axes::new("f32 operations a byte", "GFLOP/s") };
    let series = [
        Series { name: "roofs".to_owned(), points: roof.to_vec(), line: true },
        Series { name: "arraygpu".to_owned(), points, line: false },
    ];
    let caption = format!(
        "stencils, windows and many bodies under the roofs of an H200: a copy's {copy:.0} GB/s, and {peak:.0} GFLOP/s of f32 multiply-adds at 1.98 GHz"
    );
    Ok(vec![Block::Heading("Roofline"), Block::Plot { caption, svg: svg("roofline", &axes, &series)? }])
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

fn compilation(rows: &Rows) -> Result<Vec<Block>, String> {
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

fn predictions(rows: &Rows) -> Result<Vec<Block>, String> {
    let Some((run, programs)) = rows.predictions.last() else { return Ok(Vec::new()) };
    let close = programs.iter().filter(|p| (p.predicted / p.measured - 1.0).abs() <= 0.15).count();
    let points =
        |of: fn(&crate::rows::Prediction) -> f64| programs.iter().map(|p| (of(p), p.measured)).collect();
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
fn history(rows: &Rows) -> Result<Vec<Block>, String> {
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
