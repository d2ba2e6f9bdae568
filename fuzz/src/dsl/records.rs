//! Records and complex numbers as constructs and readers: what makes an array of them from the inputs of a program,
//! and functions of them.

use super::In;
use arraygpu::prelude::*;

/// A record with a fixed array and a record in it.
#[derive(Clone, Copy, Record)]
pub(super) struct Particle {
    pub(super) at: [f32; 2],
    pub(super) state: State,
}

#[derive(Clone, Copy, Record)]
pub(super) struct State {
    pub(super) weight: f32,
    pub(super) kind: i64,
}

pub(super) const NONE: Particle = Particle { at: [0.0, 0.0], state: State { weight: 0.5, kind: 0 } };

pub(super) fn particle(x: SExp<f32>, y: SExp<f32>, weight: SExp<f32>) -> SExp<Particle> {
    let state = StateFields { weight, kind: cond(x.lt(y), lit(1i64), 2) }.pack();
    ParticleFields { at: [x, y], state }.pack()
}

/// A vector of records.
pub(super) fn particles(p: In) -> VExp<Particle> {
    p.x.zip_with(p.y, |x, y| particle(x, y, p.s))
}

/// A matrix of records.
pub(super) fn grid(p: In) -> MExp<Particle> {
    p.a.zip_with(p.b, |x, y| particle(x, y, x - y))
}

/// A step of a record.
pub(super) fn moved(p: SExp<Particle>) -> SExp<Particle> {
    let [x, y] = p.at;
    let state = StateFields { weight: p.state.weight * 0.5, kind: p.state.kind + 1 }.pack();
    ParticleFields { at: [y, 0.5 * x + p.state.weight], state }.pack()
}

/// A number of a record that needs all of its fields.
pub(super) fn number(p: SExp<Particle>) -> SExp<f32> {
    p.at[0] - p.at[1] * p.state.weight + p.state.kind.cast::<f32>()
}

/// The heavier record, and the first of two that are equally heavy.
pub(super) fn heavier(a: SExp<Particle>, b: SExp<Particle>) -> SExp<Particle> {
    if_else(b.state.weight.gt(a.state.weight), || b, || a)
}

/// Complex numbers of two arrays of numbers.
pub(super) fn numbers(p: In) -> VExp<Complex<f32>> {
    p.x.zip_with(p.y, |re, im| complex(re, im))
}

/// Sums of complex numbers by destinations, and products of parts of these.
pub(super) fn in_groups(p: In) -> VExp<f32> {
    let sums =
        numbers(p).scatter_reduce(5, p.k.cast::<i64>().clamped(), Complex::new(0.0, 0.0), |a, b| a + b);
    let offsets = generate(4, |i| i + i / 3);
    let products = sums.segmented_reduce(offsets, Complex::new(1.0, 0.5), |a, b| a * b);
    let (_, by_key) = p.k.reduce_by_key(numbers(p), Complex::new(0.5, 1.0), |a, b| a * b);
    let by_key = by_key.filled(Complex::new(0.0, 0.0)).sum();
    products.map(|z| z.re - z.im * by_key.re)
}
