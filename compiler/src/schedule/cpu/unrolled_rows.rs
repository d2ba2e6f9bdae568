//! Maps over rows of a few elements, whose number is a constant: points in space, pixels, quaternions. A row is
//! unrolled, so that the index of each element in it is a constant, and the loop over the rows vectorises.
//!
//! ```text
//! r[i][j] = a[i][(j + 1) % 3] for j < 3
//!     ->
//! for i { r[i][0] = a[i][1]    r[i][1] = a[i][2]    r[i][2] = a[i][0] }
//! ```
//!
//! If a total read is out of bounds somewhere, all rows are computed by `rows.rs`.

use super::rows;
use super::stores::Stores;
use crate::core::graph::replace::{Found, replaced_by};
use crate::core::simplify::simplify;
use crate::core::{Graph, NodeId, TILE};
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{Lit, Ty};
use crate::schedule::element::in_bounds::{self, Range};
use crate::schedule::element::lower::{LaunchContext, Lower};
use crate::schedule::element::opened;
use crate::schedule::facts::accesses::needs_indices;
use crate::schedule::groups::{FusedGroup, Item, is_store};
use rustc_hash::FxHashMap as HashMap;

/// The maximum number of elements of a row.
const LONGEST: i64 = 8;
/// The maximum number of operations of all elements of a row.
const MAX_OPERATIONS: i64 = 400;

/// A fused group that this strategy serves.
pub struct UnrolledRows {
    /// The index of the row.
    index: NodeId,
    /// The number of elements of a row.
    length: i64,
    /// The nodes of the elements of a row: for each element those of all items.
    roots: Vec<NodeId>,
    /// The condition that all reads are in bounds.
    condition: NodeId,
}

/// Returns the number of elements of a row, if rows are short and elements need their indices.
pub fn length(l: &mut LaunchContext, fused: &FusedGroup) -> Option<i64> {
    let [_, columns] = fused.domain[..] else { return None };
    let length = l.g.as_lit(columns).and_then(Lit::as_int)?;
    let is_map = !l.facts.nested && !fused.sequential && fused.items.iter().all(|it| is_store(&l.g, it));
    let fits =
        is_map && (2..=LONGEST).contains(&length) && length * i64::from(l.facts.cost) <= MAX_OPERATIONS;
    (fits && needs_indices(l, fused)).then_some(length)
}

/// Returns the number of elements in a unit of work: whole rows, about as many elements as a tile has. The
/// other variants of the kernel have the same units.
pub fn grain(length: i64) -> u32 {
    (TILE / length * length) as u32
}

/// Returns the fused group as one that this strategy serves.
pub fn of(l: &mut LaunchContext, fused: &FusedGroup) -> Option<UnrolledRows> {
    let length = length(l, fused)?;
    let (var, index) = l.g.fresh_var(Ty::I64);
    let column = l.g.fresh_var(Ty::I64).1;
    let in_row: Vec<NodeId> =
        fused.items.iter().map(|it| opened(&mut l.g, it.node, &[index, column])).collect();
    let mut all = Vec::new();
    for j in 0..length {
        let j = l.g.lit(Lit::i64(j));
        let find = &mut |g: &mut Graph, n| Found::of(g, n, (n == column).then_some(j));
        let memo = &mut HashMap::default();
        all.extend(in_row.iter().map(|n| replaced_by(&mut l.g, *n, find, &mut simplify, memo)));
    }
    let rows = Range::below(l, var, fused.domain[0]);
    let plain = in_bounds::without_records(l, &all, &[rows])?;
    Some(UnrolledRows { index, length, roots: plain.roots, condition: plain.condition })
}

pub(super) fn main(l: &mut Lower, fused: &FusedGroup, rows: &UnrolledRows) -> Result<Vec<Stmt>> {
    let items: Vec<&Item> = fused.items.iter().collect();
    let stores = Stores::new(l, &items);
    let per_unit = Expr::int(i64::from(l.launch.facts.grain) / rows.length);
    let count = l.launch.host(fused.domain[0]);
    let (begin, end) = (Expr::TileBegin.times(per_unit.clone()), Expr::TileEnd.times(per_unit).min(count));
    let i = l.k.reg("i", Ty::I64);
    let mut body = Vec::new();
    let values = l.region(&[(rows.index, Expr::Reg(i))], &rows.roots, &Expr::int(0), &mut body)?;
    for (values, j) in values.chunks(items.len()).zip(0..) {
        let place = [Expr::Reg(i), Expr::int(j)];
        stores.store_at(l, values.to_vec(), &place, &Expr::int(0), &mut body);
    }
    let unrolled = vec![Stmt::For(i, begin, end, body)];
    let mut out = Vec::new();
    let in_bounds = l.conditions(&[], &[rows.condition], &mut out)?.remove(0);
    if let Expr::Lit(_) = in_bounds {
        out.extend(unrolled);
    } else {
        out.push(Stmt::If(in_bounds, unrolled, rows::main(l, fused, false)?));
    }
    Ok(out)
}
