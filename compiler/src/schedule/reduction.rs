//! What a reduction is made of, for every target: how a column begins, goes on, and joins another
//! (semantics 5.1 and 5.3).

use super::element::element;
use super::groups::FusedGroup;
use super::lower::LaunchContext;
use crate::core::{Graph, Lambda, NodeId, Op, TILE, Var};
use crate::kernel::{Expr, Mem};
use crate::scalar::{BinaryOp, Lit, Ty};

/// One reduction of a fused group.
pub struct Reduction {
    /// The node.
    pub node: NodeId,
    /// Element and accumulator type.
    pub ty: Ty,
    /// One value a tile, unless it is nested.
    pub scratch: Mem,
    kind: Kind,
}

enum Kind {
    Join(Lambda, NodeId),
    Dot(NodeId, NodeId),
}

impl Reduction {
    /// The reductions of a fused group, in order.
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

    /// A reduction inside of an element: it has no scratch array.
    pub fn nested(l: &LaunchContext, node: NodeId) -> Reduction {
        let kind = match l.g.op(node) {
            Op::Reduce { join, src, .. } => Kind::Join(join.clone(), *src),
            Op::Dot { a, b, .. } => Kind::Dot(*a, *b),
            op => unreachable!("{op:?} is no reduction"),
        };
        Reduction { node, ty: l.g.ty(node).elem, scratch: Mem::Scratch(u32::MAX), kind }
    }

    /// A nested reduction whose tiles leave their results in scratch array `at` of the launch.
    pub fn segmented(l: &mut LaunchContext, node: NodeId, at: usize) -> Reduction {
        let r = Reduction::nested(l, node);
        Reduction { scratch: l.scratch(at, r.ty), ..r }
    }

    /// The initial value.
    pub fn init(&self, l: &LaunchContext) -> NodeId {
        match *l.g.op(self.node) {
            Op::Reduce { init, .. } | Op::Dot { init, .. } => init,
            _ => unreachable!("{:?} is a reduction", self.node),
        }
    }

    /// f(a, b), joining accumulators.
    pub fn join(&self, l: &mut LaunchContext, a: NodeId, b: NodeId) -> NodeId {
        match &self.kind {
            Kind::Join(join, _) => l.g.open(join, &[a, b]),
            Kind::Dot(..) => l.g.add(Op::Binary(BinaryOp::Add, a, b)),
        }
    }

    /// What is read at an index: an element, or those of both factors.
    pub fn elements(&self, l: &mut LaunchContext, index: NodeId) -> Vec<NodeId> {
        match self.kind {
            Kind::Join(_, src) => vec![element(&mut l.g, src, index)],
            Kind::Dot(a, b) => vec![element(&mut l.g, a, index), element(&mut l.g, b, index)],
        }
    }

    /// The first value of a column, given what is read there.
    pub fn first_of(&self, l: &mut LaunchContext, elements: &[NodeId]) -> NodeId {
        match *elements {
            [a, b] => l.g.add(Op::Binary(BinaryOp::Mul, a, b)),
            _ => elements[0],
        }
    }

    /// The column's value after what is read.
    pub fn step_of(&self, l: &mut LaunchContext, acc: NodeId, elements: &[NodeId]) -> NodeId {
        match *elements {
            [a, b] => l.g.add(Op::MulAdd(a, b, acc)),
            _ => self.join(l, acc, elements[0]),
        }
    }

    /// The first value of a column at an index.
    pub fn first(&self, l: &mut LaunchContext, index: NodeId) -> NodeId {
        let elements = self.elements(l, index);
        self.first_of(l, &elements)
    }

    /// The column's value after the element at an index.
    pub fn step(&self, l: &mut LaunchContext, acc: NodeId, index: NodeId) -> NodeId {
        let elements = self.elements(l, index);
        self.step_of(l, acc, &elements)
    }

    /// What a column begins with: what may stand for an absent one; 0 where nothing can, and its
    /// first value replaces it.
    pub fn absent(&self, l: &LaunchContext) -> Expr {
        Expr::Lit(self.identity(l).unwrap_or(Lit::zero(self.ty)))
    }

    /// Whether its operator may be more than an instruction.
    pub fn is_general(&self, l: &LaunchContext) -> bool {
        self.identity(l).is_none()
    }

    /// Whether its operator has loops of its own: it is then written out as rarely as can be.
    pub fn joins_by_loops(&self, l: &LaunchContext) -> bool {
        let Kind::Join(join, _) = &self.kind else { return false };
        let g = &l.g;
        g.reachable([join.body]).into_iter().any(|n| g.op(n).is_reduction() && !g.is_closed(n))
    }

    /// Whether its elements have loops of their own, inside of other elements.
    pub fn elements_have_loops(&self, l: &mut LaunchContext) -> bool {
        let (var, index) = l.g.fresh_var(Ty::I64);
        let elements = self.elements(l, index);
        have_loops(l, &elements, var)
    }

    /// A value that may stand for an absent column, exactly (-0 for float sums).
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

/// The commutative operator that joins two values, if it alone does; `is` tells the first and the
/// second of them.
pub fn commutative(g: &Graph, joined: NodeId, is: impl Fn(NodeId, usize) -> bool) -> Option<BinaryOp> {
    match *g.op(joined) {
        Op::Binary(op, a, b) if op.is_commutative() && (is(a, 0) && is(b, 1) || is(a, 1) && is(b, 0)) => {
            Some(op)
        }
        _ => None,
    }
}

/// Whether computing the values runs a nested reduction or fold for each value of the variable.
pub fn have_loops(l: &mut LaunchContext, values: &[NodeId], of: Var) -> bool {
    let nodes = l.g.reachable(values.iter().copied());
    let loops = nodes.into_iter().filter(|n| l.g.op(*n).is_reduction() && !l.g.is_closed(*n));
    let loops: Vec<NodeId> = loops.collect();
    // what may leave a record is not moved out of a loop
    loops.into_iter().any(|n| l.g.node(n).free.contains(&of) || l.may_record(n))
}

/// ceil(n / TILE)
pub fn tiles(n: Expr) -> Expr {
    Expr::binary(BinaryOp::Shr, n.plus(Expr::int(TILE - 1)), Expr::int(TILE.trailing_zeros().into()))
}
