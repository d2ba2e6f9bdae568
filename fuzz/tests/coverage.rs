//! The generator reaches what there is: every operation and operator, and every legal cell of the table beside it.

use arraygpu_fuzz::coverage::{Table, names, seeds_that_suffice, wanted, with_further};
use std::path::Path;

/// As many as the rarest cell needs.
const SEEDS: std::ops::Range<u64> = 1_000_000..2_000_000;

/// What stands before the seeds in the file.
const HEADING: &str = "\nSeeds whose programs reach all of it\n\n";

/// The programs of the seeds that the file names reach its table. `BLESS=1` adds seeds to them for the cells that
/// they do not reach; without a file it looks for few that reach all, among a million.
#[test]
fn the_table_is_as_written_and_no_legal_cell_is_empty() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("coverage.txt");
    if std::env::var_os("BLESS").is_some() {
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        let seeds = match written.split_once(HEADING) {
            Some((_, seeds)) => with_further(read(seeds), SEEDS.end..SEEDS.end + 1_000_000),
            None => seeds_that_suffice(SEEDS),
        };
        let lines: Vec<String> = seeds.chunks(16).map(line).collect();
        let text = Table::of(seeds).text() + HEADING + &lines.concat();
        std::fs::write(&path, text).expect("the table can be written");
    }
    let written = std::fs::read_to_string(&path).expect("coverage.txt");
    let (text, seeds) = written.split_once(HEADING).expect("the seeds");
    let table = Table::of(read(seeds));
    let there = names(&table);
    let missing: Vec<&str> = wanted().into_iter().filter(|n| !there.contains(*n)).collect();
    assert!(missing.is_empty(), "never generated: {missing:?}");
    let empty = table.empty();
    assert!(empty.is_empty(), "{} legal cells are empty:\n{}", empty.len(), empty.join("\n"));
    assert!(
        text == table.text(),
        "coverage.txt is not what the generator reaches: write it anew with BLESS=1"
    );
}

fn read(seeds: &str) -> Vec<u64> {
    seeds.split_whitespace().map(|seed| seed.parse().expect("a seed")).collect()
}

fn line(seeds: &[u64]) -> String {
    seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(" ") + "\n"
}

/// What stands in the language's documentation and is no method or function of arrays.
const NO_METHODS: [&str; 5] = ["const", "inclusive", "lit", "message", "operands"];

/// Every public method and function that makes, computes or reads an array stands in a table.
#[test]
fn the_tables_are_complete() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let tables = [
        include_str!("../src/dsl/vectors.rs"),
        include_str!("../src/dsl/matrices.rs"),
        include_str!("../src/dsl/records.rs"),
    ]
    .concat();
    let (mut missing, mut found) = (Vec::new(), 0);
    for file in [
        "vector",
        "matrix",
        "array",
        "axis",
        "reduce",
        "scan",
        "sort",
        "segments",
        "scatter",
        "filter",
        "filtered",
        "keyed",
        "moments",
        "softmax",
        "stencil",
        "update",
        "iterate",
        "scalar",
        "stage",
        "product",
        "tuples",
        "tuple_lines",
        "iterate_forms",
        "sliced",
        "element_loop",
        "choice",
        "extremes",
        "bits",
        "complex",
    ] {
        let path = format!("{root}/dsl/src/{file}.rs");
        for name in methods(&std::fs::read_to_string(path).expect("the language's source")) {
            found += 1;
            let used = [".", " ", "(", ":"].iter().any(|before| tables.contains(&format!("{before}{name}(")));
            if !used && !NO_METHODS.contains(&name.as_str()) {
                missing.push(format!("{name} of {file}.rs"));
            }
        }
    }
    assert!(found > 120, "{found} methods");
    assert!(missing.is_empty(), "in no table: {missing:?}");
}

/// The documented methods and functions of a file: `pub fn name(..)`; rows of the macros that make methods, `name
/// Operator;` or `name(..);` below a comment, and `0 "rows" 2 rows slice_rows;`.
fn methods(source: &str) -> Vec<String> {
    let (mut names, mut documented) = (Vec::new(), false);
    for line in source.lines().map(str::trim) {
        let is_name = |word: &&str| {
            word.starts_with(|c: char| c.is_ascii_lowercase())
                && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        };
        if let Some((_, row)) = line.strip_suffix(';').and_then(|l| l.split_once("\" "))
            && line.starts_with(|c: char| c.is_ascii_digit())
        {
            names.extend(row.split(' ').filter(is_name).map(String::from));
        }
        if line.starts_with("///") {
            documented = true;
        } else if !line.starts_with('#') {
            let item = line.strip_prefix("pub fn ").unwrap_or(line);
            let is_item = documented && (line.len() != item.len() || !line.starts_with("pub"));
            let name =
                item.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().unwrap_or_default();
            let keyword =
                ["impl", "struct", "enum", "trait", "type", "fn", "mod", "macro_rules"].contains(&name);
            if is_item && !keyword && !name.is_empty() && is_name(&name) {
                names.push(name.into());
            }
            documented = false;
        }
    }
    names
}
