//! Guards the error records of reductions that turned out not to depend on an element. Suppose that a closure has a
//! reduction of values that are the same for all elements. It gets a launch of its own, which runs once for the call.
//! In the author's program it ran for each element that needed it, and for no element if the index space was empty
//! or if a `select` took the other arm. So the launch may leave error records only if some element needs the
//! reduction (semantics 6).
//!
//! ```text
//! generate %n (%i) { reduce .. over (generate %m (%k) { div 7i32, (elem %v, %k) }) }
//!   ->  generate %n (%i) { reduce .. over (generate %m (%k) {
//!           select (lt 0i64, %n), (div 7i32, (elem %v, %k)), 0i32 }) }
//! ```
//!
//! The condition says that the index spaces around the reduction are not empty and that the conditions of the
//! `select`s around it hold. If one of these depends on an element, the launch cannot compute it. Then the reduction
//! stays in the element: its length n becomes `min(n, max(n, variable))`, which is n but depends on the element.
//!
//! A reduction that stands outside of closures in the author's program, or depends on no element
//! there, leaves its records in any case ([`crate::core::Node::once`]).

use crate::core::records::{Records, may_record};
use crate::core::simplify::simplify;
use crate::core::{Function, Graph, Lambda, NodeId, Op, tuples};
use crate::error::{Error, Result};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use rustc_hash::FxHashMap as HashMap;
use std::cell::RefCell;

/// Marks the nodes that are computed once for the call in the author's program.
pub fn mark(f: &mut Function) {
    f.graph.on_demand = true;
    let is_once = |n: &NodeId| f.graph.op(*n).needs_launch() && f.graph.is_closed(*n);
    if f.needs(|n| is_once(&n)) {
        let once: Vec<NodeId> = f.graph.reachable(f.roots()).into_iter().filter(is_once).collect();
        once.into_iter().for_each(|n| f.graph.mark_once(n));
    }
}

/// Runs the pass.
pub fn run(mut f: Function) -> Result<Function> {
    f.graph.on_demand = false;
    let g = &f.graph;
    let records = RefCell::new(Records::default());
    if !f.needs(|n| is_target(g, n, &mut records.borrow_mut())) {
        return Ok(f);
    }
    let records = records.into_inner();
    let mut guard =
        Guard { name: f.name.clone(), records, holds: HashMap::default(), made: HashMap::default() };
    for r in &mut f.results {
        r.value = guard.node(&mut f.graph, r.value, &Context::default())?;
    }
    Ok(f)
}

/// Returns whether a node needs a launch of its own, needed none in the author's program, and may
/// leave an error record.
fn is_target(g: &Graph, n: NodeId, records: &mut Records) -> bool {
    g.op(n).needs_launch() && g.is_closed(n) && !g.node(n).once && records.may(g, n)
}

/// The context of a value.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct Context {
    /// The conditions under which the value is needed, outermost first. Each may only be evaluated
    /// if those before it hold.
    conditions: Vec<NodeId>,
    /// The innermost variable in scope.
    variable: Option<NodeId>,
}

impl Context {
    fn and(&self, g: &Graph, condition: NodeId) -> Context {
        let mut new = self.clone();
        if !new.conditions.contains(&condition) && !g.as_lit(condition).is_some_and(Lit::as_bool) {
            new.conditions.push(condition);
        }
        new
    }

    /// Returns the context inside a function that is called for the elements of an index space.
    fn of_elements(&self, g: &mut Graph, extents: &[NodeId], variable: NodeId) -> Context {
        let mut new = self.clone();
        let zero = g.lit(Lit::i64(0));
        for n in extents {
            let some = simplify(g, Op::Binary(BinaryOp::Lt, zero, *n));
            new = new.and(g, some);
        }
        Context { variable: Some(variable), ..new }
    }

    /// Returns the conjunction of all conditions; each is evaluated only if those before it hold.
    fn all(&self, g: &mut Graph) -> Option<NodeId> {
        let no = g.lit(Lit::bool(false));
        let both = |inner, outer| g.add(Op::Select(outer, inner, no));
        self.conditions.iter().rev().copied().reduce(both)
    }
}

struct Guard {
    /// The function's name.
    name: String,
    /// Which nodes of the function may leave an error record.
    records: Records,
    /// Whether a node is a target or needs one, for nodes that were examined.
    holds: HashMap<NodeId, bool>,
    /// The nodes that were made, by the node that they replace and its context.
    made: HashMap<(NodeId, Context), NodeId>,
}

impl Guard {
    /// Whether a node is a target or needs one.
    fn holds(&mut self, g: &Graph, n: NodeId) -> bool {
        if let Some(known) = self.holds.get(&n) {
            return *known;
        }
        let op = g.op(n);
        let found = is_target(g, n, &mut self.records)
            || op.operands().chain(op.lambda().map(|l| l.body)).any(|o| self.holds(g, o));
        self.holds.insert(n, found);
        found
    }

    /// Returns the node with all targets in it guarded, for a use in this context.
    fn node(&mut self, g: &mut Graph, n: NodeId, around: &Context) -> Result<NodeId> {
        if !self.holds(g, n) {
            return Ok(n);
        }
        let key = (n, around.clone());
        if let Some(known) = self.made.get(&key) {
            return Ok(*known);
        }
        let before = g.set_loc(g.node(n).loc.clone());
        let (bound, once) = (g.node(n).bound, g.node(n).once);
        let everywhere = Context::default();
        let mut made = self.rebuilt(g, n, if once { &everywhere } else { around })?;
        if is_target(g, n, &mut self.records) {
            made = self.guarded(g, made, around)?;
        }
        g.keep_marks(bound, once, made);
        g.set_loc(before);
        self.made.insert(key, made);
        Ok(made)
    }

    /// Returns the operation with its operands and its function guarded.
    fn rebuilt(&mut self, g: &mut Graph, n: NodeId, around: &Context) -> Result<NodeId> {
        let op = g.op(n).clone();
        if let Op::Select(c, a, b) = op {
            let c = self.node(g, c, around)?;
            let not = simplify(g, Op::Unary(UnaryOp::Not, c));
            let (then, otherwise) = (around.and(g, c), around.and(g, not));
            let (a, b) = (self.node(g, a, &then)?, self.node(g, b, &otherwise)?);
            return Ok(g.add(Op::Select(c, a, b)));
        }
        let operands = op.operands().map(|o| self.node(g, o, around)).collect::<Result<Vec<_>>>()?;
        let extents = match &op {
            Op::Generate(extents, _) => extents.clone(),
            // an operator is called only if there are elements
            Op::Reduce { src, .. } | Op::Fold { src, .. } => extents(g, *src),
            _ => Vec::new(),
        };
        let lambda = match op.lambda() {
            Some(l) if matches!(op, Op::Loop { .. }) => Some(self.of_loop(g, l, around)?),
            Some(l) => Some(self.lambda(g, l, &extents, around)?),
            None => None,
        };
        Ok(g.add(op.with(&operands, lambda)))
    }

    /// Rebuilds a function that is called for the elements of an index space with these extents.
    fn lambda(&mut self, g: &mut Graph, l: &Lambda, extents: &[NodeId], around: &Context) -> Result<Lambda> {
        let vars: Vec<_> = l.params.iter().map(|p| (g.fresh_var(p.1), p.1)).collect();
        let nodes: Vec<NodeId> = vars.iter().map(|v| v.0.1).collect();
        let inside = around.of_elements(g, extents, *nodes.last().expect("functions of elements take some"));
        let body = g.open(l, &nodes);
        let body = self.node(g, body, &inside)?;
        let vars: Vec<_> = vars.iter().map(|v| (v.0.0, v.1)).collect();
        Ok(g.close(&vars, body))
    }

    /// Rebuilds the function of a loop. Whether the loop takes a step is known in the element only, so a target in
    /// the function must stay there: the condition `0 <= step number`, which always holds, makes the context depend
    /// on the element.
    fn of_loop(&mut self, g: &mut Graph, l: &Lambda, around: &Context) -> Result<Lambda> {
        let vars: Vec<_> = l.params.iter().map(|p| (g.fresh_var(p.1), p.1)).collect();
        let nodes: Vec<NodeId> = vars.iter().map(|v| v.0.1).collect();
        let zero = g.lit(Lit::i64(0));
        let is_step = g.add(Op::Binary(BinaryOp::Le, zero, nodes[0]));
        let inside = Context { variable: Some(nodes[0]), ..around.and(g, is_step) };
        let body = g.open(l, &nodes);
        let body = self.node(g, body, &inside)?;
        let vars: Vec<_> = vars.iter().map(|v| (v.0.0, v.1)).collect();
        Ok(g.close(&vars, body))
    }

    /// Returns a target that leaves records only if the conditions of its context hold.
    fn guarded(&mut self, g: &mut Graph, n: NodeId, around: &Context) -> Result<NodeId> {
        let Some(needed) = around.all(g) else { return Ok(n) };
        let is_closed = g.is_closed(needed);
        let op = g.op(n).clone();
        match (op, around.variable.filter(|_| !is_closed)) {
            (Op::Materialize(_), Some(_)) => {
                let what = "materialize of an array in a closure that depends on no element of it, but is needed by some, and may leave a record";
                let message = format!("{}: {what}, is not supported; leave it out", self.name);
                Err(Error::limit("E0401", message).at(g.node(n).loc.first()))
            }
            (Op::Materialize(x), None) => {
                let x = with_elements(g, x, |g, e| only_if(g, needed, e));
                Ok(g.add(Op::Materialize(x)))
            }
            (
                Op::Reduce { .. } | Op::Fold { .. } | Op::Dot { .. } | Op::SquaredDeviations { .. },
                Some(variable),
            ) => Ok(pinned(g, n, variable)),
            (Op::SquaredDeviations { init, src }, None) => {
                let init = only_if(g, needed, init);
                let src = with_elements(g, src, |g, e| only_if(g, needed, e));
                Ok(g.add(Op::SquaredDeviations { init, src }))
            }
            (Op::Reduce { join, init, src, which }, None) => {
                let (join, init) =
                    (joined_if(g, needed, &join), tuples::each(g, init, |g, e| only_if(g, needed, e)));
                let src = with_elements(g, src, |g, e| tuples::each(g, e, |g, e| only_if(g, needed, e)));
                Ok(g.add(Op::Reduce { join, init, src, which }))
            }
            (Op::Fold { step, init, src, which }, None) => {
                let (step, init) =
                    (joined_if(g, needed, &step), tuples::each(g, init, |g, e| only_if(g, needed, e)));
                let src = with_elements(g, src, |g, e| tuples::each(g, e, |g, e| only_if(g, needed, e)));
                Ok(g.add(Op::Fold { step, init, src, which }))
            }
            (Op::Dot { init, a, b }, None) => {
                let init = only_if(g, needed, init);
                let [a, b] = [a, b].map(|x| with_elements(g, x, |g, e| only_if(g, needed, e)));
                Ok(g.add(Op::Dot { init, a, b }))
            }
            // an iteration takes its array arguments from `materialize`, and its steps are separate
            // functions
            _ => Ok(n),
        }
    }
}

/// Replaces a value that may leave a record by 0 if it is not needed.
fn only_if(g: &mut Graph, needed: NodeId, value: NodeId) -> NodeId {
    if !may_record(g, value) {
        return value;
    }
    let zero = g.lit(Lit::zero(g.ty(value).elem));
    g.add(Op::Select(needed, value, zero))
}

/// Replaces the result of an operator by its first operand if it is not needed.
fn joined_if(g: &mut Graph, needed: NodeId, operator: &Lambda) -> Lambda {
    let types: Vec<Ty> = operator.params.iter().map(|p| p.1).collect();
    g.lambda(&types, |g, v| {
        let body = g.open(operator, v);
        let mut first = v.iter();
        tuples::each(g, body, |g, c| match (may_record(g, c), first.next()) {
            (true, Some(first)) => g.add(Op::Select(needed, c, *first)),
            _ => c,
        })
    })
}

/// Returns a `generate` with other elements.
fn with_elements(g: &mut Graph, array: NodeId, f: impl FnOnce(&mut Graph, NodeId) -> NodeId) -> NodeId {
    let Op::Generate(extents, lambda) = g.op(array).clone() else { return array };
    let types: Vec<Ty> = lambda.params.iter().map(|p| p.1).collect();
    let lambda = g.lambda(&types, |g, i| {
        let e = g.open(&lambda, i);
        f(g, e)
    });
    g.add(Op::Generate(extents, lambda))
}

/// Makes a reduction depend on a variable, by its length: n = min(n, max(n, variable)).
fn pinned(g: &mut Graph, n: NodeId, variable: NodeId) -> NodeId {
    let mut op = g.op(n).clone();
    let variable = simplify(g, Op::Cast(Ty::I64, variable));
    let mut long = |array: NodeId| match g.op(array).clone() {
        Op::Generate(extents, lambda) => {
            let greater = g.add(Op::Binary(BinaryOp::Max, extents[0], variable));
            let same = g.add(Op::Binary(BinaryOp::Min, extents[0], greater));
            g.add(Op::Generate(vec![same], lambda))
        }
        _ => array,
    };
    match &mut op {
        Op::Reduce { src, .. } | Op::Fold { src, .. } | Op::SquaredDeviations { src, .. } => {
            *src = long(*src);
        }
        Op::Dot { a, b, .. } => [*a, *b] = [long(*a), long(*b)],
        _ => {}
    }
    g.add(op)
}

fn extents(g: &Graph, array: NodeId) -> Vec<NodeId> {
    if let Op::Generate(extents, _) = g.op(array) { extents.clone() } else { Vec::new() }
}
