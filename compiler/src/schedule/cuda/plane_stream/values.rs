//! The value of a load as an expression of elements that exist. Indices beyond an edge are clamped or wrapped, or the
//! value becomes a selection with a constant, as the program has it; reads of states become reads of their
//! shared-memory tiles.

use super::plan::Element;
use crate::core::simplify::simplify;
use crate::core::{Graph, NodeId, Op, linear};
use crate::kernel::{Expr, Mem};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::boundary::halo::{self, Halo};
use crate::schedule::cuda::expressions::int32;
use crate::schedule::element::lower::{LaunchContext, Lower};
use rustc_hash::FxHashMap as HashMap;

/// A shared-memory tile: a part of a plane, halo included.
#[derive(Clone)]
pub struct Tile {
    pub area: Mem,
    /// The index in shared memory of the tile's first element.
    pub base: Expr,
    /// The row and column in the volume of the tile's first element.
    pub first: [Expr; 2],
    /// The number of rows and of columns.
    pub extents: [i64; 2],
}

impl Tile {
    /// Returns the place in the tile of an index along rows (0) or columns (1), for an access of `count` elements. An
    /// index outside the tile is clamped to it: only elements of the halo read there, and these are not stored.
    pub fn place(&self, axis: usize, index: Expr, count: i64) -> Expr {
        let place = Expr::Cast(Ty::I32, Box::new(index.minus(self.first[axis].clone())));
        let last = int32((self.extents[axis] - count) as i32);
        Expr::binary(BinaryOp::Max, place, int32(0)).min(last)
    }
}

/// Where the elements of a step are loaded from. The default is memory alone, without wrapping.
#[derive(Default)]
pub struct Sources {
    /// For each of the last three axes, whether reads beyond its edges wrap around to its other end. Tiles hold the
    /// wrapped elements beyond their edges.
    pub wrapped: [bool; 3],
    /// The arrays that are loaded from tiles.
    pub tiles: HashMap<NodeId, Tile>,
}

/// Returns the value of an element, by its distance from `index`. If the array is never read beyond its edges, an
/// index out of bounds is clamped, because only threads that store nothing compute with it.
pub fn value(
    l: &mut Lower,
    (halo, sources): (&Halo, &Sources),
    index: &[NodeId],
    e: &Element,
    is_column_inside: bool,
) -> NodeId {
    let axis = index.len() - 3;
    let mut at = Vec::new();
    for (a, (own, by)) in index.iter().zip(&e.at).enumerate() {
        let g = &mut l.launch.g;
        // the distance along planes is an age
        let by = g.lit(Lit::i64(if a == axis { -by } else { *by }));
        at.push(linear::add(g, *own, by));
    }
    if let Some(value) = halo.value(l.launch, e.array, &at) {
        let value = going_on(l, (e.array, sources), &at, value);
        let value = with_one_condition(l, index[axis], value);
        return clamped_once(l.launch, axis, value);
    }
    let is_tile = sources.tiles.contains_key(&e.array);
    let clamped = at.len() - usize::from(is_column_inside);
    for (a, n) in (0..).zip(&mut at).take(clamped).skip(axis) {
        let extent = l.launch.extent(e.array, a);
        *n = match (sources.wrapped[a as usize - axis], is_tile) {
            (true, true) => *n,
            (true, false) => other_end(l, e.array, a, *n),
            (false, _) => halo::clamped(&mut l.launch.g, *n, extent),
        };
    }
    l.launch.g.add(Op::Elem(e.array, at))
}

/// Replaces the indices of a value along axes that wrap: in a tile by the index itself, because the tile holds
/// elements beyond the edges; in memory by the index of the element at the other end.
fn going_on(l: &mut Lower, (array, sources): (NodeId, &Sources), at: &[NodeId], value: NodeId) -> NodeId {
    if !sources.wrapped.contains(&true) {
        return value;
    }
    match l.launch.g.op(value).clone() {
        Op::Select(c, a, b) => {
            let [a, b] = [a, b].map(|n| going_on(l, (array, sources), at, n));
            l.launch.g.add(Op::Select(c, a, b))
        }
        Op::Elem(x, mut index) => {
            let axis = at.len() - 3;
            for (a, _) in (axis..).zip(sources.wrapped).filter(|(_, wrapped)| *wrapped) {
                index[a] = match sources.tiles.contains_key(&array) {
                    true => at[a],
                    false => other_end(l, array, a as u8, at[a]),
                };
            }
            l.launch.g.add(Op::Elem(x, index))
        }
        _ => value,
    }
}

/// Returns `at` modulo the extent `n` of the axis, for `-n <= at < 2 n`.
fn other_end(l: &mut Lower, array: NodeId, axis: u8, at: NodeId) -> NodeId {
    let n = l.launch.extent(array, axis);
    let g = &mut l.launch.g;
    let zero = g.lit(Lit::i64(0));
    let (before, behind) = (linear::add(g, at, n), linear::sub(g, at, n));
    let is_before = g.add(Op::Binary(BinaryOp::Lt, at, zero));
    let is_behind = g.add(Op::Binary(BinaryOp::Ge, at, n));
    let inner = g.add(Op::Select(is_behind, behind, at));
    let other = g.add(Op::Select(is_before, before, inner));
    // threads further than an extent beyond the end store nothing, so any index in bounds serves them
    halo::clamped(g, other, n)
}

/// Rewrites a value with a constant beyond the edges of several axes, `select(a, select(b, x, c), c)`, as
/// `select(a and b, x, c)`. The conditions that do not depend on the plane are joined first, so that they are
/// computed before the loop.
fn with_one_condition(l: &mut Lower, plane: NodeId, value: NodeId) -> NodeId {
    let g = &mut l.launch.g;
    let (mut inside, mut conditions, mut beyond) = (value, Vec::new(), None);
    while let Op::Select(c, a, b) = *g.op(inside) {
        if beyond.is_some_and(|known| known != b) {
            break;
        }
        beyond = Some(b);
        conditions.push(c);
        inside = a;
    }
    let Some(beyond) = beyond else { return value };
    let (changing, fixed): (Vec<NodeId>, Vec<NodeId>) =
        conditions.into_iter().partition(|n| g.reachable([*n]).contains(&plane));
    let mut and =
        |all: Vec<NodeId>| all.into_iter().reduce(|a, b| simplify(g, Op::Binary(BinaryOp::And, a, b)));
    let all = [and(changing), and(fixed)].into_iter().flatten().collect();
    and(all).map_or(value, |c| l.launch.g.add(Op::Select(c, inside, beyond)))
}

/// Returns `i` if the node is the clamped index `min(max(i, 0), n - 1)` of an axis, up to the order of operands.
fn unclamped(l: &mut LaunchContext, (array, axis): (NodeId, u8), n: NodeId) -> Option<NodeId> {
    let extent = l.extent(array, axis);
    let g = &mut l.g;
    let operand = |g: &Graph, n: NodeId, op: BinaryOp, bound: NodeId| match *g.op(n) {
        Op::Binary(o, a, b) if o == op && b == bound => Some(a),
        Op::Binary(o, a, b) if o == op && a == bound => Some(b),
        _ => None,
    };
    let [zero, one] = [0, 1].map(|k| g.lit(Lit::i64(k)));
    let last = linear::sub(g, extent, one);
    operand(g, n, BinaryOp::Min, last).and_then(|n| operand(g, n, BinaryOp::Max, zero))
}

/// Removes the second of two clamps of the plane's index: the program may have clamped it, and the halo does so, too.
fn clamped_once(l: &mut LaunchContext, axis: usize, value: NodeId) -> NodeId {
    match l.g.op(value).clone() {
        Op::Select(c, a, b) => {
            let a = clamped_once(l, axis, a);
            l.g.add(Op::Select(c, a, b))
        }
        Op::Elem(array, mut index) => {
            let of = (array, axis as u8);
            let inner = unclamped(l, of, index[axis]);
            if let Some(once) = inner.filter(|n| unclamped(l, of, *n).is_some()) {
                index[axis] = once;
            }
            l.g.add(Op::Elem(array, index))
        }
        _ => value,
    }
}
