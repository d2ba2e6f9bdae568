//! Iterations (semantics 5.11): the functions of their steps, what these get, and the values of an iteration.

use super::Builder;
use crate::Result;
use crate::core::{Function, Graph, NodeId, Op, Output, Param, Require, Rule};
use crate::scalar::Lit;
use rustc_hash::FxHashMap as HashMap;

/// How a step gets a value from outside.
#[derive(Clone, Copy, Debug)]
pub enum Outside {
    /// It is a parameter.
    Param(u32),
    /// It is the only element of a parameter, because only the device knows it.
    First(u32),
    /// It is a length of a state.
    Length(u32, u8),
}

impl Outside {
    /// Adds the value to a step.
    pub fn node(self, step: &mut Graph) -> NodeId {
        match self {
            Outside::Param(i) => NodeId(i),
            Outside::Length(state, axis) => step.add(Op::Len(NodeId(state), axis)),
            Outside::First(i) => {
                let zero = step.lit(Lit::i64(0));
                step.add(Op::Elem(NodeId(i), vec![zero]))
            }
        }
    }
}

impl Builder {
    /// Returns the arguments of a step: the initial states, followed by what it needs of the values from outside.
    pub fn step_args(&mut self, inits: &[NodeId], outside: &[NodeId]) -> (Vec<NodeId>, Vec<Outside>) {
        let (mut args, mut found) = (inits.to_vec(), Vec::new());
        for value in outside {
            let how = self.outside(*value, inits, args.len() as u32);
            match how {
                Outside::Param(_) => args.push(*value),
                Outside::First(_) => args.push(self.alone(*value)),
                Outside::Length(..) => {}
            }
            found.push(how);
        }
        (args, found)
    }

    /// How a value from outside gets into the step. `next`: the number of the next parameter.
    fn outside(&mut self, value: NodeId, inits: &[NodeId], next: u32) -> Outside {
        if !self.ty(value).is_scalar() {
            return Outside::Param(next);
        }
        for (state, init) in (0..).zip(inits) {
            if let Some(axis) = self.extents(*init).iter().position(|e| *e == value) {
                return Outside::Length(state, axis as u8);
            }
        }
        if self.is_device(value) { Outside::First(next) } else { Outside::Param(next) }
    }

    /// A scalar as an array of one element.
    fn alone(&mut self, value: NodeId) -> NodeId {
        let one = self.number(1);
        let id = self.function.graph.add(Op::Fill(one, value));
        self.measure(id);
        id
    }

    /// The array that gets the number of steps of an iteration that a condition ends: its last argument.
    pub fn no_steps(&mut self) -> NodeId {
        let none = self.number(-1);
        self.alone(none)
    }

    /// Begins the function of the next step, or of its check, with these arguments, the first of which are the
    /// states.
    pub fn begin_step(&self, kind: &str, args: &[NodeId], states: usize) -> Function {
        let of = &self.function;
        let mut step =
            Function::new(&format!("{}__{kind}{}", of.name, of.steps.len()), self.step_params(args, states));
        (step.fast, step.tensor_cores, step.stencil) = (of.fast, of.tensor_cores, of.stencil);
        step.loc.clone_from(&of.loc);
        self.equal_extents(args, states, &mut step);
        step
    }

    /// The step's parameters, named after the values if these have names.
    fn step_params(&self, args: &[NodeId], states: usize) -> Vec<Param> {
        let mut params: Vec<Param> = Vec::new();
        for (i, arg) in args.iter().enumerate() {
            let base = match self.function.graph.op(*arg) {
                Op::Param(p) => self.function.params[*p as usize].name.clone(),
                _ if i < states => "state".into(),
                _ => "outer".into(),
            };
            let taken = |name: &String| params.iter().any(|p| p.name == *name);
            let numbered = (i..).map(|i| format!("{base}_{i}"));
            let name =
                std::iter::once(base.clone()).chain(numbered).find(|name| !taken(name)).unwrap_or_default();
            params.push(Param { name, ty: self.ty(*arg) });
        }
        params
    }

    /// Lengths that are equal here are equal in the step.
    fn equal_extents(&self, args: &[NodeId], states: usize, step: &mut Function) {
        let mut first: HashMap<NodeId, NodeId> = HashMap::default();
        for (i, arg) in args.iter().enumerate() {
            for (axis, extent) in (0..).zip(self.extents(*arg)) {
                let own = step.graph.add(Op::Len(NodeId(i as u32), axis));
                match first.get(extent) {
                    // equal lengths within the states are for the caller to ensure
                    Some(other) if i >= states => {
                        let (subject, loc) = ("iterate".into(), self.loc.clone());
                        step.requires.push(Require { rule: Rule::Same, a: *other, b: own, subject, loc });
                    }
                    Some(_) => {}
                    None => drop(first.insert(*extent, own)),
                }
            }
        }
    }

    /// Ends a step: its results are the next states, which keep their extents.
    pub fn end_step(&mut self, next: &[NodeId]) -> Result<()> {
        for (i, value) in next.iter().enumerate() {
            let (state, value) = (NodeId(i as u32), *value);
            for axis in 0..usize::from(self.ty(value).rank) {
                let [before, after] = [state, value].map(|n| self.extents(n)[axis]);
                self.require("iterate: the state before and after a step", Rule::Same, before, after)?;
            }
            self.function.results.push(Output { name: format!("next{i}"), value });
        }
        Ok(())
    }

    /// Ends a check: it gives the number of the step where the condition does not hold, else -1.
    pub fn end_check(&mut self, holds: NodeId) {
        let (turn, goes_on) = (self.function.graph.add(Op::Turn), self.number(-1));
        let number = self.function.graph.add(Op::Select(holds, goes_on, turn));
        let value = self.alone(number);
        self.function.results.push(Output { name: "steps".into(), value });
    }

    /// Adds a value of an iteration, an [`Op::Iterate`].
    pub fn iterate(&mut self, op: Op) -> Result<NodeId> {
        if let Op::Iterate { count, .. } = op {
            let subject = self.subject("iterate", "", &[count]);
            let zero = self.number(0);
            self.require(&subject, Rule::Count, zero, count)?;
        }
        self.node(op)
    }
}
