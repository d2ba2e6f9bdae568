//! Programs that went wrong once: each file of `corpus/` through every stage that needs no GPU.

#[path = "../../tests/common/mod.rs"]
mod common;

use arraygpu_fuzz::case::Case;
use arraygpu_fuzz::check::{Stage, c, check, clock};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

#[test]
fn what_went_wrong_once() {
    // a debug build, and two programs at a time
    clock::allow(5);
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus");
    let files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("the folder is there").map(|e| e.expect("a file").path()).collect();
    let (next, told) = (Mutex::new(files.iter()), Mutex::new((0, Vec::new())));
    let work = || {
        loop {
            let Some(file) = next.lock().expect("no panic").next() else { break };
            let (compared, failures) = run(file);
            let mut told = told.lock().expect("no panic");
            told.0 += compared;
            told.1.extend(failures);
        }
    };
    thread::scope(|s| (0..2).for_each(|_| drop(s.spawn(work))));
    let (compared, failures) = told.into_inner().expect("no panic");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(compared > 400, "{compared} comparisons");
}

/// How many results were compared, and what went wrong.
fn run(file: &Path) -> (u64, Vec<String>) {
    let text = std::fs::read_to_string(file).expect("a text");
    let case = Case::parse(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    assert!(!case.calls.is_empty(), "{} has no call", file.display());
    let (mut compared, mut failures) = (0, Vec::new());
    let levels = common::levels_of_today();
    for stage in Stage::ALL {
        let result = if stage == Stage::C { c::check(&case, &levels) } else { check(stage, &case) };
        match result {
            Ok(n) => compared += n,
            Err(f) => failures.push(format!("{}, {}: {}", file.display(), stage.name(), f.message)),
        }
    }
    (compared, failures)
}
