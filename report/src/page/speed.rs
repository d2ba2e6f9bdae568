//! Plots of speed: beside peers, by length, under the roofline.

use super::GPU;
use crate::block::Block;
use crate::compare::Comparison;
use crate::plot::{Axes, Series, svg};
use crate::rows::{By, Row, Rows};
use std::collections::{BTreeMap, BTreeSet};

/// All ratios, sorted.
pub fn ratios(title: &str, all: &[Comparison]) -> Result<Block, String> {
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
pub fn sizes(rows: &Rows) -> Result<Vec<Block>, String> {
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
pub fn roofline(rows: &Rows, gpu: &[Comparison]) -> Result<Vec<Block>, String> {
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
