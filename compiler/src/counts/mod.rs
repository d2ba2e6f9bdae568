//! Counts operations, loads and bytes at given sizes: those that the program asks for ([`asked`]),
//! and those that its launches make ([`launched`]). The ratio of both says whether fusion computes
//! anything again. [`ideal`] is what the program asks for where an order has no more than the
//! comparisons that any sort of keys makes, and only inputs and results move, which the table of cliffs
//! compares with.
//!
//! What a program asks for has every value once: once for each binding of the indices that it
//! depends on, however many elements read it, and only where an element is read. What the launches
//! make has every value as often as the loops around it run: a value inside of a nested loop that
//! depends on the inner index alone counts for each outer index, too, because nothing stores it.
//!
//! Operations are those of `docs/explain.md`: scalar operations with elementary functions written
//! out, a multiply-add as two, without arithmetic and choices by indices and without rare branches.
//! A load of the program is a read of a parameter, or a further read of an array. The length
//! of a loop that depends on an index is taken in the middle of that index's range; that of a loop that data end
//! is taken for 64 steps, or for its limit if that is less. Of an iteration's steps that in the middle is counted.

pub mod copies;
mod edges;
pub mod law;
mod model;
mod sizes;
pub mod structure;
mod walk;

pub use model::{Counts, Size};

use crate::core::{Check, Form, Function, NodeId, Op};
use crate::error::Result;
use crate::passes::{elementary, half, loops, simplify, stages};
use crate::scalar::Lit;
use crate::schedule::groups;
use std::sync::Arc;
use walk::Walk;

/// Counts what a function asks for, as its author wrote it.
pub fn asked(source: &Function, sizes: &[Size]) -> Result<Counts> {
    of_source(&prepared(source)?, sizes, None, false)
}

/// Counts the same without what no program needs: the passes of a sort, which reads its keys once and writes their
/// order, and arrays that are stored between, whether the author asks for it or a construct is made of them.
pub fn ideal(source: &Function, sizes: &[Size]) -> Result<Counts> {
    of_source(&prepared(source)?, sizes, None, true)
}

/// Counts what the launches of a function in fused form make. `bytes` is 0: the plan knows it.
pub fn launched(fused: &Function, sizes: &[Size]) -> Result<Counts> {
    launched_in(fused, sizes, None)
}

/// Counts what the launches make where the number of the step around them is `turn`.
fn launched_in(fused: &Function, sizes: &[Size], turn: Option<Lit>) -> Result<Counts> {
    let mut all = Counts::default();
    for group in groups::fused_groups(fused)? {
        let mut walk = Walk::new(fused, sizes, true).in_step(turn);
        match &group.iteration {
            Some((step, form, count, args)) => {
                let (times, of_args) = (walk.count(*count), walk.sizes(args));
                let of_step = |step: u32| launched_in(&fused.steps[step as usize], &of_args, middle(times));
                match form {
                    Form::Until(check) => all.add(of_step(check.step)?, checks(*check, times)),
                    Form::Or(other) if times == 0.0 => all.add(of_step(*other)?, 1.0),
                    _ => {}
                }
                all.add(of_step(*step)?, times);
            }
            None => {
                let items: Vec<NodeId> = group.items.iter().map(|it| it.node).collect();
                all.add(walk.group(&items), 1.0);
            }
        }
    }
    Ok(all)
}

/// Returns the number of the step in the middle of so many, by which all of them are counted.
fn middle(steps: f64) -> Option<Lit> {
    Some(Lit::i64((steps / 2.0) as i64))
}

/// Returns how often an iteration of so many steps is checked.
fn checks(check: Check, steps: f64) -> f64 {
    (steps / f64::from(check.every)).ceil() + 1.0
}

/// Returns the arrays that are read more often than they have elements, those that are read most
/// often first.
pub fn repeated(source: &Function, sizes: &[Size]) -> Vec<NodeId> {
    let mut walk = Walk::new(source, sizes, false);
    walk.results();
    walk.repeated()
}

/// Writes elementary functions out, as the passes do, so that both forms have the same operations.
fn prepared(source: &Function) -> Result<Function> {
    let mut f = source.clone();
    for step in &mut f.steps {
        *step = Arc::new(prepared(step)?);
    }
    for pass in [stages::run, simplify::run, loops::run, half::run, elementary::run] {
        f = pass(f)?;
    }
    Ok(f)
}

fn of_source(f: &Function, sizes: &[Size], turn: Option<Lit>, is_ideal: bool) -> Result<Counts> {
    let mut walk = Walk::new(f, sizes, false).in_step(turn).ideal(is_ideal);
    let mut all = walk.results();
    let mut done: Vec<(u32, Form, NodeId, Vec<NodeId>)> = Vec::new();
    for n in walk.order.clone() {
        let Op::Iterate { step, form, count, args, .. } = walk.g.op(n).clone() else { continue };
        let key = (step, form, count, args.clone());
        if done.contains(&key) {
            continue;
        }
        let (times, of_args) = (walk.count(count), walk.sizes(&args));
        let of_step = |step: u32| of_source(&f.steps[step as usize], &of_args, middle(times), is_ideal);
        match form {
            Form::Until(check) => all.add(of_step(check.step)?, checks(check, times)),
            Form::Or(other) if times == 0.0 => all.add(of_step(other)?, 1.0),
            _ => {}
        }
        all.add(of_step(step)?, times);
        done.push(key);
    }
    Ok(all)
}
