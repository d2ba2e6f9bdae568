//! The elementary functions of arraygpu, written once.
//!
//! Every function is generic over [`Real`]: the exact operations of the language on f32 or f64. On numbers themselves ([`native`]) it computes; on the
//! compiler's terms it writes the same operations into core IR, from where every backend gets them. So the interpreter, C and PTX agree by construction, and
//! what is measured here (`cargo xtask ulp`) is true of all.
//!
//! Rules that every function keeps:
//! - no f64 inside an f32 function, no tables, no loops: straight code that vectorises and keeps a warp together. Code that is rarely needed is behind
//!   [`Flag::unlikely`], which the schedule may turn into a branch;
//! - nothing depends on the payload or sign of a NaN (semantics 2.4); [`Real::bits`] of a NaN may be any NaN's;
//! - C99 Annex F special values and signs of zero; a domain error is NaN.
//!
//! Each file states its algorithm, where its polynomials come from (`math/derive/`), and its bound.

#![allow(
    clippy::excessive_precision,
    clippy::approx_constant,
    reason = "constants are written as they are derived: exactly, and parts of pi are no approximations of it"
)]

pub mod arc;
pub mod double;
pub mod erf;
pub mod exact;
pub mod exp;
pub mod hyperbolic;
pub mod log;
pub mod native;
pub mod poly;
pub mod pow;
pub mod real;
pub mod reduce;
pub mod root;
pub mod trig;

pub use arc::{acos, asin, atan, atan2};
pub use erf::{erf, erfc, normcdf};
pub use exact::{copysign, fmod, frexp_exponent, frexp_mantissa, ldexp};
pub use exp::{exp, exp2};
pub use hyperbolic::{cosh, expm1, sinh, tanh};
pub use log::{log, log1p, log2, log10};
pub use pow::pow;
pub use real::{Bits, Flag, Real};
pub use root::{cbrt, hypot, rsqrt};
pub use trig::{cos, cospi, sin, sinpi, tan};
