//! Iterative solvers and decompositions.

use crate::array::{Array, m, s, v};
use crate::linear_algebra::{by_vector, dot, product, transposed};
use crate::program::Corpus;
use crate::reason;
use arraygpu::prelude::*;

/// Adds the programs.
pub fn add(c: &mut Corpus) {
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
                let y = by_vector(a, &x);
                let length = dot(&y, &y).sqrt();
                x = y.iter().map(|y| y / length).collect();
            }
            x
        },
    )
    .because(reason::FLATTENED)
    .fewest(6);
    c.add(
        "jacobi_iteration",
        ["a", "b", "k"],
        "r",
        [m(7, 7).at(|k| if k % 8 == 0 { 9.0 } else { (k % 5) as f64 / 4.0 }), v(7), s(4.0)],
        |a: MExp<f32>, b: VExp<f32>, k: SExp<i64>| {
            let d = generate(b.len(), |i| a.at(i, i));
            fill(b.len(), 0.0f32).iterate(k, |x| (b - a.map_rows(|r| r.dot(x)) + d * x) / d)
        },
        |[a, b, _]| {
            let mut x = vec![0.0; 7];
            for _ in 0..4 {
                let y = by_vector(a, &x);
                x = (0..7).map(|i| (b[i] - y[i] + a[[i, i]] * x[i]) / a[[i, i]]).collect();
            }
            x
        },
    )
    .because(reason::STARTS)
    .fewest(4);
    c.add(
        "gradient_descent",
        ["a", "b", "rate"],
        "r",
        [m(7, 6), v(7), s(0.0625)],
        |a: MExp<f32>, b: VExp<f32>, rate: SExp<f32>| {
            fill(a.cols(), 0.0f32).iterate(3, |x| {
                let residual = a.map_rows(|r| r.dot(x)) - b;
                x - rate * a.map_cols(|c| c.dot(residual))
            })
        },
        |[a, b, rate]| {
            let mut x = vec![0.0; 6];
            for _ in 0..3 {
                let y = by_vector(a, &x);
                let residual: Vec<f64> = (0..7).map(|i| y[i] - b[i]).collect();
                let g = by_vector(&transposed(a), &residual);
                x = (0..6).map(|j| x[j] - rate.value() * g[j]).collect();
            }
            x
        },
    )
    .because(reason::PASSES)
    .because(reason::STARTS)
    .fewest(6);
    c.add(
        "logistic_regression",
        ["x", "y", "rate"],
        "w",
        [m(7, 6), v(7).below(2), s(0.125)],
        |x: MExp<f32>, y: VExp<f32>, rate: SExp<f32>| {
            fill(x.cols(), 0.0f32).iterate(3, |w| {
                let p = x.map_rows(|r| 1.0 / (1.0 + (-r.dot(w)).exp()));
                w - rate * x.map_cols(|c| c.dot(p - y))
            })
        },
        |[x, y, rate]| {
            let mut w = vec![0.0; 6];
            for _ in 0..3 {
                let p: Vec<f64> = by_vector(x, &w).iter().map(|z| 1.0 / (1.0 + (-z).exp())).collect();
                let e: Vec<f64> = (0..7).map(|i| p[i] - y[i]).collect();
                let g = by_vector(&transposed(x), &e);
                w = (0..6).map(|j| w[j] - rate.value() * g[j]).collect();
            }
            w
        },
    )
    .because(reason::PASSES)
    .because(reason::STARTS)
    .fewest(6);
    c.add(
        "conjugate_gradients",
        ["a", "b"],
        "x",
        [m(7, 7).at(|k| if k % 8 == 0 { 9.0 } else { 0.25 }), v(7)],
        |a: MExp<f32>, b: VExp<f32>| {
            let zero = fill(b.len(), 0.0f32);
            let (x, _, _) = iterate(3, (zero, b, b), |(x, r, p)| {
                let ap = a.map_rows(|row| row.dot(p));
                let rr = r.dot(r);
                let alpha = rr / p.dot(ap);
                let next = r - alpha * ap;
                let beta = next.dot(next) / rr;
                (x + alpha * p, next, next + beta * p)
            });
            x
        },
        |[a, b]| {
            let (mut x, mut r) = (vec![0.0; 7], b.elements.clone());
            let mut p = r.clone();
            for _ in 0..3 {
                let ap = by_vector(a, &p);
                let rr = dot(&r, &r);
                let alpha = rr / dot(&p, &ap);
                x = (0..7).map(|i| x[i] + alpha * p[i]).collect();
                r = (0..7).map(|i| r[i] - alpha * ap[i]).collect();
                let beta = dot(&r, &r) / rr;
                p = (0..7).map(|i| r[i] + beta * p[i]).collect();
            }
            x
        },
    )
    .because(reason::FLATTENED)
    .because(reason::LOOPS)
    .because(reason::STARTS)
    .fewest(9)
    .within(1e-3);
    c.add(
        "matrix_power",
        ["a"],
        "r",
        [m(7, 7).of(|x| x / 4.0)],
        |a: MExp<f32>| a.iterate(3, |x| x.matmul(x)),
        |[a]| (0..3).fold(a.clone(), |x, _| product(&x, &x)),
    )
    .fewest(3);
    c.add(
        "newton_inverse",
        ["a"],
        "r",
        [m(7, 7).at(|k| if k % 8 == 0 { 1.5 } else { 0.03125 })],
        |a: MExp<f32>| {
            let n = a.rows();
            let unit = generate2(n, n, |i, j| cond(i.eq(j), 1.0f32, 0.0f32));
            unit.iterate(3, |x| x.matmul(2.0 * unit - a.matmul(x)))
        },
        |[a]| {
            let unit = Array::matrix(7, 7, |i, j| f64::from(u8::from(i == j)));
            (0..3).fold(unit.clone(), |x, _| {
                let ax = product(a, &x);
                product(&x, &Array::matrix(7, 7, |i, j| 2.0 * unit[[i, j]] - ax[[i, j]]))
            })
        },
    )
    .because(reason::OPERAND)
    .because(reason::STARTS)
    .fewest(6);
    c.add(
        "elimination_steps",
        ["a"],
        "r",
        [m(7, 7).at(|k| if k % 8 == 0 { 9.0 } else { (k % 7) as f64 / 4.0 })],
        |a: MExp<f32>| {
            let n = a.rows();
            let step = fill(1, 0i64);
            let (a, _) = iterate(3, (a, step), |(a, step)| {
                let k = step.at(0);
                let next = generate2(n, n, |i, j| {
                    let factor = a.at(i, k) / a.at(k, k);
                    cond(i.gt(k), a.at(i, j) - factor * a.at(k, j), a.at(i, j))
                });
                (next, step + 1)
            });
            a
        },
        |[a]| {
            let mut a = a.clone();
            for k in 0..3 {
                let before = a.clone();
                a = Array::matrix(7, 7, |i, j| {
                    let factor = before[[i, k]] / before[[k, k]];
                    if i > k { before[[i, j]] - factor * before[[k, j]] } else { before[[i, j]] }
                });
            }
            a
        },
    )
    .because(reason::COUNTER)
    .because(reason::STARTS)
    .fewest(3);
    c.add(
        "cholesky_update",
        ["l", "x"],
        "r",
        [m(7, 7).positive(), v(7)],
        |l: MExp<f32>, x: VExp<f32>| {
            let n = l.rows();
            let y = generate(n, |i| cond(i.gt(0), x.at(i) - l.at(i, 0) * x.at(0) / l.at(0, 0), x.at(0)));
            generate2(n, n, |i, j| cond(j.le(i), l.at(i, j) + y.at(i) * y.at(j), 0.0))
        },
        |[l, x]| {
            let y: Vec<f64> =
                (0..7).map(|i| if i > 0 { x[i] - l[[i, 0]] * x[0] / l[[0, 0]] } else { x[0] }).collect();
            Array::matrix(7, 7, |i, j| if j <= i { l[[i, j]] + y[i] * y[j] } else { 0.0 })
        },
    )
    .because(reason::BITS);
    c.add(
        "page_rank",
        ["links", "damping"],
        "r",
        [m(7, 7).below(2).of(|x| x + 0.125), s(0.875)],
        |links: MExp<f32>, damping: SExp<f32>| {
            let n = links.rows();
            let out = links.sum_cols();
            let even = 1.0 / n.cast::<f32>();
            fill(n, even)
                .iterate(4, |rank| links.map_rows(|r| r.dot(rank / out)) * damping + (1.0 - damping) * even)
        },
        |[links, damping]| {
            let out: Vec<f64> = (0..7).map(|j| links.col(j).iter().sum()).collect();
            let mut rank = vec![1.0 / 7.0; 7];
            for _ in 0..4 {
                let share: Vec<f64> = (0..7).map(|j| rank[j] / out[j]).collect();
                let sums = by_vector(links, &share);
                rank = sums.iter().map(|x| x * damping.value() + (1.0 - damping.value()) / 7.0).collect();
            }
            rank
        },
    )
    .fewest(5);
}
