//! The indices of a thread's elements along each axis, where elements are numbered in row-major order: one division
//! for the first of them, and a carry for each of the others. This file has the carries of neighbours,
//! [`super::divided_number`] those of elements that lie farther apart.
//!
//! ```text
//! row = first / n    column = first - row * n
//! next:  column + 1; if that is n: column 0, row + 1
//! ```

use super::divided_number::{DividedNumber, Walk};
use crate::core::index_space::indices;
use crate::core::{NodeId, Op};
use crate::kernel::{Expr, Stmt};
use crate::scalar::BinaryOp;
use crate::schedule::element::lower::{Lower, bind};

/// The nodes of an element's indices along each axis, outermost first, with their registers.
pub type Coordinates = Vec<(NodeId, Expr)>;

/// Returns the coordinates of each element, in groups of `width` neighbours; if groups have one element, `distance` is
/// that of consecutive ones. An element is its number in row-major order, as a node and as its value. There are no
/// coordinates if the values need none, or if elements share no division.
pub fn coordinates(
    l: &mut Lower,
    elements: &[(NodeId, Expr)],
    width: usize,
    distance: Option<i64>,
    out: &mut Vec<Stmt>,
) -> Vec<Coordinates> {
    let domain = l.launch.domain().to_vec();
    let none = || vec![Vec::new(); elements.len()];
    if !l.launch.facts.accesses.needs_indices() {
        return none();
    }
    if width < 2 {
        let distant = distance.and_then(|distance| of_distant(l, elements, distance, out));
        return distant.unwrap_or_else(none);
    }
    let nodes: Vec<Vec<NodeId>> =
        elements.iter().map(|(k, _)| indices(&mut l.launch.g, *k, &domain)).collect();
    // an index along an axis of one element is no quotient and no remainder
    let is_divided = |n: &NodeId| matches!(l.launch.g.op(*n), Op::Binary(BinaryOp::Div | BinaryOp::Rem, ..));
    if !nodes.iter().flatten().all(is_divided) {
        return none();
    }
    let mut extents = Vec::new();
    for n in &nodes[0][1..] {
        if let Op::Binary(_, _, extent) = *l.launch.g.op(*n) {
            extents.push(l.launch.host(extent));
        }
    }
    let mut all: Vec<Coordinates> = Vec::new();
    for (i, nodes) in nodes.into_iter().enumerate() {
        let values = match all.last() {
            Some(before) if i % width > 0 => {
                let before = before.iter().map(|c| c.1.clone()).collect();
                next(l, before, &extents, out)
            }
            _ => first(l, elements[i].1.clone(), &extents, out),
        };
        l.k.kernel.in_space.extend(values.iter().cloned());
        all.push(nodes.into_iter().zip(values).collect());
    }
    all
}

/// Returns the coordinates of the element with number `at` in row-major order.
fn first(l: &mut Lower, at: Expr, extents: &[Expr], out: &mut Vec<Stmt>) -> Vec<Expr> {
    let (mut rest, mut values) = (at, Vec::new());
    for n in extents.iter().rev() {
        let quotient = Expr::binary(BinaryOp::Div, rest.clone(), n.clone());
        let quotient = bind(l, "quotient", quotient, out);
        l.k.kernel.in_space.push(quotient.clone());
        values.push(bind(l, "index", rest.minus(quotient.clone().times(n.clone())), out));
        rest = quotient;
    }
    values.push(rest);
    values.reverse();
    values
}

/// Returns the coordinates of the next element.
fn next(l: &mut Lower, before: Vec<Expr>, extents: &[Expr], out: &mut Vec<Stmt>) -> Vec<Expr> {
    let (mut carry, mut values) = (None, Vec::new());
    for (axis, index) in before.into_iter().enumerate().rev() {
        let mut moved = bind(l, "next", index.clone().plus(Expr::int(1)), out);
        l.k.kernel.in_space.push(moved.clone());
        let mut wraps = None;
        if axis > 0 {
            let at_end = Expr::binary(BinaryOp::Eq, moved.clone(), extents[axis - 1].clone());
            let at_end = bind(l, "wraps", at_end, out);
            moved = bind(l, "moved", at_end.clone().select(Expr::int(0), moved), out);
            wraps = Some(at_end);
        }
        let Some(carries) = carry.take() else {
            (carry, values) = (wraps, vec![moved]);
            continue;
        };
        values.push(bind(l, "index", Expr::clone(&carries).select(moved, index), out));
        carry = wraps.map(|wraps| Expr::binary(BinaryOp::And, carries, wraps));
    }
    values.reverse();
    values
}

/// Returns the coordinates of elements of which consecutive ones are `distance` apart.
fn of_distant(
    l: &mut Lower,
    elements: &[(NodeId, Expr)],
    distance: i64,
    out: &mut Vec<Stmt>,
) -> Option<Vec<Coordinates>> {
    let divided = DividedNumber::of_domain(l)?;
    let walk = Walk::new(l, Some(&divided), distance, out);
    let mut indices = walk.first(l, &elements[0].1, out);
    let mut all = Vec::new();
    for (i, (k, _)) in elements.iter().enumerate() {
        if i > 0 {
            walk.next(l, &mut indices, None, out);
        }
        all.push(walk.known(l, *k, &indices));
    }
    Some(all)
}
