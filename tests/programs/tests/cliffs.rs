//! The table of cliffs is current, and what is far from the ideal has its reason.

use arraygpu_programs::table::{self, Row};
use arraygpu_programs::{corpus, measured};
use std::collections::HashSet;

/// What there is of each row, where there is any.
fn by_name<T>(rows: &[Row], of: impl Fn(&Row) -> Vec<T>) -> Vec<(&'static str, Vec<T>)> {
    rows.iter().map(|r| (r.program.name, of(r))).filter(|(_, all)| !all.is_empty()).collect()
}

#[test]
fn the_table_is_current_and_what_is_far_has_a_reason() {
    let corpus = corpus();
    let rows = table::rows(&corpus);
    let refused: Vec<_> = rows.iter().filter(|r| r.figures.is_err()).map(|r| r.program.name).collect();
    assert!(refused.is_empty(), "no figures: {refused:?}");
    let unexplained = by_name(&rows, |r| r.unexplained());
    assert!(unexplained.is_empty(), "far from the ideal, without a reason of this kind: {unexplained:?}");
    let needless = by_name(&rows, |r| r.needless().iter().map(|reason| reason.text).collect());
    assert!(needless.is_empty(), "near the ideal in what the reason is for: {needless:?}");

    let (path, now) =
        (concat!(env!("CARGO_MANIFEST_DIR"), "/CLIFFS.md"), table::text(&rows, &measured().unwrap()));
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
