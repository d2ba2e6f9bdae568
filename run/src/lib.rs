//! What `arraygpu-run` does: calls a function of a package with values from the command line or
//! from files, prints the results, and measures (`docs/runner.md`). And `arraygpu-tune`: measures the variants of
//! kernels (`docs/tuning.md`).
//!
//! ```text
//! values      kind array random          elements, arrays, generators
//! files       npy table picture file     `.npy`, `.csv`, pictures
//! parameters  slot input                 NAME=VALUE becomes an array
//! library     runtime package call       libarraygpu and a package through the C ABI
//! figures     benchmark profile summary report
//! variants    tuner                      which variant of a kernel is the fastest
//! programs    command tune program       the command lines
//! ```

pub mod array;
pub mod benchmark;
pub mod call;
pub mod command;
pub mod file;
pub mod input;
pub mod kind;
pub mod npy;
pub mod package;
pub mod picture;
pub mod problem;
pub mod profile;
pub mod program;
pub mod random;
pub mod report;
pub mod runtime;
pub mod slot;
pub mod summary;
pub mod table;
pub mod tune;
pub mod tuner;
