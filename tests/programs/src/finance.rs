//! Finance: prices, risk, time series.

use crate::array::{Array, m, s, v};
use crate::linear_algebra::{by_vector, dot};
use crate::program::Corpus;
use crate::reason;
use arraygpu::prelude::*;

fn normcdf(x: f64) -> f64 {
    // the integral of the density from -8, by Simpson's rule
    let (n, a) = (4000, -8.0);
    let h = (x - a) / f64::from(n);
    let f = |k: i32| (-(a + h * f64::from(k)).powi(2) / 2.0).exp();
    let inner: f64 = (1..n).map(|k| f(k) * if k % 2 == 1 { 4.0 } else { 2.0 }).sum();
    (f(0) + inner + f(n)) * h / 3.0 / std::f64::consts::TAU.sqrt()
}

/// Adds the programs.
pub fn add(c: &mut Corpus) {
    options(c);
    portfolios(c);
    series(c);
    simulations(c);
}

fn options(c: &mut Corpus) {
    c.add(
        "black_scholes",
        ["spot", "strike", "time", "rate", "sigma"],
        "call put",
        [v(9).positive(), v(9).positive(), v(9).positive(), s(0.03125), s(0.25)],
        |spot: VExp<f32>, strike: VExp<f32>, time: VExp<f32>, rate: SExp<f32>, sigma: SExp<f32>| {
            spot.zip3(strike, time, |s, k, t| {
                let d1 = ((s / k).log() + (rate + sigma * sigma * 0.5) * t) / (sigma * t.sqrt());
                let d2 = d1 - sigma * t.sqrt();
                let discounted = k * (-rate * t).exp();
                let call = s * d1.normcdf() - discounted * d2.normcdf();
                (call, call - s + discounted)
            })
        },
        |[spot, strike, time, rate, sigma]| {
            let (r, g) = (rate.value(), sigma.value());
            let call = Array::vector(9, |i| {
                let (s, k, t) = (spot[i], strike[i], time[i]);
                let d1 = ((s / k).ln() + (r + g * g / 2.0) * t) / (g * t.sqrt());
                s * normcdf(d1) - k * (-r * t).exp() * normcdf(d1 - g * t.sqrt())
            });
            let put = Array::vector(9, |i| call[i] - spot[i] + strike[i] * (-r * time[i]).exp());
            (call, put)
        },
    );
    c.add(
        "implied_volatility",
        ["price", "strike"],
        "r",
        [v(9).unit().of(|x| 0.125 + x / 4.0), v(9).of(|_| 1.0)],
        |price: VExp<f64>, strike: VExp<f64>| {
            fill(price.len(), 0.5f64).iterate(6, |sigma| {
                sigma.zip3(price, strike, |sigma, p, k| {
                    let d1 = ((lit(1.0) / k).log() + sigma * sigma * 0.5) / sigma;
                    let value = d1.normcdf() - k * (d1 - sigma).normcdf();
                    let vega = (d1 * d1 * -0.5).exp() * 0.3989422804014327;
                    sigma - (value - p) / vega
                })
            })
        },
        |[price, strike]| {
            Array::vector(9, |i| {
                let mut sigma = 0.5;
                for _ in 0..6 {
                    let k = strike[i];
                    let d1 = ((1.0 / k).ln() + sigma * sigma / 2.0) / sigma;
                    let value = normcdf(d1) - k * normcdf(d1 - sigma);
                    sigma -= (value - price[i]) / ((-d1 * d1 / 2.0).exp() * 0.3989422804014327);
                }
                sigma
            })
        },
    );
    c.add(
        "binomial_tree",
        ["spot", "strike", "steps"],
        "r",
        [s(1.0), s(1.0), s(4.0)],
        |spot: SExp<f32>, strike: SExp<f32>, steps: SExp<i64>| {
            let n = steps + 1;
            let last = generate(n, |i| {
                let move_ = ((2 * i - steps).cast::<f32>() * 0.125).exp();
                (strike - spot * move_).max(0.0)
            });
            let values = last.iterate(steps, |v| {
                let up = v.padded(0, 1, Boundary::Clamp).windows(2);
                0.5 * up[0] + 0.46875 * up[1]
            });
            values.at(0)
        },
        |[_, _, _]| {
            let mut v: Vec<f64> =
                (0..5).map(|i| (1.0 - ((2.0 * i as f64 - 4.0) * 0.125).exp()).max(0.0)).collect();
            for _ in 0..4 {
                v = (0..5).map(|i| 0.5 * v[i] + 0.46875 * v[(i + 1).min(4)]).collect();
            }
            v[0]
        },
    )
    .because(reason::STARTS)
    .fewest(5);
    c.add(
        "american_put_steps",
        ["payoff", "steps"],
        "r",
        [v(9).positive(), s(4.0)],
        |payoff: VExp<f32>, steps: SExp<i64>| {
            payoff.iterate(steps, |v| {
                let w = v.padded(1, 1, Boundary::Clamp).windows(3);
                let kept = 0.25 * w[0] + 0.46875 * w[1] + 0.25 * w[2];
                kept.zip_with(payoff, |k, p| k.max(p))
            })
        },
        |[payoff, _]| {
            let mut v = payoff.clone();
            for _ in 0..4 {
                let b = v.clone();
                v = Array::vector(9, |i| {
                    let kept = 0.25 * b[i.max(1) - 1] + 0.46875 * b[i] + 0.25 * b[(i + 1).min(8)];
                    kept.max(payoff[i])
                });
            }
            v
        },
    )
    .fewest(4);
    c.add(
        "price_grid",
        ["spots", "strikes", "sigma"],
        "r",
        [v(7).positive(), v(9).positive(), s(0.25)],
        |spots: VExp<f32>, strikes: VExp<f32>, sigma: SExp<f32>| {
            spots.outer(strikes, |s, k| {
                let d1 = ((s / k).log() + sigma * sigma * 0.5) / sigma;
                s * d1.normcdf() - k * (d1 - sigma).normcdf()
            })
        },
        |[spots, strikes, sigma]| {
            Array::matrix(7, 9, |i, j| {
                let (s, k, g) = (spots[i], strikes[j], sigma.value());
                let d1 = ((s / k).ln() + g * g / 2.0) / g;
                s * normcdf(d1) - k * normcdf(d1 - g)
            })
        },
    );
}

fn portfolios(c: &mut Corpus) {
    c.add(
        "portfolio_variance",
        ["w", "cov"],
        "r",
        [v(9), m(9, 9)],
        |w: VExp<f32>, cov: MExp<f32>| cov.map_rows(|r| r.dot(w)).dot(w),
        |[w, cov]| dot(&by_vector(cov, &w.elements), &w.elements),
    )
    .because(reason::FLATTENED)
    .fewest(1);
    c.add(
        "scenario_losses",
        ["scenarios", "w"],
        "mean worst",
        [m(8, 9), v(9)],
        |scenarios: MExp<f32>, w: VExp<f32>| {
            let loss = scenarios.map_rows(|r| r.dot(w));
            (loss.sum() / loss.len().cast::<f32>(), loss.max())
        },
        |[scenarios, w]| {
            let loss = by_vector(scenarios, &w.elements);
            (loss.iter().sum::<f64>() / 8.0, loss.iter().copied().fold(f64::MIN, f64::max))
        },
    )
    .because(reason::FLATTENED);
    c.add(
        "expected_shortfall",
        ["losses", "limit"],
        "r",
        [v(40), s(0.5)],
        |losses: VExp<f32>, limit: SExp<f32>| {
            let sum = losses.map(|x| cond(x.gt(limit), x, 0.0)).sum();
            let count = losses.map(|x| cond(x.gt(limit), lit(1.0f32), 0.0)).sum();
            sum / count.max(1.0)
        },
        |[losses, limit]| {
            let above: Vec<f64> = losses.elements.iter().copied().filter(|x| *x > limit.value()).collect();
            above.iter().sum::<f64>() / (above.len() as f64).max(1.0)
        },
    );
    c.add(
        "discounted_flows",
        ["flows", "rates"],
        "r",
        [m(7, 9), v(9).unit().of(|x| x / 16.0)],
        |flows: MExp<f32>, rates: VExp<f32>| {
            let factors = generate(rates.len(), |t| (-(rates.at(t)) * (t + 1).cast::<f32>()).exp());
            flows.map_rows(|r| r.dot(factors))
        },
        |[flows, rates]| {
            let factors: Vec<f64> = (0..9).map(|t| (-rates[t] * (t + 1) as f64).exp()).collect();
            by_vector(flows, &factors)
        },
    )
    .fewest(2);
    c.add(
        "sharpe_ratios",
        ["returns", "rate"],
        "r",
        [m(9, 7), s(0.125)],
        |returns: MExp<f32>, rate: SExp<f32>| {
            returns.map_cols(|c| {
                let n = c.len().cast::<f32>();
                let mean = c.sum() / n;
                let deviation = (c.map(|x| (x - mean) * (x - mean)).sum() / n).sqrt();
                (mean - rate) / deviation
            })
        },
        |[returns, rate]| {
            Array::vector(7, |j| {
                let c = returns.col(j);
                let mean = c.iter().sum::<f64>() / 9.0;
                let variance = c.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 9.0;
                (mean - rate.value()) / variance.sqrt()
            })
        },
    )
    .because(reason::APART);
    c.add(
        "yield_interpolation",
        ["curve", "times"],
        "r",
        [v(9), v(40).unit().of(|x| x * 7.5)],
        |curve: VExp<f32>, times: VExp<f32>| {
            times.map(|t| {
                let k = t.floor().cast::<i64>().max(0).min(curve.len() - 2);
                let f = t - k.cast::<f32>();
                curve.at(k) * (1.0 - f) + curve.at(k + 1) * f
            })
        },
        |[curve, times]| {
            times.map(|t| {
                let k = (t.floor() as usize).min(7);
                let f = t - k as f64;
                curve[k] * (1.0 - f) + curve[k + 1] * f
            })
        },
    );
}

fn series(c: &mut Corpus) {
    c.add(
        "log_returns",
        ["p"],
        "r",
        [v(40).positive()],
        |p: VExp<f32>| {
            let w = p.log().windows(2);
            w[1] - w[0]
        },
        |[p]| Array::vector(39, |i| (p[i + 1] / p[i]).ln()),
    );
    c.add(
        "realised_volatility",
        ["p"],
        "r",
        [v(40).positive()],
        |p: VExp<f32>| {
            let w = p.windows(2);
            let r = (w[1] / w[0]).log();
            (r.dot(r) / r.len().cast::<f32>()).sqrt()
        },
        |[p]| {
            let r: Vec<f64> = (0..39).map(|i| (p[i + 1] / p[i]).ln()).collect();
            (dot(&r, &r) / 39.0).sqrt()
        },
    );
    c.add(
        "crossover_signal",
        ["p"],
        "r",
        [v(40)],
        |p: VExp<f32>| {
            let n = p.len();
            let long = p.windows(10).into_iter().sum::<VExp<f32>>() * 0.1;
            let short = p.slice(6, n).windows(4).into_iter().sum::<VExp<f32>>() * 0.25;
            short.gt(long).cast::<i32>() - short.lt(long).cast::<i32>()
        },
        |[p]| {
            Array::vector(31, |i| {
                let long = p.elements[i..i + 10].iter().sum::<f64>() / 10.0;
                let short = p.elements[i + 6..i + 10].iter().sum::<f64>() / 4.0;
                if (short - long).abs() < 1e-6 { 0.0 } else { (short - long).signum() }
            })
        },
    );
    c.add(
        "largest_drawdown",
        ["p"],
        "r",
        [v(40).positive()],
        |p: VExp<f32>| {
            let peak = p.scan(0.0, |a, b| a.max(b));
            ((peak - p) / peak).max()
        },
        |[p]| {
            let (mut peak, mut worst) = (0.0f64, 0.0f64);
            for x in &p.elements {
                peak = peak.max(*x);
                worst = worst.max((peak - x) / peak);
            }
            worst
        },
    )
    .because(reason::SCAN);
}

fn simulations(c: &mut Corpus) {
    c.add(
        "geometric_paths",
        ["z", "drift", "sigma"],
        "r",
        [m(8, 9), s(0.03125), s(0.125)],
        |z: MExp<f32>, drift: SExp<f32>, sigma: SExp<f32>| z.map_rows(|r| (r * sigma + drift).sum().exp()),
        |[z, drift, sigma]| {
            Array::vector(8, |i| {
                z.row(i).iter().map(|z| z * sigma.value() + drift.value()).sum::<f64>().exp()
            })
        },
    );
    c.add(
        "asian_option",
        ["z", "strike"],
        "r",
        [m(8, 9), s(1.0)],
        |z: MExp<f32>, strike: SExp<f32>| {
            let payoff = z.map_rows(|r| {
                let (_, sum) = (r,).fold((0.0f32, 0.0f32), |(x, sum), (z,)| {
                    let x = x + z * 0.125;
                    (x, sum + x.exp())
                });
                (sum / r.len().cast::<f32>() - strike).max(0.0)
            });
            payoff.sum() / payoff.len().cast::<f32>()
        },
        |[z, strike]| {
            let payoff = |i: usize| {
                let (mut x, mut sum) = (0.0, 0.0);
                for z in z.row(i) {
                    x += z * 0.125;
                    sum += f64::exp(x);
                }
                (sum / 9.0 - strike.value()).max(0.0)
            };
            (0..8).map(payoff).sum::<f64>() / 8.0
        },
    )
    .because(reason::FLATTENED);
    c.add(
        "hash_random_payoffs",
        ["n"],
        "r",
        [s(40.0)],
        |n: SExp<i64>| {
            let payoff = generate(n, |i| {
                let a = (i.cast::<u32>() * 1664525u32 + 1013904223u32) >> 8u32;
                let u = a.cast::<f32>() * 5.9604645e-8;
                (u - 0.5).max(0.0)
            });
            payoff.sum() / n.cast::<f32>()
        },
        |[_]| {
            let payoff = |i: u32| {
                let a = i.wrapping_mul(1664525).wrapping_add(1013904223) >> 8;
                (f64::from(a) * 5.9604645e-8 - 0.5).max(0.0)
            };
            (0..40).map(payoff).sum::<f64>() / 40.0
        },
    );
}
