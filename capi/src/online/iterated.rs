//! The C functions that add iterations (docs/semantics.md 5.11). A step is a separate function, so it has a builder
//! of its own, which remembers for which iteration it was begun.

use super::begun::Begun;
use super::builder::{BUILDERS, Builder, with};
use super::joined::make_all;
use crate::abi::{AgpuBuilder, AgpuNode, AgpuStatus};
use crate::error::{INVALID_ARGUMENT, Result, fail, out};
use crate::handle::Pin;
use crate::interrupt::refused;
use arraygpu_compiler::build::Outside;
use arraygpu_compiler::core::{Check, Form, Function, NodeId, Op, Type};
use arraygpu_compiler::counted;
use arraygpu_compiler::scalar::Ty;
use std::ptr::without_provenance_mut;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

/// Begins the function of a step of an iteration, or of the check that ends one: a builder of its own, in which all
/// nodes of the step are made. Its parameters stand for `count` nodes of `builder`: the first `states` of them are the
/// initial states, which are arrays, the others are what the step reads from outside, computed once. `params` receives
/// count + 1 nodes of the step: one for each, and the number of the step, an i64 that is 0 first. The caller frees the
/// step's builder.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_step(
    builder: *mut AgpuBuilder,
    args: *const AgpuNode,
    count: i32,
    states: i32,
    step: *mut *mut AgpuBuilder,
    params: *mut AgpuNode,
) -> AgpuStatus {
    with("agpu_builder_step", builder, |b| {
        let out = out(step, "step")?;
        if params.is_null() {
            fail!(INVALID_ARGUMENT, "params is NULL");
        }
        // SAFETY: the caller promises it.
        let given = unsafe { b.nodes(args, count, "argument") }?;
        let Some(states) = usize::try_from(states).ok().filter(|n| (1..=given.len()).contains(n)) else {
            fail!(INVALID_ARGUMENT, "{} among {}", counted(states, "state"), counted(count, "argument"));
        };
        let (inits, outside) = given.split_at(states);
        if let Some(i) = inits.iter().position(|n| b.function().ty(*n).is_scalar()) {
            fail!(
                INVALID_ARGUMENT,
                "state {i} is a scalar: agpu_builder_fill makes an array of one element of it"
            );
        }
        b.closed(&given, "argument")?;
        let (args, outside) = b.function().step_args(inits, outside);
        let function = b.function().begin_step("step", &args, states);
        let mut inner = Builder::of_step(function, Begun { outer: b.serial(), args, states });
        let made: Vec<AgpuNode> = {
            let states = (0..states as u32).map(NodeId);
            let graph = inner.function().graph();
            let mut nodes: Vec<NodeId> = states.collect();
            nodes.extend(outside.into_iter().map(|from: Outside| from.node(graph)));
            nodes.push(graph.add(Op::Turn));
            nodes.into_iter().map(|n| inner.number(n)).collect()
        };
        let handle = BUILDERS.insert(Mutex::new(inner))?;
        for (i, node) in made.into_iter().enumerate() {
            // SAFETY: the caller promises room for them.
            unsafe { params.add(i).write(node) };
        }
        out.write(without_provenance_mut(handle));
        Ok(())
    })
}

/// Adds an iteration of at most `most` steps, an i64 that the host can compute and that is 0 or more (a shape rule).
/// `next` are the next states, as many nodes of `step` as that has states; each keeps its extents (a shape rule).
/// `nodes` receives a node for each state: that after the last step or, if `collect`, the states after all steps, along a
/// new first axis. If `check` is not NULL, it is a builder that agpu_builder_step() began with the arguments of `step`,
/// and `condition` a bool of it: the iteration ends where that does not hold for the states before a step whose number is
/// a multiple of `every`, or for those after the last one. `nodes` then receives one node more: a vector of one i64, the
/// number of steps, or -1 if the condition still holds at the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_iterate(
    builder: *mut AgpuBuilder,
    most: AgpuNode,
    step: *mut AgpuBuilder,
    next: *const AgpuNode,
    states: i32,
    collect: bool,
    check: *mut AgpuBuilder,
    condition: AgpuNode,
    every: i32,
    nodes: *mut AgpuNode,
) -> AgpuStatus {
    let made = |b: &mut Builder| {
        let count = b.node(most, "the number of steps")?;
        let step = Inner::of(step, "step", builder)?;
        // SAFETY: the caller promises it.
        let (step, mut args) = step.ended(b, |s| unsafe { end_step(s, next, states) })?;
        let before = b.function().function.steps.len();
        let mut functions = vec![step];
        let form = match (check.is_null(), collect) {
            (true, true) => Form::Each,
            (true, false) => Form::Last,
            (false, true) => fail!(INVALID_ARGUMENT, "states are collected of iterations without a check"),
            (false, false) => {
                let Some(every) = u32::try_from(every).ok().filter(|n| *n > 0) else {
                    fail!(INVALID_ARGUMENT, "a check is made every 1 or more steps, not every {every}");
                };
                let check = Inner::of(check, "check", builder)?;
                let (check, of_check) = check.ended(b, |c| end_check(c, condition))?;
                if of_check != args {
                    fail!(INVALID_ARGUMENT, "the check was begun with other arguments than the step");
                }
                functions.push(check);
                args.push(b.function().no_steps());
                Form::Until(Check { step: before as u32 + 1, every })
            }
        };
        for (mut function, kind) in functions.into_iter().zip(["step", "check"]) {
            function.name = format!("{}__{kind}{before}", b.function().function.name);
            b.function().function.steps.push(Arc::new(function));
        }
        // the value after the states is the number of steps, whose place is the last argument
        let number = matches!(form, Form::Until(_)).then_some(args.len() - 1);
        let value = |which: usize| {
            let (step, which, args) = (before as u32, which as u32, args.clone());
            b.function().iterate(Op::Iterate { step, which, form, count, args }).map_err(refused)
        };
        let all: Result<Vec<NodeId>> = (0..states as usize).chain(number).map(value).collect();
        all.inspect_err(|_| b.function().function.steps.truncate(before))
    };
    // SAFETY: the caller promises it.
    unsafe { make_all("agpu_builder_iterate", builder, nodes, (states, usize::from(!check.is_null())), made) }
}

/// Makes the next states the results of a step.
///
/// # Safety
/// There are `count` nodes.
unsafe fn end_step(step: &mut Builder, next: *const AgpuNode, count: i32) -> Result<()> {
    // SAFETY: the caller promises it.
    let next = unsafe { step.nodes(next, count, "next state") }?;
    let states = step.step_of().map_or(0, |begun| begun.states);
    if states != next.len() {
        fail!(INVALID_ARGUMENT, "the step gives {} of {states}", counted(next.len(), "state"));
    }
    for (i, value) in next.iter().enumerate() {
        let [before, after] = [NodeId(i as u32), *value].map(|n| step.function().ty(n));
        if before != after {
            fail!(INVALID_ARGUMENT, "state {i} is a {before}, the step gives a {after}");
        }
    }
    step.closed(&next, "next state")?;
    step.function().end_step(&next).map_err(refused)
}

/// Makes a condition the result of a check.
fn end_check(check: &mut Builder, condition: AgpuNode) -> Result<()> {
    let condition = check.node(condition, "the condition")?;
    let ty = check.function().ty(condition);
    if ty != Type::scalar(Ty::Bool) {
        fail!(INVALID_ARGUMENT, "the condition is a {ty}, it must be a bool");
    }
    check.closed(&[condition], "condition")?;
    check.function().end_check(condition);
    Ok(())
}

/// The builder of a step that another builder takes.
struct Inner {
    pin: Pin<Mutex<Builder>>,
    what: &'static str,
}

impl Inner {
    fn of(handle: *mut AgpuBuilder, what: &'static str, outer: *mut AgpuBuilder) -> Result<Inner> {
        if handle == outer {
            fail!(INVALID_ARGUMENT, "the {what} is the builder itself");
        }
        Ok(Inner { pin: BUILDERS.pin(handle.addr())?, what })
    }

    /// The finished function, whose results `end` makes, and the arguments. The builder stays as it was.
    fn ended(
        &self,
        outer: &mut Builder,
        end: impl FnOnce(&mut Builder) -> Result<()>,
    ) -> Result<(Function, Vec<NodeId>)> {
        let Inner { pin, what } = self;
        // two threads that take each other's builders must not wait for each other
        let mut inner: MutexGuard<Builder> = match pin.try_lock() {
            Ok(inner) => inner,
            Err(TryLockError::Poisoned(inner)) => inner.into_inner(),
            Err(TryLockError::WouldBlock) => {
                fail!(INVALID_ARGUMENT, "the {what} is in use by another thread")
            }
        };
        let args = match inner.step_of() {
            Some(begun) if begun.outer == outer.serial() => begun.args.clone(),
            Some(_) => fail!(INVALID_ARGUMENT, "the {what} was begun for another builder"),
            None => fail!(INVALID_ARGUMENT, "the {what} was not begun by agpu_builder_step"),
        };
        let (mark, place, word) = (inner.function().mark(), inner.loc(), inner.word());
        inner.set_place(outer.loc());
        inner.set_word(outer.word());
        let done = end(&mut inner);
        inner.set_place(place);
        inner.set_word(word);
        let function = inner.function().function.clone();
        inner.function().function.results.clear();
        inner.function().undo(mark);
        outer.ask_as(&inner);
        done.map(|()| (function, args))
    }
}
