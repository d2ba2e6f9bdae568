//! Elements and accumulators of so many components that they have no room in a block's shared memory at once, or on a
//! thread's stack.

mod common;

use arraygpu_compiler::core::{Function, parse};
use arraygpu_compiler::driver::{Targets, compile_for};
use arraygpu_dsl::prelude::*;
use common::{everywhere, lower, matrix, vector};

/// Seven folds of pairs of f64 are 14 components, 56 KiB of a usual chunk.
#[test]
fn folds_of_many_components() {
    fn folds<const N: usize>(x: VExp<f64>, y: VExp<f64>) -> [SExp<f64>; N] {
        std::array::from_fn(|k| (x, y).fold(k as f64, |s, (a, b)| s * a + b))
    }
    let x = |n: usize| vector(&(0..n).map(|i| [0.5, -1.0, 0.25][i % 3]).collect::<Vec<f64>>());
    for n in [0, 1, 5, 700] {
        let f = lower(["x", "y"], ["a", "b", "c", "d", "e", "f", "g"], folds::<7>);
        everywhere(&f, &[x(n), x(n)]);
    }
}

/// Tuples of 24 f64, whose components depend on one another: their results of a block's warps take more than 48 KiB.
#[test]
fn reductions_of_many_components() {
    let all = |one: fn(usize) -> String| (0..24).map(one).collect::<Vec<String>>().join(", ");
    let components: String = (0..24)
        .map(|i| {
            let before = (i + 23) % 24;
            format!("%l{i} = lt %a{before}, %b{before}\n%m{i} = min %a{i}, %b{i}\n%n{i} = add %a{i}, %b{i}\n")
                + &format!("%s{i} = select %l{i}, %m{i}, %n{i}\n")
        })
        .collect();
    let text = format!(
        "func @f(%x: [f64]) -> (r: f64) {{\n%init = tuple {}\n%z = map (%v: f64) over %x {{ {} %t = tuple {} yield %t }}\n\
         %r = reduce 23 ({}, {}) from %init over %z {{ {components} %t = tuple {} yield %t }}\nreturn %r\n}}\n",
        all(|_| "0f64".into()),
        (0..24).map(|i| format!("%v{i} = mul %v, {i}f64\n")).collect::<String>(),
        all(|i| format!("%v{i}")),
        all(|i| format!("%a{i}: f64")),
        all(|i| format!("%b{i}: f64")),
        all(|i| format!("%s{i}")),
    );
    let f = parse::parse(&text).expect("core IR").remove(0);
    for n in [1, 127, 5000] {
        everywhere(&f, &[vector(&(0..n).map(|i| f64::from(i % 7) - 3.0).collect::<Vec<f64>>())]);
    }
}

/// The sum of the distances of each row from so many numbers.
fn distances(m: MExp<f64>, count: i32) -> VExp<f64> {
    m.map_rows(|r| {
        let sums = (0..count).map(|k| r.map(move |x| (x - f64::from(k)).abs()).sum());
        sums.reduce(|a, b| a + b).expect("some sums")
    })
}

/// More accumulators than a batch of rows has room for on a thread's stack are those of one row at a time.
#[test]
fn rows_with_many_sums() {
    let batches = |f: Function| {
        let c = compile_for("t", vec![f], Targets { cpu: true, cuda: false }).expect("it compiles");
        c.c_source.matches("[2048]").count()
    };
    assert!(batches(lower(["m"], ["r"], |m| distances(m, 8))) >= 8);
    let f = lower(["m"], ["r"], |m| distances(m, 40));
    assert_eq!(batches(f.clone()), 0);
    let rows = [[0.0, 3.5, 7.0, -1.0, 60.0], [1.0, 2.0, 3.0, 4.0, 5.0], [-7.5, 0.25, 12.0, 9.0, 33.0]];
    everywhere(&f, &[matrix(&rows)]);
}

/// A tuple of which one component costs much and depends on one of two indices: that component is stored alone.
#[test]
fn folds_of_tuples_of_a_computed_matrix() {
    let text = "func @f(%x: [f64]) -> (r: f64) {
  %n = len %x
  %m = generate %n, %n (%i: i64, %j: i64) { %c = cast f64 %j %d = cospi %c yield %d }
  %p = permute %m to 1, 0
  %z = map (%v: f64) over %p { %t = tuple %v, 0.5f64 yield %t }
  %r = fold (%s: f64, %a: f64, %b: f64) from 1f64 over %z { %q = mul_add %s, %b, %a yield %q }
  return %r
}
";
    let f = parse::parse(text).expect("core IR").remove(0);
    for n in [0, 1, 3, 20] {
        everywhere(&f, &[vector(&vec![0.0; n])]);
    }
}
