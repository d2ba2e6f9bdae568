//! Prints the figures of programs: all, or those whose name contains the argument. `--write FILE`
//! writes the table instead, `--plan NAME` prints what is decided for a program.

use arraygpu_compiler::driver;
use arraygpu_compiler::explain::{Format, Options};
use arraygpu_programs::program::Corpus;
use arraygpu_programs::{corpus, table};
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let corpus = corpus();
    if let Some(name) = args.strip_prefix(&["--plan".to_string()]).and_then(|rest| rest.first()) {
        return plan(&corpus, name);
    }
    if let [option, file] = &args[..] {
        return match option == "--write" && std::fs::write(file, table::text(&table::rows(&corpus))).is_ok() {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        };
    }
    let wanted = args.first().cloned().unwrap_or_default();
    for p in corpus.programs.iter().filter(|p| p.name.contains(&wanted)) {
        let row = table::row(p);
        match &row.figures {
            Err(e) => println!("{}: {e}", p.name),
            Ok(all) => {
                for f in all {
                    println!(
                        "{:26} {:6}  bytes {:.2} ({:.2e}) operations {:.2} ({:.2e}) loads {:.2} ({:.2e}), {} of {} launches, {} temporaries{}",
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
                        if row.is_far() { " FAR" } else { "" },
                    );
                }
            }
        }
    }
    ExitCode::SUCCESS
}

/// Prints the report on one program.
fn plan(corpus: &Corpus, name: &str) -> ExitCode {
    let Some(p) = corpus.programs.iter().find(|p| p.name == name) else { return ExitCode::FAILURE };
    let compiled = driver::compile("p", vec![p.function.clone()]);
    let report = compiled.and_then(|c| {
        let fused = c.emit("fused")?;
        Ok(fused + &c.explain(&Options::default(), Format::Text)?)
    });
    match report {
        Ok(text) => println!("{text}"),
        Err(e) => println!("{e}"),
    }
    ExitCode::SUCCESS
}
