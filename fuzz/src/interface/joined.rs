//! Calls that build constructs with several values: reductions and folds of tuples, loops of an element.

use super::Thread;
use super::build::{Done, Sort};
use super::checks::out;
use arraygpu_capi::abi::{AgpuBuilder, AgpuNode, AgpuStatus, AgpuType};
use arraygpu_capi::*;
use std::mem::MaybeUninit;

/// Of how many components the constructs are; now and then of an impossible number.
fn count(t: &mut Thread) -> i32 {
    if t.rng.one_in(16) { t.rng.pick(&[0, -1]) } else { 2 }
}

/// Two variables each for the left and the right operand, and two values of them.
fn operator(t: &mut Thread, of: Option<usize>) -> [[AgpuNode; 2]; 3] {
    let [(first, sum), (second, other)] = [0, 1].map(|_| t.lambda(of, 2));
    [[first[0], second[0]], [first[1], second[1]], [sum, other]]
}

/// Keeps the scalars that a call gave.
fn keep(t: &mut Thread, at: Option<usize>, nodes: Option<&[AgpuNode]>) -> Done {
    for node in nodes.unwrap_or_default() {
        t.keep_node(at, Sort::Scalar, *node);
    }
    Ok(nodes.is_some())
}

pub(super) fn reduce_tuples(t: &mut Thread) -> Done {
    reduced(t, agpu_builder_reduce_tuples)
}

pub(super) fn reduce_noncommutative(t: &mut Thread) -> Done {
    reduced(t, agpu_builder_reduce_noncommutative)
}

/// A C function that reduces tuples.
type Reduce = unsafe extern "C" fn(
    *mut AgpuBuilder,
    *const AgpuNode,
    *const AgpuNode,
    *const AgpuNode,
    *const AgpuNode,
    *const AgpuNode,
    i32,
    *mut AgpuNode,
) -> AgpuStatus;

fn reduced(t: &mut Thread, reduce: Reduce) -> Done {
    let ((builder, at), count) = (t.builder(), count(t));
    let [left, right, body] = operator(t, at);
    let arrays = [0, 1].map(|_| t.node(at, Sort::Vector));
    let init = [0, 1].map(|_| t.node(at, Sort::Scalar));
    let nodes = out(t, |out: *mut [AgpuNode; 2]| {
        let (a, l, r, b, i) = (arrays.as_ptr(), left.as_ptr(), right.as_ptr(), body.as_ptr(), init.as_ptr());
        // SAFETY: handles are checked, and there are two nodes each.
        unsafe { reduce(builder, a, l, r, b, i, count, out.cast()) }
    })?;
    keep(t, at, nodes.as_ref().map(|n| &n[..]))
}

pub(super) fn fold_tuples(t: &mut Thread) -> Done {
    let ((builder, at), count, arrays) = (t.builder(), count(t), count(t));
    let [accumulator, element, body] = operator(t, at);
    let all = [0, 1].map(|_| t.node(at, Sort::Vector));
    let init = [0, 1].map(|_| t.node(at, Sort::Scalar));
    let nodes = out(t, |out: *mut [AgpuNode; 2]| {
        let (a, e, n) = (all.as_ptr(), element.as_ptr(), accumulator.as_ptr());
        // SAFETY: as above.
        unsafe {
            agpu_builder_fold_tuples(
                builder,
                a,
                e,
                arrays,
                n,
                body.as_ptr(),
                init.as_ptr(),
                count,
                out.cast(),
            )
        }
    })?;
    keep(t, at, nodes.as_ref().map(|n| &n[..]))
}

/// Loops end at once, or never by their condition: then the number of steps ends them.
pub(super) fn looped(t: &mut Thread) -> Done {
    let ((builder, at), count) = (t.builder(), count(t));
    let [states, _, next] = operator(t, at);
    let (most, mut step) = (t.node(at, Sort::Size), 0);
    // SAFETY: handles are checked; what fails leaves 0, which is no node.
    unsafe { agpu_builder_variable(builder, MaybeUninit::new(AgpuType::AgpuI64), &mut step) };
    let init = [0, 1].map(|_| t.node(at, Sort::Scalar));
    let condition = if t.rng.one_in(8) { t.node(at, Sort::Any) } else { 0 };
    let nodes = out(t, |out: *mut [AgpuNode; 3]| {
        let (s, n, i) = (states.as_ptr(), next.as_ptr(), init.as_ptr());
        // SAFETY: as above, and a place for the number of steps.
        unsafe { agpu_builder_loop(builder, most, step, s, condition, n, i, count, out.cast()) }
    })?;
    keep(t, at, nodes.as_ref().map(|n| &n[..2]))
}
