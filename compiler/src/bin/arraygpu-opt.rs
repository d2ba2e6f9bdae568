//! `arraygpu-opt`: core IR text in, any stage out. For tests and for people.
//!
//! ```text
//! arraygpu-opt FILE [--dump-after PASS]... [--emit core|fused|plan|kernel|c]... [--explain] [--locs]
//! ```

use arraygpu_compiler::core::{parse, print, verify};
use arraygpu_compiler::driver;
use arraygpu_compiler::error::{Error, Result};
use arraygpu_compiler::passes::pipeline;
use std::io::Read;
use std::process::ExitCode;

const USAGE: &str = "arraygpu-opt FILE|- [--dump-after PASS|all]... [--emit core|fused|plan|kernel|c]... [--explain] [--locs]";

fn main() -> ExitCode {
    match run(std::env::args().skip(1).collect()) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: Vec<String>) -> Result<String> {
    let usage = |m: &str| Error::user("E0104", format!("{m}\nusage: {USAGE}"));
    let (mut file, mut dumps, mut stages) = (None, Vec::new(), Vec::new());
    let (mut explain, mut locs) = (false, false);
    let mut it = args.into_iter();
    while let Some(a) = it.next() {
        match a.as_str() {
            "--dump-after" => dumps.push(it.next().ok_or_else(|| usage("--dump-after needs a pass"))?),
            "--emit" => stages.push(it.next().ok_or_else(|| usage("--emit needs a stage"))?),
            "--explain" => explain = true,
            "--locs" => locs = true,
            "--help" => return Ok(format!("{USAGE}\n")),
            a if a.starts_with("--") => return Err(usage(&format!("there is no option {a}"))),
            _ => file = Some(a),
        }
    }
    let file = file.ok_or_else(|| usage("no file"))?;
    if let Some(p) = dumps.iter().find(|d| *d != "all" && !pipeline::PASSES.iter().any(|p| p.name == **d)) {
        let list: Vec<_> = pipeline::PASSES.iter().map(|p| p.name).collect();
        return Err(usage(&format!("there is no pass `{p}`; there are {}", list.join(", "))));
    }
    let functions = parse::parse(&read(&file)?)?;
    let mut out = String::new();
    for f in &functions {
        verify::verify(f)?;
        pipeline::run(f, &mut |name, f| {
            if dumps.iter().any(|d| d == name || d == "all") {
                out.push_str(&format!("; after {name}\n{}", print::print(f, locs)));
            }
        })?;
    }
    if stages.is_empty() && dumps.is_empty() && !explain {
        stages.push("fused".into());
    }
    if !stages.is_empty() || explain {
        let compiled = driver::compile("module", functions)?;
        for s in &stages {
            out.push_str(&compiled.emit(s)?);
        }
        if explain {
            out.push_str(&compiled.explain());
        }
    }
    Ok(out)
}

fn read(file: &str) -> Result<String> {
    let mut text = String::new();
    let result = if file == "-" {
        std::io::stdin().read_to_string(&mut text).map(|_| ())
    } else {
        std::fs::read_to_string(file).map(|t| text = t)
    };
    result.map(|()| text).map_err(|e| Error::user("E0105", format!("{file}: {e}")))
}
