//! Tuples: the elements, initial values and results of operators of reductions and folds.
//!
//! ```text
//! %t = map (%x: f32, %i: i64) over %v, %indices {  %p = tuple %x, %i  yield %p }
//! %n = tuple inf, -1
//! %r = reduce 1 (%a: f32, %i: i64, %b: f32, %j: i64) from %n over %t { .. yield %tuple }
//! ```
//!
//! A tuple is never stored: an array whose elements are tuples is a `map` or a `generate`, and only a reduction or
//! fold reads it. So most of the compiler sees the operands of a node, and code that has to look at the components
//! uses the functions of this file.

use super::{Graph, NodeId, Op};
use crate::scalar::Ty;

/// Returns the components of a tuple, and of a scalar itself.
pub fn components(g: &Graph, n: NodeId) -> Vec<NodeId> {
    match g.op(n) {
        Op::Tuple(all) => all.clone(),
        _ => vec![n],
    }
}

/// Returns the types of the components of a tuple, or the type of a scalar.
pub fn types(g: &Graph, n: NodeId) -> Vec<Ty> {
    match g.op(n) {
        Op::Tuple(all) => all.iter().map(|c| g.ty(*c).elem).collect(),
        _ => vec![g.ty(n).elem],
    }
}

/// Returns the types of the components of an array's elements.
pub fn types_of_elements(g: &Graph, array: NodeId) -> Vec<Ty> {
    match g.op(array) {
        Op::Map(l, _) | Op::Generate(_, l) => types(g, l.body),
        _ => vec![g.ty(array).elem],
    }
}

/// Whether the elements of an array are tuples.
pub fn has_tuples(g: &Graph, array: NodeId) -> bool {
    matches!(g.op(array), Op::Map(l, _) | Op::Generate(_, l) if matches!(g.op(l.body), Op::Tuple(_)))
}

/// Returns which component of a tuple a reduction or fold is.
pub fn which(g: &Graph, n: NodeId) -> usize {
    match g.op(n) {
        Op::Reduce { which, .. }
        | Op::ReduceOrdered { which, .. }
        | Op::Scan { which, .. }
        | Op::Fold { which, .. } => *which as usize,
        _ => 0,
    }
}

/// Returns another component of a reduction or fold.
pub fn component(op: &Op, of: u32) -> Op {
    let mut op = op.clone();
    if let Op::Reduce { which, .. }
    | Op::ReduceOrdered { which, .. }
    | Op::Scan { which, .. }
    | Op::Fold { which, .. } = &mut op
    {
        *which = of;
    }
    op
}

/// Whether two nodes are components of one reduction or fold of tuples.
pub fn are_components(g: &Graph, a: NodeId, b: NodeId) -> bool {
    match (g.op(a), g.op(b)) {
        (
            Op::Reduce { join: f, init, src, .. },
            Op::Reduce { join: other, init: other_init, src: other_src, .. },
        )
        | (
            Op::Fold { step: f, init, src, .. },
            Op::Fold { step: other, init: other_init, src: other_src, .. },
        )
        | (
            Op::Scan { join: f, init, src, .. },
            Op::Scan { join: other, init: other_init, src: other_src, .. },
        ) => f == other && init == other_init && src == other_src,
        _ => false,
    }
}

/// Returns a tuple of these components, or the only one.
pub fn of(g: &mut Graph, components: Vec<NodeId>) -> NodeId {
    match components[..] {
        [one] => one,
        _ => g.add(Op::Tuple(components)),
    }
}

/// Returns the tuple in which each component is replaced, or the replacement of a scalar.
pub fn each(g: &mut Graph, n: NodeId, mut f: impl FnMut(&mut Graph, NodeId) -> NodeId) -> NodeId {
    match g.op(n).clone() {
        Op::Tuple(all) => {
            let all = all.into_iter().map(|c| f(g, c)).collect();
            g.add(Op::Tuple(all))
        }
        _ => f(g, n),
    }
}

/// Returns the `generate` in which the array of each component is replaced by `f`, which returns a `generate` over
/// the same index space.
pub fn each_array(g: &mut Graph, array: NodeId, mut f: impl FnMut(&mut Graph, NodeId) -> NodeId) -> NodeId {
    let Op::Generate(extents, lambda) = g.op(array).clone() else { return f(g, array) };
    if !has_tuples(g, array) {
        return f(g, array);
    }
    let types: Vec<Ty> = lambda.params.iter().map(|p| p.1).collect();
    let count = components(g, lambda.body).len();
    let arrays: Vec<NodeId> = (0..count)
        .map(|which| {
            let own = g.lambda(&types, |g, i| {
                let body = g.open(&lambda, i);
                components(g, body)[which]
            });
            let own = g.add(Op::Generate(extents.clone(), own));
            f(g, own)
        })
        .collect();
    let lambda = g.lambda(&types, |g, i| {
        let of = |g: &mut Graph, array: &NodeId| match g.op(*array).clone() {
            Op::Generate(_, lambda) => g.open(&lambda, i),
            _ => g.add(Op::Elem(*array, i.to_vec())),
        };
        let all = arrays.iter().map(|array| of(g, array)).collect();
        g.add(Op::Tuple(all))
    });
    g.add(Op::Generate(extents, lambda))
}

/// Returns the array of each component of an array's elements. It is stored if its elements may leave error records,
/// so that a record has the number of its element wherever they are read.
pub fn arrays_of_components(g: &mut Graph, src: NodeId) -> Vec<NodeId> {
    let op = g.op(src).clone();
    let all = match op.lambda() {
        Some(lambda) if has_tuples(g, src) => {
            let types: Vec<Ty> = lambda.params.iter().map(|p| p.1).collect();
            let count = components(g, lambda.body).len();
            let operands: Vec<NodeId> = op.operands().collect();
            let component = |which: usize| {
                let own = g.lambda(&types, |g, vars| {
                    let body = g.open(lambda, vars);
                    components(g, body)[which]
                });
                g.add(op.with(&operands, Some(own)))
            };
            (0..count).map(component).collect()
        }
        _ => vec![src],
    };
    let stored = |x: NodeId| {
        let records = g.is_closed(x) && g.reachable([x]).into_iter().any(|n| g.op(n).may_record(g));
        if records && !g.is_stored(x) { g.add(Op::Materialize(x)) } else { x }
    };
    all.into_iter().map(stored).collect()
}
