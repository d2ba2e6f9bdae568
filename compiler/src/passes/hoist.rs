//! Hoisting: a nested operation that depends on some but not all of the indices around it is
//! computed once for each value of those indices, and stored (Larsen, section 7, generalised to a
//! part of the indices). An operation that depends on none of the indices gets a launch of its own
//! anyway.
//!
//! ```text
//! generate n, m (%i, %j) {                              %t = materialize (generate n (%i) { reduce .. x[%i, k] .. })
//!   %s = reduce .. over (generate m (%k) { x[%i, k] }) ->  generate n, m (%i, %j) {
//!   x[%i, %j] / %s                                         x[%i, %j] / elem %t, %i
//! }                                                      }
//! ```
//!
//! For example, the rows of a matrix are divided by their sums in two launches, instead of one sum
//! for each element. In a reduction of a whole matrix there is one index k over all elements, and
//! the row is `k / m`, which counts as an index of its own.
//!
//! An elementary function that depends on some of the indices only is stored likewise, because it costs more than a
//! load of its value. A value that may leave an error record is stored without leaving it (`core/kept_records.rs`),
//! because it might not be needed.

use crate::budget;
use crate::core::equations::Equations;
use crate::core::graph::replace::replaced;
use crate::core::records::may_record;
use crate::core::{COLUMNS, Function, Graph, MAX_RANK, NodeId, Op, Rule, Var};
use crate::core::{index_space, kept_records, sequence};
use crate::error::Result;
use crate::scalar::{BinaryOp, Lit, Ty};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// The maximum number of iterations of loops whose elementary functions stay where they are: longer loops are not
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
    let lengths = out.requires.iter().filter(|r| r.rule == Rule::Extent).map(|r| r.b).collect();
    let mut hoist = Hoist { lengths, rules: Equations::of(&out), ..Hoist::default() };
    for r in &mut out.results {
        r.value = hoist.node(&mut out.graph, r.value, &mut Vec::new());
    }
    Ok(out)
}

/// Returns whether an operation costs more than the load of its value.
fn is_costly(op: &Op) -> bool {
    op.is_elementary() || op.is_loop()
}

/// An index in scope of a node, with its extent: a variable, or an expression that counts as an index.
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
    /// Whether the element has sums of matrix products, and may leave error records outside of them. The tiles of a
    /// product cannot leave records, so the product is then stored.
    splits_products: bool,
    /// The number of indices of the element itself.
    own: usize,
    /// Extents that a shape rule guarantees not to be negative.
    lengths: HashSet<NodeId>,
    /// The equations between lengths that follow from the shape rules.
    rules: Equations,
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
        if budget::is_exceeded(&g.node(n).loc) {
            return n;
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
                        let own = match outer {
                            0 => around.len(),
                            _ => self.own,
                        };
                        let own = std::mem::replace(&mut self.own, own);
                        if let ([k], [count]) = (index, &extents[..]) {
                            let indices = sequence::derived(g, *k, *count, body);
                            around
                                .extend(indices.into_iter().map(|(index, extent)| Around { index, extent }));
                        }
                        let outside = std::mem::replace(&mut self.splits_products, leaves_records(g, body));
                        let body = self.node(g, body, around);
                        (self.splits_products, self.own) = (outside, own);
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
        // the components of a tuple are stored, each for itself
        if matches!(g.op(n), Op::Tuple(_)) {
            return None;
        }
        // for conditions and counts, and for values that leave records, the operands are stored instead of the values
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
        // a value that depends on all indices of the element, but not on those of loops inside, needs no array: the
        // element computes it before these loops
        let is_needed = |a: &Around| needed.iter().any(|n| n.0.index == a.index);
        if around[..self.own].iter().all(is_needed) && !self.has_reduction(g, n) {
            return None;
        }
        let extents: Vec<NodeId> = needed.iter().map(|a| a.0.extent).collect();
        if extents.len() > MAX_RANK || extents.iter().any(|n| !g.is_closed(*n)) {
            return None;
        }
        // loops with few iterations are unrolled, and their values may then become constants; the element's own
        // indices are no loops
        let few = |n: &NodeId| g.as_lit(*n).and_then(Lit::as_int).is_some_and(|n| n <= FEW);
        let has_own = needed.iter().any(|a| around[..self.own].iter().any(|own| own.index == a.0.index));
        if extents.iter().all(few) && !has_own && !self.has_reduction(g, n) {
            return None;
        }
        let before = g.set_loc(g.node(n).loc.clone());
        let vars: Vec<(Var, Ty)> = needed.iter().map(|a| (a.1, Ty::I64)).collect();
        let extents = extents
            .into_iter()
            .map(|n| if self.lengths.contains(&n) { n } else { index_space::length(g, n) })
            .collect();
        let dropped: Vec<NodeId> = around
            .iter()
            .filter(|a| !is_needed(a) && matches!(g.op(a.index), Op::Var(..)))
            .map(|a| a.extent)
            .collect();
        let kept: Vec<(Var, NodeId)> = needed.iter().map(|a| (a.1, a.0.extent)).collect();
        let loops = index_space::Loops { kept: &kept, dropped: &dropped };
        let Some(extents) = index_space::only_inside(g, extents, value, loops, &self.rules) else {
            g.set_loc(before);
            return None;
        };
        let lambda = g.close(&vars, value);
        let array = g.add(Op::Generate(extents, lambda));
        // the array may contain further operations that depend on fewer indices
        let array = self.node(g, array, &mut Vec::new());
        let index: Vec<NodeId> = needed.iter().map(|a| a.0.index).collect();
        let element = match kept_records::stored(g, array) {
            Some(array) => kept_records::element(g, array, &index),
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

/// Returns the indices that a value depends on, with a new variable for each, and the value with
/// the indices replaced by these variables. Returns `None` if the value depends on all indices or
/// on other variables.
fn dependence(g: &mut Graph, n: NodeId, around: &[Around]) -> Option<(Vec<(Around, Var)>, NodeId)> {
    let is_needed = |a: &Around| matches!(g.op(a.index), Op::Var(v, _) if g.node(n).free.contains(v));
    if around.iter().all(is_needed) {
        return None;
    }
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

/// Returns whether an index can be computed from those for which `has` holds: it is one, or its row and column are.
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
        if !g.node(a.index).free.iter().all(|v| g.node(value).free.contains(v)) {
            continue;
        }
        let (var, node) = g.fresh_var(Ty::I64);
        let with = match *g.op(a.index) {
            Op::Var(old, _) => g.substitute(value, &HashMap::from_iter([(old, node)])),
            _ => replaced(g, value, a.index, node, &mut HashMap::default()),
        };
        if with != value {
            needed.push((a, var));
            value = with;
        }
    }
    (needed, value)
}

/// Returns whether a value depends on no variables other than these.
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
