//! `cargo xtask ulp [FUNCTION..]`: measures the elementary functions: errors against MPFR over all
//! f32 inputs and many f64 ones, monotony, and speed beside the system's.
//!
//! Rows go to `bench/results/ulp-DATE.jsonl` (those of functions that were not asked for are taken
//! over), and the table in docs/elementary.md is written from them.

mod table;

use crate::install::{self, Profile};
use crate::sh::{self, Result, say};
use crate::{cmake, system};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// The bounds that are promised; the tests of `math/` read them, too.
const BOUNDS: &str = include_str!("../../../math/tests/bounds.txt");

/// What to measure.
pub struct Asked {
    /// All, if empty.
    pub functions: Vec<String>,
    /// Inputs of what is not looked at exhaustively.
    pub points: u64,
    /// Write the tables of hard cases for the tests of `math/` instead.
    pub hard: bool,
    /// Only write the table in the docs from the rows that are there.
    pub table: bool,
    /// What the tool (`--json`) and `arraygpu-function-speed` printed on another machine, in place
    /// of measuring here; its first line is the machine.
    pub measured: Option<PathBuf>,
}

/// Runs everything; fails if a bound does not hold.
pub fn run(asked: &Asked) -> Result {
    if asked.table {
        return table::write(&rows()?);
    }
    if let Some(file) = &asked.measured {
        return taken(file);
    }
    system::ensure(system::BUILD)?;
    say("the tool that measures (MPFR is compiled at first: minutes, and it needs m4)");
    let tool = build()?;
    let names = sh::output(sh::program(&tool).arg("names")).ok_or("the tool does not list its functions")?;
    let known: Vec<&str> = names.lines().collect();
    if let Some(unknown) = asked.functions.iter().find(|f| !known.contains(&f.as_str())) {
        return Err(format!("there is no function `{unknown}`; there are: {}", known.join(" ")));
    }
    let wanted = |name: &str| asked.functions.is_empty() || asked.functions.iter().any(|f| f == name);
    let functions: Vec<&str> = known.into_iter().filter(|name| wanted(name)).collect();
    if asked.hard {
        return hard(&tool, &functions);
    }
    let mut all = rows()?;
    say("speed");
    let speeds = speeds()?;
    say("errors");
    let mut broken = Vec::new();
    for (name, ty) in functions.iter().flat_map(|name| [(*name, "f32"), (*name, "f64")]) {
        let mut row = measure(&tool, name, ty, asked.points)?;
        add_speed(&mut row, &speeds, name, ty);
        if row["ulps"].as_f64() > row["bound"].as_f64() || row["ulps"].is_null() {
            broken.push(format!("{name} {ty}: {} ulps", row["ulps"]));
        }
        let row = Value::Object(row);
        match all.iter_mut().find(|r| r["function"] == name && r["type"] == ty) {
            Some(old) => *old = row,
            None => all.push(row),
        }
        // rows that are measured are saved, even if a later one fails
        save(&machine(), &all)?;
    }
    table::write(&all)?;
    if broken.is_empty() { Ok(()) } else { Err(format!("beyond their bounds: {}", broken.join(", "))) }
}

/// Adds a function's speed to its row.
fn add_speed(row: &mut Map<String, Value>, speeds: &[Value], name: &str, ty: &str) {
    if let Some(speed) =
        speeds.iter().find(|s| s["name"] == "function_speed" && s["function"] == name && s["type"] == ty)
    {
        for (key, name) in
            [("level", "level"), ("ns", "cpu_ns"), ("libm_ns", "libm_ns"), ("ratio", "cpu_ratio")]
        {
            row.insert(name.into(), speed[key].clone());
        }
    }
}

/// Rows from what another machine printed.
fn taken(file: &Path) -> Result {
    let text = String::from_utf8_lossy(&sh::get(file)?).replace("1e999", "null");
    let lines: Vec<Value> = text.lines().filter_map(|l| serde_json::from_str(l).ok()).collect();
    let machine =
        lines.iter().find(|l| !l["machine"].is_null()).ok_or("no line says which machine it was")?;
    let mut rows = Vec::new();
    for row in lines.iter().filter(|l| l["name"] == "ulp").filter_map(Value::as_object) {
        let mut row = row.clone();
        let (name, ty) = (row["function"].clone(), row["type"].clone());
        let (name, ty) = (name.as_str().unwrap_or_default(), ty.as_str().unwrap_or_default());
        row.insert("bound".into(), json!(bound(name, ty)?));
        add_speed(&mut row, &lines, name, ty);
        rows.push(Value::Object(row));
    }
    save(machine, &rows)?;
    table::write(&rows)
}

/// The tool; with AVX2 and FMA, where the machine has them: without, multiply-adds are slow.
fn build() -> Result<String> {
    let target = sh::target().join("ulp");
    let mut cargo = sh::cargo(&["build", "--release", "--manifest-path", "ulp/Cargo.toml"]);
    cargo.env("CARGO_TARGET_DIR", &target);
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        cargo.env("RUSTFLAGS", "-C target-feature=+avx2,+fma");
    }
    sh::run(&mut cargo)?;
    Ok(target.join("release/arraygpu-ulp").display().to_string())
}

/// One function in one type: the tool's row with its bound.
fn measure(tool: &str, name: &str, ty: &str, points: u64) -> Result<Map<String, Value>> {
    let mut run = sh::program(tool);
    run.args([name, ty, "--monotone", "--json", "--points"]).arg(points.to_string());
    let text = sh::output(&mut run).ok_or(format!("measuring {name} failed"))?;
    print!("{text}");
    // JSON has no number for an infinite error
    let text = text.replace("1e999", "null");
    let Ok(Value::Object(mut row)) = serde_json::from_str(&text) else {
        return Err(format!("the tool's row of {name} is no JSON: {text}"));
    };
    row.insert("bound".into(), json!(bound(name, ty)?));
    Ok(row)
}

/// What is promised.
fn bound(name: &str, ty: &str) -> Result<f64> {
    let line = BOUNDS.lines().map(|l| l.split(' ').collect::<Vec<_>>()).find(|l| l[0] == name);
    let number = line.and_then(|l| l.get(1 + usize::from(ty == "f64"))?.parse().ok());
    number.ok_or(format!("math/tests/bounds.txt has no bound of {name} for {ty}"))
}

/// Rows of the speed of all functions.
fn speeds() -> Result<Vec<Value>> {
    install::for_projects(Profile::Release)?;
    let build = cmake::build("bench/functions", None, Profile::Release)?;
    let program = build.join("arraygpu-function-speed").display().to_string();
    let text = sh::output(&mut sh::program(&program)).ok_or("the benchmark of the functions failed")?;
    print!("{text}");
    Ok(text.lines().filter_map(|l| serde_json::from_str(l).ok()).collect())
}

fn hard(tool: &str, functions: &[&str]) -> Result {
    for name in functions {
        let text =
            sh::output(sh::program(tool).args(["hard", name])).ok_or(format!("hard cases of {name}"))?;
        println!("{name}: {} cases", text.lines().count());
        sh::put(&sh::root().join(format!("math/tests/hard/{name}.txt")), text.as_bytes())?;
    }
    Ok(())
}

fn results() -> PathBuf {
    sh::root().join("bench/results")
}

/// The rows of the newest file.
fn rows() -> Result<Vec<Value>> {
    let files = files(&results(), "ulp-");
    let Some(newest) = files.last() else { return Ok(Vec::new()) };
    let text = String::from_utf8_lossy(&sh::get(newest)?).into_owned();
    let rows = text.lines().filter_map(|l| serde_json::from_str(l).ok());
    Ok(rows.filter(|r: &Value| r["name"] == "ulp").collect())
}

/// Result files whose name begins so, oldest first: names hold dates.
fn files(folder: &Path, start: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path());
    let name = |p: &PathBuf| p.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut files: Vec<_> =
        entries.filter(|p| name(p).starts_with(start) && name(p).ends_with(".jsonl")).collect();
    files.sort();
    files
}

/// This machine.
fn machine() -> Value {
    let word = |program: &str, args: &[&str]| {
        let text = sh::output(sh::program(program).args(args)).unwrap_or_default();
        text.lines().next().unwrap_or_default().to_string()
    };
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpu.lines().find_map(|l| l.strip_prefix("model name")).unwrap_or_default();
    let date = word("date", &["+%F"]);
    json!({
        "machine": cpu.trim_start_matches([' ', '\t', ':']),
        "date": date,
        "cc": word("cc", &["--version"]),
        "libm": word("ldd", &["--version"]),
    })
}

/// Writes the file of the day: the machine, then the rows.
fn save(machine: &Value, rows: &[Value]) -> Result {
    let date = machine["date"].as_str().unwrap_or("undated");
    let lines: Vec<String> = [machine].into_iter().chain(rows).map(Value::to_string).collect();
    sh::put(&results().join(format!("ulp-{date}.jsonl")), (lines.join("\n") + "\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::bound;

    #[test]
    fn bounds() {
        assert_eq!(bound("exp", "f32"), Ok(1.0));
        assert_eq!(bound("erfc", "f64"), Ok(5.0));
        assert!(bound("gamma", "f64").is_err());
    }
}
