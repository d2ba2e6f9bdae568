//! Rows in the registers of threads on a simulated GPU, at each length that has a variant and beside it: all bits are
//! the interpreter's.

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::driver::Compiled;
use arraygpu_compiler::kernel::interp::Order;
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_suite::gpu::{How, Layout, call};
use arraygpu_suite::reference;
use arraygpu_suite::rng::Rng;
use arraygpu_suite::typed::{compiled, numbers};

/// The lengths of rows that have a variant.
const LENGTHS: [usize; 5] = [3, 4, 8, 16, 32];

/// The loop over the rows of `c` for each row of `x`, with `DISTANCE` of them and `OUTER` around it.
fn program(outer: &str) -> String {
    "func @f(%x: [[T]], %c: [[T]]) -> (r: [T]) {
  %m = len %x
  %n = len %c
  %0 = len %x axis 1
  %1 = len %c axis 1
  require same %0, %1 \"rows\"
OUTER}"
        .replace("OUTER", outer)
}

/// The squared distance of row %p of x and row %k of c.
const DISTANCE: &str = "      %d = generate %0 (%q: i64) {
        %a = elem %x, %p, %q
        %b = elem %c, %k, %q
        %e = sub %a, %b
        %f = mul %e, %e
        yield %f
      }
      %s = reduce (%a: T, %b: T) from 0T over %d { %t = add %a, %b yield %t }
";

/// The distance of the nearest row of c plus its number, which share a loop. Rows at more than 9 count as none.
fn nearest(ty: Ty) -> String {
    extreme(ty, "lt", "9T")
}

/// Finds the row with the most extreme distance by the comparison `better`, beginning with the distance `worst`.
fn extreme(ty: Ty, better: &str, worst: &str) -> String {
    let is_float = "        %10 = ne %a, %a
        %11 = ne %b, %b
        %13 = not %10
        %14 = and %11, %13
        %15 = or %12, %14
        %17 = and %10, %11
        %18 = or %16, %17
";
    let is_integer = "        %15 = or %12, %12
        %18 = or %16, %16
";
    let of = |which: u32| {
        format!(
            "    %r{which} = reduce {which} (%a: T, %i: i64, %b: T, %j: i64) from %none over %z {{
        %12 = {better} %b, %a
        %16 = eq %a, %b
{}        %19 = cast u64 %i
        %20 = cast u64 %j
        %21 = lt %20, %19
        %22 = and %18, %21
        %23 = or %15, %22
        %24 = select %23, %b, %a
        %25 = select %23, %j, %i
        %26 = tuple %24, %25
      yield %26
    }}
",
            if ty.is_float() { is_float } else { is_integer }
        )
    };
    let text = format!(
        "  %r = generate %m (%p: i64) {{
    %z = generate %n (%k: i64) {{
{DISTANCE}      %v = tuple %s, %k
      yield %v
    }}
    %none = tuple {worst}, -1i64
{}{}    %number = cast T %r1
    %both = add %r0, %number
    yield %both
  }}
  return %r
",
        of(0),
        of(1)
    );
    program(&text)
}

/// A sum over the rows of c, whose order is that of the tree, or a fold, whose order is that of the rows.
fn ordered(loops: &str) -> String {
    let text = format!(
        "  %r0 = generate %m (%p: i64) {{
    %z = generate %n (%k: i64) {{
{DISTANCE}      yield %s
    }}
{loops}    yield %r
  }}
  return %r0
"
    );
    program(&text)
}

const SUM: &str = "    %r = reduce (%a: T, %b: T) from 1T over %z { %t = add %a, %b yield %t }
";
const FOLD: &str = "    %r = fold (%a: T, %b: T) from 1T over %z { %h = mul %a, %b %t = sub %h, %b yield %t }
";

/// Calls the function, and compares with the interpreter. A row of one of the lengths takes the variant for it.
fn check(c: &Compiled, args: &[Value], length: usize, what: &str) {
    let wanted =
        reference::run(&c.functions[0].source, args).unwrap_or_else(|e| panic!("{what}: {e}")).results;
    for (layout, order) in [
        (Layout::Contiguous, Order::Ascending),
        (Layout::Reversed, Order::Descending),
        (Layout::Offset, Order::Random(7)),
    ] {
        let how = How { layout, version: None, span: 1, order };
        let found = call(c, 0, args, how).unwrap_or_else(|e| panic!("{what}, {how:?}: {e}"));
        assert!(found.results == wanted, "{what}, {how:?}");
        if let (Layout::Contiguous, [entry, ..]) = (layout, &found.entries[..]) {
            let is_short = entry.ends_with(&format!("_rows{length}"));
            assert_eq!(is_short, LENGTHS.contains(&length), "{what}: {entry}");
        }
    }
}

fn check_all(text: &str, ty: Ty, lengths: &[usize], rng: &mut Rng) {
    let c = compiled(text, ty);
    for length in lengths {
        for [m, n] in [[1, 1], [0, 3], [5, 0], [300, 9], [515, 2], [3, 130]] {
            let args = [numbers(ty, &[m, *length], rng), numbers(ty, &[n, *length], rng)];
            check(&c, &args, *length, &format!("{m} rows beside {n} of {length} {ty}"));
        }
    }
}

#[test]
fn the_nearest_row() {
    let mut rng = Rng::new(1);
    check_all(&nearest(Ty::F32), Ty::F32, &[2, 3, 4, 8, 16, 32, 33], &mut rng);
    check_all(&nearest(Ty::F64), Ty::F64, &[3, 4, 16], &mut rng);
    check_all(&nearest(Ty::I32), Ty::I32, &[4, 5], &mut rng);
}

/// With a number of rows that is a constant, the loop over them is unrolled.
#[test]
fn the_nearest_of_five_rows() {
    let rows = "  %l = len %c\n  %n = add 5i64, 0i64\n  require same %l, %n \"staged\"\n";
    let text = nearest(Ty::F32).replace("  %n = len %c\n", rows);
    let (c, mut rng) = (compiled(&text, Ty::F32), Rng::new(4));
    for length in [2, 3, 4, 8, 16, 32, 33, 300] {
        for m in [1, 300] {
            let args = [numbers(Ty::F32, &[m, length], &mut rng), numbers(Ty::F32, &[5, length], &mut rng)];
            check(&c, &args, length, &format!("{m} rows of {length} beside five"));
        }
    }
}

#[test]
fn sums_keep_their_order() {
    let mut rng = Rng::new(2);
    check_all(&ordered(SUM), Ty::F32, &[1, 3, 4, 8, 16, 32], &mut rng);
    check_all(&ordered(SUM), Ty::F64, &[8], &mut rng);
    check_all(&ordered(FOLD), Ty::F32, &[3, 16], &mut rng);
}

/// Where nothing is less extreme than the initial value, the first element takes its place, whatever it is.
#[test]
fn extremes_of_all_elements() {
    let mut rng = Rng::new(5);
    for ty in [Ty::F32, Ty::I32] {
        for (better, worst) in [("lt", Lit::greatest(ty)), ("gt", Lit::least(ty))] {
            let text = extreme(ty, better, &worst.to_string());
            check_all(&text, ty, &[4, 8], &mut rng);
            if ty == Ty::I32 {
                continue;
            }
            // distances that are infinite, equal or no numbers, at the beginning, in between and everywhere
            let c = compiled(&text, ty);
            for places in [&[0][..], &[1, 2], &[0, 5], &[0, 1, 2, 3, 4, 5]] {
                for special in [f32::INFINITY, f32::NAN, 1e30] {
                    let mut rows = |n: usize| match numbers(ty, &[n, 4], &mut rng) {
                        Value::Array(extents, all) => (extents, all),
                        _ => unreachable!("rows"),
                    };
                    let ((extents, mut all), (more, others)) = (rows(6), rows(20));
                    places.iter().for_each(|k| all[4 * k] = Lit::f32(special));
                    let args = [Value::Array(more, others), Value::Array(extents, all)];
                    check(&c, &args, 4, &format!("{better}: {special} in the rows {places:?}"));
                }
            }
        }
    }
}

#[test]
fn of_numbers_that_are_none_the_first_counts() {
    let mut rng = Rng::new(3);
    let c = compiled(&nearest(Ty::F32), Ty::F32);
    for nan in [0, 1, 5] {
        let Value::Array(extents, mut all) = numbers(Ty::F32, &[6, 4], &mut rng) else {
            unreachable!("rows")
        };
        let x = numbers(Ty::F32, &[20, 4], &mut rng);
        all[4 * nan] = Lit::f32(f32::NAN);
        all[4 * 5 + 1] = Lit::f32(f32::NAN);
        check(&c, &[x, Value::Array(extents, all)], 4, &format!("row {nan} is no number"));
    }
}
