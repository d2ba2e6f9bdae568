//! The indices that elements find by dividing their number, as those of a reduction over all elements of a matrix do.
//! A thread's elements are a constant distance apart, so that one division serves the first of them, and a carry each
//! of the others.
//!
//! ```text
//! first element:   row = number / n    column = number - row * n
//! d further:       column + d % n; if that is n or more: minus n, and row + 1; row + d / n
//! ```
//!
//! Where elements may lie past the end, a step is taken only if the next element exists; else the indices stay those
//! of the element before.

use crate::core::index_space::{indices, without_bound};
use crate::core::simplify::simplify;
use crate::core::{Graph, NodeId, Op};
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::lower::{LaunchContext, Lower, bind};
use crate::schedule::element::nested_loop::read;

/// The divisions of a number.
pub struct DividedNumber {
    /// The extents that the number is divided by, innermost first.
    divisors: Vec<NodeId>,
    /// Their values, outermost first.
    extents: Vec<Expr>,
    /// The greatest index on each axis, outermost first, where it is a constant.
    most: Vec<Option<i64>>,
    /// Whether the numbers and the extents are below the limit of narrow kernels.
    in_space: bool,
}

impl DividedNumber {
    /// Looks for divisions of the number `k` in `roots`. Numbers are below `count`, the product of extents.
    pub fn find(l: &mut Lower, roots: &[NodeId], k: NodeId, count: NodeId) -> Option<DividedNumber> {
        let divisors = divisors(l.launch, roots, k);
        if divisors.is_empty() {
            return None;
        }
        let g = &l.launch.g;
        let is_known = |n: &NodeId| g.as_lit(*n).is_some() || has_factor(g, count, without_bound(g, *n));
        let in_space = divisors.iter().all(is_known);
        Some(DividedNumber::new(l, divisors, count, in_space))
    }

    /// Returns the divisions of an element's number in the index space, if all its axes have some.
    pub fn of_domain(l: &mut Lower) -> Option<DividedNumber> {
        let (_, k) = l.launch.g.fresh_var(Ty::I64);
        let domain = l.launch.domain().to_vec();
        let mut divisors = Vec::new();
        for n in indices(&mut l.launch.g, k, &domain).into_iter().skip(1).rev() {
            // an index along an axis of one element is no remainder
            let Op::Binary(BinaryOp::Rem, _, extent) = *l.launch.g.op(n) else { return None };
            if !l.launch.is_host(extent) {
                return None;
            }
            divisors.push(extent);
        }
        let count = l.launch.count_node();
        (!divisors.is_empty()).then(|| DividedNumber::new(l, divisors, count, true))
    }

    fn new(l: &mut Lower, divisors: Vec<NodeId>, count: NodeId, in_space: bool) -> DividedNumber {
        let g = &l.launch.g;
        let constant = |n: NodeId| g.as_lit(n).map(Lit::as_i64);
        let inner: Vec<Option<i64>> = divisors.iter().rev().map(|n| constant(*n)).collect();
        let size = inner.iter().copied().try_fold(1, |size: i64, n| size.checked_mul(n?));
        let outermost = constant(count).zip(size).map(|(count, size)| (count - 1).max(0) / size);
        let most = std::iter::once(outermost).chain(inner.into_iter().map(|n| Some(n? - 1))).collect();
        let mut extents = Vec::new();
        for n in divisors.iter().rev() {
            extents.push(l.launch.host(*n));
        }
        let found = DividedNumber { divisors, extents, most, in_space };
        found.note(l, &found.extents);
        found
    }

    /// Whether rows may have at least `count` elements.
    pub fn has_rows_of(&self, count: i64) -> bool {
        self.most.last().copied().flatten().is_none_or(|most| most >= count - 1)
    }

    /// Returns the condition that `count` elements from the one with the index `column` on lie in one row.
    pub fn is_in_row(&self, column: &Expr, count: i64) -> Expr {
        let extent = self.extents.last().expect("rows have elements").clone();
        Expr::binary(BinaryOp::Le, column.clone().plus(Expr::int(count)), extent)
    }

    /// Returns the nodes of the indices of element `k`, outermost first.
    fn nodes(&self, l: &mut Lower, k: NodeId) -> Vec<NodeId> {
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
    fn first(&self, l: &mut Lower, at: Expr, out: &mut Vec<Stmt>) -> Vec<Expr> {
        self.note(l, std::slice::from_ref(&at));
        let (mut rest, mut values) = (at, Vec::new());
        for n in self.extents.iter().rev() {
            if is(&rest, 0) {
                values.push(Expr::int(0));
                continue;
            }
            let quotient = Expr::binary(BinaryOp::Div, rest.clone(), n.clone());
            let quotient = bind(l, "quotient", quotient, out);
            self.note(l, std::slice::from_ref(&quotient));
            values.push(bind(l, "index", rest.minus(quotient.clone().times(n.clone())), out));
            rest = quotient;
        }
        values.push(rest);
        values.reverse();
        self.note_indices(l, &values);
        values
    }

    /// Returns what the indices grow by in `distance` elements, which the host computes, outermost first.
    fn growth(&self, l: &mut Lower, distance: i64) -> Vec<Expr> {
        let (mut rest, mut values) = (l.launch.g.lit(Lit::i64(distance)), Vec::new());
        for n in &self.divisors {
            let step = simplify(&mut l.launch.g, Op::Binary(BinaryOp::Rem, rest, *n));
            rest = simplify(&mut l.launch.g, Op::Binary(BinaryOp::Div, rest, *n));
            values.push(l.launch.host(step));
        }
        values.push(l.launch.host(rest));
        values.reverse();
        self.note(l, &values);
        values
    }

    /// Notes the limits of indices in narrow kernels, outermost first.
    fn note_indices(&self, l: &mut Lower, indices: &[Expr]) {
        for (axis, index) in indices.iter().enumerate() {
            self.note_index(l, index, axis, 0);
        }
    }

    /// Notes that an index may be as large as those of an axis, or `beyond` them.
    fn note_index(&self, l: &mut Lower, index: &Expr, axis: usize, beyond: i64) {
        match (index, self.most[axis]) {
            (Expr::Reg(r), Some(most)) => l.k.kernel.bounded.push((*r, Expr::int(most + beyond))),
            (index, _) => self.note(l, std::slice::from_ref(index)),
        }
    }

    /// Notes that values have a limit in narrow kernels.
    fn note(&self, l: &mut Lower, values: &[Expr]) {
        if self.in_space {
            let values = values.iter().filter(|e| matches!(e, Expr::Reg(_) | Expr::In(_)));
            l.k.kernel.in_space.extend(values.cloned());
        }
    }
}

/// Elements that are a constant distance apart. If their number is not divided, none of these functions does
/// anything.
pub struct Walk<'a> {
    steps: Option<Steps<'a>>,
}

/// What the indices grow by from one element to the next.
struct Steps<'a> {
    of: &'a DividedNumber,
    /// The steps, outermost first.
    by: Vec<Expr>,
    /// From which index on an axis wraps at its step: its extent minus the step, of all axes but the outermost. Empty
    /// if none wraps: then an index is that of the first element plus a constant, which addresses of loads take.
    limits: Vec<Expr>,
}

impl<'a> Walk<'a> {
    /// Begins code that goes from element to element in steps of `distance`.
    pub fn new(l: &mut Lower, of: Option<&'a DividedNumber>, distance: i64, out: &mut Vec<Stmt>) -> Walk<'a> {
        Walk { steps: of.map(|of| Steps::new(l, of, distance, out)) }
    }

    /// Begins code that goes from element to element of one row, in steps of `distance`.
    pub fn within_row(of: &'a DividedNumber, distance: i64) -> Walk<'a> {
        let mut by = vec![Expr::int(0); of.extents.len()];
        by.push(Expr::int(distance));
        Walk { steps: Some(Steps { of, by, limits: Vec::new() }) }
    }

    /// Returns the indices of the element with the number `at`.
    pub fn first(&self, l: &mut Lower, at: &Expr, out: &mut Vec<Stmt>) -> Vec<Expr> {
        let indices = self.steps.as_ref().map(|steps| steps.of.first(l, at.clone(), out));
        indices.unwrap_or_default()
    }

    /// Returns the nodes of the indices of element `k`, with their values.
    pub fn known(&self, l: &mut Lower, k: NodeId, indices: &[Expr]) -> Vec<(NodeId, Expr)> {
        let nodes = self.steps.as_ref().map(|steps| steps.of.nodes(l, k)).unwrap_or_default();
        nodes.into_iter().zip(indices.iter().cloned()).collect()
    }

    /// Goes to the next element. If the step is taken only under a condition, the indices stay as they are where that
    /// does not hold.
    pub fn next(
        &self,
        l: &mut Lower,
        indices: &mut Vec<Expr>,
        condition: Option<&Expr>,
        out: &mut Vec<Stmt>,
    ) {
        match &self.steps {
            Some(steps) if steps.limits.is_empty() => indices.iter_mut().zip(&steps.by).for_each(add),
            Some(steps) => *indices = steps.next(l, indices, condition, out),
            None => {}
        }
    }

    /// Declares variables for the indices, which a loop changes from one iteration to the next.
    pub fn variables(&self, l: &mut Lower, indices: Vec<Expr>, out: &mut Vec<Stmt>) -> Vec<Reg> {
        let mut variables = Vec::new();
        for e in indices {
            let r = l.k.reg("index", Ty::I64);
            out.push(Stmt::Var(r, e));
            variables.push(r);
        }
        self.steps.iter().for_each(|steps| steps.of.note_indices(l, &read(&variables)));
        variables
    }

    /// Assigns indices to the variables.
    pub fn assign(&self, variables: &[Reg], indices: Vec<Expr>, out: &mut Vec<Stmt>) {
        let all = variables.iter().zip(indices).filter(|(r, e)| *e != Expr::Reg(**r));
        out.extend(all.map(|(r, e)| Stmt::Assign(*r, e)));
    }
}

impl<'a> Steps<'a> {
    fn new(l: &mut Lower, of: &'a DividedNumber, distance: i64, out: &mut Vec<Stmt>) -> Steps<'a> {
        let by = match distance {
            // an axis with one element wraps at each step
            1 => {
                let outer = of.extents.iter().map(|_| Expr::int(0));
                outer.chain([Expr::int(1)]).collect()
            }
            distance => of.growth(l, distance),
        };
        let mut limits = Vec::new();
        for (extent, step) in of.extents.iter().zip(&by[1..]) {
            limits.push(match (extent, step) {
                _ if is(step, 0) => extent.clone(),
                (Expr::Lit(a), Expr::Lit(b)) => Expr::int(a.as_i64() - b.as_i64()),
                _ => bind(l, "limit", extent.clone().minus(step.clone()), out),
            });
        }
        of.note(l, &limits);
        Steps { of, by, limits }
    }

    /// Returns the indices of the element one step behind the one with the indices `before`.
    fn next(
        &self,
        l: &mut Lower,
        before: &[Expr],
        condition: Option<&Expr>,
        out: &mut Vec<Stmt>,
    ) -> Vec<Expr> {
        let (mut carry, mut values): (Option<Expr>, _) = (None, Vec::new());
        for (axis, (index, step)) in before.iter().zip(&self.by).enumerate().rev() {
            let carried = carry.take();
            if is(step, 0) && carried.is_none() {
                values.push(index.clone());
                continue;
            }
            // without a carry, or without a step, an axis wraps exactly at its end
            let to_zero = is(step, 0) || is(step, 1) && carried.is_none();
            let mut from = index.clone();
            if let Some(carries) = carried {
                let sum = from.plus(carries.select(Expr::int(1), Expr::int(0)));
                from = bind(l, "from", sum, out);
                self.of.note_index(l, &from, axis, 1);
            }
            let mut next = from.clone();
            if !is(step, 0) {
                next = next.plus(match condition {
                    Some(taken) => taken.clone().select(step.clone(), Expr::int(0)),
                    None => step.clone(),
                });
            }
            if axis > 0 {
                let limit = self.limits[axis - 1].clone();
                let mut wraps = Expr::binary(BinaryOp::Ge, from.clone(), limit.clone());
                if let Some(taken) = condition.filter(|_| !is(step, 0)) {
                    wraps = Expr::binary(BinaryOp::And, wraps, taken.clone());
                }
                let wraps = bind(l, "wraps", wraps, out);
                let wrapped = if to_zero { Expr::int(0) } else { from.minus(limit) };
                next = wraps.clone().select(wrapped, next);
                carry = Some(wraps);
            }
            values.push(match next {
                Expr::Reg(_) => next,
                next => bind(l, "index", next, out),
            });
        }
        values.reverse();
        self.of.note_indices(l, &values);
        values
    }
}

/// Adds a constant to an index.
fn add((index, step): (&mut Expr, &Expr)) {
    let Expr::Lit(step) = step else { unreachable!("steps of a row are constants") };
    let (base, before) = match &*index {
        Expr::Binary(BinaryOp::Add, base, by) => match &**by {
            Expr::Lit(by) => ((**base).clone(), by.as_i64()),
            _ => (index.clone(), 0),
        },
        _ => (index.clone(), 0),
    };
    let sum = before + step.as_i64();
    *index = if sum == 0 { base } else { base.plus(Expr::int(sum)) };
}

/// Whether an expression is a constant.
fn is(e: &Expr, constant: i64) -> bool {
    matches!(e, Expr::Lit(n) if n.as_i64() == constant)
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
