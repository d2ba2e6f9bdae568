//! Iterations (semantics 5.11): the functions of their steps, what these get, and the values of an iteration.

use super::Builder;
use super::outside::{Begun, Outside};
use crate::Result;
use crate::core::linear::{self, Linear};
use crate::core::{Function, NodeId, Op, Output, Param, Require, Rule};
use rustc_hash::FxHashMap as HashMap;

/// The most parameters that the name of a step's parameter is made of.
const MOST_IN_NAME: usize = 2;

impl Builder {
    /// Returns the arguments of a step: the initial states, followed by what it needs of the values from outside.
    ///
    /// A step and its check are begun with the same values, and get the same arguments, whatever rules came between.
    pub fn step_args(&mut self, inits: &[NodeId], outside: &[NodeId]) -> (Vec<NodeId>, Vec<Outside>) {
        if let Some(begun) = &self.begun
            && (&begun.inits[..], &begun.outside[..]) == (inits, outside)
        {
            return begun.made.clone();
        }
        let made = self.new_step_args(inits, outside);
        self.begun = Some(Begun { inits: inits.into(), outside: outside.into(), made: made.clone() });
        made
    }

    fn new_step_args(&mut self, inits: &[NodeId], outside: &[NodeId]) -> (Vec<NodeId>, Vec<Outside>) {
        // scalars come last, because they may be lengths of arrays that are named behind them
        let (scalars, arrays): (Vec<usize>, Vec<usize>) =
            (0..outside.len()).partition(|i| self.ty(outside[*i]).is_scalar());
        let mut args = inits.to_vec();
        args.extend(arrays.iter().map(|i| outside[*i]));
        let mut places: HashMap<Linear, (u32, u8)> = HashMap::default();
        for (i, arg) in (0..).zip(&args) {
            for (axis, extent) in (0..).zip(self.extents(*arg).to_vec()) {
                let form = self.form(extent);
                places.entry(form).or_insert((i, axis));
            }
        }
        let mut found: Vec<Outside> =
            (inits.len() as u32..).map(Outside::Param).take(outside.len()).collect();
        for (number, i) in (inits.len() as u32..).zip(&arrays) {
            found[*i] = Outside::Param(number);
        }
        for i in scalars {
            found[i] = match self.lengths_of(outside[i], &places) {
                Some(lengths) => lengths,
                None => self.scalar_outside(outside[i], &mut args),
            };
        }
        (args, found)
    }

    /// A scalar from outside as lengths of the step's parameters, which are at these places.
    fn lengths_of(&mut self, value: NodeId, places: &HashMap<Linear, (u32, u8)>) -> Option<Outside> {
        if !linear::is_i64(&self.function.graph, value) {
            return None;
        }
        let form = self.form(value);
        if let Some((i, axis)) = places.get(&form) {
            return Some(Outside::Lengths(0, vec![(*i, *axis, 1)]));
        }
        let place = |(length, k): (&NodeId, &i64)| {
            let length = Linear { constant: 0, terms: [(*length, 1)].into() };
            places.get(&length).map(|(i, axis)| (*i, *axis, *k))
        };
        let terms = form.terms.iter().map(place).collect::<Option<Vec<_>>>()?;
        Some(Outside::Lengths(form.constant, terms))
    }

    /// Adds a scalar from outside to the arguments.
    fn scalar_outside(&mut self, value: NodeId, args: &mut Vec<NodeId>) -> Outside {
        let next = args.len() as u32;
        if self.is_device(value) {
            args.push(self.alone(value));
            return Outside::First(next);
        }
        args.push(value);
        Outside::Param(next)
    }

    /// The linear form of a scalar, in which lengths that are equal by the rules so far are one.
    fn form(&mut self, n: NodeId) -> Linear {
        let (known, equations) = &mut self.equations;
        for r in self.function.requires[*known..].iter().filter(|r| r.rule == Rule::Same) {
            equations.add(&self.function.graph, r.a, r.b);
        }
        *known = self.function.requires.len();
        equations.resolve(&Linear::of(&self.function.graph, n))
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
    pub fn begin_step(&mut self, kind: &str, args: &[NodeId], states: usize) -> Function {
        let params = self.step_params(args, states);
        let of = &self.function;
        let mut step = Function::new(&format!("{}__{kind}{}", of.name, of.steps.len()), params);
        (step.fast, step.tensor_cores, step.stencil) = (of.fast, of.tensor_cores, of.stencil);
        step.loc.clone_from(&of.loc);
        self.equal_extents(args, states, &mut step);
        step
    }

    /// The step's parameters, with names that the author knows.
    fn step_params(&mut self, args: &[NodeId], states: usize) -> Vec<Param> {
        let mut params: Vec<Param> = Vec::new();
        for (i, arg) in args.iter().enumerate() {
            let base = match self.function.graph.op(*arg) {
                Op::Param(p) => self.function.params[*p as usize].name.clone(),
                _ if i < states => "state".into(),
                _ => self.name_outside(*arg),
            };
            let taken = |name: &String| params.iter().any(|p| p.name == *name);
            let numbered = (i..).map(|i| format!("{base}_{i}"));
            let name =
                std::iter::once(base.clone()).chain(numbered).find(|name| !taken(name)).unwrap_or_default();
            params.push(Param { name, ty: self.ty(*arg) });
        }
        params
    }

    /// A name for a value from outside: `step` for the number of a step around, else the names of the few parameters
    /// from which it is computed, as in the subjects of rules.
    fn name_outside(&mut self, arg: NodeId) -> String {
        let value = match *self.function.graph.op(arg) {
            Op::Fill(_, value) => value,
            _ => arg,
        };
        if let Op::Turn = self.function.graph.op(value) {
            return "step".into();
        }
        let names = self.names(&[value]);
        if names.is_empty() || names.len() > MOST_IN_NAME { "outer".into() } else { names.join("_") }
    }

    /// Lengths that are equal here are equal in the step.
    fn equal_extents(&mut self, args: &[NodeId], states: usize, step: &mut Function) {
        let mut first: HashMap<Linear, NodeId> = HashMap::default();
        for (i, arg) in args.iter().enumerate() {
            for (axis, extent) in (0..).zip(self.extents(*arg).to_vec()) {
                let extent = self.form(extent);
                let own = step.graph.add(Op::Len(NodeId(i as u32), axis));
                match first.get(&extent) {
                    // equal lengths within the states are for the caller to ensure
                    Some(other) if i >= states => {
                        let (subject, loc) = (self.word_for("iterate").into(), self.loc.clone());
                        step.requires.push(Require { rule: Rule::Same, a: *other, b: own, subject, loc });
                    }
                    Some(_) => {}
                    None => drop(first.insert(extent, own)),
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
                let subject = format!("{}: the state before and after a step", self.word_for("iterate"));
                self.require(&subject, Rule::Same, before, after)?;
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
