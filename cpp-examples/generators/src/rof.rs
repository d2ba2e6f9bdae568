//! Denoising by total variation: the model of Rudin, Osher and Fatemi (1992), minimised by the primal-dual algorithm
//! of Chambolle and Pock (2011), as in section 6.5 of Haidl and others (2017), whose program is FlexBox's.
//!
//! The image u minimises `sum((u - f)^2) / 2 + alpha * sum(|grad u|)`. An iteration moves u along the divergence of
//! the dual field (p, q), which has a vector for each pixel, towards the noisy image f; then it moves (p, q) along
//! the gradient of u, drawn ahead, and cuts vectors longer than alpha. It begins with u = f and p = q = 0, for which
//! the paper's order, (p, q) first, gives the same iterates.

use arraygpu::prelude::*;

/// An image and its dual field: what an iteration changes.
type State = (MExp<f32>, MExp<f32>, MExp<f32>);

/// The scalars of the algorithm. Its theory wants `8 * tau * sigma <= 1`.
#[derive(Clone, Copy)]
struct Steps {
    alpha: SExp<f32>,
    tau: SExp<f32>,
    sigma: SExp<f32>,
}

/// What is done with an array that an operation has computed.
type Then = fn(MExp<f32>) -> MExp<f32>;

/// It is composed into what reads it.
fn fused(x: MExp<f32>) -> MExp<f32> {
    x
}

/// It is stored, as by libraries of one kernel an operation.
fn stored(x: MExp<f32>) -> MExp<f32> {
    x.materialize()
}

/// Differences from the right neighbours and from those below; 0 at the last column and row.
fn gradient(u: MExp<f32>, then: Then) -> (MExp<f32>, MExp<f32>) {
    let right = u.padded([0, 0], [0, 1], Boundary::Clamp).slice_cols(1, u.cols() + 1);
    let below = u.padded([0, 1], [0, 0], Boundary::Clamp).slice_rows(1, u.rows() + 1);
    (then(right - u), then(below - u))
}

/// The divergence, which is minus the adjoint of [`gradient`].
fn divergence(p: MExp<f32>, q: MExp<f32>, then: Then) -> MExp<f32> {
    let left = p.padded([0, 0], [1, 0], Boundary::Constant(0.0)).slice_cols(0, p.cols());
    let above = q.padded([1, 0], [0, 0], Boundary::Constant(0.0)).slice_rows(0, q.rows());
    then(then(p - left) + then(q - above))
}

/// One iteration.
fn iteration(f: MExp<f32>, (u, p, q): State, by: Steps, then: Then) -> State {
    let moved = then(u + then(by.tau * divergence(p, q, then)));
    let next = then((moved + by.tau * f) * (1.0 / (1.0 + by.tau)));
    let ahead = then(2 * next - u);
    let (dx, dy) = gradient(ahead, then);
    let (p, q) = (then(p + by.sigma * dx), then(q + by.sigma * dy));
    let length = then((p * p + q * q).sqrt());
    let scale = then(by.alpha / length.map(|l| l.max(by.alpha)));
    (next, then(p * scale), then(q * scale))
}

/// How far an iteration is from a fixed point: the mean over all pixels of the primal and the dual residual's
/// absolute values (Goldstein and others 2013, as FlexBox takes them).
fn residual((u, p, q): State, (v, r, s): State, by: Steps) -> SExp<f32> {
    let primal = (u - v) / by.tau + divergence(p - r, q - s, fused);
    let (dx, dy) = gradient(u - v, fused);
    let dual = ((p - r) / by.sigma - dx).abs() + ((q - s) / by.sigma - dy).abs();
    (primal.abs() + dual).sum() / (u.rows() * u.cols()).cast::<f32>()
}

/// What the C++ header says of [`step`].
pub const STEP_DOC: &str =
    "One iteration of total variation denoising of f: the image u and its dual field (p, q) move.";

/// One iteration, fused.
pub fn step(
    f: MExp<f32>,
    u: MExp<f32>,
    p: MExp<f32>,
    q: MExp<f32>,
    alpha: SExp<f32>,
    tau: SExp<f32>,
    sigma: SExp<f32>,
) -> (MExp<f32>, MExp<f32>, MExp<f32>) {
    iteration(f, (u, p, q), Steps { alpha, tau, sigma }, fused)
}

/// What the C++ header says of [`step_unfused`].
pub const STEP_UNFUSED_DOC: &str = "The same with the result of each operation stored.";

/// One kernel an operation.
pub fn step_unfused(
    f: MExp<f32>,
    u: MExp<f32>,
    p: MExp<f32>,
    q: MExp<f32>,
    alpha: SExp<f32>,
    tau: SExp<f32>,
    sigma: SExp<f32>,
) -> (MExp<f32>, MExp<f32>, MExp<f32>) {
    iteration(f, (u, p, q), Steps { alpha, tau, sigma }, stored)
}

/// What the C++ header says of [`steps`].
pub const STEPS_DOC: &str = "n iterations of total variation denoising of f, at least one, from the image u and its dual field (p, q). The residual is the last iteration's.";

/// Iterations, and how far from a fixed point the last one was: the host decides whether to go on.
#[allow(clippy::too_many_arguments, reason = "the C++ function's parameters")]
pub fn steps(
    f: MExp<f32>,
    u: MExp<f32>,
    p: MExp<f32>,
    q: MExp<f32>,
    alpha: SExp<f32>,
    tau: SExp<f32>,
    sigma: SExp<f32>,
    n: SExp<i64>,
) -> (MExp<f32>, MExp<f32>, MExp<f32>, SExp<f32>) {
    let by = Steps { alpha, tau, sigma };
    let times = |k: SExp<i64>, state: State| iterate(k, state, |state| iteration(f, state, by, fused));
    let before = times(n - 1, (u, p, q));
    let after = times(lit(1), before);
    (after.0, after.1, after.2, residual(before, after, by))
}

/// What the C++ header says of [`until`].
pub const UNTIL_DOC: &str = "Iterations of total variation denoising of f, until the residual is at most eps, and their number; every tenth is checked.";

/// Iterations until the residual of the last one is small: the device decides whether to go on.
#[allow(clippy::too_many_arguments, reason = "the C++ function's parameters")]
pub fn until(
    f: MExp<f32>,
    u: MExp<f32>,
    p: MExp<f32>,
    q: MExp<f32>,
    alpha: SExp<f32>,
    tau: SExp<f32>,
    sigma: SExp<f32>,
    eps: SExp<f32>,
) -> (MExp<f32>, MExp<f32>, MExp<f32>, VExp<i64>) {
    let by = Steps { alpha, tau, sigma };
    let step = |state| iteration(f, state, by, fused);
    let is_far = |state: &State| residual(*state, step(*state), by).gt(eps);
    let ((u, p, q), steps) = iterate_while(1 << 20, (u, p, q), is_far, step).check_every(10);
    (u, p, q, fill(lit(1i64), steps))
}
