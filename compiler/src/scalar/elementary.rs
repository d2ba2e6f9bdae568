//! The elementary functions: maps operators to the functions of `arraygpu-math`.

use super::{BinaryOp, UnaryOp};
use arraygpu_math::{self as math, Real};

/// Computes an elementary function of one number in the number type `R`. Returns `None` for any
/// other operator.
pub fn unary<R: Real>(op: UnaryOp, x: R) -> Option<R> {
    Some(match op {
        UnaryOp::Exp => math::exp(x),
        UnaryOp::Exp2 => math::exp2(x),
        UnaryOp::Expm1 => math::expm1(x),
        UnaryOp::Log => math::log(x),
        UnaryOp::Log2 => math::log2(x),
        UnaryOp::Log10 => math::log10(x),
        UnaryOp::Log1p => math::log1p(x),
        UnaryOp::Sin => math::sin(x),
        UnaryOp::Cos => math::cos(x),
        UnaryOp::Tan => math::tan(x),
        UnaryOp::SinPi => math::sinpi(x),
        UnaryOp::CosPi => math::cospi(x),
        UnaryOp::Asin => math::asin(x),
        UnaryOp::Acos => math::acos(x),
        UnaryOp::Atan => math::atan(x),
        UnaryOp::Sinh => math::sinh(x),
        UnaryOp::Cosh => math::cosh(x),
        UnaryOp::Tanh => math::tanh(x),
        UnaryOp::Cbrt => math::cbrt(x),
        UnaryOp::Rsqrt => math::rsqrt(x),
        UnaryOp::Erf => math::erf(x),
        UnaryOp::Erfc => math::erfc(x),
        UnaryOp::Normcdf => math::normcdf(x),
        UnaryOp::FrexpMantissa => math::frexp_mantissa(x),
        UnaryOp::FrexpExponent => math::frexp_exponent(x),
        _ => return None,
    })
}

/// Computes an elementary function of two numbers in the number type `R`. Returns `None` for any
/// other operator.
pub fn binary<R: Real>(op: BinaryOp, a: R, b: R) -> Option<R> {
    Some(match op {
        BinaryOp::Pow => math::pow(a, b),
        BinaryOp::Atan2 => math::atan2(a, b),
        BinaryOp::Hypot => math::hypot(a, b),
        BinaryOp::Fmod => math::fmod(a, b),
        BinaryOp::Copysign => math::copysign(a, b),
        BinaryOp::Ldexp => math::ldexp(a, b),
        _ => return None,
    })
}
