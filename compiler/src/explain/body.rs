//! What the elements of a fused group are made of: operations by loop and by the author's lines,
//! what is taken out of loops, and which parts of arrays are read.

use super::formula::{Formulas, Sum};
use super::model::{Line, Place};
use crate::core::linear::Linear;
use crate::core::{Graph, Lambda, NodeId, Op, Var};
use crate::scalar::{Ty, UnaryOp};
use indexmap::IndexMap;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::collections::BTreeMap;

/// A loop over the index space, or over that of nested operations.
struct Loop {
    depth: usize,
    /// The loop around it.
    outer: Option<usize>,
    extents: Vec<NodeId>,
    /// The variables of its indices.
    index: Vec<NodeId>,
    /// Scalar operations of a turn.
    operations: u64,
}

/// Reads of one region of an array: for each axis the extent that the index runs over and how,
/// None: one index.
type Region = Vec<Option<(NodeId, i64, Vec<(NodeId, i64)>)>>;

/// An operation that is taken out of a loop.
pub struct Out {
    /// The operation.
    pub node: NodeId,
    /// It depends on nothing that runs; else on the element.
    pub closed: bool,
}

/// Where the author wrote an item, with operations by their names.
type Lines = BTreeMap<Place, BTreeMap<&'static str, u64>>;

/// The code of a fused group.
#[derive(Default)]
pub struct Body {
    /// The author's lines, an item each.
    pub lines: Vec<Vec<Line>>,
    /// The lines of the item that is being looked at.
    current: Lines,
    seen: HashSet<NodeId>,
    /// Indices of its reads, for after all values.
    indices: Vec<(NodeId, usize)>,
    /// Looking at values, not at indices.
    counting: bool,
    loops: Vec<Loop>,
    /// The loop of each variable, and the extent that it runs over.
    vars: HashMap<Var, (usize, Option<NodeId>)>,
    /// The functions of reductions, opened.
    functions: HashMap<NodeId, NodeId>,
    /// What was counted: items share operations.
    counted: HashSet<NodeId>,
    reads: IndexMap<NodeId, Vec<Option<Region>>>,
    out: IndexMap<NodeId, Out>,
}

impl Body {
    /// Counts what the elements of these items do.
    pub fn of(g: &mut Graph, items: impl Iterator<Item = NodeId>, extents: &[NodeId]) -> Body {
        let mut body = Body::default();
        for item in items {
            let outermost = body.enter(g, None, extents);
            body.counting = true;
            body.sequence(g, item, outermost);
            body.counting = false;
            while let Some((n, at)) = body.indices.pop() {
                body.visit(g, n, at);
            }
            body.seen.clear();
            let lines = lines(std::mem::take(&mut body.current));
            body.lines.push(lines);
        }
        body
    }

    /// The lines of a scalar that follows from reductions.
    pub fn of_scalar(g: &Graph, root: NodeId) -> Vec<Line> {
        let mut body = Body { counting: true, ..Body::default() };
        let (mut stack, mut seen) = (vec![root], HashSet::default());
        while let Some(n) = stack.pop() {
            if seen.insert(n) && !g.op(n).is_pass() {
                body.note(g, n);
                stack.extend(g.op(n).operands());
            }
        }
        lines(body.current)
    }

    /// The loop over these extents inside of another: all operations over them share it.
    fn enter(&mut self, g: &mut Graph, outer: Option<usize>, extents: &[NodeId]) -> usize {
        let known = self.loops.iter().position(|l| l.outer == outer && l.extents == extents);
        known.unwrap_or_else(|| {
            let depth = outer.map_or(0, |o| self.loops[o].depth + 1);
            let mut index = Vec::new();
            for extent in extents {
                let (var, node) = g.fresh_var(Ty::I64);
                self.vars.insert(var, (self.loops.len(), Some(*extent)));
                index.push(node);
            }
            self.loops.push(Loop { depth, outer, extents: extents.to_vec(), index, operations: 0 });
            self.loops.len() - 1
        })
    }

    /// What the function of a reduction or fold computes for each element.
    fn function(&mut self, g: &mut Graph, n: NodeId, lambda: &Lambda, at: usize) -> NodeId {
        if let Some(known) = self.functions.get(&n) {
            return *known;
        }
        let mut vars = Vec::new();
        for (_, ty) in &lambda.params {
            let (var, node) = g.fresh_var(*ty);
            self.vars.insert(var, (at, None));
            vars.push(node);
        }
        let opened = g.open(lambda, &vars);
        self.functions.insert(n, opened);
        opened
    }

    /// What a stored array, a reduction or a fold does for each element, in loop `at`.
    fn sequence(&mut self, g: &mut Graph, n: NodeId, at: usize) {
        self.note(g, n);
        let op = g.op(n).clone();
        match &op {
            Op::Generate(_, lambda) => {
                let index = self.loops[at].index.clone();
                let body = g.open(lambda, &index);
                self.visit(g, body, at);
            }
            Op::Materialize(x) => self.sequence(g, *x, at),
            Op::Reduce { join: lambda, src, .. } | Op::Fold { step: lambda, src, .. } => {
                self.sequence(g, *src, at);
                let body = self.function(g, n, lambda, at);
                self.visit(g, body, at);
            }
            Op::Dot { a, b, .. } | Op::PanelDot { a, b, .. } => {
                self.sequence(g, *a, at);
                self.sequence(g, *b, at);
                self.count(&op, n, at);
            }
            _ => {}
        }
    }

    /// A value that is needed in loop `at`.
    fn visit(&mut self, g: &mut Graph, n: NodeId, at: usize) {
        if matches!(g.op(n), Op::Const(_) | Op::Param(_) | Op::Var(..) | Op::Len(..)) {
            return;
        }
        let own = self.loop_of(g, n);
        if own != Some(at) && self.counting {
            self.out.entry(n).or_insert(Out { node: n, closed: own.is_none() });
        }
        let Some(own) = own else { return self.read_closed(g, n) };
        if !self.seen.insert(n) {
            return;
        }
        if !g.op(n).is_pass() {
            self.note(g, n);
        }
        let op = g.op(n).clone();
        match &op {
            Op::Elem(x, index) | Op::At(x, index) => {
                let region = self.region(g, index);
                self.reads.entry(*x).or_default().push(region);
                self.indices.extend(index.iter().map(|i| (*i, own)));
            }
            Op::Reduce { init, src: array, .. }
            | Op::Fold { init, src: array, .. }
            | Op::Dot { init, a: array, .. }
            | Op::PanelDot { init, a: array, .. } => {
                self.visit(g, *init, own);
                let Op::Generate(extents, _) = g.op(*array).clone() else { return };
                let inner = self.enter(g, Some(own), &extents);
                self.sequence(g, n, inner);
            }
            Op::Select(condition, _, usual) if is_unlikely(g, *condition) => {
                self.count(&op, n, own);
                self.visit(g, *condition, own);
                self.visit(g, *usual, own);
            }
            Op::Within(index, _) => self.indices.push((*index, own)),
            _ => {
                self.count(&op, n, own);
                for o in op.operands() {
                    self.visit(g, o, own);
                }
            }
        }
    }

    /// The arrays that an invariant reads.
    fn read_closed(&mut self, g: &Graph, n: NodeId) {
        if g.op(n).is_pass() || !self.seen.insert(n) {
            return;
        }
        if let Op::Elem(x, index) | Op::At(x, index) = g.op(n) {
            self.reads.entry(*x).or_default().push(Some(index.iter().map(|_| None).collect()));
        }
        g.op(n).operands().for_each(|o| self.read_closed(g, o));
    }

    /// The innermost loop that a value depends on.
    fn loop_of(&self, g: &Graph, n: NodeId) -> Option<usize> {
        let loops = g.node(n).free.iter().filter_map(|v| self.vars.get(v)).map(|v| v.0);
        loops.max_by_key(|l| self.loops[*l].depth)
    }

    fn count(&mut self, op: &Op, n: NodeId, at: usize) {
        if self.counting && self.counted.insert(n) {
            self.loops[at].operations += match op {
                // the product and the sum
                Op::MulAdd(..) | Op::Dot { .. } | Op::PanelDot { .. } => 2,
                Op::Unary(UnaryOp::Unlikely, _) => 0,
                _ => 1,
            };
        }
    }

    /// Notes an operation at the author's place, and the combinators that it was fused into.
    fn note(&mut self, g: &Graph, n: NodeId) {
        let stack = &g.node(n).loc.0;
        let Some(own) = stack.first() else { return };
        let operations = self.current.entry(own.into()).or_default();
        if let Some(name) = name(g.op(n)).filter(|_| self.counting) {
            *operations.entry(name).or_default() += 1;
        }
        for outer in &stack[1..] {
            self.current.entry(outer.into()).or_default();
        }
    }

    /// What part of an array indices stand for. None: any.
    fn region(&self, g: &Graph, index: &[NodeId]) -> Option<Region> {
        let (mut region, mut used) = (Vec::new(), HashSet::default());
        for i in index {
            let mut terms: Vec<(NodeId, i64)> = Linear::of(g, *i).terms.into_iter().collect();
            let Some(at) = terms.iter().position(|(n, _)| !g.is_closed(*n)) else {
                region.push(None);
                continue;
            };
            let (n, k) = terms.remove(at);
            let Op::Var(v, _) = g.op(n) else { return None };
            let extent = self.vars.get(v)?.1?;
            let closed = terms.iter().all(|(n, _)| g.is_closed(*n));
            if !matches!(k, 1 | -1) || !closed || !g.is_closed(extent) || !used.insert(*v) {
                return None;
            }
            region.push(Some((extent, k, terms)));
        }
        Some(region)
    }

    /// What is taken out of loops, in the order of the program.
    pub fn hoisted(&self) -> impl Iterator<Item = &Out> {
        self.out.values()
    }

    /// The scalar operations of an element. None: there are no elements, or some loop's length
    /// depends on the element.
    pub fn operations(&self, f: &Formulas) -> Option<Sum> {
        let mut sum = Sum::default();
        for of in &self.loops {
            // the outermost loop is that over the elements
            let (mut extents, mut inner) = (Vec::new(), of);
            while let Some(outer) = inner.outer {
                extents.extend(&inner.extents);
                inner = &self.loops[outer];
            }
            if !extents.iter().all(|n| f.g.is_closed(*n)) {
                return None;
            }
            sum.add(f, of.operations, &extents);
        }
        (!self.loops.is_empty()).then_some(sum)
    }

    /// The arrays that are read.
    pub fn arrays(&self) -> impl Iterator<Item = NodeId> {
        self.reads.keys().copied()
    }

    /// The extents of what is read of an array. None: more than one region, or one that is not
    /// known.
    pub fn read(&self, array: NodeId) -> Option<Vec<NodeId>> {
        let (first, others) = self.reads.get(&array)?.split_first()?;
        let region = first.as_ref().filter(|_| others.iter().all(|r| r == first))?;
        Some(region.iter().flatten().map(|axis| axis.0).collect())
    }
}

fn lines(lines: Lines) -> Vec<Line> {
    lines.into_iter().map(|(place, operations)| Line { place, operations }).collect()
}

fn is_unlikely(g: &Graph, n: NodeId) -> bool {
    matches!(g.op(n), Op::Unary(UnaryOp::Unlikely, _))
}

/// What an operation is called; None of what is no work.
pub fn name(op: &Op) -> Option<&'static str> {
    Some(match op {
        Op::Unary(UnaryOp::Unlikely, _) => return None,
        Op::Unary(op, _) => op.name(),
        Op::Binary(op, ..) => op.name(),
        Op::MulAdd(..) => "mul_add",
        Op::Select(..) => "select",
        Op::Cast(..) => "cast",
        Op::At(..) | Op::Elem(..) => "read",
        Op::Within(..) => "within",
        Op::Reduce { .. } => "reduce",
        Op::Dot { .. } => "dot",
        Op::PanelDot { .. } => "panel_dot",
        Op::Fold { .. } => "fold",
        Op::Materialize(_) => "materialize",
        Op::Iterate { .. } => "iterate",
        _ => return None,
    })
}
