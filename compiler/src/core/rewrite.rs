//! Rebuilding a function node by node: the frame that most passes share.

use super::{Function, Graph, Lambda, NodeId, Op, Output, Require, Var};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// Rebuilds `f` bottom-up: `rule` gets every operation with its operands already rebuilt and gives the node that stands for it. Inside
/// lambdas the variables are fresh. What the results and rules do not reach is dropped. Shape rules go through `rule` as well
/// if `rules_too`.
pub fn rewrite(f: &Function, rules_too: bool, rule: &mut dyn FnMut(&mut Graph, Op) -> NodeId) -> Function {
    rewrite_from(f, rules_too, &mut |g, op, _| rule(g, op))
}

/// As [`rewrite`]; `rule` is also told which node of the old graph it stands for.
pub fn rewrite_from(
    f: &Function,
    rules_too: bool,
    rule: &mut dyn FnMut(&mut Graph, Op, NodeId) -> NodeId,
) -> Function {
    rebuild(f, rules_too, false, rule)
}

/// As [`rewrite_from`], for rules that make no lambdas: the variables of a lambda that has none inside keep their canonical numbers, so that its body is built once.
pub fn rewrite_scalars(
    f: &Function,
    rules_too: bool,
    rule: &mut dyn FnMut(&mut Graph, Op, NodeId) -> NodeId,
) -> Function {
    rebuild(f, rules_too, true, rule)
}

fn rebuild(
    f: &Function,
    rules_too: bool,
    scalars: bool,
    rule: &mut dyn FnMut(&mut Graph, Op, NodeId) -> NodeId,
) -> Function {
    let mut new =
        Function { graph: Graph::default(), results: Vec::new(), requires: Vec::new(), ..f.clone_head() };
    new.graph.declare_params(f.params.iter().map(|p| p.ty));
    let mut copy = |g: &mut Graph, op: Op, _: NodeId| g.add(op);
    let first: &mut dyn FnMut(&mut Graph, Op, NodeId) -> NodeId = if rules_too { rule } else { &mut copy };
    let mut rules = Rebuild { old: &f.graph, new: &mut new.graph, rule: first, scalars };
    let mut memo = HashMap::default();
    for r in &f.requires {
        rules.region(&[r.a, r.b], &mut memo, &HashSet::default());
        new.requires.push(Require { a: memo[&r.a], b: memo[&r.b], ..r.clone() });
    }
    let mut results = Rebuild { old: &f.graph, new: &mut new.graph, rule, scalars };
    let mut memo = HashMap::default();
    let roots: Vec<_> = f.results.iter().map(|r| r.value).collect();
    results.region(&roots, &mut memo, &HashSet::default());
    new.results = f.results.iter().map(|r| Output { name: r.name.clone(), value: memo[&r.value] }).collect();
    new
}

impl Function {
    /// Everything but the graph and what refers to it.
    pub fn clone_head(&self) -> Function {
        Function {
            name: self.name.clone(),
            doc: self.doc.clone(),
            fast: self.fast,
            stencil: self.stencil,
            loc: self.loc.clone(),
            params: self.params.clone(),
            results: Vec::new(),
            requires: Vec::new(),
            steps: self.steps.clone(),
            graph: Graph::default(),
        }
    }
}

struct Rebuild<'a> {
    old: &'a Graph,
    new: &'a mut Graph,
    rule: &'a mut dyn FnMut(&mut Graph, Op, NodeId) -> NodeId,
    /// The rule makes no lambdas.
    scalars: bool,
}

impl Rebuild<'_> {
    /// Rebuilds what `roots` need as far as its variables are open; `memo` maps old nodes to new ones.
    fn region(&mut self, roots: &[NodeId], memo: &mut HashMap<NodeId, NodeId>, open: &HashSet<Var>) {
        for n in self.old.reachable(roots.iter().copied()) {
            let node = self.old.node(n);
            if memo.contains_key(&n) || !node.free.iter().all(|v| open.contains(v)) {
                continue;
            }
            let op = self.old.op(n);
            let operands: Vec<_> = op.operands().map(|o| memo[&o]).collect();
            let lambda = op.lambda().map(|l| {
                let mut inner = memo.clone();
                let mut inner_open = open.clone();
                let mut vars = Vec::new();
                let keeps = self.scalars && self.old.node(l.body).height == 0;
                for &(v, ty) in &l.params {
                    let (fresh, var) = match keeps {
                        true => (v, self.new.add(Op::Var(v, ty))),
                        false => self.new.fresh_var(ty),
                    };
                    vars.push((fresh, ty));
                    inner_open.insert(v);
                    if let Some(old) = self.old.find(&Op::Var(v, ty)) {
                        inner.insert(old, var);
                    }
                }
                self.region(&[l.body], &mut inner, &inner_open);
                let body = inner[&l.body];
                if keeps {
                    assert_eq!(self.new.node(body).height, 0, "the rule made a lambda");
                    return Lambda { params: l.params.clone(), body };
                }
                self.new.close(&vars, body)
            });
            self.new.set_loc(node.loc.clone());
            let made = (self.rule)(self.new, op.with(&operands, lambda), n);
            if node.bound {
                self.new.mark_bound(made);
            }
            memo.insert(n, made);
        }
        self.new.set_loc(Default::default());
    }
}
