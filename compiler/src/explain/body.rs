//! Counts what the elements of a fused group do: the operations, by loop and by the author's lines; the operations
//! that are moved out of loops; and the regions of arrays that are read.

use super::formula::{Formulas, Sum};
use super::model::{Line, Place};
use super::regions::{Reads, Region};
use crate::core::simplify::extent;
use crate::core::{Graph, Lambda, NodeId, Op, ScanPart, Var, element_loops, tuples};
use crate::scalar::{Ty, UnaryOp};
use indexmap::IndexMap;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::collections::BTreeMap;

/// A loop over the index space of the fused group or of nested operations.
struct Loop {
    depth: usize,
    /// The enclosing loop.
    outer: Option<usize>,
    extents: Vec<NodeId>,
    /// The variables of the loop's indices.
    index: Vec<NodeId>,
    /// For the steps of an element's loop (`Op::Loop`): that loop.
    steps_of: Option<NodeId>,
    /// Whether a condition on data ends the loop, so that its extent is not its number of steps.
    by_data: bool,
    /// Number of scalar operations of one iteration.
    operations: u64,
}

/// An operation that is taken out of a loop.
pub struct Out {
    /// The operation.
    pub node: NodeId,
    /// Whether the operation depends on no index; otherwise it depends on the element, but not on
    /// an inner loop.
    pub closed: bool,
}

/// The places where the author wrote an item, each with its operations by name.
type Lines = BTreeMap<Place, BTreeMap<&'static str, u64>>;

/// The operations and reads of a fused group.
#[derive(Default)]
pub struct Body {
    /// The author's lines of each item.
    pub lines: Vec<Vec<Line>>,
    /// The lines of the current item.
    current: Lines,
    seen: HashSet<NodeId>,
    /// The indices of the current item's reads, which are visited after all values.
    indices: Vec<(NodeId, usize)>,
    /// Whether a value is being visited, and not an index.
    counting: bool,
    loops: Vec<Loop>,
    /// The loop of each variable, and the extent that the variable runs over.
    vars: HashMap<Var, (usize, Option<NodeId>)>,
    /// The bodies of the functions of reductions, with their parameters replaced.
    functions: HashMap<NodeId, NodeId>,
    /// The operations that were counted already, because items share operations.
    counted: HashSet<NodeId>,
    reads: Reads,
    out: IndexMap<NodeId, Out>,
}

impl Body {
    /// Counts the operations of the elements of these items.
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

    /// Notes the arrays that scalars read which are computed once, at the end of the launch.
    pub fn add_scalars(&mut self, g: &Graph, roots: impl Iterator<Item = NodeId>) {
        self.seen.clear();
        roots.for_each(|n| self.read_closed(g, n));
    }

    /// Returns the lines of a scalar that is computed from reductions.
    pub fn of_scalar(g: &Graph, root: NodeId) -> Vec<Line> {
        let mut body = Body { counting: true, ..Body::default() };
        let (mut stack, mut seen) = (vec![root], HashSet::default());
        while let Some(n) = stack.pop() {
            if seen.insert(n) && !g.op(n).needs_launch() {
                body.note(g, n);
                stack.extend(g.op(n).operands());
            }
        }
        lines(body.current)
    }

    /// Returns the loop over these extents inside the loop `outer`. All operations over the same
    /// extents share it.
    fn enter(&mut self, g: &mut Graph, outer: Option<usize>, extents: &[NodeId]) -> usize {
        let known =
            self.loops.iter().position(|l| l.steps_of.is_none() && l.outer == outer && l.extents == extents);
        known.unwrap_or_else(|| {
            let depth = outer.map_or(0, |o| self.loops[o].depth + 1);
            let mut index = Vec::new();
            for extent in extents {
                let (var, node) = g.fresh_var(Ty::I64);
                self.vars.insert(var, (self.loops.len(), Some(*extent)));
                index.push(node);
            }
            let extents = extents.to_vec();
            self.loops.push(Loop {
                depth,
                outer,
                extents,
                index,
                steps_of: None,
                by_data: false,
                operations: 0,
            });
            self.loops.len() - 1
        })
    }

    /// Visits the step of a loop of an element, once for all of its values.
    fn steps(&mut self, g: &mut Graph, n: NodeId, (step, count): (&Lambda, NodeId), own: usize) {
        let first = element_loops::first(g, n);
        let known = self.loops.iter().position(|l| l.steps_of == Some(first));
        let at = known.unwrap_or_else(|| {
            let by_data = !element_loops::is_counted(g, step) || !g.is_closed(count);
            let (depth, outer) = (self.loops[own].depth + 1, Some(own));
            let end = element_loops::end(g, count);
            let (extents, index, steps_of) = (vec![end], Vec::new(), Some(first));
            self.loops.push(Loop { depth, outer, extents, index, steps_of, by_data, operations: 0 });
            self.loops.len() - 1
        });
        let body = self.function(g, first, step, at);
        self.visit(g, body, at);
    }

    /// Returns what the function of a reduction or fold computes for each element.
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

    /// Visits what a stored array, a reduction or a fold computes for each element, in loop `at`.
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
            // each element of the source is joined to a bin, or stored at a place: count these, not those of the
            // result
            Op::Bins { at: places, src, .. } | Op::Put { at: places, src, .. } => {
                let n = extent(g, *src, 0);
                let own = self.enter(g, None, &[n]);
                self.sequence(g, *places, own);
                self.sequence(g, *src, own);
            }
            Op::Place { at: places, src } => {
                self.sequence(g, *places, at);
                self.sequence(g, *src, at);
            }
            Op::DigitCounts { digits, .. } => self.sequence(g, *digits, at),
            Op::DigitEnds { counts, .. } => self.vector(g, *counts),
            Op::ByDigit { digits, ends, src, .. } => {
                for x in [digits, src] {
                    self.sequence(g, *x, at);
                }
                self.vector(g, *ends);
            }
            Op::Reduce { join: lambda, src, .. }
            | Op::Scan { join: lambda, src, .. }
            | Op::Fold { step: lambda, src, .. } => {
                self.sequence(g, *src, at);
                if let Op::Scan { part: ScanPart::Tiles, init: before, .. } = op {
                    self.vector(g, before);
                }
                let first = g.add(tuples::component(&op, 0));
                let body = self.function(g, first, lambda, at);
                self.visit(g, body, at);
            }
            Op::SquaredDeviations { src, .. } => {
                self.sequence(g, *src, at);
                self.count(&op, n, at);
            }
            Op::Dot { a, b, .. } | Op::PanelDot { a, b, .. } => {
                self.sequence(g, *a, at);
                self.sequence(g, *b, at);
                self.count(&op, n, at);
            }
            _ => {}
        }
    }

    /// Visits a vector that has a length of its own.
    fn vector(&mut self, g: &mut Graph, x: NodeId) {
        let n = extent(g, x, 0);
        let own = self.enter(g, None, &[n]);
        self.sequence(g, x, own);
    }

    /// Visits a value that is needed in loop `at`.
    fn visit(&mut self, g: &mut Graph, n: NodeId, at: usize) {
        if matches!(g.op(n), Op::Const(_) | Op::Param(_) | Op::Var(..) | Op::Turn | Op::Checked | Op::Len(..))
        {
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
        if !g.op(n).needs_launch() {
            self.note(g, n);
        }
        let op = g.op(n).clone();
        match &op {
            Op::Elem(x, index) | Op::At(x, index) => {
                let of_var = |v: Var| self.vars.get(&v)?.1;
                self.reads.add(*x, Region::of(g, index, of_var));
                self.indices.extend(index.iter().map(|i| (*i, own)));
            }
            Op::Reduce { init, src: array, .. }
            | Op::Fold { init, src: array, .. }
            | Op::SquaredDeviations { init, src: array }
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
            Op::Within(index, ..) => self.indices.push((*index, own)),
            Op::Loop { step, count, init, .. } => {
                init.iter().for_each(|o| self.visit(g, *o, own));
                self.indices.push((*count, own));
                self.steps(g, n, (step, *count), own);
            }
            _ => {
                self.count(&op, n, own);
                for o in op.operands() {
                    self.visit(g, o, own);
                }
            }
        }
    }

    /// Notes the arrays that a loop invariant reads.
    fn read_closed(&mut self, g: &Graph, n: NodeId) {
        if g.op(n).needs_launch() || !self.seen.insert(n) {
            return;
        }
        if let Op::Elem(x, index) | Op::At(x, index) = g.op(n) {
            self.reads.add(*x, Region::of(g, index, |_| None));
        }
        g.op(n).operands().for_each(|o| self.read_closed(g, o));
    }

    /// Returns the innermost loop that a value depends on.
    fn loop_of(&self, g: &Graph, n: NodeId) -> Option<usize> {
        let loops = g.node(n).free.iter().filter_map(|v| self.vars.get(v)).map(|v| v.0);
        loops.max_by_key(|l| self.loops[*l].depth)
    }

    fn count(&mut self, op: &Op, n: NodeId, at: usize) {
        if self.counting && self.counted.insert(n) {
            self.loops[at].operations += match op {
                // The product and the sum count as one operation each.
                Op::MulAdd(..) | Op::Dot { .. } | Op::PanelDot { .. } => 2,
                // Two differences and two multiply-adds.
                Op::SquaredDeviations { .. } => 6,
                Op::Unary(UnaryOp::Unlikely, _) | Op::Tuple(_) => 0,
                _ => 1,
            };
        }
    }

    /// Notes an operation at its place in the author's program, and the combinators that it was
    /// fused into.
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

    /// Returns the operations that are taken out of loops, in program order.
    pub fn hoisted(&self) -> impl Iterator<Item = &Out> {
        self.out.values()
    }

    /// Returns the number of scalar operations of an element, or None if there are no elements or
    /// the length of a reduction depends on the element.
    pub fn operations(&self, f: &Formulas) -> Option<Sum> {
        let mut sum = Sum::default();
        for of in &self.loops {
            // The outermost loop is the one over the elements, so its extents do not count.
            let (mut extents, mut by_data, mut inner) = (Vec::new(), 0, of);
            while let Some(outer) = inner.outer {
                match inner.by_data {
                    true => by_data += 1,
                    false => extents.extend(&inner.extents),
                }
                inner = &self.loops[outer];
            }
            if !extents.iter().all(|n| f.g.is_closed(*n)) {
                return None;
            }
            sum.add_steps(f, of.operations, &extents, by_data);
        }
        (!self.loops.is_empty()).then_some(sum)
    }

    /// Returns the regions of arrays that are read.
    pub fn reads(&self) -> &Reads {
        &self.reads
    }
}

fn lines(lines: Lines) -> Vec<Line> {
    lines.into_iter().map(|(place, operations)| Line { place, operations }).collect()
}

fn is_unlikely(g: &Graph, n: NodeId) -> bool {
    matches!(g.op(n), Op::Unary(UnaryOp::Unlikely, _))
}

/// Returns the name of an operation, or None if it does no work.
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
        Op::Leave(..) => "leave",
        Op::Reduce { .. } => "reduce",
        Op::ReduceOrdered { .. } => "reduce_ordered",
        Op::Scan { .. } => "scan",
        Op::Argsort(_) => "argsort",
        Op::Place { .. } => "place",
        Op::Bins { .. } => "bins",
        Op::Put { .. } => "put",
        Op::DigitCounts { .. } => "digit_counts",
        Op::DigitEnds { .. } => "digit_ends",
        Op::ByDigit { .. } => "by_digit",
        Op::Dot { .. } => "dot",
        Op::PanelDot { .. } => "panel_dot",
        Op::SquaredDeviations { .. } => "squared_deviations",
        Op::Fold { .. } => "fold",
        Op::Loop { .. } => "loop",
        Op::Materialize(_) => "materialize",
        Op::Iterate { .. } => "iterate",
        _ => return None,
    })
}
