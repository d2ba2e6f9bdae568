//! What is compiled while the program runs.
//!
//! A [`builder`] makes a function of core IR; it becomes a [`program`], one for each structure ([`cache`]), whose code
//! is made for a device when it first runs there: machine code on a GPU, kept on [`disk`], the block interpreter on the
//! CPU, or a C compiler where the user allows it ([`cc`]). Functions that stage scalars, of packages, too, become a
//! program for each of their values ([`staged`]).

pub(crate) mod builder;
mod cache;
pub(crate) mod cc;
pub(crate) mod compile;
pub(crate) mod nodes;
pub(crate) mod operations;
pub(crate) mod program;
pub(crate) mod programs;
mod recent;
pub(crate) mod staged;
