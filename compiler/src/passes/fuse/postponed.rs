//! Arrays whose elements are composed only when a launch needs them.
//!
//! If z is read by a gather of a gather of it, no launch computes the array in between, and composing
//! its element with that of z for nothing would take quadratic time in a chain of gathers. So the
//! bodies of such arrays stay as the author wrote them, and are composed for each index at which an
//! element is needed.

use super::{Fuse, total};
use crate::core::{Function, Graph, Lambda, NodeId, Op, Var};
use crate::scalar::Ty;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// What is postponed in a function.
pub(super) struct Postponed {
    /// The arrays.
    pub arrays: HashSet<NodeId>,
    /// The nodes that only their bodies need.
    pub nodes: HashSet<NodeId>,
}

impl Postponed {
    /// Finds the computed arrays that read arrays, and are neither results nor reduced nor stored.
    pub fn of(f: &Function, is_stored: impl Fn(NodeId) -> bool) -> Postponed {
        let g = &f.graph;
        let mut needed: HashSet<NodeId> = f.results.iter().map(|r| r.value).collect();
        let rules = f.requires.iter().flat_map(|r| [r.a, r.b]);
        let all = g.reachable(f.results.iter().map(|r| r.value).chain(rules));
        for n in &all {
            let op = g.op(*n);
            if op.is_reduction() || matches!(op, Op::Materialize(_) | Op::Iterate { .. }) {
                needed.extend(op.operands());
            }
        }
        let is_closed = |n: NodeId| g.is_closed(n);
        let is_read = |n: &NodeId| matches!(g.op(*n), Op::At(..) | Op::Elem(..));
        let reads = |l: &Lambda| g.reachable_until([l.body], is_closed).iter().any(is_read);
        let (mut arrays, mut bodies, mut others) = (HashSet::default(), Vec::new(), Vec::new());
        for n in all.into_iter().filter(|n| g.is_closed(*n)) {
            let Some(lambda) = g.op(n).lambda() else { continue };
            let is_array = matches!(g.op(n), Op::Generate(..) | Op::Map(..));
            if is_array && !needed.contains(&n) && !is_stored(n) && reads(lambda) {
                arrays.insert(n);
                bodies.push(lambda.body);
            } else {
                others.push(lambda.body);
            }
        }
        let mut nodes: HashSet<NodeId> = g.reachable_until(bodies, is_closed).into_iter().collect();
        for n in g.reachable_until(others, is_closed) {
            nodes.remove(&n);
        }
        Postponed { arrays, nodes }
    }
}

/// The opened body of a postponed array.
#[derive(Clone)]
pub(super) struct Opened {
    vars: Vec<Var>,
    body: NodeId,
}

/// The elements that are composed while a body is walked through.
struct Walk {
    /// The nodes that replace those of the body, first the arguments.
    made: HashMap<NodeId, NodeId>,
    /// The variables in scope.
    scope: Vec<Var>,
    /// The variables for which a read is not proven to be in bounds.
    unproven: Vec<Var>,
}

impl Fuse {
    /// Adds a node of a postponed body as it is written. If nothing of it depends on the body's
    /// variables any more, because an array turned out to be the same everywhere, it is composed now.
    pub(super) fn postponed(&mut self, g: &mut Graph, op: Op) -> NodeId {
        let made = g.add(op.clone());
        if !g.is_closed(made) {
            return made;
        }
        let operands: Vec<NodeId> = op.operands().collect();
        let lambda = op.lambda().map(|l| {
            let types: Vec<Ty> = l.params.iter().map(|p| p.1).collect();
            g.lambda(&types, |g, v| {
                let scope = v.iter().flat_map(|v| g.node(*v).free.iter().copied()).collect();
                let body = g.open(l, v);
                self.walked(g, body, &mut Walk { made: HashMap::default(), scope, unproven: Vec::new() })
            })
        });
        let op = op.with(&operands, lambda);
        self.scalar(g, op)
    }

    /// Returns the body of a postponed array with these arguments, and composes the elements that
    /// it reads. Unless they are `proven`, reads that depend on them become total.
    pub(super) fn composed(
        &mut self,
        g: &mut Graph,
        x: NodeId,
        lambda: &Lambda,
        args: &[NodeId],
        proven: bool,
    ) -> NodeId {
        if !proven && has_arrays(g, lambda) {
            // which reads depend on the arguments shows when loops over views are composed
            let types: Vec<Ty> = lambda.params.iter().map(|p| p.1).collect();
            let lambda = g.lambda(&types, |g, vars| self.composed(g, x, lambda, vars, true));
            let lambda = total(g, &lambda);
            return g.open(&lambda, args);
        }
        let opened = self.opened.entry(x).or_insert_with(|| {
            // its nodes have their own locations, not those of the first reader
            let asked = g.set_loc(Default::default());
            let vars: Vec<(Var, NodeId)> = lambda.params.iter().map(|p| g.fresh_var(p.1)).collect();
            let (vars, nodes): (Vec<Var>, Vec<NodeId>) = vars.into_iter().unzip();
            let body = g.open(lambda, &nodes);
            g.set_loc(asked);
            Opened { vars, body }
        });
        let Opened { vars, body } = opened.clone();
        let made = vars.iter().zip(&lambda.params).zip(args);
        let made = made.map(|((v, p), arg)| (g.add(Op::Var(*v, p.1)), *arg)).collect();
        let unproven = if proven { Vec::new() } else { vars.clone() };
        self.walked(g, body, &mut Walk { made, scope: vars, unproven })
    }

    fn walked(&mut self, g: &mut Graph, body: NodeId, walk: &mut Walk) -> NodeId {
        for n in g.reachable_until([body], |n| g.is_closed(n) || walk.made.contains_key(&n)) {
            if !g.node(n).free.iter().all(|v| walk.scope.contains(v)) || matches!(g.op(n), Op::Var(..)) {
                continue;
            }
            let op = g.op(n).clone();
            let asked = g.set_loc(Default::default());
            g.set_loc(g.node(n).loc.within(&asked));
            let operands: Vec<NodeId> = op.operands().map(|o| *walk.made.get(&o).unwrap_or(&o)).collect();
            let lambda = op.lambda().map(|l| {
                let types: Vec<Ty> = l.params.iter().map(|p| p.1).collect();
                let scope = walk.scope.len();
                let made = g.lambda(&types, |g, v| {
                    walk.scope.extend(v.iter().flat_map(|v| g.node(*v).free.iter().copied()));
                    let inner = g.open(l, v);
                    self.walked(g, inner, walk)
                });
                walk.scope.truncate(scope);
                made
            });
            let is_unproven = |i: &NodeId| g.node(*i).free.iter().any(|v| walk.unproven.contains(v));
            let made = match (&op, op.with(&operands, lambda)) {
                (Op::Elem(_, before), Op::Elem(x, index)) if before.iter().any(is_unproven) => {
                    self.element(g, x, &index, false)
                }
                (_, op) => self.scalar(g, op),
            };
            let (bound, once) = (g.node(n).bound, g.node(n).once);
            g.keep_marks(bound, once, made);
            g.set_loc(asked);
            walk.made.insert(n, made);
        }
        *walk.made.get(&body).unwrap_or(&body)
    }
}

/// Returns whether a body contains arrays that depend on its variables.
fn has_arrays(g: &Graph, lambda: &Lambda) -> bool {
    let body = g.reachable_until([lambda.body], |n| g.is_closed(n));
    body.into_iter().any(|n| !g.ty(n).is_scalar())
}
