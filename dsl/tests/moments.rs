//! Variances, norms, softmax: values, special numbers, halves, and how often a row is read.

mod common;

use arraygpu_compiler::core::Function;
use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::driver::{self, Targets};
use arraygpu_compiler::plan::Step;
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_dsl::f16;
use arraygpu_dsl::prelude::*;
use common::{call, everywhere, lower, matrix, scalar, vector};

const INF: f32 = f32::INFINITY;
const NAN: f32 = f32::NAN;

fn numbers(rows: i64, cols: i64) -> Value {
    let value = |k: i64| Lit::float(Ty::F32, (k * 37 % 113) as f64 / 4.0);
    Value::Array(vec![rows, cols], (0..rows * cols).map(value).collect())
}

/// All numbers of a result.
fn floats(v: &Value) -> Vec<f32> {
    match v {
        Value::Scalar(l) => vec![l.as_f32()],
        Value::Vector(all) | Value::Array(_, all) => all.iter().map(|l| l.as_f32()).collect(),
    }
}

/// Whether numbers are equal, NaN to NaN.
fn same(found: &Value, wanted: &[f32]) {
    let found = floats(found);
    let is_same = |(a, b): (&f32, &f32)| a == b || a.is_nan() && b.is_nan();
    let fine = found.len() == wanted.len() && found.iter().zip(wanted).all(is_same);
    assert!(fine, "{found:?} and not {wanted:?}");
}

/// How many launches run, for rows or columns that are kept and for others.
fn launches(f: Function) -> [usize; 2] {
    let compiled =
        driver::compile_for("t", vec![f], Targets { cpu: false, cuda: true }).expect("it compiles");
    let steps = &compiled.functions[0].plan.steps;
    let count = |steps: &[Step]| steps.iter().filter(|s| matches!(s, Step::Launch(_))).count();
    let instead = steps.iter().any(|s| matches!(s, Step::Instead(_)));
    [if instead { 1 } else { count(steps) }, count(steps) - usize::from(instead)]
}

/// Layer normalisation.
fn normal_rows(a: MExp<f32>) -> MExp<f32> {
    let mean = a.sum_rows() / a.cols().cast::<f32>();
    (a - mean.broadcast_cols(a.cols())) / a.std_rows(0).broadcast_cols(a.cols())
}

/// Columns without their mean, divided by their standard deviation.
fn normal_columns(a: MExp<f32>) -> MExp<f32> {
    let mean = a.sum_cols() / a.rows().cast::<f32>();
    (a - mean.broadcast_rows(a.rows())) / a.std_cols(0).broadcast_rows(a.rows())
}

#[test]
fn columns_are_read_once() {
    assert_eq!(launches(lower(["a"], "r", |a: MExp<f32>| a.softmax_cols())), [1, 3]);
    assert_eq!(launches(lower(["a"], "r", |a: MExp<f32>| a.log_sum_exp_cols())), [1, 2]);
    assert_eq!(launches(lower(["a"], "r", |a: MExp<f32>| a.normalise_cols())), [1, 2]);
    assert_eq!(launches(lower(["a"], "r", normal_columns)), [1, 2]);
}

#[test]
fn rows_are_read_once() {
    assert_eq!(launches(lower(["a"], "r", |a: MExp<f32>| a.softmax_rows())), [1, 3]);
    assert_eq!(launches(lower(["a"], "r", |a: MExp<f32>| a.log_sum_exp_rows())), [1, 2]);
    assert_eq!(launches(lower(["a"], "r", |a: MExp<f32>| a.normalise_rows())), [1, 2]);
    assert_eq!(launches(lower(["a"], "r", normal_rows)), [1, 2]);
    assert_eq!(launches(lower(["a"], "r", |a: MExp<f32>| a.variance_rows(0))), [1, 1]);
    assert_eq!(launches(lower(["a"], "r", |a: MExp<f32>| a.std_cols(0))), [1, 1]);
    let both = |x: VExp<f32>| (x.variance(1), x.sum(), x.std(0), x.norm());
    assert_eq!(launches(lower(["x"], ["v", "s", "d", "n"], both)), [1, 1]);
}

#[test]
fn everywhere_the_same() {
    let rows = lower(["a"], ["s", "n", "l", "v", "u"], |a: MExp<f32>| {
        let reduced = (a.log_sum_exp_rows(), a.variance_rows(1));
        (a.softmax_rows(), normal_rows(a), reduced.0, reduced.1, a.normalise_rows())
    });
    let columns = lower(["a"], ["s", "l", "d", "u"], |a: MExp<f32>| {
        (a.softmax_cols(), a.log_sum_exp_cols(), a.std_cols(0), a.normalise_cols())
    });
    for (n, k) in [(0, 3), (3, 0), (1, 1), (5, 3), (2, 140), (70, 2)] {
        everywhere(&rows, &[numbers(n, k)]);
        everywhere(&columns, &[numbers(n, k)]);
    }
}

/// A large mean costs no digits: the sums of squares would leave none.
#[test]
fn a_large_mean() {
    let f = lower(["x"], "r", |x: VExp<f32>| x.variance(0));
    let offset = |i: usize| 1e6 + (i % 4) as f32;
    let x: Vec<f32> = (0..5000).map(offset).collect();
    let found = floats(&call(&f, &[vector(&x)])[0])[0];
    assert!((found - 1.25).abs() < 1e-5, "{found}");
}

#[test]
fn degrees_of_freedom() {
    let f = lower(["x", "d"], ["v", "s"], |x: VExp<f32>, d: SExp<i64>| (x.variance(d), x.std(d)));
    let of = |x: &[f32], ddof: i64, wanted: f32| {
        let found = call(&f, &[vector(x), scalar(ddof)]);
        same(&found[0], &[wanted]);
        same(&found[1], &[wanted.sqrt()]);
    };
    of(&[1.0, 2.0, 3.0, 4.0], 0, 1.25);
    of(&[1.0, 2.0, 4.0, 5.0], 1, 10.0 / 3.0);
    of(&[], 0, NAN);
    of(&[7.0], 0, 0.0);
    of(&[7.0], 1, NAN);
    of(&[1.0, 2.0], 2, INF);
    of(&[1.0, 2.0], 3, INF);
    of(&[1.0, INF], 0, NAN);
    of(&[-INF], 0, NAN);
    of(&[NAN, 1.0], 0, NAN);
}

#[test]
fn infinite_exponents() {
    let words = ["l", "s"];
    let f = lower(["x"], words, |x: VExp<f32>| (x.log_sum_exp(), x.softmax()));
    let g = lower(["x"], words, |x: MExp<f32>| (x.log_sum_exp_rows(), x.softmax_rows()));
    let of = |x: &[f32], log: f32, softmax: &[f32]| {
        let found = call(&f, &[vector(x)]);
        same(&found[0], &[log]);
        same(&found[1], softmax);
        let row = Value::Array(vec![1, x.len() as i64], x.iter().map(|x| Lit::f32(*x)).collect());
        let found = call(&g, &[row]);
        same(&found[0], &[log]);
        same(&found[1], softmax);
    };
    of(&[], -INF, &[]);
    of(&[-INF], -INF, &[NAN]);
    of(&[-INF, -INF], -INF, &[NAN, NAN]);
    of(&[-INF, 3.0], 3.0, &[0.0, 1.0]);
    of(&[INF, 3.0], INF, &[NAN, 0.0]);
    of(&[NAN, 3.0], NAN, &[NAN, NAN]);
    of(&[1000.0, 0.0], 1000.0, &[1.0, 0.0]);
    of(&[-1000.0], -1000.0, &[1.0]);
}

/// Halves are rounded once: the squares of 300 are beyond f16.
#[test]
fn halves() {
    let f = lower(["x"], ["n", "v", "u"], |x: VExp<f16>| (x.norm(), x.variance(0), x.normalise()));
    let half = |x: f32| f16::from_f32(x);
    let found = call(&f, &[vector(&[half(300.0), half(400.0)])]);
    let wanted = [scalar(half(500.0)), scalar(half(2500.0)), vector(&[half(0.6), half(0.8)])];
    assert_eq!(found, wanted);
}

#[test]
fn norms_of_matrices() {
    let f = lower(["a"], ["n", "u", "r"], |a: MExp<f32>| (a.norm(), a.normalise(), a.norm_rows()));
    let found = call(&f, &[matrix(&[[3.0f32, 0.0], [0.0, 4.0]])]);
    assert_eq!(found[0], scalar(5.0f32));
    assert_eq!(found[1], matrix(&[[0.6f32, 0.0], [0.0, 0.8]]));
    assert_eq!(found[2], vector(&[3.0f32, 4.0]));
    let zeros = call(&f, &[matrix(&[[0.0f32]])]);
    same(&zeros[1], &[NAN]);
}
