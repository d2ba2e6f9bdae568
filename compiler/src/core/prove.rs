//! Proves reads at an index (`at`) to be inside. The index must be that of a `generate` plus a
//! constant, and the shape rules must bound it.

use super::equations::Equations;
use super::linear::Linear;
use super::simplify::settle;
use super::{Function, Graph, Lambda, NodeId, Op, element_loops};
use crate::scalar::Ty;
use rustc_hash::FxHashMap as HashMap;

/// Proves reads in all results of a function, with the help of its shape rules.
pub fn prove_all(f: &mut Function, rules: &Equations) {
    let mut prover = Prover { rules, known: Vec::new(), steps: None, closed: Some(HashMap::default()) };
    for r in &mut f.results {
        r.value = prover.node(&mut f.graph, r.value, &mut HashMap::default());
    }
}

/// Replaces `at(x, i + c)` in the body of a `generate` by `elem` if 0 <= c and n + c <= len(x),
/// where i is an index of extent n, of that `generate` or of one inside it.
pub fn prove(g: &mut Graph, generate: NodeId, rules: &Equations) -> NodeId {
    let Some(body) = g.op(generate).lambda().map(|l| l.body).filter(|_| g.has_total_reads()) else {
        return generate;
    };
    // values that depend on no index are left as they are
    let is_total = |n| matches!(g.op(n), Op::At(..));
    if !g.reachable_until([body], |n| g.is_closed(n)).into_iter().any(is_total) {
        return generate;
    }
    Prover { rules, known: Vec::new(), steps: None, closed: None }.inside(g, generate)
}

struct Prover<'a> {
    /// The equations between lengths that follow from the shape rules.
    rules: &'a Equations,
    /// The enclosing indices, each with its extent.
    known: Vec<(NodeId, NodeId)>,
    /// The last loop of an element, by its step and count, with its new step, which all values of the loop share.
    steps: Option<(Lambda, NodeId, Lambda)>,
    /// The results for nodes that depend on no index. If `None`, such nodes are left as they are.
    closed: Option<HashMap<NodeId, NodeId>>,
}

impl Prover<'_> {
    /// Proves reads in a `generate` inside the current scope.
    fn inside(&mut self, g: &mut Graph, generate: NodeId) -> NodeId {
        let Op::Generate(extents, lambda) = g.op(generate).clone() else { return generate };
        let before = g.set_loc(g.node(generate).loc.clone());
        let outer = self.known.len();
        let lambda = g.lambda(&vec![Ty::I64; extents.len()], |g, i| {
            self.known.extend(i.iter().copied().zip(extents.iter().copied()));
            let body = g.open(&lambda, i);
            self.node(g, body, &mut HashMap::default())
        });
        self.known.truncate(outer);
        let out = g.add(Op::Generate(extents, lambda));
        g.set_loc(before);
        out
    }

    /// Proves reads in the steps of an element's loop: the number of a step is below their count.
    fn steps(&mut self, g: &mut Graph, step: &Lambda, count: NodeId) -> Lambda {
        if let Some((of, by, made)) = &self.steps
            && (of, by) == (step, &count)
        {
            return made.clone();
        }
        let (outer, end) = (self.known.len(), element_loops::end(g, count));
        let types: Vec<Ty> = step.params.iter().map(|p| p.1).collect();
        let made = g.lambda(&types, |g, v| {
            self.known.push((v[0], end));
            g.note_values(&v[1..]);
            let body = g.open(step, v);
            self.node(g, body, &mut HashMap::default())
        });
        self.known.truncate(outer);
        self.steps = Some((step.clone(), count, made.clone()));
        made
    }

    /// Returns the node with its proven reads replaced.
    fn node(&mut self, g: &mut Graph, n: NodeId, memo: &mut HashMap<NodeId, NodeId>) -> NodeId {
        let closed = g.is_closed(n);
        let known = if closed { self.closed.as_ref().map(|all| all.get(&n)) } else { Some(memo.get(&n)) };
        match known {
            Some(Some(m)) => return *m,
            Some(None) => {}
            None => return n,
        }
        let mut out = n;
        if !matches!(g.op(n), Op::Param(_) | Op::Const(_) | Op::Var(..)) {
            let op = g.op(n).clone();
            if matches!(op, Op::Generate(..)) {
                out = self.inside(g, n);
            } else {
                let operands: Vec<_> = op.operands().map(|o| self.node(g, o, memo)).collect();
                let before = g.set_loc(g.node(n).loc.clone());
                let lambda = match &op {
                    Op::Loop { step, .. } if !self.known.is_empty() => Some(self.steps(g, step, operands[0])),
                    op => op.lambda().cloned(),
                };
                out = match op.with(&operands, lambda) {
                    Op::At(x, index) if self.is_proven(g, x, &index) => g.add(Op::Elem(x, index)),
                    op => settle(g, op),
                };
                g.set_loc(before);
                let (bound, once) = (g.node(n).bound, g.node(n).once);
                g.keep_marks(bound, once, out);
            }
        }
        match &mut self.closed {
            Some(all) if closed => all.insert(n, out),
            _ => memo.insert(n, out),
        };
        out
    }

    /// Returns whether a parameter is read at known indices plus constants that keep them inside.
    fn is_proven(&self, g: &mut Graph, x: NodeId, index: &[NodeId]) -> bool {
        matches!(g.op(x), Op::Param(_))
            && index.iter().zip(0..).all(|(at, axis)| {
                let form = Linear::of(g, *at);
                self.known.iter().any(|(i, n)| {
                    let offset = form.minus(&Linear { constant: 0, terms: [(*i, 1)].into() });
                    let len = g.add(Op::Len(x, axis));
                    let room = Linear::of(g, len).minus(&Linear::of(g, *n)).minus(&offset);
                    let [offset, room] = [offset, room].map(|l| self.rules.resolve(&l));
                    offset.at_least(g, 0) && room.at_least(g, 0)
                })
            })
    }
}
