//! Searches of neighbouring elements on CPUs: those of a block walk through its numbers if these ascend, and halve
//! otherwise. The block interpreter and C through the runtime, against the interpreter of core IR.

#[path = "common/mod.rs"]
mod runtime;

use arraygpu_capi::abi::AgpuStatus;
use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::driver::Targets;
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_suite::rng::Rng;
use arraygpu_suite::typed::compiled_for;
use runtime::{Layout, context, load_blocks, load_highest, shapes};

fn vector(of: &[i64]) -> Value {
    Value::Vector(of.iter().map(|n| Lit::i64(*n)).collect())
}

/// Calls the program in each layout, with and without a C compiler.
fn check(text: &str, is_walk: bool, calls: &[Vec<Value>]) {
    let c = compiled_for(text, Ty::I64, Targets { cpu: true, cuda: false });
    assert_eq!(c.emit("kernel").unwrap().contains("var %more"), is_walk, "{text}");
    for loaded in [load_highest(&c), load_blocks(&c)] {
        for (args, layout) in calls.iter().flat_map(|call| Layout::ALL.map(|layout| (call, layout))) {
            let wanted = interp::run(&c.functions[0].source, args).unwrap();
            let called = loaded.call(0, context(2), args, &shapes(&wanted.results), layout);
            let what = format!("{:?}, {layout:?}\n{text}\n{}", shapes(args), called.message);
            assert!(matches!(called.status, AgpuStatus::AgpuOk), "{what}");
            assert_eq!(called.results, wanted.results, "{what}");
        }
    }
}

/// The program: for each index the first number in a range that is not below it, or above it.
fn program(bounds: &str, test: &str) -> String {
    "func @f(%keys: [i64], %ends: [i64], %x: [i64]) -> (r: [i64]) {
  %n = len %x
  %count = len %keys
  %r = generate %n (%i: i64) {
    %e = elem %x, %i
    BOUNDS
    %l = loop 0 (%s: i64, %low: i64, %high: i64) by 64i64 from %from, %to {
      %more = lt %low, %high
      %both = add %low, %high
      %middle = shr %both, 1i64
      %key = elem %keys, %middle
      %t = TEST
      %after = add %middle, 1i64
      %a = select %t, %low, %after
      %b = select %t, %middle, %high
      %all = tuple %more, %a, %b
      yield %all
    }
    %v = add %l, %e
    yield %v
  }
  return %r
}"
    .replace("BOUNDS", bounds)
    .replace("TEST", test)
}

const OF_BLOCKS: &str = "%q = div %i, 16i64 %from = elem %ends, %q %p = add %q, 1i64 %to = elem %ends, %p";
const OF_ALL: &str = "%from = add 0i64, 0i64 %to = add %count, 0i64";

/// Keys that ascend, descend, or ascend but for one place, more and fewer than elements; then the bounds of blocks of
/// 16 elements, also descending ones and blocks of many keys.
fn calls() -> Vec<Vec<Value>> {
    let (mut rng, mut calls) = (Rng::new(1), Vec::new());
    for (n, count) in [(0, 3), (1, 0), (100, 70), (333, 2000), (1000, 1000), (64, 64), (200, 40)] {
        let x: Vec<i64> = (0..n).map(|_| rng.below(1000) as i64).collect();
        let mut keys: Vec<i64> = (0..count).map(|_| rng.below(n + 20) as i64 - 9).collect();
        keys.sort_unstable();
        let mut ends: Vec<i64> = (0..n / 16 + 2).map(|_| rng.below(count + 1) as i64).collect();
        let of = |keys: &[i64], ends: &[i64]| vec![vector(keys), vector(ends), vector(&x)];
        calls.push(of(&keys, &ends));
        ends.sort_unstable();
        calls.push(of(&keys, &ends));
        if count > 2 {
            let mut other = keys.clone();
            other.swap(1, count - 1);
            calls.push(of(&other, &ends));
        }
        keys.reverse();
        calls.push(of(&keys, &ends));
    }
    calls
}

#[test]
fn blocks_of_elements() {
    for test in ["ge %key, %i", "gt %key, %i", "le %i, %key", "lt %i, %key"] {
        check(&program(OF_BLOCKS, test), true, &calls());
    }
}

#[test]
fn the_same_bounds_for_all() {
    check(&program(OF_ALL, "ge %key, %i"), true, &calls());
}

/// Searches that halve as before: for other numbers than the index, of floats, and between bounds of each element.
#[test]
fn others_halve() {
    check(&program(OF_ALL, "ge %key, %e"), false, &calls());
    let own = "%from = mul %i, 0i64 %u = min %i, %count %to = max %u, 0i64";
    check(&program(own, "ge %key, %i"), false, &calls());
}
