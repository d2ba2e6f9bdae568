//! Reductions of segments on CPUs, whose lengths are data: few elements are straight-line code. The block interpreter
//! and C through the runtime, against the interpreter of core IR, in every bit.

#[path = "common/mod.rs"]
mod runtime;

use arraygpu_capi::abi::AgpuStatus;
use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::driver::Targets;
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_suite::rng::Rng;
use arraygpu_suite::typed::{compiled_for, numbers};
use runtime::{Layout, context, load_blocks, load_highest, shapes};

/// Checks segments of all small lengths, and of some above those of straight-line code, columns and tiles.
fn check(text: &str, ty: Ty, is_straight: bool) {
    let c = compiled_for(text, ty, Targets { cpu: true, cuda: false });
    assert_eq!(c.emit("kernel").unwrap().contains("var %few"), is_straight, "{text}");
    let lengths: Vec<i64> = (0..=40).chain([127, 128, 129, 150, 2048, 2049, 5000, 3, 0]).collect();
    let begins = lengths.iter().scan(0, |sum, n| {
        *sum += n;
        Some(*sum - n)
    });
    let as_value = |of: Vec<i64>| Value::Vector(of.into_iter().map(Lit::i64).collect());
    let count: i64 = lengths.iter().sum();
    let x = numbers(ty, &[count as usize], &mut Rng::new(7));
    let args = [as_value(begins.collect()), as_value(lengths.clone()), x];
    let wanted = interp::run(&c.functions[0].source, &args).unwrap();
    for loaded in [load_highest(&c), load_blocks(&c)] {
        for layout in Layout::ALL {
            let called = loaded.call(0, context(2), &args, &shapes(&wanted.results), layout);
            let what = format!("{ty}, {layout:?}\n{text}\n{}", called.message);
            assert!(matches!(called.status, AgpuStatus::AgpuOk), "{what}");
            assert_eq!(called.results, wanted.results, "{what}");
        }
    }
}

/// The program: the reductions of segments.
fn program(init: &str, operator: &str, element: &str) -> String {
    "func @f(%begins: [i64], %lengths: [i64], %x: [T]) -> (r: [T]) {
  %n = len %begins
  %m = len %lengths
  require same %n, %m \"segments\"
  %r = generate %n (%k: i64) {
    %begin = elem %begins, %k
    %length = elem %lengths, %k
    %s = generate %length (%i: i64) {
      %p = add %begin, %i
      %e = elem %x, %p
      ELEMENT
    }
    %v = reduce OPERATOR
    yield %v
  }
  return %r
}"
    .replace("ELEMENT", element)
    .replace("OPERATOR", operator)
    .replace("INIT", init)
}

const SUM: &str = "(%a: T, %b: T) from INIT over %s { %t = add %a, %b yield %t }";

#[test]
fn sums() {
    for ty in [Ty::F32, Ty::F64, Ty::I32, Ty::U8] {
        check(&program("0T", SUM, "yield %e"), ty, true);
        check(&program("1T", SUM, "%d = mul %e, %e yield %d"), ty, true);
    }
}

/// The order shows in the bits, and there is no value of a column without elements.
#[test]
fn operators_without_an_identity() {
    let halved = "(%a: T, %b: T) from INIT over %s { %t = sub %a, %b %u = mul %t, %b yield %u }";
    for ty in [Ty::F32, Ty::I64] {
        check(&program("9T", halved, "yield %e"), ty, true);
    }
}

/// Components that depend on one another.
#[test]
fn tuples() {
    let both = "1 (%a: T, %b: T, %c: T, %d: T) from %init over %s { %t = add %a, %c %u = mul %b, %c %v = sub %u, %d %w = tuple %t, %v yield %w }";
    let element = "%d = add %e, 1T %t = tuple %e, %d yield %t";
    let text = program("", both, element).replace("%r = generate", "%init = tuple 1T, 9T\n  %r = generate");
    for ty in [Ty::F32, Ty::I32] {
        check(&text, ty, true);
    }
}

/// The code of long elements is not written once for each of them.
#[test]
fn long_elements() {
    let element = "%d0 = mul %e, %e %d1 = add %d0, %e %d2 = mul %d1, %e %d3 = sub %d2, %e %d4 = mul %d3, %e %d5 = add %d4, %d0 %d6 = mul %d5, %d2 yield %d6";
    check(&program("0T", SUM, element), Ty::F32, false);
}
