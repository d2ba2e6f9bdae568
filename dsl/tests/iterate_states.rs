//! Iterations: their states, what steps mention, boundaries of any width, records.

mod common;

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::core::verify;
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_dsl::prelude::*;
use common::{everywhere, lower, matrix, recorded, refused, scalar, vector};
use half::f16;

fn numbers(rows: i64, cols: i64) -> Value {
    let value = |k: i64| Lit::float(Ty::F32, (k * 37 % 113) as f64 / 4.0);
    Value::Array(vec![rows, cols], (0..rows * cols).map(value).collect())
}

#[test]
fn names_of_states() {
    let f = lower(["x", "x_2", "k"], ["a", "b", "c"], |x: VExp<f32>, y: VExp<f32>, k: SExp<i64>| {
        iterate(k, (x, y, x), |(a, b, c)| (b, c, a + 1))
    });
    let step = &f.steps[0];
    let names: std::collections::HashSet<_> = step.params.iter().map(|p| p.name.clone()).collect();
    assert_eq!(names.len(), step.params.len(), "{f}");
    verify::verify(step).unwrap();
    for k in 0..4 {
        everywhere(&f, &[vector(&[1f32, 2.]), vector(&[5f32, 6.]), scalar(k as i64)]);
    }
}

#[test]
fn permuted_and_unchanged() {
    let f = lower(
        ["x", "y", "z", "k"],
        ["a", "b", "c"],
        |x: VExp<f32>, y: VExp<f32>, z: VExp<f32>, k: SExp<i64>| iterate(k, (x, y, z), |(a, b, c)| (b, a, c)),
    );
    for k in 0..4i64 {
        everywhere(
            &f,
            &[vector(&[1f32, 2.]), vector(&[5f32, 6.]), vector(&[f32::NAN, -0.0, 3.0]), scalar(k)],
        );
    }
}

#[test]
fn types_and_ranks() {
    let f = lower(
        ["v", "m", "t", "b", "k"],
        ["v1", "m1", "t1", "b1"],
        |v: VExp<i64>, m: MExp<f64>, t: TExp<u8>, b: VExp<bool>, k: SExp<i64>| {
            iterate(k, (v, m, t, b), |(v, m, t, b)| {
                let any = b.any();
                (
                    v.map(|x| cond(any, x * 2, x - 1)),
                    m.transpose().transpose() * 0.5f64,
                    t + 1u8,
                    b.map(|x| !x),
                )
            })
        },
    );
    let t = Value::Array(vec![2, 1, 3], (0..6).map(|i| (250 + i as u8).lit()).collect());
    for k in 0..4i64 {
        everywhere(
            &f,
            &[
                vector(&[1i64, 2]),
                matrix(&[[1f64, 2.], [3., f64::NAN]]),
                t.clone(),
                vector(&[true, false]),
                scalar(k),
            ],
        );
    }
    // nothing at all
    let t = Value::Array(vec![2, 0, 3], vec![]);
    for k in 0..4i64 {
        everywhere(
            &f,
            &[
                Value::Vector(vec![]),
                Value::Array(vec![0, 3], vec![]),
                t.clone(),
                Value::Vector(vec![]),
                scalar(k),
            ],
        );
    }
}

#[test]
fn halves() {
    let f = lower(["m", "k"], ["r"], |m: MExp<f16>, k: SExp<i64>| {
        m.iterate(k, |m| {
            let p = m.padded([1, 1], [0, 2], Boundary::Clamp);
            let (r, c) = (m.rows(), m.cols());
            (p.slice(0, r, 2, c + 2) + p.slice(2, r + 2, 0, c)) * f16::from_f32(0.3)
        })
    });
    let m = Value::Array(vec![5, 7], (0..35).map(|i| Lit::float(Ty::F16, i as f64 * 1.5)).collect());
    for k in 0..4i64 {
        everywhere(&f, &[m.clone(), scalar(k)]);
    }
}

#[test]
fn nested() {
    let f = lower(["m", "c", "k"], ["r", "s"], |m: MExp<f32>, c: VExp<f32>, k: SExp<i64>| {
        let w = c.sum();
        let (a, s) = iterate(k, (m, c), |(a, c)| {
            let inner = a.iterate(k + 1, |x| {
                let p = x.padded([1, 1], [1, 1], Boundary::Mirror);
                let (r, q) = (x.rows(), x.cols());
                0.25f32 * (p.slice(0, r, 1, q + 1) + p.slice(2, r + 2, 1, q + 1)) + w * 0.125f32 + c.at(0)
            });
            (inner, c * w + inner.row(0).sum() + c.iterate(c.len(), |v| v.reverse() * 2).sum())
        });
        (a, s)
    });
    for k in 0..4i64 {
        everywhere(&f, &[numbers(9, 12), vector(&[0.5f32, 0.25, -0.5]), scalar(k)]);
    }
}

#[test]
fn of_results_and_read_results() {
    let f = lower(["x", "k"], ["a", "b", "c", "d", "s"], |x: VExp<f32>, k: SExp<i64>| {
        let a = x.iterate(k, |x| x + 1);
        let b = a.iterate(a.len(), |x| x * a);
        (a, b, b, a + b, b.sum())
    });
    for k in 0..3i64 {
        everywhere(&f, &[vector(&[1f32, 2., 0.5]), scalar(k)]);
    }
}

#[test]
fn device_scalars() {
    let f = lower(["x", "i", "k"], ["r"], |x: VExp<f32>, i: VExp<i64>, k: SExp<i64>| {
        let d = i.sum();
        let m = x.max();
        x.iterate(k, |x| x.map(|e| e / m) + x.at(d))
    });
    for k in 0..4i64 {
        everywhere(&f, &[vector(&[1f32, 2., 4.]), vector(&[1i64, 1, 0]), scalar(k)]);
    }
    let f = lower(["x", "p", "k"], ["r"], |x: VExp<i64>, p: SExp<i64>, k: SExp<i64>| {
        let q = 7 / p;
        x.iterate(k, |x| x + q)
    });
    everywhere(&f, &[vector(&[1i64, 2]), scalar(2i64), scalar(2i64)]);
}

#[test]
fn records_of_steps() {
    let f = lower(["i", "x", "k"], ["r"], |i: VExp<i64>, x: VExp<i64>, k: SExp<i64>| {
        i.iterate(k, |i| i.map(|j| j + 1 + x.at(j)))
    });
    let args = |k: i64| [vector(&[8i64, 0, 9]), vector(&[0i64; 9]), scalar(k)];
    everywhere(&f, &args(0));
    for k in 1..4 {
        // what is read at 9 leaves a record: element 2 in the first step, element 0 in the second
        let lowest = if k == 1 { "element 2:" } else { "element 0:" };
        assert!(recorded(&f, &args(k)).starts_with(lowest), "{k} steps");
    }
}

#[test]
fn count_is_device() {
    let e = refused(["x"], |x: VExp<i64>| x.iterate(x.sum(), |x| x + 1));
    assert!(e.to_string().contains("before the function runs"), "{e}");
}

fn cross(a: MExp<f32>, rows: [i64; 2], cols: [i64; 2], boundary: Boundary<f32>) -> MExp<f32> {
    let (n, m) = (a.rows(), a.cols());
    let p = a.padded(rows.map(|n| n as usize), cols.map(|n| n as usize), boundary);
    let part = |r: i64, c: i64| p.slice(r, n + r, c, m + c);
    part(0, cols[0]) - 0.5f32 * part(rows[0] + rows[1], cols[0]) + 0.25f32 * part(rows[0], 0)
        - 0.125f32 * part(rows[0], cols[0] + cols[1])
}

fn wide(boundary: Boundary<f32>) {
    for (rows, cols) in [
        ([2, 3], [1, 4]),
        ([0, 4], [3, 0]),
        ([5, 1], [0, 1]),
        ([1, 9], [5, 1]),
        ([8, 0], [0, 0]),
        ([1, 0], [4, 4]),
    ] {
        let f = lower(["a", "k"], ["r"], |a: MExp<f32>, k: SExp<i64>| {
            a.iterate(k, |a| cross(a, rows, cols, boundary))
        });
        let least = [rows[0].max(rows[1]), cols[0].max(cols[1])].map(|n| n.max(1));
        for (r, c, k) in [(least[0], least[1], 3i64), (least[0] + 1, least[1] + 3, 5), (66, 132, 4)] {
            everywhere(&f, &[numbers(r, c), scalar(k)]);
        }
    }
}

#[test]
fn wide_clamp() {
    wide(Boundary::Clamp)
}

#[test]
fn wide_mirror() {
    wide(Boundary::Mirror)
}

#[test]
fn wide_wrap() {
    wide(Boundary::Wrap)
}

#[test]
fn wide_constant() {
    wide(Boundary::Constant(3.0))
}
