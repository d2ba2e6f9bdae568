//! Host scalars: the values that the plan computes before any launch.

use crate::core::{Graph, NodeId, Op};
use crate::plan::{HostId, HostOp};
use crate::scalar::Ty;
use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap as HashMap};

/// In the plan of a step: the number of the iteration to which the step belongs (`HostOp::Turn`).
pub const OWN_TURN: u32 = 0;

/// The host scalars of one plan, without duplicates.
#[derive(Default)]
pub struct Hosts {
    list: IndexMap<HostOp, Ty, FxBuildHasher>,
    /// The nodes of the function that were converted already.
    known: HashMap<NodeId, HostId>,
    /// The number of nodes of the function. Nodes that launches add have other meanings in other
    /// launches.
    nodes: u32,
}

impl Hosts {
    /// Returns the host scalar of a node, which must be computable on the host
    /// (`verify::runs_on_host`).
    pub fn of(&mut self, g: &Graph, n: NodeId) -> HostId {
        self.once(g, n, &mut HashMap::default())
    }

    /// Begins without host scalars, for a function that has this many nodes.
    pub fn of_function(nodes: usize) -> Hosts {
        Hosts { nodes: nodes as u32, ..Hosts::default() }
    }

    /// Does the same as [`Hosts::of`]. `known` holds the nodes that were converted already, so that a node is visited
    /// once even if several paths lead to it.
    fn once(&mut self, g: &Graph, n: NodeId, known: &mut HashMap<NodeId, HostId>) -> HostId {
        let list = if n.0 < self.nodes { &self.known } else { &*known };
        if let Some(id) = list.get(&n) {
            return *id;
        }
        let ty = g.ty(n).elem;
        let op = match *g.op(n) {
            Op::Const(l) => return self.add(HostOp::Const(l), ty),
            Op::Param(p) => return self.add(HostOp::Arg(p), ty),
            Op::Turn => return self.add(HostOp::Turn(OWN_TURN), ty),
            Op::Checked => return self.add(HostOp::Checked, ty),
            Op::Len(x, axis) => match g.op(x) {
                Op::Param(p) => return self.add(HostOp::Len(*p, axis), ty),
                op => unreachable!("verified: len of {op:?}"),
            },
            Op::Unary(op, a) => HostOp::Unary(op, self.once(g, a, known)),
            Op::Binary(op, a, b) => HostOp::Binary(op, self.once(g, a, known), self.once(g, b, known)),
            Op::MulAdd(a, b, c) => {
                let [a, b, c] = [a, b, c].map(|n| self.once(g, n, known));
                HostOp::MulAdd(a, b, c)
            }
            Op::Select(a, b, c) => {
                let [a, b, c] = [a, b, c].map(|n| self.once(g, n, known));
                HostOp::Select(a, b, c)
            }
            Op::Cast(ty, a) => HostOp::Cast(ty, self.once(g, a, known)),
            ref op => unreachable!("verified: {op:?} is no host scalar"),
        };
        let id = self.add(op, ty);
        if n.0 < self.nodes { &mut self.known } else { known }.insert(n, id);
        id
    }

    /// Returns the host scalar of a node if there is one already.
    pub fn find(&self, g: &Graph, n: NodeId) -> Option<HostId> {
        let op = match *g.op(n) {
            Op::Const(l) => HostOp::Const(l),
            Op::Param(p) => HostOp::Arg(p),
            Op::Turn => HostOp::Turn(OWN_TURN),
            Op::Checked => HostOp::Checked,
            Op::Len(x, axis) => match g.op(x) {
                Op::Param(p) => HostOp::Len(*p, axis),
                _ => return None,
            },
            Op::Unary(op, a) => HostOp::Unary(op, self.find(g, a)?),
            Op::Binary(op, a, b) => HostOp::Binary(op, self.find(g, a)?, self.find(g, b)?),
            Op::MulAdd(a, b, c) => HostOp::MulAdd(self.find(g, a)?, self.find(g, b)?, self.find(g, c)?),
            Op::Select(a, b, c) => HostOp::Select(self.find(g, a)?, self.find(g, b)?, self.find(g, c)?),
            Op::Cast(ty, a) => HostOp::Cast(ty, self.find(g, a)?),
            _ => return None,
        };
        self.list.get_index_of(&op).map(|i| HostId(i as u32))
    }

    /// Adds a host scalar that is the number of the present step of an iteration of this plan.
    pub fn turn(&mut self) -> HostId {
        let others = self.list.keys().filter(|op| matches!(op, HostOp::Turn(i) if *i != OWN_TURN)).count();
        self.add(HostOp::Turn(OWN_TURN + 1 + others as u32), Ty::I64)
    }

    /// Adds a host scalar, whose operands are in the list already, and returns its number.
    pub fn add(&mut self, op: HostOp, ty: Ty) -> HostId {
        HostId(self.list.insert_full(op, ty).0 as u32)
    }

    /// Returns the host scalars in order: operands come before their uses.
    pub fn into_list(self) -> Vec<(Ty, HostOp)> {
        self.list.into_iter().map(|(op, ty)| (ty, op)).collect()
    }
}
