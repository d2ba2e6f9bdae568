//! What the tests share: lowering one function, and calling it in the reference interpreter.
#![allow(dead_code, unused_imports)]

use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::core::{Function, verify};
use arraygpu_compiler::driver::{self, Targets};
use arraygpu_compiler::kernel::interp::Order;
use arraygpu_compiler::scalar::Lit;
pub use arraygpu_dsl::example::{matrix, scalar, vector};
use arraygpu_dsl::prelude::*;
use arraygpu_dsl::{Callable, Outputs, ParameterNames, Parameters, ResultNames};
pub use arraygpu_suite::gpu;

/// Lowers one function and verifies it.
#[track_caller]
pub fn lower<'n, const K: usize, A: Parameters, F: Callable<K, A>>(
    params: [&'n str; K],
    results: impl ResultNames,
    f: F,
) -> Function
where
    [&'n str; K]: ParameterNames<K>,
    F::Out: Outputs,
{
    let package = Package::new("test").function("f", params, results, f);
    let function = package.functions().expect("a good function").remove(0);
    verify::verify(&function).expect("lowering makes well-formed functions");
    function
}

/// The error of a function that cannot be lowered.
#[track_caller]
pub fn refused<'n, const K: usize, A: Parameters, F: Callable<K, A>>(
    params: [&'n str; K],
    f: F,
) -> arraygpu_dsl::Error
where
    [&'n str; K]: ParameterNames<K>,
    F::Out: Outputs,
{
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

/// As [`call`], and on a simulated GPU: what the runtime chooses in every layout, and every version of every kernel
/// in two layouts, another one of them for each version.
#[track_caller]
pub fn everywhere(f: &Function, args: &[Value]) -> Vec<Value> {
    let expected = call(f, args);
    let targets = Targets { cpu: false, cuda: true };
    let compiled = driver::compile_for("t", vec![f.clone()], targets).expect("it compiles");
    let versions = compiled.kernels.iter().map(|k| k.gpu_variants().len()).max().unwrap_or(0);
    let mut runs = gpu::Runs::default();
    let [first, others @ ..] = gpu::Layout::ALL;
    let chosen = gpu::Layout::ALL.map(|layout| (None, layout));
    let forced =
        (0..versions).flat_map(|v| [first, others[v % others.len()]].map(|layout| (Some(v), layout)));
    for (version, layout) in chosen.into_iter().chain(forced) {
        let how = gpu::How { layout, version, span: 1, order: Order::Ascending };
        if !runs.is_new(&compiled, 0, args, how) {
            continue;
        }
        let found = gpu::call(&compiled, 0, args, how).unwrap_or_else(|e| panic!("{how:?}: {e}\n{f}"));
        assert!(found.record.is_none(), "{how:?}: {:?}\n{f}", found.record);
        assert_eq!(found.results, expected, "{how:?}\n{f}");
    }
    expected
}

/// A call that leaves a record, in every version of every kernel on a simulated GPU: it reads nothing wild, and all leave the same record.
#[track_caller]
pub fn recorded(f: &Function, args: &[Value]) -> String {
    assert!(interp::run(f, args).expect("the call works").recorded);
    let targets = Targets { cpu: false, cuda: true };
    let compiled = driver::compile_for("t", vec![f.clone()], targets).expect("it compiles");
    let versions = compiled.kernels.iter().map(|k| k.gpu_variants().len()).max().unwrap_or(0);
    let record = |version| {
        let how = gpu::How { layout: gpu::Layout::Offset, version, span: 1, order: Order::Ascending };
        let found = gpu::call(&compiled, 0, args, how).unwrap_or_else(|e| panic!("{how:?}: {e}\n{f}"));
        found.record.unwrap_or_else(|| panic!("no record: {how:?}\n{f}"))
    };
    let first = record(None);
    (0..versions).for_each(|v| assert_eq!(record(Some(v)), first, "{f}"));
    format!("element {}: {}", first.element, first.site)
}

/// The shape rules as `name subject`, in order.
pub fn rules(f: &Function) -> Vec<String> {
    f.requires.iter().map(|r| format!("{} {}", r.rule.name(), r.subject)).collect()
}

/// The literals of a vector.
pub fn literals(v: &Value) -> Vec<Lit> {
    match v {
        Value::Scalar(l) => vec![*l],
        Value::Vector(v) | Value::Array(_, v) => v.clone(),
    }
}
