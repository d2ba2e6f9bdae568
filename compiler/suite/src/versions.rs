//! Programs on a simulated GPU in every version of their kernels and in every layout, against the interpreter.

use crate::gpu::{Failure, How, Layout, Runs, call};
use crate::rng::Rng;
use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::core::{Function, StencilHint, parse};
use arraygpu_compiler::driver::{Compiled, Targets, compile_for};
use arraygpu_compiler::kernel::interp::Order;
use arraygpu_compiler::scalar::{Lit, Ty, eval};

/// The program of one function, with this strategy forced.
pub fn compiled(text: &str, strategy: Option<StencilHint>) -> Compiled {
    let mut functions = parse::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    functions[0].stencil = strategy;
    compile_for("t", functions, Targets { cpu: false, cuda: true }).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// A matrix of small numbers.
pub fn numbers(ty: Ty, rows: usize, columns: usize, rng: &mut Rng) -> Value {
    let element = |_| eval::eval_cast(ty, Lit::i64(rng.below(200) as i64 - 100));
    Value::Array(vec![rows as i64, columns as i64], (0..rows * columns).map(element).collect())
}

fn count(v: &Value) -> usize {
    match v {
        Value::Scalar(_) => 1,
        Value::Vector(all) | Value::Array(_, all) => all.len(),
    }
}

/// Calls in every version and in every layout, each set of kernels once in a layout. The entries that ran.
pub fn check(c: &Compiled, args: &[Value], what: &str) -> Vec<String> {
    let f: &Function = &c.functions[0].fused;
    let wanted = interp::run(f, args);
    let versions = c.kernels.iter().map(|k| k.gpu_variants().len()).max().unwrap_or(0);
    let plain = (0..versions).map(|v| (Layout::Contiguous, Some(v)));
    // of vectors it is the same
    let padded = if matches!(args[0], Value::Array(..)) { versions } else { 0 };
    let plain = plain.chain((0..padded).map(|v| (Layout::Padded, Some(v))));
    let others = Layout::ALL.map(|l| (l, None));
    let (mut entries, mut runs) = (Vec::new(), Runs::default());
    // calls of other sizes have other orders of blocks
    let elements: usize = args.iter().map(count).sum();
    for (i, (layout, version)) in plain.chain(others).enumerate() {
        let order = [Order::Ascending, Order::Descending, Order::Random(7)][(i + elements) % 3];
        let how = How { layout, version, span: 1, order };
        if !runs.is_new(c, 0, args, How { order: Order::Ascending, ..how }) {
            continue;
        }
        match (&wanted, call(c, 0, args, how)) {
            (Err(_), Err(Failure::Shape(_))) => {}
            (Ok(wanted), Ok(found)) => {
                assert_eq!(wanted.recorded, found.record.is_some(), "{what}, {how:?}\n{f}");
                assert!(wanted.recorded || wanted.results == found.results, "{what}, {how:?}\n{f}");
                entries.extend(found.entries);
            }
            (_, Err(e)) => panic!("{what}, {how:?}: {e}\n{f}"),
            (Err(e), Ok(_)) => panic!("{what}, {how:?}: expected {e}\n{f}"),
        }
    }
    entries
}

/// Calls a function in these layouts, by some versions, and compares records and results with those of the program as
/// it was written.
pub fn check_source(c: &Compiled, args: &[Value], layouts: &[Layout], recorded: bool) {
    let source = &c.functions[0].source;
    let expected = interp::run(source, args).unwrap();
    assert_eq!(expected.recorded, recorded, "{source}");
    for layout in layouts {
        for version in [None, Some(0), Some(1)] {
            let how = How { layout: *layout, version, span: 1, order: Order::Random(3) };
            let called = call(c, 0, args, how).unwrap_or_else(|e| panic!("{how:?}: {e}\n{source}"));
            assert_eq!(called.record.is_some(), recorded, "{how:?}\n{source}");
            if !recorded {
                assert_eq!(called.results, expected.results, "{how:?}\n{source}");
            }
        }
    }
}
