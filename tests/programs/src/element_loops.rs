//! Loops inside of an element, and reductions of tuples, as people write them. Those that are measured beside CUDA
//! kernels by hand are the functions of `cpp-examples/generators`.

use crate::array::{Array, m, s, v};
use crate::program::{Corpus, Large};
use arraygpu::prelude::*;
use arraygpu_examples::loops;
use std::array;

/// Adds the programs.
pub fn add(c: &mut Corpus) {
    roots(c);
    numbers(c);
    systems(c);
    lattice(c);
    tables(c);
}

fn roots(c: &mut Corpus) {
    c.add(
        "newton_root",
        ["mean", "e"],
        "r",
        [v(40), s(0.5)],
        // Kepler's equation: the eccentric anomaly of a mean one
        |mean: VExp<f32>, e: SExp<f32>| {
            mean.map(|m| {
                let step =
                    |(x, _): (SExp<f32>, SExp<f32>)| (x - (x - e * x.sin() - m) / (1.0 - e * x.cos()), x);
                loop_while_at_most(50, (m, m + 1.0), |(x, before)| (x - before).abs().gt(1e-5), step).0
            })
        },
        |[mean, e]| {
            let e = e.value();
            mean.map(|m| (0..60).fold(m, |x, _| x - (x - e * x.sin() - m) / (1.0 - e * x.cos())))
        },
    );
    c.add(
        "search_sorted",
        ["x", "wanted"],
        "r",
        [v(40).at(|k| (k / 2) as f64), v(50).of(|x| x * 10.0)],
        |x: VExp<f32>, wanted: VExp<f32>| {
            wanted.map(|w| {
                let step = |(low, high): (SExp<i64>, SExp<i64>)| {
                    let middle = (low + high) / 2;
                    slet(x.at(middle).lt(w), |is_below| {
                        (cond(is_below, middle + 1, low), cond(is_below, high, middle))
                    })
                };
                loop_while((0i64, x.len()), |(low, high)| low.lt(high), step).0
            })
        },
        |[x, wanted]| wanted.map(|w| x.elements.iter().filter(|x| **x < w).count() as f64),
    );
    c.add(
        "sphere_tracing",
        ["rows", "cols"],
        "depth",
        [s(7.0), s(8.0)],
        // the way along each ray to a torus
        |rows: SExp<i64>, cols: SExp<i64>| {
            generate2(rows, cols, |i, j| {
                let (y, x) = (i.cast::<f32>() * 0.25 - 0.75, j.cast::<f32>() * 0.25 - 0.875);
                let distance = |z: SExp<f32>| {
                    let around = (x * x + y * y).sqrt() - 0.625;
                    (around * around + z * z).sqrt() - 0.25
                };
                let march = |(z, k): (SExp<f32>, SExp<i64>)| (z + distance(z), k + 1);
                let goes_on = |(z, k): (SExp<f32>, SExp<i64>)| distance(z).gt(1e-3) & z.lt(4.0) & k.lt(64);
                loop_while((-2.0f32, 0i64), goes_on, march).0
            })
        },
        |[_, _]| {
            Array::matrix(7, 8, |i, j| {
                let (y, x) = (i as f64 * 0.25 - 0.75, j as f64 * 0.25 - 0.875);
                let distance = |z: f64| ((x.hypot(y) - 0.625).powi(2) + z * z).sqrt() - 0.25;
                let (mut z, mut k) = (-2.0, 0);
                while distance(z) > 1e-3 && z < 4.0 && k < 64 {
                    z += distance(z);
                    k += 1;
                }
                z
            })
        },
    )
    .within(1e-2);
}

/// A random number of each counter.
fn hash(k: u32) -> u32 {
    let k = (k ^ k >> 16).wrapping_mul(0x7feb_352d);
    let k = (k ^ k >> 15).wrapping_mul(0x846c_a68b);
    k ^ k >> 16
}

fn numbers(c: &mut Corpus) {
    c.add(
        "collatz_lengths",
        ["n"],
        "r",
        [s(40.0)],
        |n: SExp<i64>| {
            generate(n, |i| {
                let next = |k: SExp<i64>| cond((k & 1).eq(0), k / 2, k * 3 + 1);
                loop_while((i + 1, 0i64), |(k, _)| k.gt(1), |(k, steps)| (next(k), steps + 1)).1
            })
        },
        |[_]| {
            let length = |mut k: u64| {
                let mut steps = 0.0;
                while k > 1 {
                    (k, steps) = (if k.is_multiple_of(2) { k / 2 } else { 3 * k + 1 }, steps + 1.0);
                }
                steps
            };
            Array::vector(40, |i| length(i as u64 + 1))
        },
    );
    c.add(
        "monte_carlo",
        ["paths", "steps", "strike"],
        "price",
        [s(40.0), s(9.0), s(1.0)],
        // an Asian option: each path has its own numbers, by their counters
        |paths: SExp<i64>, steps: SExp<i64>, strike: SExp<f32>| {
            let hash = |k: SExp<u32>| {
                let k = slet(k, |k| (k ^ k >> 16u32) * 0x7feb_352du32);
                let k = slet(k, |k| (k ^ k >> 15u32) * 0x846c_a68bu32);
                slet(k, |k| k ^ k >> 16u32)
            };
            let payoff = generate(paths, |p| {
                let (_, sum) = loop_for(steps, (1.0f32, 0.0f32), |t, (price, sum)| {
                    let u = (hash((p * steps + t).cast::<u32>()) >> 8u32).cast::<f32>() * 5.9604645e-8;
                    slet(price * (0.25 * (u - 0.5)).exp(), |price| (price, sum + price))
                });
                (sum / steps.cast::<f32>() - strike).max(0.0)
            });
            payoff.sum() / paths.cast::<f32>()
        },
        |[_, _, strike]| {
            let payoff = |p: u32| {
                let (mut price, mut sum) = (1.0f64, 0.0);
                for t in 0..9 {
                    price *= (0.25 * (f64::from(hash(p * 9 + t) >> 8) / 16777216.0 - 0.5)).exp();
                    sum += price;
                }
                (sum / 9.0 - strike.value()).max(0.0)
            };
            (0..40).map(payoff).sum::<f64>() / 40.0
        },
    );
}

fn systems(c: &mut Corpus) {
    let diagonal = |x: f64| x.abs() + 5.0;
    c.add(
        "tridiagonal",
        ["a", "b", "c", "d"],
        "x0 x1 x2 x3 x4 x5 x6 x7",
        [m(8, 40), m(8, 40).of(diagonal), m(8, 40), m(8, 40)],
        // Thomas' algorithm for systems of eight unknowns, one in each column
        loops::tridiagonal,
        |[a, b, c, d]| {
            let solved: Vec<Vec<f64>> =
                (0..40).map(|j| thomas([&a.col(j), &b.col(j), &c.col(j), &d.col(j)])).collect();
            (0..8).map(|k| Array::vector(40, |j| solved[j][k])).collect::<Vec<Array>>()
        },
    )
    .keep(9);
    c.add(
        "tridiagonal_of_any_length",
        ["a", "b", "c", "d"],
        "x",
        [m(9, 12), m(9, 12).of(diagonal), m(9, 12), m(9, 12)],
        // each unknown by eliminating what is before it and what is behind it
        |a: MExp<f32>, b: MExp<f32>, c: MExp<f32>, d: MExp<f32>| {
            let n = a.rows();
            generate2(n, a.cols(), |i, j| {
                let start = (0.0f32, 0.0f32);
                let (upper, right) = loop_for(i, start, |k, (upper, right)| {
                    let pivot = b.at(k, j) - a.at(k, j) * upper;
                    (c.at(k, j) / pivot, (d.at(k, j) - a.at(k, j) * right) / pivot)
                });
                let (lower, left) = loop_for(n - 1 - i, start, |k, (lower, left)| {
                    let k = n - 1 - k;
                    let pivot = b.at(k, j) - c.at(k, j) * lower;
                    (a.at(k, j) / pivot, (d.at(k, j) - c.at(k, j) * left) / pivot)
                });
                (d.at(i, j) - a.at(i, j) * right - c.at(i, j) * left)
                    / (b.at(i, j) - a.at(i, j) * upper - c.at(i, j) * lower)
            })
        },
        |[a, b, c, d]| {
            let solved: Vec<Vec<f64>> =
                (0..12).map(|j| thomas([&a.col(j), &b.col(j), &c.col(j), &d.col(j)])).collect();
            Array::matrix(9, 12, |i, j| solved[j][i])
        },
    );
    c.add(
        "libor",
        ["z", "sigma"],
        "r",
        [m(40, 9).of(|x| x / 4.0), v(80).of(|x| 0.2 + x / 64.0)],
        loops::libor,
        |[z, sigma]| {
            Array::vector(9, |path| {
                let mut rates = [0.05f64; RATES];
                for n in 0..STEPS {
                    let (noise, mut drift) = (0.5 * z[[n, path]], 0.0);
                    for i in n + 1..RATES {
                        let by = 0.25 * sigma[i - 1 - n];
                        drift += by * rates[i] / (1.0 + 0.25 * rates[i]);
                        rates[i] *= (by * drift + 4.0 * by * (noise - 0.5 * by)).exp();
                    }
                }
                let (mut bond, mut annuity, mut value) = (1.0, 0.0, 0.0);
                for (rate, k) in rates[STEPS..].iter().zip(1..) {
                    bond /= 1.0 + 0.25 * rate;
                    annuity += 0.25 * bond;
                    value += swaptions(k)
                        .map(|s| 100.0 * (1.0 - bond - f64::from(s) * annuity).max(0.0))
                        .sum::<f64>();
                }
                rates[..STEPS].iter().fold(value, |value, rate| value / (1.0 + 0.25 * rate))
            })
        },
    )
    .extent(40, Large::Is(40))
    .extent(80, Large::Is(80));
}

/// The velocities of the lattice, by rows and columns, and their weights.
const VELOCITIES: [(i64, i64); 9] =
    [(0, 0), (0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, -1), (-1, 1)];
const WEIGHTS: [f32; 9] = {
    let (w, d) = (1.0 / 9.0, 1.0 / 36.0);
    [4.0 / 9.0, w, w, w, w, d, d, d, d]
};

fn lattice(c: &mut Corpus) {
    let states = || m(7, 8).positive();
    c.add(
        "d2q9",
        ["f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8"],
        "g0 g1 g2 g3 g4 g5 g6 g7 g8",
        array::from_fn(|_| states()),
        // what comes from the neighbours on a torus, relaxed towards its equilibrium
        loops::d2q9,
        |f: [_; 9]| {
            let relaxed = |i: usize, j: usize| {
                let come: Vec<f64> = (0..9)
                    .map(|k| f[k].wrapped(i as i64 - VELOCITIES[k].0, j as i64 - VELOCITIES[k].1))
                    .collect();
                let density: f64 = come.iter().sum();
                let along = |of: fn((i64, i64)) -> i64| {
                    come.iter().zip(VELOCITIES).map(|(f, v)| f * of(v) as f64).sum::<f64>() / density
                };
                let (vy, vx) = (along(|v| v.0), along(|v| v.1));
                let next = |k: usize| {
                    let a = VELOCITIES[k].0 as f64 * vy + VELOCITIES[k].1 as f64 * vx;
                    let rest = 1.0 + 3.0 * a + 4.5 * a * a - 1.5 * (vy * vy + vx * vx);
                    come[k] + 0.625 * (density * f64::from(WEIGHTS[k]) * rest - come[k])
                };
                (0..9).map(next).collect::<Vec<f64>>()
            };
            (0..9).map(|k| Array::matrix(7, 8, |i, j| relaxed(i, j)[k])).collect::<Vec<Array>>()
        },
    );
}

/// The rates of a path, and the first of those that a path of so many steps leaves for the portfolio.
const RATES: usize = 80;
const STEPS: usize = 40;

/// The rates of the swaptions of this maturity.
fn swaptions(maturity: usize) -> impl Iterator<Item = f32> {
    let ends_here = [4, 8, 20, 28, 40].contains(&maturity);
    [0.045f32, 0.05, 0.055].into_iter().filter(move |_| ends_here)
}

/// The solution of a tridiagonal system of its lower diagonal, diagonal, upper diagonal and right side.
fn thomas([a, b, c, d]: [&[f64]; 4]) -> Vec<f64> {
    let (mut upper, mut x) = (vec![c[0] / b[0]], vec![d[0] / b[0]]);
    for k in 1..b.len() {
        let pivot = b[k] - a[k] * upper[k - 1];
        upper.push(c[k] / pivot);
        x.push((d[k] - a[k] * x[k - 1]) / pivot);
    }
    for k in (0..b.len() - 1).rev() {
        x[k] -= upper[k] * x[k + 1];
    }
    x
}

fn tables(c: &mut Corpus) {
    c.add(
        "kmeans_assign",
        ["x", "centres"],
        "r",
        [m(40, 16), m(8, 16)],
        |x: MExp<f32>, centres: MExp<f32>| {
            x.map_rows(|x| centres.map_rows(|c| x.zip_with(c, |a, b| (a - b) * (a - b)).sum()).argmin())
        },
        |[x, centres]| {
            let d = |i: usize, k: usize| (0..16).map(|j| (x[[i, j]] - centres[[k, j]]).powi(2)).sum::<f64>();
            Array::vector(40, |i| (0..8).min_by(|a, b| d(i, *a).total_cmp(&d(i, *b))).unwrap() as f64)
        },
    )
    .keep(17);
    c.add(
        "minmax_normalisation",
        ["x"],
        "r",
        [v(40)],
        |x: VExp<f32>| {
            let (low, high) = x.minmax();
            (x - low) / (high - low)
        },
        |[x]| {
            let low = x.elements.iter().copied().fold(f64::INFINITY, f64::min);
            let high = x.elements.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            x.map(|x| (x - low) / (high - low))
        },
    )
    .fewest(2);
    c.add(
        "confusion_counts",
        ["score", "label", "threshold"],
        "hits misses alarms rest",
        [v(40), v(40).below(2), s(0.25)],
        |score: VExp<f32>, label: VExp<bool>, threshold: SExp<f32>| {
            let counted = score.zip_with(label, |s, l| {
                let p = s.gt(threshold);
                let one = |is: SExp<bool>| is.cast::<i64>();
                (one(p & l), one(!p & l), one(p & !l), one(!p & !l))
            });
            counted.reduce((0, 0, 0, 0), |a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2, a.3 + b.3))
        },
        |[score, label, threshold]| {
            let count = |p: bool, l: f64| {
                let is = |i: &usize| (score[*i] > threshold.value()) == p && label[*i] == l;
                Array::scalar((0..40).filter(is).count() as f64)
            };
            vec![count(true, 1.0), count(false, 1.0), count(true, 0.0), count(false, 0.0)]
        },
    );
}
