//! Backends print kernel IR. They decide nothing: every loop, load and rounding is in the IR
//! already.

pub mod c;
pub mod ptx;
