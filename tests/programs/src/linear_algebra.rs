//! Dense linear algebra.

use crate::array::{Array, m, s, v};
use crate::program::Corpus;
use arraygpu::prelude::*;

fn product(a: &Array, b: &Array) -> Array {
    Array::matrix(a.rows(), b.cols(), |i, j| (0..a.cols()).map(|k| a[[i, k]] * b[[k, j]]).sum())
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Adds the programs.
pub fn add(c: &mut Corpus) {
    c.add(
        "axpy",
        ["a", "x", "y"],
        "r",
        [s(1.5), v(9), v(9)],
        |a: SExp<f32>, x: VExp<f32>, y: VExp<f32>| a * x + y,
        |[a, x, y]| Array::vector(x.len(), |i| a.value() * x[i] + y[i]),
    );
    c.add(
        "matrix_vector",
        ["a", "x"],
        "y",
        [m(7, 9), v(9)],
        |a: MExp<f32>, x: VExp<f32>| a.map_rows(|r| r.dot(x)),
        |[a, x]| Array::vector(a.rows(), |i| dot(a.row(i), &x.elements)),
    );
    c.add(
        "gemm",
        ["alpha", "a", "b", "beta", "c"],
        "r",
        [s(0.5), m(7, 9), m(9, 6), s(2.0), m(7, 6)],
        |alpha: SExp<f32>, a: MExp<f32>, b: MExp<f32>, beta: SExp<f32>, c: MExp<f32>| {
            alpha * a.matmul(b) + beta * c
        },
        |[alpha, a, b, beta, c]| {
            let p = product(a, b);
            Array::matrix(c.rows(), c.cols(), |i, j| alpha.value() * p[[i, j]] + beta.value() * c[[i, j]])
        },
    );
    c.add(
        "normalised_rows",
        ["m"],
        "r",
        [m(7, 9)],
        |m: MExp<f32>| {
            let length = m.map_rows(|r| r.dot(r)).sqrt();
            m / length.broadcast_cols(m.cols())
        },
        |[m]| Array::matrix(m.rows(), m.cols(), |i, j| m[[i, j]] / dot(m.row(i), m.row(i)).sqrt()),
    )
    .fewest(2);
    c.add(
        "power_iteration",
        ["a", "x"],
        "r",
        [m(7, 7), v(7)],
        |a: MExp<f32>, x: VExp<f32>| {
            x.iterate(3, |x| {
                let y = a.map_rows(|r| r.dot(x));
                y / y.dot(y).sqrt()
            })
        },
        |[a, x]| {
            let mut x = x.elements.clone();
            for _ in 0..3 {
                let y: Vec<f64> = (0..a.rows()).map(|i| dot(a.row(i), &x)).collect();
                let length = dot(&y, &y).sqrt();
                x = y.iter().map(|y| y / length).collect();
            }
            x
        },
    )
    .fewest(6)
    .because("the product of the step is computed by the launch of its length and again by the one of the quotients");
}
