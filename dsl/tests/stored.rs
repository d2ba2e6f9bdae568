//! What is stored instead of computed again: nested operations of part of the indices, and arrays that are
//! read in many places.

mod common;

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::passes::pipeline;
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_dsl::prelude::*;
use common::{everywhere, lower, scalar, vector};

fn numbers(rows: i64, cols: i64) -> Value {
    let value = |k: i64| Lit::float(Ty::F32, (k * 37 % 113) as f64 / 4.0);
    Value::Array(vec![rows, cols], (0..rows * cols).map(value).collect())
}

#[test]
fn softmax() {
    let f = lower(["a"], ["r", "r2", "c", "s", "w"], |a: MExp<f32>| {
        let m = a.map_rows(|r| r.max());
        let d = a.map_rows(|r| {
            let m = r.max();
            r.map(|x| (x - m).exp()).sum()
        });
        let rows = (a - m.broadcast_cols(a.cols())).map(|x| x.exp()) / d.broadcast_cols(a.cols());
        let rows2 = generate2(a.rows(), a.cols(), |i, j| {
            let r = a.row(i);
            let m = r.max();
            (a.at(i, j) - m).exp() / r.map(|x| (x - m).exp()).sum()
        });
        let cols = generate2(a.rows(), a.cols(), |i, j| {
            cond(a.at(i, j).gt(3f32), a.col(j).sum(), a.row(i).fold(0f32, |s, x| s * 0.5f32 + x))
        });
        let whole = generate2(a.rows(), a.cols(), |i, j| a.row(i).sum() * a.col(j).sum()).sum();
        (rows, rows2, cols, rows.sum(), whole)
    });
    for (r, c) in [(0, 0), (0, 3), (3, 0), (1, 1), (3, 5), (2, 140)] {
        everywhere(&f, &[numbers(r, c)]);
    }
    let f = lower(["t"], ["r", "s"], |t: TExp<f32>| {
        let [p, r, c] = [t.planes(), t.rows(), t.cols()];
        let x = generate3(p, r, c, |k, i, j| {
            t.at(k, i, j) / t.plane(k).row(i).sum() + t.plane(k).sum() - t.plane(k).col(j).max()
        });
        (x, x.sum())
    });
    for [p, r, c] in [[0, 2, 3], [2, 0, 3], [2, 3, 0], [2, 3, 4], [1, 1, 1]] {
        let v = Value::Array(
            vec![p, r, c],
            (0..p * r * c).map(|k| Lit::float(Ty::F32, (k * 37 % 113) as f64 / 4.0 + 1.0)).collect(),
        );
        everywhere(&f, &[v]);
    }
}

#[test]
fn division_by_negative_rows() {
    let f = lower(["n", "m"], ["r"], |n: SExp<i64>, m: SExp<i64>| {
        generate(n, |k| {
            let r = k / -3;
            iota(m).map(|j| j * r).sum() + k
        })
        .sum()
    });
    everywhere(&f, &[scalar(10i64), scalar(4i64)]);
}

#[test]
fn storing_adds_no_record() {
    let f = lower(["x", "w"], ["r"], |x: VExp<f32>, w: VExp<f32>| {
        let n = x.len();
        let y = generate(n, |i| x.at(i + 1) + w.map(|w| w * x.at(i + 1)).sum());
        y.slice(0, n - 2) + y.slice(1, n - 1)
    });
    everywhere(&f, &[vector(&[1f32, 2., 3., 4.]), vector(&[2f32, 3.])]);
    let f = lower(["x", "w", "c"], ["r"], |x: VExp<i64>, w: VExp<i64>, c: SExp<bool>| {
        let y = x.map(|x| w.map(|w| w / x).sum());
        generate(x.len() - 1, |i| cond(c, y.at(i) + y.at(i + 1), i))
    });
    everywhere(&f, &[vector(&[0i64, 2]), vector(&[2i64, 3]), scalar(false)]);
}

/// Each stencil's code has 25 times that of the one before, if that is not stored.
#[test]
fn long_chains_of_stencils() {
    let f = lower(["a"], ["r"], |a: MExp<f32>| {
        let w = [[0.1f32; 5]; 5];
        (0..12).fold(a, |a, _| a.padded([2, 2], [2, 2], Boundary::Clamp).weighted_sum2(&w))
    });
    let fused = pipeline::run(&f, &mut |_, _| ()).unwrap();
    assert!(fused.graph.len() < 3000, "{} nodes", fused.graph.len());
}

/// Results and parameters may have the names that temporaries have.
#[test]
fn names_of_temporaries() {
    let f = |m: MExp<f32>, x: VExp<f32>| {
        let y = (m * m).materialize();
        let z = x.map(|x| x * y.sum()).materialize();
        (y, y / y.sum(), z, z.sum() + z.at(0))
    };
    for (x, results) in [
        ("tmp0", ["s0", "r", "s1", "tmp1"]),
        ("s0", ["tmp0", "tmp1", "s1", "s2"]),
        ("x", ["s1", "s2", "s3", "s4"]),
    ] {
        everywhere(&lower(["m", x], results, f), &[numbers(3, 5), vector(&[1f32, 2.0])]);
    }
}

/// Which part of an index is left may be a shift by more bits than 32-bit indices have.
#[test]
fn shifted_indices() {
    let far = lower(["x"], "r", |x: VExp<f32>| generate(x.len(), |i| x.at((i >> 32) + 1)));
    everywhere(&far, &[vector(&[1f32, 2.0, 3.0, 4.0, 5.0])]);
    let ancestors = |x: VExp<f32>| generate2(x.len(), 64, |i, j| x.at(i >> j));
    everywhere(&lower(["x"], "r", ancestors), &[vector(&[1f32, 2.0, 3.0, 4.0, 5.0])]);
}
