//! Rows and vectors that the blocks of a cluster keep, on a simulated GPU: all bits are the interpreter's,
//! and devices without clusters run the launches that the plan has for them.

#[allow(dead_code, reason = "random programs are not needed")]
mod common;
#[allow(dead_code, reason = "few layouts are needed")]
#[path = "common/gpu.rs"]
mod gpu;
#[path = "common/typed.rs"]
mod typed;

use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::driver::Compiled;
use arraygpu_compiler::kernel::interp::Order;
use arraygpu_compiler::scalar::Ty;
use common::rng::Rng;
use gpu::{How, Layout, call_on};
use typed::{compiled, numbers};

/// A softmax: two reductions, of which the second needs the first, and the elements.
const SOFTMAX: &str = "func @f(%m: [[T]]) -> (r: [[T]]) {
  %n = len %m
  %k = len %m axis 1
  %top = generate %n (%i: i64) {
    %row = pick %m at %i
    %0 = reduce (%x: T, %y: T) from LEAST over %row { %z = max %x, %y yield %z }
    yield %0
  }
  %e = generate %n, %k (%i: i64, %j: i64) {
    %x = elem %m, %i, %j
    %y = elem %top, %i
    %d = sub %x, %y
    %z = exp %d
    yield %z
  }
  %sum = generate %n (%i: i64) {
    %row = pick %e at %i
    %0 = reduce (%x: T, %y: T) from 0T over %row { %z = add %x, %y yield %z }
    yield %0
  }
  %r = generate %n, %k (%i: i64, %j: i64) {
    %x = elem %e, %i, %j
    %y = elem %sum, %i
    %z = div %x, %y
    yield %z
  }
  return %r
}";

/// Calls the function on a device of that compute capability. Returns the entries that ran.
fn check(c: &Compiled, args: &[Value], how: How, capability: u32) -> Vec<String> {
    let wanted = interp::run(&c.functions[0].fused, args).unwrap_or_else(|e| panic!("{how:?}: {e}")).results;
    let found = call_on(capability, c, 0, args, how).unwrap_or_else(|e| panic!("{how:?}: {e}"));
    assert!(found.results == wanted, "{how:?}, {:?}", found.entries);
    found.entries
}

#[test]
fn softmaxes() {
    let c = compiled(SOFTMAX, Ty::F32);
    let args = [numbers(Ty::F32, &[1, 100_000], &mut Rng::new(1))];
    let how = How { layout: Layout::Contiguous, version: None, span: 1, order: Order::Random(1) };
    assert_eq!(check(&c, &args, how, 90), ["f_0_rows_131072"]);
    assert_eq!(check(&c, &args, how, 80), ["f_0", "f_1", "f_2"]);
}
