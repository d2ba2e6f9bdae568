//! Matrices and arrays of three dimensions as sequences of their elements: the indices of the axes
//! are quotients and remainders of one index.
//!
//! ```text
//! generate (n * m) (%k) { elem x, (%k / max(m, 1)), (%k % max(m, 1)) }
//! ```

use super::linear::{self, Linear};
use super::simplify::simplify;
use super::{Graph, NodeId, Op, verify};
use crate::scalar::{BinaryOp, Lit};

/// Returns row and column of element `k` of a matrix of `count` elements as the body computes them,
/// each with its extent. Returns nothing if the body computes no row, or rows of several widths, or
/// if the last row may be shorter than the others.
pub fn row_and_column(g: &mut Graph, k: NodeId, count: NodeId, body: NodeId) -> Vec<(NodeId, NodeId)> {
    let widths: Vec<NodeId> = quotients(g, k, body).into_iter().map(|q| q.1).collect();
    let [width] = widths[..] else { return Vec::new() };
    let Some((rows, columns)) = whole_rows(g, count, width) else { return Vec::new() };
    let [row, column] = [BinaryOp::Div, BinaryOp::Rem].map(|op| g.add(Op::Binary(op, k, width)));
    vec![(row, rows), (column, columns)]
}

/// Finds the indices that the body computes from element `k` of a row-major index space of `count` elements: rows `k
/// / width`, columns `k % width`, and the same of rows. An index that is computed from another one comes before that.
/// Each has its extent.
pub fn derived(g: &mut Graph, k: NodeId, count: NodeId, body: NodeId) -> Vec<(NodeId, NodeId)> {
    let mut found = Vec::new();
    for (index, width) in quotients(g, k, body) {
        let whole = whole_rows(g, count, width);
        let extent = match whole {
            Some((rows, _)) => rows,
            None => row_count(g, count, width),
        };
        if let Some((rows, columns)) = whole {
            found.extend(derived(g, index, rows, body));
            if let Some(column) = g.find(&Op::Binary(BinaryOp::Rem, k, width)) {
                found.push((column, columns));
            }
        }
        found.push((index, extent));
    }
    found
}

/// Returns the quotients of an index that the body computes, each with its divisor, which is at
/// least 1.
fn quotients(g: &Graph, k: NodeId, body: NodeId) -> Vec<(NodeId, NodeId)> {
    let quotient = |n: NodeId| match *g.op(n) {
        Op::Binary(BinaryOp::Div, a, width) if a == k && is_positive(g, width) => Some((n, width)),
        _ => None,
    };
    g.reachable_until([body], |n| g.is_closed(n)).into_iter().filter_map(quotient).collect()
}

/// Returns the numbers of rows and columns if `count` is their product. Without columns there is no
/// element, and the width is 1.
fn whole_rows(g: &Graph, count: NodeId, width: NodeId) -> Option<(NodeId, NodeId)> {
    let columns = if let Op::Binary(BinaryOp::Max, columns, _) = *g.op(width) { columns } else { width };
    let Op::Binary(BinaryOp::Mul, a, b) = *g.op(count) else { return None };
    // scalar arguments might both be negative, lengths are not
    let is_length = |n: NodeId| Linear::of(g, n).terms.keys().all(|t| is_product_of_lengths(g, *t));
    [(a, b), (b, a)].into_iter().find(|(rows, other)| *other == columns && is_length(*rows))
}

fn is_product_of_lengths(g: &Graph, n: NodeId) -> bool {
    match *g.op(n) {
        Op::Len(..) => true,
        Op::Binary(BinaryOp::Mul, a, b) => is_product_of_lengths(g, a) && is_product_of_lengths(g, b),
        _ => false,
    }
}

/// Returns whether a width is known to be at least 1; with a negative width the row numbers would
/// decrease. The host must know the width, because the number of rows is a length.
fn is_positive(g: &Graph, width: NodeId) -> bool {
    let at_least_one = |n: NodeId| g.as_lit(n).and_then(Lit::as_int).is_some_and(|c| c > 0);
    let is_max = |n: NodeId| matches!(*g.op(n), Op::Binary(BinaryOp::Max, _, c) if at_least_one(c));
    verify::runs_on_host(g, width) && (at_least_one(width) || is_max(width))
}

/// Returns the number of rows of that width that `count` elements have.
fn row_count(g: &mut Graph, count: NodeId, width: NodeId) -> NodeId {
    let whole = simplify(g, Op::Binary(BinaryOp::Div, count, width));
    let rest = simplify(g, Op::Binary(BinaryOp::Rem, count, width));
    let one = g.lit(Lit::i64(1));
    let last = simplify(g, Op::Binary(BinaryOp::Min, rest, one));
    linear::add(g, whole, last)
}
