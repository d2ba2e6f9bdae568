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
