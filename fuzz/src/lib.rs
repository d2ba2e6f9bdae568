//! Random programs of core IR over every operation, and what runs them stage by stage against the
//! interpreter.
//!
//! [`generate`] makes a program and its calls from a seed, legal by construction, and [`dsl`] one
//! of the language; [`check`] runs it through one stage of the compiler and compares; [`run`] does
//! that for many seeds in processes of their own, because a program may bring the compiler down;
//! [`reduce`] makes a failing program small; [`count`] tells what programs are made of.
//! [`interface`] calls the C interface at random.

pub mod case;
pub mod check;
pub mod count;
pub mod coverage;
pub mod dsl;
pub mod generate;
pub mod interface;
pub mod legal;
pub mod reduce;
pub mod rng;
pub mod run;
mod runtime;
pub mod seeds;
pub mod stream;
pub mod values;
