//! Scans (semantics 5.18) as arrays of the totals of larger and larger parts of lines ([`Lines`]).
//!
//! ```text
//! %s = scan (+) from %init over %x
//!   ->
//! %totals = materialize (generate (n / 4) (%c) { (x[4 c] + x[4 c + 1]) + (x[4 c + 2] + x[4 c + 3]) })
//! ..                                       the totals of larger parts, each of those of smaller ones
//! %groups = materialize (generate .. (%g) { loop: init + group 0 + .. + group g - 1 })
//! %before = materialize (generate .. (%c) { what stands before chunk c })
//! %s = generate n (%i) { %before[i / 4] + (the partial result of element i in its chunk) }
//! ```
//!
//! The partial result before a part is joined from the totals of aligned blocks, one for each bit of the part's
//! number: before part 13 of a row there are blocks of 8, 4 and 1 parts. So an element of `before` reads some totals
//! of one or two arrays, and no launch waits for blocks of its own. Only `before` of chunks and the totals of chunks
//! have as much as a quarter of the vector's elements.
//!
//! The last array stays an expression, so that maps and reductions of a scan share its launch. It is stored if its
//! operator may leave error records, which it then leaves once, and if the lines are planes. The total of a part that
//! is not complete may be any value: nothing needs it. It is still read, because both arms of a choice may be, so
//! every index is inside of its array, and an array of parts has a value wherever a line has an element.

use super::arithmetic::with_number;
use super::scan_lines::{Line, Lines};
use super::simplify::simplify;
use super::{Graph, Lambda, NodeId, Op, tuples};
use super::{SCAN_CHUNK as CHUNK, SCAN_GROUP as GROUP, SCAN_ROW as ROW, SCAN_TILE as TILE};
use crate::scalar::{BinaryOp, Lit, Ty};

/// The numbers of parts of the blocks between a chunk and a row, a row and a tile, a tile and a group. Their totals
/// are stored as well.
const CHUNKS: i64 = 4 * CHUNK;
const ROWS: i64 = 8 * ROW;
const TILES: i64 = 4 * TILE;

/// The components of a value.
type Value = Vec<NodeId>;

/// Arrays of one shape: one for each component of the totals of blocks of `size` elements, in order.
struct Totals {
    size: i64,
    arrays: Value,
}

/// What stands before parts of `size` elements: an array for each component.
struct Before<'a> {
    size: i64,
    arrays: Value,
    init: &'a [NodeId],
}

/// A scan that is being written.
pub struct Scan {
    join: Lambda,
    types: Vec<Ty>,
    /// The array of each component.
    sources: Value,
    lines: Lines,
    /// Whether it is computed once for the call, and so leaves its records whatever is read of it.
    once: bool,
}

impl Scan {
    /// Returns the scan of lines of arrays, one array for each component of the operator.
    pub fn new(g: &Graph, (join, sources): (Lambda, Vec<NodeId>), lines: Lines, once: bool) -> Scan {
        let types = sources.iter().map(|x| g.ty(*x).elem).collect();
        Scan { join, types, sources, lines, once }
    }

    /// Returns the arrays of the components of the result.
    pub fn results(&self, g: &mut Graph, init: &[NodeId]) -> Vec<NodeId> {
        let before = self.before_chunks(g, init);
        let all = self.lines.elements(g, &|g, line, i| {
            let own = self.in_chunk(g, line, i);
            let chunk = quotient(g, i, CHUNK);
            let before = self.before_part(g, &before, line, chunk);
            let both = self.joined(g, &before, &own);
            match line.exists {
                Some(exists) => selected(g, exists, &both, init),
                None => both,
            }
        });
        let records = g.reachable([self.join.body]).into_iter().any(|n| g.op(n).may_record(g));
        if records || self.lines.has_costly_places() { self.kept(g, all) } else { all }
    }

    /// Returns what stands before each chunk.
    fn before_chunks<'a>(&self, g: &mut Graph, init: &'a [NodeId]) -> Before<'a> {
        let own = Totals { size: 1, arrays: self.sources.clone() };
        let mut all = vec![own];
        for size in [CHUNK, CHUNKS, ROW, ROWS, TILE, TILES, GROUP] {
            let totals = self.totals(g, &all[all.len() - 1], size);
            all.push(totals);
        }
        let [_, chunks, four_chunks, rows, eight_rows, tiles, four_tiles, groups] = &all[..] else {
            unreachable!("as many as sizes")
        };
        let of_groups = self
            .stored_before(g, (GROUP, init), &|g, line, group| self.chain(g, init, groups, (line, group)));
        let of_tiles = self.stored_before(g, (TILE, init), &|g, line, tile| {
            let group = quotient(g, tile, GROUP / TILE);
            let group = self.before_part(g, &of_groups, line, group);
            let (is_there, inside) = self.before(g, (line, tile), &[tiles, four_tiles], GROUP);
            let both = self.joined(g, &group, &inside);
            selected(g, is_there, &both, &group)
        });
        let of_rows = self.stored_before(g, (ROW, init), &|g, line, row| {
            self.before(g, (line, row), &[rows, eight_rows], TILE).1
        });
        self.stored_before(g, (CHUNK, init), &|g, line, chunk| {
            let [row, tile] = [ROW, TILE].map(|size| quotient(g, chunk, size / CHUNK));
            let [row_values, outer] =
                [(&of_rows, row), (&of_tiles, tile)].map(|(x, i)| self.before_part(g, x, line, i));
            let (in_row, value) = self.before(g, (line, chunk), &[chunks, four_chunks], ROW);
            let first = remainder(g, row, TILE / ROW);
            let in_tile = is_not_zero(g, first);
            let inside = self.maybe_joined(g, (in_tile, &row_values), (in_row, &value));
            let both = self.joined(g, &outer, &inside);
            let any = simplify(g, Op::Binary(BinaryOp::Or, in_tile, in_row));
            selected(g, any, &both, &outer)
        })
    }

    /// Stores what stands before each part of `size` elements. If lines only have room for complete parts, the value
    /// of a part is what stands before the next one.
    fn stored_before<'a>(
        &self,
        g: &mut Graph,
        (size, init): (i64, &'a [NodeId]),
        value: &dyn Fn(&mut Graph, &Line, NodeId) -> Value,
    ) -> Before<'a> {
        let arrays = self.stored(g, size, &|g, line, number| {
            if !self.lines.has_complete_parts_only() {
                return value(g, line, number);
            }
            let next = plus(g, number, 1);
            let before = value(g, line, next);
            let is_complete = self.lines.is_complete(g, line, number, size);
            selected(g, is_complete, &before, init)
        });
        Before { size, arrays, init }
    }

    /// Returns what stands before a part.
    fn before_part(&self, g: &mut Graph, before: &Before, line: &Line, number: NodeId) -> Value {
        if !self.lines.has_complete_parts_only() {
            return self.values(g, (&before.arrays, before.size), line, number);
        }
        let is_not_first = with_number(g, BinaryOp::Gt, number, 0);
        let previous = minus(g, number, 1);
        let previous = with_number(g, BinaryOp::Max, previous, 0);
        let found = self.values(g, (&before.arrays, before.size), line, previous);
        selected(g, is_not_first, &found, before.init)
    }

    /// Returns the totals of blocks of this many elements, each of which consists of some smaller blocks.
    fn totals(&self, g: &mut Graph, below: &Totals, size: i64) -> Totals {
        let by = size / below.size;
        let arrays = self.stored(g, size, &|g, line, block| {
            let last = self.lines.last(g, line, below.size);
            let first = times(g, block, by);
            let values = (0..by).map(|place| {
                let number = plus(g, first, place);
                let number = simplify(g, Op::Binary(BinaryOp::Min, number, last));
                self.values(g, (&below.arrays, below.size), line, number)
            });
            let values: Vec<Value> = values.collect();
            // an incomplete block must leave no record
            let is_complete = self.lines.is_complete(g, line, block, size);
            let total = self.tree(g, &values);
            selected(g, is_complete, &total, &values[0])
        });
        Totals { size, arrays }
    }

    /// Returns the initial value and the totals of the groups before a group, joined one after the other.
    fn chain(
        &self,
        g: &mut Graph,
        init: &[NodeId],
        groups: &Totals,
        (line, group): (&Line, NodeId),
    ) -> Value {
        let types = [&[Ty::I64], &self.types[..]].concat();
        let step = g.lambda(&types, |g, vars| {
            let next = self.values(g, (&groups.arrays, groups.size), line, vars[0]);
            let next = self.joined(g, &vars[1..], &next);
            let goes_on = g.lit(Lit::bool(true));
            g.add(Op::Tuple([&[goes_on], &next[..]].concat()))
        });
        let state = |which| Op::Loop { step: step.clone(), which, count: group, init: init.to_vec() };
        (0..self.types.len() as u32).map(|which| g.add(state(which))).collect()
    }

    /// For the part with this number in a larger one of `whole` elements, returns whether it is not the first one,
    /// and the join of those before it. `levels` are the totals of such parts and of larger blocks of them.
    fn before(
        &self,
        g: &mut Graph,
        (line, number): (&Line, NodeId),
        levels: &[&Totals],
        whole: i64,
    ) -> (NodeId, Value) {
        let own = levels[0].size;
        let mut found: Option<(NodeId, Value)> = None;
        for (level, totals) in levels.iter().enumerate() {
            let end = levels.get(level + 1).map_or(whole, |next| next.size);
            let last = self.lines.last(g, line, totals.size);
            let mut blocks = 1;
            while totals.size * blocks < end {
                let bit = quotient(g, number, totals.size * blocks / own);
                let bit = remainder(g, bit, 2);
                let is_there = is_not_zero(g, bit);
                let pair = quotient(g, number, totals.size * blocks * 2 / own);
                let first = times(g, pair, blocks * 2);
                let values = (0..blocks).map(|place| {
                    // the total is needed only if the whole block exists
                    let number = plus(g, first, place);
                    let number = simplify(g, Op::Binary(BinaryOp::Min, number, last));
                    self.values(g, (&totals.arrays, totals.size), line, number)
                });
                let values: Vec<Value> = values.collect();
                let block = self.tree(g, &values);
                found = Some(match found {
                    None => (is_there, block),
                    Some((rest_is_there, rest)) => {
                        let any = simplify(g, Op::Binary(BinaryOp::Or, is_there, rest_is_there));
                        (any, self.maybe_joined(g, (is_there, &block), (rest_is_there, &rest)))
                    }
                });
                blocks *= 2;
            }
        }
        found.expect("a part has several smaller ones")
    }

    /// Returns the partial result of an element in its chunk.
    fn in_chunk(&self, g: &mut Graph, line: &Line, i: NodeId) -> Value {
        let read = |g: &mut Graph, i| self.values(g, (&self.sources, 1), line, i);
        let [place, odd] = [CHUNK, 2].map(|n| remainder(g, i, n));
        let own = read(g, i);
        // no index is beyond the element's own, even where the value there is not needed
        let before = simplify(g, Op::Binary(BinaryOp::Sub, i, odd));
        let before = read(g, before);
        let is_odd = is_not_zero(g, odd);
        let pair = self.joined(g, &before, &own);
        let pair = selected(g, is_odd, &pair, &own);
        let first = simplify(g, Op::Binary(BinaryOp::Sub, i, place));
        let high = quotient(g, place, 2);
        let second = simplify(g, Op::Binary(BinaryOp::Add, first, high));
        let [first, second] = [first, second].map(|i| read(g, i));
        let low = self.joined(g, &first, &second);
        let both = self.joined(g, &low, &pair);
        let is_high = is_not_zero(g, high);
        selected(g, is_high, &both, &pair)
    }

    /// Returns the values of a part of a line, or of an element, from arrays of parts of `size` elements.
    fn values(&self, g: &mut Graph, (arrays, size): (&[NodeId], i64), line: &Line, number: NodeId) -> Value {
        let index = self.lines.index(g, line, size, number);
        arrays.iter().map(|x| g.add(Op::Elem(*x, index.clone()))).collect()
    }

    fn joined(&self, g: &mut Graph, a: &[NodeId], b: &[NodeId]) -> Value {
        let body = g.open(&self.join, &[a, b].concat());
        tuples::components(g, body)
    }

    /// Returns the join of two values, either of which may be missing; any value if both are.
    fn maybe_joined(&self, g: &mut Graph, a: (NodeId, &Value), b: (NodeId, &Value)) -> Value {
        let both = self.joined(g, a.1, b.1);
        let with_b = selected(g, b.0, &both, a.1);
        selected(g, a.0, &with_b, b.1)
    }

    /// Returns the join of values as neighbours; their number is a power of two.
    fn tree(&self, g: &mut Graph, values: &[Value]) -> Value {
        match values {
            [one] => one.clone(),
            _ => {
                let (low, high) = values.split_at(values.len() / 2);
                let [low, high] = [low, high].map(|half| self.tree(g, half));
                self.joined(g, &low, &high)
            }
        }
    }

    /// Returns, for each component of a value of each part of `size` elements, a stored array.
    fn stored(&self, g: &mut Graph, size: i64, value: &dyn Fn(&mut Graph, &Line, NodeId) -> Value) -> Value {
        let all = self.lines.parts(g, size, value);
        self.kept(g, all)
    }

    fn kept(&self, g: &mut Graph, all: Value) -> Value {
        let all: Value = all.into_iter().map(|x| g.add(Op::Materialize(x))).collect();
        all.iter().filter(|_| self.once).for_each(|x| g.mark_once(*x));
        all
    }
}

fn selected(g: &mut Graph, condition: NodeId, a: &[NodeId], b: &[NodeId]) -> Value {
    a.iter().zip(b).map(|(a, b)| simplify(g, Op::Select(condition, *a, *b))).collect()
}

fn plus(g: &mut Graph, a: NodeId, n: i64) -> NodeId {
    with_number(g, BinaryOp::Add, a, n)
}

fn minus(g: &mut Graph, a: NodeId, n: i64) -> NodeId {
    with_number(g, BinaryOp::Sub, a, n)
}

fn times(g: &mut Graph, a: NodeId, n: i64) -> NodeId {
    with_number(g, BinaryOp::Mul, a, n)
}

fn quotient(g: &mut Graph, a: NodeId, n: i64) -> NodeId {
    with_number(g, BinaryOp::Div, a, n)
}

fn remainder(g: &mut Graph, a: NodeId, n: i64) -> NodeId {
    with_number(g, BinaryOp::Rem, a, n)
}

fn is_not_zero(g: &mut Graph, a: NodeId) -> NodeId {
    with_number(g, BinaryOp::Ne, a, 0)
}
