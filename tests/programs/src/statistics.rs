//! Statistics and learning without gradients.

use crate::array::{Array, m, s, v};
use crate::linear_algebra::{dot, product, transposed};
use crate::program::Corpus;
use crate::reason;
use arraygpu::prelude::*;

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

fn variance(x: &[f64]) -> f64 {
    let m = mean(x);
    x.iter().map(|x| (x - m).powi(2)).sum::<f64>() / x.len() as f64
}

/// Adds the programs.
pub fn add(c: &mut Corpus) {
    moments(c);
    series(c);
    tables(c);
    models(c);
}

fn moments(c: &mut Corpus) {
    c.add(
        "mean_and_deviation",
        ["x"],
        "mean deviation",
        [v(40)],
        |x: VExp<f32>| {
            let n = x.len().cast::<f32>();
            let mean = x.sum() / n;
            let d = x - mean;
            (mean, (d.dot(d) / n).sqrt())
        },
        |[x]| (mean(&x.elements), variance(&x.elements).sqrt()),
    )
    .because(reason::PASSES)
    .fewest(2);
    c.add(
        "weighted_mean",
        ["x", "w"],
        "mean weight",
        [v(40), v(40)],
        |x: VExp<f32>, w: VExp<f32>| {
            let (sum, weight) = (x * w, w).reduce((0.0, 0.0), |(s, a), (t, b)| (s + t, a + b));
            (sum / weight, weight)
        },
        |[x, w]| {
            let weight: f64 = w.elements.iter().sum();
            (x.elements.iter().zip(&w.elements).map(|(x, w)| x * w).sum::<f64>() / weight, weight)
        },
    );
    c.add(
        "merged_means",
        ["x", "w"],
        "mean weight",
        [m(40, 7), m(40, 7)],
        |x: MExp<f32>, w: MExp<f32>| {
            (x, w.abs() + 1.0).reduce_cols((0.0, 0.0), |(m, a), (n, b)| {
                let all = a + b;
                (m + (n - m) * (b / all), all)
            })
        },
        |[x, w]| {
            let weight = |i, j| w[[i, j]].abs() + 1.0;
            let all = |j| (0..40).map(|i| weight(i, j)).sum::<f64>();
            let mean = |j| (0..40).map(|i| x[[i, j]] * weight(i, j)).sum::<f64>() / all(j);
            (Array::vector(7, mean), Array::vector(7, all))
        },
    );
    c.add(
        "places_in_a_table",
        ["x"],
        "least greatest place",
        [m(40, 7)],
        |x: MExp<f32>| {
            let (least, greatest) = x.minmax_rows();
            (least, greatest, x.argmax_rows())
        },
        |[x]| {
            let row = |i: usize| (0..7).map(move |j| x[[i, j]]);
            let place = |i: usize| (1..7).fold(0, |at, j| if x[[i, j]] > x[[i, at]] { j } else { at });
            let least = Array::vector(40, |i| row(i).fold(f64::INFINITY, f64::min));
            let greatest = Array::vector(40, |i| row(i).fold(f64::NEG_INFINITY, f64::max));
            (least, greatest, Array::vector(40, |i| place(i) as f64))
        },
    );
    c.add(
        "longest_run",
        ["x"],
        "longest",
        [v(40)],
        |x: VExp<f32>| {
            let (longest, _) = (x,).fold((lit(0i64), lit(0i64)), |(longest, run), (a,)| {
                let run = cond(a.gt(0.0), run + 1, 0);
                (longest.max(run), run)
            });
            longest
        },
        |[x]| {
            let (mut longest, mut run) = (0, 0);
            for x in &x.elements {
                run = if *x > 0.0 { run + 1 } else { 0 };
                longest = longest.max(run);
            }
            longest as f64
        },
    );
    c.add(
        "moments_in_one_pass",
        ["x"],
        "mean variance skew",
        [v(40)],
        |x: VExp<f32>| {
            let n = x.len().cast::<f32>();
            let (s1, s2, s3) = (x.sum() / n, (x * x).sum() / n, (x * x * x).sum() / n);
            let variance = s2 - s1 * s1;
            (s1, variance, (s3 - 3.0 * s1 * s2 + 2.0 * s1 * s1 * s1) / (variance * variance.sqrt()))
        },
        |[x]| {
            let (m, s) = (mean(&x.elements), variance(&x.elements));
            let third = x.elements.iter().map(|x| (x - m).powi(3)).sum::<f64>() / 40.0;
            (m, s, third / s.powf(1.5))
        },
    )
    .within(1e-3);
    c.add(
        "standardise",
        ["x"],
        "r",
        [v(40)],
        |x: VExp<f32>| {
            let n = x.len().cast::<f32>();
            let d = x - x.sum() / n;
            d / (d.dot(d) / n).sqrt()
        },
        |[x]| {
            let (m, s) = (mean(&x.elements), variance(&x.elements).sqrt());
            x.map(|x| (x - m) / s)
        },
    )
    .because(reason::PASSES)
    .fewest(3);
    c.add(
        "standardise_columns",
        ["x"],
        "r",
        [m(8, 9)],
        |x: MExp<f32>| {
            let n = x.rows().cast::<f32>();
            let mean = x.sum_cols() / n;
            let deviation = x.map_cols(|c| {
                let mean = c.sum() / n;
                (c.map(|x| (x - mean) * (x - mean)).sum() / n).sqrt()
            });
            (x - mean.broadcast_rows(x.rows())) / deviation.broadcast_rows(x.rows())
        },
        |[x]| {
            let stats: Vec<(f64, f64)> =
                (0..9).map(|j| (mean(&x.col(j)), variance(&x.col(j)).sqrt())).collect();
            Array::matrix(8, 9, |i, j| (x[[i, j]] - stats[j].0) / stats[j].1)
        },
    )
    .because(reason::PASSES)
    .fewest(3);
    c.add(
        "correlation",
        ["x", "y"],
        "r",
        [v(40), v(40)],
        |x: VExp<f32>, y: VExp<f32>| {
            let n = x.len().cast::<f32>();
            let (dx, dy) = (x - x.sum() / n, y - y.sum() / n);
            dx.dot(dy) / (dx.dot(dx) * dy.dot(dy)).sqrt()
        },
        |[x, y]| {
            let (mx, my) = (mean(&x.elements), mean(&y.elements));
            let d: Vec<(f64, f64)> = (0..40).map(|i| (x[i] - mx, y[i] - my)).collect();
            let sum = |f: fn(&(f64, f64)) -> f64| d.iter().map(f).sum::<f64>();
            sum(|d| d.0 * d.1) / (sum(|d| d.0 * d.0) * sum(|d| d.1 * d.1)).sqrt()
        },
    )
    .because(reason::PASSES)
    .fewest(2);
    c.add(
        "linear_fit",
        ["x", "y"],
        "slope offset",
        [v(40), v(40)],
        |x: VExp<f32>, y: VExp<f32>| {
            let n = x.len().cast::<f32>();
            let (sx, sy) = (x.sum(), y.sum());
            let slope = (n * x.dot(y) - sx * sy) / (n * x.dot(x) - sx * sx);
            (slope, (sy - slope * sx) / n)
        },
        |[x, y]| {
            let (sx, sy) = (x.elements.iter().sum::<f64>(), y.elements.iter().sum::<f64>());
            let (xy, xx) = (dot(&x.elements, &y.elements), dot(&x.elements, &x.elements));
            let slope = (40.0 * xy - sx * sy) / (40.0 * xx - sx * sx);
            (slope, (sy - slope * sx) / 40.0)
        },
    );
    c.add(
        "covariance_matrix",
        ["x"],
        "r",
        [m(8, 9)],
        |x: MExp<f32>| {
            let n = x.rows().cast::<f32>();
            let d = x - (x.sum_cols() / n).broadcast_rows(x.rows());
            d.transpose().matmul(d) / (n - 1.0)
        },
        |[x]| {
            let d = Array::matrix(8, 9, |i, j| x[[i, j]] - mean(&x.col(j)));
            product(&transposed(&d), &d).map(|x| x / 7.0)
        },
    )
    .fewest(2);
    c.add(
        "correlation_matrix",
        ["x"],
        "r",
        [m(8, 9)],
        |x: MExp<f32>| {
            let n = x.rows().cast::<f32>();
            let d = x - (x.sum_cols() / n).broadcast_rows(x.rows());
            let z = d / d.map_cols(|c| c.dot(c)).sqrt().broadcast_rows(x.rows());
            z.transpose().matmul(z)
        },
        |[x]| {
            let d = Array::matrix(8, 9, |i, j| x[[i, j]] - mean(&x.col(j)));
            let z = Array::matrix(8, 9, |i, j| d[[i, j]] / dot(&d.col(j), &d.col(j)).sqrt());
            product(&transposed(&z), &z)
        },
    )
    .because(reason::OPERAND)
    .fewest(3);
}

fn series(c: &mut Corpus) {
    c.add(
        "moving_average",
        ["x"],
        "r",
        [v(40)],
        |x: VExp<f32>| x.windows(8).into_iter().sum::<VExp<f32>>() / 8.0,
        |[x]| Array::vector(33, |i| mean(&x.elements[i..i + 8])),
    );
    c.add(
        "rolling_deviation",
        ["x", "k"],
        "r",
        [v(40), s(4.0)],
        |x: VExp<f32>, k: SExp<i64>| {
            let n = k.cast::<f32>();
            generate(x.len() - k + 1, |i| {
                let sum = generate(k, |j| x.at(i + j)).sum();
                let square = generate(k, |j| x.at(i + j) * x.at(i + j)).sum();
                (square / n - sum * sum / (n * n)).max(0.0).sqrt()
            })
        },
        |[x, _]| Array::vector(37, |i| variance(&x.elements[i..i + 4]).sqrt()),
    )
    .within(2e-3);
    c.add(
        "autocorrelation",
        ["x", "lags"],
        "r",
        [v(40), s(8.0)],
        |x: VExp<f32>, lags: SExp<i64>| {
            let (n, d) = (x.len(), x - x.sum() / x.len().cast::<f32>());
            generate(lags, |k| {
                generate(n, |i| cond((i + k).lt(n), d.at(i) * d.at((i + k).min(n - 1)), 0.0)).sum()
            })
        },
        |[x, _]| {
            let m = mean(&x.elements);
            Array::vector(8, |k| (0..40 - k).map(|i| (x[i] - m) * (x[i + k] - m)).sum())
        },
    )
    .fewest(2)
    .within(1e-3);
    c.add(
        "exponential_smoothing",
        ["x", "a"],
        "r",
        [v(40), s(0.25)],
        |x: VExp<f32>, a: SExp<f32>| x.fold(0.0f32, |s, x| s + a * (x - s)),
        |[x, a]| x.elements.iter().fold(0.0, |s, x| s + a.value() * (x - s)),
    );
    c.add(
        "periodogram",
        ["x"],
        "r",
        [v(40)],
        |x: VExp<f32>| {
            let n = x.len();
            generate(n / 2, |k| {
                let angle = |i: SExp<i64>| ((i * k) % n).cast::<f32>() * 2.0 / n.cast::<f32>();
                let re = generate(n, |i| x.at(i) * angle(i).cospi()).sum();
                let im = generate(n, |i| x.at(i) * angle(i).sinpi()).sum();
                (re * re + im * im) / n.cast::<f32>()
            })
        },
        |[x]| {
            Array::vector(20, |k| {
                let angle = |i: usize| (i * k) as f64 * std::f64::consts::TAU / 40.0;
                let re: f64 = (0..40).map(|i| x[i] * angle(i).cos()).sum();
                let im: f64 = (0..40).map(|i| x[i] * angle(i).sin()).sum();
                (re * re + im * im) / 40.0
            })
        },
    );
    c.add(
        "crossings",
        ["x", "limit"],
        "count first",
        [v(40), s(0.5)],
        |x: VExp<f32>, limit: SExp<f32>| {
            let n = x.len();
            let up = generate(n - 1, |i| x.at(i).lt(limit) & x.at(i + 1).ge(limit));
            let place = generate(n - 1, |i| cond(x.at(i).lt(limit) & x.at(i + 1).ge(limit), i, n));
            (up.cast::<i32>().sum(), place.min())
        },
        |[x, limit]| {
            let up: Vec<usize> =
                (0..39).filter(|i| x[*i] < limit.value() && x[i + 1] >= limit.value()).collect();
            (up.len() as f64, up.first().map_or(40.0, |i| *i as f64))
        },
    );
}

fn tables(c: &mut Corpus) {
    c.add(
        "histogram_of_values",
        ["x", "bins"],
        "r",
        [v(40).below(8), s(8.0)],
        |x: VExp<f32>, bins: SExp<i64>| {
            generate(bins, |b| x.map(|x| cond(x.floor().cast::<i64>().eq(b), lit(1i32), 0)).sum())
        },
        |[x, _]| Array::vector(8, |b| x.elements.iter().filter(|x| **x as usize == b).count() as f64),
    );
    c.add(
        "empirical_distribution",
        ["x", "points"],
        "r",
        [v(40), v(9)],
        |x: VExp<f32>, points: VExp<f32>| {
            points.map(|p| x.map(|x| cond(x.le(p), lit(1.0f32), 0.0)).sum() / x.len().cast::<f32>())
        },
        |[x, points]| points.map(|p| x.elements.iter().filter(|x| **x <= p).count() as f64 / 40.0),
    );
    c.add(
        "ranks",
        ["x"],
        "r",
        [v(40)],
        |x: VExp<f32>| {
            generate(x.len(), |i| {
                generate(x.len(), |j| {
                    let before = x.at(j).lt(x.at(i)) | (x.at(j).eq(x.at(i)) & j.lt(i));
                    cond(before, lit(1i64), 0)
                })
                .sum()
            })
        },
        |[x]| {
            Array::vector(40, |i| (0..40).filter(|j| x[*j] < x[i] || x[*j] == x[i] && *j < i).count() as f64)
        },
    );
    c.add(
        "group_means",
        ["x", "group", "k"],
        "r",
        [v(40), v(40).below(6), s(6.0)],
        |x: VExp<f32>, group: VExp<i64>, k: SExp<i64>| {
            generate(k, |g| {
                let sum = x.zip_with(group, |x, h| cond(h.eq(g), x, 0.0)).sum();
                let count = group.map(|h| cond(h.eq(g), lit(1.0f32), 0.0)).sum();
                sum / count.max(1.0)
            })
        },
        |[x, group, _]| {
            Array::vector(6, |g| {
                let of: Vec<f64> = (0..40).filter(|i| group[*i] == g as f64).map(|i| x[i]).collect();
                if of.is_empty() { 0.0 } else { mean(&of) }
            })
        },
    );
    c.add(
        "argmax_of_rows",
        ["x"],
        "r",
        [m(8, 9)],
        |x: MExp<f32>| {
            let max = x.map_rows(|r| r.max());
            generate(x.rows(), |i| generate(x.cols(), |j| cond(x.at(i, j).eq(max.at(i)), j, x.cols())).min())
        },
        |[x]| {
            Array::vector(8, |i| {
                let max = x.row(i).iter().copied().fold(f64::MIN, f64::max);
                x.row(i).iter().position(|x| *x == max).unwrap() as f64
            })
        },
    )
    .because(reason::APART)
    .fewest(1);
    c.add(
        "entropy",
        ["x"],
        "r",
        [v(40).positive()],
        |x: VExp<f32>| {
            let p = x / x.sum();
            -(p * p.log()).sum()
        },
        |[x]| {
            let sum: f64 = x.elements.iter().sum();
            x.elements.iter().map(|x| -(x / sum) * (x / sum).ln()).sum::<f64>()
        },
    )
    .because(reason::PASSES)
    .fewest(2);
    c.add(
        "kendall_concordance",
        ["x", "y"],
        "r",
        [v(40), v(40)],
        |x: VExp<f32>, y: VExp<f32>| {
            let n = x.len();
            generate2(n, n, |i, j| {
                let sign = (x.at(i) - x.at(j)) * (y.at(i) - y.at(j));
                cond(sign.gt(0.0), lit(1i32), cond(sign.lt(0.0), lit(-1i32), 0))
            })
            .sum()
        },
        |[x, y]| {
            let sign = |i: usize, j: usize| (x[i] - x[j]) * (y[i] - y[j]);
            let one = |s: f64| {
                if s > 0.0 {
                    1.0
                } else if s < 0.0 {
                    -1.0
                } else {
                    0.0
                }
            };
            (0..1600).map(|k| one(sign(k / 40, k % 40))).sum::<f64>()
        },
    );
}

fn models(c: &mut Corpus) {
    c.add(
        "kernel_density",
        ["x", "points", "h"],
        "r",
        [v(40), v(9), s(0.5)],
        |x: VExp<f32>, points: VExp<f32>, h: SExp<f32>| {
            points.map(|p| {
                x.map(|x| slet((x - p) / h, |z| (z * z * -0.5).exp())).sum() / (x.len().cast::<f32>() * h)
            })
        },
        |[x, points, h]| {
            let h = h.value();
            points.map(|p| {
                x.elements.iter().map(|x| (-((x - p) / h).powi(2) / 2.0).exp()).sum::<f64>() / (40.0 * h)
            })
        },
    );
    c.add(
        "k_means_assignment",
        ["x", "centres"],
        "r",
        [m(40, 3), m(6, 3)],
        |x: MExp<f32>, centres: MExp<f32>| {
            x.map_rows(|x| centres.map_rows(|c| x.zip_with(c, |a, b| (a - b) * (a - b)).sum()).argmin())
        },
        |[x, centres]| {
            let d = |i: usize, k: usize| (0..3).map(|j| (x[[i, j]] - centres[[k, j]]).powi(2)).sum::<f64>();
            Array::vector(40, |i| (0..6).min_by(|a, b| d(i, *a).total_cmp(&d(i, *b))).unwrap() as f64)
        },
    );
    c.add(
        "k_means_update",
        ["x", "assigned", "k"],
        "r",
        [m(40, 7), v(40).below(6), s(6.0)],
        |x: MExp<f32>, assigned: VExp<i64>, k: SExp<i64>| {
            let count = generate(k, |c| assigned.map(|a| cond(a.eq(c), lit(1.0f32), 0.0)).sum());
            generate2(k, x.cols(), |c, j| {
                generate(x.rows(), |i| cond(assigned.at(i).eq(c), x.at(i, j), 0.0)).sum()
                    / count.at(c).max(1.0)
            })
        },
        |[x, assigned, _]| {
            Array::matrix(6, 7, |c, j| {
                let of: Vec<f64> = (0..40).filter(|i| assigned[*i] == c as f64).map(|i| x[[i, j]]).collect();
                of.iter().sum::<f64>() / (of.len() as f64).max(1.0)
            })
        },
    )
    .fewest(2);
    c.add(
        "nearest_neighbour_distance",
        ["x"],
        "r",
        [m(40, 3)],
        |x: MExp<f32>| {
            let n = x.rows();
            generate(n, |i| {
                generate(n, |j| {
                    let d = generate(3, |k| slet(x.at(i, k) - x.at(j, k), |d| d * d)).sum();
                    cond(i.eq(j), f32::MAX, d)
                })
                .min()
                .sqrt()
            })
        },
        |[x]| {
            let d = |i: usize, j: usize| (0..3).map(|k| (x[[i, k]] - x[[j, k]]).powi(2)).sum::<f64>();
            Array::vector(40, |i| {
                (0..40).filter(|j| *j != i).map(|j| d(i, j)).fold(f64::MAX, f64::min).sqrt()
            })
        },
    );
    c.add(
        "gaussian_kernel_matrix",
        ["x", "gamma"],
        "r",
        [m(8, 9), s(0.125)],
        |x: MExp<f32>, gamma: SExp<f32>| {
            let square = x.map_rows(|r| r.dot(r));
            let n = x.rows();
            let d = square.broadcast_cols(n) + square.broadcast_rows(n) - 2.0 * x.matmul(x.transpose());
            (-gamma * d).exp()
        },
        |[x, gamma]| {
            Array::matrix(8, 8, |i, j| {
                (-gamma.value() * (0..9).map(|k| (x[[i, k]] - x[[j, k]]).powi(2)).sum::<f64>()).exp()
            })
        },
    )
    .fewest(2);
    c.add(
        "naive_bayes",
        ["x", "means", "deviations"],
        "r",
        [m(8, 9), m(6, 9), m(6, 9).positive()],
        |x: MExp<f32>, means: MExp<f32>, deviations: MExp<f32>| {
            generate2(x.rows(), means.rows(), |i, k| {
                generate(x.cols(), |j| {
                    let z = (x.at(i, j) - means.at(k, j)) / deviations.at(k, j);
                    z * z * -0.5 - deviations.at(k, j).log()
                })
                .sum()
            })
        },
        |[x, means, deviations]| {
            Array::matrix(8, 6, |i, k| {
                (0..9)
                    .map(|j| {
                        let s = deviations[[k, j]];
                        -((x[[i, j]] - means[[k, j]]) / s).powi(2) / 2.0 - s.ln()
                    })
                    .sum()
            })
        },
    )
    .because(reason::HOISTED)
    .within(1e-3);
    c.add(
        "forward_algorithm",
        ["a", "b", "start"],
        "r",
        [m(6, 6).unit(), v(6).unit(), v(6).unit()],
        |a: MExp<f32>, b: VExp<f32>, start: VExp<f32>| {
            start.iterate(4, |p| {
                let q = a.map_cols(|c| c.dot(p)) * b;
                q / q.sum()
            })
        },
        |[a, b, start]| {
            let mut p = start.elements.clone();
            for _ in 0..4 {
                let q: Vec<f64> = (0..6).map(|j| dot(&a.col(j), &p) * b[j]).collect();
                let sum: f64 = q.iter().sum();
                p = q.iter().map(|q| q / sum).collect();
            }
            p
        },
    )
    .because(reason::FLATTENED)
    .fewest(8);
}
