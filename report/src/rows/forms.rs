//! The rows of each benchmark, as rows of one form.

use super::{By, Plain, Row, Run};
use serde_json::Value;
use std::rc::Rc;

pub fn date_of(name: &str) -> Option<&str> {
    let start = name.find("-20")? + 1;
    name.get(start..start + 10)
}

pub fn number(value: &Value, key: &str) -> Option<f64> {
    value.get(key)?.as_f64()
}

pub fn text(value: &Value, key: &str) -> Option<String> {
    Some(value.get(key)?.as_str()?.to_owned())
}

pub fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// `C++ us` of the table of programs beside plain C++.
pub fn plain(line: &str) -> Option<Plain> {
    let parts = line.split('|').map(str::trim).collect::<Vec<_>>();
    let [_, _, theirs, ours, _] = parts[..] else { return None };
    Some(Plain { ratio: theirs.parse::<f64>().ok()? / ours.parse::<f64>().ok()? })
}

/// `2^26` for a power of two from 1024 on, else digits.
pub fn length(n: u64) -> String {
    if n.is_power_of_two() && n >= 1024 { format!("2^{}", n.ilog2()) } else { n.to_string() }
}

/// A row of the benchmarks in C++: one time of one implementation.
pub fn one(run: &Rc<Run>, value: &Value) -> Option<Row> {
    let (name, by) = (text(value, "name")?, text(value, "impl")?);
    let (mut case, mut size) = split_size(&name);
    let n = number(value, "n")? as u64;
    if let Some(kernel) = text(value, "kernel") {
        case = kernel;
    }
    if size.is_empty() {
        size = length(n);
    }
    let (by, graph) = by.strip_suffix(" graph").map_or((by.as_str(), false), |by| (by, true));
    let threads = number(value, "threads")
        .map_or(String::new(), |t| format!(", {t} threads").replace(", 1 threads", ", one thread"));
    Some(Row {
        run: run.clone(),
        by: match by {
            _ if case == "copy" || by == "copy" => By::Copy,
            "arraygpu" => By::Ours(String::new()),
            _ => by.strip_prefix("arraygpu").map_or_else(
                || By::Peer(by.to_owned()),
                |way| By::Ours(way.trim_start_matches([' ', ':']).to_owned()),
            ),
        },
        case,
        size: size + &threads,
        n: Some(n),
        graph,
        ms: number(value, "ms")?,
        spread: number(value, "min_ms").zip(number(value, "p90_ms")),
        gbps: number(value, "gbps"),
        gflops: number(value, "gflops"),
        of_copy: number(value, "of_copy"),
    })
}

/// The times that stand in one row of the benchmarks beside PyTorch and CUDA by hand.
pub fn beside_torch(run: &Rc<Run>, value: &Value) -> Vec<Row> {
    let Some((case, size)) = text(value, "name").map(|name| split_size(&name)) else { return Vec::new() };
    let ours = value.get("ours").unwrap_or(value);
    let of_copy = number(ours, "of_copy").or_else(|| number(value, "of_copy"));
    let row = |by: By, ms: f64| Row {
        case: case.clone(),
        size: size.clone(),
        of_copy: of_copy.filter(|_| by == By::Ours(String::new())),
        gflops: number(value, "tflops").map(|t| t * 1e3).filter(|_| by == By::Ours(String::new())),
        by,
        ms,
        ..Row::of(run)
    };
    let mut rows = Vec::new();
    for (key, who) in [
        ("compile_ms", "torch.compile"),
        ("torch_ms", "torch"),
        ("eager_ms", "torch, eager"),
        ("conv_ms", "torch, conv3d"),
        ("cub_ms", "CUB"),
        ("peer_ms", "CUDA by hand"),
        ("peer_registers_ms", "CUDA by hand, in registers"),
    ] {
        rows.extend(number(value, key).map(|ms| row(By::Peer(who.to_owned()), ms)));
    }
    rows.extend(
        number(value, "exact_ms").map(|ms| row(By::Peer("CUDA by hand, the same roundings".to_owned()), ms)),
    );
    rows.extend(number(value, "copy_ms").map(|ms| row(By::Copy, ms)));
    let ms = number(value, "ours_ms").or_else(|| number(ours, "ms"));
    rows.extend(ms.map(|ms| row(By::Ours(String::new()), ms)));
    for way in ["staged", "device"] {
        let ms = value.get(format!("ours_{way}")).and_then(|v| number(v, "ms"));
        rows.extend(ms.map(|ms| row(By::Ours(way.to_owned()), ms)));
    }
    rows
}

/// Batches of products by tensor cores beside `torch.bmm`: the variant that the policy chooses comes first.
pub fn batches(run: &Rc<Run>, value: &Value) -> Vec<Row> {
    let variants = ["tensor", "tensor_small", "tensor_unaligned", "tensor_packs", "tensor_any"];
    let chosen = variants.iter().find_map(|v| value.get(v)).and_then(|v| v.get(0)?.as_f64());
    let (Some(name), Some(ours), Some(peer)) = (text(value, "name"), chosen, number(value, "torch_ms"))
    else {
        return Vec::new();
    };
    let (case, size) = split_size(&name);
    let row =
        |by, ms| Row { case: format!("batches_tensor_{case}"), size: size.clone(), by, ms, ..Row::of(run) };
    vec![row(By::Ours(String::new()), ours), row(By::Peer("torch.bmm".to_owned()), peer)]
}

/// Ours and PyTorch's names in the rows of sorts, groups and segments.
pub const GROUPS: [(&str, &str); 11] = [
    ("sort_f32", "torch_sort"),
    ("sort_keys_u32", "cub_keys_u32"),
    ("sort_keys_f32", "cub_keys_f32"),
    ("sort_keys_f64", "cub_keys_f64"),
    ("sort_pairs", "cub_pairs"),
    ("histogram_256", "bincount"),
    ("group_statistics_1", "index_add_1"),
    ("group_statistics_65536", "index_add_65536"),
    ("segment_sums_16", "segment_reduce_16"),
    ("segment_sums_5000", "segment_reduce_5000"),
    ("csr_by_vector", "cusparse"),
];

/// The times of a length in the rows of sorts, groups and segments.
pub fn groups(run: &Rc<Run>, value: &Value) -> Vec<Row> {
    let n = number(value, "n").map(|n| n as u64);
    let mut rows = Vec::new();
    for (case, peer) in GROUPS {
        if let (Some(ours), Some(theirs)) = (number(value, case), number(value, peer)) {
            let row = |by, ms| Row {
                case: case.to_owned(),
                size: n.map_or_else(String::new, length),
                by,
                ms,
                ..Row::of(run)
            };
            rows.extend([row(By::Ours(String::new()), ours), row(By::Peer(peer.to_owned()), theirs)]);
        }
    }
    rows
}

/// A program beside a loop with OpenMP.
pub fn openmp(run: &Rc<Run>, value: &Value) -> Vec<Row> {
    let at = |key: &str| number(value, key);
    let (Some(case), Some(ours), Some(peer)) = (text(value, "program"), at("ms"), at("openmp")) else {
        return Vec::new();
    };
    let extents = ["n", "k"]
        .iter()
        .filter_map(|k| at(k))
        .filter(|&k| k > 0.0)
        .map(|k| length(k as u64))
        .collect::<Vec<_>>();
    let threads = at("threads").unwrap_or(1.0);
    let size = format!(
        "{}, {}",
        extents.join("x"),
        if threads == 1.0 { "one thread".to_owned() } else { format!("{threads} threads") }
    );
    let row = |by, ms| Row { case: case.clone(), size: size.clone(), by, ms, ..Row::of(run) };
    let mut rows = vec![row(By::Ours(String::new()), ours), row(By::Peer("OpenMP".to_owned()), peer)];
    rows.extend(at("copy").map(|ms| row(By::Copy, ms)));
    rows
}

/// `softmax 65536x1024` is a case and a size; `jacobi 4 steps` is a case.
pub fn split_size(name: &str) -> (String, String) {
    let is_size = |w: &str| {
        w.starts_with(|c: char| c.is_ascii_digit())
            && w.chars().all(|c| c.is_ascii_digit() || "x^ ".contains(c))
    };
    match name.rsplit_once(' ') {
        Some((case, size)) if is_size(size) => (case.to_owned(), size.to_owned()),
        _ => (name.to_owned(), String::new()),
    }
}
