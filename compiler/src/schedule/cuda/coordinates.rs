//! The indices of a thread's elements along each axis, where elements are numbered in row-major order: one division
//! for the first of them, and a carry for each of the others.
//!
//! ```text
//! row = first / n    column = first - row * n
//! the next one:   column + 1; if that is n: column 0, row + 1
//! d further:      column + d % n; if that is n or more: minus n, and row + 1; row + d / n
//! ```

use crate::core::index_space::{indices, without_bound};
use crate::core::simplify::simplify;
use crate::core::{Graph, NodeId, Op};
use crate::kernel::{Expr, Stmt};
use crate::scalar::BinaryOp;
use crate::schedule::element::lower::{LaunchContext, Lower, bind};

/// The nodes of an element's indices along each axis, outermost first, with their registers.
pub type Coordinates = Vec<(NodeId, Expr)>;

/// Returns the coordinates of each element, in groups of `width` neighbours. `at` is the element's number in
/// row-major order, as a node and as its value. There are no coordinates if the values need none, or if groups have
/// one element.
pub fn coordinates(
    l: &mut Lower,
    elements: &[(NodeId, Expr)],
    width: usize,
    out: &mut Vec<Stmt>,
) -> Vec<Coordinates> {
    let domain = l.launch.domain().to_vec();
    let none = || vec![Vec::new(); elements.len()];
    if !l.launch.facts.accesses.needs_indices() || width < 2 {
        return none();
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

/// The indices that elements find by dividing their number, as those of a reduction over all elements of a matrix do.
/// A thread's elements are a constant distance apart.
pub struct DividedNumber {
    /// The extents that the number is divided by, innermost first.
    divisors: Vec<NodeId>,
    /// Their values, outermost first.
    extents: Vec<Expr>,
    /// What each index grows by from one element to the next, outermost first.
    steps: Vec<Expr>,
    /// From which index on an axis wraps at that step: its extent minus the step, of all axes but the outermost.
    limits: Vec<Expr>,
    /// Whether the numbers and the extents are below the limit of narrow kernels.
    in_space: bool,
}

impl DividedNumber {
    /// Looks for divisions of the number `k` in `roots`, and computes what the indices grow by in `distance` elements.
    pub fn find(
        l: &mut Lower,
        roots: &[NodeId],
        k: NodeId,
        distance: i64,
        out: &mut Vec<Stmt>,
    ) -> Option<DividedNumber> {
        let divisors = divisors(l.launch, roots, k);
        if divisors.is_empty() {
            return None;
        }
        let count = l.launch.count_node();
        let g = &l.launch.g;
        let in_space = divisors.iter().all(|n| has_factor(g, count, without_bound(g, *n)));
        let mut extents = Vec::new();
        for n in divisors.iter().rev() {
            extents.push(l.launch.host(*n));
        }
        if in_space {
            l.k.kernel.in_space.extend(extents.iter().cloned());
        }
        let steps = first(l, Expr::int(distance), &extents, out);
        let mut limits = Vec::new();
        for (extent, step) in extents.iter().zip(&steps[1..]) {
            limits.push(bind(l, "limit", extent.clone().minus(step.clone()), out));
        }
        let found = DividedNumber { divisors, extents, steps, limits, in_space };
        found.note(l, &found.steps);
        found.note(l, &found.limits);
        Some(found)
    }

    /// Returns the nodes of the indices of element `k`, outermost first.
    pub fn nodes(&self, l: &mut Lower, k: NodeId) -> Vec<NodeId> {
        let (mut rest, mut nodes) = (k, Vec::new());
        for n in &self.divisors {
            nodes.push(simplify(&mut l.launch.g, Op::Binary(BinaryOp::Rem, rest, *n)));
            rest = simplify(&mut l.launch.g, Op::Binary(BinaryOp::Div, rest, *n));
        }
        nodes.push(rest);
        nodes.reverse();
        nodes
    }

    /// Returns the indices of the element with the number `at`.
    pub fn first(&self, l: &mut Lower, at: Expr, out: &mut Vec<Stmt>) -> Vec<Expr> {
        if self.in_space && matches!(at, Expr::Reg(_)) {
            l.k.kernel.in_space.push(at.clone());
        }
        let values = first(l, at, &self.extents, out);
        self.note(l, &values);
        values
    }

    /// Returns the indices of the element that follows the one with the indices `before`.
    pub fn next(&self, l: &mut Lower, before: &[Expr], out: &mut Vec<Stmt>) -> Vec<Expr> {
        let (mut carry, mut values) = (None, Vec::new());
        for (axis, (index, step)) in before.iter().zip(&self.steps).enumerate().rev() {
            let mut from = index.clone();
            if let Some(carries) = carry.take() {
                from = from.plus(Expr::clone(&carries).select(Expr::int(1), Expr::int(0)));
                from = bind(l, "from", from, out);
                self.note(l, std::slice::from_ref(&from));
            }
            let mut next = from.clone().plus(step.clone());
            if axis > 0 {
                let limit = &self.limits[axis - 1];
                let wraps = Expr::binary(BinaryOp::Ge, from.clone(), limit.clone());
                let wraps = bind(l, "wraps", wraps, out);
                next = wraps.clone().select(from.minus(limit.clone()), next);
                carry = Some(wraps);
            }
            values.push(bind(l, "index", next, out));
        }
        values.reverse();
        self.note(l, &values);
        values
    }

    /// Notes that values have a limit in narrow kernels.
    fn note(&self, l: &mut Lower, values: &[Expr]) {
        if self.in_space {
            l.k.kernel.in_space.extend(values.iter().cloned());
        }
    }
}

/// Returns the extents by which the number `k` is divided, innermost first: that of rows; then that by which the
/// number of the row is divided; and so on.
fn divisors(l: &mut LaunchContext, roots: &[NodeId], k: NodeId) -> Vec<NodeId> {
    let inside = l.g.reachable_until(roots.iter().copied(), |n| l.g.is_closed(n));
    let (mut rest, mut found) = (k, Vec::new());
    loop {
        let divisor = inside.iter().find_map(|n| match *l.g.op(*n) {
            Op::Binary(BinaryOp::Div | BinaryOp::Rem, a, b) if a == rest && is_positive(&l.g, b) => Some(b),
            _ => None,
        });
        let Some(n) = divisor.filter(|n| l.is_host(*n)) else { return found };
        found.push(n);
        let quotient = inside.iter().find(|q| *l.g.op(**q) == Op::Binary(BinaryOp::Div, rest, n));
        let Some(quotient) = quotient else { return found };
        rest = *quotient;
    }
}

/// Whether a number is known to be positive: a constant, or the greater one of it and 1.
fn is_positive(g: &Graph, n: NodeId) -> bool {
    without_bound(g, n) != n || g.as_lit(n).is_some_and(|n| n.as_i64() > 0)
}

/// Whether a product has a factor.
fn has_factor(g: &Graph, product: NodeId, factor: NodeId) -> bool {
    product == factor
        || match *g.op(product) {
            Op::Binary(BinaryOp::Mul, a, b) => has_factor(g, a, factor) || has_factor(g, b, factor),
            _ => false,
        }
}
