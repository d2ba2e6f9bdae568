//! Reductions of segments of vectors that begin at offsets which are data, each in the order of semantics 5.1 from
//! its own start.
//!
//! Segments are cut into tiles of 2048 elements. Every tile is an element of an array, so that one long segment has
//! as many of them as many short ones; the tiles of a segment are joined by an element of the result.

use super::arithmetic::{binary, ceil_div, select, with_number};
use super::element_loops::looped;
use super::orders::{generated, inside, lengths_of_runs, mapped};
use super::simplify::{extent, simplify};
use super::{COLUMNS, Graph, Lambda, NodeId, Op, ScanPart, TILE, tuples};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};

/// The levels of the tree of a tile's columns, and its result.
const LEVELS: usize = COLUMNS.ilog2() as usize + 1;

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

/// Joins at most 2048 values as those of a tile (semantics 5.1); the initial value stands for none.
fn tile(
    g: &mut Graph,
    count: NodeId,
    of: Reduction,
    value: impl FnOnce(&mut Graph, NodeId) -> Vec<NodeId>,
) -> Vec<NodeId> {
    let parts = of.init.len();
    let columns = with_number(g, BinaryOp::Min, count, COLUMNS);
    // the results of blocks of 1, 2, 4 .. columns that wait for the block behind them, where the number of columns so
    // far has that bit; before them the last column, so that it is needed in any case, and computed once
    let init = of.init.repeat(1 + LEVELS);
    let yes = g.lit(Lit::bool(true));
    let mut states = looped(g, columns, &init, |g, column, states| {
        let own = column_of_tile(g, (count, column), of, value);
        let (mut block, mut goes_on, mut next) = (own.clone(), yes, own);
        for (level, below) in states[parts..].chunks(parts).enumerate() {
            let waits = bit(g, column, level);
            let begins = simplify(g, Op::Unary(UnaryOp::Not, waits));
            let begins = binary(g, BinaryOp::And, goes_on, begins);
            next.extend(choose(g, begins, &block, below));
            if level + 1 < LEVELS {
                let joins = binary(g, BinaryOp::And, goes_on, waits);
                let both = of.joined(g, below, &block);
                block = choose(g, joins, &both, &block);
            }
            goes_on = binary(g, BinaryOp::And, goes_on, waits);
        }
        (yes, next)
    });
    states.pop();
    // the states of a loop are needed in any case, as the arms of a choice are not: so one loop above computes all
    let once = with_number(g, BinaryOp::Min, columns, 1);
    let no = g.lit(Lit::bool(false));
    let mut joined = looped(g, once, &states, |g, _, states| {
        let (mut result, mut any) = (states[..parts].to_vec(), no);
        for (level, block) in states[parts..].chunks(parts).enumerate() {
            let waits = bit(g, columns, level);
            let both = of.joined(g, block, &result);
            let both = choose(g, any, &both, block);
            result = choose(g, waits, &both, &result);
            any = binary(g, BinaryOp::Or, any, waits);
        }
        (yes, [&result, &states[parts..]].concat())
    });
    joined.truncate(parts);
    joined
}

/// Joins the rows of a column of a tile with so many values.
fn column_of_tile(
    g: &mut Graph,
    (count, column): (NodeId, NodeId),
    of: Reduction,
    value: impl FnOnce(&mut Graph, NodeId) -> Vec<NodeId>,
) -> Vec<NodeId> {
    let rest = binary(g, BinaryOp::Sub, count, column);
    let rows = ceil_div(g, rest, COLUMNS);
    let yes = g.lit(Lit::bool(true));
    let mut own = looped(g, rows, of.init, |g, row, before| {
        let index = with_number(g, BinaryOp::Mul, row, COLUMNS);
        let index = binary(g, BinaryOp::Add, index, column);
        let next = value(g, index);
        let has_one = with_number(g, BinaryOp::Gt, row, 0);
        let both = of.joined(g, before, &next);
        (yes, choose(g, has_one, &both, &next))
    });
    own.pop();
    own
}

/// Whether a number has a bit.
fn bit(g: &mut Graph, n: NodeId, level: usize) -> NodeId {
    let n = with_number(g, BinaryOp::Shr, n, level as i64);
    let n = with_number(g, BinaryOp::And, n, 1);
    with_number(g, BinaryOp::Ne, n, 0)
}

/// Returns how many elements of a tile are left behind so many.
fn left(g: &mut Graph, count: NodeId, skipped: NodeId) -> NodeId {
    let rest = binary(g, BinaryOp::Sub, count, skipped);
    with_number(g, BinaryOp::Min, rest, TILE)
}

/// Where the tiles of segments are.
struct Tiles {
    /// How many tiles each segment has.
    counts: NodeId,
    /// How many tiles stand before each segment.
    firsts: NodeId,
    /// How many tiles there may be.
    most: NodeId,
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
    let counts = mapped(g, lengths, |g, count| ceil_div(g, count, TILE));
    let zero = g.lit(Lit::i64(0));
    joined(g, values, (begins, lengths, counts), Reduction { join, init }, |_, _, _| [zero, segments])
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
    let counts = generated(g, n, |g, k| {
        let length = inside(g, lengths, k);
        let tiles = ceil_div(g, length, TILE);
        let tiles = with_number(g, BinaryOp::Max, tiles, 1);
        let is_run = binary(g, BinaryOp::Lt, k, count);
        vec![select(g, is_run, tiles, zero)]
    });
    joined(g, values, (begins, lengths, counts[0]), Reduction { join, init }, |g, tiles, number| {
        // each run has a tile, so that tile t belongs to one of the runs t - more to t, where tiles are so many more
        // than runs; a tile behind all of them finds the last run, of which nothing is left
        let last = with_number(g, BinaryOp::Sub, n, 1);
        let (before, own) = (inside(g, tiles.firsts, last), inside(g, tiles.counts, last));
        let all = binary(g, BinaryOp::Add, before, own);
        let more = binary(g, BinaryOp::Sub, all, count);
        let next = with_number(g, BinaryOp::Add, number, 1);
        let high = binary(g, BinaryOp::Min, next, count);
        let high = with_number(g, BinaryOp::Max, high, 1);
        let low = binary(g, BinaryOp::Sub, next, more);
        let low = with_number(g, BinaryOp::Max, low, 1);
        [binary(g, BinaryOp::Min, low, high), high]
    })
}

/// Reduces segments that begin at indices, and have so many elements and tiles. `search` says between which numbers
/// of segments the first segment behind a tile is.
fn joined(
    g: &mut Graph,
    values: &[NodeId],
    (begins, lengths, counts): (NodeId, NodeId, NodeId),
    of: Reduction,
    search: impl FnOnce(&mut Graph, &Tiles, NodeId) -> [NodeId; 2],
) -> Vec<NodeId> {
    let segments = extent(g, lengths, 0);
    let firsts = tiles_before(g, counts);
    // all but one tile of a segment are full
    let all = extent(g, values[0], 0);
    let full = with_number(g, BinaryOp::Div, all, TILE);
    let most = binary(g, BinaryOp::Add, segments, full);
    let is_any = with_number(g, BinaryOp::Gt, segments, 0);
    let most = select(g, is_any, most, segments);
    let tiles = Tiles { counts, firsts, most };
    let of_tiles = generated(g, most, |g, number| {
        // the last one that begins at this tile or before it
        let range = search(g, &tiles, number);
        let behind = first_where(g, range, |g, i| {
            let first = inside(g, firsts, i);
            binary(g, BinaryOp::Gt, first, number)
        });
        let segment = with_number(g, BinaryOp::Sub, behind, 1);
        let first = inside(g, firsts, segment);
        let skipped = binary(g, BinaryOp::Sub, number, first);
        let skipped = with_number(g, BinaryOp::Mul, skipped, TILE);
        let (begin, length) = (inside(g, begins, segment), inside(g, lengths, segment));
        let begin = binary(g, BinaryOp::Add, begin, skipped);
        let count = left(g, length, skipped);
        tile(g, count, of, |g, i| {
            let i = binary(g, BinaryOp::Add, begin, i);
            values.iter().map(|x| inside(g, *x, i)).collect()
        })
    });
    let of_tiles: Vec<NodeId> = of_tiles.into_iter().map(|x| g.add(Op::Materialize(x))).collect();
    of_segments(g, segments, &tiles, &of_tiles, of)
}

/// Joins the results of the tiles of each segment.
fn of_segments(
    g: &mut Graph,
    segments: NodeId,
    tiles: &Tiles,
    of_tiles: &[NodeId],
    of: Reduction,
) -> Vec<NodeId> {
    // segments that overlap have left a record, and more tiles than there is room for
    let last = with_number(g, BinaryOp::Sub, tiles.most, 1);
    generated(g, segments, |g, segment| {
        let (count, first) = (inside(g, tiles.counts, segment), inside(g, tiles.firsts, segment));
        let blocks = ceil_div(g, count, TILE);
        let all = tile(g, blocks, of, |g, block| {
            let skipped = with_number(g, BinaryOp::Mul, block, TILE);
            let count = left(g, count, skipped);
            let begin = binary(g, BinaryOp::Add, first, skipped);
            tile(g, count, of, |g, i| {
                let i = binary(g, BinaryOp::Add, begin, i);
                let i = binary(g, BinaryOp::Min, i, last);
                of_tiles.iter().map(|x| inside(g, *x, i)).collect()
            })
        });
        let joined = of.joined(g, of.init, &all);
        let is_any = with_number(g, BinaryOp::Gt, count, 0);
        choose(g, is_any, &joined, of.init)
    })
}

/// Returns how many tiles stand before each segment, stored.
fn tiles_before(g: &mut Graph, counts: NodeId) -> NodeId {
    let join = g.lambda(&[Ty::I64; 2], |g, v| g.add(Op::Binary(BinaryOp::Add, v[0], v[1])));
    let init = g.lit(Lit::i64(0));
    let scan = g.add(Op::Scan { part: ScanPart::Whole, join, init, src: counts, which: 0 });
    let before = exclusive(g, &[scan], &[init]);
    g.add(Op::Materialize(before[0]))
}
