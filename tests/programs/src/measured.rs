//! The committed measurements of programs, `bench/results`: beside plain C++ on one thread of a CPU, and on a GPU.

use std::collections::HashMap;
use std::path::Path;

/// A program beside its plain C++ loop, on one thread.
pub struct OnCpu {
    /// The time of the program in microseconds.
    pub us: f64,
    /// The time of the loop over it.
    pub ratio: f64,
}

/// A program on a GPU.
pub struct OnGpu {
    /// Microseconds that the model predicts for its launches.
    pub predicted: f64,
    /// Microseconds measured.
    pub measured: f64,
}

/// The newest row of each program, and the extent of its arrays.
#[derive(Default)]
pub struct Measured {
    /// On CPUs.
    pub cpu: HashMap<String, (i64, OnCpu)>,
    /// On GPUs.
    pub gpu: HashMap<String, (i64, OnGpu)>,
}

impl Measured {
    /// Reads the rows of the files `*-plain.txt` and `*-programs.jsonl` of a folder. Of several rows of a program the
    /// one of the latest date counts, which is part of a file's name.
    pub fn read(folder: &Path) -> std::io::Result<Measured> {
        let entries = std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
        let names = entries.iter().filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.collect();
        names.sort_by_key(|name| (date(name).to_string(), name.clone()));
        let mut all = Measured::default();
        for name in names {
            let of = |end: &str| name.ends_with(end).then(|| std::fs::read_to_string(folder.join(&name)));
            if let Some(text) = of("-plain.txt").transpose()? {
                all.cpu.extend(text.lines().filter_map(on_cpu));
            }
            if let Some(text) = of("-programs.jsonl").transpose()? {
                all.gpu.extend(text.lines().filter_map(on_gpu));
            }
        }
        Ok(all)
    }
}

/// The date in the name of a file, as `2026-11-25`.
fn date(name: &str) -> &str {
    let is_digit = |at: usize| name.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let is_date =
        |at: &usize| (*at..at + 10).zip("dddd-dd-dd".chars()).all(|(k, c)| (c == 'd') == is_digit(k));
    (0..name.len()).find(is_date).and_then(|at| name.get(at..at + 10)).unwrap_or_default()
}

/// Reads `name | extent | C++ us | ours us | C++ / ours`.
fn on_cpu(line: &str) -> Option<(String, (i64, OnCpu))> {
    let [name, extent, plain, ours, _] = line.split(" | ").collect::<Vec<_>>()[..] else { return None };
    let (plain, us): (f64, f64) = (plain.parse().ok()?, ours.parse().ok()?);
    Some((name.into(), (extent.parse().ok()?, OnCpu { us, ratio: plain / us })))
}

/// Reads `{"program": name, "extent": n, .., "predicted_us": x, "measured_us": y}`.
fn on_gpu(line: &str) -> Option<(String, (i64, OnGpu))> {
    let row: serde_json::Value = serde_json::from_str(line).ok()?;
    let number = |key: &str| row[key].as_f64();
    let on = OnGpu { predicted: number("predicted_us")?, measured: number("measured_us")? };
    Some((row["program"].as_str()?.into(), (row["extent"].as_i64()?, on)))
}

#[cfg(test)]
mod tests {
    use super::{date, on_cpu, on_gpu};

    #[test]
    fn rows_are_read() {
        assert_eq!(date("xeon-2026-11-26-loops-plain.txt"), "2026-11-26");
        assert_eq!(date("nothing"), "");
        let (name, (extent, row)) = on_cpu("axpy | 4096 | 30.0 | 10.0 | 3.00").unwrap();
        assert_eq!((name.as_str(), extent, row.us, row.ratio), ("axpy", 4096, 10.0, 3.0));
        assert!(on_cpu("program | extent | C++ us | ours us | C++ / ours").is_none());
        let row =
            r#"{"program": "axpy", "extent": 64, "ideal_us": 1.0, "predicted_us": 2.5, "measured_us": 4}"#;
        let (name, (extent, row)) = on_gpu(row).unwrap();
        assert_eq!((name.as_str(), extent, row.predicted, row.measured), ("axpy", 64, 2.5, 4.0));
    }
}
