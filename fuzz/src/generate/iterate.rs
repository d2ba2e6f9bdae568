//! Iterations: steps are functions of their own, made for the states and what else they get.

use super::{Gen, ok};
use arraygpu_compiler::core::MAX_RANK;
use arraygpu_compiler::core::{Check, Form, Function, NodeId, Op, Output, Param, Rule, Type};
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty};
use std::sync::Arc;

/// The deepest nesting of iterations.
const MOST_INSIDE: usize = 2;

impl Gen<'_> {
    /// The array after some steps, alone or beside other states.
    pub(super) fn iterated(&mut self, x: NodeId) -> NodeId {
        let closed: Vec<NodeId> = self.arrays.iter().copied().filter(|y| self.is_closed(*y)).collect();
        if !self.is_closed(x) || self.inside >= MOST_INSIDE || self.nest > 0 || self.is_full() {
            return x;
        }
        let states = match self.rng.below(8) {
            0 => 2 + self.rng.below(8),
            1 | 2 => 2,
            _ => 1,
        };
        let mut args = vec![x];
        while args.len() < states {
            args.push(self.rng.pick(&closed));
        }
        for _ in 0..self.rng.pick(&[0, 0, 1, 2]) {
            args.push(self.rng.pick(&closed));
        }
        args.extend(self.captured());
        let steps = self.rng.pick(&[0, 1, 2, 2, 3, 4, 5]);
        let (step, work) = self.step(&args, states);
        if work * steps as f64 > self.most_work - self.work {
            return x;
        }
        self.work += work * steps as f64;
        if self.inside > 0 {
            self.note("a step in a step");
        }
        if states > 1 {
            self.note(if states > 8 { "nine states" } else { "several states" });
        }
        let number = self.b.function.steps.len() as u32;
        let form = match self.rng.below(8) {
            0 | 1 if args[..states].iter().all(|s| usize::from(self.ty(*s).rank) < MAX_RANK) => Form::Each,
            2 | 3 => Form::Until(Check { step: number + 1, every: self.rng.pick(&[1, 1, 2, 3]) }),
            4 => Form::Or(number + 1),
            _ => Form::Last,
        };
        let other = match form {
            Form::Until(_) => Some(self.check(&args, &step)),
            Form::Or(_) => Some(reversed(&step)),
            Form::Last | Form::Each => None,
        };
        self.b.function.steps.push(Arc::new(step));
        self.b.function.steps.extend(other.map(Arc::new));
        // other calls have few steps, too
        let (count, most) = (self.host_of(steps), self.int(7));
        let count = self.add(Op::Binary(BinaryOp::Min, count, most));
        let zero = self.int(0);
        self.next_line();
        ok(self.b.require("iterate", Rule::Count, zero, count));
        let mut made = Vec::new();
        match form {
            Form::Each => self.note("collected states"),
            Form::Until(_) => {
                let (one, none) = (self.int(1), self.int(-1));
                let none = self.add(Op::Fill(one, none));
                args.push(none);
                let which = args.len() as u32 - 1;
                let steps = self.add(Op::Iterate { step: number, which, form, count, args: args.clone() });
                self.arrays.push(steps);
                self.note("a condition of an iteration");
            }
            Form::Or(_) => self.note("a function in place of no steps"),
            Form::Last => {}
        }
        for which in 0..states as u32 {
            let state = self.add(Op::Iterate { step: number, which, form, count, args: args.clone() });
            made.push(state);
            // some states may not be used
            if which > 0 && !self.rng.one_in(4) {
                self.arrays.push(state);
            }
        }
        made[0]
    }

    /// Host scalars, and other scalars as arrays of one element.
    fn captured(&mut self) -> Vec<NodeId> {
        let mut out = Vec::new();
        if self.rng.one_in(2) {
            out.push(self.host(1));
        }
        let closed: Vec<NodeId> = self.scalars.iter().copied().filter(|n| self.is_closed(*n)).collect();
        if !closed.is_empty() && self.rng.one_in(2) {
            let value = self.rng.pick(&closed);
            if matches!(self.b.function.graph.op(value), Op::Param(_)) {
                out.push(value);
            } else {
                let one = self.int(1);
                self.next_line();
                out.push(ok(self.b.fill(one, value)));
                self.note("a scalar from outside of an iteration");
            }
        }
        out
    }

    /// A function from what a step gets to the number of the step, or -1, as an element of it says.
    fn check(&mut self, args: &[NodeId], step: &Function) -> Function {
        let name = format!("{}_check", step.name);
        let mut extents = Vec::new();
        let mut values = Vec::new();
        for a in args {
            let ty = self.ty(*a);
            extents.push(if ty.is_scalar() { Vec::new() } else { self.shape(*a) });
            let value: Option<Lit> = ty.is_scalar().then(|| self.value(*a));
            values.push(value);
        }
        let mut function = Function::new(&name, step.params.clone());
        (function.fast, function.tensor_cores, function.stencil) =
            (step.fast, step.tensor_cores, step.stencil);
        let types = self.types.clone();
        let (inside, wild) = (self.inside + 1, self.wild);
        let mut g = Gen::new(function, extents, values, types, self.rng);
        (g.inside, g.wild, g.most_nodes) = (inside, wild, 40);
        let turn = g.add(Op::Turn);
        g.scalars.push(turn);
        if g.rng.one_in(2) {
            let s = g.reduction_of(NodeId(0));
            g.scalars.push(s);
        }
        let goes_on = match g.rng.below(3) {
            // so that some iterations end early
            0 => {
                let two = g.int(2);
                g.add(Op::Binary(BinaryOp::Lt, turn, two))
            }
            _ => g.scalar(Ty::Bool, 3),
        };
        let (one, minus) = (g.int(1), g.int(-1));
        let number = g.add(Op::Select(goes_on, minus, turn));
        let value = g.add(Op::Fill(one, number));
        g.b.function.results.push(Output { name: "steps".into(), value });
        let (function, constructs, refused) = (g.b.function, g.constructs, g.refused);
        self.constructs.extend(constructs);
        self.refused = self.refused.or(refused);
        function
    }

    /// A function from these to the next states, and what the interpreter does in it.
    fn step(&mut self, args: &[NodeId], states: usize) -> (Function, f64) {
        let mut params = Vec::new();
        let (mut extents, mut values) = (Vec::new(), Vec::new());
        for (i, a) in args.iter().enumerate() {
            let ty = self.ty(*a);
            params.push(Param { name: format!("p{i}"), ty });
            extents.push(if ty.is_scalar() { Vec::new() } else { self.shape(*a) });
            let value: Option<Lit> = ty.is_scalar().then(|| self.value(*a));
            values.push(value);
        }
        let name = format!("{}__step{}", self.b.function.name, self.b.function.steps.len());
        let mut function = Function::new(&name, params);
        let of = &self.b.function;
        (function.fast, function.tensor_cores, function.stencil) = (of.fast, of.tensor_cores, of.stencil);
        let (inside, wild, types) = (self.inside + 1, self.wild, self.types.clone());
        let most = (self.most_work - self.work) / 2.0;
        let mut g = Gen::new(function, extents, values, types, self.rng);
        (g.inside, g.wild) = (inside, wild);
        g.most_nodes = g.most_nodes.min(100);
        g.most_work = most;
        if g.rng.one_in(2) {
            let turn = g.add(Op::Turn);
            g.scalars.push(turn);
            g.note("the number of a step");
        }
        for _ in 0..g.rng.below(4) {
            g.something();
        }
        if g.rng.one_in(2) {
            let x = g.some_array();
            let x = g.elsewhere(x);
            let s = g.reduction_of(x);
            g.scalars.push(s);
        }
        for i in 0..states {
            let value = g.next_state(NodeId(i as u32));
            g.b.function.results.push(Output { name: format!("next{i}"), value });
        }
        let work = g.results_work();
        let work = g.work + work;
        let (function, constructs, refused) = (g.b.function, g.constructs, g.refused);
        self.constructs.extend(constructs);
        self.refused = self.refused.or(refused);
        (function, work)
    }

    /// An array of a state's type and shape.
    fn next_state(&mut self, state: NodeId) -> NodeId {
        let (ty, shape) = (self.ty(state), self.shape(state));
        let mut fits = Vec::new();
        for y in self.arrays.clone() {
            if self.ty(y) == ty && self.shape(y) == shape {
                fits.push(y);
            }
        }
        let value = match self.rng.below(4) {
            0 => self.rng.pick(&fits),
            1 => self.neighbours(state),
            _ => self.map_of(state, ty.elem),
        };
        let value = if self.affords(value) { value } else { state };
        for axis in 0..ty.rank {
            let [before, after] = [state, value].map(|x| self.b.extents(x)[usize::from(axis)]);
            self.next_line();
            ok(self.b.require("iterate: the state before and after a step", Rule::Same, before, after));
        }
        value
    }

    /// An array computed from the neighbours of each element.
    fn neighbours(&mut self, x: NodeId) -> NodeId {
        let Type { elem, rank } = self.ty(x);
        let extents = self.b.extents(x).to_vec();
        let lambda = self.lambda(&vec![Ty::I64; rank.into()], &extents, |g, _| {
            for _ in 0..2 {
                let read = g.read_of(x, 1);
                g.scalars.push(read);
            }
            g.scalar(elem, 3)
        });
        self.next_line();
        ok(self.b.generate("generate", extents, lambda))
    }
}

/// A function that reverses the states of a step.
fn reversed(step: &Function) -> Function {
    let mut function = Function::new(&format!("{}_or", step.name), step.params.clone());
    (function.fast, function.tensor_cores, function.stencil) = (step.fast, step.tensor_cores, step.stencil);
    for (which, state) in (0..).zip(&step.results) {
        let value = function.graph.add(Op::Reverse(NodeId(which), 0));
        function.results.push(Output { name: state.name.clone(), value });
    }
    function
}
