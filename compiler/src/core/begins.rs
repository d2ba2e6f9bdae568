//! For each element of a vector whose segments are given by offsets: where its segment begins.
//!
//! ```text
//! offsets 0, 3, 3, 5 of 6 elements   ->   0, 0, 0, 3, 3, -1
//! ```
//!
//! An element's segment is found by a binary search among the offsets, between those that its block of elements ends
//! with. If segments are long, there are no or one of these.

use super::arithmetic::{binary, ceil_div, select, with_number};
use super::orders::{generated, inside};
use super::segments::{are_bounds, first_where};
use super::simplify::extent;
use super::{Graph, NodeId, Op};
use crate::scalar::{BinaryOp, Lit};

/// The number of elements of a block.
const BLOCK: i64 = 128;

/// Returns, as a stored array, where the segment of each of `count` elements begins, or -1 for elements that are in
/// none. An offset that is beyond the elements or above the next one leaves a record.
pub fn of_elements(g: &mut Graph, offsets: NodeId, count: NodeId) -> NodeId {
    let offsets = checked(g, offsets, count);
    let (n, zero) = (extent(g, offsets, 0), g.lit(Lit::i64(0)));
    let blocks = ceil_div(g, count, BLOCK);
    let ends = with_number(g, BinaryOp::Add, blocks, 1);
    let behind_blocks = generated(g, ends, |g, block| {
        let first = with_number(g, BinaryOp::Mul, block, BLOCK);
        vec![first_behind(g, offsets, [zero, n], first)]
    });
    let behind_blocks = g.add(Op::Materialize(behind_blocks[0]));
    let begins = generated(g, count, |g, i| {
        let block = with_number(g, BinaryOp::Div, i, BLOCK);
        let next = with_number(g, BinaryOp::Add, block, 1);
        let range = [block, next].map(|block| inside(g, behind_blocks, block));
        let behind = first_behind(g, offsets, range, i);
        let own = with_number(g, BinaryOp::Sub, behind, 1);
        let own = with_number(g, BinaryOp::Max, own, 0);
        let begin = inside(g, offsets, own);
        // offsets that have left a record may be in any order
        let (from, to) = (with_number(g, BinaryOp::Ge, begin, 0), binary(g, BinaryOp::Le, begin, i));
        let (some, before_last) =
            (with_number(g, BinaryOp::Gt, behind, 0), binary(g, BinaryOp::Lt, behind, n));
        let is_in_one = [to, some, before_last].into_iter().fold(from, |a, b| binary(g, BinaryOp::And, a, b));
        let none = g.lit(Lit::i64(-1));
        vec![select(g, is_in_one, begin, none)]
    });
    g.add(Op::Materialize(begins[0]))
}

/// Returns the number of the first offset, in this range of offsets, that is above an index.
fn first_behind(g: &mut Graph, offsets: NodeId, range: [NodeId; 2], i: NodeId) -> NodeId {
    first_where(g, range, |g, k| {
        let offset = inside(g, offsets, k);
        binary(g, BinaryOp::Gt, offset, i)
    })
}

/// Returns the offsets as a stored array. An offset that is beyond `count` elements, or above the next one, leaves a
/// record and becomes -1.
fn checked(g: &mut Graph, offsets: NodeId, count: NodeId) -> NodeId {
    let n = extent(g, offsets, 0);
    let checked = generated(g, n, |g, k| {
        let next = with_number(g, BinaryOp::Add, k, 1);
        let last = with_number(g, BinaryOp::Sub, n, 1);
        let next = binary(g, BinaryOp::Min, next, last);
        let (own, next) = (inside(g, offsets, k), inside(g, offsets, next));
        let both = are_bounds(g, [own, next], count);
        let none = g.lit(Lit::i64(-1));
        vec![select(g, both, own, none)]
    });
    g.add(Op::Materialize(checked[0]))
}
