//! Each word of the language stands in the table of `docs/words.md`, and each word that the table has for C++ is
//! declared in the headers.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The files of the language with words of arrays and elements.
const FILES: [&str; 29] = [
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
    "kept",
    "keyed",
    "moments",
    "softmax",
    "stencil",
    "update",
    "iterate",
    "iterate_forms",
    "scalar",
    "stage",
    "product",
    "tuples",
    "tuple_lines",
    "sliced",
    "element_loop",
    "choice",
    "extremes",
    "local_array",
];

/// Words of other things: constructors of types and what the documentation hides.
const NO_WORDS: [&str; 2] = ["new", "is_empty"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn is_word(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// The code of a column of the tables of `docs/words.md`, word by word.
fn column(number: usize) -> BTreeSet<String> {
    let text = std::fs::read_to_string(root().join("docs/words.md")).unwrap();
    let cells = text.lines().filter(|l| l.starts_with("| `") || l.starts_with("| of"));
    let mut words = BTreeSet::new();
    for line in cells {
        let cell = line.split('|').nth(number).expect("a row has three columns");
        let code = cell.split('`').skip(1).step_by(2);
        words.extend(code.flat_map(str::split_whitespace).filter(|w| is_word(w)).map(String::from));
    }
    words
}

/// The words of a file of the language: its public functions, and the names that its macros make functions of, which
/// stand before an operator (`sqrt Sqrt`), end in the name of an axis, or stand in a row of lengths and parts.
fn words_of(source: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for line in source.lines().map(str::trim).filter(|l| !l.starts_with("//")) {
        if let Some(item) = line.strip_prefix("pub fn ") {
            let name =
                item.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().unwrap_or_default();
            words.extend(is_word(name).then(|| name.to_string()));
        }
        let tokens: Vec<&str> = line.split(' ').map(|t| t.trim_end_matches(';')).collect();
        let ends_in_axis =
            |t: &&str| ["_rows", "_cols", "_planes", "_by", "_exclusive"].iter().any(|end| t.ends_with(end));
        words.extend(tokens.iter().filter(|t| is_word(t) && ends_in_axis(t)).map(|t| (*t).to_string()));
        let before_operator = tokens.windows(2).filter(|w| {
            let capital =
                w[1].starts_with(|c: char| c.is_ascii_uppercase()) && w[1].chars().all(char::is_alphanumeric);
            is_word(w[0]) && capital && w[1].to_lowercase().starts_with(&w[0][..1])
        });
        if line.starts_with("elementwise") || before_operator.clone().count() > 2 {
            words.extend(before_operator.map(|w| w[0].to_string()));
        }
    }
    words
}

#[test]
fn each_word_of_the_language_is_in_the_table() {
    let table = column(1);
    let mut all = BTreeSet::new();
    for file in FILES {
        let source = std::fs::read_to_string(root().join(format!("dsl/src/{file}.rs"))).unwrap();
        all.extend(words_of(&source));
    }
    assert!(all.len() > 170, "{} words: {all:?}", all.len());
    for word in ["sqrt", "argmax_planes", "slice_cols_by", "generate3", "softmax_rows", "scan_cols_exclusive"]
    {
        assert!(all.contains(word), "{word} is not found");
    }
    let missing: Vec<_> =
        all.iter().filter(|w| !table.contains(*w) && !NO_WORDS.contains(&w.as_str())).collect();
    assert!(missing.is_empty(), "docs/words.md lacks {missing:?}");
}

/// The text of the headers in a folder.
fn headers(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.extension().and_then(|e| e.to_str()) {
            None => headers(&path, text),
            Some("hpp") => text.push_str(&std::fs::read_to_string(path).unwrap()),
            Some(_) => {}
        }
    }
}

#[test]
fn each_word_of_cpp_is_declared() {
    let mut text = String::new();
    headers(&root().join("include/arraygpu"), &mut text);
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    // a call stands behind `return`, an operator, a bracket or a name space
    let declares = |word: &str| {
        let named = format!(" {word}(");
        let is_declared = |line: &&str| {
            let before = line.split(&named).next().unwrap_or_default();
            line.contains(&named)
                && before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || "&>*".contains(c))
                && !before.ends_with("return")
        };
        code.iter().any(is_declared)
    };
    let words = column(2);
    assert!(words.len() > 150, "{} words", words.len());
    let missing: Vec<_> = words.iter().filter(|w| !declares(w.as_str())).collect();
    assert!(missing.is_empty(), "the headers declare no {missing:?}");
}
