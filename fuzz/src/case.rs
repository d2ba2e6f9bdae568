//! A function with calls, as text: core IR, and a line `;: (arguments)` for each call, or `;!
//! (arguments)` where shape rules may not hold.

use crate::generate::{Call, Program};
use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::core::{Function, parse, print};
use arraygpu_compiler::scalar::Lit;
use std::fmt::Write;

/// What a stage is asked about.
#[derive(Clone, Debug)]
pub struct Case {
    /// The function.
    pub function: Function,
    /// Its calls.
    pub calls: Vec<Call>,
    /// The error that the compiler must give.
    pub refused: Option<String>,
}

impl Case {
    /// The case that a generated program makes.
    pub fn of(p: &Program) -> Case {
        Case { function: p.function.clone(), calls: p.calls(), refused: p.refused.map(String::from) }
    }

    /// The text form.
    pub fn text(&self) -> String {
        let mut out = print::print(&self.function, false);
        if let Some(code) = &self.refused {
            let _ = writeln!(out, ";> {code}");
        }
        for call in &self.calls {
            let args: Vec<String> = call.args.iter().map(value).collect();
            let _ = writeln!(out, ";{} ({})", if call.fits { ':' } else { '!' }, args.join(", "));
        }
        out
    }

    /// Reads the text form.
    pub fn parse(text: &str) -> Result<Case, String> {
        let function =
            parse::parse(text).map_err(|e| e.to_string())?.into_iter().next().ok_or("no function")?;
        let mut case = Case { function, calls: Vec::new(), refused: None };
        for line in text.lines() {
            let call = |rest: &str, fits: bool| {
                let inner = rest.trim().strip_prefix('(').and_then(|r| r.strip_suffix(')'));
                Ok::<_, String>(Call { fits, args: values(inner.ok_or("no arguments")?, &case.function)? })
            };
            if let Some(rest) = line.strip_prefix(";:") {
                case.calls.push(call(rest, true)?);
            } else if let Some(rest) = line.strip_prefix(";!") {
                case.calls.push(call(rest, false)?);
            } else if let Some(rest) = line.strip_prefix(";>") {
                case.refused = Some(rest.trim().into());
            }
        }
        Ok(case)
    }
}

/// An argument: `1f32`, `[1f32, 2f32]`, or `2 x 0 of []` with extents where there are several.
fn value(v: &Value) -> String {
    let list = |v: &[Lit]| v.iter().map(Lit::to_string).collect::<Vec<_>>().join(", ");
    match v {
        Value::Scalar(l) => l.to_string(),
        Value::Vector(v) => format!("[{}]", list(v)),
        Value::Array(extents, v) => {
            let extents: Vec<String> = extents.iter().map(i64::to_string).collect();
            format!("{} of [{}]", extents.join(" x "), list(v))
        }
    }
}

fn values(mut text: &str, f: &Function) -> Result<Vec<Value>, String> {
    let mut out = Vec::new();
    for p in &f.params {
        text = text.trim_start_matches([',', ' ']);
        if p.ty.is_scalar() {
            let (one, rest) = text.split_at(text.find(',').unwrap_or(text.len()));
            out.push(Value::Scalar(literal(one)?));
            text = rest;
            continue;
        }
        let begin = text.find('[').ok_or("an array begins with [")?;
        let end = text.find(']').ok_or("an array ends with ]")?;
        let elements = text[begin + 1..end].split(',').map(str::trim).filter(|t| !t.is_empty()).map(literal);
        let elements = elements.collect::<Result<Vec<_>, _>>()?;
        let extents = text[..begin].trim().trim_end_matches("of").split('x').map(str::trim);
        let extents: Result<Vec<i64>, _> = extents.filter(|t| !t.is_empty()).map(str::parse).collect();
        out.push(match extents.map_err(|e| e.to_string())? {
            none if none.is_empty() => Value::Vector(elements),
            extents => Value::Array(extents, elements),
        });
        text = &text[end + 1..];
    }
    Ok(out)
}

fn literal(text: &str) -> Result<Lit, String> {
    text.trim().parse().map_err(|_| format!("{text} is no literal"))
}
