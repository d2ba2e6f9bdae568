//! Iterations that a condition ends, and iterations whose states are collected.

use crate::handle::{IntoScalar, SExp};
use crate::iterate::{Step, iterated};
use crate::node::{self, Ends, NodeRef, Op, constant, make};
use crate::scope::Place;
use crate::states::{Collected, States, like};
use arraygpu_compiler::Error;
use arraygpu_compiler::core::Type;
use arraygpu_compiler::loc::Loc;
use arraygpu_compiler::scalar::{Lit, Ty};
use std::panic::Location;

/// An iteration that a condition ends; [`IterateWhileWithoutCheckEvery::check_every`] makes it. Messages of the Rust
/// compiler call it by this name where it is used as if it were the states.
#[must_use = "`.check_every(n)` makes the iteration"]
#[derive(Debug)]
pub struct IterateWhileWithoutCheckEvery<S, C, F> {
    at: Place,
    limit: NodeRef,
    init: S,
    condition: C,
    step: F,
}

/// Steps while a condition of the states holds, at most `limit`. The condition is a bool that is computed from the
/// states, usually by a reduction. `.check_every(n)` says how often it is computed, and gives the states and the
/// number of steps.
///
/// If the condition still holds after `limit` steps, the states and the number are 0 (or false), and the call
/// reports an error record with the author's line.
///
/// Cost: that of [`iterate`](crate::iterate), of the steps between two checks; for each check the launches of
/// `condition`. The device decides, so no step waits for the host, but the call returns when the iteration has ended.
/// At the end a copy of the states, unless they are read by what follows.
///
/// ```
/// # use arraygpu_dsl::{example::*, prelude::*};
/// // halves until all elements are below 1
/// let f = |x: VExp<f32>| iterate_while(100, x, |x| x.max().ge(1.0), |x| x * 0.5).check_every(1);
/// assert_eq!(call(f, [vector(&[5.0f32, 2.0])]), [vector(&[0.625f32, 0.25]), scalar(3i64)]);
/// ```
#[track_caller]
pub fn iterate_while<S: States, C: FnOnce(&S) -> SExp<bool>, F: FnOnce(S) -> S>(
    limit: impl IntoScalar<i64>,
    init: S,
    condition: C,
    step: F,
) -> IterateWhileWithoutCheckEvery<S, C, F> {
    let at = Location::caller();
    IterateWhileWithoutCheckEvery { at, limit: limit.scalar_at(at), init, condition, step }
}

impl<S: States, C: FnOnce(&S) -> SExp<bool>, F: FnOnce(S) -> S> IterateWhileWithoutCheckEvery<S, C, F> {
    /// The first checked states for which the condition does not hold, and the number of steps that were made. The
    /// states before every `n`th step are checked, the first ones too, and those after the last step.
    ///
    /// `n` is a number of the generator, and 1 or more (E0208).
    ///
    /// Cost: that of [`iterate_while`].
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>| iterate_while(100, x, |x| x.max().ge(1.0), |x| x * 0.5).check_every(2);
    /// assert_eq!(call(f, [vector(&[5.0f32, 2.0])]), [vector(&[0.3125f32, 0.125]), scalar(4i64)]);
    /// ```
    pub fn check_every(self, n: u32) -> (S, SExp<i64>) {
        let IterateWhileWithoutCheckEvery { at, limit, init, condition, step } = self;
        let ends = |states: &S| Ends::While { condition: condition(states).node(), every: n.max(1) };
        let f = |_, states| step(states);
        let mut after = iterated(at, limit, &init, Step { f, is_numbered: false, ends });
        let numbers = after.pop().expect("the number of steps");
        let zero = constant(at, Lit::i64(0));
        let number = make(at, Type::scalar(Ty::I64), Op::At(numbers, vec![zero]));
        // it is -1 if no check has ended the iteration
        let ended = node::within(at, number, constant(at, Lit::i64(i64::MAX)));
        let known = |value: NodeRef| {
            let nothing = constant(at, Lit::zero(value.ty.elem));
            make(at, value.ty, Op::Select(ended, value, nothing))
        };
        let mut states: Vec<NodeRef> = Vec::new();
        for state in after {
            states.push(node::map_one(at, "iterate_while", &[state], |v| known(v[0])));
        }
        let mut number = known(number);
        if n == 0 {
            let wrong = Error::user("E0208", "check_every: a check is made every 1 or more steps");
            let wrong = wrong.at(Some(&Loc::caller(at)));
            for value in states.iter_mut().chain([&mut number]) {
                *value = node::invalid(at, value.ty, wrong.clone());
            }
        }
        (like(&init, at, &states), SExp::of(number))
    }
}

/// The states after each of `k` steps: those of vectors of length n as the rows of a matrix of `k` x n elements,
/// those of scalars as the `k` elements of a vector, those of matrices as the `k` planes of a `TExp`. The state
/// before the first step is not among them. Arrays of three dimensions are no states here.
///
/// Cost: that of [`iterate`](crate::iterate); every state is written once, to its place among the others, and read
/// from there by the next step.
///
/// ```
/// # use arraygpu_dsl::{example::*, prelude::*};
/// let f = |x: VExp<f32>| iterate_collect(3, x, |x| x * 2);
/// let expected = matrix(&[[2.0f32, 4.0], [4.0, 8.0], [8.0, 16.0]]);
/// assert_eq!(call(f, [vector(&[1.0f32, 2.0])]), [expected]);
/// ```
#[track_caller]
pub fn iterate_collect<S: Collected>(k: impl IntoScalar<i64>, init: S, f: impl FnOnce(S) -> S) -> S::All {
    let at = Location::caller();
    let step = Step { f: |_, states| f(states), is_numbered: false, ends: |_: &S| Ends::Each };
    let all = iterated(at, k.scalar_at(at), &init, step);
    init.all(at, &mut all.into_iter())
}

/// [`iterate_collect`] with a step that gets its number, as in [`iterate_indexed`](crate::iterate_indexed).
///
/// Cost: that of [`iterate_collect`].
///
/// ```
/// # use arraygpu_dsl::{example::*, prelude::*};
/// let f = |n: SExp<i64>| iterate_collect_indexed(n, lit(1i64), |t, x| x * (t + 1));
/// assert_eq!(call(f, [scalar(4i64)]), [vector(&[1i64, 2, 6, 24])]);
/// ```
#[track_caller]
pub fn iterate_collect_indexed<S: Collected>(
    k: impl IntoScalar<i64>,
    init: S,
    f: impl FnOnce(SExp<i64>, S) -> S,
) -> S::All {
    let at = Location::caller();
    let all = iterated(at, k.scalar_at(at), &init, Step { f, is_numbered: true, ends: |_: &S| Ends::Each });
    init.all(at, &mut all.into_iter())
}
