//! Fusion: every array expression becomes an index function of stored arrays, so nothing is stored that is only read once more
//! (Larsen, "Simple Optimizations for an Applicative Array Language", section 6; "pull arrays").
//!
//! ```text
//! %2 = map (%a, %b) over %x, %y { yield (sub %a, %b) }          %3 = generate (len %x) (%i) {
//! %3 = reverse %2                                         ->      yield (sub (elem %x, (len %x - %i - 1)), (elem %y, ..))
//! %4 = reduce (..) from 0f32 over %3                            }
//!                                                               %4 = reduce (..) from 0f32 over %3
//! ```
//!
//! After it, parameters, `materialize` and `generate` are the only arrays (`verify::is_fused`). Work is demand-driven: intermediate arrays never get a lambda of
//! their own, and `(array, index)` pairs are translated once, so the result is linear in the size of what is computed for one element.
//!
//! A read that the author indexes (`at`) is total. Of a stored array it stays `at`; of a computed array it becomes a test (`within`,
//! which leaves the record) around the element, whose own reads must be total as well. Where the index is the domain's index plus a
//! constant that is provably inside, it becomes a plain `elem`.

use super::simplify::{length, simplify};
use crate::core::linear::{self, Linear};
use crate::core::{Function, Graph, NodeId, Op, rewrite::rewrite};
use crate::error::Result;
use crate::scalar::{Lit, Ty};
use rustc_hash::FxHashMap as HashMap;

/// Runs the pass.
pub fn run(f: &Function) -> Result<Function> {
    let mut fuse = Fuse::default();
    let mut out = rewrite(f, true, &mut |g, op| fuse.scalar(g, op));
    for i in 0..out.results.len() {
        let value = out.results[i].value;
        if !out.graph.ty(value).is_scalar() {
            // a result is stored anyway
            let value = if let Op::Materialize(x) = *out.graph.op(value) { x } else { value };
            out.results[i].value = fuse.generate(&mut out.graph, value);
        }
    }
    Ok(out)
}

#[derive(Default)]
struct Fuse {
    /// (array, index, proven) -> its element
    elements: HashMap<(NodeId, NodeId, bool), NodeId>,
}

impl Fuse {
    /// Scalars that consume arrays take them as `generate`; array combinators wait until someone asks for an element.
    fn scalar(&mut self, g: &mut Graph, op: Op) -> NodeId {
        match op {
            Op::Len(x) => length(g, x),
            Op::At(x, i) => self.at(g, x, i),
            Op::Reduce { join, init, src } => {
                let src = self.generate(g, src);
                g.add(Op::Reduce { join, init, src })
            }
            Op::Fold { step, init, src } => {
                let src = self.generate(g, src);
                g.add(Op::Fold { step, init, src })
            }
            Op::Dot { init, a, b } => {
                let (a, b) = (self.generate(g, a), self.generate(g, b));
                g.add(Op::Dot { init, a, b })
            }
            Op::Materialize(x) if matches!(g.op(x), Op::Param(_) | Op::Materialize(_)) => x,
            Op::Materialize(x) => {
                let x = self.generate(g, x);
                g.add(Op::Materialize(x))
            }
            op => g.add(op),
        }
    }

    /// The array as a function of its index.
    fn generate(&mut self, g: &mut Graph, x: NodeId) -> NodeId {
        if matches!(g.op(x), Op::Generate(..)) && g.is_closed(x) {
            // written by the author: only the reads may be improved
            let Op::Generate(n, l) = g.op(x).clone() else { unreachable!() };
            let lambda = g.lambda(&[Ty::I64], |g, i| {
                let body = g.open(&l, i);
                prove(g, body, n, i[0])
            });
            return g.add(Op::Generate(n, lambda));
        }
        let before = g.set_loc(g.node(x).loc.clone());
        let n = length(g, x);
        let lambda = g.lambda(&[Ty::I64], |g, i| {
            let body = self.element(g, x, i[0], true);
            prove(g, body, n, i[0])
        });
        let out = g.add(Op::Generate(n, lambda));
        g.set_loc(before);
        out
    }

    /// The author's read: 0 and a record outside.
    fn at(&mut self, g: &mut Graph, x: NodeId, i: NodeId) -> NodeId {
        if matches!(g.op(x), Op::Param(_) | Op::Materialize(_)) {
            return g.add(Op::At(x, i));
        }
        let n = length(g, x);
        let inside = g.add(Op::Within(i, n));
        let value = self.element(g, x, i, false);
        let zero = g.lit(Lit::zero(g.ty(x).elem));
        simplify(g, Op::Select(inside, value, zero))
    }

    /// Element `i` of `x`. `proven`: i is inside, so reads need no test.
    fn element(&mut self, g: &mut Graph, x: NodeId, i: NodeId, proven: bool) -> NodeId {
        if let Some(&e) = self.elements.get(&(x, i, proven)) {
            return e;
        }
        // what is composed here was written where x was written, inside what asks for it
        let asked = g.set_loc(Default::default());
        g.set_loc(g.node(x).loc.within(&asked));
        let e = match g.op(x).clone() {
            Op::Param(_) | Op::Materialize(_) => g.add(if proven { Op::Elem(x, i) } else { Op::At(x, i) }),
            Op::Map(lambda, srcs) => {
                let args: Vec<_> = srcs.iter().map(|s| self.element(g, *s, i, proven)).collect();
                g.open(&lambda, &args)
            }
            Op::Generate(_, lambda) => g.open(&lambda, &[i]),
            Op::Slice { src, start, stride, .. } => {
                let step = linear::mul(g, i, stride);
                let i = linear::add(g, start, step);
                self.element(g, src, i, proven)
            }
            Op::Reverse(src) => {
                let n = length(g, src);
                let one = g.lit(Lit::i64(1));
                let last = linear::sub(g, n, one);
                let i = linear::sub(g, last, i);
                self.element(g, src, i, proven)
            }
            Op::Iota(_) => i,
            Op::Fill(_, value) => value,
            op => unreachable!("verified: {op:?} is no array"),
        };
        g.set_loc(asked);
        self.elements.insert((x, i, proven), e);
        e
    }
}

/// Replaces `at(x, i + c)` inside the body of a domain of n elements with index i by `elem` where 0 <= c and n + c <= len(x).
fn prove(g: &mut Graph, body: NodeId, n: NodeId, i: NodeId) -> NodeId {
    let reads: Vec<_> = g.reachable([body]).into_iter().filter(|r| matches!(g.op(*r), Op::At(..))).collect();
    let mut proven = HashMap::default();
    for read in reads {
        let Op::At(x, index) = *g.op(read) else { continue };
        if !matches!(g.op(x), Op::Param(_)) {
            continue;
        }
        let form = Linear::of(g, index);
        let offset = form.minus(&Linear { constant: 0, terms: [(i, 1)].into() });
        let len = g.add(Op::Len(x));
        let room = Linear::of(g, len).minus(&Linear::of(g, n)).minus(&offset);
        if offset.at_least(g, 0) && room.at_least(g, 0) {
            let elem = g.add(Op::Elem(x, index));
            proven.insert(read, elem);
        }
    }
    if proven.is_empty() { body } else { replace(g, body, &proven, &mut HashMap::default()) }
}

/// The node with some nodes replaced, outside nested lambdas (whose reads keep their tests).
fn replace(
    g: &mut Graph,
    n: NodeId,
    by: &HashMap<NodeId, NodeId>,
    memo: &mut HashMap<NodeId, NodeId>,
) -> NodeId {
    if let Some(m) = by.get(&n).or(memo.get(&n)) {
        return *m;
    }
    let op = g.op(n).clone();
    let operands: Vec<_> = op.operands().map(|o| replace(g, o, by, memo)).collect();
    let mut out = n;
    if op.operands().ne(operands.iter().copied()) {
        let before = g.set_loc(g.node(n).loc.clone());
        out = g.add(op.with(&operands, op.lambda().cloned()));
        g.set_loc(before);
        if g.node(n).bound {
            g.mark_bound(out);
        }
    }
    memo.insert(n, out);
    out
}
