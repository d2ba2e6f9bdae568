//! The parts of a reduction, for every target: the first value of a column of the tree, the
//! column's value after a further element, and the join of two columns (semantics 5.1 and 5.3).

use super::element::element;
use super::groups::FusedGroup;
use super::lower::LaunchContext;
use crate::core::{Graph, Lambda, NodeId, Op, TILE, Var};
use crate::kernel::{Expr, Mem};
use crate::scalar::{BinaryOp, Lit, Ty};

/// One reduction of a fused group.
pub struct Reduction {
    /// The reduction's node.
    pub node: NodeId,
    /// Type of the elements and of the accumulator.
    pub ty: Ty,
    /// Scratch array with one value per tile; not valid for a nested reduction.
    pub scratch: Mem,
    kind: Kind,
}

enum Kind {
    Join(Lambda, NodeId),
    Dot(NodeId, NodeId),
}

impl Reduction {
    /// Returns the reductions of a fused group, in the order of its items.
    pub fn all(l: &mut LaunchContext, fused: &FusedGroup) -> Vec<Reduction> {
        let nodes: Vec<NodeId> = fused.items.iter().map(|it| it.node).collect();
        let mut out = Vec::new();
        for node in nodes {
            let kind = match l.g.op(node) {
                Op::Reduce { join, src, .. } => Kind::Join(join.clone(), *src),
                Op::Dot { a, b, .. } => Kind::Dot(*a, *b),
                _ => continue,
            };
            let ty = l.g.ty(node).elem;
            let scratch = l.scratch(out.len(), ty);
            out.push(Reduction { node, ty, scratch, kind });
        }
        out
    }

    /// Returns a nested reduction, which is part of an element's code and has no scratch array.
    pub fn nested(l: &LaunchContext, node: NodeId) -> Reduction {
        let kind = match l.g.op(node) {
            Op::Reduce { join, src, .. } => Kind::Join(join.clone(), *src),
            Op::Dot { a, b, .. } => Kind::Dot(*a, *b),
            op => unreachable!("{op:?} is no reduction"),
        };
        Reduction { node, ty: l.g.ty(node).elem, scratch: Mem::Scratch(u32::MAX), kind }
    }

    /// Returns a nested reduction whose tiles leave their results in the launch's scratch array
    /// number `at`.
    pub fn segmented(l: &mut LaunchContext, node: NodeId, at: usize) -> Reduction {
        let r = Reduction::nested(l, node);
        Reduction { scratch: l.scratch(at, r.ty), ..r }
    }

    /// Returns the node of the initial value.
    pub fn init(&self, l: &LaunchContext) -> NodeId {
        match *l.g.op(self.node) {
            Op::Reduce { init, .. } | Op::Dot { init, .. } => init,
            _ => unreachable!("{:?} is a reduction", self.node),
        }
    }

    /// Returns f(a, b), the join of two accumulators.
    pub fn join(&self, l: &mut LaunchContext, a: NodeId, b: NodeId) -> NodeId {
        match &self.kind {
            Kind::Join(join, _) => l.g.open(join, &[a, b]),
            Kind::Dot(..) => l.g.add(Op::Binary(BinaryOp::Add, a, b)),
        }
    }

    /// Returns the operands of the reduction at an index: the element, or for a dot product the
    /// elements of both factors.
    pub fn elements(&self, l: &mut LaunchContext, index: NodeId) -> Vec<NodeId> {
        match self.kind {
            Kind::Join(_, src) => vec![element(&mut l.g, src, index)],
            Kind::Dot(a, b) => vec![element(&mut l.g, a, index), element(&mut l.g, b, index)],
        }
    }

    /// Returns the first value of a column, whose first operands are `elements`.
    pub fn first_of(&self, l: &mut LaunchContext, elements: &[NodeId]) -> NodeId {
        match *elements {
            [a, b] => l.g.add(Op::Binary(BinaryOp::Mul, a, b)),
            _ => elements[0],
        }
    }

    /// Returns the column's value after the operands `elements`.
    pub fn step_of(&self, l: &mut LaunchContext, acc: NodeId, elements: &[NodeId]) -> NodeId {
        match *elements {
            [a, b] => l.g.add(Op::MulAdd(a, b, acc)),
            _ => self.join(l, acc, elements[0]),
        }
    }

    /// Returns the first value of a column, whose first element is at `index`.
    pub fn first(&self, l: &mut LaunchContext, index: NodeId) -> NodeId {
        let elements = self.elements(l, index);
        self.first_of(l, &elements)
    }

    /// Returns the column's value after the element at `index`.
    pub fn step(&self, l: &mut LaunchContext, acc: NodeId, index: NodeId) -> NodeId {
        let elements = self.elements(l, index);
        self.step_of(l, acc, &elements)
    }

    /// Returns the value with which a column's accumulator is initialised: the operator's identity,
    /// or 0 if the operator has none. In the latter case the column's first value replaces it.
    pub fn absent(&self, l: &LaunchContext) -> Expr {
        Expr::Lit(self.identity(l).unwrap_or(Lit::zero(self.ty)))
    }

    /// Whether the operator may be more than one instruction.
    pub fn is_general(&self, l: &LaunchContext) -> bool {
        self.identity(l).is_none()
    }

    /// Whether the operator has loops of its own. Its code is then emitted as few times as
    /// possible.
    pub fn joins_by_loops(&self, l: &LaunchContext) -> bool {
        let Kind::Join(join, _) = &self.kind else { return false };
        let g = &l.g;
        g.reachable([join.body]).into_iter().any(|n| g.op(n).is_reduction() && !g.is_closed(n))
    }

    /// Whether the elements have loops of their own, nested in the reduction's loop.
    pub fn elements_have_loops(&self, l: &mut LaunchContext) -> bool {
        let (var, index) = l.g.fresh_var(Ty::I64);
        let elements = self.elements(l, index);
        have_loops(l, &elements, var)
    }

    /// Returns the operator's identity, exact in every bit (-0 for sums of floats): the value of a
    /// column that has no elements. Returns `None` if the operator has no such value.
    pub fn identity(&self, l: &LaunchContext) -> Option<Lit> {
        let op = match &self.kind {
            Kind::Dot(..) => BinaryOp::Add,
            Kind::Join(join, _) => {
                let is = |n: NodeId, i: usize| matches!(l.g.op(n), Op::Var(v, _) if *v == join.params[i].0);
                let op = commutative(&l.g, join.body, is)?;
                op.precise().unwrap_or(op)
            }
        };
        let zero = Lit::zero(self.ty);
        Some(match op {
            BinaryOp::Add => Lit::no_sum(self.ty),
            BinaryOp::Or | BinaryOp::Xor => zero,
            BinaryOp::Mul => Lit::one(self.ty),
            BinaryOp::Min => Lit::greatest(self.ty),
            BinaryOp::Max => Lit::least(self.ty),
            BinaryOp::And if self.ty == Ty::Bool => Lit::bool(true),
            _ => return None,
        })
    }
}

/// Returns the commutative operator if `joined` is exactly that operator applied to the two values;
/// `is(n, 0)` and `is(n, 1)` recognise the first and the second value.
pub fn commutative(g: &Graph, joined: NodeId, is: impl Fn(NodeId, usize) -> bool) -> Option<BinaryOp> {
    match *g.op(joined) {
        Op::Binary(op, a, b) if op.is_commutative() && (is(a, 0) && is(b, 1) || is(a, 1) && is(b, 0)) => {
            Some(op)
        }
        _ => None,
    }
}

/// Whether computing `values` runs a nested reduction or fold again for each value of the variable
/// `of`.
pub fn have_loops(l: &mut LaunchContext, values: &[NodeId], of: Var) -> bool {
    let nodes = l.g.reachable(values.iter().copied());
    let loops = nodes.into_iter().filter(|n| l.g.op(*n).is_reduction() && !l.g.is_closed(*n));
    let loops: Vec<NodeId> = loops.collect();
    // a loop that may leave an error record is not moved out of another loop
    loops.into_iter().any(|n| l.g.node(n).free.contains(&of) || l.may_record(n))
}

/// Returns the number of tiles of `n` elements, ceil(n / TILE).
pub fn tiles(n: Expr) -> Expr {
    Expr::binary(BinaryOp::Shr, n.plus(Expr::int(TILE - 1)), Expr::int(TILE.trailing_zeros().into()))
}
