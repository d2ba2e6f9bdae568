//! The table of cliffs is current, and what is far from the ideal has its reason.

use arraygpu_programs::{corpus, table};
use std::collections::HashSet;

#[test]
fn the_table_is_current() {
    let (path, now) = (concat!(env!("CARGO_MANIFEST_DIR"), "/CLIFFS.md"), table::text(&corpus()));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, &now).unwrap();
    }
    let known = std::fs::read_to_string(path).unwrap();
    assert!(
        known == now,
        "CLIFFS.md is not current: run `cargo xtask cliffs` and read the difference\n{now}"
    );
}

#[test]
fn what_is_far_from_the_ideal_has_a_reason() {
    let corpus = corpus();
    let rows = table::rows(&corpus);
    let far = rows.iter().filter(|r| r.is_far() && r.program.reason.is_none());
    let names: Vec<&str> = far.map(|r| r.program.name).collect();
    assert!(names.is_empty(), "without a reason: {names:?}");
}

#[test]
fn the_fewest_launches_are_no_more_than_there_are() {
    let corpus = corpus();
    for row in table::rows(&corpus).iter().filter(|r| r.figures.is_ok()) {
        assert!(row.program.fewest <= row.launches(), "{}: {}", row.program.name, row.launches());
    }
}

#[test]
fn names_are_unique() {
    let corpus = corpus();
    let names: HashSet<&str> = corpus.programs.iter().map(|p| p.name).collect();
    assert_eq!(names.len(), corpus.programs.len());
}
