//! The text form of programs with calls; `fuzz/examples/oracle.rs` describes it.

use crate::case::Case;
use crate::count::{self, Role};
use crate::generate;
use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::core::{Function, Type, print};
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use std::io::{self, Write};

/// Every operator with every type that it takes, and every operation.
pub fn must(out: &mut impl Write) -> io::Result<()> {
    for ty in Ty::ALL {
        for op in UnaryOp::ALL.iter().filter(|op| op.accepts(ty)) {
            writeln!(out, "operator {op} {ty}")?;
        }
        for op in BinaryOp::ALL.iter().filter(|op| op.accepts(ty)) {
            writeln!(out, "operator {op} {ty}")?;
        }
        for to in Ty::ALL {
            writeln!(out, "operator cast to {to} {ty}")?;
        }
    }
    // parameters are written in a program's head
    for word in count::with(&SAID).filter(|word| *word != "param") {
        writeln!(out, "operation {word}")?;
    }
    Ok(())
}

/// The other side must have met operations with these roles; constants and variables have no line
/// of their own.
const SAID: [Role; 4] = [Role::Scalar, Role::Reads, Role::Makes, Role::Both];

/// The program of a seed, unless the compiler must refuse it.
pub fn seed(out: &mut impl Write, seed: u64) -> io::Result<()> {
    let case = Case::of(&generate::program(seed));
    if case.refused.is_some() {
        return Ok(());
    }
    let calls: Vec<Vec<Value>> = case.calls.into_iter().map(|c| c.args).collect();
    program(out, &format!("seed {seed}"), &case.function, &calls)
}

/// A function with calls, and what the interpreter gives.
pub fn program(out: &mut impl Write, name: &str, f: &Function, calls: &[Vec<Value>]) -> io::Result<()> {
    writeln!(out, "program {name}")?;
    for line in print::print(f, false).lines() {
        writeln!(out, "| {line}")?;
    }
    for args in calls {
        writeln!(out, "call")?;
        for (p, v) in f.params.iter().zip(args) {
            value(out, "arg", p.ty, v)?;
        }
        let found = match interp::run(f, args) {
            Ok(found) => found,
            Err(e) => {
                // E0302 is a shape rule; the other side expects no other
                writeln!(out, "gives {}", if e.code == "E0302" { "refused" } else { e.code })?;
                continue;
            }
        };
        writeln!(out, "gives {}", if found.recorded { "record" } else { "value" })?;
        for (r, v) in f.results.iter().zip(&found.results) {
            value(out, "result", f.graph.ty(r.value), v)?;
        }
    }
    Ok(())
}

fn value(out: &mut impl Write, what: &str, ty: Type, v: &Value) -> io::Result<()> {
    write!(out, "{what} {ty}")?;
    let elements: &[Lit] = match v {
        Value::Scalar(l) => std::slice::from_ref(l),
        Value::Vector(all) => {
            write!(out, " {}", all.len())?;
            all
        }
        Value::Array(extents, all) => {
            extents.iter().try_for_each(|n| write!(out, " {n}"))?;
            all
        }
    };
    elements.iter().try_for_each(|l| write!(out, " {:x}", l.bits))?;
    writeln!(out)
}
