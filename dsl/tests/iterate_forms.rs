//! Iterations that a condition ends, iterations whose states are collected, and states of several kinds.

mod common;

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_dsl::prelude::*;
use common::{everywhere, lower, matrix, recorded, refused, scalar, vector};

fn numbers(rows: i64, cols: i64) -> Value {
    let value = |k: i64| Lit::float(Ty::F32, (k * 37 % 113) as f64 / 4.0);
    Value::Array(vec![rows, cols], (0..rows * cols).map(value).collect())
}

#[test]
fn ends_where_the_condition_does() {
    for every in [1u32, 2, 3, 7] {
        let f = lower(["x", "limit"], ["r", "steps"], move |x: VExp<i64>, limit: SExp<i64>| {
            iterate_while(limit, x, |x| x.max().lt(100), |x| x * 2).check_every(every)
        });
        for first in [200i64, 60, 30, 10, 1] {
            let needed: i64 = (0..).find(|k| first << k >= 100).expect("it grows");
            let steps = (needed + i64::from(every) - 1) / i64::from(every) * i64::from(every);
            let found = everywhere(&f, &[vector(&[first, 1, 0]), scalar(30i64)]);
            assert_eq!(found, [vector(&[first << steps, 1 << steps, 0]), scalar(steps)], "{first}, {every}");
            // the states behind the last step are checked, too
            let found = everywhere(&f, &[vector(&[first, 1, 0]), scalar(needed)]);
            assert_eq!(found, [vector(&[first << needed, 1 << needed, 0]), scalar(needed)]);
            if needed > 0 {
                let record = recorded(&f, &[vector(&[first, 1, 0]), scalar(needed - 1)]);
                assert!(record.starts_with("element 0:"), "{record}");
                assert!(record.contains("iterate_forms.rs"), "{record}");
            }
        }
    }
}

#[test]
fn power_method() {
    // several states, values from outside, and a condition of a norm
    let f =
        lower(["m", "v", "eps"], ["v_new", "last", "steps"], |m: MExp<f64>, v: VExp<f64>, eps: SExp<f64>| {
            let scale = m.max();
            let go_on = |(v, last): &(VExp<f64>, VExp<f64>)| (*v - *last).abs().max().gt(eps);
            let step = |(v, _): (VExp<f64>, VExp<f64>)| {
                let w = m.map_rows(|r| (r * (1.0 / scale)).dot(v));
                (w / w.norm(), v)
            };
            let ((v, last), steps) = iterate_while(200, (v, v * 0.0), go_on, step).check_every(4);
            (v, last, steps)
        });
    let m = matrix(&[[2.0f64, 1.0], [1.0, 3.0]]);
    let found = everywhere(&f, &[m, vector(&[1.0f64, 0.5]), scalar(1e-6f64)]);
    let Value::Scalar(steps) = &found[2] else { panic!("a number") };
    assert!(steps.as_i64() > 4 && steps.as_i64() % 4 == 0, "{steps}");
}

#[test]
fn stencils_until_they_settle() {
    let f = lower(["a", "eps"], ["r", "steps"], |a: MExp<f32>, eps: SExp<f32>| {
        let step = |a: MExp<f32>| {
            let w = a.windows2(3, 3);
            a.with_block(1, 1, 0.25f32 * ((w[1][0] + w[1][2]) + (w[0][1] + w[2][1])))
        };
        let changes = |a: &MExp<f32>| (step(*a) - *a).abs().max().gt(eps);
        iterate_while(50, a, changes, step).check_every(3)
    });
    everywhere(&f, &[numbers(5, 7), scalar(2f32)]);
    everywhere(&f, &[numbers(3, 3), scalar(1000f32)]);
}

#[test]
fn only_the_number_or_only_the_states() {
    let f = lower(["x"], ["steps"], |x: VExp<f32>| {
        iterate_while(100, x, |x| x.max().ge(1.0), |x| x * 0.5).check_every(1).1
    });
    assert_eq!(everywhere(&f, &[vector(&[5f32, 2.0])]), [scalar(3i64)]);
    let f = lower(["x"], ["r"], |x: VExp<f32>| {
        iterate_while(100, x, |x| x.max().ge(1.0), |x| x * 0.5).check_every(2).0.sum()
    });
    assert_eq!(everywhere(&f, &[vector(&[5f32, 2.0])]), [scalar(0.4375f32)]);
}

#[test]
fn scalars_in_steps_of_steps() {
    let f = lower(["x", "k"], ["r", "s"], |x: VExp<i64>, k: SExp<i64>| {
        let (x, s) = iterate(k, (x, lit(3i64)), |(x, s)| {
            let (y, n) = iterate_while(20, x, |y| y.max().lt(50), |y| y + s).check_every(2);
            (y - 40, s + n)
        });
        (x, s)
    });
    for k in 0..4i64 {
        everywhere(&f, &[vector(&[1i64, 2, 3]), scalar(k)]);
    }
}

#[test]
fn collected() {
    let f = lower(["x", "k"], ["rows"], |x: VExp<i64>, k: SExp<i64>| iterate_collect(k, x, |x| x * 2 + 1));
    assert_eq!(everywhere(&f, &[vector(&[0i64, 1]), scalar(0i64)]), [Value::Array(vec![0, 2], vec![])]);
    let expected = matrix(&[[1i64, 3], [3, 7], [7, 15]]);
    assert_eq!(everywhere(&f, &[vector(&[0i64, 1]), scalar(3i64)]), [expected]);
    everywhere(&f, &[Value::Vector(vec![]), scalar(3i64)]);
    // rows that begin anywhere
    let long = vector(&(0..133i64).collect::<Vec<_>>());
    everywhere(&f, &[long, scalar(19i64)]);
}

#[test]
fn collected_states_of_every_rank() {
    let f =
        lower(["m", "x", "k"], ["planes", "rows", "values"], |m: MExp<f32>, x: VExp<f32>, k: SExp<i64>| {
            iterate_collect_indexed(k, (m, x, x.sum()), |t, (m, x, s)| {
                (m.transpose().transpose() * 0.5f32, x + t.cast::<f32>() + s, x.sum())
            })
        });
    for k in 0..4i64 {
        everywhere(&f, &[numbers(3, 5), vector(&[1f32, 2., 0.5]), scalar(k)]);
    }
    // what is collected is read by others
    let f = lower(["x", "k"], ["s", "last"], |x: VExp<f32>, k: SExp<i64>| {
        let rows = iterate_collect(k, x, |x| x * 0.5f32);
        (rows.sum_rows(), rows.row(rows.rows() - 1) + 1)
    });
    everywhere(&f, &[vector(&[1f32, 2., 0.5]), scalar(3i64)]);
}

#[test]
fn arrays_and_lists_of_states() {
    let f = lower(["x", "y", "k"], ["a", "b", "c", "d"], |x: VExp<f32>, y: VExp<f32>, k: SExp<i64>| {
        let [a, b] = iterate(k, [x, y], |[a, b]| [b, a + b]);
        let list = iterate(k, vec![x, y, x], |all| {
            let sum: VExp<f32> = all.iter().copied().sum();
            all.iter().map(|x| *x - sum * 0.25f32).collect()
        });
        (a, b, list[0], list[2])
    });
    for k in 0..4i64 {
        everywhere(&f, &[vector(&[1f32, 2.]), vector(&[5f32, 6.]), scalar(k)]);
    }
    let e = refused(["x"], |x: VExp<f32>| iterate(2, vec![x, x], |all| all[..1].to_vec())[0]);
    assert!(e.to_string().contains("gives another number of states, 1, than there are: 2"), "{e}");
}

#[test]
fn sixteen_states_and_results() {
    let names: [String; 16] = std::array::from_fn(|i| format!("r{i}"));
    let f = lower(["x", "k"], names, |x: VExp<i64>, k: SExp<i64>| {
        let s = |i: i64| x + i;
        let all = (
            s(0),
            s(1),
            s(2),
            s(3),
            s(4),
            s(5),
            s(6),
            s(7),
            s(8),
            s(9),
            s(10),
            s(11),
            s(12),
            s(13),
            s(14),
            s(15),
        );
        iterate(k, all, |(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)| {
            (b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, a + p)
        })
    });
    for k in 0..3i64 {
        everywhere(&f, &[vector(&[1i64, 2]), scalar(k)]);
    }
}

#[test]
fn arrays_and_lists_of_parameters_and_results() {
    let f = lower(["x", "w[3]"], ["a", "b", "c"], |x: [VExp<f32>; 2], w: Vec<SExp<f32>>| -> Vec<VExp<f32>> {
        w.iter().map(|w| x[0] * *w + x[1]).collect()
    });
    let names: Vec<&str> = f.params.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["x0", "x1", "w0", "w1", "w2"]);
    let args = [vector(&[1f32, 2.]), vector(&[5f32, 6.]), scalar(2f32), scalar(3f32), scalar(4f32)];
    let found = everywhere(&f, &args);
    assert_eq!(found, [vector(&[7f32, 10.]), vector(&[8f32, 12.]), vector(&[9f32, 14.])]);
    let f = lower(["x"], ["a", "b", "s"], |x: VExp<f32>| ([x + 1, x * 2], x.sum()));
    everywhere(&f, &[vector(&[1f32, 2.])]);
}

#[test]
fn twelve_arrays_at_once() {
    let f = lower(["x"], "r", |x: VExp<f32>| {
        let y = |i: u8| x + f32::from(i);
        x.zip12(
            y(1),
            y(2),
            y(3),
            y(4),
            y(5),
            y(6),
            y(7),
            y(8),
            y(9),
            y(10),
            y(11),
            |a, b, c, d, e, f, g, h, i, j, k, l| a + b + c + d + e + f + g + h + i + j + k + l,
        )
    });
    assert_eq!(everywhere(&f, &[vector(&[1f32, 2.])]), [vector(&[78f32, 90.])]);
}
