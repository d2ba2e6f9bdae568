//! The generator reaches what there is: every operation and operator, and every legal cell of the table beside it.

use arraygpu_fuzz::coverage::{Table, names, wanted};
use std::path::Path;

/// As many as the rarest cell needs.
const SEEDS: u64 = 200_000;

#[test]
fn the_table_is_as_written_and_no_legal_cell_is_empty() {
    let table = Table::of(0..SEEDS);
    let there = names(&table);
    let missing: Vec<&str> = wanted().into_iter().filter(|n| !there.contains(*n)).collect();
    assert!(missing.is_empty(), "never generated: {missing:?}");
    let empty = table.empty();
    assert!(empty.is_empty(), "{} legal cells are empty:\n{}", empty.len(), empty.join("\n"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("coverage.txt");
    let text = table.text();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).expect("the table can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == text, "coverage.txt is not what the generator reaches: write it anew with BLESS=1");
}
