//! What the tests share: lowering one function, and calling it in the reference interpreter.
#![allow(dead_code)]

use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::core::{Function, verify};
use arraygpu_compiler::scalar::Lit;
use arraygpu_dsl::prelude::*;
use arraygpu_dsl::{KernelFn, ResultNames};

/// Lowers one function and verifies it.
#[track_caller]
pub fn lower<const K: usize, A>(
    params: [&str; K],
    results: impl ResultNames,
    f: impl KernelFn<K, A>,
) -> Function {
    let package = Package::new("test").function("f", params, results, f);
    let function = package.functions().expect("a good function").remove(0);
    verify::verify(&function).expect("lowering makes well-formed functions");
    function
}

/// The error of a function that cannot be lowered.
#[track_caller]
pub fn refused<const K: usize, A>(params: [&str; K], f: impl KernelFn<K, A>) -> arraygpu_dsl::Error {
    Package::new("test").function("f", params, "result", f).functions().expect_err("a bad function")
}

/// Calls a function in the interpreter, before and after the compiler's passes; they must agree.
#[track_caller]
pub fn call(f: &Function, args: &[Value]) -> Vec<Value> {
    let before = interp::run(f, args).expect("the call works").results;
    let fused = arraygpu_compiler::passes::pipeline::run(f, &mut |_, _| ()).expect("the passes work");
    let after = interp::run(&fused, args).expect("the fused call works").results;
    assert_eq!(before, after, "the passes changed a result");
    before
}

/// The shape rules as `name subject`, in order.
pub fn rules(f: &Function) -> Vec<String> {
    f.requires.iter().map(|r| format!("{} {}", r.rule.name(), r.subject)).collect()
}

/// A vector of constants.
pub fn vector<T: Elem>(elements: &[T]) -> Value {
    Value::Vector(elements.iter().map(|x| x.lit()).collect())
}

/// A scalar.
pub fn scalar<T: Elem>(x: T) -> Value {
    Value::Scalar(x.lit())
}

/// The literals of a vector.
pub fn literals(v: &Value) -> Vec<Lit> {
    match v {
        Value::Scalar(l) => vec![*l],
        Value::Vector(v) | Value::Array(_, v) => v.clone(),
    }
}
