//! A division by zero in a length, a margin or another bound is 0 and leaves no record (semantics 4.2), wherever the
//! length is used: also in the elements of what has it.

mod common;

use arraygpu_dsl::prelude::*;
use common::{everywhere, lower, scalar, vector};

#[test]
fn lengths_in_elements() {
    let f = lower(["k"], ["r"], |k: SExp<i64>| {
        let v = iota(10 / k + 3);
        let n = v.len();
        v.map(move |i| i + n)
    });
    assert_eq!(everywhere(&f, &[scalar(0i64)]), [vector(&[3i64, 4, 5])]);
    assert_eq!(everywhere(&f, &[scalar(-5i64)]), [vector(&[1i64])]);
    let f = lower(["k"], ["r"], |k: SExp<i64>| iota(10 / k + 3).cast::<f64>().mean());
    assert_eq!(everywhere(&f, &[scalar(0i64)]), [scalar(1f64)]);
    // outside of bounds a division still leaves its record
    let f = lower(["k"], ["r"], |k: SExp<i64>| iota(3).map(move |i| i + 10 / k));
    assert!(common::recorded(&f, &[scalar(0i64)]).starts_with("element 0"));
}

#[test]
fn margins_and_parts() {
    let f = lower(["k"], ["r"], |k: SExp<i64>| iota(10 / k + 3).padded(1, 1, Boundary::Clamp));
    assert_eq!(everywhere(&f, &[scalar(0i64)]), [vector(&[0i64, 0, 1, 2, 2])]);
    let f = lower(["x", "k"], ["r"], |x: VExp<f32>, k: SExp<i64>| x.padded(x.len() / k, 0, Boundary::Clamp));
    let x = vector(&[1f32, 2.]);
    assert_eq!(everywhere(&f, &[x.clone(), scalar(0i64)]), std::slice::from_ref(&x));
    assert_eq!(everywhere(&f, &[x.clone(), scalar(2i64)]), [vector(&[1f32, 1., 2.])]);
    let f = lower(["x", "p", "k"], ["r"], |x: VExp<f32>, p: VExp<f32>, k: SExp<i64>| {
        x.with_slice(x.len() / k, p)
    });
    assert_eq!(everywhere(&f, &[x.clone(), vector(&[5f32]), scalar(0i64)]), [vector(&[5f32, 2.])]);
    assert_eq!(everywhere(&f, &[x, vector(&[5f32]), scalar(2i64)]), [vector(&[1f32, 5.])]);
}

#[test]
fn destinations() {
    let i = vector(&[0i64, 1, 1]);
    let f = lower(["i", "k"], ["r"], |i: VExp<i64>, k: SExp<i64>| i.histogram(i.len() / k + 3));
    assert_eq!(everywhere(&f, &[i.clone(), scalar(0i64)]), [vector(&[1i64, 2, 0])]);
    let f = lower(["i", "k"], ["r"], |i: VExp<i64>, k: SExp<i64>| i.ignored().histogram(i.len() / k + 3));
    assert_eq!(everywhere(&f, &[i.clone(), scalar(0i64)]), [vector(&[1i64, 2, 0])]);
    let f = lower(["i", "k"], ["r"], |i: VExp<i64>, k: SExp<i64>| i.clamped().histogram(i.len() / k + 1));
    assert_eq!(everywhere(&f, &[i, scalar(0i64)]), [vector(&[3i64])]);
}
