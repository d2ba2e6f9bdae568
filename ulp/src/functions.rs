//! The functions that are measured, of one and of two numbers.

use arraygpu_math as math;
use rug::Float;

/// A function. If `two` is false, it has one argument, and the second one is ignored everywhere.
pub struct Function {
    pub name: &'static str,
    pub two: bool,
    pub single: fn(f32, f32) -> f32,
    pub double: fn(f64, f64) -> f64,
    /// The function of the system in f64, which is accurate enough to judge f32.
    pub near: fn(f64, f64) -> f64,
    pub mpfr: fn(Float, Float) -> Float,
}

/// Lists functions of one number: the name, the system's function in f64, and MPFR's.
macro_rules! functions {
    ($($name:ident, $near:expr, $mpfr:expr;)*) => {
        &[$(Function {
            name: stringify!($name),
            two: false,
            single: |x, _| math::$name(x),
            double: |x, _| math::$name(x),
            near: |x, _| ($near)(x),
            mpfr: |x, _| ($mpfr)(x),
        }),*]
    };
}

/// Lists functions of two numbers: the name, the system's function in f64, and MPFR's.
macro_rules! pairs {
    ($($name:ident, $near:expr, $mpfr:expr;)*) => {
        &[$(Function {
            name: stringify!($name),
            two: true,
            single: math::$name,
            double: math::$name,
            near: $near,
            mpfr: $mpfr,
        }),*]
    };
}

/// The functions of one number.
pub const FUNCTIONS: &[Function] = functions! {
    exp, f64::exp, Float::exp;
    exp2, f64::exp2, Float::exp2;
    expm1, f64::exp_m1, Float::exp_m1;
    sinh, f64::sinh, Float::sinh;
    cosh, f64::cosh, Float::cosh;
    tanh, f64::tanh, Float::tanh;
    cbrt, f64::cbrt, Float::cbrt;
    rsqrt, |x: f64| 1.0 / x.sqrt(), |x: Float| x.sqrt().recip();
    log, f64::ln, Float::ln;
    log2, f64::log2, Float::log2;
    log10, f64::log10, Float::log10;
    log1p, f64::ln_1p, Float::ln_1p;
    sin, f64::sin, Float::sin;
    cos, f64::cos, Float::cos;
    tan, f64::tan, Float::tan;
    sinpi, libm::sinpi, Float::sin_pi;
    cospi, libm::cospi, Float::cos_pi;
    asin, f64::asin, Float::asin;
    acos, f64::acos, Float::acos;
    atan, f64::atan, Float::atan;
    erf, libm::erf, Float::erf;
    erfc, libm::erfc, Float::erfc;
    normcdf, libm::normcdf, |x: Float| (x * -Float::with_val(300, 0.5).sqrt()).erfc() / 2u32;
};

/// The functions of two numbers.
pub const PAIRS: &[Function] = pairs! {
    hypot, f64::hypot, |x: Float, y: Float| x.hypot(&y);
    pow, f64::powf, rug::ops::Pow::pow;
    atan2, f64::atan2, |y: Float, x: Float| y.atan2(&x);
    fmod, |x, y| x % y, |x: Float, y: Float| x % y;
    copysign, |x, y| libm::copysign(x, y), |x: Float, y: Float| if y.is_nan() { x.abs() } else { x.copysign(&y) };
};

/// ldexp, whose integer argument is given as a float; beyond 4000 all integers give the same
/// result.
pub const LDEXP: Function = Function {
    name: "ldexp",
    two: true,
    single: |x, n| math::ldexp(x, whole(f64::from(n)) as f32),
    double: |x, n| math::ldexp(x, whole(n)),
    near: |x, n| libm::ldexp(x, whole(n)),
    mpfr: |x, n| x << whole(n.to_f64()) as i32,
};

fn whole(n: f64) -> f64 {
    if n.is_nan() { 0.0 } else { n.round_ties_even().clamp(-4000.0, 4000.0) }
}

/// The functions of the system's library that Rust's library lacks.
mod libm {
    mod c {
        unsafe extern "C" {
            pub safe fn erf(x: f64) -> f64;
            pub safe fn erfc(x: f64) -> f64;
            pub safe fn ldexp(x: f64, n: i32) -> f64;
        }
    }
    pub fn ldexp(x: f64, n: f64) -> f64 {
        c::ldexp(x, n as i32)
    }
    /// Copies the sign; the sign of a NaN means nothing.
    pub fn copysign(x: f64, y: f64) -> f64 {
        if y.is_nan() { x.abs() } else { x.copysign(y) }
    }
    pub fn erf(x: f64) -> f64 {
        c::erf(x)
    }
    pub fn erfc(x: f64) -> f64 {
        c::erfc(x)
    }
    /// Returns x within its quadrant of half turns, and the quadrant.
    fn by_half_turns(x: f64) -> (f64, i64) {
        let x = x - 2.0 * (x * 0.5).round_ties_even();
        let n = (x * 2.0).round_ties_even();
        ((x - n * 0.5) * std::f64::consts::PI, n as i64)
    }
    pub fn sinpi(x: f64) -> f64 {
        let (r, n) = by_half_turns(x.abs());
        let y = if n & 1 == 0 { r.sin() } else { r.cos() };
        (0.0 + if n & 2 == 0 { y } else { -y }) * 1f64.copysign(x)
    }
    pub fn cospi(x: f64) -> f64 {
        let (r, n) = by_half_turns(x.abs());
        let y = if n & 1 == 0 { r.cos() } else { r.sin() };
        0.0 + if (n + 1) & 2 == 0 { y } else { -y }
    }
    pub fn normcdf(x: f64) -> f64 {
        0.5 * c::erfc(x * -std::f64::consts::FRAC_1_SQRT_2)
    }
}
