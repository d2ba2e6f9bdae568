//! A range analysis of the destinations of elements (of bins, and of puts): a comparison that always holds is left
//! out of the test whether a destination is in bounds. Destinations are also rewritten with fewer operations: without
//! tests that always hold, and in 32 bits if a float is converted and then clamped to few bins.

use crate::core::{Graph, NodeId, Op};
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};

/// The minimum and the maximum of an integer.
type Range = (i64, i64);

/// Returns a destination in its shortest form.
pub fn in_short(g: &mut Graph, at: NodeId) -> NodeId {
    match *g.op(at) {
        Op::Select(c, a, _) if is_inside(g, c) => in_short(g, a),
        _ => as_word(g, at).unwrap_or(at),
    }
}

/// Whether a condition tests bounds within which an index always is.
fn is_inside(g: &Graph, c: NodeId) -> bool {
    let Op::Within(i, n, _) = *g.op(c) else { return false };
    let (least, most) = range(g, i);
    least >= 0 && g.as_lit(n).and_then(Lit::as_int).is_some_and(|n| most < n)
}

/// Returns a float that is cast to an i64 and clamped between constants as one that is cast to an i32, if both bounds
/// fit: casts saturate, so the clamped value is the same.
fn as_word(g: &mut Graph, at: NodeId) -> Option<NodeId> {
    let bound = |g: &Graph, n: NodeId| i32::try_from(g.as_lit(n)?.as_int()?).ok();
    let Op::Binary(outer, inner, b) = *g.op(at) else { return None };
    let Op::Binary(first, cut, a) = *g.op(inner) else { return None };
    let Op::Cast(Ty::I64, x) = *g.op(cut) else { return None };
    let are_bounds = [outer, first].iter().all(|op| matches!(op, BinaryOp::Min | BinaryOp::Max));
    if !are_bounds || outer == first || !g.ty(x).elem.is_float() {
        return None;
    }
    let (a, b) = (bound(g, a)?, bound(g, b)?);
    let (a, b) = (g.lit(Lit::i32(a)), g.lit(Lit::i32(b)));
    let cut = g.add(Op::Cast(Ty::I32, x));
    let inner = g.add(Op::Binary(first, cut, a));
    let outer = g.add(Op::Binary(outer, inner, b));
    Some(g.add(Op::Cast(Ty::I64, outer)))
}

/// Returns the minimum and the maximum of an integer, as far as its operations tell.
fn range(g: &Graph, n: NodeId) -> Range {
    let all = of_type(g.ty(n).elem);
    match *g.op(n) {
        Op::Const(l) => l.as_int().map_or(all, |v| (v, v)),
        Op::Cast(_, x) if g.ty(x).elem.is_int() => {
            let (least, most) = range(g, x);
            if g.ty(x).elem != Ty::U64 && least >= all.0 && most <= all.1 { (least, most) } else { all }
        }
        Op::Binary(op @ (BinaryOp::Min | BinaryOp::Max), a, b) if g.ty(n).elem != Ty::U64 => {
            let (a, b) = (range(g, a), range(g, b));
            if op == BinaryOp::Min { (a.0.min(b.0), a.1.min(b.1)) } else { (a.0.max(b.0), a.1.max(b.1)) }
        }
        Op::Binary(BinaryOp::And, a, b) => {
            let mask = [a, b].into_iter().find_map(|n| g.as_lit(n)?.as_int());
            mask.filter(|mask| *mask >= 0).map_or(all, |mask| (0, mask))
        }
        Op::Select(_, a, b) => {
            let (a, b) = (range(g, a), range(g, b));
            (a.0.min(b.0), a.1.max(b.1))
        }
        _ => all,
    }
}

/// Returns the range of a type. For u64, some of whose numbers an i64 cannot hold, and for types that are not
/// integers, this is the range of i64.
fn of_type(ty: Ty) -> Range {
    match (ty.is_int(), Lit::least(ty).as_int(), Lit::greatest(ty).as_int()) {
        (true, Some(least), Some(most)) => (least, most),
        _ => (i64::MIN, i64::MAX),
    }
}

/// Which comparisons tell whether a destination is one of the bins.
#[derive(Clone, Copy)]
pub struct Tests {
    low: bool,
    high: bool,
}

impl Tests {
    /// Returns the tests of a destination among `count` bins.
    pub fn of(g: &Graph, at: NodeId, count: NodeId) -> Tests {
        let (least, most) = range(g, at);
        let high = g.as_lit(count).and_then(Lit::as_int).is_none_or(|n| most >= n);
        Tests { low: least < 0, high }
    }

    /// Adds the statements `updates`, for a destination that is one of the bins.
    pub fn guarded(self, at: &Expr, count: &Expr, mut updates: Vec<Stmt>, out: &mut Vec<Stmt>) {
        match self.condition(at, count) {
            Some(is_inside) => out.push(Stmt::If(is_inside, updates, vec![])),
            None => out.append(&mut updates),
        }
    }

    /// Returns the condition that the destination is one of the bins; `None` if it always is.
    fn condition(self, at: &Expr, count: &Expr) -> Option<Expr> {
        let low = Expr::binary(BinaryOp::Ge, at.clone(), Expr::int(0));
        let high = Expr::binary(BinaryOp::Lt, at.clone(), count.clone());
        match (self.low, self.high) {
            (true, true) => Some(Expr::binary(BinaryOp::And, low, high)),
            (true, false) => Some(low),
            (false, true) => Some(high),
            (false, false) => None,
        }
    }
}
