//! The language of arraygpu: array programs as Rust closures over typed handles, and the command
//! line of generators.
//!
//! ```
//! use arraygpu_dsl::prelude::*;
//!
//! /// Root mean square error of two vectors of one length.
//! fn rmse(x: VExp<f32>, y: VExp<f32>) -> SExp<f32> {
//!     let d2 = x.zip_with(y, |a, b| slet(a - b, |d| d * d));
//!     (d2.sum() / x.len().cast::<f32>()).sqrt()
//! }
//!
//! # fn generator() -> arraygpu_dsl::Result<()> {
//! Package::new("stats").function("rmse", ["x", "y"], "result", rmse).run()
//! # }
//! ```
//!
//! # Cost
//!
//! The documentation of a function says what it costs when the generated code runs. The words:
//!
//! - *Fused*: no launch and no memory of its own. The element is computed in registers, in the
//!   launch that uses it, each time that an element of the result asks for it. The compiler stores
//!   the array nevertheless where computing it at every place that reads it would cost more.
//! - *An operation*: one scalar operator of the intermediate language, a few instructions.
//! - *An elementary function*: a sequence of such operations. `docs/elementary.md` has accuracy and
//!   times.
//! - *A reduction*: one evaluation of each element that it joins. Reductions and stored arrays over
//!   one index space share a launch if none waits for another one. What uses the result for each
//!   element of an array is computed in a later launch.
//! - *By the host*: computed once for a call, before any launch.
//! - *None*: it is known when the function is compiled, or changes indices only.
//!
//! Examples call functions in the compiler's reference interpreter: `call(f, [vector(&[1.0f32,
//! 2.0])])` gives the results of `f` for that vector.
//!
//! # How it works
//!
//! From the bottom up: a handle points to a node in an arena of its thread (`node.rs`). A node knows the
//! scopes (closures, functions) that it depends on, so that a handle that is carried out of its closure is
//! noticed (`scope.rs`). `elem.rs` has the element types and their classes, `item.rs` what an array may
//! consist of, `rank.rs` and `record.rs` records, `handle.rs` the handles, `ops.rs` and `scalar.rs` the
//! operations of scalars, `array.rs`, `element_loop.rs` loops of one element, `scalars.rs` their states,
//! `local_array.rs` small arrays of an element, `axis.rs` and `reduce.rs` those of arrays of every rank,
//! `scan.rs` scans, `sort.rs` orders, `filter.rs` filters, `filtered.rs` and `kept.rs` what they keep,
//! `keyed.rs` reductions of runs of keys, `segments.rs` and `scatter.rs` what goes by offsets and destinations, `tuples.rs` and
//! `tuple_lines.rs` the same of tuples, `choice.rs` choices, `sliced.rs` slices as ranges, `windows.rs` and
//! `widths.rs` what stencils take and give, `extremes.rs`, `moments.rs` and `softmax.rs` what is made of several of
//! these, `vector.rs`, `matrix.rs`, `product.rs` and `stencil.rs` those of some ranks, `bits.rs` the bits of floats,
//! `complex.rs` and `complex_lines.rs` complex numbers, `update.rs` arrays with a part replaced, `iterate.rs` and
//! `iterate_forms.rs` repeated steps, `stage.rs` values that are embedded as constants, `results.rs` and
//! `kernel_fn.rs` tuples and functions. `lower/` turns nodes into core IR, `package.rs` collects functions, `cli.rs`
//! is the command line, `eval.rs` and `values.rs` run a function inside of a test, and `mistakes.rs` has the messages
//! for what newcomers write. The project's type-level code is all in this crate; what leaves it is plain data.

mod array;
mod axis;
mod bits;
mod choice;
mod cli;
mod complex;
mod complex_lines;
mod composite;
mod elem;
mod element_loop;
mod error;
mod eval;
#[doc(hidden)]
pub mod example;
mod extremes;
mod filter;
mod filtered;
mod handle;
mod item;
mod iterate;
mod iterate_forms;
mod joined;
mod kept;
mod kernel_fn;
mod keyed;
mod local_array;
mod lower;
mod matrix;
mod mistakes;
mod moments;
mod node;
mod ops;
mod package;
mod product;
mod progress;
mod rank;
mod record;
mod reduce;
mod results;
mod scalar;
mod scalars;
mod scan;
mod scatter;
mod scope;
mod segments;
mod sliced;
mod softmax;
mod sort;
mod stage;
mod states;
mod stencil;
mod tuple_lines;
mod tuples;
mod update;
mod values;
mod vector;
mod widths;
mod windows;

pub use arraygpu_compiler::budget::Budget;
/// How stencils are kept on GPUs: see [`Package::stencil`].
pub use arraygpu_compiler::core::StencilHint;
pub use arraygpu_derive::Record;
pub use axis::{generate, generate2, generate3};
pub use choice::if_else;
pub use complex::{
    Complex, ComplexFields, ComplexMatrices, ComplexOf, ComplexTensors, ComplexVectors, complex,
};
pub use elem::{Bits, Elem, Float, Int, Num, Signed};
pub use element_loop::{LOOP_LIMIT, loop_for, loop_while, loop_while_at_most};
pub use error::{Error, Result};
pub use eval::eval;
#[doc(hidden)]
pub use eval::{Call, call_of};
pub use filtered::{Filtered, KeptScalars};
pub use handle::{IntoScalar, MExp, SExp, TExp, VExp};
pub use item::Item;
pub use iterate::{iterate, iterate_indexed};
pub use iterate_forms::{
    IterateWhileWithoutCheckEvery, iterate_collect, iterate_collect_indexed, iterate_while,
};
pub use kernel_fn::{Argument, Callable, KernelFn, Outputs, ParameterNames, Parameters};
pub use local_array::LocalArray;
#[doc(hidden)]
pub use mistakes::TupleMistakes;
pub use ops::{MatrixRhs, ScalarRhs, TensorRhs, VectorRhs};
pub use package::Package;
pub use rank::{Rank, Rank0, Rank1, Rank2, Rank3};
pub use record::{Field, Record};
pub use reduce::{FirstState, all, any};
pub use results::{ResultNames, Results, Scalars};
pub use scalar::{LetValue, cond, lit, slet};
pub use scalars::LoopState;
pub use scatter::{Destinations, IntoDestinations};
pub use sliced::{AxisPart, Index, Parts, Range, Shape};
pub use sort::SortedByKey;
pub use stage::{stage, stage_with};
pub use states::{Collected, States};
pub use stencil::Boundary;
pub use tuple_lines::{Alike, Lines, Planar, TupleLines};
pub use tuples::{Arrays, Elements, IntoScalars, TupleReductions};
pub use values::{ArgumentValue, ArgumentValues, Matrix, ResultValues, Volume};
pub use vector::{fill, iota};
pub use widths::{Width, Widths};
pub use windows::Windows;

pub use half::{bf16, f16};

/// What the code of `#[derive(Record)]` names.
#[doc(hidden)]
pub mod derived {
    pub use crate::item::{
        Described, Item, Leaf, argument_name, c_struct, described, leaf_name, leaves_of_item,
    };
    pub use crate::node::NodeRef;
    pub use crate::rank::{Rank, Rank0, Rank1, Rank2, Rank3};
    pub use crate::record::{Field, Record, bundle, pack, parts};
    pub use arraygpu_compiler::package::records::{FieldType, Struct};
    pub use arraygpu_compiler::scalar::Lit;
}

/// What generators write `use .. ::prelude::*` for.
pub mod prelude {
    #[doc(hidden)]
    pub use crate::TupleMistakes;
    pub use crate::{
        Bits, Elem, Float, Int, IntoScalar, Num, Package, Record, Results, Scalars, Signed, StencilHint,
    };
    pub use crate::{Boundary, MExp, SExp, TExp, VExp};
    pub use crate::{Complex, ComplexFields, ComplexVectors, complex};
    pub use crate::{Filtered, LocalArray, TupleLines, TupleReductions};
    pub use crate::{
        all, any, cond, fill, generate, generate2, generate3, iota, iterate, iterate_indexed, lit, slet,
    };
    pub use crate::{bf16, f16};
    pub use crate::{if_else, s};
    pub use crate::{iterate_collect, iterate_collect_indexed, iterate_while};
    pub use crate::{loop_for, loop_while, loop_while_at_most};
    pub use crate::{stage, stage_with};
}
