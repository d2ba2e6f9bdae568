//! The table of cliffs is current, and what is far from the ideal has its reason.

use arraygpu_programs::corpus;
use arraygpu_programs::table::{self, Row};
use std::collections::HashSet;

#[test]
fn the_table_is_current_and_what_is_far_has_a_reason() {
    let corpus = corpus();
    let rows = table::rows(&corpus);
    let names =
        |is: &dyn Fn(&&Row) -> bool| rows.iter().filter(is).map(|r| r.program.name).collect::<Vec<_>>();
    let unexplained = names(&|r| r.is_far() && r.program.reason.is_none());
    assert!(unexplained.is_empty(), "far from the ideal, without a reason: {unexplained:?}");
    let mended = names(&|r| !r.is_far() && r.program.reason.is_some());
    assert!(mended.is_empty(), "near the ideal, the reason can go: {mended:?}");

    let (path, now) = (concat!(env!("CARGO_MANIFEST_DIR"), "/CLIFFS.md"), table::text(&rows));
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
fn names_are_unique_and_many() {
    let corpus = corpus();
    let names: HashSet<&str> = corpus.programs.iter().map(|p| p.name).collect();
    assert_eq!(names.len(), corpus.programs.len());
    assert!(names.len() >= 150);
}
