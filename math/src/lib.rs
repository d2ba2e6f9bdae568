//! The elementary functions of arraygpu, written once.
//!
//! Every function is generic over [`Real`]: the exact operations of the language on f32 or f64. On
//! numbers ([`native`]) it computes; on the terms of the compiler it writes the same operations
//! into core IR, from which every backend generates code. So the interpreter, C and PTX agree by
//! construction, and what is measured here (`cargo xtask ulp`) is true for all of them.
//!
//! Rules that every function keeps:
//! - It uses no f64 inside an f32 function, no tables and no loops, but straight-line code that
//!   vectorises and does not diverge within a warp. Code that is rarely needed is behind
//!   [`Flag::unlikely`], which the schedule may turn into a branch.
//! - Nothing depends on the payload or sign of a NaN (semantics 2.4); [`Real::bits`] of a NaN may
//!   be the bits of any NaN.
//! - Special values and signs of zero are those of C99 Annex F; a domain error is NaN.
//!
//! Each file describes its algorithm, the source of its polynomials (`math/derive/`), and its error
//! bound.

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
