//! Iterations: the step becomes a function of its own, from the states and what it mentions from
//! outside to the next states.

use super::state::{Lowered, Lowering, needed};
use crate::node::{Ends, Iteration, Node, NodeRef};
use arraygpu_compiler::Result;
use arraygpu_compiler::build::Outside;
use arraygpu_compiler::core::{self, Check, Form, NodeId};
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;

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
        // behind the states is the number of steps, whose place is the last argument
        let is_number = which as usize == all.states.len();
        let which = if is_number { args.len() as u32 - 1 } else { which };
        self.b.set_word(Some(all.word().into()));
        let value = self.b.iterate(core::Op::Iterate { step, which, form, count, args });
        self.b.set_word(None);
        value
    }

    fn step(&mut self, node: NodeRef, all: &Iteration) -> Result<Lowered> {
        let [inits, captured] =
            [&all.inits, &all.captured].map(|nodes| nodes.iter().map(|n| self.id(n)).collect::<Vec<_>>());
        let (mut args, outside) = self.b.step_args(&inits, &captured);
        let number = self.b.function.steps.len() as u32;
        let mut step = self.inner("step", node, (all, &args, &outside), &all.bodies)?;
        let next: Vec<NodeId> = all.bodies.iter().map(|body| step.id(body)).collect();
        step.b.end_step(&next)?;
        let mut functions = vec![step.b.function];
        let form = match all.ends {
            Ends::Last => Form::Last,
            Ends::Each => Form::Each,
            Ends::While { condition, every } => {
                let mut check = self.inner("check", node, (all, &args, &outside), &[condition])?;
                let holds = check.id(condition);
                check.b.end_check(holds);
                functions.push(check.b.function);
                args.push(self.b.no_steps());
                Form::Until(Check { step: number + 1, every })
            }
        };
        self.b.function.steps.extend(functions.into_iter().map(Arc::new));
        Ok(Lowered { step: number, form, args })
    }

    /// A function of the states that computes these values.
    fn inner(
        &mut self,
        kind: &str,
        node: NodeRef,
        (all, args, outside): (&Iteration, &[NodeId], &[Outside]),
        values: &[NodeRef],
    ) -> Result<Lowering> {
        let step = self.b.begin_step(kind, args, all.states.len());
        let mut inner = Lowering::of(step, self.keeps_names);
        inner.begin(all, outside);
        let known: HashSet<*const Node> = inner.ids.keys().copied().collect();
        for n in needed(values, &known) {
            inner.node(n)?;
        }
        let place = self.place(node.at);
        inner.b.at(place);
        inner.b.set_word(Some(all.word().into()));
        Ok(inner)
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
            let id = found.clone().node(self.b.graph());
            self.ids.insert(std::ptr::from_ref(*n), id);
        }
    }
}
