//! What the compiler's tests share.

pub mod program;
pub mod rng;
