//! `semantics.core`: the statements of docs/semantics.md as functions, with calls and what they give.

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::core::{Function, parse};
use arraygpu_compiler::scalar::Lit;

/// A call and its results; None: an error record, or nothing is said.
pub struct Call {
    pub args: Vec<Value>,
    pub results: Option<Vec<Value>>,
}

/// The statements, each with its calls.
pub fn statements() -> Vec<(Function, Vec<Call>)> {
    functions(include_str!("../../tests/semantics.core"))
}

/// The functions of a text, each with its calls.
pub fn functions(text: &str) -> Vec<(Function, Vec<Call>)> {
    let mut all: Vec<(Function, Vec<Call>)> =
        parse::parse(text).unwrap().into_iter().map(|f| (f, vec![])).collect();
    let mut functions = 0;
    for line in text.lines() {
        functions += usize::from(line.starts_with("func"));
        if let Some(call) = line.strip_prefix(";: ") {
            all[functions - 1].1.push(read(call));
        }
    }
    all
}

/// `(arguments) = results`, or only the arguments
fn read(text: &str) -> Call {
    let (args, results) = text.rsplit_once(')').expect("(arguments) = results");
    let args = values(args.strip_prefix('(').expect("arguments"));
    let results = results.trim().strip_prefix("= ").filter(|r| *r != "record");
    Call { args, results: results.map(values) }
}

/// `[1f32, 2f32], 3i64, [[1f32, 2f32], [3f32, 4f32]]`
fn values(text: &str) -> Vec<Value> {
    let (mut all, mut rest) = (Vec::new(), text.trim());
    while !rest.is_empty() {
        let (mut elements, mut extents) = (Vec::new(), Vec::new());
        let after = value(rest, &mut elements, &mut extents, 0);
        all.push(match extents.len() {
            0 => Value::Scalar(elements[0]),
            1 => Value::Vector(elements),
            _ => Value::Array(extents, elements),
        });
        rest = after.trim_start_matches(',').trim();
    }
    all
}

/// Reads a value at some depth of brackets, and gives what follows it.
fn value<'t>(text: &'t str, elements: &mut Vec<Lit>, extents: &mut Vec<i64>, depth: usize) -> &'t str {
    let Some(mut rest) = text.strip_prefix('[') else {
        let (literal, after) = text.split_at(text.find([',', ']']).unwrap_or(text.len()));
        elements.push(literal.trim().parse().expect("a literal"));
        return after;
    };
    if extents.len() == depth {
        extents.push(0);
    }
    let mut count = 0;
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        if let Some(after) = rest.strip_prefix(']') {
            extents[depth] = count;
            return after;
        }
        count += 1;
        rest = value(rest, elements, extents, depth + 1);
    }
}
