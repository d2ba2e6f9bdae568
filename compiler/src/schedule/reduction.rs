//! The parts of a reduction, for every target: the first value of a column of the tree, the
//! column's value after a further element, and the join of two columns (semantics 5.1, 5.3 and
//! 5.12).
//!
//! The value of a column is one accumulator, or several of one type: a count, a mean and a sum of
//! squared deviations. Strategies keep a register, a local array or a scratch array for each. Where
//! they know a count as a constant, they say so, and what follows from it is a constant as well.

use super::element::element;
use super::groups::FusedGroup;
use super::identity;
use super::lower::{LaunchContext, Lower, named};
use crate::core::deviations::{self, Count, MOMENTS, Moments};
use crate::core::{Lambda, NodeId, Op, TILE, Var};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty, eval_cast};

/// One reduction of a fused group.
pub struct Reduction {
    /// The reduction's node.
    pub node: NodeId,
    /// Type of the elements and of the accumulators.
    pub ty: Ty,
    /// Scratch arrays with one value per tile, one for each accumulator; none for a nested
    /// reduction.
    pub scratch: Vec<Mem>,
    kind: Kind,
}

enum Kind {
    Join(Lambda, NodeId),
    Dot(NodeId, NodeId),
    SquaredDeviations(NodeId),
}

impl Reduction {
    /// Returns the reductions of a fused group, in the order of its items.
    pub fn all(l: &mut LaunchContext, fused: &FusedGroup) -> Vec<Reduction> {
        let nodes: Vec<NodeId> = fused.items.iter().map(|it| it.node).collect();
        let is_reduction = |n: &NodeId| {
            matches!(l.g.op(*n), Op::Reduce { .. } | Op::Dot { .. } | Op::SquaredDeviations { .. })
        };
        let nodes: Vec<NodeId> = nodes.into_iter().filter(is_reduction).collect();
        Reduction::with_scratch(l, &nodes)
    }

    /// Returns reductions whose tiles leave their results in the launch's first scratch arrays.
    pub fn with_scratch(l: &mut LaunchContext, nodes: &[NodeId]) -> Vec<Reduction> {
        let (mut out, mut at) = (Vec::new(), 0);
        for node in nodes {
            let r = Reduction::nested(l, *node);
            let scratch = (at..at + r.accumulators()).map(|at| l.scratch(at, r.ty)).collect();
            at += r.accumulators();
            out.push(Reduction { scratch, ..r });
        }
        out
    }

    /// Returns a nested reduction, which is part of an element's code and has no scratch arrays.
    pub fn nested(l: &LaunchContext, node: NodeId) -> Reduction {
        let kind = match l.g.op(node) {
            Op::Reduce { join, src, .. } => Kind::Join(join.clone(), *src),
            Op::Dot { a, b, .. } => Kind::Dot(*a, *b),
            Op::SquaredDeviations { src, .. } => Kind::SquaredDeviations(*src),
            op => unreachable!("{op:?} is no reduction"),
        };
        Reduction { node, ty: l.g.ty(node).elem, scratch: Vec::new(), kind }
    }

    /// Returns the number of accumulators. The last one is what the reduction is about.
    pub fn accumulators(&self) -> usize {
        if self.is_counted() { MOMENTS } else { 1 }
    }

    /// Whether the first accumulator is the number of elements.
    pub fn is_counted(&self) -> bool {
        matches!(self.kind, Kind::SquaredDeviations(_))
    }

    /// Returns `old`, the values of a column's accumulators, where it is known that the column has
    /// had `rows` elements (i64).
    pub fn after_rows(&self, mut old: Vec<Expr>, rows: Expr) -> Vec<Expr> {
        if let Some(count) = old.first_mut().filter(|_| self.is_counted()) {
            *count = match rows {
                Expr::Lit(rows) => Expr::Lit(eval_cast(self.ty, rows)),
                rows => Expr::Cast(self.ty, Box::new(rows)),
            };
        }
        old
    }

    /// Returns nodes for the values of accumulators, and adds what is known of them to `known`. A
    /// count that is known already has the same node, so that what follows from it is computed once.
    pub fn nodes(
        &self,
        l: &mut LaunchContext,
        values: &[Expr],
        known: &mut Vec<(NodeId, Expr)>,
    ) -> Vec<NodeId> {
        let node = |e: &Expr| match e {
            Expr::Lit(count) if self.is_counted() => l.g.lit(*count),
            e => {
                let same = known.iter().find(|(_, other)| e == other).filter(|_| self.is_counted());
                if let Some((node, _)) = same {
                    return *node;
                }
                let (_, node) = l.g.fresh_var(self.ty);
                known.push((node, e.clone()));
                node
            }
        };
        values.iter().map(node).collect()
    }

    /// Returns a variable for each accumulator.
    pub fn variables(&self, l: &mut LaunchContext) -> Vec<NodeId> {
        (0..self.accumulators()).map(|_| l.g.fresh_var(self.ty).1).collect()
    }

    /// Returns the node of the initial value.
    pub fn init(&self, l: &LaunchContext) -> NodeId {
        match *l.g.op(self.node) {
            Op::Reduce { init, .. } | Op::Dot { init, .. } | Op::SquaredDeviations { init, .. } => init,
            _ => unreachable!("{:?} is a reduction", self.node),
        }
    }

    /// Returns the join of the initial value with the last accumulator of all elements.
    pub fn join_initial(&self, l: &mut LaunchContext, init: NodeId, value: NodeId) -> NodeId {
        match &self.kind {
            Kind::Join(join, _) => l.g.open(join, &[init, value]),
            Kind::Dot(..) | Kind::SquaredDeviations(_) => l.g.add(Op::Binary(BinaryOp::Add, init, value)),
        }
    }

    /// Returns f(a, b), the join of the accumulators of two columns.
    pub fn join(&self, l: &mut LaunchContext, a: &[NodeId], b: &[NodeId]) -> Vec<NodeId> {
        match self.kind {
            Kind::SquaredDeviations(_) => deviations::join(&mut l.g, moments(a), moments(b)).to_vec(),
            _ => vec![self.join_initial(l, a[0], b[0])],
        }
    }

    /// Returns the operands of the reduction at an index: the element, or for a dot product the
    /// elements of both factors.
    pub fn elements(&self, l: &mut LaunchContext, index: NodeId) -> Vec<NodeId> {
        match self.kind {
            Kind::Join(_, src) | Kind::SquaredDeviations(src) => vec![element(&mut l.g, src, index)],
            Kind::Dot(a, b) => vec![element(&mut l.g, a, index), element(&mut l.g, b, index)],
        }
    }

    /// Returns the first value of a column, whose first operands are `elements`.
    pub fn first_of(&self, l: &mut LaunchContext, elements: &[NodeId]) -> Vec<NodeId> {
        match (&self.kind, elements) {
            (Kind::SquaredDeviations(_), elements) => deviations::first(&mut l.g, elements[0]).to_vec(),
            (_, [a, b]) => vec![l.g.add(Op::Binary(BinaryOp::Mul, *a, *b))],
            _ => vec![elements[0]],
        }
    }

    /// Returns the column's value after the operands `elements`.
    pub fn step_of(&self, l: &mut LaunchContext, acc: &[NodeId], elements: &[NodeId]) -> Vec<NodeId> {
        match (&self.kind, elements) {
            (Kind::SquaredDeviations(_), elements) => {
                let after = deviations::count_after(&mut l.g, acc[0]);
                deviations::step(&mut l.g, moments(acc), after, elements[0]).to_vec()
            }
            (_, [a, b]) => vec![l.g.add(Op::MulAdd(*a, *b, acc[0]))],
            _ => self.join(l, acc, elements),
        }
    }

    /// Returns the first value of a column, whose first element is at `index`.
    pub fn first(&self, l: &mut LaunchContext, index: NodeId) -> Vec<NodeId> {
        let elements = self.elements(l, index);
        self.first_of(l, &elements)
    }

    /// Returns the column's value after the element at `index`.
    pub fn step(&self, l: &mut LaunchContext, acc: &[NodeId], index: NodeId) -> Vec<NodeId> {
        let elements = self.elements(l, index);
        self.step_of(l, acc, &elements)
    }

    /// Returns the column's value after the element at `index`, where the count after it may be known.
    pub fn step_to(
        &self,
        l: &mut LaunchContext,
        acc: &[NodeId],
        after: Option<Count>,
        index: NodeId,
    ) -> Vec<NodeId> {
        match (&self.kind, after) {
            (Kind::SquaredDeviations(src), Some(after)) => {
                let x = element(&mut l.g, *src, index);
                deviations::step(&mut l.g, moments(acc), after, x).to_vec()
            }
            _ => self.step(l, acc, index),
        }
    }

    /// Emits the count of a column after `rows` rows and a further one, for all columns of a row.
    pub fn count_after(
        &self,
        l: &mut Lower,
        rows: &Expr,
        known: &mut Vec<(NodeId, Expr)>,
        out: &mut Vec<Stmt>,
    ) -> Result<Option<Count>> {
        if !self.is_counted() {
            return Ok(None);
        }
        let number = self.after_rows(vec![rows.clone()], rows.clone());
        let mut own = Vec::new();
        let before = self.nodes(l.launch, &number, &mut own)[0];
        let after = deviations::count_after(&mut l.launch.g, before);
        let values = l.region(&own, &[after.count, after.part], &Expr::int(0), out)?;
        let values: Vec<Expr> = values.into_iter().map(|e| bound(l, "count", e, out)).collect();
        let nodes = self.nodes(l.launch, &values, known);
        Ok(Some(Count { count: nodes[0], part: nodes[1] }))
    }

    /// Returns the value with which a column's accumulators are initialised: the operator's identity,
    /// or 0 if the operator has none. In the latter case the column's first value replaces it.
    pub fn absent(&self, l: &LaunchContext) -> Expr {
        Expr::Lit(self.identity(l).unwrap_or(Lit::zero(self.ty)))
    }

    /// Whether the operator may be more than one instruction.
    pub fn is_general(&self, l: &LaunchContext) -> bool {
        self.is_counted() || self.identity(l).is_none()
    }

    /// Whether the operator has loops of its own. Its code is then emitted as few times as
    /// possible.
    pub fn joins_by_loops(&self, l: &LaunchContext) -> bool {
        let Kind::Join(join, _) = &self.kind else { return false };
        let g = &l.g;
        g.reachable([join.body]).into_iter().any(|n| g.op(n).is_loop() && !g.is_closed(n))
    }

    /// Whether the elements have loops of their own, nested in the reduction's loop.
    pub fn elements_have_loops(&self, l: &mut LaunchContext) -> bool {
        let (var, index) = l.g.fresh_var(Ty::I64);
        let elements = self.elements(l, index);
        have_loops(l, &elements, var)
    }

    /// Returns the operator's identity, exact in every bit (-0 for sums of floats): the value of each
    /// accumulator of a column that has no elements. Returns `None` if the operator has no such value.
    pub fn identity(&self, l: &LaunchContext) -> Option<Lit> {
        identity::of(&l.g, self.node)
    }
}

/// Returns the reduction of each accumulator.
pub fn each_accumulator(reductions: &[Reduction]) -> impl Iterator<Item = &Reduction> {
    reductions.iter().flat_map(|r| std::iter::repeat_n(r, r.accumulators()))
}

/// Returns of each accumulator whether it is a count.
pub fn counts(reductions: &[Reduction]) -> impl Iterator<Item = bool> {
    reductions.iter().flat_map(|r| (0..r.accumulators()).map(|at| at == 0 && r.is_counted()))
}

/// Returns each reduction with what belongs to its accumulators.
pub fn by_reduction<'a, T>(
    reductions: &'a [Reduction],
    mut of_accumulators: &'a [T],
) -> impl Iterator<Item = (&'a Reduction, &'a [T])> {
    let own = move |r: &'a Reduction| {
        let (own, others) = of_accumulators.split_at(r.accumulators());
        of_accumulators = others;
        (r, own)
    };
    reductions.iter().map(own)
}

/// Returns what belongs to the last accumulator of each reduction.
pub fn of_last<T: Clone>(reductions: &[Reduction], of_accumulators: &[T]) -> Vec<T> {
    by_reduction(reductions, of_accumulators).filter_map(|(_, own)| own.last().cloned()).collect()
}

/// Binds an expression to a register, unless it is a constant.
pub fn bound(l: &mut Lower, name: &'static str, e: Expr, out: &mut Vec<Stmt>) -> Expr {
    match e {
        Expr::Lit(_) => e,
        e => named(l, name, e, out),
    }
}

fn moments(values: &[NodeId]) -> Moments {
    std::array::from_fn(|i| values[i])
}

/// Whether computing `values` runs a nested reduction or fold again for each value of the variable
/// `of`.
pub fn have_loops(l: &mut LaunchContext, values: &[NodeId], of: Var) -> bool {
    let nodes = l.g.reachable(values.iter().copied());
    let loops = nodes.into_iter().filter(|n| l.g.op(*n).is_loop() && !l.g.is_closed(*n));
    let loops: Vec<NodeId> = loops.collect();
    // a loop that may leave an error record is not moved out of another loop
    loops.into_iter().any(|n| l.g.node(n).free.contains(&of) || l.may_record(n))
}

/// Returns the number of tiles of `n` elements, ceil(n / TILE).
pub fn tiles(n: Expr) -> Expr {
    Expr::binary(BinaryOp::Shr, n.plus(Expr::int(TILE - 1)), Expr::int(TILE.trailing_zeros().into()))
}
