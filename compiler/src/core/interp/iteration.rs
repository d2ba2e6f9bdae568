//! Iterations (semantics 5.11).

use super::env::Env;
use super::machine::Machine;
use super::values::{Array, Val};
use crate::core::{Form, Function, NodeId, Op};
use crate::error::Result;
use crate::scalar::Lit;
use std::rc::Rc;

impl Machine<'_> {
    /// Returns the value of an iteration, and remembers the values of its siblings.
    pub(super) fn iteration(&mut self, n: NodeId, env: &Env) -> Val {
        let (f, g) = (self.f, self.g);
        let Op::Iterate { step, which, form, count, args } = g.op(n) else {
            unreachable!("{n:?} is an iteration")
        };
        let begin = args.iter().map(|a| match g.ty(*a).is_scalar() {
            true => Val::Scalar(self.host(*a, env)),
            false => Val::Array(self.array(*a, env)),
        });
        let begin: Vec<Val> = begin.collect();
        let steps = self.bound(*count, env);
        let step_function: &Function = &f.steps[*step as usize];
        let states = match *form {
            Form::Or(other) if steps == 0 => {
                self.made(step_function, begin, |m, all| m.step(&f.steps[other as usize], all, 0))
            }
            Form::Last | Form::Or(_) => {
                self.made(step_function, begin, |m, all| m.steps(step_function, steps, all))
            }
            Form::Each => self.made(step_function, begin, |m, all| m.each(step_function, steps, all)),
            Form::Until(check) => {
                let stops = |m: &mut Self, all: &mut Vec<Val>| {
                    let number = all.pop();
                    let mut found = -1;
                    for turn in 0..=steps {
                        if check.is_due(turn, steps) {
                            found = m.checked_by(&f.steps[check.step as usize], all, turn)?;
                        }
                        if found >= 0 || turn == steps {
                            break;
                        }
                        m.step(step_function, all, turn)?;
                    }
                    if let Some(Val::Array(shape)) = number {
                        let elements = vec![Lit::i64(found); shape.elements.len()];
                        all.push(Val::Array(Rc::new(Array { extents: shape.extents.clone(), elements })));
                    }
                    Ok(())
                };
                self.made(step_function, begin, stops)
            }
        };
        let own = states[*which as usize].clone();
        for (i, state) in (0..).zip(states) {
            let op = Op::Iterate { step: *step, which: i, form: *form, count: *count, args: args.clone() };
            if let Some(sibling) = g.find(&op) {
                self.closed.insert(sibling, state);
            }
        }
        own
    }

    /// Makes the steps. The rules of a step must hold for the first states, even if there are no steps;
    /// otherwise the call fails.
    fn made(
        &mut self,
        step: &Function,
        mut args: Vec<Val>,
        make: impl FnOnce(&mut Self, &mut Vec<Val>) -> Result<()>,
    ) -> Vec<Val> {
        let given = args[..step.params.len()].to_vec();
        let done = Machine::checked(step, given).map(|_| ()).and_then(|()| make(self, &mut args));
        self.failed = self.failed.take().or(done.err());
        args
    }

    fn step(&mut self, step: &Function, args: &mut [Val], turn: i64) -> Result<()> {
        let (next, recorded) = Machine::call(step, args.to_vec(), turn, self.watch)?;
        self.recorded |= recorded;
        next.into_iter().zip(args).for_each(|(new, old)| *old = new);
        Ok(())
    }

    fn steps(&mut self, step: &Function, count: i64, args: &mut [Val]) -> Result<()> {
        (0..count).try_for_each(|turn| self.step(step, args, turn))
    }

    /// Collects the states after each step.
    fn each(&mut self, step: &Function, count: i64, args: &mut [Val]) -> Result<()> {
        let before: Vec<Val> = args[..step.results.len()].to_vec();
        let mut rows: Vec<Vec<Lit>> = vec![Vec::new(); before.len()];
        for turn in 0..count {
            self.step(step, args, turn)?;
            for (rows, state) in rows.iter_mut().zip(&*args) {
                if let Val::Array(state) = state {
                    rows.extend(&state.elements);
                }
            }
        }
        for ((state, first), elements) in args.iter_mut().zip(before).zip(rows) {
            if let Val::Array(first) = first {
                let extents = [&[count][..], &first.extents].concat();
                *state = Val::Array(Rc::new(Array { extents, elements }));
            }
        }
        Ok(())
    }

    /// Returns the number that a check gives.
    fn checked_by(&mut self, check: &Function, args: &[Val], turn: i64) -> Result<i64> {
        let (found, recorded) = Machine::call(check, args.to_vec(), turn, self.watch)?;
        self.recorded |= recorded;
        Ok(match found.first() {
            Some(Val::Array(number)) => number.elements.first().map_or(-1, |n| n.as_i64()),
            _ => -1,
        })
    }
}
