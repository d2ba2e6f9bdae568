//! Host scalars: the values that the plan computes before any launch.

use crate::core::{Graph, NodeId, Op};
use crate::plan::{HostId, HostOp};
use crate::scalar::Ty;
use indexmap::IndexMap;
use rustc_hash::FxHashMap as HashMap;

/// The host scalars of one plan, each once.
#[derive(Default)]
pub struct Hosts {
    list: IndexMap<HostOp, Ty>,
}

impl Hosts {
    /// The host scalar of a node, which must be one (`verify::is_host`).
    pub fn of(&mut self, g: &Graph, n: NodeId) -> HostId {
        self.once(g, n, &mut HashMap::default())
    }

    /// `known`: the nodes below the one asked for, each looked at once, however many ways lead to it.
    fn once(&mut self, g: &Graph, n: NodeId, known: &mut HashMap<NodeId, HostId>) -> HostId {
        if let Some(id) = known.get(&n) {
            return *id;
        }
        let mut of = |n| self.once(g, n, known);
        let op = match *g.op(n) {
            Op::Const(l) => HostOp::Const(l),
            Op::Param(p) => HostOp::Arg(p),
            Op::Len(x, axis) => match g.op(x) {
                Op::Param(p) => HostOp::Len(*p, axis),
                op => unreachable!("verified: len of {op:?}"),
            },
            Op::Unary(op, a) => HostOp::Unary(op, of(a)),
            Op::Binary(op, a, b) => HostOp::Binary(op, of(a), of(b)),
            Op::MulAdd(a, b, c) => HostOp::MulAdd(of(a), of(b), of(c)),
            Op::Select(a, b, c) => HostOp::Select(of(a), of(b), of(c)),
            Op::Cast(ty, a) => HostOp::Cast(ty, of(a)),
            ref op => unreachable!("verified: {op:?} is no host scalar"),
        };
        let id = self.add(op, g.ty(n).elem);
        known.insert(n, id);
        id
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
