//! The order of truth values, false before true (semantics 5.19), by one scan.
//!
//! ```text
//! %order = argsort %x
//!   ->
//! %falses = scan_tiles (+) from .. over (map %x to 1 where it is false, else 0)      how many are false up to each
//! %all = reduce (+) from 0 over the same
//! %order = materialize (place (0, 1, .. n - 1) at
//!   (generate %n (%i) { select(%x[%i], %all + (%i - %falses[%i]), %falses[%i] - 1) }))
//! ```

use super::arithmetic::with_number;
use super::scan_stages::by_tiles;
use super::simplify::simplify;
use super::{Function, Graph, NodeId, Op};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use rustc_hash::FxHashSet;

/// The maximum number of nodes of a value that is computed again rather than stored.
const CHEAP: usize = 24;

/// The order of truth values: a scan counts how many are false up to each element, which determines the element's
/// place. The truth values are stored, unless computing them again from what they depend on costs as little as
/// reading them.
pub fn order_of_bits(g: &mut Graph, x: NodeId) -> NodeId {
    let n = g.add(Op::Len(x, 0));
    let keys = if is_cheap(g, x) { x } else { g.add(Op::Materialize(x)) };
    let [zero, one] = [0, 1].map(|n| g.lit(Lit::i64(n)));
    let bits = |g: &mut Graph, x: NodeId, [of_true, of_false]: [NodeId; 2]| {
        let lambda = g.lambda(&[Ty::Bool], |g, key| simplify(g, Op::Select(key[0], of_true, of_false)));
        g.add(Op::Map(lambda, vec![x]))
    };
    // a filter orders what it leaves out, and sums what it keeps: this is then the number of what it keeps
    let own = match negated(g, x) {
        Some(kept) => bits(g, kept, [one, zero]),
        None => bits(g, x, [zero, one]),
    };
    let src = if keys == x { own } else { bits(g, keys, [zero, one]) };
    let join = g.lambda(&[Ty::I64; 2], |g, v| g.add(Op::Binary(BinaryOp::Add, v[0], v[1])));
    // this shares the launch that stores the keys, or is the sum of the tiles' totals
    let all = g.add(Op::Reduce { join: join.clone(), init: zero, src: own, which: 0 });
    let falses = by_tiles(g, (join, zero, src), 0, true);
    let lambda = g.lambda(&[Ty::I64], |g, i| {
        let own = g.add(Op::Elem(falses, vec![i[0]]));
        let is_true = g.add(Op::Elem(keys, vec![i[0]]));
        let before = with_number(g, BinaryOp::Sub, own, 1);
        let trues = simplify(g, Op::Binary(BinaryOp::Sub, i[0], own));
        let behind = simplify(g, Op::Binary(BinaryOp::Add, all, trues));
        simplify(g, Op::Select(is_true, behind, before))
    });
    let at = g.add(Op::Generate(vec![n], lambda));
    let src = g.add(Op::Iota(n));
    let placed = g.add(Op::Place { at, src });
    g.add(Op::Materialize(placed))
}

/// Returns the vectors of truth values that a fast function stores before it orders by them. Computed again, a
/// condition might be contracted in one place only, and differ there; but number and places must agree.
pub fn to_store(f: &Function) -> FxHashSet<NodeId> {
    let g = &f.graph;
    let rounds = |n: &NodeId| {
        let rounding = [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul];
        matches!(g.op(*n), Op::Binary(op, ..) if rounding.contains(op) && g.ty(*n).elem.is_float())
    };
    let condition = |n: NodeId| match *g.op(n) {
        Op::Argsort(x) if g.ty(x).elem == Ty::Bool => Some(negated(g, x).unwrap_or(x)),
        _ => None,
    };
    let differs = |x: &NodeId| g.reachable_until([*x], |n| g.is_stored(n)).iter().any(rounds);
    match f.fast {
        true => g.reachable(f.roots()).into_iter().filter_map(condition).filter(differs).collect(),
        false => FxHashSet::default(),
    }
}

/// Returns the vector that has the negations of another one's elements.
fn negated(g: &Graph, x: NodeId) -> Option<NodeId> {
    let Op::Map(lambda, srcs) = g.op(x) else { return None };
    let Op::Unary(UnaryOp::Not, own) = *g.op(lambda.body) else { return None };
    matches!(*g.op(own), Op::Var(v, _) if v == lambda.params[0].0).then_some(srcs[0])
}

/// Whether each element of a vector depends on that of one stored vector, by few operations, and leaves no record.
fn is_cheap(g: &Graph, x: NodeId) -> bool {
    let (mut arrays, mut left, mut sources) = (vec![x], CHEAP, Vec::new());
    while let Some(x) = arrays.pop() {
        match g.op(x) {
            _ if g.is_stored(x) => sources.push(x),
            Op::Map(lambda, srcs) => {
                let body = g.reachable_until([lambda.body], |n| g.is_closed(n));
                let is_plain =
                    |n: &NodeId| g.is_closed(*n) || g.op(*n).lambda().is_none() && !g.op(*n).may_record(g);
                if body.len() > left || !body.iter().all(is_plain) {
                    return false;
                }
                left -= body.len();
                arrays.extend(srcs);
            }
            _ => return false,
        }
    }
    sources.dedup();
    sources.len() == 1
}
