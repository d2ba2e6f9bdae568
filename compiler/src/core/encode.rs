//! Encodes the structure of a function as bytes. Two functions that compute the same in the same
//! way have equal bytes, whatever the numbers of their nodes are and wherever the functions come
//! from. The cache of programs that are compiled at run time is keyed by these bytes.

use super::{Function, NodeId, Op};
use std::hash::{Hash, Hasher};

/// Returns the structure, with the names of parameters and results, because messages contain them.
pub fn encode(f: &Function) -> Vec<u8> {
    let mut out = Bytes(Vec::with_capacity(32 * f.graph.len()));
    function(f, &mut out);
    out.0
}

fn function(f: &Function, out: &mut Bytes) {
    (&f.name, f.fast, f.tensor_cores, f.stencil, f.params.len()).hash(out);
    f.params.iter().for_each(|p| (&p.name, p.ty).hash(out));
    let roots = f.requires.iter().flat_map(|r| [r.a, r.b]).chain(f.results.iter().map(|r| r.value));
    let order = f.graph.reachable(roots.clone());
    let mut number = vec![u32::MAX; f.graph.len()];
    for (i, n) in order.iter().enumerate() {
        number[n.0 as usize] = i as u32;
        operation(f, *n, &number, out);
    }
    roots.for_each(|n| number[n.0 as usize].hash(out));
    (f.requires.len(), f.results.len(), f.steps.len()).hash(out);
    f.requires.iter().for_each(|r| (r.rule, &r.subject).hash(out));
    f.results.iter().for_each(|r| r.name.hash(out));
    f.steps.iter().for_each(|s| function(s, out));
}

/// Encodes an operation, with its operands by their numbers. Equal operations have equal bytes,
/// because the variables of lambdas are canonical.
fn operation(f: &Function, n: NodeId, number: &[u32], out: &mut Bytes) {
    let op = f.graph.op(n);
    f.graph.node(n).bound.hash(out);
    std::mem::discriminant(op).hash(out);
    match op {
        Op::Const(l) => (l.ty, l.bits).hash(out),
        Op::Param(i) => i.hash(out),
        Op::Var(v, ty) => (v, ty).hash(out),
        Op::Unary(op, _) => op.hash(out),
        Op::Binary(op, ..) => op.hash(out),
        Op::Cast(ty, _) => ty.hash(out),
        Op::Len(_, axis) | Op::Reverse(_, axis) => axis.hash(out),
        Op::Permute(_, axes) => axes.hash(out),
        Op::Slice { axis, .. } | Op::Pick { axis, .. } | Op::Spread { axis, .. } => axis.hash(out),
        Op::Iterate { step, which, form, .. } => (step, which, form).hash(out),
        Op::Scan { part, which, .. } => (part, which).hash(out),
        Op::Reduce { which, .. }
        | Op::ReduceOrdered { which, .. }
        | Op::Fold { which, .. }
        | Op::Loop { which, .. } => which.hash(out),
        Op::Leave(_, labels) => labels.hash(out),
        Op::Bins { op, .. } => op.hash(out),
        // the operands of all of these are encoded below, and no more is needed
        Op::Turn | Op::Checked | Op::MulAdd(..) | Op::Select(..) | Op::Stage(_) | Op::Tuple(_) => {}
        Op::At(..) | Op::Elem(..) | Op::Within(..) => {}
        Op::Map(..) | Op::Generate(..) | Op::Iota(_) | Op::Fill(..) | Op::Materialize(_) => {}
        Op::Argsort(_) | Op::Place { .. } | Op::Put { .. } => {}
        Op::DigitCounts { .. } | Op::DigitEnds { .. } | Op::ByDigit { .. } => {}
        Op::Dot { .. } | Op::PanelDot { .. } | Op::SquaredDeviations { .. } => {}
    }
    // the number of operands comes first, so that no two structures have the same bytes
    op.operands().count().hash(out);
    for child in op.operands() {
        number[child.0 as usize].hash(out);
    }
    if let Some(lambda) = op.lambda() {
        (&lambda.params, number[lambda.body.0 as usize]).hash(out);
    }
}

/// A hasher that keeps the bytes it is given.
struct Bytes(Vec<u8>);

impl Hasher for Bytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::encode;
    use crate::core::parse;

    fn of(text: &str) -> Vec<u8> {
        encode(&parse::parse(text).unwrap().remove(0))
    }

    #[test]
    fn numbers_do_not_count_and_structure_does() {
        let f = |body: &str| of(&format!("func @f(%x: f32, %y: f32) -> (r: f32) {{\n{body}}}\n"));
        let one = f("  %0 = neg %x\n  %1 = mul %y, %y\n  %2 = add %0, %1\n  return %2\n");
        let other = f("  %7 = mul %y, %y\n  %8 = neg %x\n  %9 = add %8, %7\n  return %9\n");
        assert_eq!(one, other);
        assert_ne!(one, f("  %0 = neg %x\n  %1 = mul %y, %x\n  %2 = add %0, %1\n  return %2\n"));
        assert_ne!(one, f("  %0 = abs %x\n  %1 = mul %y, %y\n  %2 = add %0, %1\n  return %2\n"));
    }
}
