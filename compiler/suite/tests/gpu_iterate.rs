//! Iterations on a simulated GPU whose states are results, begin others and are read by reductions: all bits are the
//! interpreter's.

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_suite::rng::Rng;
use arraygpu_suite::versions::{check, compiled, numbers};

#[test]
fn what_is_a_result_and_read_again() {
    let c = compiled(include_str!("../../tests/files/iterate_read.core"), None);
    let mut rng = Rng::new(1);
    for (n, k) in [(0, 3), (1, 0), (1, 2), (7, 1), (300, 0), (300, 1), (300, 4), (5000, 3)] {
        let Value::Array(_, elements) = numbers(Ty::F32, 1, n, &mut rng) else { unreachable!() };
        let a = Value::Array(vec![n as i64], elements);
        check(&c, &[a, Value::Scalar(Lit::i64(k))], &format!("{n} elements, {k} steps"));
    }
}

#[test]
fn three_states_that_read_each_other() {
    let c = compiled(include_str!("../../tests/files/iterate_dual.core"), None);
    let mut rng = Rng::new(2);
    for (rows, columns, k) in [(1, 1, 2), (1, 9, 2), (9, 1, 3), (5, 17, 1), (40, 136, 2), (70, 259, 3)] {
        let mut args: Vec<Value> = (0..4).map(|_| numbers(Ty::F32, rows, columns, &mut rng)).collect();
        args.extend([20.0f32, 0.25, 0.5].map(|x| Value::Scalar(Lit::f32(x))));
        args.push(Value::Scalar(Lit::i64(k)));
        check(&c, &args, &format!("{rows} x {columns}, {k} steps"));
    }
}

/// A matrix of numbers between -1 and 1, which do not grow beyond all bounds in some steps.
fn fractions(rows: usize, columns: usize, rng: &mut Rng) -> Value {
    let element = |_| Lit::f32((rng.below(257) as f32 - 128.0) / 128.0);
    Value::Array(vec![rows as i64, columns as i64], (0..rows * columns).map(element).collect())
}

/// Runs the iteration at these numbers of rows, columns and steps, and asks that versions with these
/// endings ran.
fn several_steps(text: &str, states: usize, calls: &[(usize, usize, i64)], versions: &[&str]) {
    let c = compiled(text, None);
    let mut rng = Rng::new(3);
    let mut ran = Vec::new();
    for &(rows, columns, k) in calls {
        let mut args: Vec<Value> = (0..states).map(|_| fractions(rows, columns, &mut rng)).collect();
        args.push(Value::Scalar(Lit::i64(k)));
        ran.extend(check(&c, &args, &format!("{rows} x {columns}, {k} steps")));
    }
    for version in versions {
        assert!(ran.iter().any(|entry| entry.ends_with(version)), "{version}: {ran:?}");
    }
}

#[test]
fn two_states_by_several_steps_a_launch() {
    // the last two calls have a block in the interior, whose halo is beside the edges; rows of the last are off 16
    // bytes
    let calls = [(1, 1, 3), (1, 40, 4), (2, 3, 9), (9, 2, 4), (57, 124, 5), (106, 236, 4), (106, 237, 4)];
    let versions = ["_steps4", "_steps8", "_steps4_unaligned", "_steps8_unaligned"];
    several_steps(include_str!("../../tests/files/iterate_two.core"), 2, &calls, &versions);
}

#[test]
fn two_states_on_a_torus() {
    // a halo as wide as the matrix is loaded from all of it; a wider one is left to single steps
    let calls = [(1, 1, 2), (1, 40, 4), (4, 8, 4), (8, 8, 8), (9, 21, 5), (60, 8, 3), (106, 236, 4)];
    let versions = ["_steps4", "_steps8", "_steps4_unaligned"];
    several_steps(include_str!("../../tests/files/iterate_wrapped.core"), 2, &calls, &versions);
}

#[test]
fn waves_and_three_states() {
    let calls = [(1, 1, 2), (3, 40, 4), (60, 130, 4), (54, 236, 2)];
    several_steps(include_str!("../../tests/files/iterate_waves.core"), 3, &calls, &["_steps4", "_steps2"]);
}

#[test]
fn vectors_by_several_steps_a_launch() {
    let c = compiled(include_str!("../../tests/files/iterate_vectors.core"), None);
    let mut rng = Rng::new(4);
    let mut ran = Vec::new();
    // the second warp has its part in the interior, the last ones beyond the end
    for (n, k) in [(0, 2), (1, 3), (2, 4), (3, 8), (239, 5), (700, 4), (901, 8), (2100, 13)] {
        let mut vector = || {
            let Value::Array(_, elements) = fractions(1, n, &mut rng) else { unreachable!() };
            Value::Array(vec![n as i64], elements)
        };
        let args = [vector(), vector(), Value::Scalar(Lit::i64(k))];
        ran.extend(check(&c, &args, &format!("{n} elements, {k} steps")));
    }
    for version in ["_steps4", "_steps8", "_steps8_unaligned"] {
        assert!(ran.iter().any(|entry| entry.ends_with(version)), "{version}: {ran:?}");
    }
}

/// One place of the state, which each step reads anew.
#[test]
fn an_element_that_all_read() {
    let text = "func @f(%a: [[f32]], %k: i64) -> (r: [[f32]]) {
  step @f__step0(%a: [[f32]]) -> (next: [[f32]]) {
    %n = len %a
    %m = len %a axis 1
    %n1 = sub %n, 1i64
    %first = elem %a, 0i64, 0i64
    %r = generate %n, %m (%i: i64, %j: i64) {
      %i0 = add %i, 1i64
      %i1 = max %i0, 0i64
      %below = min %i1, %n1
      %x = elem %a, %i, %j
      %y = elem %a, %below, %j
      %xy = mul_add %y, 0.5f32, %x
      %s = mul_add %first, 0.25f32, %xy
      yield %s
    }
    return %r
  }
  require count 0i64, %k \"iterate: k\"
  %r = iterate @f__step0 0 by %k from %a
  return %r
}";
    let c = compiled(text, None);
    let mut rng = Rng::new(5);
    for (rows, columns, k) in [(1, 1, 4), (9, 20, 4), (60, 130, 2)] {
        let args = [fractions(rows, columns, &mut rng), Value::Scalar(Lit::i64(k))];
        check(&c, &args, &format!("{rows} x {columns}, {k} steps"));
    }
}
