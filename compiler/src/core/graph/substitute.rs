//! Closing and opening lambdas, and substituting variables.

use super::Graph;
use super::memo::Memo;
use crate::core::{Lambda, NodeId, Op, Var};
use crate::scalar::Ty;
use rustc_hash::FxHashMap as HashMap;

/// Variables and the nodes that replace them. If a variable occurs twice, the last entry counts.
type Bindings = Vec<(Var, NodeId)>;

impl Graph {
    /// Binds fresh variables in `body` and returns the canonical lambda.
    pub fn close(&mut self, vars: &[(Var, Ty)], body: NodeId) -> Lambda {
        let base = self.node(body).height + 1;
        let params: Vec<(Var, Ty)> = vars.iter().zip(base..).map(|(&(_, ty), i)| (Var(i), ty)).collect();
        let env = vars.iter().zip(&params).map(|(&(v, _), &(c, ty))| (v, self.add(Op::Var(c, ty)))).collect();
        Lambda { body: self.subst(body, &env), params }
    }

    /// Builds a lambda from a Rust closure over its variables (higher-order syntax), for compiler
    /// passes and tests.
    pub fn lambda(&mut self, types: &[Ty], f: impl FnOnce(&mut Graph, &[NodeId]) -> NodeId) -> Lambda {
        let vars: Vec<_> = types.iter().map(|&ty| (self.fresh_var(ty), ty)).collect();
        let nodes: Vec<_> = vars.iter().map(|v| v.0.1).collect();
        let body = f(self, &nodes);
        let vars: Vec<_> = vars.iter().map(|v| (v.0.0, v.1)).collect();
        self.close(&vars, body)
    }

    /// Returns the body with `args` in place of the variables. `args` must contain no canonical
    /// variables: they are closed, or their variables are fresh.
    pub fn open(&mut self, lambda: &Lambda, args: &[NodeId]) -> NodeId {
        let env = lambda.params.iter().map(|p| p.0).zip(args.iter().copied()).collect();
        let mut key = [None; 3];
        if args.len() > key.len() {
            return self.subst(lambda.body, &env);
        }
        key.iter_mut().zip(args).for_each(|(k, a)| *k = Some(*a));
        let before = self.base.as_ref().and_then(|base| base.opened.get(&(lambda.body, key)));
        if let Some(&known) = before.or_else(|| self.opened.get(&(lambda.body, key))) {
            return known;
        }
        let opened = self.subst(lambda.body, &env);
        self.opened.insert((lambda.body, key), opened);
        opened
    }

    /// Returns variables of type i64 that stand for an element's indices while the element is only
    /// inspected. They are always the same, so that a lambda is opened with them once.
    pub fn sample_index(&mut self, rank: usize) -> Vec<(Var, NodeId)> {
        while self.sample.len() < rank {
            let new = self.fresh_var(Ty::I64);
            self.sample.push(new);
        }
        self.sample[..rank].to_vec()
    }

    /// Replaces variables in a node. New nodes keep the locations and `slet` marks of the nodes
    /// that they replace.
    pub fn substitute(&mut self, n: NodeId, env: &HashMap<Var, NodeId>) -> NodeId {
        self.subst(n, &env.iter().map(|(v, n)| (*v, *n)).collect())
    }

    /// Replaces variables with an explicit stack of operands, so that deep bodies do not overflow the stack of a
    /// thread. Bodies of lambdas whose binders stay are treated as operands, too: then one table serves all of them,
    /// and nodes that several lambdas share are replaced once.
    fn subst(&mut self, n: NodeId, env: &Bindings) -> NodeId {
        if !self.depends(n, env) {
            return n;
        }
        let mut memo = Memo::take();
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
            let mut wait = |operand: NodeId| {
                if memo.get(operand).is_none() {
                    match self.depends(operand, env) {
                        true => stack.push((operand, false)),
                        false => memo.insert(operand, operand),
                    }
                }
            };
            self.op(n).for_operands(&mut wait);
            if let Some(lambda) = self.op(n).lambda().filter(|l| self.keeps_binders(l, env)) {
                wait(lambda.body);
            }
            // the first operand is popped first
            stack[waiting..].reverse();
        }
        let made = memo.get(n).unwrap_or(n);
        memo.give_back();
        made
    }

    /// Whether a node depends on one of the variables.
    fn depends(&self, n: NodeId, env: &Bindings) -> bool {
        self.node(n).free.iter().any(|v| env.iter().any(|e| e.0 == *v))
    }

    /// Whether a lambda has the same binders after the substitution: what replaces variables in its body contains no
    /// lambdas, so that the body keeps its height.
    fn keeps_binders(&self, lambda: &Lambda, env: &Bindings) -> bool {
        let body = self.node(lambda.body);
        lambda.params.first().is_none_or(|p| p.0.0 == body.height + 1)
            && env.iter().all(|(v, by)| self.node(*by).height == 0 || !body.free.contains(v))
    }

    /// Returns the node with replaced operands.
    fn subst_one(&mut self, n: NodeId, env: &Bindings, memo: &Memo) -> NodeId {
        if let Op::Var(v, _) = self.op(n) {
            return env.iter().rfind(|e| e.0 == *v).map_or(n, |e| e.1);
        }
        let mut op = self.op(n).clone();
        op.each_operand(|c| *c = memo.get(*c).unwrap_or(*c));
        if let Some(lambda) = op.lambda_mut() {
            if self.keeps_binders(lambda, env) {
                lambda.body = memo.get(lambda.body).unwrap_or(lambda.body);
            } else {
                self.subst_in_lambda(lambda, env);
            }
        }
        let loc = self.node(n).loc.within(&self.loc);
        let before = self.set_loc(loc);
        let new = self.add(op);
        self.set_loc(before);
        if self.node(n).bound {
            self.mark_bound(new);
        }
        if !self.names(n).is_empty() {
            self.names(n).to_vec().iter().for_each(|name| self.name(new, name));
        }
        new
    }

    /// Replaces variables in a lambda whose body may then contain higher binders: it is opened with fresh variables
    /// and closed again.
    fn subst_in_lambda(&mut self, lambda: &mut Lambda, env: &Bindings) {
        let vars: Vec<_> = lambda.params.iter().map(|&(_, ty)| (self.fresh_var(ty), ty)).collect();
        let mut inner = env.clone();
        inner.extend(lambda.params.iter().zip(&vars).map(|(p, v)| (p.0, v.0.1)));
        let body = self.subst(lambda.body, &inner);
        let vars: Vec<_> = vars.iter().map(|v| (v.0.0, v.1)).collect();
        *lambda = self.close(&vars, body);
    }
}
