//! Iterations in which no element needs another one, which are loops of elements: on the interpreter before and after
//! the passes, and in every version of every kernel on a simulated GPU. Whether they are such loops is counted.

mod common;

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::core::{Function, Op};
use arraygpu_compiler::passes::pipeline;
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_dsl::prelude::*;
use common::{everywhere, lower, matrix, recorded, scalar, vector};
use half::f16;

#[derive(Clone, Copy, Record)]
#[record(crate = arraygpu_dsl)]
struct Body {
    x: f32,
    v: f32,
}

/// The number of iterations that the passes leave.
fn iterations(f: &Function) -> usize {
    let fused = pipeline::run(f, &mut |_, _| ()).expect("the passes work");
    let all = fused.graph.reachable(fused.results.iter().map(|r| r.value));
    all.into_iter().filter(|n| matches!(fused.graph.op(*n), Op::Iterate { .. })).count()
}

fn for_counts(f: &Function, args: &[Value]) {
    assert_eq!(iterations(f), 0, "{f}");
    for k in [0i64, 1, 2, 7] {
        everywhere(f, &[args, &[scalar(k)]].concat());
    }
}

const X: [f32; 5] = [1.0, 2.5, -3.0, f32::NAN, 1e30];
const V: [f32; 5] = [2.0, -4.0, 8.0, 0.5, -1.0];

#[test]
fn states_that_need_each_other() {
    let f = lower(["x", "v", "k"], ["a", "b"], |x: VExp<f32>, v: VExp<f32>, k: SExp<i64>| {
        iterate(k, (x, v), |(x, v)| {
            let v = v - 0.25 * x.sin();
            (x + 0.5 * v, v)
        })
    });
    for_counts(&f, &[vector(&X), vector(&V)]);
    for_counts(&f, &[vector::<f32>(&[]), vector::<f32>(&[])]);
}

#[test]
fn records_matrices_volumes_and_narrow_types() {
    let f = lower(["b", "k"], "r", |b: VExp<Body>, k: SExp<i64>| {
        b.iterate(k, |b| b.map(|b| BodyFields { x: b.x + b.v, v: b.v * 0.5 }.pack()))
    });
    for_counts(&f, &[vector(&X), vector(&V)]);
    let f = lower(["m", "k"], "r", |m: MExp<f16>, k: SExp<i64>| {
        m.iterate(k, |m| m * f16::from_f32(1.5) + f16::ONE)
    });
    let halves: Vec<f16> = (0..6).map(|i| f16::from_f32(i as f32 * 700.0)).collect();
    for_counts(&f, &[matrix(&[[halves[0], halves[1], halves[2]], [halves[3], halves[4], halves[5]]])]);
    let f = lower(["t", "k"], "r", |t: TExp<u8>, k: SExp<i64>| t.iterate(k, |t| t * 3u8 + 1u8));
    let bytes = (0..12).map(|i| Lit::from_word(Ty::U8, i * 21)).collect();
    for_counts(&f, &[Value::Array(vec![2, 3, 2], bytes)]);
    let f = lower(["b", "k"], "r", |b: VExp<bool>, k: SExp<i64>| b.iterate(k, |b| b.map(|b| !b)));
    for_counts(&f, &[vector(&[true, false, true])]);
}

#[test]
fn numbers_of_steps_and_what_is_mentioned() {
    let f = lower(["x", "w", "k"], "r", |x: VExp<f32>, w: VExp<f32>, k: SExp<i64>| {
        let of_outside = w.map(|w| w.exp());
        x.iterate_indexed(k, move |t, x| x * 0.5 + of_outside + t.cast::<f32>())
    });
    for_counts(&f, &[vector(&X), vector(&V)]);
    // as many steps as a vector has elements
    let f = lower(["x", "w"], "r", |x: VExp<f32>, w: VExp<f32>| {
        fill(x.len(), lit(0f32)).iterate_indexed(w.len(), |t, r| r * x + w.at(t))
    });
    assert_eq!(iterations(&f), 0, "{f}");
    everywhere(&f, &[vector(&X), vector(&[1f32, 2., 3.])]);
    everywhere(&f, &[vector(&X), vector::<f32>(&[])]);
    // another row in each step
    let f = lower(["x", "m"], "r", |x: VExp<f32>, m: MExp<f32>| {
        x.iterate_indexed(m.rows(), |t, r| r * 0.5 + m.row(t))
    });
    assert_eq!(iterations(&f), 0, "{f}");
    everywhere(&f, &[vector(&[1f32, 2., 3.]), matrix(&[[1f32, 2., 3.], [4., 5., 6.]])]);
    // any number of steps
    let f = lower(["x", "w", "k"], "r", |x: VExp<f32>, w: VExp<f32>, k: SExp<i64>| {
        x.iterate_indexed(k, |t, r| r * 2.0 + w.at(t))
    });
    assert_eq!(iterations(&f), 1, "a step may read beyond the end");
    // a table that has another length, read anywhere in bounds
    let f = lower(["i", "w", "k"], "r", |i: VExp<i32>, w: VExp<i32>, k: SExp<i64>| {
        i.iterate(k, move |i| i.map(|i| w.at(i.cast::<i64>().max(0).min(w.len() - 1)) + 1))
    });
    assert_eq!(iterations(&f), 1, "where it has no element no index is in bounds");
}

#[test]
fn scalar_states_beside_arrays() {
    let f = lower(["x", "s", "k"], ["a", "t"], |x: VExp<f64>, s: SExp<f64>, k: SExp<i64>| {
        iterate(k, (x, s), |(x, s)| (x * s, s * 0.5f64 + 1.0f64))
    });
    for_counts(&f, &[vector(&[1.0, -2.0, 0.5]), scalar(3.0)]);
    for_counts(&f, &[vector::<f64>(&[]), scalar(3.0)]);
    let f = lower(["s", "k"], "t", |s: SExp<f64>, k: SExp<i64>| iterate(k, s, |s| 0.5f64 * (s + 2.0f64 / s)));
    for_counts(&f, &[scalar(3.0)]);
}

#[test]
fn iterations_in_iterations_and_what_follows() {
    let f = lower(["x", "k"], "r", |x: VExp<f32>, k: SExp<i64>| {
        x.iterate(k, |x| x + x.iterate(40, |y| y.map(|y| y.abs().sqrt())))
    });
    for_counts(&f, &[vector(&X)]);
    let f = lower(["x", "k"], ["s", "w"], |x: VExp<f32>, k: SExp<i64>| {
        let y = x.iterate(k, |x| x * 0.5 + 1.0);
        let w = y.windows(3);
        (y.sum(), w[0] + w[1] * w[2])
    });
    for_counts(&f, &[vector(&[1f32, 2., 3., 4., 5.])]);
    // in the step of an iteration that stays one
    let f = lower(["x", "k"], "r", |x: VExp<f32>, k: SExp<i64>| {
        x.iterate(k, |x| x.reverse() + x.iterate(9, |x| x * 0.5))
    });
    assert_eq!(iterations(&f), 1);
    for k in [0i64, 1, 3] {
        everywhere(&f, &[vector(&X), scalar(k)]);
    }
    // a step with a sort
    let f = lower(["x", "k"], "r", |x: VExp<f32>, k: SExp<i64>| x.iterate(k, |x| x.sort() * 0.5 + x));
    assert!(iterations(&f) > 0);
    everywhere(&f, &[vector(&[3f32, 1., 2.]), scalar(2i64)]);
}

#[test]
fn moved_and_constant_states() {
    let f = lower(["x", "v", "k"], ["a", "b", "c"], |x: VExp<f32>, v: VExp<f32>, k: SExp<i64>| {
        iterate(k, (x, v, x), |(a, b, c)| (b, c * 1.0, fill(a.len(), lit(2.5f32))))
    });
    for_counts(&f, &[vector(&X), vector(&V)]);
}

#[test]
fn records_of_the_first_state_and_of_steps() {
    // the first state leaves its record although no step needs it
    let f = lower(["x", "d", "k"], "r", |x: VExp<i32>, d: VExp<i32>, k: SExp<i64>| {
        let q = x / d;
        q.iterate(k, |q| fill(q.len(), lit(1i32)))
    });
    let args = |k: i64| [vector(&[7i32, 8, 9]), vector(&[1i32, 0, 2]), scalar(k)];
    for k in [0, 3] {
        assert!(recorded(&f, &args(k)).starts_with("element 1"));
    }
    let f = lower(["x", "d", "k"], "r", |x: VExp<i32>, d: VExp<i32>, k: SExp<i64>| {
        x.iterate(k, move |x| x / d + 5)
    });
    assert_eq!(iterations(&f), 1);
    assert!(recorded(&f, &args(2)).starts_with("element 1"));
}

/// A number of steps is a bound, which leaves no record where it divides by zero.
#[test]
fn numbers_of_steps_leave_no_record() {
    let f = lower(["x", "k", "m"], "r", |x: VExp<f32>, k: SExp<i64>, m: SExp<i64>| {
        x.iterate((k % m).max(0), |x| x * 0.5)
    });
    assert_eq!(iterations(&f), 0, "{f}");
    for m in [0i64, 3] {
        everywhere(&f, &[vector(&X), scalar(5i64), scalar(m)]);
    }
}
