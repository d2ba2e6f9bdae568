//! Which nested operations of a fused group make loops that all its elements can walk together, as
//! templates over variables for the element, the inner index and the accumulators.
//!
//! ```text
//! generate n (i -> reduce (+) over generate m (k -> f(x[i], y[k])))        first: f(x[i], y[k])    next: acc + f(x[i], y[k])
//! ```
//!
//! Operations over one extent in one order that do not wait for each other share a loop: the three
//! sums of an n-body force. What the loops read is then told apart by the variables that it depends
//! on ([`Loop::parts`]).

use super::element::element;
use super::lower::LaunchContext;
use super::reduction::{Reduction, commutative};
use crate::core::{Graph, NodeId, Op, Var};
use crate::scalar::{Ty, UnaryOp};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// The order in which elements are combined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// A fold.
    Sequence,
    /// The tree of semantics 5.1.
    Tree,
    /// Chains of multiply-adds by panels, semantics 5.7. It begins with the sum of nothing.
    Panels,
}

/// A nested operation.
pub struct Interior {
    /// Itself.
    pub node: NodeId,
    /// Element and accumulator type.
    pub ty: Ty,
    /// The initial value.
    pub init: NodeId,
    /// The variable of the accumulator.
    pub acc: NodeId,
    /// The accumulator after the element.
    pub next: NodeId,
    /// For a tree, a column's first value; two variables, and the value that joins them.
    pub tree: Option<(NodeId, [NodeId; 2], NodeId)>,
}

impl Interior {
    /// Whether values of a tree join by more than an instruction.
    pub fn is_general(&self, g: &Graph) -> bool {
        let Some((_, pair, joined)) = self.tree else { return false };
        commutative(g, joined, |n, i| n == pair[i]).is_none()
    }
}

/// Operations that go through one index space in one order together.
pub struct Loop {
    /// How many elements: closed.
    pub extent: NodeId,
    /// The order.
    pub order: Order,
    /// The operations.
    pub inner: Vec<Interior>,
}

/// The nested operations of a fused group.
pub struct Nest {
    /// The inner index's variable.
    pub k: NodeId,
    /// The loops, each after those whose results it needs.
    pub loops: Vec<Loop>,
}

/// The nested operations in `roots`, the values of an element. None: there are none, or some that
/// leave records, have rare parts, or nest deeper.
pub fn find(l: &mut LaunchContext, roots: &[NodeId]) -> Option<Nest> {
    let unfit = |n: NodeId| {
        l.g.op(n).may_record(&l.g)
            || matches!(l.g.op(n), Op::Unary(UnaryOp::Unlikely, _) | Op::Materialize(_))
    };
    let open = |n: &NodeId| !l.g.is_closed(*n);
    if l.g.reachable(roots.iter().copied()).into_iter().filter(open).any(unfit) {
        return None;
    }
    let (k, node) = l.g.fresh_var(Ty::I64);
    let mut finder = Finder { l, k, node, known: HashSet::default(), loops: Vec::new() };
    finder.walk(roots)?;
    let loops = finder.loops;
    (!loops.is_empty()).then_some(Nest { k: node, loops })
}

struct Finder<'l, 's, 'a> {
    l: &'l mut LaunchContext<'s, 'a>,
    k: Var,
    node: NodeId,
    known: HashSet<NodeId>,
    loops: Vec<Loop>,
}

impl Finder<'_, '_, '_> {
    /// Adds the operations that these values need, which are among the values that come back.
    fn walk(&mut self, roots: &[NodeId]) -> Option<Vec<NodeId>> {
        let (mut seen, mut needed) = (HashSet::default(), Vec::new());
        let mut stack: Vec<NodeId> = roots.iter().rev().copied().collect();
        while let Some(n) = stack.pop() {
            if self.l.g.is_closed(n) || !seen.insert(n) {
                continue;
            }
            if !self.l.g.op(n).is_pass() {
                stack.extend(self.l.g.op(n).operands());
            } else {
                needed.push(n);
                if self.l.g.node(n).free.contains(&self.k) {
                    return None;
                }
                if self.known.insert(n) {
                    self.add(n)?;
                }
            }
        }
        Some(needed)
    }

    /// Adds one operation to a loop.
    fn add(&mut self, node: NodeId) -> Option<()> {
        let (l, k) = (&mut *self.l, self.node);
        let ty = l.g.ty(node).elem;
        let (_, acc) = l.g.fresh_var(ty);
        let (init, src, order, next, tree) = match l.g.op(node).clone() {
            Op::Fold { step, init, src } => {
                let e = element(&mut l.g, src, k);
                (init, src, Order::Sequence, l.g.open(&step, &[acc, e]), None)
            }
            Op::Reduce { init, src, .. } | Op::Dot { init, a: src, .. } => {
                let r = Reduction::nested(l, node);
                let pair = [l.g.fresh_var(ty).1, l.g.fresh_var(ty).1];
                let tree = (r.first(l, k), pair, r.join(l, pair[0], pair[1]));
                (init, src, Order::Tree, r.step(l, acc, k), Some(tree))
            }
            Op::PanelDot { init, a, b } => {
                let (x, y) = (element(&mut l.g, a, k), element(&mut l.g, b, k));
                (init, a, Order::Panels, l.g.add(Op::MulAdd(x, y, acc)), None)
            }
            _ => return None,
        };
        let Op::Generate(extents, _) = l.g.op(src) else { return None };
        let extent = *extents.first().filter(|n| l.g.is_closed(**n))?;
        let mut roots = vec![init, next];
        roots.extend(tree.iter().flat_map(|t| [t.0, t.2]));
        let needed = self.walk(&roots)?;
        let inner = Interior { node, ty, init, acc, next, tree };
        let fits = |of: &&mut Loop| {
            let waits = of.inner.iter().any(|i| needed.contains(&i.node));
            of.extent == extent && of.order == order && !waits
        };
        match self.loops.last_mut().filter(fits) {
            Some(of) => of.inner.push(inner),
            None => self.loops.push(Loop { extent, order, inner: vec![inner] }),
        }
        Some(())
    }
}

impl Loop {
    /// All values that the loop computes.
    pub fn roots(&self) -> Vec<NodeId> {
        let of = |i: &Interior| {
            [Some(i.next), i.tree.map(|t| t.0), i.tree.map(|t| t.2)].into_iter().flatten().collect()
        };
        self.inner.iter().flat_map(|i| -> Vec<NodeId> { of(i) }).collect()
    }

    /// The largest parts of the loop's values that `accept` takes; `known` are taken before, and
    /// stay whole. Parts are added to `known`.
    pub fn parts(
        &self,
        g: &Graph,
        known: &mut HashSet<NodeId>,
        accept: impl Fn(&Graph, NodeId) -> bool,
    ) -> Vec<NodeId> {
        let (mut out, mut seen) = (Vec::new(), HashSet::default());
        let mut stack: Vec<NodeId> = self.roots().into_iter().rev().collect();
        while let Some(n) = stack.pop() {
            if g.is_closed(n) || known.contains(&n) || !seen.insert(n) {
                continue;
            }
            if accept(g, n) {
                out.push(n);
                known.insert(n);
            } else if !g.op(n).is_pass() {
                let first = stack.len();
                stack.extend(g.op(n).operands());
                stack[first..].reverse();
            }
        }
        out
    }
}

/// Whether a value depends on these variables and no others, on the first one at least, and is more
/// than a variable.
pub fn depends(g: &Graph, n: NodeId, on: &[NodeId]) -> bool {
    let var = |n: &NodeId| if let Op::Var(v, _) = g.op(*n) { Some(*v) } else { None };
    let on: Vec<Var> = on.iter().filter_map(var).collect();
    let free = &g.node(n).free;
    free.contains(&on[0]) && free.iter().all(|v| on.contains(v)) && var(&n).is_none()
}

/// Whether a value is read, or computed from something that is.
pub fn reads(g: &Graph, n: NodeId) -> bool {
    g.reachable([n]).into_iter().any(|m| matches!(g.op(m), Op::Elem(..)))
}

/// Values for the variables of a template.
#[derive(Default, Clone)]
pub struct Env(HashMap<Var, NodeId>);

impl Env {
    /// With one more value.
    pub fn with(&self, g: &Graph, var: NodeId, value: NodeId) -> Env {
        let mut out = self.clone();
        if let Op::Var(v, _) = g.op(var) {
            out.0.insert(*v, value);
        }
        out
    }

    /// The template with these values.
    pub fn of(&self, g: &mut Graph, n: NodeId) -> NodeId {
        g.substitute(n, &self.0)
    }
}
