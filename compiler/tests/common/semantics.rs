//! `semantics.core`: the statements of docs/semantics.md as functions, with calls and what they give.

#![allow(dead_code, reason = "not every test asks for it")]

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::core::{Function, parse};
use arraygpu_compiler::scalar::Lit;

/// A call and its results; None: an error record.
pub struct Call {
    pub args: Vec<Value>,
    pub results: Option<Vec<Value>>,
}

/// The functions, each with its calls.
pub fn statements() -> Vec<(Function, Vec<Call>)> {
    let text = include_str!("../semantics.core");
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

/// `(arguments) = results`
fn read(text: &str) -> Call {
    let (args, results) = text.split_once(") = ").expect("(arguments) = results");
    let args = values(args.strip_prefix('(').expect("arguments"));
    Call { args, results: (results.trim() != "record").then(|| values(results)) }
}

/// `[1f32, 2f32], 3i64`
fn values(text: &str) -> Vec<Value> {
    let (mut all, mut rest) = (Vec::new(), text.trim());
    while !rest.is_empty() {
        let literal = |l: &str| l.trim().parse::<Lit>().unwrap();
        let (value, after) = match rest.strip_prefix('[') {
            Some(vector) => {
                let (inside, after) = vector.split_once(']').expect("a closing bracket");
                let elements = inside.split(',').filter(|l| !l.trim().is_empty());
                (Value::Vector(elements.map(literal).collect()), after)
            }
            None => {
                let (scalar, after) = rest.split_at(rest.find(',').unwrap_or(rest.len()));
                (Value::Scalar(literal(scalar)), after)
            }
        };
        all.push(value);
        rest = after.trim_start_matches(',').trim();
    }
    all
}
