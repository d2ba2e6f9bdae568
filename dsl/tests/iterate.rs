//! Iterations and replaced parts: what programs mean (the interpreter, before and after the passes, and a
//! simulated GPU), their rules and mistakes.

mod common;

use arraygpu_compiler::core::Function;
use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::driver::{self, Targets};
use arraygpu_compiler::kernel::interp::Order;
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_dsl::prelude::*;
use common::gpu::{self, How, Layout};
use common::{everywhere, lower, matrix, rules, scalar, vector};

/// The mean of the neighbours inside, the border kept.
fn jacobi(a: MExp<f32>) -> MExp<f32> {
    let (n, m) = (a.rows(), a.cols());
    let part = |r: i64, c: i64| a.slice(r, n - 2 + r, c, m - 2 + c);
    a.with_block(1, 1, 0.25f32 * ((part(1, 0) + part(1, 2)) + (part(0, 1) + part(2, 1))))
}

/// The message of the rule that does not hold.
fn violated(f: &Function, args: &[Value]) -> String {
    interp::run(f, args).unwrap_err().message
}

fn numbers(rows: i64, cols: i64) -> Value {
    let value = |k: i64| Lit::float(Ty::F32, (k * 37 % 113) as f64 / 4.0);
    Value::Array(vec![rows, cols], (0..rows * cols).map(value).collect())
}

/// The steps one after another.
fn by_hand(a: &Value, k: usize) -> Value {
    let f = lower(["a"], ["r"], jacobi);
    (0..k).fold(a.clone(), |a, _| interp::run(&f, &[a]).unwrap().results.remove(0))
}

#[test]
fn steps_follow_each_other() {
    let f = lower(["a", "k"], ["r"], |a: MExp<f32>, k: SExp<i64>| a.iterate(k, jacobi));
    assert_eq!(rules(&f)[0], "count iterate: k");
    for (rows, cols) in [(3, 3), (4, 5), (9, 132)] {
        let a = numbers(rows, cols);
        for k in [0, 1, 2, 3, 4, 5, 9] {
            let found = everywhere(&f, &[a.clone(), scalar(k as i64)]);
            assert_eq!(found, [by_hand(&a, k)], "{rows} x {cols}, {k} steps");
        }
    }
    assert!(
        violated(&f, &[numbers(3, 3), scalar(-1i64)])
            .contains("the number of steps is -1, it must be 0 or more")
    );
}

#[test]
fn several_states_and_values_from_outside() {
    let f = lower(
        ["u", "v", "c", "k"],
        ["u_new", "v_new"],
        |u: VExp<f32>, v: VExp<f32>, c: VExp<f32>, k: SExp<i64>| {
            let norm = c.sum();
            let scaled = c.map(|c| c / 2);
            iterate(k, (u, v), |(u, v)| (v, 2 * v - u + scaled.slice(0, v.len()) * norm + v.sum()))
        },
    );
    let args = [vector(&[1f32, 2., 3.]), vector(&[4f32, 5., 6.]), vector(&[2f32, 4., 6., 8.]), scalar(2i64)];
    // norm 20; scaled 1 2 3 4
    // 1: u = 4 5 6, v = 7+20+15 8+40+15 9+60+15; 2: u = 42 63 84, v = 2v - u + 20 s + 189
    let expected = [vector(&[42f32, 63., 84.]), vector(&[289f32, 350., 411.])];
    assert_eq!(everywhere(&f, &args), expected);
}

#[test]
fn inside_other_work() {
    let f = lower(["x", "k"], ["r", "s"], |x: VExp<i64>, k: SExp<i64>| {
        let doubled = x.map(|x| x + 1).iterate(k, |x| x * 2);
        let again = doubled.iterate(2, |x| x.iterate(k, |x| x + 1));
        (again.reverse(), doubled.sum())
    });
    let found = everywhere(&f, &[vector(&[0i64, 1, 2]), scalar(3i64)]);
    assert_eq!(found, [vector(&[30i64, 22, 14]), scalar(48i64)]);
    assert_eq!(everywhere(&f, &[vector(&[0i64, 1, 2]), scalar(0i64)])[0], vector(&[3i64, 2, 1]));
}

#[test]
fn nan_is_canonical_without_steps() {
    let f = lower(["x"], ["r"], |x: VExp<f32>| x.iterate(0, |x| x + 1));
    let odd = Value::Vector(vec![Lit::from_bytes(Ty::F32, &[1, 0, 0xc0, 0xff, 0, 0, 0, 0])]);
    everywhere(&f, &[odd]);
}

#[test]
fn states_keep_their_shape() {
    let f = lower(["x", "n"], ["r"], |x: VExp<f32>, n: SExp<i64>| x.iterate(2, |x| x.slice(0, n)));
    assert!(violated(&f, &[vector(&[1f32, 2.]), scalar(1i64)]).contains("the lengths 2 and 1 differ"));
    assert_eq!(everywhere(&f, &[vector(&[1f32, 2.]), scalar(2i64)]), [vector(&[1f32, 2.])]);
}

#[test]
fn parts_are_replaced() {
    let f = lower(["x", "p", "i"], ["r"], |x: VExp<f32>, p: VExp<f32>, i: SExp<i64>| x.with_slice(i, p));
    let x = vector(&[1f32, 2., 3., 4.]);
    let found = everywhere(&f, &[x.clone(), vector(&[9f32, 8.]), scalar(1i64)]);
    assert_eq!(found, [vector(&[1f32, 9., 8., 4.])]);
    let call = |p: &[f32], i: i64| violated(&f, &[x.clone(), vector(p), scalar(i)]);
    assert!(call(&[1.0; 2], 3).contains("the part stops at 5, past the length 4"));
    assert!(call(&[1.0; 2], -1).contains("starts at -1"));
    assert!(call(&[], 1).contains("the part has the length 0"));
    let g = lower(["a"], ["r"], |a: MExp<f32>| a.with_block(1, 0, a.row(0).broadcast_rows(1)));
    assert_eq!(everywhere(&g, &[matrix(&[[1f32, 2.], [3., 4.]])]), [matrix(&[[1f32, 2.], [1., 2.]])]);
}

/// Whole blocks, blocks at every edge, and parts of blocks, by the versions that make several steps at once.
#[track_caller]
fn at_once(f: &Function, args: &[Value], versions: usize) {
    let expected = interp::run(f, args).unwrap();
    let targets = Targets { cpu: false, cuda: true };
    let compiled = driver::compile_for("t", vec![f.clone()], targets).expect("it compiles");
    let all = compiled.gpu_variants().map(|v| &v.launch);
    assert_eq!(all.filter(|v| v.steps_per_launch.is_some()).count(), versions, "{f}");
    for version in 0..versions {
        let how = How { layout: Layout::Padded, version: Some(version), span: 1, order: Order::Random(7) };
        let found = gpu::call(&compiled, 0, args, how).unwrap_or_else(|e| panic!("{how:?}: {e}\n{f}"));
        assert!(found.entries.iter().any(|e| e.contains("_steps")), "{:?}", found.entries);
        assert!(found.record.is_none() && found.results == expected.results, "{how:?}\n{f}");
    }
}

#[test]
fn several_steps_at_once() {
    let f = lower(["a", "k"], ["r"], |a: MExp<f32>, k: SExp<i64>| a.iterate(k, jacobi));
    // blocks of 8 steps store 48 x 112 elements, those of 4 steps 56 x 120, with rows aligned to 16 bytes or not
    for (rows, cols, k) in [(115, 244, 11), (112, 240, 8), (3, 4, 3), (49, 116, 5)] {
        at_once(&f, &[numbers(rows, cols), scalar(k as i64)], 4);
    }
}

#[test]
fn several_steps_at_every_edge() {
    let cross = |a: MExp<f32>, boundary| {
        let (n, m) = (a.rows(), a.cols());
        let p = a.padded([1, 1], [1, 1], boundary);
        let part = |r: i64, c: i64| p.slice(r, n + r, c, m + c);
        0.25f32 * ((part(1, 0) + part(1, 2)) + (part(0, 1) + part(2, 1)))
    };
    for boundary in [Boundary::Clamp, Boundary::Mirror, Boundary::Constant(3.0), Boundary::Wrap] {
        let f = lower(["a", "k"], ["r"], |a: MExp<f32>, k: SExp<i64>| a.iterate(k, |a| cross(a, boundary)));
        at_once(&f, &[numbers(51, 120), scalar(9i64)], 4);
    }
    // a block is larger than the torus: one step after another
    let f = lower(["a", "k"], ["r"], |a: MExp<f32>, k: SExp<i64>| a.iterate(k, |a| cross(a, Boundary::Wrap)));
    everywhere(&f, &[numbers(5, 8), scalar(3i64)]);
}

#[test]
fn several_steps_with_values_from_outside() {
    let f = lower(["a", "b", "w", "k"], ["r"], |a: MExp<f64>, b: MExp<f64>, w: SExp<f64>, k: SExp<i64>| {
        let source = b.map(|b| b * 0.5);
        a.iterate(k, |a| {
            let p = a.padded([2, 1], [1, 2], Boundary::Mirror);
            let (n, m) = (a.rows(), a.cols());
            w * (p.slice(0, n, 1, m + 1) + p.slice(3, n + 3, 3, m + 3)) + source - p.slice(2, n + 2, 0, m)
        })
    });
    let doubles = |rows, cols| match numbers(rows, cols) {
        Value::Array(extents, v) => {
            Value::Array(extents, v.into_iter().map(|l| Lit::float(Ty::F64, l.as_f64())).collect())
        }
        other => other,
    };
    at_once(&f, &[doubles(101, 130), doubles(101, 130), scalar(0.25f64), scalar(6i64)], 2);
}

#[test]
fn steps_that_are_made_one_by_one() {
    let one_by_one = |f: fn(MExp<f32>) -> MExp<f32>| {
        let f = lower(["a", "k"], ["r"], |a: MExp<f32>, k: SExp<i64>| a.iterate(k, f));
        at_once(&f, &[numbers(6, 8), scalar(3i64)], 0);
    };
    // several passes, reads of other rows' elements, an index that is computed, no neighbours
    one_by_one(|a| a / a.sum());
    one_by_one(|a| a.reverse_rows());
    one_by_one(|a| generate2(a.rows(), a.cols(), |i, j| a.at(i, (j * 2) % a.cols())));
    one_by_one(|a| a * 2);
}
