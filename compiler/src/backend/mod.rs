//! Backends print kernel IR. They make no decisions: every loop, load and rounding is already in
//! the IR.

pub mod c;
pub mod cuda;
mod matrices;
pub mod ptx;
