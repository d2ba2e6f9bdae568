//! The compiler of arraygpu.
//!
//! ```text
//! core IR -> passes -> schedule -> plan + kernel IR -> backend -> package
//! ```
//!
//! [`core`] is what an author's function becomes, [`passes`] rewrites it ([`passes::pipeline`] is
//! the list), [`schedule`] decides what is a kernel and by which strategy, giving a [`plan`] and
//! kernels in [`kernel`] IR, and [`backend`] prints those. [`driver`] runs all of it. Nothing here
//! does IO outside `package`.

pub mod backend;
pub mod build;
pub mod core;
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

pub use error::{Error, Result};
