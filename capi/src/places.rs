//! What a launch of a plan means in a call: the addresses of its arrays, its scalars, and its
//! number of elements. Both devices use it.

use crate::error::{INTERNAL, Result, SHAPE, fail};
use crate::span::{RANKS, Span, count, extents};
use crate::workspace::Workspace;
use arraygpu_compiler::plan::{Access, Launch, Place, Plan, ScalarArg};
use arraygpu_compiler::scalar::Lit;

/// Parameters, results and temporaries have consecutive numbers, in this order.
pub(crate) fn place_of(plan: &Plan, place: Place) -> usize {
    match place {
        Place::Param(i) => i as usize,
        Place::Result(i) => plan.params.len() + i as usize,
        Place::Temp(i) => plan.params.len() + plan.results.len() + i as usize,
    }
}

/// Returns the bits of an "in" scalar.
pub(crate) fn scalar<'a>(s: ScalarArg, host: &[Lit], span: impl Fn(usize) -> &'a Span) -> u64 {
    match s {
        ScalarArg::Host(h) => host[h.0 as usize].bits,
        ScalarArg::Stride(array, axis) => span(array as usize).stride(axis) as u64,
    }
}

/// Returns the number of elements of a launch's index space.
pub(crate) fn elements(launch: &Launch, ws: &Workspace) -> Result<i64> {
    let mut room = [0; RANKS];
    let domain = &mut room[..launch.domain.len()];
    for (n, id) in domain.iter_mut().zip(&launch.domain) {
        *n = ws.host[id.0 as usize].as_i64();
    }
    if domain.iter().any(|n| *n < 0) {
        fail!(INTERNAL, "kernel {} over {} elements", launch.name, extents(domain));
    }
    match count(domain) {
        Some(n) => Ok(if domain.is_empty() { 0 } else { n }),
        None => {
            fail!(SHAPE, "{} elements are more than can be counted (kernel {})", extents(domain), launch.name)
        }
    }
}

/// Whether the launch writes an array that it also reads.
pub(crate) fn writes_an_input(launch: &Launch, ws: &Workspace) -> bool {
    let uses = |place: Place, write: bool| {
        launch.arrays.iter().any(|(p, a)| *p == place && (*a == Access::Write) == write)
    };
    ws.in_place.iter().any(|(r, p)| uses(Place::Result(*r), true) && uses(Place::Param(*p), false))
}
