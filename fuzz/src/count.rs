//! What programs are made of.

use arraygpu_compiler::core::{Function, Op};
use std::collections::BTreeMap;

/// How often something occurs.
pub type Counts = BTreeMap<String, u64>;

/// The name of an operation. A new one does not compile until it is here, and so is looked for by the tests.
pub fn name(op: &Op) -> &'static str {
    match op {
        Op::Const(_) => "const",
        Op::Param(_) => "param",
        Op::Var(..) => "var",
        Op::Unary(op, _) => op.name(),
        Op::Binary(op, ..) => op.name(),
        Op::MulAdd(..) => "mul_add",
        Op::Select(..) => "select",
        Op::Cast(..) => "cast",
        Op::Stage(_) => "stage",
        Op::Len(..) => "len",
        Op::At(..) => "at",
        Op::Elem(..) => "elem",
        Op::Within(..) => "within",
        Op::Map(..) => "map",
        Op::Generate(..) => "generate",
        Op::Slice { .. } => "slice",
        Op::Reverse(..) => "reverse",
        Op::Permute(..) => "permute",
        Op::Pick { .. } => "pick",
        Op::Spread { .. } => "spread",
        Op::Iota(_) => "iota",
        Op::Fill(..) => "fill",
        Op::Materialize(_) => "materialize",
        Op::Reduce { .. } => "reduce",
        Op::Dot { .. } => "dot",
        Op::PanelDot { .. } => "panel_dot",
        Op::Fold { .. } => "fold",
        Op::Iterate { .. } => "iterate",
    }
}

/// Adds what the results of a function, and of its steps, need.
pub fn add(f: &Function, counts: &mut Counts) {
    for n in f.graph.reachable(f.roots()) {
        *counts.entry(name(f.graph.op(n)).into()).or_default() += 1;
    }
    f.steps.iter().for_each(|s| add(s, counts));
}
