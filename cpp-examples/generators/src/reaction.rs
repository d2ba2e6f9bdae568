//! Reaction and diffusion of two substances (Gray and Scott 1984, with the constants of Pearson 1993): u feeds v,
//! both diffuse, and patterns grow. Nothing leaves the image.

use arraygpu::prelude::*;

/// The concentrations of both substances.
type State = (MExp<f32>, MExp<f32>);

/// How far a substance is below the average of its eight neighbours, of which diagonal ones count a quarter.
fn laplacian(x: MExp<f32>) -> MExp<f32> {
    let weights = [[0.05, 0.2, 0.05], [0.2, -1.0, 0.2], [0.05, 0.2, 0.05]];
    x.padded([1, 1], [1, 1], Boundary::Clamp).weighted_sum2(&weights)
}

/// One step in time.
fn next((u, v): State) -> State {
    let (feed, kill) = (0.04, 0.06);
    let reaction = u * v * v;
    let moved = (0.16 * laplacian(u) - reaction, 0.08 * laplacian(v) + reaction);
    (u + (moved.0 + feed * (1.0 - u)), v + (moved.1 - (feed + kill) * v))
}

/// What the C++ header says of [`step`].
pub const STEP_DOC: &str = "One step of reaction and diffusion of two substances.";

/// One step.
pub fn step(u: MExp<f32>, v: MExp<f32>) -> State {
    next((u, v))
}

/// What the C++ header says of [`four_steps`].
pub const FOUR_STEPS_DOC: &str = "Four steps of reaction and diffusion of two substances.";

/// Four steps.
pub fn four_steps(u: MExp<f32>, v: MExp<f32>) -> State {
    iterate(4, (u, v), next)
}
