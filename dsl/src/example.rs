//! What the examples of this crate's documentation share: arguments, and a call in the compiler's
//! reference interpreter. It is hidden, for it is no part of the language.

use crate::elem::Elem;
use crate::kernel_fn::KernelFn;
use crate::lower;
use crate::package;
use arraygpu_compiler::core::interp::{self, Value};
use std::panic::Location;

/// A scalar argument.
pub fn scalar<T: Elem>(x: T) -> Value {
    Value::Scalar(x.lit())
}

/// A vector argument.
pub fn vector<T: Elem>(elements: &[T]) -> Value {
    Value::Vector(elements.iter().map(|x| x.lit()).collect())
}

/// A matrix argument, from its rows.
pub fn matrix<T: Elem, const C: usize>(rows: &[[T; C]]) -> Value {
    let elements = rows.iter().flatten().map(|x| x.lit()).collect();
    Value::Array(vec![rows.len() as i64, C as i64], elements)
}

/// An argument of three dimensions, from its planes.
pub fn tensor<T: Elem, const R: usize, const C: usize>(planes: &[[[T; C]; R]]) -> Value {
    let elements = planes.iter().flatten().flatten().map(|x| x.lit()).collect();
    Value::Array(vec![planes.len() as i64, R as i64, C as i64], elements)
}

/// The results of a function for these arguments, as the reference interpreter computes them.
///
/// # Panics
///
/// With the error's text, if the function cannot be lowered or a shape rule does not hold.
#[track_caller]
pub fn call<const K: usize, A>(f: impl KernelFn<K, A>, args: [Value; K]) -> Vec<Value> {
    call_parts(f, args)
}

/// [`call`] of a function of records: with an argument for each leaf of a parameter.
///
/// # Panics
///
/// As [`call`].
#[track_caller]
pub fn call_parts<const K: usize, A>(f: impl KernelFn<K, A>, args: impl AsRef<[Value]>) -> Vec<Value> {
    let at = Location::caller();
    let names: [String; K] = std::array::from_fn(|i| format!("p{i}"));
    let called = package::call("f", at, &names.each_ref().map(String::as_str), f);
    let definition = called.alone("f", at, "r");
    let outcome = lower::lower(&definition).and_then(|function| interp::run(&function, args.as_ref()));
    outcome.unwrap_or_else(|e| panic!("{}", e.message)).results
}
