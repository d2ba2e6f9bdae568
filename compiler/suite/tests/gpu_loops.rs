//! Loops inside of an element on a simulated GPU: the interpreter's bits, and its records.

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::core::parse;
use arraygpu_compiler::driver;
use arraygpu_compiler::scalar::Lit;
use arraygpu_suite::gpu::Layout;
use arraygpu_suite::versions::{self, check_source, compiled};

/// Calls a function in every layout, and compares with the interpreter.
fn check(text: &str, args: &[Value], recorded: bool) {
    let layouts = [Layout::Contiguous, Layout::Offset, Layout::Reversed];
    check_source(&compiled(text, None), args, &layouts, recorded);
}

fn integers(n: i64) -> Value {
    Value::Vector((0..n).map(|i| Lit::i64(i * 7 % 61)).collect())
}

const COLLATZ: &str = "func @steps(%x: [i64]) -> (r: [i64]) {
  %0 = map (%v: i64) over %x {
    %k = loop 1 (%i: i64, %n: i64) by LIMIT from %v {
      %more = gt %n, 1i64
      %bit = and %n, 1i64
      %even = eq %bit, 0i64
      %half = div %n, 2i64
      %more3 = mul_add %n, 3i64, 1i64
      %next = select %even, %half, %more3
      %t = tuple %more, %next
      yield %t
    }
    %ends = within %k, LIMIT
    %r = select %ends, %k, 0i64
    yield %r
  }
  return %0
}";

#[test]
fn elements_end_when_they_decide() {
    for n in [0, 1, 300] {
        check(&COLLATZ.replace("LIMIT", "1000i64"), &[integers(n)], false);
    }
}

#[test]
fn a_limit_leaves_a_record() {
    check(&COLLATZ.replace("LIMIT", "20i64"), &[integers(300)], true);
}

#[test]
fn conditions_may_read() {
    // the first place from each element's own on where a vector has its value again, read totally
    let text = "func @next(%x: [i64], %y: [i64]) -> (r: [i64]) {
  %0 = map (%v: i64) over %x {
    %n = len %y
    %k = loop 0 (%i: i64, %at: i64) by %n from %v {
      %there = at %y, %at
      %more = ne %there, %v
      %next = add %at, 1i64
      %t = tuple %more, %next
      yield %t
    }
    yield %k
  }
  return %0
}";
    let y = Value::Vector((0..200).map(|i| Lit::i64(i * 3 % 61)).collect());
    check(text, &[integers(100), y.clone()], false);
    let far = Value::Vector(vec![Lit::i64(190), Lit::i64(500)]);
    check(text, &[far, y], true);
}

#[test]
fn loops_nest_and_are_reduced() {
    let text = "func @sum(%x: [i64]) -> (r: i64) {
  %0 = map (%v: i64) over %x {
    %s = loop 0 (%i: i64, %a: i64, %b: i64) by %v from 0i64, 1i64 {
      %in = loop 0 (%j: i64, %c: i64) by %i from %b {
        %d = mul_add %c, 3i64, %v
        %u = tuple true, %d
        yield %u
      }
      %e = add %a, %in
      %f = sub %b, %a
      %t = tuple true, %e, %f
      yield %t
    }
    yield %s
  }
  %1 = reduce (%a: i64, %b: i64) from 0i64 over %0 {
    %c = add %a, %b
    yield %c
  }
  return %1
}";
    for n in [0, 1, 130] {
        check(text, &[integers(n)], false);
    }
}

/// What the condition and the step both compute is kept for the step, whichever of them ends the loop.
#[test]
fn conditions_share_values_with_steps() {
    let text = "func @grown(%x: [i64]) -> (r: [i64], steps: [i64]) {
  %0 = map (%v: i64) over %x {
    %s = loop 0 (%i: i64, %a: i64) by COUNT from %v {
      %square = mul %a, %a
      %more = lt %square, 3000i64
      %next = add %square, %i
      %t = tuple %more, %next
      yield %t
    }
    yield %s
  }
  %1 = map (%v: i64) over %x {
    %s = loop 1 (%i: i64, %a: i64) by COUNT from %v {
      %square = mul %a, %a
      %more = lt %square, 3000i64
      %next = add %square, %i
      %t = tuple %more, %next
      yield %t
    }
    yield %s
  }
  return %0, %1
}";
    for count in ["0i64", "2i64", "50i64", "%v"] {
        for n in [0, 1, 300] {
            check(&text.replace("COUNT", count), &[integers(n)], false);
        }
    }
}

#[test]
fn a_call_may_be_one_loop() {
    let text = "func @gcd(%a: i64, %b: i64) -> (r: i64) {
  %g = loop 0 (%k: i64, %p: i64, %q: i64) by 3i64 from %a, %b {
    %more = ne %q, 0i64
    %rest = rem %p, %q
    %t = tuple %more, %q, %rest
    yield %t
  }
  %s = loop 2 (%k: i64, %p: i64, %q: i64) by 3i64 from %a, %b {
    %more = ne %q, 0i64
    %rest = rem %p, %q
    %t = tuple %more, %q, %rest
    yield %t
  }
  %in = within %s, 3i64
  %r = select %in, %g, 0i64
  return %r
}";
    let of = |a, b| [a, b].map(|n| Value::Scalar(Lit::i64(n)));
    check(text, &of(48, 36), false);
    check(text, &of(5, 0), false);
    check(text, &of(89, 55), true);
}

/// Elements whose loops leave records are stored for those that read them several times: values with bits
/// beside them.
#[test]
fn stored_loops_leave_the_records_of_those_that_read_them() {
    let text = "func @f(%x: [i64], %y: [i64]) -> (r: [i64]) {
  %n = len %x
  %0 = generate %n (%e: i64) {
    %v = at %x, %e
    %s = loop 0 (%i: i64, %a: i64, %b: i64) by 5i64 from %v, 0i64 {
      %at = add %i, %e
      %z = at %y, %at
      %q = div %a, %z
      %w = add %b, %z
      %c = at %y, %w
      %more = lt %c, 50i64
      %u = add %q, %b
      %t = tuple %more, %u, %w
      yield %t
    }
    yield %s
  }
  %1 = generate %n (%e: i64) {
    %w = generate %n (%k: i64) {
      %v = at %0, %k
      %p = mul %v, %e
      yield %p
    }
    %s = reduce (%a: i64, %b: i64) from 0i64 over %w {
      %c = add %a, %b
      yield %c
    }
    %big = gt %e, 20i64
    %r = select %big, %s, %e
    yield %r
  }
  return %1
}";
    let fused = driver::fuse(&parse::parse(text).unwrap().remove(0)).unwrap().to_string();
    assert!(fused.contains("materialize"), "{fused}");
    let y = |n: i64, zero: i64| {
        let element = |i: i64| if i == zero { 0 } else { 1 + i % 3 };
        Value::Vector((0..n).map(|i| Lit::i64(element(i))).collect())
    };
    check(text, &[integers(100), y(200, -1)], false);
    // a division by zero, and reads that are out of bounds, of states and of the condition
    check(text, &[integers(100), y(200, 50)], true);
    check(text, &[integers(100), y(103, -1)], true);
    check(text, &[integers(100), y(3, -1)], true);
    // nobody needs the elements
    check(text, &[integers(20), y(3, -1)], false);
}

#[test]
fn states_that_nobody_needs_are_left_out() {
    let text = "func @f(%x: [f32]) -> (r: [f32]) {
  %0 = map (%v: f32) over %x {
    %s = loop 1 (%i: i64, %a: f32, %b: f32, %c: f32) by 9i64 from %v, 1f32, 2f32 {
      %d = mul %a, %c
      %e = mul %b, %v
      %f = add %c, %a
      %t = tuple true, %d, %e, %f
      yield %t
    }
    yield %s
  }
  return %0
}";
    let fused = driver::fuse(&parse::parse(text).unwrap().remove(0)).unwrap().to_string();
    assert!(fused.contains("loop 0") && fused.contains("from 1f32 {"), "{fused}");
    let x = Value::Vector((0..70).map(|i| Lit::f32(i as f32 / 64.0)).collect());
    check(text, &[x], false);
}

#[test]
fn reads_by_the_number_of_a_step_are_in_bounds() {
    let text = "func @f(%m: [[f32]]) -> (r: [f32]) {
  %n = len %m
  %c = len %m axis 1
  %0 = generate %c (%j: i64) {
    %s = loop 0 (%i: i64, %a: f32) by %n from 0f32 {
      %v = at %m, %i, %j
      %k = sub %i, 2i64
      %low = gt %i, 1i64
      %o = at %m, %k, %j
      %p = select %low, %o, 1f32
      %b = mul_add %a, %p, %v
      %t = tuple true, %b
      yield %t
    }
    yield %s
  }
  return %0
}";
    let fused = driver::fuse(&parse::parse(text).unwrap().remove(0)).unwrap().to_string();
    assert!(!fused.contains(" at "), "{fused}");
    let m =
        |rows: i64| Value::Array(vec![rows, 40], (0..rows * 40).map(|i| Lit::f32((i % 7) as f32)).collect());
    for rows in [0, 1, 6] {
        check(text, &[m(rows)], false);
    }
}

/// Loops that depend on no index are launches of their own, whose records are left by who needs their values.
#[test]
fn loops_that_depend_on_no_index() {
    let functions = parse::parse(include_str!("../../tests/files/closed_loops.core")).unwrap();
    let text = |name: &str| functions.iter().find(|f| f.name == name).unwrap().to_string();
    let x = |n: i64| Value::Vector((0..n).map(|i| Lit::f32(i as f32 / 8.0 - 2.0)).collect());
    let [p, n] = [Value::Scalar(Lit::f32(0.3)), Value::Scalar(Lit::i64(70))];
    for length in [1, 700] {
        check(&text("long"), &[x(length), p.clone()], false);
        check(&text("short"), &[x(length), p.clone()], false);
        check(&text("from_data"), &[x(length), n.clone()], false);
    }
    check(&text("alone"), &[p], false);
    let k = |zero: i64| Value::Vector((0..9).map(|i| Lit::i64(i - zero)).collect());
    let count = |n| Value::Scalar(Lit::i64(n));
    check(&text("records"), &[x(100), k(-1), count(9)], false);
    check(&text("records"), &[x(100), k(4), count(9)], true);
    check(&text("records"), &[x(100), k(-1), count(10)], true);
    check(&text("records"), &[x(10), k(4), count(9)], false);
}

/// Elements that are read at an index of the call: a loop has as many steps as the index says, or a sequence as many
/// elements.
const FROM_OUTSIDE: [&str; 3] = [
    "%e = loop 1 (%k: i64, %s: i64) by %n from 0i64 {
      %a = at %x, %k
      %s1 = add %s, %a
      %t = tuple true, %s1
      yield %t
    }
    yield %e",
    "%g = generate %n (%k: i64) { %a = at %x, %k yield %a }
    %e = reduce (%a: i64, %b: i64) from 0i64 over %g { %c = add %a, %b yield %c }
    yield %e",
    "%m = add %n, 1i64
    %g = generate %m (%k: i64) {
      %h = generate %k (%l: i64) { %a = at %x, %l yield %a }
      %f = fold (%a: i64, %b: i64) from 0i64 over %h { %c = add %a, %b yield %c }
      yield %f
    }
    %e = reduce (%a: i64, %b: i64) from 0i64 over %g { %c = max %a, %b yield %c }
    yield %e",
];

#[test]
fn elements_are_read_from_outside() {
    for body in FROM_OUTSIDE {
        let text = format!(
            "func @sums(%x: [i64], %j: i64) -> (r: i64) {{
  %0 = len %x
  %1 = generate %0 (%n: i64) {{ {body} }}
  %r = at %1, %j
  return %r
}}"
        );
        for j in [0, 4, 5, 6, 90, -1, 1 << 62, i64::MAX] {
            check(&text, &[integers(5), Value::Scalar(Lit::i64(j))], !(0..5).contains(&j));
        }
    }
}

/// Few long elements of reductions are computed by a kernel of their own, of which another one reduces the results.
#[test]
fn few_long_elements_are_stored_first() {
    let text = "func @s(%x: [f32]) -> (sum: f32, odd: f32) {
  %n = len %x
  %long = generate %n (%i: i64) {
    %steps = and %i, 7i64
    %v = elem %x, %i
    %k = loop 0 (%t: i64, %a: f32) by %steps from %v {
      %b = mul_add %a, 0.5f32, %v
      %t1 = tuple true, %b
      yield %t1
    }
    yield %k
  }
  %sum = reduce (%a: f32, %b: f32) from 1f32 over %long { %c = add %a, %b yield %c }
  %odd = reduce (%a: f32, %b: f32) from 3f32 over %long { %c = mul_add %a, 0.5f32, %b yield %c }
  return %sum, %odd
}";
    let compiled = compiled(text, None);
    for n in [0, 1, 63, 64, 65, 2047, 2049, 4097, 9 * 2048 + 1] {
        let args = [Value::Vector((0..n).map(|i| Lit::f32((i % 19) as f32 - 9.5)).collect())];
        let ran = versions::check(&compiled, &args, &format!("n = {n}"));
        let of = |suffix: &str| ran.iter().filter(|entry| entry.ends_with(suffix)).count();
        let [stores, stored] = [of("_stores"), of("_stored")];
        assert!(stored > 0 && (stores == stored || n == 0 && stores == 0), "n = {n}: {ran:?}");
    }
}
