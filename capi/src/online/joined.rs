//! The C functions that add constructs with several values: reductions and folds of tuples, and loops of one
//! element.

use super::builder::{Builder, Variable, variables_of, with};
use crate::abi::{AgpuBuilder, AgpuNode, AgpuStatus};
use crate::error::{INVALID_ARGUMENT, Result, fail};
use crate::interrupt::refused;
use arraygpu_compiler::core::{Lambda, NodeId, Op};
use arraygpu_compiler::counted;
use arraygpu_compiler::scalar::Lit;

/// Most values of a construct.
const MOST: i32 = 4096;

/// Calls `f` with a builder as `with` does, and writes the numbers of the nodes that it returns.
///
/// # Safety
/// There is room for `count` nodes, and for `further` more.
pub(super) unsafe fn make_all(
    name: &str,
    builder: *mut AgpuBuilder,
    nodes: *mut AgpuNode,
    (count, further): (i32, usize),
    f: impl FnOnce(&mut Builder) -> Result<Vec<NodeId>>,
) -> AgpuStatus {
    with(name, builder, |b| {
        if nodes.is_null() {
            fail!(INVALID_ARGUMENT, "nodes is NULL");
        }
        if !(1..=MOST).contains(&count) {
            fail!(INVALID_ARGUMENT, "{}: 1 to {MOST} are possible", counted(count, "value"));
        }
        let made = f(b)?;
        assert_eq!(made.len(), count as usize + further, "a node for each value");
        for (i, node) in made.into_iter().enumerate() {
            // SAFETY: the caller promises room for them.
            unsafe { nodes.add(i).write(b.number(node)) };
        }
        Ok(())
    })
}

/// Makes a function of `variables` whose result is a tuple of these nodes.
pub(super) fn function_of(b: &mut Builder, variables: &[Variable], results: Vec<NodeId>) -> Result<Lambda> {
    let body = b.function().tuple(results).map_err(refused)?;
    b.lambda(variables, body)
}

/// What a reduction or fold of tuples is made of, as a caller gives it. A reduction has as many arrays as components,
/// and its variables are those of the left and the right operand.
#[derive(Clone, Copy)]
struct Joined {
    construct: &'static str,
    arrays: *const AgpuNode,
    array_count: i32,
    /// The variables of the accumulator, or of the left operand.
    first: *const AgpuNode,
    /// The variables of the elements, or of the right operand.
    second: *const AgpuNode,
    body: *const AgpuNode,
    init: *const AgpuNode,
    count: i32,
}

/// Adds a node for each component of a reduction or fold, of which `op` makes the operation, given its function, its
/// initial value, its array of tuples and the component.
///
/// # Safety
/// There are as many nodes as the counts say, and there is room for `count`.
unsafe fn join(
    name: &str,
    builder: *mut AgpuBuilder,
    from: Joined,
    nodes: *mut AgpuNode,
    op: fn(Lambda, NodeId, NodeId, u32) -> Op,
) -> AgpuStatus {
    let made = |b: &mut Builder| {
        let Joined { construct, array_count, count, .. } = from;
        if !(1..=MOST).contains(&array_count) {
            fail!(INVALID_ARGUMENT, "{}: 1 to {MOST} are possible", counted(array_count, "array"));
        }
        // SAFETY: the caller promises it.
        let (arrays, first, second, body, init) = unsafe {
            (
                b.nodes(from.arrays, array_count, "array")?,
                variables_of(b, from.first, count)?,
                variables_of(b, from.second, array_count)?,
                b.nodes(from.body, count, "component of the body")?,
                b.nodes(from.init, count, "initial value")?,
            )
        };
        let function = function_of(b, &[first, second].concat(), body)?;
        let src = b.function().zipped(construct, arrays).map_err(refused)?;
        let init = b.function().tuple(init).map_err(refused)?;
        let component = |which| b.function().node(op(function.clone(), init, src, which)).map_err(refused);
        (0..count as u32).map(component).collect()
    };
    // SAFETY: the caller promises it.
    unsafe { make_all(name, builder, nodes, (from.count, 0), made) }
}

/// Reduces the tuples of the elements of `count` arrays of one shape (a shape rule) by an associative,
/// commutative operator of tuples (docs/semantics.md 5.14): the variables `left` and `right` stand for the
/// components of its operands, `body` is its result. `nodes` receives the components of the reduction.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_reduce_tuples(
    builder: *mut AgpuBuilder,
    arrays: *const AgpuNode,
    left: *const AgpuNode,
    right: *const AgpuNode,
    body: *const AgpuNode,
    init: *const AgpuNode,
    count: i32,
    nodes: *mut AgpuNode,
) -> AgpuStatus {
    let construct = "reduce";
    let from =
        Joined { construct, arrays, array_count: count, first: left, second: right, body, init, count };
    let op = |join, init, src, which| Op::Reduce { join, init, src, which };
    // SAFETY: the caller promises it.
    unsafe { join("agpu_builder_reduce_tuples", builder, from, nodes, op) }
}

/// Does the same as agpu_builder_reduce_tuples with an operator that need not be commutative: it always joins a part
/// of the arrays with the part that follows it (docs/semantics.md 5.17).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_reduce_noncommutative(
    builder: *mut AgpuBuilder,
    arrays: *const AgpuNode,
    left: *const AgpuNode,
    right: *const AgpuNode,
    body: *const AgpuNode,
    init: *const AgpuNode,
    count: i32,
    nodes: *mut AgpuNode,
) -> AgpuStatus {
    let construct = "reduce_noncommutative";
    let from =
        Joined { construct, arrays, array_count: count, first: left, second: right, body, init, count };
    let op = |join, init, src, which| Op::ReduceOrdered { join, init, src, which };
    // SAFETY: the caller promises it.
    unsafe { join("agpu_builder_reduce_noncommutative", builder, from, nodes, op) }
}

/// Folds the tuples of the elements of arrays of one shape (a shape rule) strictly from the left, in index
/// order: `body` is the next accumulator of `count` components, in which the variables `accumulator` and
/// `element` stand for the components of the old one and for the elements. `nodes` receives the components
/// of the fold.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_fold_tuples(
    builder: *mut AgpuBuilder,
    arrays: *const AgpuNode,
    element: *const AgpuNode,
    array_count: i32,
    accumulator: *const AgpuNode,
    body: *const AgpuNode,
    init: *const AgpuNode,
    count: i32,
    nodes: *mut AgpuNode,
) -> AgpuStatus {
    let construct = "fold";
    let from =
        Joined { construct, arrays, array_count, first: accumulator, second: element, body, init, count };
    let op = |step, init, src, which| Op::Fold { step, init, src, which };
    // SAFETY: the caller promises it.
    unsafe { join("agpu_builder_fold_tuples", builder, from, nodes, op) }
}

/// Adds a loop of one element (docs/semantics.md 5.16) over `count` states: while the number of steps is
/// below `most`, an i64, and `condition` holds (no node, 0, always holds), all states become `next` at once.
/// In both the variables `step`, of i64, and `states` stand for the number of steps so far and the states.
/// `nodes` receives count + 1 nodes: the last states, and the number of steps that were made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_loop(
    builder: *mut AgpuBuilder,
    most: AgpuNode,
    step: AgpuNode,
    states: *const AgpuNode,
    condition: AgpuNode,
    next: *const AgpuNode,
    init: *const AgpuNode,
    count: i32,
    nodes: *mut AgpuNode,
) -> AgpuStatus {
    let made = |b: &mut Builder| {
        let most = b.node(most, "the number of steps")?;
        // SAFETY: the caller promises it.
        let (states, next, init) = unsafe {
            (
                variables_of(b, states, count)?,
                b.nodes(next, count, "next state")?,
                b.nodes(init, count, "initial state")?,
            )
        };
        let variables = [vec![b.variable(step, "the step")?], states].concat();
        let condition = match condition {
            0 => b.function().graph().lit(Lit::bool(true)),
            node => b.node(node, "the condition")?,
        };
        let step = function_of(b, &variables, [vec![condition], next].concat())?;
        let value = |which| Op::Loop { step: step.clone(), which, count: most, init: init.clone() };
        (0..=count as u32).map(|which| b.function().node(value(which)).map_err(refused)).collect()
    };
    // SAFETY: the caller promises it.
    unsafe { make_all("agpu_builder_loop", builder, nodes, (count, 1), made) }
}
