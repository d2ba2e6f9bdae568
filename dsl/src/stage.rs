//! Staging: scalars that the host computes before a function runs, and embeds in its code
//! (`arraygpu_compiler::stage`).

use crate::handle::{IntoScalar, SExp};
use crate::item::Item;
use crate::node::{Op, make};
use crate::results::leafwise;
use std::panic::Location;

/// The value of `x` as a constant of the function's code: the function is compiled for that value
/// on the machine that runs it, when it is first called with it. Loops with that length have a
/// constant length, branches on it are decided, and what follows from it is computed once. No bit
/// of a result changes.
///
/// `x` is made of lengths, constants and scalar parameters; anything else is refused with the
/// author's line (E0311).
///
/// Cost: on GPUs a compilation when a value comes for the first time, and the evaluation of `x` by
/// the host in every call; the runtime keeps the 16 versions that were used last. On CPUs none: the
/// general version runs.
///
/// ```
/// # use arraygpu_dsl::{example::*, prelude::*};
/// let f = |x: VExp<f32>, k: SExp<i64>| slet(stage(k), |k| x.slice(k, x.len()));
/// assert_eq!(call(f, [vector(&[1.0f32, 2.0]), scalar(1i64)]), [vector(&[2.0f32])]);
/// ```
#[track_caller]
pub fn stage<T: Item>(x: impl IntoScalar<T>) -> SExp<T> {
    let at = Location::caller();
    let x = SExp::<T>::of(x.scalar_at(at));
    leafwise(x, |x| make(at, x.ty, Op::Stage(x)))
}

/// `f(args)` as a constant of the function's code: `stage(f(args))`. Several arguments are a tuple.
///
/// Cost: that of [`stage`].
///
/// ```
/// # use arraygpu_dsl::{example::*, prelude::*};
/// let f = |x: VExp<f32>| stage_with(|n| (n & (n - 1)).eq(0), x.len());
/// assert_eq!(call(f, [vector(&[1.0f32, 2.0])]), [scalar(true)]);
/// ```
#[track_caller]
pub fn stage_with<T: Item, A>(f: impl FnOnce(A) -> SExp<T>, args: A) -> SExp<T> {
    stage(f(args))
}
