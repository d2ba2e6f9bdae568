//! The time of each launch of a call, beside what `--explain` predicts, as a table and as a trace.

use crate::call::{Call, Device};
use crate::problem::{Result, failure};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// A launch that was timed.
#[derive(Clone, PartialEq, Debug)]
pub struct Launch {
    /// The kernel's name.
    pub kernel: String,
    /// The name of its variant on a GPU.
    pub variant: String,
    /// The class of its sizes in tuning files; empty on a CPU.
    pub sizes: String,
    /// Seconds after the first launch.
    pub start: f64,
    /// Seconds that it took.
    pub seconds: f64,
}

/// Times the launches of one call, after another one that loads what it needs.
pub fn launches(device: &Device, call: &Call) -> Result<Vec<Launch>> {
    call.again()?;
    device.wait()?;
    device.profile(true)?;
    call.again()?;
    let launches = device.launch_times()?;
    device.profile(false)?;
    Ok(launches)
}

/// What a generator's `--explain=json` predicts for a function: its kernels and the alternatives to them.
pub struct Predictions(Vec<Value>);

impl Predictions {
    /// Reads the file.
    pub fn read(path: &Path, function: &str) -> Result<Predictions> {
        let shown = path.display();
        let bytes = std::fs::read(path).map_err(|e| failure(format!("{shown}: cannot be read: {e}")))?;
        let json: Value = serde_json::from_slice(&bytes)
            .map_err(|e| failure(format!("{shown}: not what a generator's --explain=json prints: {e}")))?;
        let functions = json["functions"].as_array().cloned().unwrap_or_default();
        let found = functions.into_iter().find(|f| f["name"] == function);
        let missing =
            || failure(format!("{shown}: nothing about `{function}`; print --explain=json for all"));
        let found = found.ok_or_else(missing)?;
        let lists =
            ["kernels", "alternatives"].map(|list| found[list].as_array().cloned().unwrap_or_default());
        Ok(Predictions(lists.concat()))
    }

    /// Returns the seconds that are predicted for a kernel, if sizes and a bandwidth were given.
    pub fn seconds(&self, kernel: &str) -> Option<f64> {
        let kernel = self.0.iter().find(|k| k["name"] == kernel)?;
        kernel["predicted"]["us"].as_f64().map(|us| us * 1e-6)
    }
}

/// Returns the launches as a table.
pub fn table(launches: &[Launch], predictions: Option<&Predictions>) -> String {
    let name = |l: &Launch| l.variant.clone();
    let width = launches.iter().map(|l| name(l).len()).chain(["launch".len()]).max().unwrap_or_default();
    let mut out = format!("{:width$}  {:>11}  {:>11}", "launch", "start us", "time us");
    out += if predictions.is_some() { "    predicted\n" } else { "\n" };
    let number = |seconds: f64| format!("{:>11.2}", seconds * 1e6);
    for l in launches {
        let _ = write!(out, "{:width$}  {}  {}", name(l), number(l.start), number(l.seconds));
        if let Some(p) = predictions {
            let predicted = p.seconds(&l.kernel).map_or_else(|| format!("{:>11}", "-"), number);
            let _ = write!(out, "  {predicted}");
        }
        out.push('\n');
    }
    let sum: f64 = launches.iter().map(|l| l.seconds).sum();
    let _ = writeln!(out, "{:width$}  {:>11}  {}", "sum", "", number(sum));
    out
}

/// Returns the launches as JSON, times in seconds.
pub fn json(launches: &[Launch], predictions: Option<&Predictions>) -> Value {
    let launch = |l: &Launch| {
        let predicted = predictions.and_then(|p| p.seconds(&l.kernel));
        json!({
            "kernel": l.kernel, "variant": l.variant, "sizes": l.sizes,
            "start_s": l.start, "time_s": l.seconds, "predicted_s": predicted,
        })
    };
    launches.iter().map(launch).collect()
}

/// Returns the launches as a trace that Perfetto and Chrome show.
pub fn trace(launches: &[Launch], process: &str, function: &str) -> String {
    let event = |l: &Launch| {
        json!({
            "name": l.variant, "cat": l.kernel, "ph": "X", "pid": 1, "tid": 1,
            "ts": l.start * 1e6, "dur": l.seconds * 1e6,
        })
    };
    let name = |what: &str, name: &str| json!({ "name": what, "ph": "M", "pid": 1, "tid": 1, "args": { "name": name } });
    let mut events = vec![name("process_name", process), name("thread_name", function)];
    events.extend(launches.iter().map(event));
    format!("{:#}\n", json!({ "traceEvents": events, "displayTimeUnit": "ns" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> [Launch; 2] {
        let launch = |name: &str, start| Launch {
            kernel: name.into(),
            variant: format!("{name}_any"),
            sizes: String::new(),
            start,
            seconds: 2e-6,
        };
        [launch("f_0", 0.0), launch("f_1", 5e-6)]
    }

    #[test]
    fn a_table_with_and_without_predictions() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let kernels =
            json!([{ "name": "f_1", "predicted": { "us": 1.5 } }, { "name": "f_0", "predicted": null }]);
        let alternatives = json!([{ "name": "f_0_rows", "predicted": { "us": 2.0 } }]);
        let function = json!({ "name": "f", "kernels": kernels, "alternatives": alternatives });
        let text = json!({ "functions": [function] }).to_string();
        std::fs::write(file.path(), text).unwrap();
        let predictions = Predictions::read(file.path(), "f").unwrap();
        let expected = "\
launch     start us      time us    predicted
f_0_any         0.00         2.00            -
f_1_any         5.00         2.00         1.50
sum                          4.00
";
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(squeezed(&table(&two(), Some(&predictions))), squeezed(expected));
        assert_eq!(predictions.seconds("f_0_rows"), Some(2.0e-6));
        assert!(!table(&two(), None).contains("predicted"));
        assert!(Predictions::read(file.path(), "g").err().unwrap().text.contains("nothing about `g`"));
    }

    #[test]
    fn a_trace_has_microseconds() {
        let trace: Value = serde_json::from_str(&trace(&two(), "CPU", "f")).unwrap();
        let last = &trace["traceEvents"][3];
        assert_eq!((&last["name"], &last["ph"]), (&json!("f_1_any"), &json!("X")));
        assert_eq!(last["ts"].as_f64().map(f64::round), Some(5.0));
    }
}
