//! Dense linear algebra: products, updates, norms.

use crate::array::{Array, m, s, t, v};
use crate::program::Corpus;
use crate::reason;
use arraygpu::prelude::*;

/// The matrix product.
pub fn product(a: &Array, b: &Array) -> Array {
    Array::matrix(a.rows(), b.cols(), |i, j| (0..a.cols()).map(|k| a[[i, k]] * b[[k, j]]).sum())
}

/// The inner product.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A matrix by a vector.
pub fn by_vector(a: &Array, x: &[f64]) -> Vec<f64> {
    (0..a.rows()).map(|i| dot(a.row(i), x)).collect()
}

/// The transpose.
pub fn transposed(a: &Array) -> Array {
    Array::matrix(a.cols(), a.rows(), |i, j| a[[j, i]])
}

/// Adds the programs.
pub fn add(c: &mut Corpus) {
    vectors(c);
    matrices(c);
    products(c);
}

fn vectors(c: &mut Corpus) {
    c.add(
        "axpy",
        ["a", "x", "y"],
        "r",
        [s(1.5), v(9), v(9)],
        |a: SExp<f32>, x: VExp<f32>, y: VExp<f32>| a * x + y,
        |[a, x, y]| Array::vector(x.len(), |i| a.value() * x[i] + y[i]),
    );
    c.add(
        "norms",
        ["x"],
        "one two max",
        [v(300)],
        |x: VExp<f32>| (x.abs().sum(), x.dot(x).sqrt(), x.abs().max()),
        |[x]| {
            let abs: Vec<f64> = x.elements.iter().map(|x| x.abs()).collect();
            (abs.iter().sum::<f64>(), dot(&abs, &abs).sqrt(), abs.iter().copied().fold(0.0, f64::max))
        },
    );
    c.add(
        "unit_vector",
        ["x"],
        "r",
        [v(9)],
        |x: VExp<f32>| x / x.dot(x).sqrt(),
        |[x]| x.map(|y| y / dot(&x.elements, &x.elements).sqrt()),
    )
    .fewest(2);
    c.add(
        "gram_schmidt_step",
        ["x", "y"],
        "r",
        [v(9), v(9)],
        |x: VExp<f32>, y: VExp<f32>| {
            let z = y - x * (x.dot(y) / x.dot(x));
            z / z.dot(z).sqrt()
        },
        |[x, y]| {
            let (x, y) = (&x.elements, &y.elements);
            let factor = dot(x, y) / dot(x, x);
            let z: Vec<f64> = x.iter().zip(y).map(|(x, y)| y - x * factor).collect();
            let length = dot(&z, &z).sqrt();
            z.iter().map(|z| z / length).collect::<Vec<f64>>()
        },
    )
    .because(reason::PASSES)
    .fewest(3);
    c.add(
        "givens_rotation",
        ["x", "y", "c", "s"],
        "p q",
        [v(9), v(9), s(0.6), s(0.8)],
        |x: VExp<f32>, y: VExp<f32>, c: SExp<f32>, s: SExp<f32>| (c * x + s * y, c * y - s * x),
        |[x, y, c, s]| {
            let (c, s) = (c.value(), s.value());
            (Array::vector(9, |i| c * x[i] + s * y[i]), Array::vector(9, |i| c * y[i] - s * x[i]))
        },
    );
    c.add(
        "cross_products",
        ["a", "b"],
        "r",
        [m(9, 3), m(9, 3)],
        |a: MExp<f32>, b: MExp<f32>| {
            generate2(a.rows(), 3, |i, j| {
                let (k, l) = ((j + 1) % 3, (j + 2) % 3);
                a.at(i, k) * b.at(i, l) - a.at(i, l) * b.at(i, k)
            })
        },
        |[a, b]| {
            Array::matrix(9, 3, |i, j| {
                let (k, l) = ((j + 1) % 3, (j + 2) % 3);
                a[[i, k]] * b[[i, l]] - a[[i, l]] * b[[i, k]]
            })
        },
    );
}

fn matrices(c: &mut Corpus) {
    c.add(
        "rank_one_update",
        ["a", "x", "y"],
        "r",
        [m(7, 9), v(7), v(9)],
        |a: MExp<f32>, x: VExp<f32>, y: VExp<f32>| a + x.outer(y, |x, y| x * y),
        |[a, x, y]| Array::matrix(7, 9, |i, j| a[[i, j]] + x[i] * y[j]),
    );
    c.add(
        "symmetric_part",
        ["a"],
        "r",
        [m(7, 7)],
        |a: MExp<f32>| (a + a.transpose()) * 0.5,
        |[a]| Array::matrix(7, 7, |i, j| (a[[i, j]] + a[[j, i]]) / 2.0),
    );
    c.add(
        "scaled_both_sides",
        ["d", "a", "e"],
        "r",
        [v(7), m(7, 9), v(9)],
        |d: VExp<f32>, a: MExp<f32>, e: VExp<f32>| {
            d.broadcast_cols(a.cols()) * a * e.broadcast_rows(a.rows())
        },
        |[d, a, e]| Array::matrix(7, 9, |i, j| d[i] * a[[i, j]] * e[j]),
    );
    c.add(
        "trace",
        ["a"],
        "r",
        [m(7, 7)],
        |a: MExp<f32>| generate(a.rows(), |i| a.at(i, i)).sum(),
        |[a]| (0..7).map(|i| a[[i, i]]).sum::<f64>(),
    );
    c.add(
        "frobenius_distance",
        ["a", "b"],
        "r",
        [m(7, 9), m(7, 9)],
        |a: MExp<f32>, b: MExp<f32>| (a - b).map(|d| d * d).sum().sqrt(),
        |[a, b]| (0..63).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt(),
    );
    c.add(
        "matrix_norms",
        ["a"],
        "one infinity",
        [m(7, 9)],
        |a: MExp<f32>| (a.abs().sum_cols().max(), a.abs().sum_rows().max()),
        |[a]| {
            let sum = |x: &[f64]| x.iter().map(|x| x.abs()).sum::<f64>();
            let cols = (0..9).map(|j| sum(&a.col(j))).fold(0.0, f64::max);
            (cols, (0..7).map(|i| sum(a.row(i))).fold(0.0, f64::max))
        },
    )
    .because(reason::BOTH)
    .because(reason::FLATTENED)
    .fewest(2);
    c.add(
        "normalised_rows",
        ["m"],
        "r",
        [m(7, 9)],
        |m: MExp<f32>| {
            let length = m.map_rows(|r| r.dot(r)).sqrt();
            m / length.broadcast_cols(m.cols())
        },
        |[m]| Array::matrix(7, 9, |i, j| m[[i, j]] / dot(m.row(i), m.row(i)).sqrt()),
    )
    .fewest(2);
    c.add(
        "normalised_rows_by_hand",
        ["m"],
        "r",
        [m(7, 9)],
        |m: MExp<f32>| {
            let norm = generate(m.rows(), |i| m.row(i).dot(m.row(i)).sqrt());
            generate2(m.rows(), m.cols(), |i, j| m.at(i, j) / norm.at(i))
        },
        |[m]| Array::matrix(7, 9, |i, j| m[[i, j]] / dot(m.row(i), m.row(i)).sqrt()),
    )
    .fewest(2);
    c.add(
        "normalised_columns_stored",
        ["m"],
        "r",
        [m(7, 9)],
        |m: MExp<f32>| (m / m.sum_cols().broadcast_rows(m.rows())).materialize() + 1.0,
        |[m]| {
            let sums: Vec<f64> = (0..9).map(|j| m.col(j).iter().sum()).collect();
            Array::matrix(7, 9, |i, j| m[[i, j]] / sums[j] + 1.0)
        },
    )
    .because(reason::AUTHOR)
    .fewest(2)
    .within(1e-3);
    c.add(
        "kronecker",
        ["a", "b"],
        "r",
        [m(3, 2), m(4, 3)],
        |a: MExp<f32>, b: MExp<f32>| {
            let (p, q) = (b.rows(), b.cols());
            generate2(a.rows() * p, a.cols() * q, |i, j| a.at(i / p, j / q) * b.at(i % p, j % q))
        },
        |[a, b]| Array::matrix(12, 6, |i, j| a[[i / 4, j / 3]] * b[[i % 4, j % 3]]),
    )
    .keep(0);
    c.add(
        "tridiagonal_vector",
        ["l", "d", "u", "x"],
        "r",
        [v(9), v(9), v(9), v(9)],
        |l: VExp<f32>, d: VExp<f32>, u: VExp<f32>, x: VExp<f32>| {
            let n = x.len();
            generate(n, |i| {
                let left = cond(i.gt(0), l.at(i) * x.at((i - 1).max(0)), 0.0);
                let right = cond(i.lt(n - 1), u.at(i) * x.at((i + 1).min(n - 1)), 0.0);
                left + d.at(i) * x.at(i) + right
            })
        },
        |[l, d, u, x]| {
            Array::vector(9, |i| {
                let left = if i > 0 { l[i] * x[i - 1] } else { 0.0 };
                let right = if i < 8 { u[i] * x[i + 1] } else { 0.0 };
                left + d[i] * x[i] + right
            })
        },
    );
    c.add(
        "lower_triangular_vector",
        ["a", "x"],
        "r",
        [m(9, 9), v(9)],
        |a: MExp<f32>, x: VExp<f32>| {
            let n = x.len();
            generate(n, |i| generate(n, |j| cond(j.le(i), a.at(i, j) * x.at(j), 0.0)).sum())
        },
        |[a, x]| Array::vector(9, |i| (0..=i).map(|j| a[[i, j]] * x[j]).sum()),
    );
    c.add(
        "householder_reflection",
        ["a", "v"],
        "r",
        [m(7, 9), v(7)],
        |a: MExp<f32>, v: VExp<f32>| {
            let w = a.map_cols(|c| c.dot(v)) * (2.0 / v.dot(v));
            a - v.outer(w, |v, w| v * w)
        },
        |[a, v]| {
            let square = dot(&v.elements, &v.elements);
            let w: Vec<f64> = (0..9).map(|j| 2.0 * dot(&a.col(j), &v.elements) / square).collect();
            Array::matrix(7, 9, |i, j| a[[i, j]] - v[i] * w[j])
        },
    )
    .because(reason::FACTOR)
    .fewest(2);
}

fn products(c: &mut Corpus) {
    c.add(
        "matrix_vector",
        ["a", "x"],
        "y",
        [m(7, 9), v(9)],
        |a: MExp<f32>, x: VExp<f32>| a.map_rows(|r| r.dot(x)),
        |[a, x]| by_vector(a, &x.elements),
    );
    c.add(
        "both_matrix_vectors",
        ["a", "x", "y"],
        "p q",
        [m(7, 9), v(9), v(7)],
        |a: MExp<f32>, x: VExp<f32>, y: VExp<f32>| (a.map_rows(|r| r.dot(x)), a.map_cols(|c| c.dot(y))),
        |[a, x, y]| (by_vector(a, &x.elements), by_vector(&transposed(a), &y.elements)),
    )
    .because(reason::BOTH);
    c.add(
        "normal_equations_vector",
        ["a", "x"],
        "r",
        [m(7, 9), v(9)],
        |a: MExp<f32>, x: VExp<f32>| {
            let y = a.map_rows(|r| r.dot(x));
            a.map_cols(|c| c.dot(y))
        },
        |[a, x]| by_vector(&transposed(a), &by_vector(a, &x.elements)),
    )
    .because(reason::PASSES)
    .fewest(2);
    c.add(
        "two_matrices_by_vector",
        ["alpha", "a", "beta", "b", "x"],
        "r",
        [s(0.5), m(7, 9), s(2.0), m(7, 9), v(9)],
        |alpha: SExp<f32>, a: MExp<f32>, beta: SExp<f32>, b: MExp<f32>, x: VExp<f32>| {
            alpha * a.map_rows(|r| r.dot(x)) + beta * b.map_rows(|r| r.dot(x))
        },
        |[alpha, a, beta, b, x]| {
            let (p, q) = (by_vector(a, &x.elements), by_vector(b, &x.elements));
            Array::vector(7, |i| alpha.value() * p[i] + beta.value() * q[i])
        },
    );
    c.add(
        "gemver",
        ["a", "u1", "v1", "u2", "v2", "y", "z"],
        "b x w",
        [m(7, 7), v(7), v(7), v(7), v(7), v(7), v(7)],
        |a: MExp<f32>,
         u1: VExp<f32>,
         v1: VExp<f32>,
         u2: VExp<f32>,
         v2: VExp<f32>,
         y: VExp<f32>,
         z: VExp<f32>| {
            let b = a + u1.outer(v1, |u, v| u * v) + u2.outer(v2, |u, v| u * v);
            let x = 0.5 * b.map_cols(|c| c.dot(y)) + z;
            (b, x, 0.25 * b.map_rows(|r| r.dot(x)))
        },
        |[a, u1, v1, u2, v2, y, z]| {
            let b = Array::matrix(7, 7, |i, j| a[[i, j]] + u1[i] * v1[j] + u2[i] * v2[j]);
            let x = by_vector(&transposed(&b), &y.elements);
            let x = Array::vector(7, |i| 0.5 * x[i] + z[i]);
            let w: Vec<f64> = by_vector(&b, &x.elements).iter().map(|w| 0.25 * w).collect();
            (b, x, w)
        },
    )
    .because(reason::BOTH)
    .fewest(3);
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
            Array::matrix(7, 6, |i, j| alpha.value() * p[[i, j]] + beta.value() * c[[i, j]])
        },
    );
    c.add(
        "gemm_by_hand",
        ["a", "b"],
        "r",
        [m(7, 9), m(9, 6)],
        |a: MExp<f32>, b: MExp<f32>| generate2(a.rows(), b.cols(), |i, j| a.row(i).dot(b.col(j))),
        |[a, b]| product(a, b),
    );
    c.add(
        "chain_of_three",
        ["a", "b", "c"],
        "r",
        [m(7, 9), m(9, 6), m(6, 8)],
        |a: MExp<f32>, b: MExp<f32>, c: MExp<f32>| a.matmul(b).matmul(c),
        |[a, b, c]| product(&product(a, b), c),
    )
    .fewest(2);
    c.add(
        "gram_matrix",
        ["a"],
        "r",
        [m(7, 9)],
        |a: MExp<f32>| a.transpose().matmul(a),
        |[a]| product(&transposed(a), a),
    );
    c.add(
        "product_of_exponentials",
        ["p", "v"],
        "r",
        [m(7, 9), m(9, 6)],
        |p: MExp<f32>, v: MExp<f32>| p.exp().matmul(v),
        |[p, v]| product(&p.map(f64::exp), v),
    )
    .because(reason::OPERAND)
    .fewest(2);
    c.add(
        "exponentials_of_product",
        ["p", "v"],
        "r",
        [m(7, 9), m(9, 6)],
        |p: MExp<f32>, v: MExp<f32>| p.matmul(v).exp(),
        |[p, v]| product(p, v).map(f64::exp),
    )
    .within(1e-3);
    c.add(
        "product_and_scalar",
        ["p", "v", "x"],
        "r",
        [m(7, 9), m(9, 6), v(8)],
        |p: MExp<f32>, v: MExp<f32>, x: VExp<f32>| p.matmul(v) * x.exp().sum(),
        |[p, v, x]| {
            let sum: f64 = x.elements.iter().map(|x| x.exp()).sum();
            product(p, v).map(|y| y * sum)
        },
    )
    .fewest(2)
    .within(1e-3);
    c.add(
        "batched_product",
        ["a", "b"],
        "r",
        [t(6, 7, 9), t(6, 9, 8)],
        |a: TExp<f32>, b: TExp<f32>| {
            generate3(a.planes(), a.rows(), b.cols(), |p, i, j| {
                generate(a.cols(), |k| a.at(p, i, k) * b.at(p, k, j)).sum()
            })
        },
        |[a, b]| Array::tensor([6, 7, 8], |p, i, j| (0..9).map(|k| a[[p, i, k]] * b[[p, k, j]]).sum()),
    );
    c.add(
        "pairwise_distances",
        ["x", "y"],
        "r",
        [m(7, 9), m(6, 9)],
        |x: MExp<f32>, y: MExp<f32>| {
            generate2(x.rows(), y.rows(), |i, j| {
                x.row(i).zip_with(y.row(j), |a, b| slet(a - b, |d| d * d)).sum().sqrt()
            })
        },
        |[x, y]| {
            Array::matrix(7, 6, |i, j| (0..9).map(|k| (x[[i, k]] - y[[j, k]]).powi(2)).sum::<f64>().sqrt())
        },
    );
    c.add(
        "cosine_similarities",
        ["x", "y"],
        "r",
        [m(7, 9), m(6, 9)],
        |x: MExp<f32>, y: MExp<f32>| {
            let (nx, ny) = (x.map_rows(|r| r.dot(r).sqrt()), y.map_rows(|r| r.dot(r).sqrt()));
            x.matmul(y.transpose()) / nx.outer(ny, |a, b| a * b)
        },
        |[x, y]| {
            Array::matrix(7, 6, |i, j| {
                let (a, b) = (x.row(i), y.row(j));
                dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
            })
        },
    )
    .because(reason::PASSES)
    .fewest(3);
    c.add(
        "mahalanobis",
        ["x", "mean", "p"],
        "r",
        [m(7, 9), v(9), m(9, 9)],
        |x: MExp<f32>, mean: VExp<f32>, p: MExp<f32>| {
            let d = x - mean.broadcast_rows(x.rows());
            (d.matmul(p) * d).sum_rows()
        },
        |[x, mean, p]| {
            let d = Array::matrix(7, 9, |i, j| x[[i, j]] - mean[j]);
            let q = product(&d, p);
            Array::vector(7, |i| dot(q.row(i), d.row(i)))
        },
    )
    .because(reason::FLATTENED)
    .fewest(1)
    .within(1e-3);
}
