//! arraygpu: array programs written as Rust closures, compiled to packages that C and C++ programs
//! link.
//!
//! A *generator* is an ordinary Rust program. It registers functions of typed expressions and runs
//! the command line:
//!
//! ```no_run
//! use arraygpu::prelude::*;
//!
//! /// Root mean square error of two vectors of one length.
//! fn rmse(x: VExp<f32>, y: VExp<f32>) -> SExp<f32> {
//!     let d2 = x.zip_with(y, |a, b| slet(a - b, |d| d * d));
//!     (d2.sum() / x.len().cast::<f32>()).sqrt()
//! }
//!
//! fn main() -> arraygpu::Result<()> {
//!     Package::new("stats")
//!         .function("rmse", ["x", "y"], "result", rmse)
//!         .doc("Root mean square error of two vectors of one length.")
//!         .function("minmax", ["x"], ["lo", "hi"], |x: VExp<f32>| (x.min(), x.max()))
//!         .run()
//! }
//! ```
//!
//! [`eval`] runs a function inside of a test, on the reference interpreter; `run`, with the feature `run`, on this
//! machine's device.
//!
//! `docs/language.md` describes the language on one page, and `docs/semantics.md` defines what a
//! program means, to the bit.

#[cfg(feature = "run")]
mod run;

#[cfg(feature = "run")]
pub use run::run;

pub use arraygpu_dsl::{
    Argument, ArgumentValue, ArgumentValues, Bits, Boundary, Callable, Collected, Complex, Destinations,
    Elem, Error, Field, Filtered, FirstState, Float, Int, IntoDestinations, IntoScalar, Item,
    IterateWhileWithoutCheckEvery, KernelFn, LoopState, MExp, Matrix, MatrixRhs, Num, Outputs, Package,
    ParameterNames, Parameters, Rank, Record, Result, ResultNames, ResultValues, Results, SExp, ScalarRhs,
    Scalars, Signed, States, StencilHint, TExp, TensorRhs, VExp, VectorRhs, Volume, Windows, all, any, bf16,
    complex, cond, eval, f16, fill, generate, generate2, generate3, if_else, iota, iterate, iterate_collect,
    iterate_collect_indexed, iterate_indexed, iterate_while, lit, loop_for, loop_while, loop_while_at_most,
    s, slet, stage, stage_with,
};

#[doc(hidden)]
pub use arraygpu_dsl::derived;

/// Everything that a generator needs.
pub mod prelude {
    pub use arraygpu_dsl::prelude::*;
}

/// Tests that the Rust code in README.md compiles, and that of the pages for authors.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!(concat!(env!("OUT_DIR"), "/language.md"))]
struct Language;

#[cfg(doctest)]
#[doc = include_str!(concat!(env!("OUT_DIR"), "/from-cuda-numpy.md"))]
struct FromCudaNumpy;
