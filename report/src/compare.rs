//! Ours beside the best peer: the newest measurement of every case.

use crate::rows::{By, Row, Rows, Run};
use std::collections::BTreeMap;
use std::rc::Rc;

/// One case at one size, of the newest run that has it on a kind of device.
pub struct Comparison<'a> {
    pub ours: &'a Row,
    /// The fastest peer that passed its check.
    pub best: Option<&'a Row>,
    pub of_copy: Option<f64>,
}

impl Comparison<'_> {
    /// The peer's time over ours: more than 1 is faster.
    pub fn ratio(&self) -> Option<f64> {
        self.best.map(|best| best.ms / self.ours.ms)
    }

    /// `softmax 65536x1024`.
    pub fn name(&self) -> String {
        name(self.ours)
    }
}

/// `sum 2^20, replayed as a graph`; of our own ways the way in brackets.
pub fn name(row: &Row) -> String {
    let way = match &row.by {
        By::Ours(way) if !way.is_empty() => format!(" ({way})"),
        _ => String::new(),
    };
    format!("{}{way} {}{}", row.case, row.size, if row.graph { ", graph" } else { "" })
}

type Key<'a> = (&'a str, &'a str, bool);

fn key(row: &Row) -> Key<'_> {
    (&row.case, &row.size, row.graph)
}

/// Every case with a row of ours on one kind of device; where calls were also replayed as a graph, the replay alone,
/// because a short call takes the host's time. Ways are compared with peers of their accuracy only.
pub fn newest<'a>(rows: &'a Rows, device: &'a str) -> Vec<Comparison<'a>> {
    let mut runs: BTreeMap<Key, &Rc<Run>> = BTreeMap::new();
    let of_kind = || rows.times.iter().filter(|r| r.run.device == device);
    for row in of_kind().filter(|r| matches!(r.by, By::Ours(_))) {
        let run = runs.entry(key(row)).or_insert(&row.run);
        if run.date <= row.run.date {
            *run = &row.run;
        }
    }
    let mut cases: BTreeMap<Key, Vec<&Row>> = BTreeMap::new();
    let replayed = |r: &Row| !r.graph && runs.contains_key(&(r.case.as_str(), r.size.as_str(), true));
    for row in of_kind().filter(|r| runs.get(&key(r)).is_some_and(|run| **run == r.run) && !replayed(r)) {
        cases.entry(key(row)).or_default().push(row);
    }
    let mut all = Vec::new();
    for rows in cases.values() {
        let copy = rows.iter().find(|r| r.by == By::Copy);
        for ours in rows.iter().filter(|r| is_a_users(r)) {
            let peers = rows.iter().filter(|r| matches!(r.by, By::Peer(_)) && accuracy(r) == accuracy(ours));
            let best = peers.min_by(|a, b| a.ms.total_cmp(&b.ms)).copied();
            let of_copy = ours.of_copy.or_else(|| copy.map(|copy| copy.ms / ours.ms));
            all.push(Comparison { ours, best, of_copy });
        }
    }
    all
}

/// What a user gets; `direct` and other forced variants are measured beside it.
fn is_a_users(row: &Row) -> bool {
    let By::Ours(way) = &row.by else { return false };
    ["", "options", "options_tails", "options_fast", "staged", "device"].contains(&way.as_str())
}

/// How exact a way is: approximate functions, reciprocals for quotients, or Black-Scholes with exact tails,
/// compare with their like.
fn accuracy(row: &Row) -> &'static str {
    let (By::Ours(way) | By::Peer(way)) = &row.by else { return "" };
    match () {
        () if ["fast", "approx", "reciprocal"].iter().any(|w| way.contains(w)) => "approximate",
        () if way.contains("tails") || way.contains("erfc") => "tails",
        () => "",
    }
}

/// The geometric mean.
pub fn mean(ratios: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = ratios.fold((0.0, 0), |(sum, n), r| (sum + r.ln(), n + 1));
    if n == 0 { f64::NAN } else { (sum / f64::from(n)).exp() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratios(files: &[(&str, &[&str])]) -> Vec<(String, Option<f64>)> {
        let mut rows = Rows::default();
        for (name, lines) in files {
            rows.add(name, &lines.join("\n")).unwrap();
        }
        newest(&rows, "h200").iter().map(|c| (c.name(), c.ratio())).collect()
    }

    #[test]
    fn the_newest_run_counts_and_a_replay_stands_for_its_call() {
        let old: &[&str] = &[
            r#"{"name":"a 8","ours_ms":4.0,"torch_ms":1.0}"#,
            r#"{"name":"b 8","ours_ms":2.0,"torch_ms":4.0}"#,
        ];
        let new: &[&str] = &[
            r#"{"name":"a 8","ours_ms":1.0,"torch_ms":2.0,"compile_ms":1.5}"#,
            r#"{"name":"s","impl":"arraygpu","n":1024,"ms":9,"gbps":1,"ok":true}"#,
            r#"{"name":"s","impl":"arraygpu graph","n":1024,"ms":1,"gbps":1,"ok":true}"#,
            r#"{"name":"s","impl":"peer graph","n":1024,"ms":3,"gbps":1,"ok":true}"#,
            r#"{"name":"s","impl":"peer_fast graph","n":1024,"ms":0.1,"gbps":1,"ok":true}"#,
        ];
        let found = ratios(&[
            ("h200-2026-11-21-x.jsonl", old),
            ("h200c-2026-11-22-y.jsonl", new),
            ("h100-2026-11-23-x.jsonl", old),
        ]);
        let expected = [("a 8", 1.5), ("b 8", 2.0), ("s 2^10, graph", 3.0)];
        assert_eq!(found, expected.map(|(name, ratio)| (name.to_owned(), Some(ratio))));
        assert!((mean([0.5, 2.0].into_iter()) - 1.0).abs() < 1e-12);
    }
}
