//! The hash-consed graph, lambdas and substitution.
//!
//! **Canonical binders.** A finished lambda's variables are numbered just above every binder inside its body (Axelsson and Claessen,
//! "Using circular programs for higher-order syntax", ICFP 2013), so equal lambdas are equal nodes and no context is needed to name a
//! variable. While a lambda is being built its variables are *fresh* (numbers from [`FRESH`] up); [`Graph::close`] renames
//! them. Code that looks inside a lambda opens it with fresh variables first ([`Graph::open`]): then open terms contain fresh variables only
//! and nothing can be captured.

use super::{Lambda, NodeId, Op, Type, Var, infer};
use crate::loc::LocStack;
use crate::scalar::{Lit, Ty};
use indexmap::IndexSet;
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
    fresh: u32,
    loc: LocStack,
    /// Variables that stand for the indices of an element where it is only looked at.
    sample: Vec<(Var, NodeId)>,
    /// What lambdas' bodies became with arguments.
    opened: HashMap<(NodeId, [Option<NodeId>; 3]), NodeId>,
    /// Tables that substitutions are done with.
    memos: Vec<Memo>,
}

/// What nodes become, of one substitution.
#[derive(Default, Debug)]
struct Memo {
    /// An entry is of this substitution if it has its number.
    round: u32,
    of: Vec<(u32, NodeId)>,
}

impl Memo {
    /// Forgets all, and has room for so many nodes.
    fn begin(&mut self, nodes: usize) {
        self.round += 1;
        if self.of.len() < nodes {
            self.of.resize(nodes, (0, NodeId(0)));
        }
    }

    fn get(&self, n: NodeId) -> Option<NodeId> {
        let (round, made) = self.of[n.0 as usize];
        (round == self.round).then_some(made)
    }

    fn insert(&mut self, n: NodeId, made: NodeId) {
        self.of[n.0 as usize] = (self.round, made);
    }
}

/// A copy starts without.
impl Clone for Memo {
    fn clone(&self) -> Memo {
        Memo::default()
    }
}

/// Variables and what stands for them; of the same variable the last one counts.
type Bindings = Vec<(Var, NodeId)>;

impl Graph {
    /// Makes room for so many nodes more.
    pub fn reserve(&mut self, nodes: usize) {
        self.ops.reserve(nodes);
        self.info.reserve(nodes);
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

    /// The node of that operation, made if it is new. Panics on an ill-typed operation, which is our bug: what comes from
    /// outside goes through [`Graph::try_add`].
    #[track_caller]
    pub fn add(&mut self, op: Op) -> NodeId {
        self.try_add(op).unwrap_or_else(|e| panic!("ill-typed node: {e}"))
    }

    /// As [`Graph::add`]; an ill-typed operation is an error that says why.
    pub fn try_add(&mut self, op: Op) -> Result<NodeId, String> {
        let (i, is_new) = self.ops.insert_full(op);
        if is_new {
            let op = &self.ops[i];
            let ty = match infer::infer(self, op) {
                Ok(ty) => ty,
                Err(e) => {
                    self.ops.pop();
                    return Err(e);
                }
            };
            self.total |= matches!(op, Op::At(..));
            let (free, height) = self.binders(&self.ops[i]);
            self.info.push(Node { ty, free, height, bound: false, loc: self.loc.clone() });
        }
        Ok(NodeId(i as u32))
    }

    /// The free variables of an operation, and the highest binder in it.
    fn binders(&self, op: &Op) -> (Arc<[Var]>, u32) {
        let mut height = 0;
        // those of one operand are often all
        let (mut most, mut differ): (Option<&Arc<[Var]>>, bool) = (None, false);
        op.for_operands(|child| {
            let node = self.node(child);
            height = height.max(node.height);
            match most {
                _ if node.free.is_empty() => {}
                None => most = Some(&node.free),
                Some(other) if Arc::ptr_eq(other, &node.free) => {}
                Some(other) => {
                    differ = true;
                    most = Some(if other.len() < node.free.len() { &node.free } else { other });
                }
            }
        });
        if !matches!(op, Op::Var(..)) && op.lambda().is_none() {
            let Some(most) = most else { return (Arc::default(), height) };
            let has = |n: NodeId| self.node(n).free.iter().all(|v| most.contains(v));
            if !differ || op.operands().all(has) {
                return (most.clone(), height);
            }
        }
        let mut free: Vec<Var> = op.operands().flat_map(|c| self.node(c).free.iter().copied()).collect();
        if let Op::Var(v, _) = op {
            free.push(*v);
        }
        if let Some(lambda) = op.lambda() {
            let body = self.node(lambda.body);
            free.extend(body.free.iter().filter(|v| !lambda.params.iter().any(|p| p.0 == **v)));
            height = height.max(body.height);
            height = lambda.params.iter().map(|p| p.0.0).fold(height, u32::max);
        }
        free.sort_unstable();
        free.dedup();
        (free.into(), height)
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

    /// Binds fresh variables in `body` and gives the canonical lambda.
    pub fn close(&mut self, vars: &[(Var, Ty)], body: NodeId) -> Lambda {
        let base = self.node(body).height + 1;
        let params: Vec<(Var, Ty)> = vars.iter().zip(base..).map(|(&(_, ty), i)| (Var(i), ty)).collect();
        let env = vars.iter().zip(&params).map(|(&(v, _), &(c, ty))| (v, self.add(Op::Var(c, ty)))).collect();
        Lambda { body: self.subst(body, &env), params }
    }

    /// A lambda from a Rust closure over its variables: higher-order syntax, for passes and tests.
    pub fn lambda(&mut self, types: &[Ty], f: impl FnOnce(&mut Graph, &[NodeId]) -> NodeId) -> Lambda {
        let vars: Vec<_> = types.iter().map(|&ty| (self.fresh_var(ty), ty)).collect();
        let nodes: Vec<_> = vars.iter().map(|v| v.0.1).collect();
        let body = f(self, &nodes);
        let vars: Vec<_> = vars.iter().map(|v| (v.0.0, v.1)).collect();
        self.close(&vars, body)
    }

    /// The body with `args` for the variables. `args` contain no canonical variables (they are closed or fresh).
    pub fn open(&mut self, lambda: &Lambda, args: &[NodeId]) -> NodeId {
        let env = lambda.params.iter().map(|p| p.0).zip(args.iter().copied()).collect();
        let mut key = [None; 3];
        if args.len() > key.len() {
            return self.subst(lambda.body, &env);
        }
        key.iter_mut().zip(args).for_each(|(k, a)| *k = Some(*a));
        if let Some(&known) = self.opened.get(&(lambda.body, key)) {
            return known;
        }
        let opened = self.subst(lambda.body, &env);
        self.opened.insert((lambda.body, key), opened);
        opened
    }

    /// Variables of type i64 that stand for an element's indices where it is only looked at: always the same, so that it is opened once.
    pub fn sample_index(&mut self, rank: usize) -> Vec<(Var, NodeId)> {
        while self.sample.len() < rank {
            let new = self.fresh_var(Ty::I64);
            self.sample.push(new);
        }
        self.sample[..rank].to_vec()
    }

    /// The node with variables replaced. New nodes keep the places and `slet` marks of those they stand for.
    pub fn substitute(&mut self, n: NodeId, env: &HashMap<Var, NodeId>) -> NodeId {
        self.subst(n, &env.iter().map(|(v, n)| (*v, *n)).collect())
    }

    /// With a stack of its own for operands: bodies of any length are substituted on any thread.
    fn subst(&mut self, n: NodeId, env: &Bindings) -> NodeId {
        let depends = |g: &Graph, n: NodeId| g.node(n).free.iter().any(|v| env.iter().any(|e| e.0 == *v));
        if !depends(self, n) {
            return n;
        }
        let mut memo = self.memos.pop().unwrap_or_default();
        // operands have lower numbers than their users
        memo.begin(n.0 as usize + 1);
        let mut stack = vec![(n, false)];
        while let Some((n, ready)) = stack.pop() {
            if memo.get(n).is_some() {
                continue;
            }
            if ready {
                let made = self.subst_one(n, env, &memo);
                memo.insert(n, made);
                continue;
            }
            stack.push((n, true));
            let waiting = stack.len();
            self.op(n).for_operands(|operand| {
                if memo.get(operand).is_none() {
                    match depends(self, operand) {
                        true => stack.push((operand, false)),
                        false => memo.insert(operand, operand),
                    }
                }
            });
            // the first operand comes off the stack first
            stack[waiting..].reverse();
        }
        let made = memo.get(n).unwrap_or(n);
        self.memos.push(memo);
        made
    }

    /// The node, whose operands were replaced.
    fn subst_one(&mut self, n: NodeId, env: &Bindings, memo: &Memo) -> NodeId {
        if let Op::Var(v, _) = self.op(n) {
            return env.iter().rfind(|e| e.0 == *v).map_or(n, |e| e.1);
        }
        let mut op = self.op(n).clone();
        op.each_operand(|c| *c = memo.get(*c).unwrap_or(*c));
        if let Some(lambda) = op.lambda_mut() {
            // the body may grow binders: open with fresh variables and close again
            let vars: Vec<_> = lambda.params.iter().map(|&(_, ty)| (self.fresh_var(ty), ty)).collect();
            let mut inner = env.clone();
            inner.extend(lambda.params.iter().zip(&vars).map(|(p, v)| (p.0, v.0.1)));
            let body = self.subst(lambda.body, &inner);
            let vars: Vec<_> = vars.iter().map(|v| (v.0.0, v.1)).collect();
            *lambda = self.close(&vars, body);
        }
        let loc = self.node(n).loc.within(&self.loc);
        let before = self.set_loc(loc);
        let new = self.add(op);
        self.set_loc(before);
        if self.node(n).bound {
            self.mark_bound(new);
        }
        new
    }

    /// Every node that `roots` need, operands before users, lambdas' bodies included.
    pub fn reachable(&self, roots: impl IntoIterator<Item = NodeId>) -> Vec<NodeId> {
        self.reachable_until(roots, |_| false)
    }

    /// The same, but nothing that `stops`, nor what only that needs.
    pub fn reachable_until(
        &self,
        roots: impl IntoIterator<Item = NodeId>,
        stops: impl Fn(NodeId) -> bool,
    ) -> Vec<NodeId> {
        let (mut seen, mut order) = (vec![false; self.len()], Vec::new());
        let mut stack: Vec<(NodeId, bool)> = roots.into_iter().map(|r| (r, false)).collect();
        stack.reverse();
        while let Some((n, done)) = stack.pop() {
            if done {
                order.push(n);
            } else if !seen[n.0 as usize] && !stops(n) {
                seen[n.0 as usize] = true;
                stack.push((n, true));
                let op = self.op(n);
                // the first operand comes off the stack first: texts and kernels follow the author's order
                let first = stack.len();
                op.for_operands(|operand| {
                    if !seen[operand.0 as usize] {
                        stack.push((operand, false));
                    }
                });
                stack.extend(op.lambda().map(|l| (l.body, false)));
                stack[first..].reverse();
            }
        }
        order
    }
}

/// The operands of an operation, without an allocation for up to four.
#[derive(Clone, Debug)]
pub enum Operands {
    /// Nodes, the next, the end.
    Few([NodeId; 4], u8, u8),
    /// More than four, or of an iteration.
    Many(std::vec::IntoIter<NodeId>),
}

impl Iterator for Operands {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        match self {
            Operands::Few(nodes, at, end) => {
                let node = nodes[..*end as usize].get(*at as usize).copied();
                *at += u8::from(node.is_some());
                node
            }
            Operands::Many(it) => it.next(),
        }
    }
}

/// Calls `$f` on each operand of an operation, borrowed as the operation is.
macro_rules! operands {
    ($op:expr, $f:expr) => {
        match $op {
            Op::Const(_) | Op::Param(_) | Op::Var(..) => {}
            Op::Unary(_, a)
            | Op::Cast(_, a)
            | Op::Stage(a)
            | Op::Len(a, _)
            | Op::Reverse(a, _)
            | Op::Permute(a, _)
            | Op::Iota(a)
            | Op::Materialize(a) => $f(a),
            Op::Binary(_, a, b)
            | Op::Within(a, b)
            | Op::Fill(a, b)
            | Op::Pick { src: a, index: b, .. }
            | Op::Spread { src: a, n: b, .. }
            | Op::Reduce { init: a, src: b, .. }
            | Op::Fold { init: a, src: b, .. } => {
                $f(a);
                $f(b);
            }
            Op::MulAdd(a, b, c)
            | Op::Select(a, b, c)
            | Op::Dot { init: a, a: b, b: c }
            | Op::PanelDot { init: a, a: b, b: c } => {
                $f(a);
                $f(b);
                $f(c);
            }
            Op::Slice { src, start, stop, stride, .. } => {
                $f(src);
                $f(start);
                $f(stop);
                $f(stride);
            }
            Op::Generate(all, _) | Op::Map(_, all) => all.into_iter().for_each($f),
            Op::At(x, all) | Op::Elem(x, all) | Op::Iterate { count: x, args: all, .. } => {
                $f(x);
                all.into_iter().for_each($f);
            }
        }
    };
}

impl Op {
    /// The operand nodes, in order, without a lambda's body.
    pub fn operands(&self) -> Operands {
        let (mut few, mut count) = ([NodeId(0); 4], 0);
        self.for_operands(|n| {
            if let Some(place) = few.get_mut(count) {
                *place = n;
            }
            count += 1;
        });
        if count <= few.len() {
            return Operands::Few(few, 0, count as u8);
        }
        let mut many = Vec::with_capacity(count);
        self.for_operands(|n| many.push(n));
        Operands::Many(many.into_iter())
    }

    /// Calls `f` on the operands, in the same order.
    #[inline]
    pub fn for_operands(&self, mut f: impl FnMut(NodeId)) {
        let mut f = |n: &NodeId| f(*n);
        operands!(self, &mut f)
    }

    /// The same, to change them.
    #[inline]
    pub fn each_operand(&mut self, mut f: impl FnMut(&mut NodeId)) {
        operands!(self, &mut f)
    }

    /// The lambda of a combinator.
    pub fn lambda(&self) -> Option<&Lambda> {
        match self {
            Op::Map(l, _) | Op::Generate(_, l) | Op::Reduce { join: l, .. } | Op::Fold { step: l, .. } => {
                Some(l)
            }
            _ => None,
        }
    }

    /// The same, to change it.
    pub fn lambda_mut(&mut self) -> Option<&mut Lambda> {
        match self {
            Op::Map(l, _) | Op::Generate(_, l) | Op::Reduce { join: l, .. } | Op::Fold { step: l, .. } => {
                Some(l)
            }
            _ => None,
        }
    }

    /// The same operation on other operands (as many as [`Op::operands`] gives) and another lambda, if it has one.
    pub fn with(&self, operands: &[NodeId], lambda: Option<Lambda>) -> Op {
        let mut op = self.clone();
        let mut operands = operands.iter();
        op.each_operand(|o| *o = *operands.next().expect("as many operands"));
        if let Some(l) = op.lambda_mut() {
            *l = lambda.expect("the operation has a lambda");
        }
        op
    }

    /// May leave an error record when evaluated (semantics section 6).
    pub fn may_record(&self, graph: &Graph) -> bool {
        use crate::scalar::BinaryOp::{Div, Max, Rem};
        match self {
            Op::At(..) | Op::Within(..) => true,
            Op::Binary(Div | Rem, a, b) if graph.ty(*a).elem.is_int() => match graph.op(*b) {
                Op::Const(l) => l.bits == 0,
                // max(_, 1 or more) is never 0: how lengths of strided slices are written
                Op::Binary(Max, _, c) => graph.as_lit(*c).and_then(Lit::as_int).is_none_or(|c| c < 1),
                _ => true,
            },
            _ => false,
        }
    }
}
