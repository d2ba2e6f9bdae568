//! Programs keep their promises: they are legal in the call that they are made for, one seed is one program, and texts read back.

use arraygpu_compiler::core::{interp, verify};
use arraygpu_fuzz::case::Case;
use arraygpu_fuzz::generate::program;
use arraygpu_fuzz::legal::is_legal;
use std::process::Command;

const SEEDS: u64 = 1500;

#[test]
fn programs_are_legal_by_construction() {
    let (mut values, mut records) = (0, 0);
    for seed in 0..SEEDS {
        let p = program(seed);
        let mut case = Case::of(&p);
        verify::verify(&p.function).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        case.calls.retain(|c| c.fits);
        if p.refused == Some("E0310") {
            let refused = interp::run(&p.function, &case.calls[0].args);
            assert!(refused.is_err_and(|e| e.code == "E0302"), "seed {seed} holds a rule that never holds");
            continue;
        }
        assert!(is_legal(&case), "seed {seed}\n{}", case.text());
        let outcome = interp::run(&p.function, &case.calls[0].args);
        let outcome = outcome.unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", case.text()));
        values += u64::from(!outcome.recorded);
        records += u64::from(outcome.recorded);
    }
    assert!(values > SEEDS / 2 && records > SEEDS / 100, "{values} values, {records} records");
}

#[test]
fn one_seed_is_one_program_and_reads_back() {
    for seed in 0..SEEDS / 3 {
        let text = Case::of(&program(seed)).text();
        assert_eq!(text, Case::of(&program(seed)).text(), "seed {seed}");
        let again = Case::parse(&text).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
        assert_eq!(again.text(), text, "seed {seed}");
    }
}

/// A shape rule taken away does not make an illegal call legal.
#[test]
fn calls_are_judged_without_rules() {
    let text = "func @f(%x: [f32], %y: [f32]) -> (r: [f32]) {
  %0 = map (%a: f32, %b: f32) over %x, %y {
    yield %a
  }
  return %0
}
;: ([1f32, 2f32], [1f32])
";
    let case = Case::parse(text).unwrap();
    assert!(!is_legal(&case));
    let fits = Case::parse(&text.replace("[1f32])", "[1f32, 2f32])")).unwrap();
    assert!(is_legal(&fits));
}

/// The runner in processes of its own: a few seeds through the passes, with what it says of them.
#[test]
fn seeds_run_in_processes_of_their_own() {
    let run = Command::new(env!("CARGO_BIN_EXE_arraygpu-fuzz"))
        .args(["run", "--stage", "passes,block", "--seeds", "0..60", "--chunk", "25"])
        .output()
        .expect("the program runs");
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}");
    assert_eq!(said.matches(": 60 programs, ").count(), 2, "{said}");
}

/// Seeds that no day before had, a few seconds a stage.
#[test]
fn seeds_of_the_day() {
    let day = std::time::UNIX_EPOCH.elapsed().map_or(0, |t| t.as_secs()) / 86_400;
    let seeds = format!("{}..{}", day * 10_000_000, (day + 1) * 10_000_000);
    let args = ["--seeds", &seeds, "--minutes", "0.2", "--chunk", "25", "--any-size"];
    let run = Command::new(env!("CARGO_BIN_EXE_arraygpu-fuzz")).arg("run").args(args).output();
    let run = run.expect("the program runs");
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}");
    // programs, comparisons
    let numbers = |line: &str| line.split(": ").nth(1).and_then(|l| l.split(' ').next()?.parse::<u64>().ok());
    let some = said.lines().filter(|l| l.contains(" programs, ")).filter_map(numbers).filter(|n| *n > 0);
    assert_eq!(some.count(), 4, "a stage ran nothing\n{said}");
}
