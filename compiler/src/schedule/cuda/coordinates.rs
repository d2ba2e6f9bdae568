//! The indices of a thread's elements along each axis, where elements are numbered in row-major order: one division
//! for the first of some neighbours, or of elements that lie farther apart, and a carry for each of the others
//! ([`super::divided_number`]).

use super::divided_number::{DividedNumber, Walk};
use crate::core::NodeId;
use crate::kernel::{Expr, Stmt};
use crate::schedule::element::lower::Lower;

/// The nodes of an element's indices along each axis, outermost first, with their registers.
pub type Coordinates = Vec<(NodeId, Expr)>;

/// Returns the coordinates of each element, in groups of `width` neighbours. If groups have one element, `distance`
/// is that of consecutive ones. An element is its number in row-major order, as a node and as its value. There are
/// no coordinates if the values need none, or if elements share no division.
pub fn coordinates(
    l: &mut Lower,
    elements: &[(NodeId, Expr)],
    width: usize,
    distance: Option<i64>,
    out: &mut Vec<Stmt>,
) -> Vec<Coordinates> {
    let (walked, distance) = if width > 1 { (width, Some(1)) } else { (elements.len(), distance) };
    let distance = distance.filter(|_| l.launch.facts.accesses.needs_indices());
    let divided = distance.and_then(|distance| Some((distance, DividedNumber::of_domain(l)?)));
    let Some((distance, divided)) = divided else { return vec![Vec::new(); elements.len()] };
    let walk = Walk::new(l, Some(&divided), distance, out);
    let (mut indices, mut all) = (Vec::new(), Vec::new());
    for (i, (k, at)) in elements.iter().enumerate() {
        if i % walked == 0 {
            indices = walk.first(l, at, out);
        } else {
            walk.next(l, &mut indices, None, out);
        }
        all.push(walk.known(l, *k, &indices));
    }
    all
}
