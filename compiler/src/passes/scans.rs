//! Writes scans (semantics 5.18) as parts that have strategies of their own: the totals of tiles, what stands before
//! each tile, and the tiles' scans behind that ([`ScanPart`]).
//!
//! Where the operator or an element may leave an error record, a scan becomes arrays of partial results, each
//! of which is a `generate`, so that the strategies for elements leave the records.
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
//! A partial result before a part is joined from the totals of the aligned blocks that its number has bits for:
//! before part 13 of a row stand its blocks of 8, 4 and 1 parts. So an element of `before` reads some totals of one
//! or two arrays, and no launch waits for another one's blocks. Only `before` of chunks and the totals of chunks
//! have as much as a quarter of the vector's elements.
//!
//! The last array stays an expression, so that maps and reductions of a scan share its launch; it is stored if
//! its operator may leave error records, which it then leaves once. The total of a part that is not complete is
//! any value: nothing reads it.

use crate::core::arithmetic::with_number;
use crate::core::records::may_record_here;
use crate::core::rewrite::rewrite_from;
use crate::core::scan_stages::{by_tiles, stored};
use crate::core::simplify::simplify;
use crate::core::{Function, Graph, Lambda, NodeId, Op, ScanPart, tuples};
use crate::core::{SCAN_CHUNK as CHUNK, SCAN_GROUP as GROUP, SCAN_ROW as ROW, SCAN_TILE as TILE};
use crate::error::Result;
use crate::scalar::{BinaryOp, Lit, Ty};

/// The blocks between a chunk and a row, a row and a tile, a tile and a group, whose totals are stored as well.
const CHUNKS: i64 = 4 * CHUNK;
const ROWS: i64 = 8 * ROW;
const TILES: i64 = 4 * TILE;

/// Runs the pass.
pub fn run(f: Function) -> Result<Function> {
    if !f.needs(|n| matches!(f.graph.op(n), Op::Scan { .. })) {
        return Ok(f);
    }
    Ok(rewrite_from(&f, true, &mut |g, op, old| match op {
        Op::Scan { part: ScanPart::Whole, join, init, src, which } => {
            let once = f.graph.node(old).once;
            if !may_record_here(g, [join.body, init, src]) {
                let tiles = by_tiles(g, (join, init, src), which, once);
                return stored(g, tiles, once);
            }
            let init = tuples::components(g, init);
            Scan::new(g, join, src, once).results(g, &init)[which as usize]
        }
        op => g.add(op),
    }))
}

/// The components of a value.
type Value = Vec<NodeId>;

/// Arrays of one length: one for each component of the totals of blocks of `size` elements, in order.
struct Totals {
    size: i64,
    arrays: Value,
}

/// A scan that is being written.
struct Scan {
    join: Lambda,
    types: Vec<Ty>,
    /// The array of each component.
    sources: Value,
    count: NodeId,
    /// Whether it is computed once for the call, and leaves its records whatever is read of it.
    once: bool,
}

impl Scan {
    fn new(g: &mut Graph, join: Lambda, src: NodeId, once: bool) -> Scan {
        let sources = tuples::arrays_of_components(g, src);
        if once {
            let made: Value = sources.iter().copied().filter(|x| g.op(*x).needs_launch()).collect();
            made.into_iter().for_each(|x| g.mark_once(x));
        }
        let types = sources.iter().map(|x| g.ty(*x).elem).collect();
        let count = g.add(Op::Len(sources[0], 0));
        Scan { join, types, sources, count, once }
    }

    /// The arrays of the components of the result.
    fn results(&self, g: &mut Graph, init: &[NodeId]) -> Value {
        let before = self.before_chunks(g, init);
        let all = self.arrays(g, 1, &|g, i| {
            let own = self.in_chunk(g, i);
            let chunk = quotient(g, i, CHUNK);
            let before = elements(g, &before, chunk);
            self.joined(g, &before, &own)
        });
        let records = g.reachable([self.join.body]).into_iter().any(|n| g.op(n).may_record(g));
        if records { self.kept(g, all) } else { all }
    }

    /// What stands before each chunk.
    fn before_chunks(&self, g: &mut Graph, init: &[NodeId]) -> Value {
        let own = Totals { size: 1, arrays: self.sources.clone() };
        let mut all = vec![own];
        for size in [CHUNK, CHUNKS, ROW, ROWS, TILE, TILES, GROUP] {
            let totals = self.totals(g, &all[all.len() - 1], size);
            all.push(totals);
        }
        let [_, chunks, four_chunks, rows, eight_rows, tiles, four_tiles, groups] = &all[..] else {
            unreachable!("as many as sizes")
        };
        let of_groups = self.stored(g, GROUP, &|g, group| self.chain(g, init, groups, group));
        let of_tiles = self.stored(g, TILE, &|g, tile| {
            let group = quotient(g, tile, GROUP / TILE);
            let group = elements(g, &of_groups, group);
            let (is_there, inside) = self.before(g, tile, &[tiles, four_tiles], GROUP);
            let both = self.joined(g, &group, &inside);
            selected(g, is_there, &both, &group)
        });
        let of_rows = self.stored(g, ROW, &|g, row| self.before(g, row, &[rows, eight_rows], TILE).1);
        self.stored(g, CHUNK, &|g, chunk| {
            let [row, tile] = [ROW, TILE].map(|size| quotient(g, chunk, size / CHUNK));
            let [row_values, outer] = [(&of_rows, row), (&of_tiles, tile)].map(|(x, i)| elements(g, x, i));
            let (in_row, value) = self.before(g, chunk, &[chunks, four_chunks], ROW);
            let first = remainder(g, row, TILE / ROW);
            let in_tile = is_not_zero(g, first);
            let inside = self.maybe_joined(g, (in_tile, &row_values), (in_row, &value));
            let both = self.joined(g, &outer, &inside);
            let any = simplify(g, Op::Binary(BinaryOp::Or, in_tile, in_row));
            selected(g, any, &both, &outer)
        })
    }

    /// The totals of blocks of that many elements, each of some blocks that are smaller.
    fn totals(&self, g: &mut Graph, below: &Totals, size: i64) -> Totals {
        let by = size / below.size;
        let last = {
            let parts = self.parts(g, below.size);
            minus(g, parts, 1)
        };
        let arrays = self.stored(g, size, &|g, block| {
            let first = times(g, block, by);
            let values = (0..by).map(|place| {
                let index = plus(g, first, place);
                let index = simplify(g, Op::Binary(BinaryOp::Min, index, last));
                elements(g, &below.arrays, index)
            });
            let values: Vec<Value> = values.collect();
            // one that is not complete must not leave a record
            let next = plus(g, block, 1);
            let end = times(g, next, size);
            let is_complete = simplify(g, Op::Binary(BinaryOp::Le, end, self.count));
            let total = self.tree(g, &values);
            selected(g, is_complete, &total, &values[0])
        });
        Totals { size, arrays }
    }

    /// The initial value and the totals of the groups before a group, joined one after the other.
    fn chain(&self, g: &mut Graph, init: &[NodeId], groups: &Totals, group: NodeId) -> Value {
        let types = [&[Ty::I64], &self.types[..]].concat();
        let step = g.lambda(&types, |g, vars| {
            let next = elements(g, &groups.arrays, vars[0]);
            let next = self.joined(g, &vars[1..], &next);
            let goes_on = g.lit(Lit::bool(true));
            g.add(Op::Tuple([&[goes_on], &next[..]].concat()))
        });
        let state = |which| Op::Loop { step: step.clone(), which, count: group, init: init.to_vec() };
        (0..self.types.len() as u32).map(|which| g.add(state(which))).collect()
    }

    /// The part of that number in a larger one of `whole` elements: whether it is not the first one, and the values
    /// of those before it, joined. `levels` are the totals of such parts and of larger blocks of them.
    fn before(&self, g: &mut Graph, number: NodeId, levels: &[&Totals], whole: i64) -> (NodeId, Value) {
        let own = levels[0].size;
        let mut found: Option<(NodeId, Value)> = None;
        for (level, totals) in levels.iter().enumerate() {
            let end = levels.get(level + 1).map_or(whole, |next| next.size);
            let last = {
                let count = self.parts(g, totals.size);
                minus(g, count, 1)
            };
            let mut blocks = 1;
            while totals.size * blocks < end {
                let bit = quotient(g, number, totals.size * blocks / own);
                let bit = remainder(g, bit, 2);
                let is_there = is_not_zero(g, bit);
                let pair = quotient(g, number, totals.size * blocks * 2 / own);
                let first = times(g, pair, blocks * 2);
                let values = (0..blocks).map(|place| {
                    // the total is needed only if the whole block is there
                    let index = plus(g, first, place);
                    let index = simplify(g, Op::Binary(BinaryOp::Min, index, last));
                    elements(g, &totals.arrays, index)
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

    /// The partial result of an element in its chunk.
    fn in_chunk(&self, g: &mut Graph, i: NodeId) -> Value {
        let [place, odd] = [CHUNK, 2].map(|n| remainder(g, i, n));
        let own = elements(g, &self.sources, i);
        // no index is beyond the element's own, also where the value there is not needed
        let before = simplify(g, Op::Binary(BinaryOp::Sub, i, odd));
        let before = elements(g, &self.sources, before);
        let is_odd = is_not_zero(g, odd);
        let pair = self.joined(g, &before, &own);
        let pair = selected(g, is_odd, &pair, &own);
        let first = simplify(g, Op::Binary(BinaryOp::Sub, i, place));
        let high = quotient(g, place, 2);
        let second = simplify(g, Op::Binary(BinaryOp::Add, first, high));
        let [first, second] = [first, second].map(|i| elements(g, &self.sources, i));
        let low = self.joined(g, &first, &second);
        let both = self.joined(g, &low, &pair);
        let is_high = is_not_zero(g, high);
        selected(g, is_high, &both, &pair)
    }

    fn joined(&self, g: &mut Graph, a: &[NodeId], b: &[NodeId]) -> Value {
        let body = g.open(&self.join, &[a, b].concat());
        tuples::components(g, body)
    }

    /// Two values, one of which may be missing, joined; any value if both are.
    fn maybe_joined(&self, g: &mut Graph, a: (NodeId, &Value), b: (NodeId, &Value)) -> Value {
        let both = self.joined(g, a.1, b.1);
        let with_b = selected(g, b.0, &both, a.1);
        selected(g, a.0, &with_b, b.1)
    }

    /// Values joined as neighbours; their number is a power of two.
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

    /// The number of blocks of that many elements, the last of which may not be complete.
    fn parts(&self, g: &mut Graph, size: i64) -> NodeId {
        let up = plus(g, self.count, size - 1);
        quotient(g, up, size)
    }

    /// An array for each component of a value of each block of `size` elements.
    fn arrays(&self, g: &mut Graph, size: i64, value: &dyn Fn(&mut Graph, NodeId) -> Value) -> Value {
        let count = self.parts(g, size);
        let component = |which: usize| {
            let lambda = g.lambda(&[Ty::I64], |g, number| value(g, number[0])[which]);
            g.add(Op::Generate(vec![count], lambda))
        };
        (0..self.types.len()).map(component).collect()
    }

    /// The same, stored.
    fn stored(&self, g: &mut Graph, size: i64, value: &dyn Fn(&mut Graph, NodeId) -> Value) -> Value {
        let all = self.arrays(g, size, value);
        self.kept(g, all)
    }

    fn kept(&self, g: &mut Graph, all: Value) -> Value {
        let all: Value = all.into_iter().map(|x| g.add(Op::Materialize(x))).collect();
        all.iter().filter(|_| self.once).for_each(|x| g.mark_once(*x));
        all
    }
}

/// The elements of arrays at an index that is in bounds.
fn elements(g: &mut Graph, arrays: &[NodeId], index: NodeId) -> Value {
    arrays.iter().map(|x| g.add(Op::Elem(*x, vec![index]))).collect()
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
