//! A short reduction or fold as straight-line code, in exactly the order of the semantics (section 5).

use super::deviations::{self, Moments};
use super::simplify::simplify;
use super::{Graph, Lambda, NodeId, Op, tuples};
use crate::scalar::BinaryOp;

/// Applies the operator of a reduction, or the step of a fold, to two values or tuples.
pub type Apply<'a> = dyn FnMut(&mut Graph, &Lambda, [NodeId; 2]) -> NodeId + 'a;

/// Joins at most one row of columns in the order of semantics 5.1, 5.3, 5.5 and 5.7. `all` are the elements of the
/// operation's sequences; if it has one sequence, each element is given twice.
pub fn joined(g: &mut Graph, op: &Op, init: NodeId, all: &[[NodeId; 2]], apply: &mut Apply) -> NodeId {
    let add = |g: &mut Graph, a, b| simplify(g, Op::Binary(BinaryOp::Add, a, b));
    let mul = |g: &mut Graph, [a, b]: [NodeId; 2]| simplify(g, Op::Binary(BinaryOp::Mul, a, b));
    match op {
        Op::Fold { step, which, .. } => {
            let value = all.iter().fold(init, |acc, x| apply(g, step, [acc, x[0]]));
            tuples::components(g, value)[*which as usize]
        }
        Op::Reduce { join, which, .. } => {
            let values = all.iter().map(|x| x[0]).collect();
            let total = tree(values, &mut |a, b| apply(g, join, [a, b]));
            let value = total.map_or(init, |total| apply(g, join, [init, total]));
            tuples::components(g, value)[*which as usize]
        }
        Op::SquaredDeviations { .. } => {
            let values: Vec<Moments> = all.iter().map(|x| deviations::first(g, x[0])).collect();
            let total = tree(values, &mut |a, b| deviations::join(g, a, b));
            total.map_or(init, |[.., total]| add(g, init, total))
        }
        Op::Dot { .. } => {
            let products = all.iter().map(|x| mul(g, *x)).collect();
            let total = tree(products, &mut |a, b| add(g, a, b));
            total.map_or(init, |total| add(g, init, total))
        }
        _ => {
            let Some((first, rest)) = all.split_first() else { return init };
            let first = mul(g, *first);
            let chain = rest.iter().fold(first, |s, [a, b]| simplify(g, Op::MulAdd(*a, *b, s)));
            add(g, init, chain)
        }
    }
}

/// Joins neighbours pairwise until one value is left.
fn tree<V: Clone>(mut v: Vec<V>, join: &mut dyn FnMut(V, V) -> V) -> Option<V> {
    while v.len() > 1 {
        v = v
            .chunks(2)
            .map(|p| if let [a, b] = p { join(a.clone(), b.clone()) } else { p[0].clone() })
            .collect();
    }
    v.first().cloned()
}
