//! Reductions and folds of tuples, places of extremes and means: values, special numbers, the edges of
//! the tree, and the same bits in every version of every kernel.

mod common;

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_dsl::prelude::*;
use common::{call, everywhere, literals, lower, scalar, vector};

const INF: f32 = f32::INFINITY;
const NAN: f32 = f32::NAN;

fn value(k: i64) -> f32 {
    (k * 37 % 113) as f32 / 4.0
}

fn numbers(n: i64) -> Value {
    Value::Vector((0..n).map(|k| Lit::f32(value(k))).collect())
}

fn table(rows: i64, cols: i64) -> Value {
    Value::Array(vec![rows, cols], (0..rows * cols).map(|k| Lit::f32(value(k))).collect())
}

/// The first index of the least number.
fn first(all: impl Iterator<Item = f32>) -> i64 {
    let mut best = (INF, -1);
    for (i, x) in (0..).zip(all) {
        if x < best.0 || x.is_nan() && !best.0.is_nan() || best.1 < 0 {
            best = (x, i);
        }
    }
    best.1
}

#[test]
fn places_of_extremes() {
    let f = lower(["x"], ["least", "greatest"], |x: VExp<f32>| (x.argmin(), x.argmax()));
    let cases: &[(&[f32], [i64; 2])] = &[
        (&[], [-1, -1]),
        (&[INF], [0, 0]),
        (&[-INF, -INF], [0, 0]),
        (&[3.0, 1.0, 4.0, 1.0, 4.0], [1, 2]),
        (&[0.0, -0.0], [0, 0]),
        (&[1.0, NAN, 0.0, NAN], [1, 1]),
        (&[NAN, NAN], [0, 0]),
    ];
    for (x, wanted) in cases {
        let found = call(&f, &[vector(x)]);
        assert_eq!(found, wanted.map(scalar), "{x:?}");
    }
    for n in [0, 1, 129, 2100] {
        let found = everywhere(&f, &[numbers(n)]);
        assert_eq!(found[0], scalar(first((0..n).map(value))), "{n}");
        assert_eq!(found[1], scalar(first((0..n).map(|k| -value(k)))), "{n}");
    }
}

#[test]
fn places_in_integers_and_matrices() {
    let f = lower(["x"], ["least", "greatest"], |x: VExp<u8>| (x.argmin(), x.argmax()));
    let x: Vec<u8> = (0..3000u32).map(|k| (k * 37 % 113) as u8 + 2).collect();
    let found = everywhere(&f, &[vector(&x)]);
    assert_eq!(found, [scalar(0i64), scalar(x.iter().position(|v| *v == 114).unwrap() as i64)]);
    let f = lower(["x"], "place", |x: MExp<f32>| x.argmax());
    let found = everywhere(&f, &[table(30, 70)]);
    assert_eq!(found, [scalar(first((0..2100).map(|k| -value(k))))]);
}

#[test]
fn places_in_rows_and_columns() {
    let f = lower(["x"], ["rows", "cols"], |x: MExp<f32>| (x.argmin_rows(), x.argmin_cols()));
    for (rows, cols) in [(0, 3), (3, 0), (5, 33), (2, 130), (2060, 1)] {
        let found = everywhere(&f, &[table(rows, cols)]);
        let of_row = |i: i64| first((0..cols).map(|j| value(i * cols + j)));
        let of_column = |j: i64| first((0..rows).map(|i| value(i * cols + j)));
        let wanted = [(0..rows).map(of_row).collect::<Vec<_>>(), (0..cols).map(of_column).collect()];
        assert_eq!(found, wanted.map(|w| vector(&w)), "{rows} x {cols}");
    }
}

#[test]
fn means_and_both_extremes() {
    let f = lower(["x"], ["mean", "least", "greatest"], |x: VExp<f32>| {
        let (least, greatest) = x.minmax();
        (x.mean(), least, greatest)
    });
    assert_eq!(everywhere(&f, &[vector(&[1.0f32, 2.0, 6.0])]), [3.0f32, 1.0, 6.0].map(scalar));
    let none = call(&f, &[vector::<f32>(&[])]);
    assert!(literals(&none[0])[0].as_f32().is_nan());
    let f = lower(["x"], ["rows", "cols"], |x: MExp<f32>| (x.mean_rows(), x.mean_cols()));
    let x = Value::Array(vec![2, 2], [1.0, 3.0, 5.0, 6.0].map(Lit::f32).to_vec());
    assert_eq!(everywhere(&f, &[x]), [vector(&[2.0f32, 5.5]), vector(&[3.0f32, 4.5])]);
    // a sum of halves that no half holds
    let f = lower(["x"], "mean", |x: VExp<arraygpu_dsl::f16>| x.mean());
    let x = vec![arraygpu_dsl::f16::from_f32(60000.0); 8];
    assert_eq!(call(&f, &[vector(&x)]), [scalar(x[0])]);
}

/// Mean and number of the elements seen, merged; the operator is not commutative in every bit.
fn merged(a: (SExp<f32>, SExp<f32>), b: (SExp<f32>, SExp<f32>)) -> (SExp<f32>, SExp<f32>) {
    let n = a.1 + b.1;
    (a.0 + (b.0 - a.0) * (b.1 / n), n)
}

#[test]
fn tuples_of_several_arrays() {
    let f =
        lower(["x", "w"], ["mean", "weight"], |x: VExp<f32>, w: VExp<f32>| (x, w).reduce((0.0, 0.0), merged));
    for n in [0, 1, 127, 300, 2049] {
        let w = Value::Vector((0..n).map(|k| Lit::f32(1.0 + (k % 3) as f32)).collect());
        everywhere(&f, &[numbers(n), w]);
    }
    let f = lower(["x", "w"], ["mean", "weight", "of_column", "column"], |x: MExp<f32>, w: MExp<f32>| {
        let (mean, weight) = (x, w).reduce_rows((0.0, 0.0), merged);
        let (of_column, column) = (x, w).reduce_cols((0.0, 0.0), merged);
        (mean, weight, of_column, column)
    });
    for (rows, cols) in [(0, 3), (3, 0), (5, 33), (2, 130), (2060, 1)] {
        let w = (0..rows * cols).map(|k| Lit::f32(1.0 + (k % 3) as f32)).collect();
        everywhere(&f, &[table(rows, cols), Value::Array(vec![rows, cols], w)]);
    }
}

#[test]
fn nested_tuples_of_twelve() {
    let f = lower(["x"], "sum", |x: VExp<f32>| {
        let all = (x, (x, x), (x, x, (x, x)), x, x, x, x, x);
        let zero = (0, (0, 0), (0, 0, (0, 0)), 0, 0, 0, 0, 0);
        let (a, (b, c), (d, e, (f, g)), h, i, j, k, l) = all.reduce(zero, |p, q| {
            let (pb, qb) = (p.1.0, q.1.0);
            (
                p.0 + q.0,
                (pb.max(qb), p.1.1.min(q.1.1)),
                (p.2.0 + q.2.0, p.2.1 * q.2.1, (p.2.2.0 - q.2.2.0, p.2.2.1.max(q.0))),
                p.3 + q.4,
                p.4 + q.3,
                p.5 + q.6,
                p.6 + q.5,
                p.7 + q.7,
            )
        });
        a + b + c + d + e + f + g + h + i + j + k + l
    });
    everywhere(&f, &[numbers(300)]);
}

#[test]
fn folds() {
    let f = lower(["x", "w"], ["longest", "last", "dot"], |x: VExp<f32>, w: VExp<i32>| {
        let (longest, last) = (x,).fold((lit(0i64), lit(0i64)), |(longest, run), (a,)| {
            let run = cond(a.gt(10.0), run + 1, 0);
            (longest.max(run), run)
        });
        let dot = (x, w).fold(lit(1.0f32), |sum, (a, b)| sum * 0.5 + a * b.cast::<f32>());
        (longest, last, dot)
    });
    for n in [0, 1, 600] {
        let w = Value::Vector((0..n).map(|k| Lit::i32(k as i32 % 5)).collect());
        let found = everywhere(&f, &[numbers(n), w]);
        let (mut longest, mut run) = (0i64, 0i64);
        for k in 0..n {
            run = if value(k) > 10.0 { run + 1 } else { 0 };
            longest = longest.max(run);
        }
        assert_eq!(found[..2], [longest, run].map(scalar), "{n}");
    }
}

#[test]
fn inside_of_elements() {
    let f = lower(["x"], ["least", "place", "run"], |x: VExp<f32>| {
        generate(x.len(), |i| {
            let near = x.map(|a| (a - x.at(i)).abs());
            let indices = iota(x.len());
            let (least, place) = (near, indices).reduce((INF, -1i64), |a, b| {
                let takes = b.0.lt(a.0) | (b.0.eq(a.0) & b.1.gt(a.1));
                (cond(takes, b.0, a.0), cond(takes, b.1, a.1))
            });
            let (run, _) = (near,).fold((lit(0i64), lit(0i64)), |(longest, run), (a,)| {
                let run = cond(a.gt(4.0), run + 1, 0);
                (longest.max(run), run)
            });
            (least, place, run)
        })
    });
    for n in [1, 40] {
        everywhere(&f, &[numbers(n)]);
    }
}

#[test]
fn shapes_must_be_equal() {
    let f = lower(["x", "w"], ["a", "b"], |x: MExp<f32>, w: MExp<f32>| {
        (x, w).reduce_rows((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1))
    });
    assert_eq!(common::rules(&f), ["same reduce_rows: rows of x, w", "same reduce_rows: columns of x, w"]);
    let ty = f.params[0].ty;
    assert_eq!((ty.elem, ty.rank), (Ty::F32, 2));
}
