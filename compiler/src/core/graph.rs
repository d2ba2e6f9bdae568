//! The hash-consed graph, lambdas and substitution.
//!
//! **Canonical binders.** The variables of a finished lambda are numbered just above every binder
//! inside its body (Axelsson and Claessen, "Using circular programs for higher-order syntax", ICFP
//! 2013). So equal lambdas are equal nodes, and no context is needed to name a variable. While a
//! lambda is being built its variables are *fresh* (numbers from [`FRESH`] up); [`Graph::close`]
//! renames them. Code that looks inside a lambda opens it with fresh variables first
//! ([`Graph::open`]). Open terms therefore contain fresh variables only, and nothing can be
//! captured.

mod add;
pub mod marks;
pub mod memo;
pub mod replace;
mod substitute;
mod values;

use super::labels::{Labels, RecordPlace};
use super::{NodeId, Op, Type, Var};
use crate::loc::LocStack;
use crate::scalar::{Lit, Ty};
use indexmap::IndexSet;
use marks::Visited;
use rustc_hash::{FxBuildHasher, FxHashMap as HashMap, FxHashSet as HashSet};
use std::sync::Arc;

/// The first number of fresh variables.
pub const FRESH: u32 = 1 << 30;

/// The properties of a node besides its operation.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its type.
    pub ty: Type,
    /// Its free variables, in ascending order. Most nodes share those of an operand.
    pub free: Arc<[Var]>,
    /// The highest canonical binder inside it; 0 if it contains no lambda.
    pub height: u32,
    /// Whether the author bound it with `slet`.
    pub bound: bool,
    /// The operations in it, and in those nodes below that are not closed.
    pub inside: Inside,
    /// Whether the node is computed once for the call, and leaves its error records (semantics 6):
    /// in the author's program it depends on no element and already needs a launch of its own. A
    /// compiler pass that stores a node sets this too, after it has checked that the node leaves no
    /// record.
    pub once: bool,
    /// Where it comes from. Not part of its identity.
    pub loc: LocStack,
}

/// Which operations an element contains.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Inside {
    /// Whether there are reductions, folds or other arrays that need a launch.
    pub reductions: bool,
    /// Whether there are loops.
    pub loops: bool,
}

/// The nodes of a function; equal nodes are stored once.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The graph whose nodes come first, if this one only adds nodes to it ([`Graph::over`]).
    base: Option<Arc<Graph>>,
    /// The number of the base's nodes.
    first: u32,
    /// The nodes of the base whose marks have changed here.
    marked: HashMap<NodeId, Node>,
    ops: IndexSet<Op, FxBuildHasher>,
    info: Vec<Node>,
    params: Vec<Type>,
    /// Whether any node is a total read.
    total: bool,
    /// Whether any node may leave an error record.
    records: bool,
    /// Whether nodes that need a launch of their own, and are not marked as computed once for the
    /// call, are evaluated on demand. This holds while compiler passes still move such nodes
    /// ([`crate::passes::guard`]).
    pub on_demand: bool,
    /// Whether sums and products are still to be approximated (`fast_math`). A multiply-add is not approximated, so
    /// it must not be rewritten as one of them.
    pub approximates: bool,
    /// Whether a step of the function's iterations may leave an error record.
    pub steps_record: bool,
    /// The open variables that stand for values, such as the elements of a mapped array, and not for indices.
    of_values: HashSet<Var>,
    fresh: u32,
    loc: LocStack,
    /// Variables that stand for an element's indices while the element is only inspected.
    sample: Vec<(Var, NodeId)>,
    /// Names of values, under which the reference interpreter shows them to a caller who watches.
    names: HashMap<NodeId, Vec<Arc<str>>>,
    /// The results of opening a lambda: from its body and the arguments to the new body.
    opened: HashMap<(NodeId, [Option<NodeId>; 3]), NodeId>,
    /// The lengths of arrays along an axis that were found through many others.
    lengths: HashMap<(NodeId, u8), NodeId>,
    /// The labels of the places that may leave a record, once values are stored without their records.
    labels: Arc<Labels>,
}

impl Graph {
    /// Reserves room for `nodes` more nodes.
    pub fn reserve(&mut self, nodes: usize) {
        self.ops.reserve(nodes);
        self.info.reserve(nodes);
    }

    /// Returns a graph that begins with the nodes of `base` and adds further ones. It does not copy them, so that
    /// each launch of a large function can have a graph of its own.
    ///
    /// Walks over this graph do not go below the values that a launch computes for the whole call,
    /// unless they begin there: to other launches such a value is a load.
    pub fn over(base: &Arc<Graph>) -> Graph {
        Graph {
            first: base.len() as u32,
            total: base.total,
            records: base.records,
            on_demand: base.on_demand,
            steps_record: base.steps_record,
            fresh: base.fresh,
            loc: base.loc.clone(),
            sample: base.sample.clone(),
            labels: base.labels.clone(),
            base: Some(base.clone()),
            ..Graph::default()
        }
    }

    /// Declares the parameters. Node i becomes parameter i.
    pub fn declare_params(&mut self, types: impl Iterator<Item = Type>) {
        assert!(self.ops.is_empty(), "parameters come first");
        self.params = types.collect();
        for i in 0..self.params.len() as u32 {
            self.add(Op::Param(i));
        }
    }

    /// The types of the parameters.
    pub fn params(&self) -> &[Type] {
        self.base.as_ref().map_or(&self.params, |base| &base.params)
    }

    /// The operation of a node.
    #[inline]
    pub fn op(&self, n: NodeId) -> &Op {
        match &self.base {
            Some(base) if n.0 < self.first => &base.ops[n.0 as usize],
            _ => &self.ops[(n.0 - self.first) as usize],
        }
    }

    /// Returns type, free variables and location of a node.
    #[inline]
    pub fn node(&self, n: NodeId) -> &Node {
        match &self.base {
            Some(base) if n.0 < self.first => match self.marked.is_empty() {
                true => &base.info[n.0 as usize],
                false => self.marked.get(&n).unwrap_or(&base.info[n.0 as usize]),
            },
            _ => &self.info[(n.0 - self.first) as usize],
        }
    }

    fn node_mut(&mut self, n: NodeId) -> &mut Node {
        match &self.base {
            Some(base) if n.0 < self.first => {
                self.marked.entry(n).or_insert_with(|| base.info[n.0 as usize].clone())
            }
            _ => &mut self.info[(n.0 - self.first) as usize],
        }
    }

    /// The type of a node.
    pub fn ty(&self, n: NodeId) -> Type {
        self.node(n).ty
    }

    /// Returns whether a node has no free variables.
    pub fn is_closed(&self, n: NodeId) -> bool {
        self.node(n).free.is_empty()
    }

    /// Returns whether a node is an array that is in memory when it is read.
    pub fn is_stored(&self, n: NodeId) -> bool {
        matches!(self.op(n), Op::Param(_) | Op::Materialize(_) | Op::Iterate { .. })
            && !self.ty(n).is_scalar()
    }

    /// Returns the node of an operation, if there is one.
    pub fn find(&self, op: &Op) -> Option<NodeId> {
        let before = self.find_in_base(op);
        before.or_else(|| self.ops.get_index_of(op).map(|i| NodeId(self.first + i as u32)))
    }

    /// Does the same among the nodes of the base. Only a node whose operands are all in the base can be there.
    fn find_in_base(&self, op: &Op) -> Option<NodeId> {
        let base = self.base.as_ref()?;
        let mut needs_own = op.lambda().is_some_and(|l| l.body.0 >= self.first);
        op.for_operands(|o| needs_own |= o.0 >= self.first);
        if needs_own { None } else { base.find(op) }
    }

    /// Returns whether any node is a total read (`at`), even one that no result needs.
    pub fn has_total_reads(&self) -> bool {
        self.total
    }

    /// Returns whether any node may leave an error record by itself, even one that no result needs. Walks that look
    /// for such nodes ask this first.
    pub fn has_records(&self) -> bool {
        self.records
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.first as usize + self.ops.len()
    }

    /// No nodes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sets the location of nodes that are made from now on; returns the former location.
    pub fn set_loc(&mut self, loc: LocStack) -> LocStack {
        std::mem::replace(&mut self.loc, loc)
    }

    /// Marks a node as bound by `slet`.
    pub fn mark_bound(&mut self, n: NodeId) {
        if !self.node(n).bound {
            self.node_mut(n).bound = true;
        }
    }

    /// Gives a value a name, under which the reference interpreter shows it to a caller who watches. Passes drop the
    /// names.
    pub fn name(&mut self, n: NodeId, name: &Arc<str>) {
        let names = self.names.entry(n).or_default();
        if !names.contains(name) {
            names.push(name.clone());
        }
    }

    /// The names of a value.
    pub fn names(&self, n: NodeId) -> &[Arc<str>] {
        self.names.get(&n).map_or(&[], |names| names)
    }

    /// Marks a node that is computed once for the call in the author's program.
    pub fn mark_once(&mut self, n: NodeId) {
        if !self.node(n).once {
            self.node_mut(n).once = true;
        }
    }

    /// Copies the marks of a node to the node that replaces it. If a node that is computed once became an expression
    /// of such values, the values are marked.
    pub fn keep_marks(&mut self, bound: bool, once: bool, made: NodeId) {
        if bound {
            self.mark_bound(made);
        }
        if once && self.op(made).needs_launch() {
            self.mark_once(made);
        } else if once && self.ty(made).is_scalar() {
            let is_part = |o: &NodeId| self.op(*o).needs_launch() && self.is_closed(*o);
            let parts: Vec<NodeId> = self.op(made).operands().filter(is_part).collect();
            parts.into_iter().for_each(|o| self.mark_once(o));
        }
    }

    /// Returns the length of an array along an axis, if it was kept.
    pub fn kept_length(&self, array: NodeId, axis: u8) -> Option<NodeId> {
        let base = || self.base.as_ref().and_then(|base| base.lengths.get(&(array, axis)));
        self.lengths.get(&(array, axis)).or_else(base).copied()
    }

    /// Keeps the length of an array along an axis.
    pub fn keep_length(&mut self, array: NodeId, axis: u8, n: NodeId) {
        self.lengths.insert((array, axis), n);
    }

    /// Removes all nodes but the first `nodes`.
    pub fn truncate(&mut self, nodes: usize) {
        assert!(self.base.is_none(), "a function's own graph");
        if nodes == self.ops.len() {
            return;
        }
        let stays = |n: &NodeId| (n.0 as usize) < nodes;
        self.ops.truncate(nodes);
        self.info.truncate(nodes);
        self.lengths.retain(|(array, _), n| stays(array) && stays(n));
        self.opened
            .retain(|(body, args), opened| stays(body) && args.iter().flatten().all(stays) && stays(opened));
    }

    /// The labels of places that may leave a record.
    pub fn labels(&self) -> &Arc<Labels> {
        &self.labels
    }

    /// Sets the labels of places.
    pub fn set_labels(&mut self, labels: Arc<Labels>) {
        self.labels = labels;
    }

    /// Returns the label of a place, a new one if it has none.
    pub fn label(&mut self, place: RecordPlace) -> u32 {
        self.labels.label(&place).unwrap_or_else(|| {
            let label = self.labels.next();
            Arc::make_mut(&mut self.labels).set(label, place);
            label
        })
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

    /// Returns every node that `roots` need, operands before users, including the bodies of
    /// lambdas. In a launch's graph ([`Graph::over`]) what other launches compute is not entered.
    pub fn reachable(&self, roots: impl IntoIterator<Item = NodeId>) -> Vec<NodeId> {
        self.reachable_until(roots, |_| false)
    }

    /// Does the same as [`Self::reachable`], but leaves out nodes for which `stops` holds, and
    /// nodes that only those need.
    pub fn reachable_until(
        &self,
        roots: impl IntoIterator<Item = NodeId>,
        stops: impl Fn(NodeId) -> bool,
    ) -> Vec<NodeId> {
        // the mark of a node whose operands are on the stack above it
        const DONE: u32 = 1 << 31;
        // most walks are short, and their tables need not grow
        const ROOM: usize = 32;
        let mut stack: Vec<u32> = Vec::with_capacity(ROOM);
        stack.extend(roots.into_iter().map(|r| r.0));
        stack.reverse();
        let roots = if self.base.is_some() { stack.clone() } else { Vec::new() };
        let is_root = |n: u32| roots.contains(&n);
        let (mut seen, mut order) = (Visited::begin(), Vec::with_capacity(ROOM));
        while let Some(n) = stack.pop() {
            if n & DONE != 0 {
                order.push(NodeId(n & !DONE));
                continue;
            }
            if !seen.insert(n) || stops(NodeId(n)) {
                continue;
            }
            let op = self.op(NodeId(n));
            if self.base.is_some() && op.needs_launch() && self.is_closed(NodeId(n)) && !is_root(n) {
                order.push(NodeId(n));
                continue;
            }
            stack.push(n | DONE);
            // the first operand is popped first, so that texts and kernels follow the author's order
            let first = stack.len();
            op.for_operands(|operand| {
                if !seen.contains(operand.0) {
                    stack.push(operand.0);
                }
            });
            if let Some(l) = op.lambda() {
                stack.push(l.body.0);
            }
            stack[first..].reverse();
        }
        marks::count_visited(order.len());
        order
    }
}
