//! `#[derive(Record)]`: the fields of a struct as handles. The trait `Record` of `arraygpu_dsl`
//! says what a record is; this crate writes its implementation for a struct.

mod expand;
mod read;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Makes a struct a record: a type of elements with named fields.
///
/// A field is an element type (`f32`, `i64`, `bool`, ..), another record, or an array `[T; N]` of
/// these. Of `struct Body { x: f32, y: f32 }` it makes
///
/// - `BodyFields { x: SExp<f32>, y: SExp<f32> }`, which `SExp<Body>` dereferences to, so that `b.x`
///   is the field of an expression `b`; `BodyFields { x, y }.pack()` is an `SExp<Body>`;
/// - `BodyVectors`, `BodyMatrices` and `BodyTensors`, the same for arrays: `bodies.x` is the vector
///   of the field of all elements.
///
/// They are names of one struct, `BodyOf`, whose parameter says what stands for a field. Inside of
/// the compiler a record is one value, or one array, for each field.
///
/// `#[record(crate = path)]` names the crate of the language, if it is not `arraygpu`.
#[proc_macro_derive(Record, attributes(record))]
pub fn record(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let expanded = read::record(&input).map(|record| expand::implementations(&record));
    expanded.unwrap_or_else(|e| e.to_compile_error()).into()
}
