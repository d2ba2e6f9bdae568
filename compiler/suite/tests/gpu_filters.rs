//! Stable partitions (semantics 5.22) on a simulated GPU: at the edges of tiles, of elements of every size and of
//! several arrays, with everything kept, nothing, and what is between, all bits are the interpreter's. So are those of
//! filters in one pass, whatever the order of blocks.

use arraygpu_compiler::core::interp;
use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::driver::Compiled;
use arraygpu_compiler::kernel::interp::Order;
use arraygpu_compiler::scalar::Ty;
use arraygpu_suite::gpu::{How, Layout, call};
use arraygpu_suite::rng::Rng;
use arraygpu_suite::typed::{compiled, numbers};

/// The order by whether an element is left out, and the number of the others.
const COUNTED: &str = "  %order = argsort %no
  %one = map (%c: bool) over %no {
    %1 = select %c, 0i64, 1i64
    yield %1
  }
  %count = reduce (%a: i64, %b: i64) from 0i64 over %one {
    %0 = add %a, %b
    yield %0
  }
";

/// What a condition keeps, then a value, and how many that are.
const FILTER: &str = "func @f(%x: [T]) -> (kept: [T], count: i64) {
  %n = len %x
  %no = map (%a: T) over %x {
    %c = OP %a, KT
    yield %c
  }
COUNTED  %kept = generate %n (%i: i64) {
    %is = lt %i, %count
    %at = elem %order, %i
    %v = elem %x, %at
    %r = select %is, %v, 9T
    yield %r
  }
  return %kept, %count
}";

/// The elements of two vectors and their indices, those that a condition keeps first.
const PARTITION: &str = "func @f(%x: [T], %y: [f64]) -> (first: [T], beside: [f64], order: [i64]) {
  %n = len %x
  %m = len %y require same %n, %m \"zip_with\"
  %no = map (%a: T) over %x {
    %c = OP %a, KT
    yield %c
  }
  %order = argsort %no
  %first = map (%i: i64) over %order {
    %v = elem %x, %i
    yield %v
  }
  %beside = map (%i: i64) over %order {
    %v = elem %y, %i
    yield %v
  }
  return %first, %beside, %order
}";

/// The elements at which runs of equal elements begin, with their numbers among these and with another vector's
/// elements. The conditions would be stored.
const RUNS: &str = "func @f(%x: [T], %y: [i64]) -> (first: [T], beside: [i64], number: [i64], count: i64) {
  %n = len %x
  %m = len %y require same %n, %m \"zip_with\"
  %no = generate %n (%i: i64) {
    %before = sub %i, 1i64
    %p = max %before, 0i64
    %a = elem %x, %i
    %b = elem %x, %p
    %is = eq %a, %b
    %later = lt 0i64, %i
    %c = and %is, %later
    yield %c
  }
COUNTED  %first = generate %n (%i: i64) {
    %is = lt %i, %count
    %at = elem %order, %i
    %v = elem %x, %at
    %r = select %is, %v, 9T
    yield %r
  }
  %beside = generate %n (%i: i64) {
    %is = lt %i, %count
    %at = elem %order, %i
    %v = elem %y, %at
    %w = mul %v, 3i64
    %r = select %is, %w, -1i64
    yield %r
  }
  %number = generate %n (%i: i64) {
    %is = lt %i, %count
    %at = elem %order, %i
    %r = select %is, %at, %n
    yield %r
  }
  return %first, %beside, %number, %count
}";

/// Returns vectors of this length for a function's parameters, and what it gives.
fn call_of(c: &Compiled, n: usize, rng: &mut Rng) -> (Vec<Value>, Vec<Value>) {
    let source = &c.functions[0].source;
    let args: Vec<Value> = source.params.iter().map(|p| numbers(p.ty.elem, &[n], rng)).collect();
    let wanted = interp::run(source, &args).expect("it runs").results;
    (args, wanted)
}

/// Calls the function for each length.
fn check(text: &str, ty: Ty, lengths: &[usize], rng: &mut Rng) {
    let c = compiled(text, ty);
    for n in lengths {
        let (args, wanted) = call_of(&c, *n, rng);
        let layouts = [
            (Layout::Contiguous, Order::Random(7)),
            (Layout::Contiguous, Order::Descending),
            (Layout::Reversed, Order::Ascending),
        ];
        for (layout, order) in layouts.into_iter().take(if *n < 10_000 { 3 } else { 1 }) {
            let how = How { layout, version: None, span: 1, order };
            let found = call(&c, 0, &args, how).unwrap_or_else(|e| panic!("{n} of {ty}, {how:?}: {e}"));
            assert!(found.results == wanted, "{n} of {ty}, {how:?}");
        }
    }
}

/// Calls the filter in one pass for each length, with blocks in several orders.
#[track_caller]
fn check_one_pass(text: &str, ty: Ty, lengths: &[usize], rng: &mut Rng) {
    let c = compiled(text, ty);
    for n in lengths {
        let (args, wanted) = call_of(&c, *n, rng);
        let orders = [Order::Ascending, Order::Descending, Order::Random(1), Order::Random(2)];
        for (order, span) in orders.into_iter().flat_map(|order| [(order, 1), (order, 3)]) {
            let how = How { layout: Layout::Contiguous, version: Some(0), span, order };
            let found = call(&c, 0, &args, how).unwrap_or_else(|e| panic!("{n} of {ty}, {how:?}: {e}"));
            let is_one_pass = found.entries.iter().any(|e| e == "f_0_filter");
            assert!(is_one_pass, "{n} of {ty}: {:?}", found.entries);
            assert!(found.results == wanted, "{n} of {ty}, {how:?}");
        }
    }
}

fn of(text: &str, op: &str, bound: &str) -> String {
    text.replace("COUNTED", COUNTED).replace("OP", op).replace("KT", bound)
}

#[test]
fn what_is_kept_at_the_edges_of_tiles() {
    let mut rng = Rng::new(1);
    let lengths = [0, 1, 2, 127, 511, 8191, 8192, 8193, 8192 * 3 + 129];
    check(&of(FILTER, "le", "1T"), Ty::F32, &lengths, &mut rng);
    // everything, and nothing
    check(&of(FILTER, "ne", "%a"), Ty::I32, &[1, 8192, 20_000], &mut rng);
    check(&of(FILTER, "eq", "%a"), Ty::I32, &[1, 8192, 20_000], &mut rng);
}

#[test]
fn of_narrow_and_wide_elements() {
    let mut rng = Rng::new(2);
    for ty in [Ty::U8, Ty::I16, Ty::F16, Ty::I64, Ty::F64] {
        check(&of(FILTER, "gt", "9T"), ty, &[8192, 16_500], &mut rng);
    }
}

#[test]
fn of_several_arrays() {
    let mut rng = Rng::new(3);
    for ty in [Ty::F32, Ty::U8, Ty::F64] {
        check(&of(PARTITION, "gt", "9T"), ty, &[1, 8192, 16_500], &mut rng);
    }
}

#[test]
fn in_one_pass() {
    let mut rng = Rng::new(4);
    let lengths = [0, 1, 2, 127, 511, 8191, 8192, 8193, 8192 * 5 + 129];
    check_one_pass(&of(FILTER, "le", "1T"), Ty::F32, &lengths, &mut rng);
    // everything, and nothing
    check_one_pass(&of(FILTER, "gt", "2000000000i32"), Ty::I32, &[1, 8192, 20_000], &mut rng);
    check_one_pass(&of(FILTER, "le", "2000000000i32"), Ty::I32, &[1, 8192, 20_000], &mut rng);
    for ty in [Ty::U8, Ty::I16, Ty::F16, Ty::I64, Ty::F64] {
        check_one_pass(&of(FILTER, "gt", "9T"), ty, &[8192, 16_500], &mut rng);
    }
    // two groups of tiles, and more tiles than blocks
    check_one_pass(&of(FILTER, "le", "1T"), Ty::U8, &[290_000], &mut rng);
}

#[test]
fn runs_in_one_pass() {
    let mut rng = Rng::new(5);
    for ty in [Ty::U8, Ty::I32, Ty::F64] {
        check_one_pass(&of(RUNS, "", ""), ty, &[0, 1, 8192, 16_500], &mut rng);
    }
}

#[test]
fn a_partition_is_not_in_one_pass() {
    let c = compiled(&of(PARTITION, "gt", "9T"), Ty::F32);
    assert!(!c.functions[0].plan.to_string().contains("_filter"), "others keep their order");
}

#[test]
fn elements_that_need_the_count_are_not_in_one_pass() {
    let text = of(FILTER, "le", "1T").replace(
        "%r = select %is, %v, 9T",
        "%d = cast f32 %count
    %q = div %v, %d
    %r = select %is, %q, 9T",
    );
    let c = compiled(&text, Ty::F32);
    assert!(!c.functions[0].plan.to_string().contains("_filter"), "the count is known at the end");
    check(&text, Ty::F32, &[1, 8193], &mut Rng::new(6));
}
