//! The hash-consed graph, lambdas and substitution.
//!
//! **Canonical binders.** A finished lambda's variables are numbered just above every binder inside its body (Axelsson and Claessen,
//! "Using circular programs for higher-order syntax", ICFP 2013), so equal lambdas are equal nodes
//! and no context is needed to name a variable. While a lambda is being built its variables are
//! *fresh* (numbers from [`FRESH`] up); [`Graph::close`] renames them. Code that looks inside a
//! lambda opens it with fresh variables first ([`Graph::open`]): then open terms contain fresh
//! variables only and nothing can be captured.

mod add;
mod memo;
mod substitute;

use super::{NodeId, Op, Type, Var};
use crate::loc::LocStack;
use crate::scalar::{Lit, Ty};
use indexmap::IndexSet;
use memo::Memo;
use rustc_hash::{FxBuildHasher, FxHashMap as HashMap};
use std::sync::Arc;

/// The first number of fresh variables.
pub const FRESH: u32 = 1 << 30;

/// What is known of a node beside its operation.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its type.
    pub ty: Type,
    /// Its free variables, ascending. Most nodes have those of an operand.
    pub free: Arc<[Var]>,
    /// The highest canonical binder inside it, 0 without lambdas.
    pub height: u32,
    /// The author bound it with `slet`.
    pub bound: bool,
    /// It takes a pass of its own in the author's program already, where it depends on no element:
    /// it is computed once for the call, and leaves its records (semantics 6). Or a pass stores it,
    /// which asked first that it leaves none.
    pub once: bool,
    /// Where it comes from. Not part of its identity.
    pub loc: LocStack,
}

/// Nodes, each once.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    ops: IndexSet<Op, FxBuildHasher>,
    info: Vec<Node>,
    params: Vec<Type>,
    /// There is a total read among the nodes.
    total: bool,
    /// What takes a pass of its own, and is not marked as computed once for the call, is computed
    /// where it is needed: while passes still move it ([`crate::passes::guard`]).
    pub on_demand: bool,
    fresh: u32,
    loc: LocStack,
    /// Variables that stand for the indices of an element where it is only looked at.
    sample: Vec<(Var, NodeId)>,
    /// What lambdas' bodies became with arguments.
    opened: HashMap<(NodeId, [Option<NodeId>; 3]), NodeId>,
    /// Tables that substitutions are done with.
    memos: Vec<Memo>,
}

impl Graph {
    /// Makes room for `nodes` more nodes.
    pub fn reserve(&mut self, nodes: usize) {
        self.ops.reserve(nodes);
        self.info.reserve(nodes);
    }

    /// A copy with room for `nodes` more nodes, allocated at once.
    pub fn with_room(&self, nodes: usize) -> Graph {
        let mut ops = IndexSet::with_capacity_and_hasher(self.len() + nodes, FxBuildHasher);
        ops.extend(self.ops.iter().cloned());
        let mut info = Vec::with_capacity(self.len() + nodes);
        info.extend_from_slice(&self.info);
        let (params, loc, opened) = (self.params.clone(), self.loc.clone(), self.opened.clone());
        Graph { ops, info, params, loc, opened, sample: self.sample.clone(), memos: Vec::new(), ..*self }
    }

    /// Declares the parameters: node i is parameter i.
    pub fn declare_params(&mut self, types: impl Iterator<Item = Type>) {
        assert!(self.ops.is_empty(), "parameters come first");
        self.params = types.collect();
        for i in 0..self.params.len() as u32 {
            self.add(Op::Param(i));
        }
    }

    /// The types of the parameters.
    pub fn params(&self) -> &[Type] {
        &self.params
    }

    /// The operation of a node.
    pub fn op(&self, n: NodeId) -> &Op {
        &self.ops[n.0 as usize]
    }

    /// Type, free variables, location.
    pub fn node(&self, n: NodeId) -> &Node {
        &self.info[n.0 as usize]
    }

    /// The type of a node.
    pub fn ty(&self, n: NodeId) -> Type {
        self.node(n).ty
    }

    /// Whether it has no free variables.
    pub fn is_closed(&self, n: NodeId) -> bool {
        self.node(n).free.is_empty()
    }

    /// An array that is in memory where it is read.
    pub fn is_stored(&self, n: NodeId) -> bool {
        matches!(self.op(n), Op::Param(_) | Op::Materialize(_) | Op::Iterate { .. })
            && !self.ty(n).is_scalar()
    }

    /// The node of an operation, if there is one.
    pub fn find(&self, op: &Op) -> Option<NodeId> {
        self.ops.get_index_of(op).map(|i| NodeId(i as u32))
    }

    /// Whether any node is a total read (`at`), needed or not.
    pub fn has_total_reads(&self) -> bool {
        self.total
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// No nodes.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// Nodes made from now on come from `loc`; gives the former place back.
    pub fn set_loc(&mut self, loc: LocStack) -> LocStack {
        std::mem::replace(&mut self.loc, loc)
    }

    /// Marks a node as bound by `slet`.
    pub fn mark_bound(&mut self, n: NodeId) {
        self.info[n.0 as usize].bound = true;
    }

    /// Marks a node that is computed once for the call in the author's program.
    pub fn mark_once(&mut self, n: NodeId) {
        self.info[n.0 as usize].once = true;
    }

    /// Gives what a node became the node's marks. What is computed once may have become an
    /// expression of such values.
    pub fn keep_marks(&mut self, bound: bool, once: bool, made: NodeId) {
        if bound {
            self.mark_bound(made);
        }
        if once && self.op(made).is_pass() {
            self.mark_once(made);
        } else if once && self.ty(made).is_scalar() {
            let is_part = |o: &NodeId| self.op(*o).is_pass() && self.is_closed(*o);
            let parts: Vec<NodeId> = self.op(made).operands().filter(is_part).collect();
            parts.into_iter().for_each(|o| self.mark_once(o));
        }
    }

    /// Forgets all nodes but the first ones.
    pub fn truncate(&mut self, nodes: usize) {
        let stays = |n: &NodeId| (n.0 as usize) < nodes;
        self.ops.truncate(nodes);
        self.info.truncate(nodes);
        self.opened
            .retain(|(body, args), opened| stays(body) && args.iter().flatten().all(stays) && stays(opened));
    }

    /// A constant.
    pub fn lit(&mut self, l: Lit) -> NodeId {
        self.add(Op::Const(l))
    }

    /// The constant that a node is.
    pub fn as_lit(&self, n: NodeId) -> Option<Lit> {
        if let Op::Const(l) = self.op(n) { Some(*l) } else { None }
    }

    /// A fresh variable, to be bound by [`Graph::close`].
    pub fn fresh_var(&mut self, ty: Ty) -> (Var, NodeId) {
        let var = Var(FRESH + self.fresh);
        self.fresh += 1;
        (var, self.add(Op::Var(var, ty)))
    }

    /// Every node that `roots` need, operands before users, lambdas' bodies included.
    pub fn reachable(&self, roots: impl IntoIterator<Item = NodeId>) -> Vec<NodeId> {
        self.reachable_until(roots, |_| false)
    }

    /// [`Self::reachable`] without nodes that `stops` names, and without what only they need.
    pub fn reachable_until(
        &self,
        roots: impl IntoIterator<Item = NodeId>,
        stops: impl Fn(NodeId) -> bool,
    ) -> Vec<NodeId> {
        // a node whose operands are on the stack above it is marked
        const DONE: u32 = 1 << 31;
        let mut stack: Vec<u32> = roots.into_iter().map(|r| r.0).collect();
        stack.reverse();
        // operands have lower numbers than their users
        let most = stack.iter().map(|r| *r as usize + 1).max().unwrap_or(0);
        let (mut seen, mut order) = (vec![false; most], Vec::with_capacity(most));
        stack.reserve(most / 2);
        while let Some(n) = stack.pop() {
            if n & DONE != 0 {
                order.push(NodeId(n & !DONE));
                continue;
            }
            if std::mem::replace(&mut seen[n as usize], true) || stops(NodeId(n)) {
                continue;
            }
            stack.push(n | DONE);
            let op = self.op(NodeId(n));
            // the first operand comes off the stack first: texts and kernels follow the author's
            // order
            let first = stack.len();
            op.for_operands(|operand| {
                if !seen[operand.0 as usize] {
                    stack.push(operand.0);
                }
            });
            if let Some(l) = op.lambda() {
                stack.push(l.body.0);
            }
            stack[first..].reverse();
        }
        order
    }
}
