//! Elements that reduce few values which all elements read, such as the distances of a point to some centres, in an
//! order that is free. Neighbouring elements go through the reduction in lockstep (`kernel/lockstep`), one in each
//! lane of a vector, and a value that all of them read is loaded once.
//!
//! ```text
//! for i { tree of f(x[i], c[k]) for k < n }
//!     ->
//! for i by 32 { for k < n { for lane { acc[lane] = join(acc[lane], f(x[i + lane], c[k])) } } }
//! ```
//!
//! Where there are many values, or few elements, each element is a tree whose columns are vectors.

use super::stores::Stores;
use crate::core::{Graph, NodeId, Op, Var};
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::element::element;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::unroll_and_jam::outermost;
use crate::schedule::facts::order_free::is_order_free;
use crate::schedule::groups::{FusedGroup, Item};

/// The maximum number of values that elements reduce in lockstep.
const MOST_VALUES: i64 = 256;
/// The minimum number of elements.
const FEWEST_ELEMENTS: i64 = 128;

/// Emits the body of a contiguous variant, in lockstep if the elements are many and reduce few values, and else as
/// given; `None` if the elements are not of that kind.
pub(super) fn main(l: &mut Lower, fused: &FusedGroup, others: &[Stmt]) -> Result<Option<Vec<Stmt>>> {
    if fused.domain.len() != 1 || !l.launch.facts.nested {
        return Ok(None);
    }
    let (var, index) = l.launch.g.fresh_var(Ty::I64);
    let roots: Vec<NodeId> = fused.items.iter().map(|it| element(&mut l.launch.g, it.node, index)).collect();
    let loops = outermost(&l.launch.g, &roots, var);
    let lengths: Option<Vec<NodeId>> = loops.iter().map(|n| length(&mut l.launch.g, *n, var)).collect();
    let Some(mut lengths) = lengths.filter(|all| !all.is_empty()) else { return Ok(None) };
    lengths.dedup();
    let items: Vec<&Item> = fused.items.iter().collect();
    let stores = Stores::new(l, &items);
    let count = l.launch.count();
    let grain = Expr::int(l.launch.facts.grain.into());
    let mut out = Vec::new();
    let lo = bind(l, "lo", Expr::TileBegin.times(grain.clone()), &mut out);
    let hi = bind(l, "hi", Expr::TileEnd.times(grain).min(count), &mut out);
    let (i, mut body) = (l.k.reg("i", Ty::I64), Vec::new());
    let at = Expr::Reg(i);
    l.k.in_lockstep = true;
    let values = l.region(&[(index, at.clone())], &roots, &at, &mut body);
    l.k.in_lockstep = false;
    stores.store(l, values?, &at, &at, &mut body);
    let mut serves = Expr::binary(BinaryOp::Ge, hi.clone().minus(lo.clone()), Expr::int(FEWEST_ELEMENTS));
    for n in lengths {
        let are_few = Expr::binary(BinaryOp::Le, l.launch.host(n), Expr::int(MOST_VALUES));
        serves = Expr::binary(BinaryOp::And, serves, are_few);
    }
    out.push(Stmt::If(serves, vec![Stmt::For(i, lo, hi, body)], others.to_vec()));
    Ok(Some(out))
}

/// Returns the length of a reduction whose order is free, if it has no loops inside, and if each of its reads is at
/// places that are the same for all elements, or at the element's own place.
fn length(g: &mut Graph, n: NodeId, own: Var) -> Option<NodeId> {
    let Op::Reduce { src, .. } = *g.op(n) else { return None };
    let Op::Generate(extents, of) = g.op(src).clone() else { return None };
    let [length] = extents[..] else { return None };
    if !g.is_closed(length) || !is_order_free(g, n) {
        return None;
    }
    let depends = |g: &Graph, n: NodeId| g.node(n).free.contains(&own);
    let is_own = |g: &Graph, n: NodeId| matches!(*g.op(n), Op::Var(v, _) if v == own);
    let serves = |g: &Graph, n: NodeId| match g.op(n) {
        Op::Elem(x, index) | Op::At(x, index) => {
            let (last, outer) = index.split_last().expect("an array has axes");
            g.is_closed(*x)
                && outer.iter().all(|n| !depends(g, *n))
                && (!depends(g, *last) || is_own(g, *last))
        }
        op => !op.is_loop(),
    };
    let inside = g.reachable_until([of.body], |m| g.is_closed(m));
    inside.into_iter().filter(|m| !g.is_closed(*m)).all(|m| serves(g, m)).then_some(length)
}
