//! Elements each of which reduces its own row many times (`schedule/facts/thread_rows.rs`), such as the assignment of
//! points to the nearest centre: point i computes its distance to each centre k, a sum over the coordinates q.
//!
//! ```text
//! for i { for k { for q { .. x[i][q] - c[k][q] .. } } }
//!     ->
//! for i by 32 { x0 = x[i ..][0], x1 = x[i ..][1], ..
//!               for k { for lane { .. x0[lane] - c[k][0] .. x1[lane] - c[k][1] .. } } }
//! ```
//!
//! For a few lengths of rows the loop over q is unrolled, and the row is loaded before the loop over k. Neighbouring
//! elements then go through that loop in lockstep (`kernel/lockstep`): a vector holds one coordinate of several
//! neighbours, and a value that all of them read, such as a coordinate of a centre, is loaded once.
//!
//! The strategy is chosen if the order of the outer reduction is free, so that it is a single loop. Rows of other
//! lengths are computed element by element.

use super::map;
use super::stores::Stores;
use crate::core::{Graph, NodeId, Op};
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::element::element;
use crate::schedule::element::lower::{LaunchContext, Lower, bind};
use crate::schedule::groups::{FusedGroup, Item};
use crate::schedule::{element::unroll_and_jam, facts::thread_rows};
use rustc_hash::FxHashSet as HashSet;

/// The maximum number of nodes of the unrolled code of a row.
const MAX_NODES: usize = 512;

/// The elements of a group, for each length of rows that has unrolled code.
pub struct ThreadRows {
    length: NodeId,
    /// The variable of an element's index.
    index: NodeId,
    of_lengths: Vec<(i64, Vec<NodeId>)>,
}

/// Returns the fused group as one that this strategy serves.
pub fn of(l: &mut LaunchContext, fused: &FusedGroup) -> Option<ThreadRows> {
    let length = l.facts.length_of_rows.filter(|_| fused.domain.len() == 1)?;
    let (var, index) = l.g.fresh_var(Ty::I64);
    let roots: Vec<NodeId> = fused.items.iter().map(|it| element(&mut l.g, it.node, index)).collect();
    let own: HashSet<NodeId> = l.g.reachable(roots.iter().copied()).into_iter().collect();
    let mut of_lengths = Vec::new();
    for n in thread_rows::LENGTHS.map(i64::from) {
        let straight = thread_rows::unrolled(&mut l.g, &roots, length, n, MAX_NODES);
        of_lengths.extend(
            straight
                .filter(|roots| {
                    !reads_before(&l.g, roots, &own) && unroll_and_jam::pays(&mut l.g, roots, var)
                })
                .map(|roots| (n, roots)),
        );
    }
    (!of_lengths.is_empty()).then_some(ThreadRows { length, index, of_lengths })
}

/// Whether unrolled code reads values that all elements share, such as weights of the columns. Such reads are moved
/// before the loop over the elements, and so before the test of the rows' length, where they may be out of bounds.
fn reads_before(g: &Graph, roots: &[NodeId], own: &HashSet<NodeId>) -> bool {
    let is_new = |n: &NodeId| matches!(g.op(*n), Op::Elem(..)) && g.is_closed(*n) && !own.contains(n);
    g.reachable(roots.iter().copied()).iter().any(is_new)
}

pub(super) fn main(l: &mut Lower, fused: &FusedGroup, rows: &ThreadRows) -> Result<Vec<Stmt>> {
    let items: Vec<&Item> = fused.items.iter().collect();
    let stores = Stores::new(l, &items);
    let (count, length) = (l.launch.count(), l.launch.host(rows.length));
    let grain = Expr::int(l.launch.facts.grain.into());
    let mut out = Vec::new();
    let lo = bind(l, "lo", Expr::TileBegin.times(grain.clone()), &mut out);
    let hi = bind(l, "hi", Expr::TileEnd.times(grain).min(count), &mut out);
    let mut others = map::main(l, fused, false)?;
    for (n, roots) in rows.of_lengths.iter().rev() {
        let (i, mut body) = (l.k.reg("i", Ty::I64), Vec::new());
        let at = Expr::Reg(i);
        l.k.in_lockstep = true;
        let values = l.region(&[(rows.index, at.clone())], roots, &at, &mut body);
        l.k.in_lockstep = false;
        stores.store(l, values?, &at, &at, &mut body);
        let is_length = Expr::binary(BinaryOp::Eq, length.clone(), Expr::int(*n));
        others = vec![Stmt::If(is_length, vec![Stmt::For(i, lo.clone(), hi.clone(), body)], others)];
    }
    out.append(&mut others);
    Ok(out)
}
