//! Prints the figures of programs: all, or those whose name contains the argument, or is
//! in it (a list with commas). `--write FILE`
//! writes the table instead, `--explain NAME FORMAT` prints the report on a
//! program with extents of 4096, `--emit NAME STAGE` one of its forms (`core`, `fused`, `plan`,
//! `kernel`, `c`, `ptx`, `cuda`). `--check [NAME]` runs the small calls on one thread of the CPU,
//! `--check=gpu [NAME]` on the first GPU, and compares their results; `--time` and `--time=gpu`
//! measure large calls there, `--time NAME LARGEST` with extents up to that number. `--plain LIBRARY
//! [NAME,.. [LARGEST]]` compares with the plain loops of `bench/plain` on one thread. `--predict [NAME]` compares what
//! this compiler predicts with the committed times of GPUs. `--compare [NAME,.. [LARGEST]]` runs large calls on the
//! first GPU and on one thread of the CPU, and compares their results in every bit.

use arraygpu_compiler::driver;
use arraygpu_compiler::explain::Options;
use arraygpu_programs::program::Corpus;
use arraygpu_programs::{corpus, figures, measure, plain, table};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let corpus = corpus();
    if let [option, rest @ ..] = &args[..]
        && ["--time", "--time=gpu"].contains(&option.as_str())
    {
        let wanted = rest.first().map_or("", String::as_str);
        let largest = rest.get(1).and_then(|n| n.parse().ok()).unwrap_or(1 << 26);
        let table = measure::table(&corpus, wanted, option == "--time=gpu", largest);
        println!("{}", table.as_ref().unwrap_or_else(|e| e));
        return if table.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    if let [option, library, rest @ ..] = &args[..]
        && option == "--plain"
    {
        let wanted = rest.first().map_or("", String::as_str);
        let largest = rest.get(1).and_then(|n| n.parse().ok()).unwrap_or(1 << 26);
        let table = plain::table(&corpus, Path::new(library), wanted, largest);
        println!("{}", table.as_ref().unwrap_or_else(|e| e));
        return if table.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    if let [option, rest @ ..] = &args[..]
        && option == "--predict"
    {
        let wanted = rest.first().map_or("", String::as_str);
        let rows = arraygpu_programs::measured().map_err(|e| e.to_string());
        let table = rows.and_then(|rows| measure::predictions(&corpus, wanted, &rows));
        println!("{}", table.as_ref().unwrap_or_else(|e| e));
        return if table.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    if let [option, rest @ ..] = &args[..]
        && ["--check", "--check=gpu", "--compare"].contains(&option.as_str())
    {
        let wanted = rest.first().map_or("", String::as_str);
        let largest = rest.get(1).and_then(|n| n.parse().ok()).unwrap_or(1 << 26);
        let checked = match option.as_str() {
            "--compare" => measure::compare(&corpus, wanted, largest),
            option => measure::check(&corpus, wanted, option == "--check=gpu"),
        };
        return match checked {
            Ok((right, wrong)) => {
                wrong.iter().for_each(|e| println!("{e}"));
                println!("{right} passed, {} failed", wrong.len());
                if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
            }
            Err(e) => {
                println!("{e}");
                ExitCode::FAILURE
            }
        };
    }
    if let [option, name, form] = &args[..] {
        return match option.as_str() {
            "--explain" => explain(&corpus, name, form),
            "--emit" => emit(&corpus, name, form),
            _ => ExitCode::FAILURE,
        };
    }
    if let [option, file] = &args[..] {
        let write = |measured| std::fs::write(file, table::text(&table::rows(&corpus), &measured));
        let is_written = option == "--write" && arraygpu_programs::measured().and_then(write).is_ok();
        return if is_written { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let wanted = args.first().cloned().unwrap_or_default();
    for p in corpus.wanted(&wanted) {
        let row = table::row(p);
        match &row.figures {
            Err(e) => println!("{}: {e}", p.name),
            Ok(all) => {
                for f in all {
                    println!(
                        "{:26} {:6}  bytes {:.2} ({:.2e}) operations {:.2} ({:.2e}) loads {:.2} ({:.2e}), {} of {} launches, {} temporaries, far in {:?}",
                        p.name,
                        f.extent,
                        f.traffic(),
                        f.asked.bytes,
                        f.work(),
                        f.asked.operations,
                        f.loads(),
                        f.asked.loads,
                        f.launches,
                        p.fewest,
                        f.temporaries,
                        row.excesses(),
                    );
                }
            }
        }
    }
    ExitCode::SUCCESS
}

/// Prints one form of a program.
fn emit(corpus: &Corpus, name: &str, stage: &str) -> ExitCode {
    let Some(p) = corpus.programs.iter().find(|p| p.name == name) else { return ExitCode::FAILURE };
    match driver::compile("p", vec![p.function.clone()]).and_then(|c| c.emit(stage)) {
        Ok(text) => println!("{text}"),
        Err(e) => println!("{e}"),
    }
    ExitCode::SUCCESS
}

/// Prints the report on one program.
fn explain(corpus: &Corpus, name: &str, format: &str) -> ExitCode {
    let Some(p) = corpus.programs.iter().find(|p| p.name == name) else { return ExitCode::FAILURE };
    let extents = figures::sizes(p, 4096).0;
    let options = Options { bandwidth: Some(4180.0), extents, hints: true, ..Options::default() };
    let compiled = driver::compile("p", vec![p.function.clone()]);
    match compiled.and_then(|c| c.explain(&options, format.parse()?)) {
        Ok(text) => println!("{text}"),
        Err(e) => println!("{e}"),
    }
    ExitCode::SUCCESS
}
