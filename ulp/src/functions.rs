//! The functions that are measured: of one number and of two.

use arraygpu_math as math;
use rug::Float;

/// A function; of one number if `two` is false, then the second argument is ignored everywhere.
pub struct Function {
    pub name: &'static str,
    pub two: bool,
    pub single: fn(f32, f32) -> f32,
    pub double: fn(f64, f64) -> f64,
    /// The system's, in f64: near enough to judge f32.
    pub near: fn(f64, f64) -> f64,
    pub mpfr: fn(Float, Float) -> Float,
}

/// `name, system's in f64, MPFR's;` of one number.
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

/// `name, system's in f64, MPFR's;` of two numbers.
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

/// Those of one number.
pub const FUNCTIONS: &[Function] = functions! {
    exp, f64::exp, Float::exp;
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
};

/// Those of two numbers. Lines for what is being written (a second argument that is an integer, as ldexp's, comes as a whole number):
/// `pow, f64::powf, rug::ops::Pow::pow;`  `atan2, f64::atan2, |y, x| y.atan2(&x);`  `hypot, f64::hypot, |x, y| x.hypot(&y);`
/// `fmod, |x, y| x % y, |x, y| x % y;`  `copysign, f64::copysign, |x, y| x.copysign(&y);`
pub const PAIRS: &[Function] = pairs! {
    atan2, f64::atan2, |y: Float, x: Float| y.atan2(&x);
};

/// What Rust's library lacks, from the system's.
mod libm {
    mod c {
        unsafe extern "C" {
            pub safe fn erf(x: f64) -> f64;
            pub safe fn erfc(x: f64) -> f64;
        }
    }
    pub fn erf(x: f64) -> f64 {
        c::erf(x)
    }
    pub fn erfc(x: f64) -> f64 {
        c::erfc(x)
    }
    /// x within its quadrant of half turns, and the quadrant.
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
