//! Hoisting: a nested operation that depends on some but not all of the indices around it is
//! computed once for each value of those indices, and stored (Larsen, section 7, generalised to a
//! part of the indices). An operation that depends on none of the indices gets a launch of its own
//! anyway.
//!
//! ```text
//! generate n, m (%i, %j) {                                 %t = materialize (generate n (%i) { reduce .. x[%i, k] .. })
//!   %s = reduce .. over (generate m (%k) { x[%i, k] })  ->  generate n, m (%i, %j) {
//!   x[%i, %j] / %s                                            x[%i, %j] / elem %t, %i
//! }                                                        }
//! ```
//!
//! For example, the rows of a matrix are divided by their sums in two launches, instead of one sum
//! for each element. In a reduction of a whole matrix there is one index k over all elements, and
//! the row is `k / m`, which counts as an index of its own.
//!
//! An elementary function that depends on some of the indices only is stored likewise: it costs more
//! than the load of its value. A value that may leave an error record is stored without leaving it
//! (`core/kept_records.rs`), because it might not be needed.

use crate::core::kept_records;
use crate::core::linear::{self, Linear};
use crate::core::records::may_record;
use crate::core::simplify::simplify;
use crate::core::{COLUMNS, Function, Graph, MAX_RANK, NodeId, Op, Rule, Var, verify};
use crate::error::Result;
use crate::scalar::{BinaryOp, Lit, Ty};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// The most iterations of loops whose elementary functions stay where they are: longer ones are not
/// unrolled.
const FEW: i64 = COLUMNS;

/// Runs the pass.
pub fn run(f: Function) -> Result<Function> {
    let g = &f.graph;
    let is_nested = |n: NodeId| !g.is_closed(n) && is_costly(g.op(n));
    if !f.needs(is_nested) {
        return Ok(f);
    }
    let mut out = f;
    let rules = out.requires.iter().filter(|r| r.rule == Rule::Extent);
    let mut hoist = Hoist { lengths: rules.map(|r| r.b).collect(), ..Hoist::default() };
    for r in &mut out.results {
        r.value = hoist.node(&mut out.graph, r.value, &mut Vec::new());
    }
    Ok(out)
}

/// Returns whether an operation costs more than the load of its value.
fn is_costly(op: &Op) -> bool {
    match op {
        Op::Unary(op, _) => op.is_elementary(),
        Op::Binary(op, ..) => op.is_elementary(),
        op => op.is_reduction(),
    }
}

/// Returns the element of a stored array, or of one that leaves the records of a stored array.
pub fn element(g: &mut Graph, array: NodeId, index: &[NodeId]) -> NodeId {
    match g.op(array).clone() {
        Op::Generate(_, lambda) => g.open(&lambda, index),
        _ => g.add(Op::Elem(array, index.to_vec())),
    }
}

/// An index in scope of a node: a variable, or an expression that counts as an index, and its
/// extent.
#[derive(Clone, Copy)]
struct Around {
    index: NodeId,
    extent: NodeId,
}

#[derive(Default)]
struct Hoist {
    /// The new nodes of closed nodes.
    done: HashMap<NodeId, NodeId>,
    nested: HashMap<NodeId, bool>,
    /// Whether a node, or any array or scalar that it is computed from, contains a nested operation.
    leads: HashMap<NodeId, bool>,
    /// Whether the element leaves error records beside the sums of matrix products. The tiles of a
    /// product leave none, so the product is stored.
    splits_products: bool,
    /// The number of indices of the element itself.
    own: usize,
    /// Extents of which a shape rule says that they are not negative.
    lengths: HashSet<NodeId>,
}

impl Hoist {
    /// Rebuilds a node inside these indices.
    fn node(&mut self, g: &mut Graph, n: NodeId, around: &mut Vec<Around>) -> NodeId {
        self.rebuilt(g, n, around, &mut HashMap::default())
    }

    fn rebuilt(
        &mut self,
        g: &mut Graph,
        n: NodeId,
        around: &mut Vec<Around>,
        memo: &mut HashMap<NodeId, NodeId>,
    ) -> NodeId {
        let closed = g.is_closed(n);
        if let Some(known) = if closed { self.done.get(&n) } else { memo.get(&n) } {
            return *known;
        }
        if closed && !around.is_empty() {
            // a stored array is an index space of its own
            return self.node(g, n, &mut Vec::new());
        }
        let mut made = n;
        if !closed && let Some(stored) = self.stored(g, n, around) {
            made = stored;
        } else if self.leads_to_nested(g, n) {
            let op = g.op(n).clone();
            let operands: Vec<NodeId> = op.operands().map(|o| self.rebuilt(g, o, around, memo)).collect();
            let before = g.set_loc(g.node(n).loc.clone());
            let lambda = match &op {
                Op::Generate(extents, lambda) => {
                    let extents = extents.clone();
                    let types: Vec<Ty> = lambda.params.iter().map(|p| p.1).collect();
                    Some(g.lambda(&types, |g, index| {
                        let body = g.open(lambda, index);
                        let outer = around.len();
                        let own = index.iter().zip(&extents).map(|(i, n)| Around { index: *i, extent: *n });
                        around.extend(own);
                        if outer == 0 {
                            self.own = around.len();
                        }
                        if let ([k], [count]) = (index, &extents[..]) {
                            around.extend(derived(g, *k, *count, body));
                        }
                        let outside = std::mem::replace(&mut self.splits_products, leaves_records(g, body));
                        let body = self.node(g, body, around);
                        self.splits_products = outside;
                        around.truncate(outer);
                        body
                    }))
                }
                op => op.lambda().cloned(),
            };
            let changed = !op.operands().eq(operands.iter().copied()) || lambda.as_ref() != op.lambda();
            if changed {
                made = g.add(op.with(&operands, lambda));
                let (bound, once) = (g.node(n).bound, g.node(n).once);
                g.keep_marks(bound, once, made);
            }
            g.set_loc(before);
        }
        if closed {
            self.done.insert(n, made)
        } else {
            memo.insert(n, made)
        };
        made
    }

    /// Returns the value as an element of a stored array, if it contains a nested operation that
    /// depends on some of the indices only.
    fn stored(&mut self, g: &mut Graph, n: NodeId, around: &[Around]) -> Option<NodeId> {
        // of conditions and counts, and of what leaves records, that is stored from which they are
        // computed
        if !is_costly(g.op(n)) && (!g.ty(n).elem.is_float() || may_record(g, n)) {
            return None;
        }
        let is_one_row = around.len() < 2 && !self.splits_products;
        if is_one_row || !g.ty(n).is_scalar() || !self.has_nested(g, n) {
            return None;
        }
        let is_product = matches!(g.op(n), Op::PanelDot { .. }) && !may_record(g, n);
        let (needed, value) = match is_product && self.splits_products {
            true => everything(g, n, around)?,
            false => dependence(g, n, around)?,
        };
        // what lacks only the indices of loops inside of the element is computed before these loops
        let is_needed = |a: &Around| needed.iter().any(|n| n.0.index == a.index);
        if around[..self.own].iter().all(is_needed) && !self.has_reduction(g, n) {
            return None;
        }
        let extents: Vec<NodeId> = needed.iter().map(|a| a.0.extent).collect();
        if extents.len() > MAX_RANK || extents.iter().any(|n| !g.is_closed(*n)) {
            return None;
        }
        // loops of few iterations are unrolled, and their values may become constants
        let few = |n: &NodeId| g.as_lit(*n).and_then(Lit::as_int).is_some_and(|n| n <= FEW);
        if extents.iter().all(few) && !self.has_reduction(g, n) {
            return None;
        }
        let before = g.set_loc(g.node(n).loc.clone());
        let vars: Vec<(Var, Ty)> = needed.iter().map(|a| (a.1, Ty::I64)).collect();
        let lambda = g.close(&vars, value);
        let extents =
            extents.into_iter().map(|n| if self.lengths.contains(&n) { n } else { length(g, n) }).collect();
        let array = g.add(Op::Generate(extents, lambda));
        // the array may contain further operations that depend on fewer indices
        let array = self.node(g, array, &mut Vec::new());
        let index: Vec<NodeId> = needed.iter().map(|a| a.0.index).collect();
        let element = match kept_records::stored(g, array) {
            Some(array) => element(g, array, &index),
            None => n,
        };
        g.set_loc(before);
        (element != n).then_some(element)
    }

    /// Returns whether a node needs a nested operation, its own or one of an array that it reads.
    fn leads_to_nested(&mut self, g: &Graph, n: NodeId) -> bool {
        if let Some(known) = self.leads.get(&n) {
            return *known;
        }
        let op = g.op(n);
        let own = is_costly(op) && !g.is_closed(n);
        let found =
            own || op.operands().chain(op.lambda().map(|l| l.body)).any(|o| self.leads_to_nested(g, o));
        self.leads.insert(n, found);
        found
    }

    /// Returns whether a node contains a reduction or a fold that depends on a variable.
    fn has_reduction(&self, g: &Graph, n: NodeId) -> bool {
        let is_known = |n: NodeId| g.is_closed(n);
        g.reachable_until([n], is_known).into_iter().any(|n| g.op(n).is_reduction())
    }

    /// Returns whether a node contains a reduction, a fold or an elementary function that depends on a
    /// variable.
    fn has_nested(&mut self, g: &Graph, n: NodeId) -> bool {
        if g.is_closed(n) {
            return false;
        }
        if let Some(known) = self.nested.get(&n) {
            return *known;
        }
        let op = g.op(n);
        let own = is_costly(op);
        let found = own || op.operands().chain(op.lambda().map(|l| l.body)).any(|o| self.has_nested(g, o));
        self.nested.insert(n, found);
        found
    }
}

/// Returns the extent of a stored array: a loop may have a negative number of iterations.
pub fn length(g: &mut Graph, n: NodeId) -> NodeId {
    if Linear::of(g, n).at_least(g, 0) {
        return n;
    }
    let zero = g.lit(Lit::i64(0));
    simplify(g, Op::Binary(BinaryOp::Max, n, zero))
}

/// Returns row and column of element `k` of a matrix of `count` elements as the body computes them,
/// each with its extent. Returns nothing if the body computes no row, or rows of several widths, or
/// if the last row may be shorter than the others.
pub fn axes_of_sequence(g: &mut Graph, k: NodeId, count: NodeId, body: NodeId) -> Vec<(NodeId, NodeId)> {
    let widths: Vec<NodeId> = quotients(g, k, body).into_iter().map(|q| q.1).collect();
    let [width] = widths[..] else { return Vec::new() };
    let Some((rows, columns)) = whole_rows(g, count, width) else { return Vec::new() };
    let [row, column] = [BinaryOp::Div, BinaryOp::Rem].map(|op| g.add(Op::Binary(op, k, width)));
    vec![(row, rows), (column, columns)]
}

/// Finds the indices that the body computes from element `k` of a row-major index space of `count`
/// elements: rows `k / width`, columns `k % width`, and the same of rows. What is computed from another
/// one comes first.
fn derived(g: &mut Graph, k: NodeId, count: NodeId, body: NodeId) -> Vec<Around> {
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
                found.push(Around { index: column, extent: columns });
            }
        }
        found.push(Around { index, extent });
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

/// Returns the indices that a value depends on, with a new variable for each, and the value with
/// the indices replaced by these variables. Returns `None` if the value depends on all indices or
/// on other variables.
fn dependence(g: &mut Graph, n: NodeId, around: &[Around]) -> Option<(Vec<(Around, Var)>, NodeId)> {
    // derived indices come first: if the value uses a row, it does not need the variable of that
    // row
    let mut order: Vec<Around> = around.to_vec();
    order.sort_by_key(|a| matches!(g.op(a.index), Op::Var(..)));
    let (needed, value) = by_variables(g, n, order);
    let only_these = depends_on(g, value, &needed);
    let has = |index: NodeId| needed.iter().any(|a| a.0.index == index);
    let is_variable = |a: &&Around| matches!(g.op(a.index), Op::Var(..));
    let all = around.iter().filter(is_variable).all(|a| is_known(g, a.index, around, &has));
    (only_these && !all && !needed.is_empty()).then_some((needed, value))
}

/// Returns whether an index follows from those that `has` holds for: itself, or row and column.
fn is_known(g: &Graph, index: NodeId, around: &[Around], has: &dyn Fn(NodeId) -> bool) -> bool {
    has(index)
        || around.iter().any(|row| match *g.op(row.index) {
            Op::Binary(BinaryOp::Div, a, width) if a == index => {
                let column = g.find(&Op::Binary(BinaryOp::Rem, index, width));
                column.is_some_and(has) && is_known(g, row.index, around, has)
            }
            _ => false,
        })
}

/// Returns all variables that a value depends on, as [`dependence`] does.
fn everything(g: &mut Graph, n: NodeId, around: &[Around]) -> Option<(Vec<(Around, Var)>, NodeId)> {
    let variables = around.iter().filter(|a| matches!(g.op(a.index), Op::Var(..))).copied().collect();
    let (needed, value) = by_variables(g, n, variables);
    (depends_on(g, value, &needed) && !needed.is_empty()).then_some((needed, value))
}

/// Replaces these indices in a value, in order, by new variables. Returns those that it has, and the
/// value.
fn by_variables(g: &mut Graph, n: NodeId, indices: Vec<Around>) -> (Vec<(Around, Var)>, NodeId) {
    let (mut needed, mut value) = (Vec::new(), n);
    for a in indices {
        let (var, node) = g.fresh_var(Ty::I64);
        let with = replaced(g, value, a.index, node, &mut HashMap::default());
        if with != value {
            needed.push((a, var));
            value = with;
        }
    }
    (needed, value)
}

/// Returns whether a value depends on no other variables.
fn depends_on(g: &Graph, value: NodeId, needed: &[(Around, Var)]) -> bool {
    g.node(value).free.iter().all(|v| needed.iter().any(|a| a.1 == *v))
}

/// Returns whether an element has sums of matrix products, and leaves error records beside them.
fn leaves_records(g: &Graph, element: NodeId) -> bool {
    let is_product = |n: NodeId| matches!(g.op(n), Op::PanelDot { .. });
    let outside = g.reachable_until([element], |n| g.is_closed(n) || is_product(n));
    let records = outside.iter().any(|n| g.op(*n).may_record(g));
    records && outside.iter().any(|n| g.op(*n).operands().any(is_product))
}

/// Replaces a node by another one, also inside of lambdas.
pub fn replaced(
    g: &mut Graph,
    n: NodeId,
    old: NodeId,
    new: NodeId,
    memo: &mut HashMap<NodeId, NodeId>,
) -> NodeId {
    if n == old {
        return new;
    }
    if g.is_closed(n) {
        return n;
    }
    if let Some(known) = memo.get(&n) {
        return *known;
    }
    let op = g.op(n).clone();
    let operands: Vec<NodeId> = op.operands().map(|o| replaced(g, o, old, new, memo)).collect();
    let before = g.set_loc(g.node(n).loc.clone());
    let lambda = op.lambda().map(|l| {
        let types: Vec<Ty> = l.params.iter().map(|p| p.1).collect();
        g.lambda(&types, |g, v| {
            let body = g.open(l, v);
            replaced(g, body, old, new, &mut HashMap::default())
        })
    });
    let changed = !op.operands().eq(operands.iter().copied()) || lambda.as_ref() != op.lambda();
    let made = if changed { g.add(op.with(&operands, lambda)) } else { n };
    g.set_loc(before);
    if changed {
        let (bound, once) = (g.node(n).bound, g.node(n).once);
        g.keep_marks(bound, once, made);
    }
    memo.insert(n, made);
    made
}
