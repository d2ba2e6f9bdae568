//! Programs of the language: every construct through every reader, and chains of them, have the interpreter's bits after every pass, on the simulated GPU, in the block
//! interpreter and in C. A method of the language that is in no table fails a test.

use arraygpu_fuzz::case::Case;
use arraygpu_fuzz::check::{self, Failure, Stage};
use arraygpu_fuzz::dsl;
use arraygpu_fuzz::run::is_of_size;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Each day's tests take another part of the pairs; with `ARRAYGPU_ALL_PAIRS` they take all.
const DAYS: u64 = 8;
/// Chains a day.
const CHAINS: u64 = 120;

/// Programs that are compiled to one file of C, for one of the levels in turn.
const BATCH: usize = 20;
/// What each goes through alone.
const EACH: [Stage; 3] = [Stage::Passes, Stage::Simulator, Stage::Block];

fn day() -> u64 {
    std::time::UNIX_EPOCH.elapsed().map_or(0, |t| t.as_secs() / 86_400)
}

/// Runs programs, a thread for each processor.
fn run(numbers: &[u64]) {
    let (next, batches) = (AtomicUsize::new(0), numbers.chunks(BATCH).collect::<Vec<_>>());
    let work = || {
        let mut failures = Vec::new();
        loop {
            let level = next.fetch_add(1, Ordering::Relaxed);
            let Some(batch) = batches.get(level) else { return failures };
            failures.extend(failures_of(batch, level));
        }
    };
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let failures: Vec<String> = std::thread::scope(|s| {
        let threads: Vec<_> = (0..threads).map(|_| s.spawn(work)).collect();
        threads.into_iter().flat_map(|t| t.join().expect("failures are values")).collect()
    });
    let shown: Vec<&str> = failures.iter().map(String::as_str).take(20).collect();
    assert!(failures.is_empty(), "{} of {} fail:\n{}", failures.len(), numbers.len(), shown.join("\n"));
}

/// What goes wrong in some programs, whose C is of the level of that number.
fn failures_of(batch: &[u64], level: usize) -> Vec<String> {
    let mut failures = Vec::new();
    let mut made = Vec::new();
    for number in batch {
        match dsl::program(*number) {
            Ok((name, case)) => made.push((format!("{number}: {name}"), case)),
            Err(e) => failures.push(format!("{number}: {e}")),
        }
    }
    let mut failed = |(name, case): &(String, Case), stage: Stage, f: Failure| {
        // times are of debug builds here: `cargo xtask fuzz` asks for them
        if !is_of_size(&f.class) {
            failures.push(format!("{name}, {}: {}\n{}", stage.name(), f.message, case.text()));
        }
    };
    for (program, stage) in made.iter().flat_map(|program| EACH.map(|stage| (program, stage))) {
        if let Err(f) = check::check(stage, &program.1) {
            failed(program, stage, f);
        }
    }
    // what is refused, or more C than a compiler reads in seconds, is left out
    let fits =
        |case: &Case| check::caught(|| check::c::size(case)).is_ok_and(|n| n.is_some_and(|n| n < 100 << 10));
    let made: Vec<_> = made.into_iter().filter(|program| fits(&program.1)).collect();
    let cases: Vec<&Case> = made.iter().map(|program| &program.1).collect();
    match check::c::Batch::new(&cases, level) {
        Ok(c) => made.iter().enumerate().for_each(|(i, program)| {
            if let Err(f) = check::caught(|| c.check(i, &program.1)) {
                failed(program, Stage::C, f);
            }
        }),
        // which of them it is, each alone tells
        Err(_) => made.iter().for_each(|program| {
            if let Err(f) = check::check(Stage::C, &program.1) {
                failed(program, Stage::C, f);
            }
        }),
    }
    failures
}

#[test]
fn pairs() {
    let all = std::env::var_os("ARRAYGPU_ALL_PAIRS").is_some();
    let numbers: Vec<u64> = (0..dsl::pairs()).filter(|i| all || i % DAYS == day() % DAYS).collect();
    run(&numbers);
}

#[test]
fn chains() {
    let first = dsl::pairs() + CHAINS * day();
    let numbers: Range<u64> = first..first + CHAINS;
    run(&numbers.collect::<Vec<_>>());
}

/// Methods and functions that are no constructs of their own: scalars, names, what the tables' closures use, and forms of others.
const BESIDE: &[&str] =
    &["mul_add", "ldexp", "frexp", "cast", "lit", "cond", "slet", "stage", "stage_with", "sum_in_order"];

/// Every public method that makes or reads an array stands in a table.
#[test]
fn the_tables_are_complete() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let tables = include_str!("../src/dsl/vectors.rs").to_string() + include_str!("../src/dsl/matrices.rs");
    let mut missing = Vec::new();
    for file in
        ["vector", "matrix", "array", "axis", "reduce", "stencil", "update", "iterate", "scalar", "stage"]
    {
        let text =
            std::fs::read_to_string(format!("{root}/dsl/src/{file}.rs")).expect("the language's source");
        for rest in text.split("pub fn ").skip(1) {
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let used = tables.contains(&format!(".{name}(")) || tables.contains(&format!(" {name}("));
            // names that macros make begin with `$`; those of methods inside of the crate take nodes
            if !name.is_empty() && !used && !BESIDE.contains(&name.as_str()) && name != "operands" {
                missing.push(format!("{name} of {file}.rs"));
            }
        }
    }
    assert!(missing.is_empty(), "in no table: {missing:?}");
}
