//! Rebuilding a function node by node, which most compiler passes share.

use super::{Function, Graph, Lambda, NodeId, Op, Output, Require, Var};
use crate::budget;
use rustc_hash::FxHashMap as HashMap;

/// Returns the node that replaces an operation. Its arguments are the new graph, the operation with
/// rebuilt operands, and its node in the old graph.
pub type Step<'s> = dyn FnMut(&mut Graph, Op, NodeId) -> NodeId + 's;

/// Does the same. The last argument is the new nodes of those that are given for the node.
pub type StepGiven<'s> = dyn FnMut(&mut Graph, Op, NodeId, &[NodeId]) -> NodeId + 's;

/// The nodes that are given for others.
type Given = HashMap<NodeId, Vec<NodeId>>;

/// Rebuilds `f` bottom-up. `rule` gets every operation with its operands already rebuilt and
/// returns the node that replaces it. Inside lambdas the variables are fresh. Nodes that neither
/// results nor shape rules reach are dropped. If `rules_too` is set, `rule` is applied to the shape
/// rules as well.
pub fn rewrite(f: &Function, rules_too: bool, rule: &mut dyn FnMut(&mut Graph, Op) -> NodeId) -> Function {
    rewrite_from(f, rules_too, &mut |g, op, _| rule(g, op))
}

/// Does the same as [`rewrite`]; `rule` also gets the node of the old graph.
pub fn rewrite_from(f: &Function, rules_too: bool, rule: &mut Step) -> Function {
    let (rule, copy): (&mut StepGiven, &mut StepGiven) = (&mut |g, op, n, _| rule(g, op, n), &mut copy);
    rebuild(f, (!rules_too).then_some(copy), false, &Given::default(), rule)
}

/// Replaces arrays that are stored, as temporaries or as results, by those that `of` returns for them.
pub fn rewrite_stored(f: &Function, of: &mut dyn FnMut(&mut Graph, NodeId) -> Option<NodeId>) -> Function {
    let mut f = rewrite_from(f, true, &mut |g, op, _| match op {
        Op::Materialize(x) => {
            let x = of(g, x).unwrap_or(x);
            g.add(Op::Materialize(x))
        }
        op => g.add(op),
    });
    for r in &mut f.results {
        if let Some(x) = of(&mut f.graph, r.value) {
            r.value = f.graph.add(Op::Materialize(x));
        }
    }
    f
}

/// Does the same as [`rewrite_from`]; `rule` also gets the new nodes of those that are `given` for a node. These must
/// be conditions: every way to the node goes through an arm of a `select` that such a node decides.
pub fn rewrite_given(f: &Function, given: &Given, rule: &mut StepGiven) -> Function {
    rebuild(f, Some(&mut copy), false, given, rule)
}

/// Does the same as [`rewrite_from`], for rules that make no lambdas. A lambda that contains no
/// other keeps the canonical numbers of its variables, so that its body is built once.
pub fn rewrite_scalars(f: &Function, rules_too: bool, rule: &mut Step) -> Function {
    let (rule, copy): (&mut StepGiven, &mut StepGiven) = (&mut |g, op, n, _| rule(g, op, n), &mut copy);
    rebuild(f, (!rules_too).then_some(copy), true, &Given::default(), rule)
}

/// Does the same as [`rewrite_scalars`], with a separate rule for the shape rules.
pub fn rewrite_parts(f: &Function, of_rules: &mut Step, of_results: &mut Step) -> Function {
    let of_rules: &mut StepGiven = &mut |g, op, n, _| of_rules(g, op, n);
    rebuild(f, Some(of_rules), true, &Given::default(), &mut |g, op, n, _| of_results(g, op, n))
}

/// Rebuilds a closed lambda of another graph in `new`. Its parameters stand for no values that leave error records.
pub fn lambda_of(old: &Graph, l: &Lambda, new: &mut Graph, rule: &mut StepGiven) -> Lambda {
    let given = Given::default();
    Rebuild::new(old, new, rule, false, &given).lambda(l, l.params.len())
}

fn copy(g: &mut Graph, op: Op, _: NodeId, _: &[NodeId]) -> NodeId {
    g.add(op)
}

/// Rebuilds a function. `of_rules` is applied to the shape rules instead of `rule`, if it is given.
fn rebuild(
    f: &Function,
    of_rules: Option<&mut StepGiven>,
    scalars: bool,
    given: &Given,
    rule: &mut StepGiven,
) -> Function {
    let mut new =
        Function { graph: Graph::default(), results: Vec::new(), requires: Vec::new(), ..f.clone_head() };
    new.graph.set_labels(f.graph.labels().clone());
    (new.graph.on_demand, new.graph.approximates) = (f.graph.on_demand, f.graph.approximates);
    new.graph.steps_record = f.graph.steps_record;
    new.graph.reserve(f.graph.len());
    new.graph.declare_params(f.params.iter().map(|p| p.ty));
    let first: &mut StepGiven = match of_rules {
        Some(other) => other,
        None => rule,
    };
    let mut rules = Rebuild::new(&f.graph, &mut new.graph, first, scalars, given);
    for r in &f.requires {
        rules.region(&[r.a, r.b]);
        let (a, b) = (rules.made(r.a), rules.made(r.b));
        new.requires.push(Require { a, b, ..r.clone() });
    }
    let mut results = Rebuild::new(&f.graph, &mut new.graph, rule, scalars, given);
    let roots: Vec<_> = f.results.iter().map(|r| r.value).collect();
    results.region(&roots);
    for r in &f.results {
        let value = results.made(r.value);
        new.results.push(Output { name: r.name.clone(), value });
    }
    new
}

impl Function {
    /// Copies everything but the graph and what refers to it.
    pub fn clone_head(&self) -> Function {
        Function {
            name: self.name.clone(),
            doc: self.doc.clone(),
            fast: self.fast,
            tensor_cores: self.tensor_cores,
            stencil: self.stencil,
            is_step: self.is_step,
            has_stages: self.has_stages,
            repeats: self.repeats,
            by_stages: Vec::new(),
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
    rule: &'a mut StepGiven<'a>,
    given: &'a Given,
    /// Whether the rule makes no lambdas.
    scalars: bool,
    /// The new nodes of old nodes whose variables are open.
    memo: Vec<Option<NodeId>>,
    /// The old nodes that have a new one, in order of rebuilding. Entries that were made inside a
    /// lambda are removed at its end.
    order: Vec<NodeId>,
    /// The variables of the enclosing lambdas.
    open: Vec<Var>,
    /// The new lambdas of old ones, by the old bodies: all values of a loop, and all components of a tuple, have the
    /// same lambda. Beside them stands the first parameter that is a value. Entries that were made inside a lambda
    /// are removed at its end.
    lambdas: HashMap<NodeId, (Lambda, usize, Lambda)>,
    /// Their bodies in order.
    bodies: Vec<NodeId>,
}

impl<'a> Rebuild<'a> {
    fn new(
        old: &'a Graph,
        new: &'a mut Graph,
        rule: &'a mut StepGiven<'a>,
        scalars: bool,
        given: &'a Given,
    ) -> Rebuild<'a> {
        Rebuild {
            old,
            new,
            rule,
            given,
            scalars,
            memo: vec![None; old.len()],
            order: Vec::with_capacity(old.len()),
            open: Vec::new(),
            lambdas: HashMap::default(),
            bodies: Vec::new(),
        }
    }

    fn made(&self, n: NodeId) -> NodeId {
        self.memo[n.0 as usize].expect("operands come before their users")
    }

    fn set(&mut self, old: NodeId, made: NodeId) {
        self.memo[old.0 as usize] = Some(made);
        self.order.push(old);
    }

    /// Rebuilds the nodes that `roots` need, as far as their variables are open.
    fn region(&mut self, roots: &[NodeId]) {
        let old = self.old;
        // the operands of a rebuilt node were rebuilt before it
        for n in old.reachable_until(roots.iter().copied(), |n| self.memo[n.0 as usize].is_some()) {
            let node = old.node(n);
            if !node.free.iter().all(|v| self.open.contains(v)) {
                continue;
            }
            let mut op = old.op(n).clone();
            op.each_operand(|o| *o = self.made(*o));
            let values = op.first_value();
            if let Some(l) = op.lambda_mut() {
                *l = self.lambda(l, values);
            }
            self.new.set_loc(node.loc.clone());
            let given: Vec<NodeId> =
                self.given.get(&n).into_iter().flatten().map(|n| self.made(*n)).collect();
            // the runner of the passes reports the exceeded budget after this pass
            let made = match budget::is_exceeded(&node.loc) {
                true => self.new.add(op),
                false => (self.rule)(self.new, op, n, &given),
            };
            self.new.keep_marks(node.bound, node.once, made);
            self.set(n, made);
        }
        self.new.set_loc(Default::default());
    }

    /// Rebuilds a lambda, whose parameters from `values` on stand for values.
    fn lambda(&mut self, l: &Lambda, values: usize) -> Lambda {
        if let Some((old, first, new)) = self.lambdas.get(&l.body)
            && (old, *first) == (l, values)
        {
            return new.clone();
        }
        let inside = self.bodies.len();
        let made = self.rebuilt(l, values);
        for body in self.bodies.drain(inside..) {
            self.lambdas.remove(&body);
        }
        if self.lambdas.insert(l.body, (l.clone(), values, made.clone())).is_none() {
            self.bodies.push(l.body);
        }
        made
    }

    fn rebuilt(&mut self, l: &Lambda, values: usize) -> Lambda {
        let (before, opened) = (self.order.len(), self.open.len());
        let mut vars = Vec::with_capacity(l.params.len());
        let keeps = self.scalars && self.old.node(l.body).height == 0;
        for (at, &(v, ty)) in l.params.iter().enumerate() {
            let (fresh, var) = match keeps {
                true => (v, self.new.add(Op::Var(v, ty))),
                false => self.new.fresh_var(ty),
            };
            if at >= values {
                self.new.note_value(fresh);
            }
            vars.push((fresh, ty));
            self.open.push(v);
            if let Some(old) = self.old.find(&Op::Var(v, ty)) {
                self.set(old, var);
            }
        }
        self.region(&[l.body]);
        let body = self.made(l.body);
        self.open.truncate(opened);
        vars.iter().for_each(|v| self.new.forget_value(v.0));
        for inner in self.order.drain(before..) {
            self.memo[inner.0 as usize] = None;
        }
        if keeps {
            assert_eq!(self.new.node(body).height, 0, "the rule made a lambda");
            return Lambda { params: l.params.clone(), body };
        }
        self.new.close(&vars, body)
    }
}
