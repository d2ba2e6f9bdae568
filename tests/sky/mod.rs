//! A record that contains a record and an array, and a step of it: what the tests of structs in C++ share.

#![allow(missing_docs, reason = "the fields are named after what they are")]

use arraygpu::prelude::*;

#[derive(Clone, Copy, Record)]
pub struct Light {
    pub bright: f32,
    pub is_on: bool,
}

#[derive(Clone, Copy, Record)]
pub struct Body {
    pub at: [f64; 2],
    pub light: Light,
    pub kind: i16,
}

pub fn after(b: SExp<Body>, dt: SExp<f64>) -> SExp<Body> {
    let light = LightFields { is_on: !b.light.is_on, ..*b.light }.pack();
    BodyFields { at: [b.at[0] + dt * b.at[1], b.at[1]], light, ..*b }.pack()
}

pub fn moved(bodies: VExp<Body>, dt: SExp<f64>) -> VExp<Body> {
    bodies.map(|b| after(b, dt))
}

pub fn brightest(bodies: VExp<Body>, first: SExp<Body>) -> SExp<Body> {
    bodies.reduce(first, |a, b| cond(a.light.bright.ge(b.light.bright), a, b))
}
