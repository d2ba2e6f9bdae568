//! The text form of programs with calls; `fuzz/examples/oracle.rs` describes it.

use crate::case::Case;
use crate::{count, generate};
use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::core::{Function, Op, Type, print};
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
    for word in OPERATIONS {
        writeln!(out, "operation {word}")?;
    }
    Ok(())
}

/// What `word` gives of each.
const OPERATIONS: [&str; 23] = [
    "mul_add",
    "select",
    "cast",
    "stage",
    "len",
    "at",
    "elem",
    "within",
    "map",
    "generate",
    "slice",
    "reverse",
    "permute",
    "pick",
    "spread",
    "iota",
    "fill",
    "materialize",
    "reduce",
    "dot",
    "panel_dot",
    "fold",
    "iterate",
];

/// The word of an operation, which must be one of the list; operators, constants and variables have none.
fn word(op: &Op) -> Option<&'static str> {
    match op {
        Op::Const(_) | Op::Param(_) | Op::Var(..) | Op::Unary(..) | Op::Binary(..) => None,
        op => Some(count::name(op)),
    }
}

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
    let nodes = f.graph.reachable(f.roots());
    for found in nodes.iter().filter_map(|n| word(f.graph.op(*n))) {
        assert!(OPERATIONS.contains(&found), "`{found}` must be in the list of operations");
    }
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
