//! The compiler of arraygpu.
//!
//! ```text
//! core IR -> passes -> schedule -> plan + kernel IR -> backend -> package
//! ```
//!
//! An author's function becomes a graph of [`core`] IR, which [`passes`] rewrite (listed in
//! [`passes::pipeline`]). [`schedule`] divides it into kernels, chooses their strategies, and
//! returns a [`plan`] and kernels in [`kernel`] IR, which [`backend`] prints. [`driver`] runs all
//! of this. Nothing outside `package` does input or output.

pub mod backend;
pub mod budget;
pub mod build;
pub mod core;
mod counted;
pub mod counts;
pub mod driver;
pub mod error;
pub mod explain;
pub mod interrupt;
pub mod kernel;
pub mod loc;
pub mod package;
pub mod passes;
pub mod plan;
pub mod scalar;
pub mod schedule;
pub mod stage;
pub mod text;
pub mod without;

pub use counted::counted;
pub use error::{Error, Result};
