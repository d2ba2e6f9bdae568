//! Host scalars: the values that the plan computes before any launch.

use crate::core::{Graph, NodeId, Op};
use crate::plan::{HostId, HostOp};
use crate::scalar::Ty;
use indexmap::IndexMap;

/// The host scalars of one plan, each once.
#[derive(Default)]
pub struct Hosts {
    list: IndexMap<HostOp, Ty>,
}

impl Hosts {
    /// The host scalar of a node, which must be one (`verify::is_host`).
    pub fn of(&mut self, g: &Graph, n: NodeId) -> HostId {
        let op = match *g.op(n) {
            Op::Const(l) => HostOp::Const(l),
            Op::Param(p) => HostOp::Arg(p),
            Op::Len(x, axis) => match g.op(x) {
                Op::Param(p) => HostOp::Len(*p, axis),
                op => unreachable!("verified: len of {op:?}"),
            },
            Op::Unary(op, a) => HostOp::Unary(op, self.of(g, a)),
            Op::Binary(op, a, b) => HostOp::Binary(op, self.of(g, a), self.of(g, b)),
            Op::MulAdd(a, b, c) => HostOp::MulAdd(self.of(g, a), self.of(g, b), self.of(g, c)),
            Op::Select(a, b, c) => HostOp::Select(self.of(g, a), self.of(g, b), self.of(g, c)),
            Op::Cast(ty, a) => HostOp::Cast(ty, self.of(g, a)),
            ref op => unreachable!("verified: {op:?} is no host scalar"),
        };
        self.add(op, g.ty(n).elem)
    }

    /// A host scalar whose operands are in the list.
    pub fn add(&mut self, op: HostOp, ty: Ty) -> HostId {
        HostId(self.list.insert_full(op, ty).0 as u32)
    }

    /// In order, operands first.
    pub fn into_list(self) -> Vec<(Ty, HostOp)> {
        self.list.into_iter().map(|(op, ty)| (ty, op)).collect()
    }
}
