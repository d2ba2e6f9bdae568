//! Reductions of segments of vectors that begin at offsets which are data. Each segment has the order of semantics
//! 5.1 from its own beginning.
//!
//! A segment of up to 2048 elements is reduced by its element of the result. A longer one is cut into tiles of 2048
//! elements. Every tile is an element of an array, so that one long segment takes as many threads as many short ones.
//! The tiles of a segment are joined by the element of another array that belongs to the place where the segment
//! begins.
//!
//! A tile has its place in that array without any count of the tiles before it, because segments lie one behind the
//! other. In 2048 neighbouring elements of the vector, a *block*, at most one long segment begins, and at most one
//! segment has a tile that begins there and is not its first. The segment is found by a search among the beginnings.
//!
//! ```text
//! %tiles = generate .. (%t) { .. reduce (+) from -0 over (generate %count[%t] (%i) { %x[%begin[%t] + %i] }) }
//! %long = generate .. (%b) { .. reduce (+) from -0 over (generate %counts[%b] (%i) { %tiles[%b + %i] }) }
//! %sums = generate %n (%k) { select(%length[%k] > 2048, %long[%begin[%k] / 2048], .. reduce (+) from -0 over ..) }
//! ```

use super::arithmetic::{binary, ceil_div, select, with_number};
use super::element_loops::looped;
use super::identity;
use super::orders::{generated, inside, lengths_of_runs};
use super::simplify::extent;
use super::{Graph, Lambda, NodeId, Op, TILE, Tested, tuples};
use crate::scalar::{BinaryOp, Lit, Ty};

/// The operator of a reduction, and its initial value, whose number of components is that of the reduction.
#[derive(Clone, Copy)]
struct Reduction<'a> {
    join: &'a Lambda,
    init: &'a [NodeId],
}

impl Reduction<'_> {
    fn joined(&self, g: &mut Graph, a: &[NodeId], b: &[NodeId]) -> Vec<NodeId> {
        let body = g.open(self.join, &[a, b].concat());
        tuples::components(g, body)
    }
}

/// Chooses one of two lists of values by a condition.
fn choose(g: &mut Graph, condition: NodeId, a: &[NodeId], b: &[NodeId]) -> Vec<NodeId> {
    a.iter().zip(b).map(|(a, b)| select(g, condition, *a, *b)).collect()
}

/// Returns the scan that leaves out each element's own value, from one that includes it: the first value is `init`.
pub fn exclusive(g: &mut Graph, scans: &[NodeId], init: &[NodeId]) -> Vec<NodeId> {
    let n = extent(g, scans[0], 0);
    generated(g, n, |g, i| {
        let has_one = with_number(g, BinaryOp::Gt, i, 0);
        let before = with_number(g, BinaryOp::Sub, i, 1);
        let read: Vec<NodeId> = scans.iter().map(|x| g.add(Op::At(*x, vec![before]))).collect();
        choose(g, has_one, &read, init)
    })
}

/// Returns whether a segment from `begin` up to, not including, `end` lies in a vector of `count` elements: 0 <=
/// begin <= end <= count. If not, leaves a record that says what is wrong (`records::wrong_bounds`).
pub fn are_bounds(g: &mut Graph, [begin, end]: [NodeId; 2], count: NodeId) -> NodeId {
    let (zero, one) = (g.lit(Lit::i64(0)), g.lit(Lit::i64(1)));
    let tests = [(BinaryOp::Lt, begin, zero), (BinaryOp::Lt, end, begin), (BinaryOp::Lt, count, end)];
    let tests = tests.map(|(op, a, b)| {
        let is_wrong = g.add(Op::Binary(op, a, b));
        let index = g.add(Op::Cast(Ty::I64, is_wrong));
        g.add(Op::Within(index, one, Tested::Index))
    });
    tests.into_iter().reduce(|a, b| binary(g, BinaryOp::And, a, b)).expect("three tests")
}

/// Returns the first of the indices from `low` up to, not including, `high` for which a condition holds, or `high`.
/// If the condition holds for an index, it must hold for all later ones.
pub fn first_where(
    g: &mut Graph,
    [low, high]: [NodeId; 2],
    holds: impl FnOnce(&mut Graph, NodeId) -> NodeId,
) -> NodeId {
    let [most, one] = [64, 1].map(|n| g.lit(Lit::i64(n)));
    let found = looped(g, most, &[low, high], |g, _, states| {
        let [low, high] = [states[0], states[1]];
        let sum = binary(g, BinaryOp::Add, low, high);
        let middle = binary(g, BinaryOp::Shr, sum, one);
        let is_behind = holds(g, middle);
        let above = binary(g, BinaryOp::Add, middle, one);
        let next = choose(g, is_behind, &[low, middle], &[above, high]);
        (binary(g, BinaryOp::Lt, low, high), next)
    });
    found[0]
}

/// Reduces the values at the indices up to a count, without an initial value. If there are none, the result has no
/// meaning.
fn without_initial(
    g: &mut Graph,
    count: NodeId,
    of: Reduction,
    value: impl FnOnce(&mut Graph, NodeId) -> Vec<NodeId>,
) -> Vec<NodeId> {
    // halves are computed in f32, by an operator whose identity is not known
    if let [init] = of.init
        && let ty = g.ty(*init).elem
        && !ty.is_half()
        && let Some(none) = identity::of_operator(g, of.join, ty)
    {
        let (src, init) = (generated(g, count, value)[0], g.lit(none));
        return vec![g.add(Op::Reduce { join: of.join.clone(), init, src, which: 0 })];
    }
    // other operators get a further component, which is false for the initial value alone
    let [yes, no] = [true, false].map(|b| g.lit(Lit::bool(b)));
    let src = generated(g, count, |g, i| {
        let all = [vec![yes], value(g, i)].concat();
        vec![g.add(Op::Tuple(all))]
    });
    let types: Vec<Ty> = std::iter::once(Ty::Bool).chain(of.init.iter().map(|n| g.ty(*n).elem)).collect();
    let join = g.lambda(&types.repeat(2), |g, v| {
        let (a, b) = v.split_at(types.len());
        let both = of.joined(g, &a[1..], &b[1..]);
        let any = binary(g, BinaryOp::Or, a[0], b[0]);
        let all = [vec![any], choose(g, a[0], &both, &b[1..])].concat();
        g.add(Op::Tuple(all))
    });
    let init = g.add(Op::Tuple([&[no], of.init].concat()));
    let component = |which| g.add(Op::Reduce { join: join.clone(), init, src: src[0], which });
    (1..types.len() as u32).map(component).collect()
}

/// Reduces the values at the indices up to a count.
fn reduction(
    g: &mut Graph,
    count: NodeId,
    of: Reduction,
    value: impl FnOnce(&mut Graph, NodeId) -> Vec<NodeId>,
) -> Vec<NodeId> {
    let all = without_initial(g, count, of, value);
    let joined = of.joined(g, of.init, &all);
    let is_any = with_number(g, BinaryOp::Gt, count, 0);
    choose(g, is_any, &joined, of.init)
}

/// Where segments begin, how many elements they have, and before which element the last segment that has any ends.
#[derive(Clone, Copy)]
struct Parts {
    begins: NodeId,
    lengths: NodeId,
    end: NodeId,
}

/// Returns the reductions of the parts of vectors of one length that begin at `begins` and have `lengths` elements:
/// a vector for each component of the operator.
pub fn reduced(
    g: &mut Graph,
    values: &[NodeId],
    (begins, lengths): (NodeId, NodeId),
    init: &[NodeId],
    join: &Lambda,
) -> Vec<NodeId> {
    let segments = extent(g, lengths, 0);
    joined(g, values, Parts { begins, lengths, end: segments }, Reduction { join, init })
}

/// Returns the reductions of the runs that begin at the first `count` of the indices `begins`, the last of which ends
/// before index `end`; all further elements are the initial values.
pub fn of_runs(
    g: &mut Graph,
    values: &[NodeId],
    (begins, count, end): (NodeId, NodeId, NodeId),
    init: &[NodeId],
    join: &Lambda,
) -> Vec<NodeId> {
    let (n, all) = (extent(g, begins, 0), extent(g, values[0], 0));
    let zero = g.lit(Lit::i64(0));
    // callers of the C ABI may pass any numbers, which must not make this read outside of the values
    let lengths = lengths_of_runs(g, begins, count, end);
    let lengths = generated(g, n, |g, k| {
        let (begin, length) = (inside(g, begins, k), inside(g, lengths, k));
        let end = binary(g, BinaryOp::Add, begin, length);
        let is_run = binary(g, BinaryOp::Lt, k, count);
        let from = with_number(g, BinaryOp::Ge, begin, 0);
        let to = binary(g, BinaryOp::Le, end, all);
        let rises = binary(g, BinaryOp::Le, begin, end);
        let fits = [to, rises].into_iter().fold(from, |a, b| binary(g, BinaryOp::And, a, b));
        let length = select(g, fits, length, zero);
        // the outermost condition depends on the number of runs alone, so that strategies read nothing for segments
        // after it
        vec![select(g, is_run, length, zero)]
    });
    let end = binary(g, BinaryOp::Min, count, n);
    joined(g, values, Parts { begins, lengths: lengths[0], end }, Reduction { join, init })
}

/// Reduces the segments.
fn joined(g: &mut Graph, values: &[NodeId], of: Parts, by: Reduction) -> Vec<NodeId> {
    let segments = extent(g, of.lengths, 0);
    let all = extent(g, values[0], 0);
    let blocks = with_number(g, BinaryOp::Div, all, TILE);
    let blocks = with_number(g, BinaryOp::Add, blocks, 1);
    let is_any = with_number(g, BinaryOp::Gt, segments, 0);
    // there is one block to read for segments that have none
    let blocks = select(g, is_any, blocks, segments);
    let last = with_number(g, BinaryOp::Sub, blocks, 1);
    let [begins, lengths, counts] = tiles(g, blocks, of);
    let most = with_number(g, BinaryOp::Mul, blocks, 2);
    let of_tiles = generated(g, most, |g, t| {
        let [begin, count] = [begins, lengths].map(|x| inside(g, x, t));
        // this tells strategies that no segment has more than one tile
        let count = with_number(g, BinaryOp::Min, count, TILE);
        without_initial(g, count, by, |g, i| read(g, values, begin, i))
    });
    let of_tiles: Vec<NodeId> = of_tiles.into_iter().map(|x| g.add(Op::Materialize(x))).collect();
    let long = generated(g, blocks, |g, b| {
        let first = binary(g, BinaryOp::Add, b, blocks);
        let count = inside(g, counts, first);
        reduction(g, count, by, |g, i| {
            // segments that overlap have left a record; they may have more tiles than there is room for
            let other = binary(g, BinaryOp::Add, b, i);
            let other = binary(g, BinaryOp::Min, other, last);
            let is_first = with_number(g, BinaryOp::Eq, i, 0);
            let t = select(g, is_first, first, other);
            of_tiles.iter().map(|x| inside(g, *x, t)).collect()
        })
    });
    let long: Vec<NodeId> = long.into_iter().map(|x| g.add(Op::Materialize(x))).collect();
    generated(g, segments, |g, k| {
        let (begin, length) = (inside(g, of.begins, k), inside(g, of.lengths, k));
        let is_long = with_number(g, BinaryOp::Gt, length, TILE);
        let zero = g.lit(Lit::i64(0));
        let own = select(g, is_long, zero, length);
        let own = with_number(g, BinaryOp::Min, own, TILE);
        let short = reduction(g, own, by, |g, i| read(g, values, begin, i));
        let block = select(g, is_long, begin, zero);
        let block = with_number(g, BinaryOp::Div, block, TILE);
        let block = binary(g, BinaryOp::Min, block, last);
        let long = long.iter().map(|x| inside(g, *x, block)).collect::<Vec<_>>();
        choose(g, is_long, &long, &short)
    })
}

/// Returns the elements at a distance from the beginning of a segment.
fn read(g: &mut Graph, values: &[NodeId], begin: NodeId, i: NodeId) -> Vec<NodeId> {
    let i = binary(g, BinaryOp::Add, begin, i);
    values.iter().map(|x| inside(g, *x, i)).collect()
}

/// Returns where each tile of a long segment begins, how many elements it has, and how many tiles its segment has. In
/// the order of blocks, tiles that are not the first of their segment come first, then the segments' first tiles.
/// Where there is no such tile, all of these numbers are 0.
fn tiles(g: &mut Graph, blocks: NodeId, of: Parts) -> [NodeId; 3] {
    let last = with_number(g, BinaryOp::Sub, of.end, 1);
    let last = with_number(g, BinaryOp::Max, last, 0);
    let all = with_number(g, BinaryOp::Mul, blocks, 2);
    let parts = generated(g, all, |g, t| {
        let is_first = binary(g, BinaryOp::Ge, t, blocks);
        let behind = binary(g, BinaryOp::Sub, t, blocks);
        let block = select(g, is_first, behind, t);
        let next = with_number(g, BinaryOp::Add, block, 1);
        let bound = select(g, is_first, next, block);
        let bound = with_number(g, BinaryOp::Mul, bound, TILE);
        // only the last segment that begins before that element can be a long one that reaches it
        let low = g.lit(Lit::i64(0));
        let segment = first_where(g, [low, last], |g, k| {
            let next = with_number(g, BinaryOp::Add, k, 1);
            let next = binary(g, BinaryOp::Min, next, last);
            let next = inside(g, of.begins, next);
            binary(g, BinaryOp::Ge, next, bound)
        });
        let (begin, length) = (inside(g, of.begins, segment), inside(g, of.lengths, segment));
        let own = with_number(g, BinaryOp::Div, begin, TILE);
        let before = binary(g, BinaryOp::Sub, block, own);
        let is_own = with_number(g, BinaryOp::Eq, before, 0);
        let is_other = with_number(g, BinaryOp::Gt, before, 0);
        let is_there = select(g, is_first, is_own, is_other);
        let is_long = with_number(g, BinaryOp::Gt, length, TILE);
        let skipped = with_number(g, BinaryOp::Mul, before, TILE);
        let reaches = binary(g, BinaryOp::Lt, skipped, length);
        let is_there = [is_long, reaches].into_iter().fold(is_there, |a, b| binary(g, BinaryOp::And, a, b));
        let rest = binary(g, BinaryOp::Sub, length, skipped);
        let rest = with_number(g, BinaryOp::Min, rest, TILE);
        let (count, zero) = (ceil_div(g, length, TILE), g.lit(Lit::i64(0)));
        let begin = binary(g, BinaryOp::Add, begin, skipped);
        [begin, rest, count].into_iter().map(|n| select(g, is_there, n, zero)).collect()
    });
    [0, 1, 2].map(|at| g.add(Op::Materialize(parts[at])))
}
