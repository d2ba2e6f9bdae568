//! Iterations: the step becomes a function of its own, from the states and what it mentions from outside to the next states.

use super::{Lowering, needed};
use crate::iterate::Iteration;
use crate::node::{Node, NodeRef};
use arraygpu_compiler::Result;
use arraygpu_compiler::core::{self, Function, NodeId, Output, Param, Require, Rule, Type};
use arraygpu_compiler::scalar::{Lit, Ty};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// An iteration that was lowered: its step's number, and its arguments.
#[derive(Clone)]
pub(super) struct Lowered {
    step: u32,
    args: Vec<NodeId>,
}

/// How the step finds what it mentions from outside.
enum Outside {
    /// It is a parameter.
    Param(u32),
    /// It is the only element of a parameter, because only the device knows it.
    First(u32),
    /// It is a length of a state.
    Length(u32, u8),
}

impl Lowering {
    /// A state after the steps.
    pub(super) fn iterate(&mut self, node: NodeRef, all: &Rc<Iteration>, which: u32) -> Result<NodeId> {
        let key = Rc::as_ptr(all);
        let lowered = match self.iterations.get(&key) {
            Some(known) => known.clone(),
            None => {
                let made = self.step(node, all)?;
                self.iterations.insert(key, made.clone());
                made
            }
        };
        let Lowered { step, args } = lowered;
        let count = self.id(all.count);
        let subject = self.subject("iterate", "", &[count]);
        let zero = self.number(0);
        self.require(node, &subject, Rule::Count, zero, count)?;
        Ok(self.f.graph.add(core::Op::Iterate { step, which, count, args }))
    }

    fn step(&mut self, node: NodeRef, all: &Iteration) -> Result<Lowered> {
        let mut args: Vec<NodeId> = all.inits.iter().map(|n| self.id(n)).collect();
        let states = args.len();
        let mut outside = Vec::new();
        for n in &all.captured {
            let found = self.outside(n, &args[..states], args.len() as u32);
            if let Outside::Param(_) | Outside::First(_) = found {
                args.push(match found {
                    Outside::First(_) => self.alone(n),
                    _ => self.id(n),
                });
            }
            outside.push(found);
        }
        let params = self.parameters(&args, states);
        let number = self.f.steps.len();
        let mut step = Function::new(&format!("{}__step{number}", self.f.name), params);
        (step.fast, step.stencil, step.loc) = (self.f.fast, self.f.stencil, self.f.loc.clone());
        let mut inner = Lowering::of(step);
        self.equal_extents(node, &args, states, &mut inner);
        inner.begin(all, &outside);
        let known: HashSet<*const Node> = inner.ids.keys().copied().collect();
        for n in needed(&all.bodies, &known) {
            inner.node(n)?;
        }
        for (i, body) in all.bodies.iter().enumerate() {
            let (value, state) = (inner.id(body), NodeId(i as u32));
            for axis in 0..body.ty.rank {
                let (before, after) = (inner.extents[&state].clone(), inner.extents[&value].clone());
                let axis = usize::from(axis);
                inner.require(
                    node,
                    "iterate: the state before and after a step",
                    Rule::Same,
                    before[axis],
                    after[axis],
                )?;
            }
            inner.f.results.push(Output { name: format!("next{i}"), value });
        }
        self.f.steps.push(Rc::new(inner.f));
        Ok(Lowered { step: number as u32, args })
    }

    /// How a value from outside comes in. `next`: the number of the next parameter.
    fn outside(&mut self, n: NodeRef, inits: &[NodeId], next: u32) -> Outside {
        let id = self.id(n);
        if !n.ty.is_scalar() {
            return Outside::Param(next);
        }
        for (state, init) in (0..).zip(inits) {
            if let Some(axis) = self.extents[init].iter().position(|e| *e == id) {
                return Outside::Length(state, axis as u8);
            }
        }
        if self.is_device(id) { Outside::First(next) } else { Outside::Param(next) }
    }

    /// A scalar that only the device knows, as an array of one element.
    fn alone(&mut self, n: NodeRef) -> NodeId {
        let (value, one) = (self.id(n), self.number(1));
        let id = self.f.graph.add(core::Op::Fill(one, value));
        self.extents.insert(id, vec![one]);
        id
    }

    /// The step's parameters, named after the values if these have names.
    fn parameters(&self, args: &[NodeId], states: usize) -> Vec<Param> {
        let mut params: Vec<Param> = Vec::new();
        for (i, arg) in args.iter().enumerate() {
            let base = match self.f.graph.op(*arg) {
                core::Op::Param(p) => self.f.params[*p as usize].name.clone(),
                _ if i < states => "state".into(),
                _ => "outer".into(),
            };
            let taken = |name: &String| params.iter().any(|p| p.name == *name);
            let numbered = (i..).map(|i| format!("{base}_{i}"));
            let name =
                std::iter::once(base.clone()).chain(numbered).find(|name| !taken(name)).unwrap_or_default();
            params.push(Param { name, ty: self.f.graph.ty(*arg) });
        }
        params
    }

    /// Lengths that are equal here are equal in the step.
    fn equal_extents(&mut self, node: NodeRef, args: &[NodeId], states: usize, inner: &mut Lowering) {
        let mut first: HashMap<NodeId, NodeId> = HashMap::new();
        for (i, arg) in args.iter().enumerate() {
            let Some(extents) = self.extents.get(arg).cloned() else { continue };
            for (axis, extent) in (0..).zip(extents) {
                let own = inner.f.graph.add(core::Op::Len(NodeId(i as u32), axis));
                match first.get(&extent) {
                    // within one state it is for the caller to say
                    Some(other) if i >= states => {
                        let (subject, loc) = ("iterate".into(), self.place(node.at));
                        inner.f.requires.push(Require { rule: Rule::Same, a: *other, b: own, subject, loc });
                    }
                    Some(_) => {}
                    None => drop(first.insert(extent, own)),
                }
            }
        }
    }

    /// What stands for the values from outside in the step.
    fn begin(&mut self, all: &Iteration, outside: &[Outside]) {
        let params: Vec<Type> = self.f.params.iter().map(|p| p.ty).collect();
        for (i, ty) in (0..).zip(&params) {
            let extents = (0..ty.rank).map(|axis| self.f.graph.add(core::Op::Len(NodeId(i), axis))).collect();
            if !ty.is_scalar() {
                self.extents.insert(NodeId(i), extents);
            }
        }
        for (i, state) in (0..).zip(&all.states) {
            self.ids.insert(std::ptr::from_ref(*state), NodeId(i));
        }
        for (n, found) in all.captured.iter().zip(outside) {
            let g = &mut self.f.graph;
            let id = match found {
                Outside::Param(i) => NodeId(*i),
                Outside::Length(state, axis) => g.add(core::Op::Len(NodeId(*state), *axis)),
                Outside::First(i) => {
                    debug_assert_eq!(Lit::i64(0).ty, Ty::I64);
                    let zero = g.lit(Lit::i64(0));
                    g.add(core::Op::Elem(NodeId(*i), vec![zero]))
                }
            };
            self.ids.insert(std::ptr::from_ref(*n), id);
        }
    }
}
