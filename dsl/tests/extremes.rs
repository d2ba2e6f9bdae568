//! Several extremes of rows, columns and planes in one function, through every reader, everywhere.

mod common;

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::driver::{self, Targets};
use arraygpu_dsl::prelude::*;
use common::{everywhere, lower};

/// Whole numbers, some of them equal.
fn numbers(extents: &[i64]) -> Value {
    let n: i64 = extents.iter().product();
    Value::Array(extents.to_vec(), (0..n).map(|i| ((i * 37 % 11) as f32 - 5.0).lit()).collect())
}

/// The code of one variant of a kernel has a limit, and not that of all its variants: results that are fine alone are
/// fine together.
#[test]
fn several_extremes_in_one_function() {
    let names = ["least", "greatest", "a", "b"];
    let of_rows = lower(["x"], names, |x: MExp<f32>| {
        let (a, b) = x.minmax_rows();
        (x.argmin_rows(), x.argmax_rows(), a, b)
    });
    let of_columns = lower(["x"], names, |x: MExp<f32>| {
        let (a, b) = x.minmax_cols();
        (x.argmin_cols(), x.argmax_cols(), a, b)
    });
    for extents in [[3, 5], [2, 40]] {
        everywhere(&of_rows, &[numbers(&extents)]);
        everywhere(&of_columns, &[numbers(&extents)]);
    }
    let two = ["least", "greatest"];
    let rows = lower(["x"], two, |x: TExp<f32>| (x.argmin_rows(), x.argmax_rows()));
    let columns = lower(["x"], two, |x: TExp<f32>| (x.argmin_cols(), x.argmax_cols()));
    let planes = lower(["x"], two, |x: TExp<f32>| (x.argmin_planes(), x.argmax_planes()));
    for f in [rows, columns, planes] {
        everywhere(&f, &[numbers(&[2, 3, 6])]);
    }
}

#[test]
fn several_extremes_are_read() {
    let stored = lower(["x"], ["r", "s"], |x: MExp<f32>| {
        let (least, greatest) = (x.argmin_rows().materialize(), x.argmax_rows().materialize());
        let (a, b) = x.minmax_rows();
        (greatest - least, (a.materialize() + b).sum())
    });
    everywhere(&stored, &[numbers(&[4, 7])]);
    let in_elements = lower(["x"], "r", |x: MExp<f32>| {
        let (least, greatest) = (x.argmin_rows(), x.argmax_rows());
        generate2(x.rows(), x.cols(), |i, j| cond(j.eq(least.at(i)) | j.eq(greatest.at(i)), 0.0, x.at(i, j)))
    });
    everywhere(&in_elements, &[numbers(&[4, 7])]);
    let in_iterations = lower(["x"], "r", |x: MExp<f32>| {
        x.iterate(2, |x| {
            let (least, greatest) = (x.argmin_rows(), x.argmax_rows());
            let (a, b) = x.minmax_rows();
            generate2(x.rows(), x.cols(), |i, j| {
                cond(j.eq(least.at(i)), b.at(i), cond(j.eq(greatest.at(i)), a.at(i), x.at(i, j)))
            })
        })
    });
    everywhere(&in_iterations, &[numbers(&[4, 7])]);
}

#[test]
fn many_extremes_compile_for_both_targets() {
    let f = lower(["x", "y"], ["a", "b", "c", "d", "e", "f", "g", "h"], |x: TExp<f64>, y: TExp<f64>| {
        let (least, greatest) = x.minmax_rows();
        (
            x.argmin_rows(),
            x.argmax_rows(),
            y.argmin_rows(),
            y.argmax_rows(),
            least,
            greatest,
            x.argmin_planes(),
            y.argmax_cols(),
        )
    });
    driver::compile_for("t", vec![f], Targets { cpu: true, cuda: true }).expect("it compiles");
}
