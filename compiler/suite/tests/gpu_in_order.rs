//! Reductions in index order (semantics 5.17) on a simulated GPU, with operators that do not commute: at the edges of
//! columns, tiles and groups all bits are the interpreter's, in every layout.

use arraygpu_compiler::core::interp;
use arraygpu_compiler::kernel::interp::Order;
use arraygpu_compiler::scalar::Ty;
use arraygpu_suite::gpu::{How, Layout, call};
use arraygpu_suite::rng::Rng;
use arraygpu_suite::typed::{compiled, numbers};

/// The greatest sum of consecutive elements.
const SEGMENT_SUM: &str = "func @f(%x: [T]) -> (r: T) {
  %p = map (%a: T) over %x {
    %0 = max %a, 0T
    yield %0
  }
  %t = map (%a: T, %b: T, %c: T, %d: T) over %p, %p, %p, %x {
    %0 = tuple %a, %b, %c, %d
    yield %0
  }
  %i = tuple 0T, 0T, 0T, 0T
  %r = reduce_ordered 0 (%m: T, %b: T, %e: T, %s: T, %m2: T, %b2: T, %e2: T, %s2: T) from %i over %t {
    %0 = max %m, %m2
    %1 = add %e, %b2
    %2 = max %0, %1
    %3 = add %s, %b2
    %4 = max %b, %3
    %5 = add %e, %s2
    %6 = max %e2, %5
    %7 = add %s, %s2
    %8 = tuple %2, %4, %6, %7
    yield %8
  }
  return %r
}";

/// The composition of functions x -> a x + b.
const COMPOSED: &str = "func @f(%x: [T]) -> (r: T) {
  %t = map (%a: T) over %x {
    %0 = add %a, 9T
    %1 = tuple %0, %a
    yield %1
  }
  %i = tuple 1T, 9T
  %r = reduce_ordered 1 (%a: T, %b: T, %c: T, %d: T) from %i over %t {
    %0 = mul %c, %a
    %1 = mul %c, %b
    %2 = add %1, %d
    %3 = tuple %0, %2
    yield %3
  }
  return %r
}";

/// The last element but those that are 1.
const LAST: &str = "func @f(%x: [T]) -> (r: T) {
  %r = reduce_ordered (%a: T, %b: T) from 9T over %x {
    %0 = eq %b, 1T
    %1 = select %0, %a, %b
    yield %1
  }
  return %r
}";

/// Calls the function for each length; of the long ones, only what lies side by side.
fn check(text: &str, ty: Ty, lengths: &[usize], rng: &mut Rng) {
    let c = compiled(text, ty);
    for n in lengths {
        let args = [numbers(ty, &[*n], rng)];
        let wanted = interp::run(&c.functions[0].source, &args).expect("it runs").results;
        let layouts = [
            (Layout::Contiguous, Order::Ascending),
            (Layout::Offset, Order::Random(7)),
            (Layout::Reversed, Order::Descending),
        ];
        for (layout, order) in layouts.into_iter().take(if *n < 10_000 { 3 } else { 1 }) {
            let how = How { layout, version: None, span: 1, order };
            let found = call(&c, 0, &args, how).unwrap_or_else(|e| panic!("{n} of {ty}, {how:?}: {e}"));
            assert!(found.results == wanted, "{n} of {ty}, {how:?}: {:?}, not {wanted:?}", found.results);
        }
    }
}

#[test]
fn at_the_edges_of_columns_and_tiles() {
    let mut rng = Rng::new(1);
    check(SEGMENT_SUM, Ty::I32, &[0, 1, 15, 16, 17, 2047, 2048, 2049, 5000], &mut rng);
    check(COMPOSED, Ty::I32, &[1, 33, 4096, 4097], &mut rng);
    check(LAST, Ty::F32, &[1, 31, 2048, 6145], &mut rng);
}

#[test]
fn of_narrow_and_wide_elements() {
    let mut rng = Rng::new(2);
    check(COMPOSED, Ty::I64, &[2050], &mut rng);
    check(COMPOSED, Ty::U8, &[2050], &mut rng);
    check(SEGMENT_SUM, Ty::F64, &[4100], &mut rng);
}

#[test]
fn of_several_groups() {
    let mut rng = Rng::new(3);
    check(COMPOSED, Ty::I32, &[(1 << 18) + 2051], &mut rng);
}
