//! The functions that are measured.

use arraygpu_math as math;
use rug::Float;

/// A function of one number.
pub struct Function {
    pub name: &'static str,
    pub single: fn(f32) -> f32,
    pub double: fn(f64) -> f64,
    /// The system's, in f64: near enough to judge f32.
    pub near: fn(f64) -> f64,
    pub mpfr: fn(Float) -> Float,
}

macro_rules! functions {
    ($($name:ident, $near:expr, $mpfr:expr;)*) => {
        &[$(Function { name: stringify!($name), single: math::$name, double: math::$name, near: $near, mpfr: $mpfr }),*]
    };
}

/// All of them.
pub const FUNCTIONS: &[Function] = functions! {
    exp, f64::exp, Float::exp;
};
