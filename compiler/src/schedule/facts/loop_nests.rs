//! Finds the nested reductions and folds of a fused group whose loops have the same number of iterations for all
//! elements, so that many elements can take each iteration together (as tiles of products do). They are described by
//! templates: nodes over variables for the element, the inner index and the accumulators.
//!
//! ```text
//! generate n (i -> reduce (+) over generate m (k -> f(x[i], y[k])))
//!     first: f(x[i], y[k])    next: acc + f(x[i], y[k])
//! ```
//!
//! Operations over one extent, in one order, share a loop if they do not wait for each other: for example the three
//! sums of an n-body force. The values that the loops read are then classified by the variables on which they depend
//! ([`Loop::parts`]).

use crate::core::records::may_record_here;
use crate::core::{Graph, NodeId, Op, Var, tuples};
use crate::scalar::Ty;
use crate::schedule::element::element;
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::element::reduction::Reduction;
pub use crate::schedule::element::unlikely::is_unlikely;
use crate::schedule::identity::commutative;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// The order in which elements are combined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Index order: a fold.
    Sequence,
    /// The fixed tree of semantics 5.1.
    Tree,
    /// Chains of multiply-adds by panels (semantics 5.7), which begin with the identity of
    /// addition.
    Panels,
}

/// An operation of a loop nest.
pub struct InnerOperation {
    /// The operation's node.
    pub node: NodeId,
    /// Type of the elements and of the accumulator.
    pub ty: Ty,
    /// The initial value.
    pub init: NodeId,
    /// The variable of the accumulator.
    pub acc: NodeId,
    /// The value of the accumulator after the element.
    pub next: NodeId,
    /// For a tree: a column's first value, two variables, and the value that joins these two.
    pub tree: Option<(NodeId, [NodeId; 2], NodeId)>,
}

impl InnerOperation {
    /// Whether the operator of a tree may be more than one instruction.
    pub fn is_general(&self, g: &Graph) -> bool {
        let Some((_, pair, joined)) = self.tree else { return false };
        commutative(g, joined, |n, i| n == pair[i]).is_none()
    }
}

/// Operations that walk one extent together, in one order.
pub struct Loop {
    /// The number of iterations, which does not depend on the element.
    pub extent: NodeId,
    /// The order.
    pub order: Order,
    /// The operations.
    pub inner: Vec<InnerOperation>,
}

/// The nested operations of a fused group, as loops.
pub struct Nest {
    /// The variable of the inner index.
    pub k: NodeId,
    /// The loops, each after those whose results it needs.
    pub loops: Vec<Loop>,
}

/// Returns the nested operations in `roots`, the values of an element. Returns `None` if there are none, or if some
/// leave error records, have unlikely parts in the loops, or contain further loops over the inner index. A value that
/// another launch has computed is a load here, so what it was computed from is not examined.
pub fn find(l: &mut LaunchContext, roots: &[NodeId]) -> Option<Nest> {
    if may_record_here(&l.g, roots.iter().copied()) {
        return None;
    }
    find_likely(l, roots)
}

/// Returns the same as [`find`], but also for operations that may leave error records.
pub fn find_likely(l: &mut LaunchContext, roots: &[NodeId]) -> Option<Nest> {
    let nest = find_any(l, roots)?;
    let g = &l.g;
    let in_loops: Vec<NodeId> = nest.loops.iter().flat_map(Loop::roots).collect();
    let found = g.reachable_until(in_loops, |n| g.is_closed(n)).into_iter().any(|n| is_unlikely(g, n));
    (!found).then_some(nest)
}

/// Whether another launch has computed a value.
fn is_known(g: &Graph, n: NodeId) -> bool {
    g.is_closed(n) && g.op(n).needs_launch()
}

/// Returns the same as [`find`], but also for operations that may leave error records or have unlikely parts.
pub fn find_any(l: &mut LaunchContext, roots: &[NodeId]) -> Option<Nest> {
    let g = &l.g;
    let needed = g.reachable_until(roots.iter().copied(), |n| is_known(g, n));
    if needed.into_iter().any(|n| matches!(g.op(n), Op::Materialize(_))) {
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
    /// Adds the nested operations that these values need, and returns their nodes.
    fn walk(&mut self, roots: &[NodeId]) -> Option<Vec<NodeId>> {
        let (mut seen, mut needed) = (HashSet::default(), Vec::new());
        let mut stack: Vec<NodeId> = roots.iter().rev().copied().collect();
        while let Some(n) = stack.pop() {
            if self.l.g.is_closed(n) || !seen.insert(n) {
                continue;
            }
            if !self.l.g.op(n).needs_launch() {
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
        if let Op::Reduce { init, src, .. } | Op::Fold { init, src, .. } = l.g.op(node)
            && (matches!(l.g.op(*init), Op::Tuple(_)) || tuples::has_tuples(&l.g, *src))
        {
            // the loops of a nest have one accumulator for each operation
            return None;
        }
        let ty = l.g.ty(node).elem;
        let (_, acc) = l.g.fresh_var(ty);
        let (init, src, order, next, tree) = match l.g.op(node).clone() {
            Op::Fold { step, init, src, .. } => {
                let e = element(&mut l.g, src, k);
                (init, src, Order::Sequence, l.g.open(&step, &[acc, e]), None)
            }
            Op::Reduce { init, src, .. } | Op::Dot { init, a: src, .. } => {
                let r = Reduction::nested(l, node);
                let pair = [l.g.fresh_var(ty).1, l.g.fresh_var(ty).1];
                let [first, joined, next] =
                    [r.first(l, k), r.join(l, &pair[..1], &pair[1..]), r.step(l, &[acc], k)].map(|of| of[0]);
                (init, src, Order::Tree, next, Some((first, pair, joined)))
            }
            Op::PanelDot { init, a, b } => {
                let (x, y) = (element(&mut l.g, a, k), element(&mut l.g, b, k));
                (init, a, Order::Panels, l.g.add(Op::MulAdd(x, y, acc)), None)
            }
            // the loops of a nest have one accumulator for each operation
            _ => return None,
        };
        let Op::Generate(extents, _) = l.g.op(src) else { return None };
        let extent = *extents.first().filter(|n| l.g.is_closed(**n))?;
        let mut roots = vec![init, next];
        roots.extend(tree.iter().flat_map(|t| [t.0, t.2]));
        let needed = self.walk(&roots)?;
        // if an operator has loops of its own, it cannot be a step of one loop
        let own: Vec<NodeId> = tree.iter().flat_map(|t| t.1).chain([acc]).collect();
        if needed.iter().any(|n| depends(&self.l.g, *n, &own)) {
            return None;
        }
        let inner = InnerOperation { node, ty, init, acc, next, tree };
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
    /// Returns all values that the loop computes.
    pub fn roots(&self) -> Vec<NodeId> {
        let of = |i: &InnerOperation| {
            [Some(i.next), i.tree.map(|t| t.0), i.tree.map(|t| t.2)].into_iter().flatten().collect()
        };
        self.inner.iter().flat_map(|i| -> Vec<NodeId> { of(i) }).collect()
    }

    /// Returns the largest subexpressions of the loop's values that `accept` takes. Subexpressions
    /// in `known` were taken before and are not entered; the new ones are added to `known`.
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
            } else if !g.op(n).needs_launch() {
                let first = stack.len();
                stack.extend(g.op(n).operands());
                stack[first..].reverse();
            }
        }
        out
    }
}

/// Whether a value depends on the first of these variables, depends on no variable that is not among them, and is
/// more than a variable.
pub fn depends(g: &Graph, n: NodeId, on: &[NodeId]) -> bool {
    let var = |n: &NodeId| if let Op::Var(v, _) = g.op(*n) { Some(*v) } else { None };
    let on: Vec<Var> = on.iter().filter_map(var).collect();
    let free = &g.node(n).free;
    free.contains(&on[0]) && free.iter().all(|v| on.contains(v)) && var(&n).is_none()
}

/// Whether a value is read from an array, or computed from such a value.
pub fn reads(g: &Graph, n: NodeId) -> bool {
    g.reachable([n]).into_iter().any(|m| matches!(g.op(m), Op::Elem(..) | Op::At(..)))
}

/// Values for the variables of a template.
#[derive(Default, Clone)]
pub struct Env(HashMap<Var, NodeId>);

impl Env {
    /// Returns the same values and one more.
    pub fn with(&self, g: &Graph, var: NodeId, value: NodeId) -> Env {
        let mut out = self.clone();
        if let Op::Var(v, _) = g.op(var) {
            out.0.insert(*v, value);
        }
        out
    }

    /// Returns the template with these values in place of its variables.
    pub fn of(&self, g: &mut Graph, n: NodeId) -> NodeId {
        g.substitute(n, &self.0)
    }
}
