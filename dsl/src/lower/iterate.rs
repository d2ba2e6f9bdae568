//! Iterations: the step becomes a function of its own, from the states and what it mentions from
//! outside to the next states.

use super::state::{Lowered, Lowering, needed};
use crate::node::{Ends, Iteration, Node, NodeRef};
use arraygpu_compiler::Result;
use arraygpu_compiler::core::{self, Check, Form, Function, NodeId, Output, Param, Require, Rule};
use arraygpu_compiler::scalar::Lit;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

/// How a step gets a value from outside.
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
        let Lowered { step, form, args } = lowered;
        let count = self.id(all.count);
        let subject = self.b.subject("iterate", "", &[count]);
        let zero = self.b.number(0);
        self.b.require(&subject, Rule::Count, zero, count)?;
        // behind the states is the number of steps, whose place is the last argument
        let is_number = which as usize == all.states.len();
        let which = if is_number { args.len() as u32 - 1 } else { which };
        self.b.node(core::Op::Iterate { step, which, form, count, args })
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
        let number = self.b.function.steps.len();
        let mut step = Function::new(&format!("{}__step{number}", self.b.function.name), params);
        let of = &self.b.function;
        (step.fast, step.tensor_cores, step.stencil) = (of.fast, of.tensor_cores, of.stencil);
        step.loc.clone_from(&of.loc);
        let head = step.clone();
        let mut inner = Lowering::of(step, self.keeps_names);
        self.equal_extents(node, &args, states, &mut inner);
        inner.begin(all, &outside);
        let known: HashSet<*const Node> = inner.ids.keys().copied().collect();
        for n in needed(&all.bodies, &known) {
            inner.node(n)?;
        }
        let place = self.place(node.at);
        inner.b.at(place);
        for (i, body) in all.bodies.iter().enumerate() {
            let (value, state) = (inner.id(body), NodeId(i as u32));
            for axis in 0..body.ty.rank {
                let [before, after] = [state, value].map(|n| inner.b.extents(n)[usize::from(axis)]);
                inner.b.require("iterate: the state before and after a step", Rule::Same, before, after)?;
            }
            inner.b.function.results.push(Output { name: format!("next{i}"), value });
        }
        self.b.function.steps.push(Arc::new(inner.b.function));
        let step = number as u32;
        let form = match all.ends {
            Ends::Last => Form::Last,
            Ends::Each => Form::Each,
            Ends::While { condition, every } => {
                let name = format!("{}__check{number}", self.b.function.name);
                let mut inner = Lowering::of(Function { name, ..head }, self.keeps_names);
                self.equal_extents(node, &args, states, &mut inner);
                inner.begin(all, &outside);
                inner.condition(node, condition)?;
                self.b.function.steps.push(Arc::new(inner.b.function));
                args.push(self.no_steps());
                Form::Until(Check { step: step + 1, every })
            }
        };
        Ok(Lowered { step, form, args })
    }

    /// Makes the check of a condition: the number of the step where it does not hold, else -1.
    fn condition(&mut self, node: NodeRef, condition: NodeRef) -> Result<()> {
        let known: HashSet<*const Node> = self.ids.keys().copied().collect();
        for n in needed(&[condition], &known) {
            self.node(n)?;
        }
        let place = self.place(node.at);
        self.b.at(place);
        let (holds, one) = (self.id(condition), self.b.number(1));
        let turn = self.b.graph().add(core::Op::Turn);
        let goes_on = self.b.number(-1);
        let number = self.b.graph().add(core::Op::Select(holds, goes_on, turn));
        let value = self.b.graph().add(core::Op::Fill(one, number));
        self.b.measure(value);
        self.b.function.results.push(Output { name: "steps".into(), value });
        Ok(())
    }

    /// The place of a number of steps.
    fn no_steps(&mut self) -> NodeId {
        let [one, none] = [1, -1].map(|n| self.b.number(n));
        let id = self.b.graph().add(core::Op::Fill(one, none));
        self.b.measure(id);
        id
    }

    /// How a value from outside gets into the step. `next`: the number of the next parameter.
    fn outside(&mut self, n: NodeRef, inits: &[NodeId], next: u32) -> Outside {
        let id = self.id(n);
        if !n.ty.is_scalar() {
            return Outside::Param(next);
        }
        for (state, init) in (0..).zip(inits) {
            if let Some(axis) = self.b.extents(*init).iter().position(|e| *e == id) {
                return Outside::Length(state, axis as u8);
            }
        }
        if self.b.is_device(id) { Outside::First(next) } else { Outside::Param(next) }
    }

    /// A scalar that only the device knows, as an array of one element.
    fn alone(&mut self, n: NodeRef) -> NodeId {
        let (value, one) = (self.id(n), self.b.number(1));
        let id = self.b.graph().add(core::Op::Fill(one, value));
        self.b.measure(id);
        id
    }

    /// The step's parameters, named after the values if these have names.
    fn parameters(&self, args: &[NodeId], states: usize) -> Vec<Param> {
        let mut params: Vec<Param> = Vec::new();
        for (i, arg) in args.iter().enumerate() {
            let base = match self.b.function.graph.op(*arg) {
                core::Op::Param(p) => self.b.function.params[*p as usize].name.clone(),
                _ if i < states => "state".into(),
                _ => "outer".into(),
            };
            let taken = |name: &String| params.iter().any(|p| p.name == *name);
            let numbered = (i..).map(|i| format!("{base}_{i}"));
            let name =
                std::iter::once(base.clone()).chain(numbered).find(|name| !taken(name)).unwrap_or_default();
            params.push(Param { name, ty: self.b.function.graph.ty(*arg) });
        }
        params
    }

    /// Lengths that are equal here are equal in the step.
    fn equal_extents(&mut self, node: NodeRef, args: &[NodeId], states: usize, inner: &mut Lowering) {
        let mut first: HashMap<NodeId, NodeId> = HashMap::new();
        for (i, arg) in args.iter().enumerate() {
            let extents = self.b.extents(*arg).to_vec();
            for (axis, extent) in (0..).zip(extents) {
                let own = inner.b.function.graph.add(core::Op::Len(NodeId(i as u32), axis));
                match first.get(&extent) {
                    // equal lengths within the states are for the caller to ensure
                    Some(other) if i >= states => {
                        let (subject, loc) = ("iterate".into(), self.place(node.at));
                        inner.b.function.requires.push(Require {
                            rule: Rule::Same,
                            a: *other,
                            b: own,
                            subject,
                            loc,
                        });
                    }
                    Some(_) => {}
                    None => drop(first.insert(extent, own)),
                }
            }
        }
    }

    /// Gives the states and the values from outside their nodes in the step.
    fn begin(&mut self, all: &Iteration, outside: &[Outside]) {
        for (i, state) in (0..).zip(&all.states) {
            self.ids.insert(std::ptr::from_ref(*state), NodeId(i));
        }
        if let Some(number) = all.number {
            let turn = self.b.graph().add(core::Op::Turn);
            self.ids.insert(std::ptr::from_ref(number), turn);
        }
        for (n, found) in all.captured.iter().zip(outside) {
            let g = &mut self.b.function.graph;
            let id = match found {
                Outside::Param(i) => NodeId(*i),
                Outside::Length(state, axis) => g.add(core::Op::Len(NodeId(*state), *axis)),
                Outside::First(i) => {
                    let zero = g.lit(Lit::i64(0));
                    g.add(core::Op::Elem(NodeId(*i), vec![zero]))
                }
            };
            self.ids.insert(std::ptr::from_ref(*n), id);
        }
    }
}
