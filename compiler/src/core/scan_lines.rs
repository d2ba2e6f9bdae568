//! Scans of the rows, columns and planes of arrays, each in the order of semantics 5.18 from its own start.
//!
//! ```text
//! %s = scan_rows (+) from %init over %x
//!   ->
//! %chunks = generate (%i, %q) { the total of chunk %q of row %i }      stored, and so are the others
//! %halved = generate (%i, %q) { the totals of the chunks of %q's own row of chunks, halved }
//! ..                                                                   the same of rows, tiles and groups
//! %s = generate (%i, %j) { what stands before %j's own chunk, joined with that chunk's elements up to %j }
//! ```
//!
//! A line of n elements has as many chunks (rows, tiles, groups) as stand before the part of its last element: all of
//! them are full, so that no total is computed which no element needs.

use super::arithmetic::{binary, select, with_number};
use super::element_loops::looped;
use super::segments::{Reduction, bit, choose};
use super::simplify::extent;
use super::{Graph, Lambda, NodeId, Op, SCAN_CHUNK, SCAN_GROUP, SCAN_ROW, SCAN_TILE};
use crate::scalar::{BinaryOp, Lit, Ty};
use std::ops::Range;

/// What is a sequence of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Along {
    /// Each row: along the last axis.
    Rows,
    /// Each column: along the last axis but one.
    Columns,
    /// Each plane, row by row.
    Planes,
}

/// Sequences in arrays of one shape.
struct Lines {
    along: Along,
    /// The extents of the arrays.
    extents: Vec<NodeId>,
    /// The number of elements of a line.
    len: NodeId,
}

impl Lines {
    fn new(g: &mut Graph, src: NodeId, along: Along) -> Lines {
        let extents: Vec<NodeId> = (0..g.ty(src).rank).map(|axis| extent(g, src, axis)).collect();
        let len = match along {
            Along::Planes => binary(g, BinaryOp::Mul, extents[1], extents[2]),
            _ => extents[Lines::axis(along, extents.len())],
        };
        Lines { along, extents, len }
    }

    /// The axis along which the parts of lines lie, in arrays of so many axes.
    fn axis(along: Along, rank: usize) -> usize {
        match along {
            Along::Rows => rank - 1,
            Along::Columns => rank - 2,
            Along::Planes => 1,
        }
    }

    /// Where element i of a line lies in the arrays. `line` has all indices of an array of parts.
    fn element(&self, g: &mut Graph, line: &[NodeId], i: NodeId) -> Vec<NodeId> {
        if self.along != Along::Planes {
            return self.part(line, i);
        }
        let [row, col] = [BinaryOp::Div, BinaryOp::Rem].map(|op| binary(g, op, i, self.extents[2]));
        vec![line[0], row, col]
    }

    /// Where part i of a line lies in an array of parts.
    fn part(&self, line: &[NodeId], i: NodeId) -> Vec<NodeId> {
        let mut index = line.to_vec();
        index[Lines::axis(self.along, line.len())] = i;
        index
    }

    /// The indices of an element among parts, and its number in its line.
    fn of_element(&self, g: &mut Graph, index: &[NodeId]) -> (Vec<NodeId>, NodeId) {
        if self.along != Along::Planes {
            return (index.to_vec(), index[Lines::axis(self.along, index.len())]);
        }
        let before = binary(g, BinaryOp::Mul, index[1], self.extents[2]);
        let i = binary(g, BinaryOp::Add, before, index[2]);
        (vec![index[0], i], i)
    }

    /// The arrays of the values of parts of lines: one for each of those parts of so many elements that stand before the
    /// part of the last element. `f` gets the part's indices and its number.
    fn parts(
        &self,
        g: &mut Graph,
        size: i64,
        f: impl FnOnce(&mut Graph, &[NodeId], NodeId) -> Vec<NodeId>,
    ) -> Vec<NodeId> {
        let last = with_number(g, BinaryOp::Sub, self.len, 1);
        let last = with_number(g, BinaryOp::Max, last, 0);
        let count = with_number(g, BinaryOp::Div, last, size);
        let mut extents = match self.along {
            Along::Planes => self.extents[..2].to_vec(),
            _ => self.extents.clone(),
        };
        let axis = Lines::axis(self.along, extents.len());
        extents[axis] = count;
        generated(g, extents, |g, index| f(g, index, index[axis]))
    }
}

fn stored(g: &mut Graph, arrays: Vec<NodeId>) -> Vec<NodeId> {
    arrays.into_iter().map(|x| g.add(Op::Materialize(x))).collect()
}

/// The arrays of the values of a function of their indices.
fn generated(
    g: &mut Graph,
    extents: Vec<NodeId>,
    f: impl FnOnce(&mut Graph, &[NodeId]) -> Vec<NodeId>,
) -> Vec<NodeId> {
    let variables: Vec<_> = extents.iter().map(|_| g.fresh_var(Ty::I64)).collect();
    let index: Vec<NodeId> = variables.iter().map(|(_, node)| *node).collect();
    let params: Vec<_> = variables.iter().map(|(var, _)| (*var, Ty::I64)).collect();
    let values = f(g, &index);
    let one = |value| {
        let lambda = g.close(&params, value);
        g.add(Op::Generate(extents.clone(), lambda))
    };
    values.into_iter().map(one).collect()
}

/// The elements of several arrays at an index that is inside of them wherever they are needed.
fn read(g: &mut Graph, srcs: &[NodeId], index: &[NodeId]) -> Vec<NodeId> {
    srcs.iter().map(|x| g.add(Op::Elem(*x, index.to_vec()))).collect()
}

/// A function that reads the values of a line.
type Read<'a> = &'a dyn Fn(&mut Graph, NodeId) -> Vec<NodeId>;

/// Returns value i of a line whose values are halved as parts of 2^`levels.start` are, as it is where they are halved
/// as parts of 2^`levels.end` are.
fn halved(g: &mut Graph, of: Reduction, levels: Range<u32>, i: NodeId, read: Read) -> Vec<NodeId> {
    let mut own = read(g, i);
    for level in levels.clone() {
        let is_higher = bit(g, i, level as usize);
        let begin = with_number(g, BinaryOp::Shr, i, i64::from(level));
        let begin = with_number(g, BinaryOp::Shl, begin, i64::from(level));
        let last = with_number(g, BinaryOp::Sub, begin, 1);
        let total = total(g, of, levels.start..level, last, read);
        let both = of.joined(g, &total, &own);
        own = choose(g, is_higher, &both, &own);
    }
    own
}

/// Returns the total of the part of 2^`levels.end` values that ends with value `last`, of values that are halved as
/// parts of 2^`levels.start` are.
fn total(g: &mut Graph, of: Reduction, levels: Range<u32>, last: NodeId, read: Read) -> Vec<NodeId> {
    if levels.is_empty() {
        // where there is no such part, nothing needs it
        let last = with_number(g, BinaryOp::Max, last, 0);
        return read(g, last);
    }
    let lower = levels.start..levels.end - 1;
    let end_of_lower = with_number(g, BinaryOp::Sub, last, 1 << lower.end);
    let left = total(g, of, lower.clone(), end_of_lower, read);
    let right = total(g, of, lower, last, read);
    of.joined(g, &left, &right)
}

/// Returns the totals of parts of lines, halved: in two steps of so many levels, which are stored.
fn halved_totals(
    g: &mut Graph,
    (lines, of): (&Lines, Reduction),
    size: i64,
    levels: [u32; 2],
    totals: &[NodeId],
) -> Vec<NodeId> {
    let [low, all] = [levels[0], levels[0] + levels[1]];
    let stage = |g: &mut Graph, x: &[NodeId], levels: Range<u32>| {
        let all = lines
            .parts(g, size, |g, line, i| halved(g, of, levels, i, &|g, i| read(g, x, &lines.part(line, i))));
        stored(g, all)
    };
    let some = stage(g, totals, 0..low);
    stage(g, &some, low..all)
}

/// Returns the totals of parts, each the last of so many smaller ones, whose halved totals are known.
fn last_of_each(g: &mut Graph, lines: &Lines, size: i64, parts: i64, halved: &[NodeId]) -> Vec<NodeId> {
    lines.parts(g, size, |g, line, i| {
        let next = with_number(g, BinaryOp::Add, i, 1);
        let behind = with_number(g, BinaryOp::Mul, next, parts);
        let last = with_number(g, BinaryOp::Sub, behind, 1);
        read(g, halved, &lines.part(line, last))
    })
}

/// What the elements and the initial value join to, up to and with each group.
fn chained(
    g: &mut Graph,
    (lines, of): (&Lines, Reduction),
    init: &[NodeId],
    groups: &[NodeId],
) -> Vec<NodeId> {
    let all = lines.parts(g, SCAN_GROUP, |g, line, group| {
        let count = with_number(g, BinaryOp::Add, group, 1);
        let yes = g.lit(Lit::bool(true));
        let mut all = looped(g, count, init, |g, i, before| {
            let own = read(g, groups, &lines.part(line, i));
            (yes, of.joined(g, before, &own))
        });
        all.pop();
        all
    });
    stored(g, all)
}

/// Returns the scans of the lines of arrays of one shape: an array for each component of the operator.
pub fn scanned(g: &mut Graph, srcs: &[NodeId], along: Along, init: &[NodeId], join: &Lambda) -> Vec<NodeId> {
    let (lines, of) = (Lines::new(g, srcs[0], along), Reduction { join, init });
    let lines = &lines;
    let chunks = lines.parts(g, SCAN_CHUNK, |g, line, q| {
        let next = with_number(g, BinaryOp::Add, q, 1);
        let behind = with_number(g, BinaryOp::Mul, next, SCAN_CHUNK);
        let last = with_number(g, BinaryOp::Sub, behind, 1);
        total(g, of, 0..2, last, &|g, i| {
            let index = lines.element(g, line, i);
            read(g, srcs, &index)
        })
    });
    let chunks = stored(g, chunks);
    let chunks = halved_totals(g, (lines, of), SCAN_CHUNK, [2, 3], &chunks);
    let rows = last_of_each(g, lines, SCAN_ROW, SCAN_ROW / SCAN_CHUNK, &chunks);
    let rows = halved_totals(g, (lines, of), SCAN_ROW, [3, 3], &rows);
    let tiles = last_of_each(g, lines, SCAN_TILE, SCAN_TILE / SCAN_ROW, &rows);
    let tiles = halved_totals(g, (lines, of), SCAN_TILE, [2, 3], &tiles);
    let groups = last_of_each(g, lines, SCAN_GROUP, SCAN_GROUP / SCAN_TILE, &tiles);
    let before = chained(g, (lines, of), init, &groups);
    joined(g, (lines, of), srcs, init, [&chunks, &rows, &tiles, &before])
}

/// Joins what stands before each element, of which there are the chunks, rows and tiles before its own in the larger
/// parts, and the groups.
fn joined(
    g: &mut Graph,
    (lines, of): (&Lines, Reduction),
    srcs: &[NodeId],
    init: &[NodeId],
    [chunks, rows, tiles, groups]: [&[NodeId]; 4],
) -> Vec<NodeId> {
    generated(g, lines.extents.clone(), |g, index| {
        let (line, i) = lines.of_element(g, index);
        let own = halved(g, of, 0..2, i, &|g, i| {
            let index = lines.element(g, &line, i);
            read(g, srcs, &index)
        });
        // the part before the element's own, if that is not the first one of a larger part
        let part = |g: &mut Graph, x: &[NodeId], size: i64, larger: Option<i64>| {
            let number = with_number(g, BinaryOp::Shr, i, i64::from(size.ilog2()));
            let in_larger = match larger {
                Some(larger) => with_number(g, BinaryOp::And, number, larger / size - 1),
                None => number,
            };
            let has_one = with_number(g, BinaryOp::Gt, in_larger, 0);
            let before = with_number(g, BinaryOp::Sub, number, 1);
            let before = with_number(g, BinaryOp::Max, before, 0);
            (has_one, read(g, x, &lines.part(&line, before)))
        };
        let (has_group, group) = part(g, groups, SCAN_GROUP, None);
        let (has_tile, tile) = part(g, tiles, SCAN_TILE, Some(SCAN_GROUP));
        let (has_row, row) = part(g, rows, SCAN_ROW, Some(SCAN_TILE));
        let (has_chunk, chunk) = part(g, chunks, SCAN_CHUNK, Some(SCAN_ROW));
        let first = choose(g, has_group, &group, init);
        let both = of.joined(g, &first, &tile);
        let first = choose(g, has_tile, &both, &first);
        let both = of.joined(g, &row, &chunk);
        let both = choose(g, has_chunk, &both, &row);
        let second = choose(g, has_row, &both, &chunk);
        let has_second = binary(g, BinaryOp::Or, has_row, has_chunk);
        let both = of.joined(g, &first, &second);
        let outer = choose(g, has_second, &both, &first);
        of.joined(g, &outer, &own)
    })
}

/// Returns the scans that leave out each element's own value, from those that do not: the first value is `init`.
pub fn exclusive(g: &mut Graph, scans: &[NodeId], along: Along, init: &[NodeId]) -> Vec<NodeId> {
    let lines = Lines::new(g, scans[0], along);
    generated(g, lines.extents.clone(), |g, index| {
        let (line, i) = lines.of_element(g, index);
        let has_one = with_number(g, BinaryOp::Gt, i, 0);
        let before = with_number(g, BinaryOp::Sub, i, 1);
        let before = with_number(g, BinaryOp::Max, before, 0);
        let index = lines.element(g, &line, before);
        let read = read(g, scans, &index);
        let one = |(own, init): (&NodeId, &NodeId)| select(g, has_one, *own, *init);
        read.iter().zip(init).map(one).collect()
    })
}
