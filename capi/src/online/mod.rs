//! Compilation while the program runs.
//!
//! A [`builder`] makes a function of core IR. The function becomes a [`program`], one for each
//! structure ([`cache`]), whose code is made for a device when it first runs there: machine code on
//! a GPU, which is kept on [`disk`]; on the CPU the block interpreter, or a C compiler if the user
//! allows it ([`cc`]). Functions that stage scalars, also those of packages, become a program for
//! each of their values ([`staged`]). Rust programs run a function once by [`values`].

mod allowance;
mod begun;
pub(crate) mod builder;
mod cache;
pub(crate) mod cc;
pub(crate) mod compile;
pub(crate) mod composites;
pub(crate) mod iterated;
pub(crate) mod joined;
pub(crate) mod nodes;
mod numbers;
pub(crate) mod operations;
pub(crate) mod program;
pub(crate) mod programs;
mod recent;
pub(crate) mod staged;
pub(crate) mod stencils;
pub(crate) mod values;
pub(crate) mod written;
