//! Loops of one element: `loop_for`, `loop_while`, `loop_while_at_most`.

use crate::handle::{IntoScalar, SExp};
use crate::node::{self, NodeRef, Op, make};
use crate::results::{nodes_of, of_nodes};
use crate::scalars::LoopState;
use crate::scope::Place;
use arraygpu_compiler::core::Type;
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty};
use std::panic::Location;

/// The number of steps after which [`loop_while`] ends in any case: 2^24.
pub const LOOP_LIMIT: i64 = 1 << 24;

/// The values of a loop: the states, and the number of steps. A step gives the condition and the next states.
pub(crate) fn looped(
    at: Place,
    construct: &'static str,
    count: NodeRef,
    init: &[NodeRef],
    step: impl FnOnce(NodeRef, &[NodeRef]) -> Vec<NodeRef>,
) -> Vec<NodeRef> {
    let types: Vec<Ty> = [Ty::I64].into_iter().chain(init.iter().map(|n| n.ty.elem)).collect();
    let lambda = node::bind_one(at, construct, &types, |v| {
        make(at, Type::scalar(Ty::Bool), Op::Tuple(step(v[0], &v[1..])))
    });
    let value = |(which, ty): (u32, &Ty)| {
        let op = Op::Loop { lambda: lambda.clone(), count, init: init.to_vec(), which };
        make(at, Type::scalar(*ty), op)
    };
    (0..).zip(types[1..].iter().chain([&Ty::I64])).map(value).collect()
}

/// The state after `n` steps, each of which is `f(i, state)` with i = 0, 1, .. n - 1 (`docs/semantics.md` 5.16). A
/// state is a scalar, a tuple of up to 16 states, or an array `[S; N]` of states; constants among the first ones have
/// their type (`0i64`, `1.0f32`). n may be any number that the element knows; of 0 steps and fewer the state is
/// `init`.
///
/// Cost: n times that of `f`, one step after another, in the code of the element. The loop is not unrolled. On
/// GPUs the threads of a warp wait for the one with most steps.
///
/// ```
/// # use arraygpu_dsl::{example::*, prelude::*};
/// // 1 + 2x + 3x^2 + 4x^3 by a recurrence
/// let f = |x: SExp<f32>| loop_for(4, (0.0f32, 1.0f32), |i, (s, p)| (s + (i + 1).cast::<f32>() * p, p * x)).0;
/// assert_eq!(call(f, [scalar(2.0f32)]), [scalar(49.0f32)]);
/// ```
#[track_caller]
pub fn loop_for<S: LoopState>(
    n: impl IntoScalar<i64>,
    init: S,
    f: impl FnOnce(SExp<i64>, S::Expressions) -> S::Expressions,
) -> S::Expressions {
    let at = Location::caller();
    let mut inits = Vec::new();
    init.states_at(at, &mut inits);
    let values = looped(at, "loop_for", n.scalar_at(at), &inits, |i, states| {
        let next = nodes_of(f(SExp::of(i), of_nodes(states)));
        [node::constant(at, Lit::bool(true))].into_iter().chain(next).collect()
    });
    of_nodes(&values)
}

/// The first state for which the condition does not hold, beginning with `init`, each from the one before by `step`.
/// A loop ends after 2^24 steps in any case: if it would go on then, its value is 0 (or false) and it leaves an error
/// record. [`loop_while_at_most`] sets another limit. A state is one of [`loop_for`].
///
/// Cost: that of `condition` and `step` for each step, one after another, in the code of the element. On GPUs
/// the threads of a warp wait for the one with most steps.
///
/// ```
/// # use arraygpu_dsl::{example::*, prelude::*};
/// let gcd = |a: SExp<i64>, b: SExp<i64>| loop_while((a, b), |(_, b)| b.ne(0), |(a, b)| (b, a % b)).0;
/// assert_eq!(call(gcd, [scalar(48i64), scalar(36i64)]), [scalar(12i64)]);
/// ```
#[track_caller]
pub fn loop_while<S: LoopState>(
    init: S,
    condition: impl FnOnce(S::Expressions) -> SExp<bool>,
    step: impl FnOnce(S::Expressions) -> S::Expressions,
) -> S::Expressions {
    let at = Location::caller();
    limited(at, "loop_while", node::constant(at, Lit::i64(LOOP_LIMIT)), init, condition, step)
}

/// [`loop_while`] with another limit on the steps. It may be any number that the element knows.
///
/// Cost: that of [`loop_while`].
///
/// ```
/// # use arraygpu_dsl::{example::*, prelude::*};
/// // the number of steps in which Collatz's sequence comes to 1
/// let steps = |n: SExp<i64>| {
///     let next = |n: SExp<i64>| cond((n & 1).eq(0), n / 2, n * 3 + 1);
///     loop_while_at_most(1000, (n, 0i64), |(n, _)| n.gt(1), |(n, k)| (next(n), k + 1)).1
/// };
/// assert_eq!(call(steps, [scalar(27i64)]), [scalar(111i64)]);
/// ```
#[track_caller]
pub fn loop_while_at_most<S: LoopState>(
    limit: impl IntoScalar<i64>,
    init: S,
    condition: impl FnOnce(S::Expressions) -> SExp<bool>,
    step: impl FnOnce(S::Expressions) -> S::Expressions,
) -> S::Expressions {
    let at = Location::caller();
    limited(at, "loop_while_at_most", limit.scalar_at(at), init, condition, step)
}

/// A loop that leaves an error record if it takes more steps than its limit. It makes one step more to know, but of
/// the greatest limit, which no loop exceeds.
fn limited<S: LoopState>(
    at: Place,
    construct: &'static str,
    limit: NodeRef,
    init: S,
    condition: impl FnOnce(S::Expressions) -> SExp<bool>,
    step: impl FnOnce(S::Expressions) -> S::Expressions,
) -> S::Expressions {
    let mut inits = Vec::new();
    init.states_at(at, &mut inits);
    let [one, most] = [1, i64::MAX - 1].map(|n| node::constant(at, Lit::i64(n)));
    let count = node::binary(at, BinaryOp::Add, node::binary(at, BinaryOp::Min, limit, most), one);
    let mut values = looped(at, construct, count, &inits, |_, states| {
        let goes_on = condition(of_nodes(states)).node();
        [goes_on].into_iter().chain(nodes_of(step(of_nodes(states)))).collect()
    });
    let steps = values.pop().expect("the number of steps");
    let ends = node::within(at, steps, count);
    let ended = |value: NodeRef| {
        let nothing = node::constant(at, Lit::zero(value.ty.elem));
        make(at, value.ty, Op::Select(ends, value, nothing))
    };
    let values: Vec<NodeRef> = values.into_iter().map(ended).collect();
    of_nodes(&values)
}
