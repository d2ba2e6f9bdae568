//! Arrays whose elements fusion composes only when a launch needs them.
//!
//! If z is read by a gather of a gather of it, no launch computes the array in between. Composing its element with
//! that of z for nothing would take quadratic time in a chain of gathers. So the bodies of such arrays stay as the
//! author wrote them, and are walked through for each index at which an element is needed.

use super::total_reads::{Asked, has_unproven_indices};
use super::{Function, Graph, Lambda, NodeId, Op, Var};
use crate::budget;
use crate::scalar::Ty;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// The arrays of a function that are postponed.
pub struct Postponed {
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
        let is_read = |n: &NodeId| matches!(g.op(*n), Op::At(..) | Op::Elem(..));
        if !all.iter().any(is_read) {
            return Postponed { arrays: HashSet::default(), nodes: HashSet::default() };
        }
        for n in &all {
            let op = g.op(*n);
            if op.is_reduction() || matches!(op, Op::Materialize(_) | Op::Iterate { .. }) {
                needed.extend(op.operands());
            }
        }
        let is_closed = |n: NodeId| g.is_closed(n);
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
pub struct Opened {
    vars: Vec<Var>,
    nodes: Vec<NodeId>,
    body: NodeId,
}

impl Opened {
    /// Opens a lambda. Its nodes have their own locations, not those of a reader.
    pub fn of(g: &mut Graph, lambda: &Lambda) -> Opened {
        let vars: Vec<(Var, NodeId)> = lambda.params.iter().map(|p| g.fresh_var(p.1)).collect();
        let (vars, nodes): (Vec<Var>, Vec<NodeId>) = vars.into_iter().unzip();
        let asked = g.set_loc(Default::default());
        let body = g.open(lambda, &nodes);
        g.set_loc(asked);
        Opened { vars, nodes, body }
    }
}

/// Returns the operation that replaces one of a body, whose operands are replaced already. The flag says that it is a
/// read which is not proven to be in bounds.
pub type Compose<'c> = dyn FnMut(&mut Graph, Op, bool) -> NodeId + 'c;

/// A walk through a body.
struct Walk<'a> {
    /// The nodes that replace those of the body, first the arguments.
    made: HashMap<NodeId, NodeId>,
    /// The variables in scope.
    scope: Vec<Var>,
    /// The variables that make a read unproven, with the indices of loops whose extents depend on these.
    unproven: Vec<Var>,
    /// The element that is asked for, if its index is not proven.
    asked: Option<Asked<'a>>,
}

/// Returns an opened body with these arguments, composed. Reads that depend on them are proven unless an element is
/// `asked` for at an index that is not.
pub fn composed(
    g: &mut Graph,
    opened: &Opened,
    args: &[NodeId],
    asked: Option<Asked>,
    compose: &mut Compose,
) -> NodeId {
    let Opened { vars, nodes, body } = opened.clone();
    let made = nodes.into_iter().zip(args.iter().copied()).collect();
    let unproven = if asked.is_some() { vars.clone() } else { Vec::new() };
    Walk { made, scope: vars, unproven, asked }.body(g, body, compose)
}

/// Returns a lambda with a composed body.
pub fn composed_lambda(g: &mut Graph, lambda: &Lambda, compose: &mut Compose) -> Lambda {
    let mut walk = Walk { made: HashMap::default(), scope: Vec::new(), unproven: Vec::new(), asked: None };
    walk.lambda(g, lambda, true, compose)
}

impl Walk<'_> {
    fn body(&mut self, g: &mut Graph, body: NodeId, compose: &mut Compose) -> NodeId {
        let mut steps: Option<((Lambda, bool), Lambda)> = None;
        for n in g.reachable_until([body], |n| g.is_closed(n) || self.made.contains_key(&n)) {
            if !g.node(n).free.iter().all(|v| self.scope.contains(v)) || matches!(g.op(n), Op::Var(..)) {
                continue;
            }
            let op = g.op(n).clone();
            let asked = g.set_loc(Default::default());
            let loc = g.node(n).loc.within(&asked);
            g.set_loc(loc.clone());
            let mut operands: Vec<NodeId> = op.operands().map(|o| *self.made.get(&o).unwrap_or(&o)).collect();
            if let Some(asked) = self.asked {
                asked.limit(g, &op, &self.unproven, &mut operands);
            }
            let proven = !has_unproven_indices(g, &op, &self.unproven);
            let lambda = op.lambda().map(|l| match &op {
                // all values of a loop have the same step
                Op::Loop { .. } => match &steps {
                    Some((of, made)) if (&of.0, of.1) == (l, proven) => made.clone(),
                    _ => {
                        let made = self.lambda(g, l, proven, compose);
                        steps = Some(((l.clone(), proven), made.clone()));
                        made
                    }
                },
                _ => self.lambda(g, l, proven, compose),
            });
            let is_unproven = |i: &NodeId| g.node(*i).free.iter().any(|v| self.unproven.contains(v));
            let unproven = matches!(&op, Op::Elem(_, index) if index.iter().any(is_unproven));
            let op = op.with(&operands, lambda);
            // the runner of the passes reports the exceeded budget after this pass
            let made = match budget::is_exceeded(&loc) {
                true => g.add(op),
                false => compose(g, op, unproven),
            };
            let (bound, once) = (g.node(n).bound, g.node(n).once);
            g.keep_marks(bound, once, made);
            g.set_loc(asked);
            self.made.insert(n, made);
        }
        *self.made.get(&body).unwrap_or(&body)
    }

    /// Returns a lambda with a composed body. `proven` says whether reads that depend on its parameters are.
    fn lambda(&mut self, g: &mut Graph, lambda: &Lambda, proven: bool, compose: &mut Compose) -> Lambda {
        let types: Vec<Ty> = lambda.params.iter().map(|p| p.1).collect();
        let (outer, unproven) = (self.scope.len(), self.unproven.len());
        let made = g.lambda(&types, |g, v| {
            self.scope.extend(v.iter().flat_map(|v| g.node(*v).free.iter().copied()));
            if !proven {
                self.unproven.extend_from_slice(&self.scope[outer..]);
            }
            let inner = g.open(lambda, v);
            self.body(g, inner, compose)
        });
        self.scope.truncate(outer);
        self.unproven.truncate(unproven);
        made
    }
}

/// Returns whether a body contains arrays that depend on its variables.
pub fn has_arrays(g: &Graph, lambda: &Lambda) -> bool {
    let body = g.reachable_until([lambda.body], |n| g.is_closed(n));
    body.into_iter().any(|n| !g.ty(n).is_scalar())
}
