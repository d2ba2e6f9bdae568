//! Loops that depend on no index, on CPUs: one thread computes their values, and the elements read them. The block
//! interpreter and C through the runtime, against the interpreter of core IR; records are left by who needs them.

#[path = "common/mod.rs"]
mod runtime;

use arraygpu_capi::abi::AgpuStatus;
use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::core::parse;
use arraygpu_compiler::driver::{Targets, compile_for};
use arraygpu_compiler::scalar::Lit;
use runtime::{Layout, context, load_blocks, load_highest, shapes};

/// The text of the file test, function by function.
const TEXT: &str = include_str!("../compiler/tests/files/closed_loops.core");

fn check(name: &str, args: &[Value], recorded: bool) {
    let f = parse::parse(TEXT).unwrap().into_iter().find(|f| f.name == name).unwrap();
    let c = compile_for("t", vec![f], Targets { cpu: true, cuda: false }).unwrap();
    let wanted = interp::run(&c.functions[0].source, args).unwrap();
    assert_eq!(wanted.recorded, recorded, "{name}");
    for loaded in [load_highest(&c), load_blocks(&c)] {
        for layout in Layout::ALL {
            let called = loaded.call(0, context(2), args, &shapes(&wanted.results), layout);
            let is_recorded = matches!(called.status, AgpuStatus::AgpuErrorRecord);
            assert!(is_recorded || matches!(called.status, AgpuStatus::AgpuOk), "{name}: {}", called.message);
            assert_eq!(is_recorded, recorded, "{name}, {layout:?}: {}", called.message);
            assert!(recorded || called.results == wanted.results, "{name}, {layout:?}");
        }
    }
}

fn vector(n: i64) -> Value {
    Value::Vector((0..n).map(|i| Lit::f32(i as f32 / 8.0 - 2.0)).collect())
}

#[test]
fn values_are_those_of_the_program() {
    let [p, n] = [Value::Scalar(Lit::f32(0.3)), Value::Scalar(Lit::i64(70))];
    for length in [0, 1, 5000] {
        check("long", &[vector(length), p.clone()], false);
        check("short", &[vector(length), p.clone()], false);
        if length > 0 {
            check("from_data", &[vector(length), n.clone()], false);
        }
    }
    check("alone", &[p], false);
}

#[test]
fn records_are_left_by_elements_that_need_the_value() {
    let k = |zero: i64| Value::Vector((0..9).map(|i| Lit::i64(i - zero)).collect());
    let n = |n| Value::Scalar(Lit::i64(n));
    check("records", &[vector(100), k(-1), n(9)], false);
    check("records", &[vector(100), k(4), n(9)], true);
    check("records", &[vector(100), k(-1), n(10)], true);
    // no element is positive
    check("records", &[vector(10), k(4), n(9)], false);
    check("records", &[vector(0), k(4), n(9)], false);
}
