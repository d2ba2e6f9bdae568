//! Staging: scalars that the host computes before a function runs, and embeds in its code (`arraygpu_compiler::stage`).

use crate::elem::Elem;
use crate::handle::{IntoScalar, SExp};
use crate::node::{Op, make};
use std::panic::Location;

/// The value of `x` as a constant of the function's code: it is compiled for that value when it is first called with it, on the machine that runs it, and
/// again only when the value changes. Loops whose length it is have a constant length, branches on it are decided, and what follows from it is computed once. No
/// bit of a result changes.
///
/// `x` is made of lengths, constants and scalar parameters; anything else is refused with the author's line.
#[track_caller]
pub fn stage<T: Elem>(x: impl IntoScalar<T>) -> SExp<T> {
    let at = Location::caller();
    let x = x.scalar_at(at);
    SExp::of(make(at, x.ty, Op::Stage(x)))
}

/// `f(args)` as a constant of the function's code, as [`stage`] says: `stage_with(|n| (n & (n - 1)).eq(0), x.len())`; several arguments are a tuple.
#[track_caller]
pub fn stage_with<T: Elem, A>(f: impl FnOnce(A) -> SExp<T>, args: A) -> SExp<T> {
    stage(f(args))
}
