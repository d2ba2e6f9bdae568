//! Reductions of segments of vectors that begin at offsets which are data, each in the order of semantics 5.1 from
//! its own start.
//!
//! A segment of up to 2048 elements is reduced by its element of the result. A longer one is cut into tiles of 2048
//! elements. Every tile is an element of an array, so that one long segment has as many of them as many short ones.
//! The tiles of a segment are joined by the element of another array that has the number of the first of them.
//!
//! ```text
//! %tiles = generate .. (%t) { .. reduce (+) from -0 over (generate %count[%t] (%i) { %x[%begin[%t] + %i] }) }
//! %long = generate .. (%t) { .. reduce (+) from -0 over (generate %counts[%t] (%i) { %tiles[%t + %i] }) }
//! %sums = generate %n (%k) { select(%length[%k] > 2048, %long[%first], .. reduce (+) from -0 over ..) }
//! ```

use super::arithmetic::{binary, ceil_div, select, with_number};
use super::element_loops::looped;
use super::identity;
use super::orders::{generated, inside, lengths_of_runs, mapped};
use super::simplify::extent;
use super::{Graph, Lambda, NodeId, Op, ScanPart, TILE, tuples};
use crate::scalar::{BinaryOp, Lit, Ty};

/// The operator of a reduction, its initial value, and with it the number of its components.
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

/// Chooses between several values each.
fn choose(g: &mut Graph, condition: NodeId, a: &[NodeId], b: &[NodeId]) -> Vec<NodeId> {
    a.iter().zip(b).map(|(a, b)| select(g, condition, *a, *b)).collect()
}

/// Returns the scan that leaves out each element's own value, from one that does not: the first value is `init`.
pub fn exclusive(g: &mut Graph, scans: &[NodeId], init: &[NodeId]) -> Vec<NodeId> {
    let n = extent(g, scans[0], 0);
    generated(g, n, |g, i| {
        let has_one = with_number(g, BinaryOp::Gt, i, 0);
        let before = with_number(g, BinaryOp::Sub, i, 1);
        let read: Vec<NodeId> = scans.iter().map(|x| g.add(Op::At(*x, vec![before]))).collect();
        choose(g, has_one, &read, init)
    })
}

/// Whether a segment from `begin` up to, not including, `end` lies in a vector of so many elements:
/// 0 <= begin <= end <= count. If not, a record is left.
pub fn are_bounds(g: &mut Graph, [begin, end]: [NodeId; 2], count: NodeId) -> NodeId {
    let [a, b] = [(begin, end), (end, count)].map(|(i, most)| {
        let n = with_number(g, BinaryOp::Add, most, 1);
        g.add(Op::Within(i, n))
    });
    binary(g, BinaryOp::And, a, b)
}

/// Returns the first of the indices from `low` up to, not including, `high` for which a condition holds, or `high`.
/// It holds for all behind the first one.
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

/// Reduces the values at the indices up to a count without an initial value; of none the result has no meaning.
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
    // other operators get a component that is false of the initial value alone
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

/// Where the tiles of long segments are.
struct Tiles {
    /// How many tiles each segment has; none for a segment that is one.
    counts: NodeId,
    /// How many tiles there are up to the end of each segment.
    ends: NodeId,
    /// How many tiles there may be.
    most: NodeId,
}

impl Tiles {
    /// Returns the first tile of a segment, and their number.
    fn of(&self, g: &mut Graph, segment: NodeId) -> [NodeId; 2] {
        let [end, count] = [self.ends, self.counts].map(|x| inside(g, x, segment));
        [binary(g, BinaryOp::Sub, end, count), count]
    }
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
    joined(g, values, (begins, lengths, segments), Reduction { join, init })
}

/// Returns the reductions of the runs that begin at the first `count` of the indices `begins`, the last of which ends
/// before index `end`; and the initial values behind these.
pub fn of_runs(
    g: &mut Graph,
    values: &[NodeId],
    (begins, count, end): (NodeId, NodeId, NodeId),
    init: &[NodeId],
    join: &Lambda,
) -> Vec<NodeId> {
    let (n, all) = (extent(g, begins, 0), extent(g, values[0], 0));
    let zero = g.lit(Lit::i64(0));
    // who asks by the C ABI may give any numbers, and reads nothing outside of the values by them
    let count = binary(g, BinaryOp::Min, count, n);
    let lengths = lengths_of_runs(g, begins, count, end);
    let lengths = generated(g, n, |g, k| {
        let (begin, length) = (inside(g, begins, k), inside(g, lengths, k));
        let end = binary(g, BinaryOp::Add, begin, length);
        let is_run = binary(g, BinaryOp::Lt, k, count);
        let from = with_number(g, BinaryOp::Ge, begin, 0);
        let to = binary(g, BinaryOp::Le, end, all);
        let rises = binary(g, BinaryOp::Le, begin, end);
        let is_run = [from, to, rises].into_iter().fold(is_run, |a, b| binary(g, BinaryOp::And, a, b));
        vec![select(g, is_run, length, zero)]
    });
    let lengths = g.add(Op::Materialize(lengths[0]));
    joined(g, values, (begins, lengths, count), Reduction { join, init })
}

/// Reduces segments that begin at indices and have so many elements: none from segment `end` on.
fn joined(
    g: &mut Graph,
    values: &[NodeId],
    (begins, lengths, end): (NodeId, NodeId, NodeId),
    of: Reduction,
) -> Vec<NodeId> {
    let segments = extent(g, lengths, 0);
    let counts = mapped(g, lengths, |g, length| {
        let [zero, is_long] = [g.lit(Lit::i64(0)), with_number(g, BinaryOp::Gt, length, TILE)];
        let tiles = ceil_div(g, length, TILE);
        select(g, is_long, tiles, zero)
    });
    let ends = up_to(g, counts);
    // a segment of more than one tile has a full tile for each one that is not; and one tile more, so that there is
    // one to read for segments that have none
    let all = extent(g, values[0], 0);
    let full = with_number(g, BinaryOp::Div, all, TILE);
    let most = with_number(g, BinaryOp::Mul, full, 2);
    let most = with_number(g, BinaryOp::Add, most, 1);
    let is_any = with_number(g, BinaryOp::Gt, segments, 0);
    let most = select(g, is_any, most, segments);
    let tiles = Tiles { counts, ends, most };
    let [tile_begins, tile_lengths, joins] = tiles_of_segments(g, &tiles, (begins, lengths, end));
    let of_tiles = generated(g, most, |g, t| {
        let [begin, count] = [tile_begins, tile_lengths].map(|x| inside(g, x, t));
        without_initial(g, count, of, |g, i| read(g, values, begin, i))
    });
    let of_tiles: Vec<NodeId> = of_tiles.into_iter().map(|x| g.add(Op::Materialize(x))).collect();
    let last = with_number(g, BinaryOp::Sub, most, 1);
    let long = generated(g, most, |g, t| {
        let count = inside(g, joins, t);
        reduction(g, count, of, |g, i| {
            let i = binary(g, BinaryOp::Add, t, i);
            of_tiles.iter().map(|x| clamped(g, *x, i, last)).collect()
        })
    });
    let long: Vec<NodeId> = long.into_iter().map(|x| g.add(Op::Materialize(x))).collect();
    generated(g, segments, |g, k| {
        let (begin, length) = (inside(g, begins, k), inside(g, lengths, k));
        let is_long = with_number(g, BinaryOp::Gt, length, TILE);
        let zero = g.lit(Lit::i64(0));
        let own = select(g, is_long, zero, length);
        let own = with_number(g, BinaryOp::Min, own, TILE);
        let short = reduction(g, own, of, |g, i| read(g, values, begin, i));
        let [first, _] = tiles.of(g, k);
        let long = long.iter().map(|x| clamped(g, *x, first, last)).collect::<Vec<_>>();
        choose(g, is_long, &long, &short)
    })
}

/// Returns the elements that stand so far behind the beginning of a segment.
fn read(g: &mut Graph, values: &[NodeId], begin: NodeId, i: NodeId) -> Vec<NodeId> {
    let i = binary(g, BinaryOp::Add, begin, i);
    values.iter().map(|x| inside(g, *x, i)).collect()
}

/// Returns the element of a tile, or of the last one: segments that overlap have left a record, and more tiles than
/// there is room for.
fn clamped(g: &mut Graph, x: NodeId, tile: NodeId, last: NodeId) -> NodeId {
    let tile = binary(g, BinaryOp::Min, tile, last);
    inside(g, x, tile)
}

/// Returns where each tile begins, how many elements it has, none behind the last one, and how many tiles are joined
/// to it: those of its segment for the first of them, else none.
fn tiles_of_segments(
    g: &mut Graph,
    tiles: &Tiles,
    (begins, lengths, end): (NodeId, NodeId, NodeId),
) -> [NodeId; 3] {
    let last = with_number(g, BinaryOp::Sub, end, 1);
    let last = with_number(g, BinaryOp::Max, last, 0);
    let parts = generated(g, tiles.most, |g, t| {
        let low = g.lit(Lit::i64(0));
        let segment = first_where(g, [low, last], |g, k| {
            let end = inside(g, tiles.ends, k);
            binary(g, BinaryOp::Gt, end, t)
        });
        let [first, count] = tiles.of(g, segment);
        let (begin, length) = (inside(g, begins, segment), inside(g, lengths, segment));
        let before = binary(g, BinaryOp::Sub, t, first);
        let skipped = with_number(g, BinaryOp::Mul, before, TILE);
        let rest = binary(g, BinaryOp::Sub, length, skipped);
        let rest = with_number(g, BinaryOp::Min, rest, TILE);
        let (has_tile, zero) = (binary(g, BinaryOp::Lt, before, count), g.lit(Lit::i64(0)));
        let (rest, count) = (select(g, has_tile, rest, zero), select(g, has_tile, count, zero));
        let is_first = with_number(g, BinaryOp::Eq, before, 0);
        vec![binary(g, BinaryOp::Add, begin, skipped), rest, select(g, is_first, count, zero)]
    });
    [0, 1, 2].map(|at| g.add(Op::Materialize(parts[at])))
}

/// Returns the sums of numbers up to each, stored.
fn up_to(g: &mut Graph, counts: NodeId) -> NodeId {
    let join = g.lambda(&[Ty::I64; 2], |g, v| g.add(Op::Binary(BinaryOp::Add, v[0], v[1])));
    let init = g.lit(Lit::i64(0));
    let scan = g.add(Op::Scan { part: ScanPart::Whole, join, init, src: counts, which: 0 });
    g.add(Op::Materialize(scan))
}
