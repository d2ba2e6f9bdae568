//! Image filters, as they are written for CUDA and NumPy.

use crate::array::{Array, m, s, t, v};
use crate::program::Corpus;
use crate::reason;
use arraygpu::prelude::*;

/// A filter of a matrix by weights, the edges repeated.
fn filtered(u: &Array, w: &[Vec<f64>]) -> Array {
    let (a, b) = (w.len() as i64 / 2, w[0].len() as i64 / 2);
    Array::matrix(u.rows(), u.cols(), |i, j| {
        let mut sum = 0.0;
        for (p, row) in (0..).zip(w) {
            for (q, w) in (0..).zip(row) {
                sum += w * u.clamped(i as i64 + p - a, j as i64 + q - b);
            }
        }
        sum
    })
}

fn neighbours(u: &Array, i: usize, j: usize) -> Vec<f64> {
    let near = |a: i64, b: i64| u.clamped(i as i64 + a, j as i64 + b);
    (-1..=1).flat_map(|a| (-1..=1).map(move |b| near(a, b))).collect()
}

/// Adds the programs.
pub fn add(c: &mut Corpus) {
    convolutions(c);
    neighbourhoods(c);
    colours(c);
    geometry(c);
}

const BINOMIAL: [f32; 5] = [0.0625, 0.25, 0.375, 0.25, 0.0625];

fn convolutions(c: &mut Corpus) {
    c.add(
        "box_blur_5",
        ["u"],
        "r",
        [m(8, 9)],
        |u: MExp<f32>| {
            let w = u.padded([2, 2], [2, 2], Boundary::Clamp).windows2(5, 5);
            w.into_iter().flatten().sum::<MExp<f32>>() * 0.04
        },
        |[u]| filtered(u, &vec![vec![0.04; 5]; 5]),
    );
    c.add(
        "gaussian_separable",
        ["u"],
        "r",
        [m(8, 9)],
        |u: MExp<f32>| {
            let rows = u.padded([0, 0], [2, 2], Boundary::Clamp).weighted_sum2(&[BINOMIAL]);
            rows.padded([2, 2], [0, 0], Boundary::Clamp).weighted_sum2(&BINOMIAL.map(|w| [w]))
        },
        |[u]| {
            let w: Vec<f64> = BINOMIAL.iter().map(|w| f64::from(*w)).collect();
            filtered(&filtered(u, std::slice::from_ref(&w)), &w.iter().map(|w| vec![*w]).collect::<Vec<_>>())
        },
    )
    .because(reason::CHAIN);
    c.add(
        "unsharp_mask",
        ["u", "amount"],
        "r",
        [m(8, 9).unit(), s(0.5)],
        |u: MExp<f32>, amount: SExp<f32>| {
            let w = u.padded([1, 1], [1, 1], Boundary::Clamp).windows2(3, 3);
            let blurred = w.into_iter().flatten().sum::<MExp<f32>>() / 9.0;
            (u + amount * (u - blurred)).map(|x| x.max(0.0).min(1.0))
        },
        |[u, amount]| {
            let blurred = filtered(u, &vec![vec![1.0 / 9.0; 3]; 3]);
            Array::matrix(8, 9, |i, j| {
                (u[[i, j]] + amount.value() * (u[[i, j]] - blurred[[i, j]])).clamp(0.0, 1.0)
            })
        },
    );
    c.add(
        "sobel",
        ["u"],
        "r",
        [m(8, 9)],
        |u: MExp<f32>| {
            let p = u.padded([1, 1], [1, 1], Boundary::Clamp);
            let gx = p.weighted_sum2(&[[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]]);
            let gy = p.weighted_sum2(&[[-1.0, -2.0, -1.0], [0.0, 0.0, 0.0], [1.0, 2.0, 1.0]]);
            (gx * gx + gy * gy).sqrt()
        },
        |[u]| {
            let gx = filtered(u, &[vec![-1., 0., 1.], vec![-2., 0., 2.], vec![-1., 0., 1.]]);
            let gy = filtered(u, &[vec![-1., -2., -1.], vec![0., 0., 0.], vec![1., 2., 1.]]);
            Array::matrix(8, 9, |i, j| gx[[i, j]].hypot(gy[[i, j]]))
        },
    );
    c.add(
        "canny_gradient",
        ["u"],
        "r",
        [m(8, 9)],
        |u: MExp<f32>| {
            let smooth = u.padded([1, 1], [1, 1], Boundary::Clamp).weighted_sum2(&[
                [0.0625, 0.125, 0.0625],
                [0.125, 0.25, 0.125],
                [0.0625, 0.125, 0.0625],
            ]);
            let w = smooth.padded([1, 1], [1, 1], Boundary::Clamp).windows2(3, 3);
            (w[1][2] - w[1][0]).hypot(w[2][1] - w[0][1])
        },
        |[u]| {
            let w = [vec![0.0625, 0.125, 0.0625], vec![0.125, 0.25, 0.125], vec![0.0625, 0.125, 0.0625]];
            let s = filtered(u, &w);
            Array::matrix(8, 9, |i, j| {
                let n = neighbours(&s, i, j);
                (n[5] - n[3]).hypot(n[7] - n[1])
            })
        },
    )
    .because(reason::CHAIN);
    c.add(
        "difference_of_gaussians",
        ["u"],
        "r",
        [m(8, 9)],
        |u: MExp<f32>| {
            let small = u.padded([1, 1], [1, 1], Boundary::Clamp).weighted_sum2(&[
                [0.0625f32, 0.125, 0.0625],
                [0.125, 0.25, 0.125],
                [0.0625, 0.125, 0.0625],
            ]);
            let wide: Vec<Vec<f32>> =
                BINOMIAL.iter().map(|a| BINOMIAL.iter().map(|b| a * b).collect()).collect();
            small - u.padded([2, 2], [2, 2], Boundary::Clamp).weighted_sum2(&wide)
        },
        |[u]| {
            let w = [vec![0.0625, 0.125, 0.0625], vec![0.125, 0.25, 0.125], vec![0.0625, 0.125, 0.0625]];
            let b: Vec<f64> = BINOMIAL.iter().map(|w| f64::from(*w)).collect();
            let wide: Vec<Vec<f64>> = b.iter().map(|x| b.iter().map(|y| x * y).collect()).collect();
            let (small, wide) = (filtered(u, &w), filtered(u, &wide));
            Array::matrix(8, 9, |i, j| small[[i, j]] - wide[[i, j]])
        },
    );
    c.add(
        "convolution_by_weights",
        ["u", "w"],
        "r",
        [m(8, 9), m(3, 3)],
        |u: MExp<f32>, w: MExp<f32>| {
            generate2(u.rows() - w.rows() + 1, u.cols() - w.cols() + 1, |i, j| {
                generate2(w.rows(), w.cols(), |a, b| w.at(a, b) * u.at(i + a, j + b)).sum()
            })
        },
        |[u, w]| {
            Array::matrix(6, 7, |i, j| (0..9).map(|k| w[[k / 3, k % 3]] * u[[i + k / 3, j + k % 3]]).sum())
        },
    );
    c.add(
        "integral_image_box",
        ["u", "r"],
        "result",
        [m(8, 9), s(2.0)],
        |u: MExp<f32>, r: SExp<i64>| {
            let (n, k) = (u.rows(), u.cols());
            let side = 2 * r + 1;
            generate2(n, k, |i, j| {
                let sum = generate2(side, side, |a, b| {
                    u.at((i + a - r).max(0).min(n - 1), (j + b - r).max(0).min(k - 1))
                });
                sum.sum() / (side * side).cast::<f32>()
            })
        },
        |[u, _]| filtered(u, &vec![vec![0.04; 5]; 5]),
    );
}

fn neighbourhoods(c: &mut Corpus) {
    c.add(
        "dilation",
        ["u"],
        "r",
        [m(8, 9)],
        |u: MExp<f32>| {
            let w = u.padded([1, 1], [1, 1], Boundary::Clamp).windows2(3, 3);
            let max = |a: MExp<f32>, b: MExp<f32>| a.zip_with(b, |a, b| a.max(b));
            w.into_iter().flatten().reduce(max).unwrap()
        },
        |[u]| Array::matrix(8, 9, |i, j| neighbours(u, i, j).into_iter().fold(f64::MIN, f64::max)),
    );
    c.add(
        "opening",
        ["u"],
        "r",
        [m(8, 9)],
        |u: MExp<f32>| {
            let around =
                |u: MExp<f32>| u.padded([1, 1], [1, 1], Boundary::Clamp).windows2(3, 3).into_iter().flatten();
            let low = around(u).reduce(|a, b| a.zip_with(b, |a, b| a.min(b))).unwrap();
            around(low).reduce(|a, b| a.zip_with(b, |a, b| a.max(b))).unwrap()
        },
        |[u]| {
            let low = Array::matrix(8, 9, |i, j| neighbours(u, i, j).into_iter().fold(f64::MAX, f64::min));
            Array::matrix(8, 9, |i, j| neighbours(&low, i, j).into_iter().fold(f64::MIN, f64::max))
        },
    )
    .because(reason::CHAIN);
    c.add(
        "median_3x3",
        ["u"],
        "r",
        [m(8, 9)],
        |u: MExp<f32>| {
            let mut p: Vec<MExp<f32>> =
                u.padded([1, 1], [1, 1], Boundary::Clamp).windows2(3, 3).into_iter().flatten().collect();
            let pairs = [
                (1, 2),
                (4, 5),
                (7, 8),
                (0, 1),
                (3, 4),
                (6, 7),
                (1, 2),
                (4, 5),
                (7, 8),
                (0, 3),
                (5, 8),
                (4, 7),
                (3, 6),
                (1, 4),
                (2, 5),
                (4, 7),
                (4, 2),
                (6, 4),
                (4, 2),
            ];
            for (a, b) in pairs {
                let low = p[a].zip_with(p[b], |x, y| x.min(y));
                let high = p[a].zip_with(p[b], |x, y| x.max(y));
                (p[a], p[b]) = (low, high);
            }
            p[4]
        },
        |[u]| {
            Array::matrix(8, 9, |i, j| {
                let mut n = neighbours(u, i, j);
                n.sort_by(f64::total_cmp);
                n[4]
            })
        },
    );
    c.add(
        "bilateral",
        ["u", "sigma"],
        "r",
        [m(8, 9), s(0.5)],
        |u: MExp<f32>, sigma: SExp<f32>| {
            let w = u.padded([2, 2], [2, 2], Boundary::Clamp).windows2(5, 5);
            let scale = -0.5 / (sigma * sigma);
            let weights: Vec<MExp<f32>> = w
                .iter()
                .flatten()
                .map(|x| x.zip_with(u, |a, b| slet(a - b, |d| (d * d * scale).exp())))
                .collect();
            let top: MExp<f32> = w.iter().flatten().zip(&weights).map(|(x, w)| *x * *w).sum();
            top / weights.iter().sum::<MExp<f32>>()
        },
        |[u, sigma]| {
            Array::matrix(8, 9, |i, j| {
                let (mut top, mut all) = (0.0, 0.0);
                for a in -2..=2 {
                    for b in -2..=2 {
                        let x = u.clamped(i as i64 + a, j as i64 + b);
                        let w = (-(x - u[[i, j]]).powi(2) / (2.0 * sigma.value().powi(2))).exp();
                        (top, all) = (top + w * x, all + w);
                    }
                }
                top / all
            })
        },
    );
    c.add(
        "non_local_means",
        ["u", "h"],
        "r",
        [m(10, 11), s(1.5)],
        |u: MExp<f32>, h: SExp<f32>| {
            let (n, k) = (u.rows(), u.cols());
            let at = |i: SExp<i64>, j: SExp<i64>| u.at(i.max(0).min(n - 1), j.max(0).min(k - 1));
            generate2(n, k, |i, j| {
                let weight = |a: SExp<i64>, b: SExp<i64>| {
                    let patch = generate2(3, 3, |p, q| {
                        slet(at(i + p - 1, j + q - 1) - at(i + a + p - 1, j + b + q - 1), |d| d * d)
                    });
                    (-patch.sum() / (h * h)).exp()
                };
                let (w, x) =
                    generate2(5, 5, |a, b| slet(weight(a - 2, b - 2), |w| (w, w * at(i + a - 2, j + b - 2))));
                x.sum() / w.sum()
            })
        },
        |[u, h]| {
            Array::matrix(10, 11, |i, j| {
                let (i, j) = (i as i64, j as i64);
                let (mut top, mut all) = (0.0, 0.0);
                for a in -2..=2 {
                    for b in -2..=2 {
                        let mut d = 0.0;
                        for p in -1..=1 {
                            for q in -1..=1 {
                                d += (u.clamped(i + p, j + q) - u.clamped(i + a + p, j + b + q)).powi(2);
                            }
                        }
                        let w = (-d / h.value().powi(2)).exp();
                        (top, all) = (top + w * u.clamped(i + a, j + b), all + w);
                    }
                }
                top / all
            })
        },
    );
    c.add(
        "harris_corners",
        ["u"],
        "r",
        [m(10, 11)],
        |u: MExp<f32>| {
            let w = u.windows2(3, 3);
            let (gx, gy) = ((w[1][2] - w[1][0]) * 0.5, (w[2][1] - w[0][1]) * 0.5);
            let sum = |x: MExp<f32>| x.windows2(3, 3).into_iter().flatten().sum::<MExp<f32>>();
            let (a, b, c) = (sum(gx * gx), sum(gx * gy), sum(gy * gy));
            a * c - b * b - 0.0625 * (a + c) * (a + c)
        },
        |[u]| {
            let g = |i: usize, j: usize| {
                ((u[[i + 1, j + 2]] - u[[i + 1, j]]) / 2.0, (u[[i + 2, j + 1]] - u[[i, j + 1]]) / 2.0)
            };
            Array::matrix(6, 7, |i, j| {
                let (mut a, mut b, mut c) = (0.0, 0.0, 0.0);
                for k in 0..9 {
                    let (x, y) = g(i + k / 3, j + k % 3);
                    (a, b, c) = (a + x * x, b + x * y, c + y * y);
                }
                a * c - b * b - 0.0625 * (a + c).powi(2)
            })
        },
    )
    .because(reason::HALO);
    c.add(
        "anisotropic_diffusion",
        ["u", "kappa"],
        "r",
        [m(8, 9), s(1.5)],
        |u: MExp<f32>, kappa: SExp<f32>| {
            u.iterate(3, |u| {
                let w = u.padded([1, 1], [1, 1], Boundary::Clamp).windows2(3, 3);
                let flow = |x: MExp<f32>| {
                    let d = x - u;
                    d.map(|d| d * (-(d * d) / (kappa * kappa)).exp())
                };
                u + 0.125 * (flow(w[0][1]) + flow(w[2][1]) + flow(w[1][0]) + flow(w[1][2]))
            })
        },
        |[u, kappa]| {
            let mut u = u.clone();
            for _ in 0..3 {
                let b = u.clone();
                let flow = |d: f64| d * (-d * d / kappa.value().powi(2)).exp();
                u = Array::matrix(8, 9, |i, j| {
                    let n = neighbours(&b, i, j);
                    n[4] + 0.125 * [1, 3, 5, 7].iter().map(|k| flow(n[*k] - n[4])).sum::<f64>()
                });
            }
            u
        },
    )
    .fewest(3);
}

fn colours(c: &mut Corpus) {
    c.add(
        "grey_of_planes",
        ["u"],
        "r",
        [t(3, 8, 9).unit()],
        |u: TExp<f32>| 0.299 * u.plane(0) + 0.587 * u.plane(1) + 0.114 * u.plane(2),
        |[u]| Array::matrix(8, 9, |i, j| 0.299 * u[[0, i, j]] + 0.587 * u[[1, i, j]] + 0.114 * u[[2, i, j]]),
    );
    c.add(
        "colour_matrix",
        ["u", "w"],
        "r",
        [t(3, 8, 9).unit(), m(3, 3)],
        |u: TExp<f32>, w: MExp<f32>| {
            generate3(3, u.rows(), u.cols(), |p, i, j| generate(3, |q| w.at(p, q) * u.at(q, i, j)).sum())
        },
        |[u, w]| Array::tensor([3, 8, 9], |p, i, j| (0..3).map(|q| w[[p, q]] * u[[q, i, j]]).sum()),
    );
    c.add(
        "saturation",
        ["u"],
        "r",
        [t(3, 8, 9).unit()],
        |u: TExp<f32>| {
            u.plane(0).zip3(u.plane(1), u.plane(2), |r, g, b| {
                let (high, low) = (r.max(g).max(b), r.min(g).min(b));
                cond(high.gt(0.0), (high - low) / high.max(0.0009765625), 0.0)
            })
        },
        |[u]| {
            Array::matrix(8, 9, |i, j| {
                let x = [u[[0, i, j]], u[[1, i, j]], u[[2, i, j]]];
                let (high, low) =
                    (x.iter().copied().fold(0.0, f64::max), x.iter().copied().fold(2.0, f64::min));
                if high > 0.0 { (high - low) / high.max(0.0009765625) } else { 0.0 }
            })
        },
    );
    c.add(
        "gamma_of_bytes",
        ["u"],
        "r",
        [m(8, 9).below(256)],
        |u: MExp<u8>| ((u.cast::<f32>() / 255.0).powf(0.4545) * 255.0).round().cast::<u8>(),
        |[u]| u.map(|x| ((x / 255.0).powf(0.4545) * 255.0).round()),
    )
    .within(0.01)
    .because(reason::TABLE);
    c.add(
        "contrast_stretch",
        ["u"],
        "r",
        [m(8, 9)],
        |u: MExp<f32>| (u - u.min()) / (u.max() - u.min()),
        |[u]| {
            let low = u.elements.iter().copied().fold(f64::MAX, f64::min);
            let high = u.elements.iter().copied().fold(f64::MIN, f64::max);
            u.map(|x| (x - low) / (high - low))
        },
    )
    .fewest(2);
    c.add(
        "alpha_blend",
        ["a", "b", "alpha"],
        "r",
        [t(3, 8, 9), t(3, 8, 9), m(8, 9).unit()],
        |a: TExp<f32>, b: TExp<f32>, alpha: MExp<f32>| {
            let w = alpha.broadcast_planes(a.planes());
            a * w + b * (1.0 - w)
        },
        |[a, b, alpha]| {
            Array::tensor([3, 8, 9], |p, i, j| {
                a[[p, i, j]] * alpha[[i, j]] + b[[p, i, j]] * (1.0 - alpha[[i, j]])
            })
        },
    );
    c.add(
        "histogram",
        ["u", "bins"],
        "r",
        [m(8, 9).below(6), v(6).at(|k| k as f64)],
        |u: MExp<i32>, bins: VExp<i32>| bins.map(|b| u.map(|x| cond(x.eq(b), lit(1i32), 0i32)).sum()),
        |[u, bins]| bins.map(|b| u.elements.iter().filter(|x| **x == b).count() as f64),
    );
    c.add(
        "threshold_by_mean",
        ["u"],
        "r",
        [m(8, 9)],
        |u: MExp<f32>| {
            let mean = u.sum() / (u.rows() * u.cols()).cast::<f32>();
            u.map(|x| cond(x.gt(mean), lit(255u8), 0u8))
        },
        |[u]| {
            let mean = u.elements.iter().sum::<f64>() / 72.0;
            u.map(|x| if x > mean { 255.0 } else { 0.0 })
        },
    )
    .because(reason::PASSES)
    .fewest(2);
}

fn geometry(c: &mut Corpus) {
    c.add(
        "bilinear_resize",
        ["u", "rows", "cols"],
        "r",
        [m(8, 9), s(5.0), s(6.0)],
        |u: MExp<f32>, rows: SExp<i64>, cols: SExp<i64>| {
            let (n, k) = (u.rows(), u.cols());
            generate2(rows, cols, |i, j| {
                let y = (i * (n - 1)).cast::<f32>() / (rows - 1).cast::<f32>();
                let x = (j * (k - 1)).cast::<f32>() / (cols - 1).cast::<f32>();
                let (p, q) = (y.floor().cast::<i64>(), x.floor().cast::<i64>());
                let (a, b) = (y - y.floor(), x - x.floor());
                let (p1, q1) = ((p + 1).min(n - 1), (q + 1).min(k - 1));
                (1.0 - a) * ((1.0 - b) * u.at(p, q) + b * u.at(p, q1))
                    + a * ((1.0 - b) * u.at(p1, q) + b * u.at(p1, q1))
            })
        },
        |[u, _, _]| {
            Array::matrix(5, 6, |i, j| {
                let (y, x) = (i as f64 * 7.0 / 4.0, j as f64 * 8.0 / 5.0);
                let (p, q) = (y.floor() as i64, x.floor() as i64);
                let (a, b) = (y.fract(), x.fract());
                (1.0 - a) * ((1.0 - b) * u.clamped(p, q) + b * u.clamped(p, q + 1))
                    + a * ((1.0 - b) * u.clamped(p + 1, q) + b * u.clamped(p + 1, q + 1))
            })
        },
    )
    .because(reason::FEWER);
    c.add(
        "rotation_90",
        ["u"],
        "r",
        [m(8, 9)],
        |u: MExp<f32>| u.transpose().reverse_cols(),
        |[u]| Array::matrix(9, 8, |i, j| u[[7 - j, i]]),
    );
    c.add(
        "warp_by_flow",
        ["u", "dy", "dx"],
        "r",
        [m(8, 9), m(8, 9).below(3), m(8, 9).below(3)],
        |u: MExp<f32>, dy: MExp<f32>, dx: MExp<f32>| {
            let (n, k) = (u.rows(), u.cols());
            generate2(n, k, |i, j| {
                let p = (i + dy.at(i, j).cast::<i64>()).max(0).min(n - 1);
                let q = (j + dx.at(i, j).cast::<i64>()).max(0).min(k - 1);
                u.at(p, q)
            })
        },
        |[u, dy, dx]| {
            Array::matrix(8, 9, |i, j| u.clamped(i as i64 + dy[[i, j]] as i64, j as i64 + dx[[i, j]] as i64))
        },
    );
    c.add(
        "pyramid_two_levels",
        ["u"],
        "a b",
        [m(8, 12)],
        |u: MExp<f32>| {
            let half = |u: MExp<f32>| {
                let (n, k) = (u.rows(), u.cols());
                let part = |a: i64, b: i64| u.slice_by(a, n, 2, b, k, 2);
                (part(0, 0) + part(0, 1) + part(1, 0) + part(1, 1)) * 0.25
            };
            let a = half(u);
            (a, half(a))
        },
        |[u]| {
            let half = |u: &Array| {
                Array::matrix(u.rows() / 2, u.cols() / 2, |i, j| {
                    let (i, j) = (2 * i, 2 * j);
                    (u[[i, j]] + u[[i, j + 1]] + u[[i + 1, j]] + u[[i + 1, j + 1]]) / 4.0
                })
            };
            let a = half(u);
            let b = half(&a);
            (a, b)
        },
    )
    .because(reason::RESULT_AGAIN);
    c.add(
        "projections",
        ["u"],
        "rows cols",
        [m(8, 9)],
        |u: MExp<f32>| (u.sum_rows(), u.sum_cols()),
        |[u]| (Array::vector(8, |i| u.row(i).iter().sum()), Array::vector(9, |j| u.col(j).iter().sum())),
    )
    .because(reason::BOTH);
}
