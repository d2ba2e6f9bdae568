//! Staging: functions are compiled for the values of some of their host scalars (Haidl, Steuer,
//! Humernbrum, Gorlatch, "Multi-Stage Programming for GPUs in Modern C++ using PACXX", 2016).
//!
//! ```text
//! %0 = len %x                                       require same (len %x), 1000i64 "staged: len(x)"
//! %1 = stage %0                                     %2 = generate 1000i64 (%i) ..
//! %2 = generate %1 (%i) ..        (1000i64)    ->   %3 = ..
//! %3 = stage %k                   (3i32)
//! ```
//!
//! [`Stages`] holds the values that a function embeds, as host scalars of its parameters, which
//! take a few operations per call. [`specialise`] replaces them by constants. A staged value is
//! then known wherever it is used; a staged length also where the length of that parameter is used
//! without `stage`. The shape rules about it remain. If a function is not specialised, `stage x`
//! means x (`passes/stages.rs`).
//!
//! Steps of iterations stage values as well: host scalars of their arguments, and the extents of
//! their states, which are the same before each step.

use crate::core::simplify::{extent, extents, simplify};
use crate::core::{Check, Form, Function, Graph, NodeId, Op, Require, Rule, rewrite::rewrite_from};
use crate::loc::LocStack;
use crate::plan::{HostId, HostOp, Plan, host};
use crate::scalar::{Lit, Ty};
use crate::schedule::host::Hosts;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::sync::Arc;

/// Whether a function stages anything.
pub fn has_stages(f: &Function) -> bool {
    !types(f).is_empty()
}

/// Returns the types of the values that a function embeds, in order.
pub fn types(f: &Function) -> Vec<Ty> {
    let of = |site: Site| match site {
        Site::Here(n, _) => vec![f.graph.ty(n).elem],
        Site::Step((step, ..)) => types(&f.steps[step as usize]),
    };
    sites(f).into_iter().flat_map(of).collect()
}

/// The values that a function stages, as host scalars of its parameters.
#[derive(Clone, Debug)]
pub struct Stages {
    /// A plan without steps.
    plan: Plan,
    values: Vec<HostId>,
}

impl Stages {
    /// Finds the stages of a verified function.
    pub fn of(f: &Function) -> Stages {
        let mut hosts = Hosts::default();
        let own = (0..).zip(&f.params).map(|(p, param)| match param.ty.rank {
            0 => vec![hosts.add(HostOp::Arg(p), param.ty.elem)],
            rank => (0..rank).map(|axis| hosts.add(HostOp::Len(p, axis), Ty::I64)).collect(),
        });
        let own = own.collect();
        let mut values = Vec::new();
        Scalars { g: f.graph.clone(), params: own, known: HashMap::default() }.staged(
            f,
            &mut hosts,
            &mut values,
        );
        Stages { plan: Plan { host: hosts.into_list(), ..Plan::default() }, values }
    }

    /// Returns the staged values in a call, in a fixed order. `len(i, axis)` is the length of array
    /// parameter i along an axis, and `arg(i)` the value of scalar parameter i.
    pub fn values(&self, len: impl Fn(u32, u8) -> i64, arg: impl Fn(u32) -> Lit) -> Vec<Lit> {
        let mut all = Vec::with_capacity(self.plan.host.len());
        host::evaluate(&self.plan, false, len, arg, &mut all);
        self.values.iter().map(|v| all[v.0 as usize].canonical()).collect()
    }
}

/// Returns the values that a function stages in one call. `params` has the values of the scalar
/// parameters, `extents` those of the arrays.
pub fn values(f: &Function, params: &[Option<Lit>], extents: &[Vec<i64>]) -> Vec<Lit> {
    let arg = |p: u32| params[p as usize].unwrap_or(Lit::zero(f.params[p as usize].ty.elem));
    Stages::of(f).values(|p, axis| extents[p as usize][usize::from(axis)], arg)
}

/// Returns the function for calls in which it stages these values: every staged scalar becomes a
/// constant.
pub fn specialise(f: &Function, values: &[Lit]) -> Function {
    specialised(f, &HashMap::default(), &mut values.iter().copied())
}

/// The identity of an iteration in a graph: the step, the form, the count, and the arguments.
type Iteration = (u32, Form, NodeId, Vec<NodeId>);

/// A node at which values are embedded.
enum Site {
    /// A stage node, and its operand.
    Here(NodeId, NodeId),
    /// An iteration whose step has stages.
    Step(Iteration),
}

fn iteration(op: &Op) -> Option<Iteration> {
    match op {
        Op::Iterate { step, form, count, args, .. } => Some((*step, *form, *count, args.clone())),
        _ => None,
    }
}

/// Returns the sites of a function, in the order of the values.
fn sites(f: &Function) -> Vec<Site> {
    let mut seen = HashSet::default();
    let site = |n: NodeId| match f.graph.op(n) {
        Op::Stage(x) => Some(Site::Here(n, *x)),
        op => iteration(op).filter(|i| seen.insert(i.clone())).map(Site::Step),
    };
    f.graph.reachable(f.roots()).into_iter().filter_map(site).collect()
}

/// The host scalars of a function or a step, in terms of the parameters of the whole function.
struct Scalars {
    g: Graph,
    /// The host scalars of each parameter: its value if it is a scalar, else its extents.
    params: Vec<Vec<HostId>>,
    known: HashMap<NodeId, HostId>,
}

impl Scalars {
    /// Appends the host scalars that are staged.
    fn staged(&mut self, f: &Function, hosts: &mut Hosts, out: &mut Vec<HostId>) {
        for site in sites(f) {
            match site {
                Site::Here(_, x) => out.push(self.host(x, hosts)),
                Site::Step((step, _, _, args)) => {
                    let step = &f.steps[step as usize];
                    if !has_stages(step) {
                        continue;
                    }
                    let params = args.into_iter().map(|a| self.argument(a, hosts)).collect();
                    Scalars { g: step.graph.clone(), params, known: HashMap::default() }
                        .staged(step, hosts, out);
                }
            }
        }
    }

    /// Returns the host scalars of an argument that a step may use.
    fn argument(&mut self, a: NodeId, hosts: &mut Hosts) -> Vec<HostId> {
        if self.g.ty(a).is_scalar() {
            return vec![self.host(a, hosts)];
        }
        extents(&mut self.g, a).into_iter().map(|n| self.host(n, hosts)).collect()
    }

    fn host(&mut self, n: NodeId, hosts: &mut Hosts) -> HostId {
        if let Some(known) = self.known.get(&n) {
            return *known;
        }
        let (ty, op) = (self.g.ty(n).elem, self.g.op(n).clone());
        let mut of = |n| self.host(n, hosts);
        let op = match op {
            Op::Const(l) => HostOp::Const(l),
            Op::Unary(op, a) => HostOp::Unary(op, of(a)),
            Op::Binary(op, a, b) => HostOp::Binary(op, of(a), of(b)),
            Op::MulAdd(a, b, c) => HostOp::MulAdd(of(a), of(b), of(c)),
            Op::Select(a, b, c) => HostOp::Select(of(a), of(b), of(c)),
            Op::Cast(ty, a) => HostOp::Cast(ty, of(a)),
            op => {
                let id = match op {
                    Op::Param(p) => self.params[p as usize][0],
                    Op::Len(x, axis) => self.length(x, axis, hosts),
                    Op::Stage(a) => of(a),
                    op => unreachable!("verified: {op:?} is no host scalar"),
                };
                self.known.insert(n, id);
                return id;
            }
        };
        let id = hosts.add(op, ty);
        self.known.insert(n, id);
        id
    }

    fn length(&mut self, x: NodeId, axis: u8, hosts: &mut Hosts) -> HostId {
        if let Op::Param(p) = *self.g.op(x) {
            return self.params[p as usize][usize::from(axis)];
        }
        let length = extent(&mut self.g, x, axis);
        self.host(length, hosts)
    }
}

/// What is known about parameters: the values of scalars, and the lengths of arrays along an axis.
type Facts = HashMap<(u32, u8), Lit>;

fn specialised(f: &Function, facts: &Facts, values: &mut dyn Iterator<Item = Lit>) -> Function {
    let g = &f.graph;
    let mut known: HashMap<NodeId, Lit> = HashMap::default();
    let mut of_steps: HashMap<Iteration, Vec<Lit>> = HashMap::default();
    for site in sites(f) {
        match site {
            Site::Here(n, x) => {
                let value = values.next().unwrap_or(Lit::zero(g.ty(x).elem));
                known.extend([(n, value), (x, value)]);
            }
            Site::Step(key) => {
                let many = types(&f.steps[key.0 as usize]).len();
                of_steps.insert(key, (0..many).map_while(|_| values.next()).collect());
            }
        }
    }
    let given = |op: &Op| match *op {
        Op::Param(p) => facts.get(&(p, 0)).filter(|_| f.params[p as usize].ty.is_scalar()).copied(),
        Op::Len(x, axis) => match *g.op(x) {
            Op::Param(p) => facts.get(&(p, axis)).copied(),
            _ => None,
        },
        _ => None,
    };
    let mut steps = Steps { old: &f.steps, new: Vec::new(), done: HashMap::default() };
    let mut out = rewrite_from(f, true, &mut |new, op, old| {
        if let Some(value) = known.get(&old).copied().or_else(|| given(g.op(old))) {
            return new.lit(value);
        }
        let op = match (op, iteration(g.op(old))) {
            (Op::Iterate { which, form, count, args, .. }, Some(key)) => {
                let step = steps.of(new, &args, key, &of_steps);
                let form = match form {
                    form @ (Form::Or(other) | Form::Until(Check { step: other, .. })) => {
                        form.with_function(steps.other(other))
                    }
                    form => form,
                };
                Op::Iterate { step, which, form, count, args }
            }
            (op, _) => op,
        };
        simplify(new, op)
    });
    out.steps = steps.new;
    for (x, axis, value) in lengths(f, facts, &known) {
        let a = out.graph.add(Op::Len(NodeId(x), axis));
        let b = out.graph.lit(value);
        let subject = format!("staged: {}", f.params[x as usize].name);
        out.requires.push(Require { rule: Rule::Same, a, b, subject, loc: LocStack::default() });
    }
    out
}

/// Returns the known lengths of parameters, in order.
fn lengths(f: &Function, facts: &Facts, known: &HashMap<NodeId, Lit>) -> Vec<(u32, u8, Lit)> {
    let axes = (0..).zip(&f.params).flat_map(|(p, param)| (0..param.ty.rank).map(move |axis| (p, axis)));
    let value = |p: u32, axis: u8| {
        let staged = || known.get(&f.graph.find(&Op::Len(NodeId(p), axis))?).copied();
        facts.get(&(p, axis)).copied().or_else(staged)
    };
    axes.filter_map(|(p, axis)| value(p, axis).map(|value| (p, axis, value))).collect()
}

/// The steps of a function, specialised for the iterations that call them.
struct Steps<'a> {
    old: &'a [Arc<Function>],
    new: Vec<Arc<Function>>,
    done: HashMap<Iteration, u32>,
}

impl Steps<'_> {
    /// Returns the number of a function that is no step, for which nothing is embedded.
    fn other(&mut self, function: u32) -> u32 {
        let old = &self.old[function as usize];
        let known = self.new.iter().position(|s| Arc::ptr_eq(s, old));
        known.unwrap_or_else(|| {
            self.new.push(old.clone());
            self.new.len() - 1
        }) as u32
    }

    /// Returns the number of the step that is specialised for the iteration `key`, whose arguments
    /// are now `args`.
    fn of(
        &mut self,
        g: &mut Graph,
        args: &[NodeId],
        key: Iteration,
        values: &HashMap<Iteration, Vec<Lit>>,
    ) -> u32 {
        if let Some(done) = self.done.get(&key) {
            return *done;
        }
        let mut facts = Facts::default();
        for (p, a) in (0..).zip(args) {
            let nodes = if g.ty(*a).is_scalar() { vec![*a] } else { extents(g, *a) };
            facts.extend((0..).zip(nodes).filter_map(|(axis, n)| Some(((p, axis), g.as_lit(n)?))));
        }
        let old = &self.old[key.0 as usize];
        let mut step = specialised(old, &facts, &mut values.get(&key).into_iter().flatten().copied());
        if self.new.iter().any(|s| s.name == step.name) {
            step.name = format!("{}_{}", step.name, self.new.len());
        }
        let number = self.new.len() as u32;
        self.new.push(Arc::new(step));
        self.done.insert(key, number);
        number
    }
}
