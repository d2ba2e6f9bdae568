//! Iterations whose steps get their numbers.

mod common;

use arraygpu_compiler::core::Function;
use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_dsl::prelude::*;
use common::{everywhere, lower, matrix, recorded, refused, scalar, vector};

fn numbers(rows: i64, cols: i64) -> Value {
    let value = |k: i64| Lit::float(Ty::F32, (k * 37 % 113) as f64 / 4.0);
    Value::Array(vec![rows, cols], (0..rows * cols).map(value).collect())
}

#[test]
fn numbers_of_steps() {
    let f = lower(["x", "k"], ["r"], |x: VExp<i64>, k: SExp<i64>| x.iterate_indexed(k, |t, x| x * 10 + t));
    for (k, expected) in [(0, [1, 2]), (1, [10, 20]), (2, [101, 201]), (7, [10123456, 20123456])] {
        assert_eq!(
            everywhere(&f, &[vector(&[1i64, 2]), scalar(k as i64)]),
            [vector(&expected.map(i64::from))]
        );
    }
    assert_eq!(everywhere(&f, &[Value::Vector(vec![]), scalar(3i64)]), [Value::Vector(vec![])]);
}

#[test]
fn as_index() {
    let f = lower(["x", "w"], ["r"], |x: VExp<f32>, w: VExp<f32>| {
        iterate_indexed(w.len(), x, |t, x| x * w.at(t) + 1)
    });
    let found = everywhere(&f, &[vector(&[1f32, 2.]), vector(&[2f32, 3.])]);
    assert_eq!(found, [vector(&[10f32, 16.])]);
    // a row for each step, and elements that come nearer
    let f = lower(["m", "k"], ["r"], |m: MExp<f32>, k: SExp<i64>| {
        m.row(0).iterate_indexed(k, |t, x| {
            let n = x.len();
            generate(n, |i| x.at(i) + m.at(t, (i + t) % n))
        })
    });
    everywhere(&f, &[numbers(5, 70), scalar(5i64)]);
    assert!(recorded(&f, &[numbers(3, 4), scalar(4i64)]).contains("is out of range"));
    let f = lower(["m"], ["r"], |m: MExp<f32>| m.row(0).iterate_indexed(m.rows(), |t, x| x + m.row(t)));
    everywhere(&f, &[numbers(4, 9)]);
}

#[test]
fn follows_from_numbers() {
    // elementary functions, conditions and reductions of them; the host computes some
    let f = lower(["x", "k"], ["r", "s"], |x: VExp<f32>, k: SExp<i64>| {
        iterate_indexed(k, (x, x), |t, (x, y)| {
            let angle = (t.cast::<f32>() * 0.5f32).sin();
            let s = x.map(|e| e * (t + 1).cast::<f32>()).sum();
            (cond(t.eq(2), lit(1f32), angle) * x + y, y + s / 128f32)
        })
    });
    for k in 0..5i64 {
        everywhere(&f, &[vector(&[1f32, 2., 0.5]), scalar(k)]);
    }
}

#[test]
fn stencils() {
    let f = lower(["a", "k"], ["r"], |a: MExp<f32>, k: SExp<i64>| {
        a.iterate_indexed(k, |t, a| {
            let p = a.padded([1, 1], [1, 1], Boundary::Clamp);
            let (n, m) = (a.rows(), a.cols());
            let part = |r: i64, c: i64| p.slice(r, n + r, c, m + c);
            part(0, 1) + part(2, 1) - t.cast::<f32>() * part(1, 0)
        })
    });
    for (rows, cols) in [(1, 1), (3, 5), (66, 132)] {
        everywhere(&f, &[numbers(rows, cols), scalar(4i64)]);
    }
}

#[test]
fn nested() {
    let f = lower(["x", "k"], ["r"], |x: VExp<i64>, k: SExp<i64>| {
        x.iterate_indexed(k, |s, x| {
            let y = x.iterate_indexed(3, |t, x| x * 3 + t + s * 100);
            y.iterate(2, |x| x + s).iterate_indexed(k, |t, x| x - t)
        })
    });
    for k in 0..4i64 {
        everywhere(&f, &[vector(&[1i64, 2, 3]), scalar(k)]);
    }
}

#[test]
fn records() {
    // of a division by a number that follows from the step's
    let f =
        lower(["x", "k"], ["r"], |x: VExp<i64>, k: SExp<i64>| x.iterate_indexed(k, |t, x| x + 7 / (t - 2)));
    everywhere(&f, &[vector(&[1i64, 2]), scalar(2i64)]);
    assert!(recorded(&f, &[vector(&[1i64, 2]), scalar(3i64)]).starts_with("element 0:"));
}

/// What a step gets from outside has names of which messages may speak.
#[test]
fn names_of_values_from_outside() {
    let f = lower(["x", "k"], ["r"], |x: VExp<i64>, k: SExp<i64>| {
        x.iterate_indexed(k, |s, x| {
            let w = x.scan(0, |a, b| a + b);
            x.iterate_indexed(k + 1, |t, y| y + w.at(t) * s)
        })
    });
    let names = |f: &Function| f.params.iter().map(|p| p.name.clone()).collect::<Vec<_>>().join(" ");
    let inner = &f.steps[0].steps[0];
    assert!(names(inner).contains("step") && !names(inner).contains("outer"), "{}", names(inner));
    let shapes = refused_call(&f, &[vector(&[1i64, 2]), scalar(-3i64)]);
    assert!(shapes.contains("iterate_indexed: k"), "{shapes}");
    let f = lower(["x", "k"], ["r"], |x: VExp<i64>, k: SExp<i64>| {
        x.iterate(2, |x| {
            let n = k - 7;
            x.iterate_indexed(n, |t, x| x + t)
        })
    });
    let said = refused_call(&f, &[vector(&[1i64, 2]), scalar(3i64)]);
    assert!(said.contains("iterate_indexed: k: "), "{said}");
}

fn refused_call(f: &Function, args: &[Value]) -> String {
    interp::run(f, args).expect_err("the call is refused").to_string()
}

#[test]
fn lengths_and_stages_do_not_follow() {
    let e = refused(["x"], |x: VExp<f32>| x.iterate_indexed(2, |t, x| x + x.slice(t, x.len()).sum()));
    assert!(e.to_string().contains("depends on the number of the step"), "{e}");
    let e = refused(["x"], |x: VExp<f32>| x.iterate_indexed(2, |t, x| x + generate(t, |i| x.at(i)).sum()));
    assert!(e.to_string().contains("depends on the number of the step"), "{e}");
    let e = refused(["x"], |x: VExp<i64>| x.iterate_indexed(2, |t, x| x + stage(t + 1)));
    assert!(e.to_string().contains("E0311") || e.to_string().contains("number of the step"), "{e}");
    let e = refused(["x"], |x: VExp<i64>| x.iterate_indexed(2, |t, x| x.iterate(t, |x| x + 1)));
    assert!(e.to_string().contains("depends on the number of the step"), "{e}");
}

#[test]
fn matrices_and_volumes() {
    let f = lower(["m", "k"], ["r"], |m: MExp<i64>, k: SExp<i64>| {
        m.iterate_indexed(k, |t, m| m.transpose().transpose() + t)
    });
    everywhere(&f, &[matrix(&[[1i64, 2], [3, 4]]), scalar(3i64)]);
    let f = lower(["x", "k"], ["r"], |x: TExp<f64>, k: SExp<i64>| {
        x.iterate_indexed(k, |t, x| x * t.cast::<f64>())
    });
    let x = Value::Array(vec![2, 1, 3], (0..6).map(|i| Lit::float(Ty::F64, f64::from(i))).collect());
    everywhere(&f, &[x, scalar(3i64)]);
}
