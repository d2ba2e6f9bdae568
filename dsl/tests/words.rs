//! Choices, slices as ranges, and margins that are parameters.

mod common;

use arraygpu_dsl::prelude::*;
use arraygpu_dsl::{Matrix, eval};
use common::{call, everywhere, lower, matrix, recorded, refused, scalar, vector};

#[test]
fn choices_of_scalars_and_tuples() {
    let sorted = |a: SExp<f32>, b: SExp<f32>| if_else(a.le(b), || (a, b), || (b, a));
    assert_eq!(eval(sorted, (3.0, 2.0)).expect("it runs"), (2.0, 3.0));
    // nested, of several types, with constants
    let nested = |x: VExp<f32>| {
        x.map(|a| {
            let (sign, (half, above)) =
                if_else(a.lt(0.0), || (-1, (a, lit(false))), || (1, (a / 2, a.gt(5.0))));
            let sign: SExp<i64> = sign;
            cond(above, half, a) * sign.cast::<f32>()
        })
    };
    assert_eq!(eval(nested, ([-3.0, 4.0, 8.0],)).expect("it runs"), [3.0, 4.0, 4.0]);
    let f = lower(["x"], "r", nested);
    everywhere(&f, &[vector(&[-3.0f32, 4.0, 8.0])]);
}

#[test]
fn only_the_taken_arm_leaves_a_record() {
    let divided = |a: SExp<i64>, b: SExp<i64>| (a / b, a % b);
    let line = line!() - 1;
    let f = move |x: VExp<i64>, y: VExp<i64>, k: SExp<i64>| {
        x.zip_with(y, |a, b| if_else(b.eq(k), || (a, lit(0)), || divided(a, b)))
    };
    let f = lower(["x", "y", "k"], ["q", "r"], f);
    let found = everywhere(&f, &[vector(&[7i64, 5]), vector(&[0i64, 2]), scalar(0i64)]);
    assert_eq!(found, [vector(&[7i64, 2]), vector(&[0i64, 1])]);
    let record = recorded(&f, &[vector(&[7i64, 5]), vector(&[0i64, 1]), scalar(1i64)]);
    assert!(record.contains("element 0") && record.contains(&format!("words.rs:{line}:")), "{record}");
}

#[test]
fn ranges_of_vectors() {
    let x: Vec<f32> = (0..7u8).map(f32::from).collect();
    let of = |f: fn(VExp<f32>, SExp<i64>) -> VExp<f32>| eval(f, (&x, 3)).expect("it runs");
    assert_eq!(of(|x, _| x.sliced(s![..])), x);
    assert_eq!(of(|x, n| x.sliced(s![1..n])), [1.0, 2.0]);
    assert_eq!(of(|x, n| x.sliced(s![n..])), x[3..]);
    assert_eq!(of(|x, n| x.sliced(s![n..=n + 1])), [3.0, 4.0]);
    assert_eq!(of(|x, _| x.sliced(s![-3..])), x[4..]);
    assert_eq!(of(|x, _| x.sliced(s![-3..=-2])), [4.0, 5.0]);
    assert_eq!(of(|x, _| x.sliced(s![..-5])), [0.0, 1.0]);
    assert_eq!(of(|x, n| x.sliced(s![..; n])), [0.0, 3.0, 6.0]);
    assert_eq!(of(|x, _| x.sliced(s![1..-1; 2])), [1.0, 3.0, 5.0]);
    assert_eq!(of(|x, _| x.sliced(s![..; -1])), [6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0]);
    assert_eq!(of(|x, _| x.sliced(s![1..6; -2])), [5.0, 3.0, 1.0]);
    assert_eq!(of(|x, n| x.sliced(s![x.len() - n..x.len()])), x[4..]);
    assert_eq!(eval(|x: VExp<f32>| x.sliced(s![-1]), (&x,)).expect("it runs"), 6.0);
    let bounds = |x: VExp<f32>, n: SExp<i64>| x.sliced(s![stage(n)..]);
    everywhere(&lower(["x", "n"], "r", bounds), &[vector(&x), scalar(2i64)]);
}

#[test]
fn ranges_of_matrices_and_volumes() {
    let m = Matrix::from_fn([3, 4], |[i, j]| (10 * i + j) as f32);
    let at = |f: fn(MExp<f32>, SExp<i64>) -> MExp<f32>| eval(f, (&m, 2)).expect("it runs");
    assert_eq!(at(|m, n| m.sliced(s![1..n, ..])), [[10.0, 11.0, 12.0, 13.0]]);
    assert_eq!(at(|m, _| m.sliced(s![..; 2, -2..])), [[2.0, 3.0], [22.0, 23.0]]);
    assert_eq!(at(|m, _| m.sliced(s![.., ..; -1])).elements()[..4], [3.0, 2.0, 1.0, 0.0]);
    let row = |m: MExp<f32>, i: SExp<i64>| (m.sliced(s![i, 1..3]), m.sliced(s![.., -1]), m.sliced(s![i, 0]));
    let found = eval(row, (&m, 1)).expect("it runs");
    assert_eq!(found, (vec![11.0, 12.0], vec![3.0, 13.0, 23.0], 10.0));
    let volume =
        |u: TExp<i32>| (u.sliced(s![0, .., 1..]), u.sliced(s![.., 1, 2]), u.sliced(s![.., .., ..; 2,]));
    let u = [[[1, 2, 3], [4, 5, 6]]];
    let found = eval(volume, (u,)).expect("it runs");
    assert!(found.0 == [[2, 3], [5, 6]] && found.1 == [6] && found.2 == [[[1, 3], [4, 6]]]);
    let f = lower(["m", "i"], ["a", "b", "c"], row);
    everywhere(&f, &[matrix(&[[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]), scalar(1i64)]);
}

#[test]
fn bounds_are_checked_before_the_call() {
    let error = |f: fn(VExp<f32>, SExp<i64>) -> VExp<f32>, n: i64| {
        eval(f, ([1.0, 2.0], n)).expect_err("it does not fit").to_string()
    };
    let past = error(|x, n| x.sliced(s![..n]), 3);
    assert!(
        past.contains("sliced of argument1: argument2: the slice stops at 3, past the length 2"),
        "{past}"
    );
    assert!(past.contains("words.rs:"), "{past}");
    // a variable is never taken from the end
    assert!(error(|x, n| x.sliced(s![n..]), -1).contains("the slice starts at -1, below 0"));
    assert!(error(|x, _| x.sliced(s![-3..]), 0).contains("the slice starts at -1, below 0"));
    assert!(error(|x, n| x.sliced(s![..; n]), 0).contains("the stride is 0"));
}

#[test]
fn margins_that_are_parameters() {
    let f = |x: VExp<f32>, r: SExp<i64>| {
        let padded = x.padded(r, r, Boundary::Mirror);
        generate(x.len(), |i| generate(2 * r + 1, |k| padded.at(i + k)).sum())
    };
    let x = [1.0f32, 2.0, 4.0, 8.0];
    assert_eq!(eval(f, (x, 1)).expect("it runs"), [4.0, 7.0, 14.0, 20.0]);
    assert_eq!(eval(f, (x, 0)).expect("it runs"), x);
    let wide = eval(f, (x, 5)).expect_err("too wide").to_string();
    assert!(wide.contains("padded of argument1: argument2: the margin needs 5 or more elements"), "{wide}");
    assert!(eval(f, (x, -1)).expect_err("negative").to_string().contains("the margin -1 is negative"));
    let compiled = lower(["x", "r"], "y", f);
    for r in [0i64, 1, 3] {
        everywhere(&compiled, &[vector(&x), scalar(r)]);
    }
    // staged, and of one side
    let staged =
        |m: MExp<f32>, r: SExp<i64>| m.padded((0, stage(r)), [r, r], Boundary::Constant(0.0)).sum_cols();
    let args = [matrix(&[[1.0f32, 2.0], [3.0, 4.0]]), scalar(2i64)];
    let found = call(&lower(["m", "r"], "y", staged), &args);
    assert_eq!(found, [vector(&[0.0f32, 0.0, 4.0, 6.0, 0.0, 0.0])]);
    everywhere(&lower(["m", "r"], "y", staged), &args);
    for boundary in [Boundary::Clamp, Boundary::Mirror, Boundary::Wrap, Boundary::Constant(7.0)] {
        let f = move |x: VExp<f32>, r: SExp<i64>| x.padded(r, 1, boundary) * 2;
        let g = move |x: VExp<f32>| x.padded(2, 1, boundary) * 2;
        assert_eq!(eval(f, (x, 2)).expect("it runs"), eval(g, (x,)).expect("it runs"));
    }
}

#[test]
fn a_window_that_is_not_there_is_named() {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    let said = |f: fn(MExp<f32>, TExp<f32>) -> MExp<f32>| {
        let call = AssertUnwindSafe(|| drop(eval(f, ([[1.0f32]], [[[1.0f32]]]))));
        *catch_unwind(call).expect_err("there is none").downcast::<String>().expect("a text")
    };
    let line = line!() + 1;
    let rows = said(|m, _| m.windows2(3, 2)[3][0]);
    let of = format!(
        "windows2(3, 2)[3] at dsl/tests/words.rs:{line}:44: the window has 3 rows, which are numbered from 0"
    );
    assert_eq!(rows, format!("arraygpu: {of}"));
    assert!(said(|m, _| m.windows2(3, 2)[2][2]).contains("windows2(3, 2)[2][2] at"));
    let columns = said(|_, t| t.windows3(1, 1, 2)[0][0][2].plane(0));
    assert!(
        columns.contains("windows3(1, 1, 2)[0][0][2] at") && columns.contains("has 2 columns"),
        "{columns}"
    );
    // what `Vec` can do
    let sum = |x: VExp<f32>| {
        x.windows(2).iter().copied().sum::<VExp<f32>>() + x.windows(2).into_iter().rev().sum::<VExp<f32>>()
    };
    assert_eq!(eval(sum, ([1.0, 2.0, 4.0],)).expect("it runs"), [6.0, 12.0]);
    let error = eval(sum, ([],)).expect_err("too short").to_string();
    assert!(error.contains("windows of argument1: the window is wider than the array by 2"), "{error}");
}

#[test]
fn what_only_the_device_knows_is_no_bound() {
    let error = refused(["x"], |x: VExp<i64>| x.sliced(s![x.at(0)..]));
    assert_eq!(error.code(), Some("E0209"), "{error}");
    let error = refused(["x"], |x: VExp<i64>| x.padded(x.at(0), 0, Boundary::Clamp));
    assert_eq!(error.code(), Some("E0209"), "{error}");
}

/// The number of the nearest point, and the square of its distance.
fn nearest(px: VExp<f32>, py: VExp<f32>, x: SExp<f32>, y: SExp<f32>) -> (SExp<i64>, SExp<f32>) {
    let d2 = px.zip_with(py, |a, b| (a - x) * (a - x) + (b - y) * (b - y));
    let (d, i) = (d2, iota(px.len())).reduce((f32::INFINITY, -1), |(d, i), (e, j)| {
        if_else(e.lt(d) | (e.eq(d) & j.lt(i)), || (e, j), || (d, i))
    });
    (i, d)
}

fn laplace(x: VExp<f32>) -> VExp<f32> {
    let w = x.padded(1, 1, Boundary::Clamp).windows(3);
    w[0] - 2.0 * w[1] + w[2]
}

fn laplace_guarded(x: VExp<f32>) -> VExp<f32> {
    let n = x.len();
    generate(n, |i| x.at((i - 1).max(0)) - 2.0 * x.at(i) + x.at((i + 1).min(n - 1)))
}

#[test]
fn examples_of_the_pages() {
    let found = eval(nearest, ([0.0, 3.0, 1.0, 1.0], [0.0, 3.0, 1.0, 1.0], 1.0, 2.0)).expect("it runs");
    assert_eq!(found, (2, 1.0));
    let x: Vec<f32> = (0..100).map(|i| (i * i % 37) as f32).collect();
    assert_eq!(eval(laplace, (&x,)).expect("it runs"), eval(laplace_guarded, (&x,)).expect("it runs"));
    let divided = |a: SExp<i64>, b: SExp<i64>| if_else(b.eq(0), || (0, a), || (a / b, a % b));
    assert_eq!(eval(divided, (7, 0)).expect("it runs"), (0, 7));
    let normalised = |m: MExp<f32>| {
        let length = m.map_rows(|r| r.dot(r)).sqrt().trace("length");
        m / length.broadcast_cols(m.cols())
    };
    assert_eq!(eval(normalised, ([[3.0, 4.0], [0.0, 2.0]],)).expect("it runs"), [[0.6, 0.8], [0.0, 1.0]]);
}
