//! Calls that build iterations: a step has a builder of its own.

use super::Thread;
use super::build::{Done, Sort};
use super::checks::{done, out};
use arraygpu_capi::abi::{AgpuBuilder, AgpuNode};
use arraygpu_capi::*;
use std::ptr::null_mut;

/// A step of a vector that reads a scalar, which later calls build on as on any builder.
pub(super) fn step(t: &mut Thread) -> Done {
    let ((builder, at), count) = (t.builder(), if t.rng.one_in(16) { t.rng.pick(&[0, -1]) } else { 2 });
    let args = [t.node(at, Sort::Vector), t.node(at, Sort::Scalar)];
    let (states, mut params) = (if t.rng.one_in(16) { 2 } else { 1 }, [0; 3]);
    let made = out(t, |out: *mut *mut AgpuBuilder| {
        // SAFETY: handles are checked, there are two arguments, and three places for the nodes of the step.
        unsafe { agpu_builder_step(builder, args.as_ptr(), count, states, out, params.as_mut_ptr()) }
    })?;
    if let Some(builder) = made {
        t.begun(builder, &[(Sort::Vector, params[0]), (Sort::Any, params[1]), (Sort::Any, params[2])]);
    }
    Ok(made.is_some())
}

/// A step that adds the states to themselves; now and then a check of the first of them.
pub(super) fn iterate(t: &mut Thread) -> Done {
    let (builder, at) = t.builder();
    let (init, most) = (t.node(at, Sort::Vector), t.node(at, Sort::Size));
    let [collect, checked, swapped] = [4, 3, 16].map(|n| t.rng.one_in(n));
    let (mut steps, mut params, mut next, mut first, mut holds) = ([null_mut(); 2], [[0; 2]; 2], 0, 0, 0);
    // SAFETY: handles are checked; what fails leaves NULL and 0, which are no builder and no node.
    unsafe {
        for (step, params) in steps.iter_mut().zip(&mut params) {
            agpu_builder_step(builder, &init, 1, 1, step, params.as_mut_ptr());
        }
        agpu_builder_apply(steps[0], c"add".as_ptr(), [params[0][0]; 2].as_ptr(), 2, &mut next);
        agpu_builder_read(steps[1], params[1][0], &params[1][1], 1, &mut first);
        agpu_builder_apply(steps[1], c"eq".as_ptr(), [first; 2].as_ptr(), 2, &mut holds);
    }
    let [step, check] = if swapped { [steps[1], steps[0]] } else { steps };
    let check = if checked { check } else { null_mut() };
    let every = t.rng.below(4) as i32;
    let nodes = out(t, |out: *mut [AgpuNode; 2]| {
        // SAFETY: as above, and places for the states and the number of steps.
        unsafe {
            agpu_builder_iterate(builder, most, step, &next, 1, collect, check, holds, every, out.cast())
        }
    })?;
    for step in steps.into_iter().filter(|s| !s.is_null()) {
        // SAFETY: as above.
        done(unsafe { agpu_builder_free(step) }, true)?;
    }
    if let Some([states, _]) = nodes {
        t.keep_node(at, if collect { Sort::Matrix } else { Sort::Vector }, states);
    }
    Ok(nodes.is_some())
}
