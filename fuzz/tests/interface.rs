//! Random calls of the C interface: every function is among them, succeeds now and then, and fails now and then.

use arraygpu_fuzz::count::Counts;
use arraygpu_fuzz::interface::{names, session};
use std::collections::BTreeSet;

const SESSIONS: u64 = 200;
/// What gives a constant, or sets what any value is right for.
const NEVER_FAIL: [&str; 5] = [
    "agpu_abi_version",
    "agpu_allow_cpu_compiler",
    "agpu_last_error_message",
    "agpu_status_name",
    "agpu_version",
];

/// The functions that the header declares.
fn declared() -> BTreeSet<String> {
    let header = include_str!("../../include/arraygpu.h");
    let mut names = BTreeSet::new();
    // comments name functions, too, but end with `*/` before the next declaration
    for piece in header.split("*/").flat_map(|piece| piece.split("/*").next()) {
        let words = piece.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let words: Vec<&str> = words.filter(|w| w.starts_with("agpu_")).collect();
        let is_function = |w: &&&str| piece.contains(&format!("{w}(")) && !piece.contains("typedef");
        names.extend(words.iter().filter(is_function).map(|w| w.to_string()));
    }
    names
}

#[test]
fn every_function_is_called() {
    let called: BTreeSet<String> = names().map(String::from).collect();
    assert_eq!(called, declared());
    let mut counts = Counts::new();
    for seed in 0..SESSIONS {
        let calls = session(seed, &mut counts).unwrap_or_else(|f| panic!("seed {seed}: {}", f.message));
        assert!(calls > 100, "{calls} calls");
    }
    let missing: Vec<&String> = called.iter().filter(|name| !counts.contains_key(*name)).collect();
    assert!(missing.is_empty(), "{missing:?} never succeeded\n{counts:?}");
    let never_fails = |name: &&String| !counts.contains_key(&format!("{name} fails"));
    let never: Vec<&String> = called.iter().filter(never_fails).collect();
    assert_eq!(never, NEVER_FAIL, "{counts:?}");
}
