//! Lines: the sequences of an array that are scanned, each by itself, from its own start (semantics 5.18).
//!
//! ```text
//! a matrix of 2 rows of 9 elements      rows: 2 lines, whose chunks are a matrix of 2 rows of 3
//!                                       columns: 9 lines, whose chunks are a matrix of 1 row of 9
//! a vector with the offsets 0, 7, 9    chunk 0 of the first segment has place 0 of 3, that of the second has place 1
//! ```
//!
//! Arrays of parts of a matrix have places for all parts, complete or not. Arrays of parts of segments have as many
//! places as the vector without segments has parts: part q of a segment that begins at element b has the place b /
//! size + q. A complete part shares its place with no other one, because the next segment begins after all elements
//! of the complete parts. The segment of a place is that of the last element of the vector's part there.

use super::arithmetic::{binary, ceil_div, ceil_div_of_any, select, with_number};
use super::orders::{generated, generated_over, inside};
use super::simplify::{extent, simplify};
use super::{Graph, NodeId, Op, index_space};
use crate::scalar::BinaryOp;

/// Which sequences of an array are its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Along {
    /// Each row: along the last axis.
    Rows,
    /// Each column: along the last axis but one.
    Columns,
    /// Each plane, row by row.
    Planes,
}

/// The lines of arrays of one shape.
#[derive(Clone)]
pub enum Lines {
    /// One line: a vector of this many elements.
    Vector(NodeId),
    /// An array of these extents.
    Along(Along, Vec<NodeId>),
    /// Segments of a vector, each of which is a line.
    Segments {
        /// The number of elements.
        count: NodeId,
        /// Where the segment of each element begins, as a stored array; -1 if the element is in none.
        begins: NodeId,
    },
}

/// A line, as far as the places of its parts depend on it.
pub struct Line {
    /// All indices of an array of parts, of which that along the line does not count; for a segment, its beginning.
    of: Vec<NodeId>,
    /// The condition that there is such a line, if there may be none.
    pub exists: Option<NodeId>,
}

/// A function of a line and the number of a part in it.
type OfPart<'a> = &'a dyn Fn(&mut Graph, &Line, NodeId) -> Vec<NodeId>;

impl Lines {
    /// Returns a vector as one line.
    pub fn vector(g: &mut Graph, x: NodeId) -> Lines {
        Lines::Vector(g.add(Op::Len(x, 0)))
    }

    /// Returns the rows, columns or planes of an array.
    pub fn along(g: &mut Graph, along: Along, x: NodeId) -> Lines {
        Lines::Along(along, (0..g.ty(x).rank).map(|axis| extent(g, x, axis)).collect())
    }

    /// Whether arrays of parts have places for complete parts only.
    pub fn has_complete_parts_only(&self) -> bool {
        matches!(self, Lines::Segments { .. })
    }

    /// Whether the place of an element takes divisions: then it is stored, rather than computed wherever it is read.
    pub fn has_costly_places(&self) -> bool {
        matches!(self, Lines::Along(Along::Planes, _))
    }

    /// Returns the axis along which the parts of lines lie, in arrays of this rank.
    fn axis(along: Along, rank: usize) -> usize {
        match along {
            Along::Rows => rank - 1,
            Along::Columns => rank - 2,
            Along::Planes => 1,
        }
    }

    /// Returns the number of elements of a line; for segments, that of all elements.
    fn len(&self, g: &mut Graph) -> NodeId {
        match self {
            Lines::Vector(count) | Lines::Segments { count, .. } => *count,
            Lines::Along(Along::Planes, extents) => binary(g, BinaryOp::Mul, extents[1], extents[2]),
            Lines::Along(along, extents) => extents[Lines::axis(*along, extents.len())],
        }
    }

    /// Returns the number of parts of a line of `len` elements.
    fn number_of_parts(&self, g: &mut Graph, len: NodeId, size: i64) -> NodeId {
        match self {
            Lines::Along(..) => ceil_div_of_any(g, len, size),
            Lines::Vector(_) | Lines::Segments { .. } => ceil_div(g, len, size),
        }
    }

    /// Returns the number of the last part of a line.
    pub fn last(&self, g: &mut Graph, line: &Line, size: i64) -> NodeId {
        let len = self.len(g);
        let parts = self.number_of_parts(g, len, size);
        let last = with_number(g, BinaryOp::Sub, parts, 1);
        match self {
            Lines::Segments { .. } => {
                let first = with_number(g, BinaryOp::Div, line.of[0], size);
                binary(g, BinaryOp::Sub, last, first)
            }
            _ => last,
        }
    }

    /// Returns the indices of a part among the parts of `size` elements; of an element, if `size` is 1.
    pub fn index(&self, g: &mut Graph, line: &Line, size: i64, number: NodeId) -> Vec<NodeId> {
        match self {
            Lines::Vector(_) => vec![number],
            Lines::Along(Along::Planes, extents) if size == 1 => {
                let [row, col] = index_space::indices(g, number, &extents[1..])[..] else {
                    unreachable!("a plane has two axes")
                };
                vec![line.of[0], row, col]
            }
            Lines::Along(along, _) => {
                let mut index = line.of.clone();
                index[Lines::axis(*along, line.of.len())] = number;
                index
            }
            Lines::Segments { .. } => {
                let first = with_number(g, BinaryOp::Div, line.of[0], size);
                vec![binary(g, BinaryOp::Add, first, number)]
            }
        }
    }

    /// Returns whether a part of `size` elements is complete.
    pub fn is_complete(&self, g: &mut Graph, line: &Line, number: NodeId, size: i64) -> NodeId {
        let next = with_number(g, BinaryOp::Add, number, 1);
        let end = with_number(g, BinaryOp::Mul, next, size);
        let len = self.len(g);
        let Lines::Segments { begins, .. } = self else {
            return simplify(g, Op::Binary(BinaryOp::Le, end, len));
        };
        let begin = line.of[0];
        let end = binary(g, BinaryOp::Add, begin, end);
        let is_inside = binary(g, BinaryOp::Le, end, len);
        let end = binary(g, BinaryOp::Min, end, len);
        let last = with_number(g, BinaryOp::Sub, end, 1);
        let of_last = inside(g, *begins, last);
        let is_same = binary(g, BinaryOp::Eq, of_last, begin);
        binary(g, BinaryOp::And, is_inside, is_same)
    }

    /// Returns the segment of an element.
    fn segment(g: &mut Graph, begins: NodeId, i: NodeId) -> Line {
        let begin = inside(g, begins, i);
        let exists = with_number(g, BinaryOp::Ge, begin, 0);
        // what is read for an element that is in no segment must be in bounds, too
        let begin = with_number(g, BinaryOp::Max, begin, 0);
        Line { of: vec![begin], exists: Some(exists) }
    }

    /// Returns the arrays of the values of each part of `size` elements.
    pub fn parts(&self, g: &mut Graph, size: i64, value: OfPart) -> Vec<NodeId> {
        let len = self.len(g);
        let count = self.number_of_parts(g, len, size);
        let extents = match self {
            Lines::Vector(_) | Lines::Segments { .. } => vec![count],
            Lines::Along(along, extents) => {
                let rank = if *along == Along::Planes { 2 } else { extents.len() };
                let mut extents = extents[..rank].to_vec();
                extents[Lines::axis(*along, rank)] = count;
                extents
            }
        };
        generated_over(g, &extents, |g, index| match self {
            Lines::Vector(_) => value(g, &Line { of: vec![], exists: None }, index[0]),
            Lines::Along(along, _) => {
                let number = index[Lines::axis(*along, index.len())];
                value(g, &Line { of: index.to_vec(), exists: None }, number)
            }
            Lines::Segments { begins, .. } => {
                let next = with_number(g, BinaryOp::Add, index[0], 1);
                let end = with_number(g, BinaryOp::Mul, next, size);
                let end = binary(g, BinaryOp::Min, end, len);
                let last = with_number(g, BinaryOp::Sub, end, 1);
                let line = Lines::segment(g, *begins, last);
                let first = with_number(g, BinaryOp::Div, line.of[0], size);
                let number = binary(g, BinaryOp::Sub, index[0], first);
                value(g, &line, number)
            }
        })
    }

    /// Returns the arrays of the values of each element.
    pub fn elements(&self, g: &mut Graph, value: OfPart) -> Vec<NodeId> {
        match self {
            Lines::Along(Along::Planes, extents) => generated_over(g, extents, |g, index| {
                let before = binary(g, BinaryOp::Mul, index[1], extents[2]);
                let number = binary(g, BinaryOp::Add, before, index[2]);
                value(g, &Line { of: vec![index[0], number], exists: None }, number)
            }),
            Lines::Segments { count, begins } => generated(g, *count, |g, i| {
                let line = Lines::segment(g, *begins, i);
                let number = binary(g, BinaryOp::Sub, i, line.of[0]);
                value(g, &line, number)
            }),
            _ => self.parts(g, 1, value),
        }
    }

    /// Returns the scans that leave out each element's own value, from those that include it: the first value of a
    /// line is `init`.
    pub fn exclusive(&self, g: &mut Graph, scans: &[NodeId], init: &[NodeId]) -> Vec<NodeId> {
        self.elements(g, &|g, line, i| {
            let has_one = with_number(g, BinaryOp::Gt, i, 0);
            let before = with_number(g, BinaryOp::Sub, i, 1);
            let before = with_number(g, BinaryOp::Max, before, 0);
            let index = self.index(g, line, 1, before);
            let one = |(scan, init): (&NodeId, &NodeId)| {
                let read = g.add(Op::Elem(*scan, index.clone()));
                let value = select(g, has_one, read, *init);
                line.exists.map_or(value, |exists| select(g, exists, value, *init))
            };
            scans.iter().zip(init).map(one).collect()
        })
    }
}
