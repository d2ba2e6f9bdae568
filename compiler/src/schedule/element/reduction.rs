//! The parts of a reduction, for every target: the first value of a column of the tree, the
//! column's value after a further element, and the join of two columns (semantics 5.1, 5.3 and
//! 5.12).
//!
//! The value of a column is one accumulator, or several: a count, a mean and a sum of squared deviations; or, for a
//! tuple, whether the column has elements, and the components. Strategies keep a register, a local array or a scratch
//! array for each. Where they know a count as a constant, they say so, and what follows from it is a constant as
//! well.

mod accumulators;
mod operator;
mod parts;

use super::element;
use super::lower::{LaunchContext, Lower};
use crate::core::deviations::{self, Count, MOMENTS};
use crate::core::simplify::simplify;
use crate::core::{Lambda, NodeId, Op, tuples};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty, eval_cast};
use crate::schedule::groups::FusedGroup;
use crate::schedule::identity;
pub use accumulators::Accumulator;
pub use parts::{bound, have_loops, tiles};
use parts::{moments, with_element};

/// One reduction of a fused group.
pub struct Reduction {
    /// The reduction's nodes: several if more than one component of a tuple is needed.
    pub nodes: Vec<NodeId>,
    /// Types of the accumulators.
    pub types: Vec<Ty>,
    /// Scratch arrays with one value per tile, one for each accumulator; none for a nested
    /// reduction.
    pub scratch: Vec<Mem>,
    kind: Kind,
}

enum Kind {
    Join(Lambda, NodeId),
    /// The first accumulator says whether there are elements; the components follow.
    Tuple(Lambda, NodeId),
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
        for mut r in Reduction::all_nested(l, nodes) {
            for ty in &r.types {
                r.scratch.push(l.scratch(at, *ty));
                at += 1;
            }
            out.push(r);
        }
        out
    }

    /// Returns nested reductions, where the components of one tuple are one reduction.
    pub fn all_nested(l: &LaunchContext, nodes: &[NodeId]) -> Vec<Reduction> {
        let mut out: Vec<Reduction> = Vec::new();
        for node in nodes {
            match out.iter_mut().find(|r| tuples::are_components(&l.g, r.nodes[0], *node)) {
                Some(r) => r.nodes.push(*node),
                None => out.push(Reduction::nested(l, *node)),
            }
        }
        out
    }

    /// Returns a nested reduction, which is part of an element's code and has no scratch arrays.
    pub fn nested(l: &LaunchContext, node: NodeId) -> Reduction {
        let ty = l.g.ty(node).elem;
        let mut types = vec![ty];
        let kind = match l.g.op(node) {
            Op::Reduce { join, src, init, .. } if matches!(l.g.op(*init), Op::Tuple(_)) => {
                types = vec![Ty::Bool];
                types.extend(tuples::types(&l.g, *init));
                Kind::Tuple(join.clone(), *src)
            }
            Op::Reduce { join, src, .. } => Kind::Join(join.clone(), *src),
            Op::Dot { a, b, .. } => Kind::Dot(*a, *b),
            Op::SquaredDeviations { src, .. } => {
                types = vec![ty; MOMENTS];
                Kind::SquaredDeviations(*src)
            }
            op => unreachable!("{op:?} is no reduction"),
        };
        Reduction { nodes: vec![node], types, scratch: Vec::new(), kind }
    }

    /// Returns the number of accumulators.
    pub fn accumulators(&self) -> usize {
        self.types.len()
    }

    /// Returns the accumulators.
    pub fn each(&self) -> impl Iterator<Item = Accumulator> {
        self.types.iter().map(|ty| Accumulator {
            ty: *ty,
            node: self.nodes[0],
            is_counted: self.is_counted(),
        })
    }

    /// Returns the accumulators with which the initial values are joined: the components of a tuple, or else the last
    /// one.
    pub fn totals<T: Clone>(&self, of_accumulators: &[T]) -> Vec<T> {
        match self.kind {
            Kind::Tuple(..) => of_accumulators[1..].to_vec(),
            _ => of_accumulators[of_accumulators.len() - 1..].to_vec(),
        }
    }

    /// Whether the first accumulator is the number of elements, or says whether there are any.
    pub fn is_counted(&self) -> bool {
        matches!(self.kind, Kind::SquaredDeviations(_) | Kind::Tuple(..))
    }

    /// Whether a column joins elements as it joins other columns. Joins that may leave records do not: those of
    /// elements name them.
    pub fn steps_are_joins(&self, l: &mut LaunchContext) -> bool {
        match &self.kind {
            Kind::Join(join, _) | Kind::Tuple(join, _) => !l.may_record(join.body),
            Kind::Dot(..) | Kind::SquaredDeviations(_) => false,
        }
    }

    /// Whether it has the components of a tuple.
    pub fn is_of_tuple(&self) -> bool {
        matches!(self.kind, Kind::Tuple(..))
    }

    /// Returns `old`, the values of a column's accumulators, with the knowledge that the column has had elements.
    pub fn with_elements(&self, mut old: Vec<Expr>) -> Vec<Expr> {
        if let (Kind::Tuple(..), Some(some)) = (&self.kind, old.first_mut()) {
            *some = Expr::Lit(Lit::bool(true));
        }
        old
    }

    /// Returns `old`, the values of a column's accumulators, with the knowledge that the column has had `rows`
    /// elements (i64).
    pub fn after_rows(&self, mut old: Vec<Expr>, rows: Expr) -> Vec<Expr> {
        if let Some(count) = old.first_mut().filter(|_| self.is_counted()) {
            *count = match rows {
                Expr::Lit(rows) => Expr::Lit(eval_cast(self.types[0], rows)),
                rows => Expr::Cast(self.types[0], Box::new(rows)),
            };
        }
        old
    }

    /// Returns nodes for the values of accumulators, and adds their values to `known`. A count that is known already
    /// has the same node, so that what follows from it is computed once.
    pub fn nodes(
        &self,
        l: &mut LaunchContext,
        values: &[Expr],
        known: &mut Vec<(NodeId, Expr)>,
    ) -> Vec<NodeId> {
        let node = |(e, ty): (&Expr, &Ty)| match e {
            Expr::Lit(count) if self.is_counted() => l.g.lit(*count),
            e => {
                let same = known.iter().find(|(_, other)| e == other).filter(|_| self.is_counted());
                if let Some((node, _)) = same {
                    return *node;
                }
                let (_, node) = l.g.fresh_var(*ty);
                known.push((node, e.clone()));
                node
            }
        };
        values.iter().zip(&self.types).map(node).collect()
    }

    /// Returns a variable for each accumulator.
    pub fn variables(&self, l: &mut LaunchContext) -> Vec<NodeId> {
        self.types.iter().map(|ty| l.g.fresh_var(*ty).1).collect()
    }

    /// Returns the nodes of the initial values, one for each component.
    pub fn init(&self, l: &LaunchContext) -> Vec<NodeId> {
        match *l.g.op(self.nodes[0]) {
            Op::Reduce { init, .. } => tuples::components(&l.g, init),
            Op::Dot { init, .. } | Op::SquaredDeviations { init, .. } => vec![init],
            _ => unreachable!("{:?} is a reduction", self.nodes),
        }
    }

    /// Returns the join of the initial values with the totals of all elements, one for each of the
    /// reduction's nodes.
    pub fn join_initial(&self, l: &mut LaunchContext, init: &[NodeId], totals: &[NodeId]) -> Vec<NodeId> {
        match &self.kind {
            Kind::Join(join, _) => vec![l.g.open(join, &[init[0], totals[0]])],
            Kind::Tuple(join, _) => {
                let joined = l.g.open(join, &[init, totals].concat());
                let joined = tuples::components(&l.g, joined);
                self.nodes.iter().map(|n| joined[tuples::which(&l.g, *n)]).collect()
            }
            Kind::Dot(..) | Kind::SquaredDeviations(_) => {
                vec![l.g.add(Op::Binary(BinaryOp::Add, init[0], totals[0]))]
            }
        }
    }

    /// Returns f(a, b), the join of the accumulators of two columns; b may be absent.
    pub fn join(&self, l: &mut LaunchContext, a: &[NodeId], b: &[NodeId]) -> Vec<NodeId> {
        match &self.kind {
            Kind::SquaredDeviations(_) => deviations::join(&mut l.g, moments(a), moments(b)).to_vec(),
            Kind::Tuple(join, _) => {
                let joined = l.g.open(join, &[&a[1..], &b[1..]].concat());
                let joined = tuples::components(&l.g, joined).into_iter().zip(&a[1..]);
                let joined = joined.map(|(joined, a)| simplify(&mut l.g, Op::Select(b[0], joined, *a)));
                std::iter::once(a[0]).chain(joined).collect()
            }
            _ => self.join_initial(l, a, b),
        }
    }

    /// Returns the operands of the reduction at an index: the element, or for a dot product the
    /// elements of both factors.
    pub fn elements(&self, l: &mut LaunchContext, index: NodeId) -> Vec<NodeId> {
        match self.kind {
            Kind::Join(_, src) | Kind::SquaredDeviations(src) => vec![element(&mut l.g, src, index)],
            Kind::Tuple(_, src) => {
                let element = element(&mut l.g, src, index);
                tuples::components(&l.g, element)
            }
            Kind::Dot(a, b) => vec![element(&mut l.g, a, index), element(&mut l.g, b, index)],
        }
    }

    /// Returns the types of the operands.
    pub fn types_of_elements(&self) -> Vec<Ty> {
        match self.kind {
            Kind::Tuple(..) => self.types[1..].to_vec(),
            Kind::Dot(..) => vec![self.types[0]; 2],
            _ => vec![self.types[0]],
        }
    }

    /// Returns the first value of a column, whose first operands are `elements`.
    pub fn first_of(&self, l: &mut LaunchContext, elements: &[NodeId]) -> Vec<NodeId> {
        match (&self.kind, elements) {
            (Kind::SquaredDeviations(_), elements) => deviations::first(&mut l.g, elements[0]).to_vec(),
            (Kind::Tuple(..), elements) => {
                let some = l.g.lit(Lit::bool(true));
                std::iter::once(some).chain(elements.iter().copied()).collect()
            }
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
            (Kind::Tuple(join, _), elements) => with_element(&mut l.g, join, acc, elements),
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
            (Kind::Tuple(join, _), Some(after)) => {
                let elements = self.elements(l, index);
                let acc: Vec<NodeId> =
                    std::iter::once(after.before).chain(acc[1..].iter().copied()).collect();
                with_element(&mut l.g, join, &acc, &elements)
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
        if let Kind::Tuple(..) = self.kind {
            let number: Vec<Expr> = number.into_iter().map(|e| bound(l, "some", e, out)).collect();
            let before = self.nodes(l.launch, &number, known)[0];
            let count = l.launch.g.lit(Lit::bool(true));
            return Ok(Some(Count { before, count, part: count }));
        }
        let mut own = Vec::new();
        let before = self.nodes(l.launch, &number, &mut own)[0];
        let after = deviations::count_after(&mut l.launch.g, before);
        let values = l.region(&own, &[after.count, after.part], &Expr::int(0), out)?;
        let values: Vec<Expr> = values.into_iter().map(|e| bound(l, "count", e, out)).collect();
        let nodes = self.nodes(l.launch, &values, known);
        Ok(Some(Count { before, count: nodes[0], part: nodes[1] }))
    }

    /// Whether the operator may be more than one instruction.
    pub fn is_general(&self, l: &LaunchContext) -> bool {
        self.is_counted() || !self.has_identity(l)
    }

    /// Whether the elements have loops of their own, nested in the reduction's loop.
    pub fn elements_have_loops(&self, l: &mut LaunchContext) -> bool {
        let (var, index) = l.g.fresh_var(Ty::I64);
        let elements = self.elements(l, index);
        have_loops(l, &elements, var)
    }

    /// Returns the values with which a column's accumulators are initialised.
    pub fn absent(&self, l: &LaunchContext) -> Vec<Expr> {
        self.each().map(|acc| acc.absent(l)).collect()
    }

    /// Declares a register for each accumulator.
    pub fn registers(&self, l: &mut Lower, name: &'static str) -> Vec<Reg> {
        self.types.iter().map(|ty| l.k.reg(name, *ty)).collect()
    }

    /// Whether a column that has no elements has a value, see [`Accumulator::identity`].
    pub fn has_identity(&self, l: &LaunchContext) -> bool {
        identity::of(&l.g, self.nodes[0]).is_some()
    }
}

/// Returns each accumulator of some reductions.
pub fn each_accumulator(reductions: &[Reduction]) -> impl Iterator<Item = Accumulator> {
    reductions.iter().flat_map(Reduction::each)
}

/// Returns for each accumulator whether it is a count.
pub fn counts(reductions: &[Reduction]) -> impl Iterator<Item = bool> {
    reductions.iter().flat_map(|r| (0..r.accumulators()).map(|at| at == 0 && r.is_counted()))
}

/// Returns each reduction with the items that belong to its accumulators.
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

/// Returns the values with which each reduction's initial values are joined ([`Reduction::totals`]).
pub fn totals_of<T: Clone>(reductions: &[Reduction], of_accumulators: &[T]) -> Vec<Vec<T>> {
    by_reduction(reductions, of_accumulators).map(|(r, own)| r.totals(own)).collect()
}
