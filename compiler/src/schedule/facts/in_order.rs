//! Segments whose tiles are in index order (semantics 5.17). The tree's column c of a tile joins the elements at
//! places c, c + 128, c + 256, .., which is no order for an operator that is not commutative. So `passes/ordered.rs`
//! permutes the tile: element 16 (p mod 128) + p / 128 is at place p, and column c has the 16 neighbours from 16 c
//! on. This file finds the elements in index order again, so that kernels read neighbours.
//!
//! ```text
//! (%p) { %at = first + p - p % 2048 + 16 * (p % 2048 % 128) + p % 2048 / 128
//!        yield tuple (lt %at, %count), (elem %x, (min %at, %count - 1)) .. }
//!     ->
//! (%i) { yield tuple (lt %i, %count), (elem %x, (min %i, %count - 1)) .. }      in columns of neighbours
//! (%i) { yield tuple true, (elem %x, %i) .. }                                   in tiles that are whole
//! ```

use super::Segments;
use crate::core::graph::replace::{Found, replaced_by};
use crate::core::linear::{Linear, is_i64};
use crate::core::simplify::simplify;
use crate::core::{COLUMNS, Graph, NodeId, Op, TILE};
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::lower::{LaunchContext, Lower};
use crate::schedule::element::reduction::{Reduction, bound};
use rustc_hash::FxHashMap as HashMap;

/// The elements of segments whose tiles are in index order.
pub struct InOrder {
    /// The variable of an element's index.
    pub index: NodeId,
    /// The index of the segment's first element.
    pub first: NodeId,
    /// The index from which on elements are absent.
    pub count: NodeId,
    /// The components of any element.
    pub any: Vec<NodeId>,
    /// The components of an element before `count`.
    pub present: Vec<NodeId>,
    /// Whether joining elements before `count` with absent elements, from `count` on, gives the former unchanged.
    pub ignores_absent: bool,
}

impl InOrder {
    /// Returns the elements of a segment's only reduction in index order, if its tiles are whole and in that order.
    pub fn of(l: &mut LaunchContext, s: &Segments, r: &Reduction) -> Option<InOrder> {
        if !s.are_parts || s.may_record || !is_whole(&l.g, s.length) {
            return None;
        }
        let (var, place) = l.g.fresh_var(Ty::I64);
        let (_, index) = l.g.fresh_var(Ty::I64);
        let elements = r.elements(l, place);
        let known = InOrderForm::of(&mut l.g, place)?;
        let mut first: Option<Linear> = None;
        let mut in_order = |g: &mut Graph, n: NodeId| {
            let rest = is_i64(g, n).then(|| known.rest(&Linear::of(g, n))).flatten();
            let same = rest.filter(|rest| first.get_or_insert_with(|| rest.clone()) == rest);
            Found::of(g, n, same.map(|_| index))
        };
        let any = each_replaced(&mut l.g, &elements, &mut in_order);
        let first = first?.node(&mut l.g);
        let depends = |n: &NodeId| l.g.node(*n).free.contains(&var);
        if any.iter().any(depends) || depends(&first) {
            return None;
        }
        let (flag, count) = any.iter().enumerate().find_map(|(at, n)| match *l.g.op(*n) {
            Op::Binary(BinaryOp::Lt, i, count) if i == index && l.g.is_closed(count) => Some((at, count)),
            _ => None,
        })?;
        let present = present(&mut l.g, &any, index, count);
        let ignores_absent = ignores_absent(l, r, flag + r.types.len() - any.len());
        Some(InOrder { index, first, count, any, present, ignores_absent })
    }
}

/// Whether a join ignores absent elements. Component `flag` of an accumulator says whether it has elements: the join
/// of one that has some with one that has none must be the former, and the join of two that have some must have the
/// flag set.
fn ignores_absent(l: &mut LaunchContext, r: &Reduction, flag: usize) -> bool {
    let [a, b] = [0; 2].map(|_| r.variables(l));
    let joined = r.join(l, &a, &b);
    let [yes, no] = [true, false].map(|is_set| l.g.lit(Lit::bool(is_set)));
    let mut constants = vec![(a[flag], yes), (b[flag], yes)];
    if r.is_of_tuple() {
        constants.extend([(a[0], yes), (b[0], yes)]);
    }
    let both = with_constants(&mut l.g, &joined, &constants);
    constants[1].1 = no;
    let first = with_constants(&mut l.g, &joined, &constants);
    let is_kept =
        |(n, a): (&NodeId, &NodeId)| constants.iter().find(|(of, _)| of == a).map_or(*a, |c| c.1) == *n;
    both[flag] == yes && first.iter().zip(&a).all(is_kept)
}

/// The linear form by which an element's index depends on its place p: p - p % 2048 + 16 (p % 2048 % 128) + p % 2048
/// / 128.
struct InOrderForm {
    form: Linear,
}

impl InOrderForm {
    /// Returns the linear form of the index of the element at a place of a tile.
    fn of(g: &mut Graph, place: NodeId) -> Option<InOrderForm> {
        let [size, columns] = [TILE, COLUMNS].map(|n| g.lit(Lit::i64(n)));
        let inside = g.find(&Op::Binary(BinaryOp::Rem, place, size))?;
        let column = g.find(&Op::Binary(BinaryOp::Rem, inside, columns))?;
        let row = g.find(&Op::Binary(BinaryOp::Div, inside, columns))?;
        let terms = [(place, 1), (inside, -1), (column, TILE / COLUMNS), (row, 1)].into();
        Some(InOrderForm { form: Linear { constant: 0, terms } })
    }

    /// Returns the index minus the form of the place, if the index contains that form: the index of the first
    /// element.
    fn rest(&self, index: &Linear) -> Option<Linear> {
        let has = |(n, by): (&NodeId, &i64)| index.terms.get(n) == Some(by);
        self.form.terms.iter().all(has).then(|| index.minus(&self.form))
    }
}

/// Whether a length is a multiple of a tile.
fn is_whole(g: &Graph, length: NodeId) -> bool {
    match *g.op(length) {
        Op::Const(n) => n.as_i64() % TILE == 0,
        Op::Binary(BinaryOp::Min | BinaryOp::Max | BinaryOp::Add | BinaryOp::Sub, a, b) => {
            is_whole(g, a) && is_whole(g, b)
        }
        // a product that wraps keeps its low bits, and so stays a multiple
        Op::Binary(BinaryOp::Mul, a, b) => is_whole(g, a) || is_whole(g, b),
        _ => false,
    }
}

/// Returns the components of an element that is known to be before `count`.
fn present(g: &mut Graph, any: &[NodeId], index: NodeId, count: NodeId) -> Vec<NodeId> {
    let yes = g.lit(Lit::bool(true));
    let last = Linear::of(g, count).minus(&Linear { constant: 1, ..Linear::default() });
    let mut find = |g: &mut Graph, n: NodeId| {
        let known = match *g.op(n) {
            Op::Binary(BinaryOp::Lt, a, b) if a == index && b == count => Some(yes),
            Op::Binary(BinaryOp::Min, a, b) if b == index && Linear::of(g, a) == last => Some(index),
            Op::Binary(BinaryOp::Min, a, b) if a == index && Linear::of(g, b) == last => Some(index),
            _ => None,
        };
        Found::of(g, n, known)
    };
    each_replaced(g, any, &mut find)
}

/// Returns nodes in which those that `find` knows are replaced.
fn each_replaced(
    g: &mut Graph,
    nodes: &[NodeId],
    find: &mut dyn FnMut(&mut Graph, NodeId) -> Found,
) -> Vec<NodeId> {
    let mut memo = HashMap::default();
    nodes.iter().map(|n| replaced_by(g, *n, find, &mut simplify, &mut memo)).collect()
}

/// Emits the accumulators of a column after a further element, or after its first one if there are none `before`. If
/// operands are constants, results may be constants, too.
pub fn stepped(
    l: &mut Lower,
    r: &Reduction,
    before: Option<&[Expr]>,
    element: &[NodeId],
    vars: &[(NodeId, Expr)],
    out: &mut Vec<Stmt>,
) -> Result<Vec<Expr>> {
    let Some(before) = before else {
        let values = r.first_of(l.launch, element);
        return l.region(vars, &values, &Expr::int(0), out);
    };
    let before = Values::of(l.launch, r, before);
    let values = r.step_of(l.launch, &before.variables, element);
    let values = with_constants(&mut l.launch.g, &values, &before.constants);
    l.region(&[vars, &before.known].concat(), &values, &Expr::int(0), out)
}

/// Emits the join of the accumulators of neighbours. If operands are constants, results may be constants, too.
pub fn joined(
    l: &mut Lower,
    r: &Reduction,
    a: &[Expr],
    b: &[Expr],
    out: &mut Vec<Stmt>,
) -> Result<Vec<Expr>> {
    let [a, b] = [a, b].map(|values| Values::of(l.launch, r, values));
    let joined = r.join(l.launch, &a.variables, &b.variables);
    let joined = with_constants(&mut l.launch.g, &joined, &[a.constants, b.constants].concat());
    let values = l.region(&[a.known, b.known].concat(), &joined, &Expr::int(0), out)?;
    Ok(values.into_iter().map(|e| bound(l, "joined", e, out)).collect())
}

/// The values of accumulators.
struct Values {
    /// A variable for each.
    variables: Vec<NodeId>,
    known: Vec<(NodeId, Expr)>,
    /// The variables of those that are constants.
    constants: Vec<(NodeId, NodeId)>,
}

impl Values {
    fn of(l: &mut LaunchContext, r: &Reduction, values: &[Expr]) -> Values {
        let variables = r.variables(l);
        let (mut known, mut constants) = (Vec::new(), Vec::new());
        for (n, e) in variables.iter().zip(values) {
            match e {
                Expr::Lit(value) => constants.push((*n, l.g.lit(*value))),
                e => known.push((*n, e.clone())),
            }
        }
        Values { variables, known, constants }
    }
}

/// Returns nodes with constants in place of variables, simplified.
fn with_constants(g: &mut Graph, nodes: &[NodeId], constants: &[(NodeId, NodeId)]) -> Vec<NodeId> {
    let constant = |n: NodeId| constants.iter().find(|(of, _)| *of == n).map(|(_, by)| *by);
    each_replaced(g, nodes, &mut |g, n| Found::of(g, n, constant(n)))
}
