//! Fluids.

use crate::array::{Array, m, v};
use crate::program::Corpus;
use arraygpu::prelude::*;

/// Adds the programs.
pub fn add(c: &mut Corpus) {
    c.add(
        "pressure_projection",
        ["u", "v", "p"],
        "a b",
        [m(8, 9), m(8, 9), m(8, 9)],
        |u: MExp<f32>, v: MExp<f32>, p: MExp<f32>| {
            let around = |x: MExp<f32>| x.padded([1, 1], [1, 1], Boundary::Wrap).windows2(3, 3);
            let (a, b) = (around(u), around(v));
            let div = 0.5 * ((a[1][2] - a[1][0]) + (b[2][1] - b[0][1]));
            let p = p.iterate(3, |p| {
                let w = around(p);
                0.25 * (w[0][1] + w[1][0] + w[1][2] + w[2][1] - div)
            });
            let w = around(p);
            (u - 0.5 * (w[1][2] - w[1][0]), v - 0.5 * (w[2][1] - w[0][1]))
        },
        |[u, v, p]| {
            let at = |x: &Array, i: usize, j: usize, a: i64, b: i64| x.wrapped(i as i64 + a, j as i64 + b);
            let div = Array::matrix(8, 9, |i, j| {
                let du = at(u, i, j, 0, 1) - at(u, i, j, 0, -1);
                0.5 * (du + at(v, i, j, 1, 0) - at(v, i, j, -1, 0))
            });
            let mut p = p.clone();
            for _ in 0..3 {
                p = Array::matrix(8, 9, |i, j| {
                    let n = |a, b| at(&p, i, j, a, b);
                    0.25 * (n(-1, 0) + n(0, -1) + n(0, 1) + n(1, 0) - div[[i, j]])
                });
            }
            (
                Array::matrix(8, 9, |i, j| u[[i, j]] - 0.5 * (at(&p, i, j, 0, 1) - at(&p, i, j, 0, -1))),
                Array::matrix(8, 9, |i, j| v[[i, j]] - 0.5 * (at(&p, i, j, 1, 0) - at(&p, i, j, -1, 0))),
            )
        },
    )
    .fewest(5);
    c.add(
        "semi_lagrangian",
        ["q", "u", "v"],
        "r",
        [m(8, 9), m(8, 9), m(8, 9)],
        |q: MExp<f32>, u: MExp<f32>, v: MExp<f32>| {
            let (n, k) = (q.rows(), q.cols());
            generate2(n, k, |i, j| {
                let y = (i.cast::<f32>() - v.at(i, j)).max(0.0).min((n - 1).cast::<f32>());
                let x = (j.cast::<f32>() - u.at(i, j)).max(0.0).min((k - 1).cast::<f32>());
                let (p, r) = (y.floor().cast::<i64>().min(n - 2), x.floor().cast::<i64>().min(k - 2));
                let (a, b) = (y - p.cast::<f32>(), x - r.cast::<f32>());
                (1.0 - a) * ((1.0 - b) * q.at(p, r) + b * q.at(p, r + 1))
                    + a * ((1.0 - b) * q.at(p + 1, r) + b * q.at(p + 1, r + 1))
            })
        },
        |[q, u, v]| {
            Array::matrix(8, 9, |i, j| {
                let y = (i as f64 - v[[i, j]]).clamp(0.0, 7.0);
                let x = (j as f64 - u[[i, j]]).clamp(0.0, 8.0);
                let (p, r) = ((y as usize).min(6), (x as usize).min(7));
                let (a, b) = (y - p as f64, x - r as f64);
                (1.0 - a) * ((1.0 - b) * q[[p, r]] + b * q[[p, r + 1]])
                    + a * ((1.0 - b) * q[[p + 1, r]] + b * q[[p + 1, r + 1]])
            })
        },
    );
    c.add(
        "lattice_boltzmann_collision",
        ["f"],
        "r",
        [m(9, 40).positive()],
        |f: MExp<f32>| {
            let cx = [0.0f32, 1.0, 0.0, -1.0, 0.0, 1.0, -1.0, -1.0, 1.0];
            let cy = [0.0f32, 0.0, 1.0, 0.0, -1.0, 1.0, 1.0, -1.0, -1.0];
            let rows: Vec<VExp<f32>> = (0..9).map(|k| f.row(k)).collect();
            let rho: VExp<f32> = rows.iter().sum();
            let along = |c: [f32; 9]| rows.iter().zip(c).map(|(f, c)| c * *f).sum::<VExp<f32>>() / rho;
            let (ux, uy) = (along(cx), along(cy));
            let mut energy = fill(rho.len(), 0.0f32);
            for k in 0..9 {
                let w = if k == 0 {
                    0.44444445
                } else if k < 5 {
                    0.11111111
                } else {
                    0.027777778f32
                };
                let cu = cx[k] * ux + cy[k] * uy;
                let eq = w * rho * (1.0 + 3.0 * cu + 4.5 * cu * cu - 1.5 * (ux * ux + uy * uy));
                let next = rows[k] - 0.5 * (rows[k] - eq);
                energy += next * next;
            }
            energy
        },
        |[f]| {
            let cx = [0.0, 1.0, 0.0, -1.0, 0.0, 1.0, -1.0, -1.0, 1.0];
            let cy = [0.0, 0.0, 1.0, 0.0, -1.0, 1.0, 1.0, -1.0, -1.0];
            Array::vector(40, |x| {
                let f: Vec<f64> = (0..9).map(|k| f[[k, x]]).collect();
                let rho: f64 = f.iter().sum();
                let ux = (0..9).map(|k| cx[k] * f[k]).sum::<f64>() / rho;
                let uy = (0..9).map(|k| cy[k] * f[k]).sum::<f64>() / rho;
                (0..9)
                    .map(|k| {
                        let w = [4.0 / 9.0, 1.0 / 9.0, 1.0 / 36.0][if k == 0 {
                            0
                        } else if k < 5 {
                            1
                        } else {
                            2
                        }];
                        let cu = cx[k] * ux + cy[k] * uy;
                        let eq = w * rho * (1.0 + 3.0 * cu + 4.5 * cu * cu - 1.5 * (ux * ux + uy * uy));
                        (f[k] - 0.5 * (f[k] - eq)).powi(2)
                    })
                    .sum()
            })
        },
    )
    .keep(10);
    c.add(
        "shallow_water_flux",
        ["h", "u"],
        "hn un",
        [v(12).positive(), v(12)],
        |h: VExp<f32>, u: VExp<f32>| {
            let flux = (h * u, h * u * u + 4.9 * h * h);
            let change = |f: VExp<f32>| {
                let w = f.padded(1, 1, Boundary::Clamp).windows(3);
                0.0625 * (w[2] - w[0])
            };
            (h - change(flux.0), h * u - change(flux.1))
        },
        |[h, u]| {
            let f = |i: usize| (h[i] * u[i], h[i] * u[i] * u[i] + 4.9 * h[i] * h[i]);
            let ends = |i: usize| (f(i.max(1) - 1), f((i + 1).min(11)));
            (
                Array::vector(12, |i| h[i] - 0.0625 * (ends(i).1.0 - ends(i).0.0)),
                Array::vector(12, |i| h[i] * u[i] - 0.0625 * (ends(i).1.1 - ends(i).0.1)),
            )
        },
    );
}
