//! The table of docs/elementary.md.

use super::{files, results};
use crate::sh::{self, Result};
use serde_json::{Value, json};

const BEGIN: &str = "<!-- measured: written by `cargo xtask ulp` -->\n";
const END: &str = "<!-- end -->\n";

/// Writes the table between its markers.
pub fn write(rows: &[Value]) -> Result {
    let path = sh::root().join("docs/elementary.md");
    let rows = &with_frexp(rows);
    let text = String::from_utf8_lossy(&sh::get(&path)?).into_owned();
    let text =
        replaced(&text, &table(rows, &gpu()?)).ok_or("docs/elementary.md has no markers for the table")?;
    sh::put(&path, text.as_bytes())
}

fn replaced(text: &str, table: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}{table}{END}{after}"))
}

/// The functions' rows of GPUs: of each kernel and implementation the newest.
fn gpu() -> Result<Vec<Value>> {
    let mut all = Vec::new();
    for file in files(&results(), "") {
        let text = String::from_utf8_lossy(&sh::get(&file)?).into_owned();
        let rows = text.lines().filter_map(|l| serde_json::from_str(l).ok());
        all.extend(rows.filter(|r: &Value| r["name"] == "functions"));
    }
    all.reverse();
    Ok(all)
}

/// The rows with one for `frexp`, which MPFR does not measure: it has two results and no rounding
/// (`math/tests/hard.rs` tests all f32).
fn with_frexp(rows: &[Value]) -> Vec<Value> {
    let frexp = |ty: &str| json!({"function": "frexp", "type": ty, "ulps": 0.0, "bound": 0.0});
    let at = rows.partition_point(|r| r["function"].as_str() < Some("frexp"));
    [&rows[..at], &[frexp("f32"), frexp("f64")], &rows[at..]].concat()
}

fn table(rows: &[Value], gpu: &[Value]) -> String {
    let mut out = String::from(
        "| function | type | bound | measured | at | monotone | CPU ns | libm ns | ratio | GPU ms | CUDA ms | ratio |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for r in rows {
        let text = |key: &str| r[key].as_str().unwrap_or("").to_string();
        let number =
            |key: &str, digits: usize| r[key].as_f64().map_or(String::new(), |x| format!("{x:.digits$}"));
        let place = if r["y"].is_null() { text("x") } else { format!("{}, {}", text("x"), text("y")) };
        let monotone = match r["monotone"].as_bool() {
            Some(true) => "yes",
            Some(false) => "no",
            None => "",
        };
        let ulps = if r["ulps"].is_null() { "wrong".into() } else { number("ulps", 3) };
        let bound = r["bound"].as_f64().map_or(String::new(), |b| b.to_string());
        let mut cells = vec![text("function"), text("type"), bound, ulps, place, monotone.into()];
        cells.extend([number("cpu_ns", 2), number("libm_ns", 2), number("cpu_ratio", 1)]);
        cells.extend(gpu_cells(&format!("{}_{}", text("function"), text("type")), gpu));
        out += &format!("| {} |\n", cells.join(" | "));
    }
    out
}

/// Our time on the GPU, the best of CUDA's kernels in the same run, and their ratio.
fn gpu_cells(kernel: &str, rows: &[Value]) -> [String; 3] {
    let of = |r: &&Value, start: &str| {
        r["kernel"] == kernel && r["impl"].as_str().is_some_and(|i| i.starts_with(start))
    };
    let ours =
        rows.iter().find(|r| of(r, "arraygpu") && r["impl"] == "arraygpu").and_then(|r| r["ms"].as_f64());
    // the newest come first; a run has three of them
    let peers = rows.iter().filter(|r| of(r, "cuda")).take(3).filter_map(|r| r["ms"].as_f64());
    let best = peers.fold(f64::INFINITY, f64::min);
    match ours {
        Some(ms) if best.is_finite() => {
            [format!("{ms:.3}"), format!("{best:.3}"), format!("{:.2}", best / ms)]
        }
        _ => [const { String::new() }; 3],
    }
}

#[cfg(test)]
mod tests {
    use super::{BEGIN, END, replaced, table, with_frexp};
    use serde_json::json;

    #[test]
    fn one_row() {
        let row = json!({"function": "exp", "type": "f32", "bound": 1.0, "ulps": 0.51234, "x": "1e0", "monotone": true, "cpu_ns": 0.5, "libm_ns": 3.0, "cpu_ratio": 6.0});
        let ms =
            |name: &str, ms: f64| json!({"name": "functions", "kernel": "exp_f32", "impl": name, "ms": ms});
        let gpu = [
            ms("cuda_16Bx4", 0.3),
            ms("cuda_16Bx2", 0.2),
            ms("cuda_16B", 0.4),
            ms("arraygpu", 0.1),
            ms("cuda_16B", 0.05),
        ];
        let text = table(&[row], &gpu);
        assert!(
            text.ends_with(
                "| exp | f32 | 1 | 0.512 | 1e0 | yes | 0.50 | 3.00 | 6.0 | 0.100 | 0.200 | 2.00 |\n"
            ),
            "{text}"
        );
    }

    #[test]
    fn frexp_has_its_place() {
        let rows = with_frexp(&[json!({"function": "fmod"}), json!({"function": "hypot"})]);
        let text = table(&rows[1..3], &[]);
        assert!(text.ends_with("| frexp | f64 | 0 | 0.000 |  |  |  |  |  |  |  |  |\n"), "{text}");
    }

    #[test]
    fn markers() {
        let text = format!("a\n{BEGIN}old\n{END}b\n");
        assert_eq!(replaced(&text, "new\n"), Some(format!("a\n{BEGIN}new\n{END}b\n")));
        assert_eq!(replaced("a", "new"), None);
    }
}
