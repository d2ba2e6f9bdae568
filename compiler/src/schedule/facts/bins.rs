//! Reductions into bins ([`crate::core::bins`]) as launches. The input is divided into parts, each of which has bins
//! of its own: the index space of the launch has an element for each part, and the fused group has one array of bins.

use super::destinations::{Tests, in_short};
use crate::core::bins::{identity, part_of};
use crate::core::simplify::extent;
use crate::core::{Graph, NodeId, Op, Type};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::element;
use crate::schedule::groups::items::Item;

/// An array of bins.
#[derive(Clone, Copy)]
pub struct Bins {
    /// The operator.
    pub op: BinaryOp,
    /// The number of bins of a part.
    pub count: NodeId,
    /// The type of a bin.
    pub ty: Ty,
    at: NodeId,
    src: NodeId,
    /// The number of parts.
    pub parts: NodeId,
}

impl Bins {
    /// Returns an item as an array of bins, if it is one.
    pub fn of_item(g: &Graph, it: &Item) -> Option<Bins> {
        let Op::Materialize(x) = *g.op(it.node) else { return None };
        let Op::Bins { op, parts, count, at, src } = *g.op(x) else { return None };
        let Type { elem: ty, .. } = g.ty(x);
        Some(Bins { op, count, ty, at, src, parts })
    }

    /// Returns a fused group as an array of bins, if it is one.
    pub fn of(g: &Graph, group: &[Item]) -> Option<Bins> {
        group.first().and_then(|it| Bins::of_item(g, it))
    }

    /// Returns the value with which bins begin.
    pub fn identity(&self) -> Lit {
        identity(self.op, self.ty)
    }

    /// Whether each element counts as one.
    pub fn is_count(&self, g: &Graph) -> bool {
        let body = g.op(self.src).lambda().map(|l| l.body);
        let one = body.and_then(|body| g.as_lit(body)).and_then(Lit::as_int);
        self.op == BinaryOp::Add && one == Some(1)
    }

    /// Returns the number of all elements, and that of a part.
    pub fn lengths(&self, g: &mut Graph) -> [NodeId; 2] {
        let n = extent(g, self.src, 0);
        [n, part_of(g, n, self.parts)]
    }

    /// Returns the destination of an element, and the element itself.
    pub fn element(&self, g: &mut Graph, index: NodeId) -> Vec<NodeId> {
        let [at, x] = [self.at, self.src].map(|x| element(g, x, index));
        vec![in_short(g, at), x]
    }

    /// Returns the comparisons that tell whether an element has a bin.
    pub fn tests(&self, g: &mut Graph) -> Tests {
        let index = g.sample_index(1)[0].1;
        let at = self.element(g, index)[0];
        Tests::of(g, at, self.count)
    }
}
