//! What the compiler's tests share.

pub mod operators;
pub mod rng;
pub mod semantics;
pub mod values;
