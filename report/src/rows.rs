//! Committed rows, of whatever benchmark wrote them, in one form.
//!
//! `bench/results/DEVICE-DATE-KIND.jsonl`: the name says where and when, the keys of a row which benchmark it is of.

pub mod codes;
mod forms;

use forms::{GROUPS, batches, beside_torch, date_of, groups, number, one, openmp, plain, text, word};
use serde_json::Value;
use std::path::Path;
use std::rc::Rc;

/// A file of rows: one run of one benchmark.
#[derive(Debug, PartialEq, Eq)]
pub struct Run {
    pub file: String,
    /// `h200`, `xeon`: a second machine of a kind, such as `h200b`, counts as that kind.
    pub device: String,
    pub date: String,
    /// What the first row says of the device and the peers; may be empty.
    pub said: String,
}

/// Whose time it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// arraygpu; which of its ways, empty for the one that a user gets.
    Ours(String),
    Peer(String),
    /// A device copy of as many bytes.
    Copy,
}

/// A measured time.
#[derive(Clone, Debug)]
pub struct Row {
    pub run: Rc<Run>,
    /// `saxpy`, `softmax`.
    pub case: String,
    /// `2^26`, `65536x1024`.
    pub size: String,
    /// Elements, where the size is a length.
    pub n: Option<u64>,
    /// Calls are replayed as a CUDA graph, so that the host's part is not in the time.
    pub graph: bool,
    pub by: By,
    pub ms: f64,
    /// Least time and the 90th percentile.
    pub spread: Option<(f64, f64)>,
    pub gbps: Option<f64>,
    pub gflops: Option<f64>,
    pub of_copy: Option<f64>,
}

impl Row {
    /// Nothing but its run.
    fn of(run: &Rc<Run>) -> Self {
        let (case, size) = (String::new(), String::new());
        Self {
            run: run.clone(),
            case,
            size,
            n: None,
            graph: false,
            by: By::Copy,
            ms: 0.0,
            spread: None,
            gbps: None,
            gflops: None,
            of_copy: None,
        }
    }
}

/// Predicted and measured time of a program of the corpus, in microseconds.
#[derive(Clone, Debug)]
pub struct Prediction {
    pub program: String,
    pub ideal: f64,
    pub predicted: f64,
    pub measured: f64,
}

/// A program beside plain C++ on one thread of a CPU.
#[derive(Clone, Debug)]
pub struct Plain {
    /// C++ / ours.
    pub ratio: f64,
}

/// Kinds of growing programs of a run, and ms a 1,000 instructions of kernel IR.
type Growth = (Rc<Run>, Vec<(String, f64)>);

/// Functions of a run: the name, ours, nvcc's.
type Nvcc = (Rc<Run>, Vec<(String, f64, f64)>);

/// A step of compilation: `saxpy`, NVRTC or ours, ms.
#[derive(Clone, Debug)]
pub struct Step {
    pub run: Rc<Run>,
    pub kernel: String,
    pub by: String,
    pub step: String,
    pub ms: f64,
}

/// The host's time of a call.
#[derive(Clone, Debug)]
pub struct Call {
    pub run: Rc<Run>,
    pub by: String,
    pub ns: f64,
}

/// Everything that is committed.
#[derive(Default)]
pub struct Rows {
    pub times: Vec<Row>,
    pub predictions: Vec<(Rc<Run>, Vec<Prediction>)>,
    pub plain: Vec<(Rc<Run>, Vec<Plain>)>,
    pub growth: Vec<Growth>,
    pub steps: Vec<Step>,
    /// Functions by our PTX and by nvcc's code of the same kernels, ms.
    pub nvcc: Vec<Nvcc>,
    pub calls: Vec<Call>,
    pub codes: codes::Codes,
    /// Files of which nothing is shown.
    pub unread: Vec<String>,
    /// Rows that a benchmark marked as wrong.
    pub wrong: Vec<String>,
}

impl Rows {
    /// Reads a folder of results, the oldest first.
    ///
    /// # Errors
    /// A file that cannot be read, a name without device and date, a line that is not JSON.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let at = |e: std::io::Error| format!("{}: {e}", folder.display());
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(at)? {
            names.push(entry.map_err(at)?.file_name().to_string_lossy().into_owned());
        }
        names.sort_by_key(|name| (date_of(name).unwrap_or_default().to_owned(), name.clone()));
        let mut rows = Self::default();
        for name in names {
            let text = std::fs::read_to_string(folder.join(&name)).map_err(|e| format!("{name}: {e}"))?;
            rows.add(&name, &text)?;
        }
        Ok(rows)
    }

    /// Reads one file.
    ///
    /// # Errors
    /// As [`Rows::read`].
    pub fn add(&mut self, name: &str, text: &str) -> Result<(), String> {
        let Some(date) = date_of(name) else {
            self.unread.push(name.to_owned());
            return Ok(());
        };
        let device = name.split('-').next().unwrap_or_default().trim_end_matches(['b', 'c']).to_owned();
        let mut run = Run { file: name.to_owned(), device, date: date.to_owned(), said: String::new() };
        if name.ends_with("-plain.txt") {
            let programs = text.lines().skip(1).filter_map(plain).collect();
            self.plain.push((Rc::new(run), programs));
            return Ok(());
        }
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let values = lines.map(|(k, line)| {
            serde_json::from_str::<Value>(line).map_err(|e| format!("{name}:{}: {e}", k + 1))
        });
        let values = values.collect::<Result<Vec<_>, _>>()?;
        if let Some(first) = values.first().filter(|v| v.get("device").is_some()) {
            let words = ["device", "peers", "torch", "driver", "compiler"];
            let said = words.iter().filter_map(|w| Some((w, first.get(w)?)));
            run.said = said
                .map(
                    |(w, v)| {
                        if *w == "torch" || *w == "driver" { format!("{w} {}", word(v)) } else { word(v) }
                    },
                )
                .collect::<Vec<_>>()
                .join(", ");
        }
        let run = Rc::new(run);
        let before = self.len();
        for value in &values {
            self.value(&run, value);
        }
        if self.len() == before {
            self.unread.push(name.to_owned());
        }
        Ok(())
    }

    fn len(&self) -> usize {
        self.times.len()
            + self.predictions.len()
            + self.plain.len()
            + self.growth.len()
            + self.steps.len()
            + self.calls.len()
            + self.nvcc.len()
            + self.codes.len()
    }

    fn value(&mut self, run: &Rc<Run>, value: &Value) {
        if value.get("ok").and_then(Value::as_bool) == Some(false)
            || value.get("same_bits").and_then(Value::as_bool) == Some(false)
        {
            self.wrong.push(format!("{}: {value}", run.file));
        } else if self.codes.take(run, value) {
            // a row about machine code
        } else if let (Some(function), Some(ours), Some(nvcc)) =
            (text(value, "function"), number(value, "ours_ms"), number(value, "nvcc_ms"))
        {
            last_of(&mut self.nvcc, run).push((function, ours, nvcc));
        } else if let (Some(program), Some(predicted), Some(measured)) =
            (text(value, "program"), number(value, "predicted_us"), number(value, "measured_us"))
        {
            let ideal = number(value, "ideal_us").unwrap_or(predicted);
            last_of(&mut self.predictions, run).push(Prediction { program, ideal, predicted, measured });
        } else if let (Some(kind), Some(ms)) = (text(value, "kind"), number(value, "ms_a_1000")) {
            last_of(&mut self.growth, run).push((kind, ms));
        } else if let (Some(kernel), Some(step), Some(ms)) =
            (text(value, "kernel"), text(value, "step"), number(value, "median_ms"))
        {
            let by = text(value, "impl").unwrap_or_else(|| "CUDA".to_owned());
            self.steps.push(Step { run: run.clone(), kernel, by, step, ms });
        } else if let (Some("host_cost"), Some(by), Some(ns)) =
            (value.get("name").and_then(Value::as_str), text(value, "impl"), number(value, "ns"))
        {
            self.calls.push(Call { run: run.clone(), by, ns });
        } else if number(value, "openmp").is_some() {
            self.times.extend(openmp(run, value));
        } else if value.get("ours_ms").is_some() || value.get("ours").is_some() {
            self.times.extend(beside_torch(run, value));
        } else if value.get("name").is_none()
            && (value.get("torch_sort").is_some()
                || GROUPS.iter().any(|(case, _)| value.get(*case).is_some()))
        {
            self.times.extend(groups(run, value));
        } else if value.get("torch_ms").is_some() && value.get("tensor_any").is_some() {
            self.times.extend(batches(run, value));
        } else if text(value, "impl").is_some() && number(value, "gbps").is_some() {
            self.times.extend(one(run, value));
        }
    }
}

fn last_of<'a, T>(all: &'a mut Vec<(Rc<Run>, Vec<T>)>, run: &Rc<Run>) -> &'a mut Vec<T> {
    if all.last().is_none_or(|(last, _)| last != run) {
        all.push((run.clone(), Vec::new()));
    }
    let end = all.len() - 1;
    &mut all[end].1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(name: &str, lines: &[&str]) -> Rows {
        let mut rows = Rows::default();
        rows.add(name, &lines.join("\n")).unwrap();
        rows
    }

    #[test]
    fn rows_of_every_benchmark_have_one_form() {
        let all = [
            r#"{"device":"NVIDIA H200","torch":"2.11"}"#,
            r#"{"name":"saxpy","impl":"arraygpu graph","n":1024,"ms":0.002,"min_ms":0.001,"p90_ms":0.003,"gbps":10,"ok":true}"#,
            r#"{"name":"saxpy","impl":"cublasSaxpy graph","n":1024,"ms":0.003,"min_ms":0.001,"p90_ms":0.003,"gbps":9,"ok":true}"#,
            r#"{"name":"softmax 8x16","copy_ms":1.0,"compile_ms":2.0,"ours_ms":1.5,"same_bits":true,"of_copy":0.66}"#,
            r#"{"name":"libor 9","peer_ms":3.0,"exact_ms":4.0,"ours":{"ms":5.0,"of_copy":0.1},"ours_staged":{"ms":4.5}}"#,
        ];
        let rows = rows("h200b-2026-11-21-x.jsonl", &all);
        let found: Vec<_> =
            rows.times.iter().map(|r| (r.case.as_str(), r.size.as_str(), r.graph, &r.by, r.ms)).collect();
        let (ours, peer) = (By::Ours(String::new()), |name: &str| By::Peer(name.to_owned()));
        assert_eq!(
            found,
            [
                ("saxpy", "2^10", true, &ours, 0.002),
                ("saxpy", "2^10", true, &peer("cublasSaxpy"), 0.003),
                ("softmax", "8x16", false, &peer("torch.compile"), 2.0),
                ("softmax", "8x16", false, &By::Copy, 1.0),
                ("softmax", "8x16", false, &ours, 1.5),
                ("libor", "9", false, &peer("CUDA by hand"), 3.0),
                ("libor", "9", false, &peer("CUDA by hand, the same roundings"), 4.0),
                ("libor", "9", false, &ours, 5.0),
                ("libor", "9", false, &By::Ours("staged".to_owned()), 4.5),
            ]
        );
        let run = &rows.times[0].run;
        assert_eq!(
            (run.device.as_str(), run.date.as_str(), run.said.as_str()),
            ("h200", "2026-11-21", "NVIDIA H200, torch 2.11")
        );
    }

    #[test]
    fn rows_about_code_are_told_apart() {
        let code = |n: u32| format!(r#"{{"registers":{n},"spills":0,"instructions":90,"seconds":0.5}}"#);
        let both =
            format!(r#"{{"static":"f_0","text_seconds":0.001,"ours":{},"nvcc":{}}}"#, code(20), code(30));
        let refused =
            format!(r#"{{"static":"g_0","text_seconds":0.001,"ours":{},"refused":"nvcc: .."}}"#, code(20));
        let out = format!(r#"{{"switches":"f_0","all":{},"without":{{"cse":{}}}}}"#, code(20), code(25));
        let times = r#"{"function":"f","left_out_ms":{"base":1.0,"cse":1.5}}"#;
        let codes = rows("nvcc-static-2026-11-27.jsonl", &[&both, &refused, &out, times]).codes;
        assert_eq!(codes.len(), 3);
        let two = &codes.compilers[0].1;
        assert_eq!((two.len(), two[0].nvcc.registers, two[0].seconds), (1, 30.0, (0.5, 0.001)));
        assert_eq!(codes.left_out[0].1[0].without["cse"].registers, 25.0);
        assert_eq!(codes.times[0].1[0].1["cse"], 1.5);
    }

    #[test]
    fn wrong_rows_and_unknown_files_are_named_and_not_shown() {
        let wrong = r#"{"name":"sum","impl":"arraygpu","n":4,"ms":1,"gbps":1,"ok":false}"#;
        let rows = rows("h200-2026-11-21-x.jsonl", &[wrong]);
        assert_eq!((rows.times.len(), rows.wrong.len(), rows.unread.len()), (0, 1, 1));
        let mut rows = Rows::default();
        rows.add("readme", "").unwrap();
        assert_eq!(rows.unread, ["readme"]);
        let broken = rows.add("h200-2026-11-21-y.jsonl", "{}\n{").unwrap_err();
        assert!(broken.starts_with("h200-2026-11-21-y.jsonl:2: "), "{broken}");
    }
}
