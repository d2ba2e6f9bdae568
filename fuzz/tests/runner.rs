//! The runner, and what it runs each day: fresh programs of core IR, every construct of the language through every
//! reader in 128 days, and fresh chains of them.

use arraygpu_fuzz::dsl;
use arraygpu_suite::today;
use std::process::Command;

/// Runs seeds in two processes at a time, and gives what was said. Debug builds may take five times as long.
fn run(args: &[&str]) -> String {
    let run =
        Command::new(env!("CARGO_BIN_EXE_arraygpu-fuzz")).args(["run", "--slow", "5"]).args(args).output();
    let run = run.expect("the program runs");
    let said = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(run.status.success(), "{said}{}", String::from_utf8_lossy(&run.stderr));
    said
}

/// How many programs each stage ran.
fn programs(said: &str) -> Vec<u64> {
    let number = |line: &str| line.split(": ").nth(1)?.split_once(" programs, ")?.0.parse().ok();
    said.lines().filter_map(number).collect()
}

#[test]
fn seeds_run_in_processes_of_their_own() {
    let said = run(&["--stage", "passes,block", "--seeds", "0..60", "--chunk", "25"]);
    assert_eq!(programs(&said), [60, 60], "{said}");
}

/// Seeds that no day before had, a second a stage.
#[test]
fn seeds_of_the_day() {
    for language in [&[][..], &["--language"]] {
        let said = run(&[&["--minutes", "0.017", "--chunk", "25"], language].concat());
        let programs = programs(&said);
        let stages = if language.is_empty() { 6 } else { 4 };
        assert!(programs.len() == stages && programs.iter().all(|n| *n > 0), "a stage ran nothing\n{said}");
    }
}

/// Each day takes another part of the pairs, one of 128.
#[test]
fn pairs_of_the_day() {
    let (all, part) = (dsl::pairs(), today::day() % 128);
    let seeds = part * all / 128..(part + 1) * all / 128;
    let said = run(&["--language", "--seeds", &format!("{}..{}", seeds.start, seeds.end), "--chunk", "100"]);
    let programs = programs(&said);
    // most long ones are left out in C: `cargo xtask fuzz --language --stage c --long` takes all
    assert!(programs[..3].iter().all(|n| *n == seeds.end - seeds.start) && programs[3] > 0, "{said}");
}
