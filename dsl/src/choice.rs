//! `if_else`: a choice between two values that closures write.

use crate::handle::SExp;
use crate::node::{NodeRef, Op, make};
use crate::results::{Scalars, of_nodes};
use crate::tuples::IntoScalars;
use std::panic::Location;

/// The value of `then` where `condition` is true, that of `otherwise` elsewhere: [`cond`](crate::cond) of
/// scalars and of tuples, which may be nested. Each closure is called once, when the function is
/// registered. The arm not taken leaves no error record. A constant may stand for a scalar if something
/// else tells its type.
///
/// Cost: one operation for each component that a result needs, in the code that uses it; both arms may be
/// evaluated.
///
/// ```
/// # use arraygpu_dsl::{example::*, prelude::*};
/// // the lesser and the greater one
/// let f = |a: SExp<f32>, b: SExp<f32>| if_else(a.le(b), || (a, b), || (b, a));
/// assert_eq!(call(f, [scalar(3.0f32), scalar(2.0f32)]), [scalar(2.0f32), scalar(3.0f32)]);
/// // no division where the divisor is 0
/// let g = |a: SExp<i64>, b: SExp<i64>| if_else(b.eq(0), || 0, || a / b);
/// assert_eq!(call(g, [scalar(3i64), scalar(0i64)]), [scalar(0i64)]);
/// ```
#[track_caller]
pub fn if_else<S: Scalars, A: IntoScalars<S>, B: IntoScalars<S>>(
    condition: SExp<bool>,
    then: impl FnOnce() -> A,
    otherwise: impl FnOnce() -> B,
) -> S {
    let at = Location::caller();
    let (mut taken, mut other) = (Vec::new(), Vec::new());
    then().scalars_at(at, &mut taken);
    otherwise().scalars_at(at, &mut other);
    let either = |(a, b): (NodeRef, NodeRef)| make(at, a.ty, Op::Select(condition.node(), a, b));
    of_nodes(&taken.into_iter().zip(other).map(either).collect::<Vec<_>>())
}
