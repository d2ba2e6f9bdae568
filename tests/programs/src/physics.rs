//! Physics: particles, fields, spectra.

use crate::array::{Array, m, s, t, v};
use crate::linear_algebra::by_vector;
use crate::program::Corpus;
use crate::reason;
use arraygpu::prelude::*;

/// Adds the programs.
pub fn add(c: &mut Corpus) {
    particles(c);
    pairs(c);
    fields(c);
    spectra(c);
}

fn particles(c: &mut Corpus) {
    c.add(
        "leapfrog_oscillators",
        ["x", "p", "dt"],
        "xn pn",
        [v(9), v(9), s(0.125)],
        |x: VExp<f32>, p: VExp<f32>, dt: SExp<f32>| {
            iterate(4, (x, p), |(x, p)| {
                let half = p - x * (0.5 * dt);
                let x = x + half * dt;
                (x, half - x * (0.5 * dt))
            })
        },
        |[x, p, dt]| {
            let (mut x, mut p, dt) = (x.elements.clone(), p.elements.clone(), dt.value());
            for _ in 0..4 {
                for i in 0..9 {
                    let half = p[i] - x[i] * 0.5 * dt;
                    x[i] += half * dt;
                    p[i] = half - x[i] * 0.5 * dt;
                }
            }
            (x, p)
        },
    );
    c.add(
        "runge_kutta_pendulum",
        ["a", "w"],
        "an wn",
        [v(9), v(9)],
        |a: VExp<f32>, w: VExp<f32>| {
            let h = 0.125f32;
            let slope = |a: VExp<f32>, w: VExp<f32>| (w, -a.sin());
            let (a1, w1) = slope(a, w);
            let (a2, w2) = slope(a + a1 * (h / 2.0), w + w1 * (h / 2.0));
            let (a3, w3) = slope(a + a2 * (h / 2.0), w + w2 * (h / 2.0));
            let (a4, w4) = slope(a + a3 * h, w + w3 * h);
            (a + (a1 + 2.0 * a2 + 2.0 * a3 + a4) * (h / 6.0), w + (w1 + 2.0 * w2 + 2.0 * w3 + w4) * (h / 6.0))
        },
        |[a, w]| {
            let h = 0.125;
            let next: Vec<(f64, f64)> = (0..9)
                .map(|i| {
                    let f = |a: f64, w: f64| (w, -a.sin());
                    let (a, w) = (a[i], w[i]);
                    let k1 = f(a, w);
                    let k2 = f(a + k1.0 * h / 2.0, w + k1.1 * h / 2.0);
                    let k3 = f(a + k2.0 * h / 2.0, w + k2.1 * h / 2.0);
                    let k4 = f(a + k3.0 * h, w + k3.1 * h);
                    let sum = |a: f64, b: f64, c: f64, d: f64| (a + 2.0 * b + 2.0 * c + d) * h / 6.0;
                    (a + sum(k1.0, k2.0, k3.0, k4.0), w + sum(k1.1, k2.1, k3.1, k4.1))
                })
                .collect();
            let parts: (Vec<f64>, Vec<f64>) = next.into_iter().unzip();
            parts
        },
    );
    c.add(
        "lorenz_steps",
        ["x", "y", "z"],
        "a b c",
        [v(9), v(9), v(9)],
        |x: VExp<f32>, y: VExp<f32>, z: VExp<f32>| {
            iterate(4, (x, y, z), |(x, y, z)| {
                let h = 0.0078125f32;
                (x + h * (10.0 * (y - x)), y + h * (x * (28.0 - z) - y), z + h * (x * y - 2.6666667 * z))
            })
        },
        |[x, y, z]| {
            let mut s: Vec<[f64; 3]> = (0..9).map(|i| [x[i], y[i], z[i]]).collect();
            let h = 0.0078125;
            for _ in 0..4 {
                for p in &mut s {
                    let [x, y, z] = *p;
                    *p = [
                        x + h * 10.0 * (y - x),
                        y + h * (x * (28.0 - z) - y),
                        z + h * (x * y - 8.0 / 3.0 * z),
                    ];
                }
            }
            let part = |k: usize| s.iter().map(|p| p[k]).collect::<Vec<f64>>();
            (part(0), part(1), part(2))
        },
    );
    c.add(
        "boris_push",
        ["v", "b"],
        "r",
        [m(9, 3), v(3)],
        |v: MExp<f32>, b: VExp<f32>| {
            let scale = 2.0 / (1.0 + b.dot(b));
            let cross = |v: MExp<f32>, i: SExp<i64>, j: SExp<i64>| {
                let (k, l) = ((j + 1) % 3, (j + 2) % 3);
                v.at(i, k) * b.at(l) - v.at(i, l) * b.at(k)
            };
            let turned = generate2(v.rows(), 3, |i, j| v.at(i, j) + cross(v, i, j));
            generate2(v.rows(), 3, |i, j| v.at(i, j) + scale * cross(turned, i, j))
        },
        |[v, b]| {
            let cross = |v: &Array, i: usize, j: usize| {
                let (k, l) = ((j + 1) % 3, (j + 2) % 3);
                v[[i, k]] * b[l] - v[[i, l]] * b[k]
            };
            let scale = 2.0 / (1.0 + b.elements.iter().map(|b| b * b).sum::<f64>());
            let turned = Array::matrix(9, 3, |i, j| v[[i, j]] + cross(v, i, j));
            Array::matrix(9, 3, |i, j| v[[i, j]] + scale * cross(&turned, i, j))
        },
    )
    .because(reason::STAGES)
    .fewest(2);
    c.add(
        "energies",
        ["x", "p", "mass"],
        "kinetic potential",
        [v(40), v(40), v(40).positive()],
        |x: VExp<f32>, p: VExp<f32>, mass: VExp<f32>| {
            ((p * p / mass).sum() * 0.5, (x * x * mass).sum() * 0.5)
        },
        |[x, p, mass]| {
            let sum = |f: &dyn Fn(usize) -> f64| (0..40).map(f).sum::<f64>() / 2.0;
            (sum(&|i| p[i] * p[i] / mass[i]), sum(&|i| x[i] * x[i] * mass[i]))
        },
    );
}

fn pairs(c: &mut Corpus) {
    c.add(
        "gravity",
        ["x", "y", "mass"],
        "ax ay",
        [v(9), v(9), v(9).positive()],
        |x: VExp<f32>, y: VExp<f32>, mass: VExp<f32>| {
            x.zip_with(y, |xi, yi| {
                let (fx, fy) = x.zip3(y, mass, |xj, yj, m| {
                    let (dx, dy) = (xj - xi, yj - yi);
                    let r = (dx * dx + dy * dy + 0.0625).rsqrt();
                    let s = m * r * r * r;
                    (s * dx, s * dy)
                });
                (fx.sum(), fy.sum())
            })
        },
        |[x, y, mass]| {
            let pull = |i: usize| {
                let (mut a, mut b) = (0.0, 0.0);
                for j in 0..9 {
                    let (dx, dy) = (x[j] - x[i], y[j] - y[i]);
                    let s = mass[j] / (dx * dx + dy * dy + 0.0625f64).powf(1.5);
                    (a, b) = (a + s * dx, b + s * dy);
                }
                (a, b)
            };
            let parts: (Vec<f64>, Vec<f64>) = (0..9).map(pull).unzip();
            parts
        },
    )
    .within(1e-3);
    c.add(
        "lennard_jones_energy",
        ["x", "y"],
        "r",
        [v(9).at(|k| k as f64), v(9)],
        |x: VExp<f32>, y: VExp<f32>| {
            let n = x.len();
            let energy = generate2(n, n, |i, j| {
                let (dx, dy) = (x.at(i) - x.at(j), y.at(i) - y.at(j));
                let r2 = dx * dx + dy * dy;
                let s = 1.0 / (r2 * r2 * r2);
                cond(i.lt(j) & r2.lt(6.25), 4.0 * (s * s - s), 0.0)
            });
            energy.sum()
        },
        |[x, y]| {
            let mut sum = 0.0;
            for j in 0..9 {
                for i in 0..j {
                    let r2 = (x[i] - x[j]).powi(2) + (y[i] - y[j]).powi(2);
                    let s = 1.0 / r2.powi(3);
                    sum += if r2 < 6.25 { 4.0 * (s * s - s) } else { 0.0 };
                }
            }
            sum
        },
    );
    c.add(
        "radial_distribution",
        ["x", "y", "bins"],
        "r",
        [v(9), v(9), s(6.0)],
        |x: VExp<f32>, y: VExp<f32>, bins: SExp<i64>| {
            let n = x.len();
            let distance = generate2(n, n, |i, j| (x.at(i) - x.at(j)).hypot(y.at(i) - y.at(j)));
            generate(bins, |b| distance.map(|d| cond(d.cast::<i64>().eq(b), lit(1i32), 0)).sum())
        },
        |[x, y, _]| {
            Array::vector(6, |b| {
                let inside = |k: usize| {
                    let (i, j) = (k / 9, k % 9);
                    (x[i] - x[j]).hypot(y[i] - y[j]) as usize == b
                };
                (0..81).filter(|k| inside(*k)).count() as f64
            })
        },
    )
    .because(reason::PAIRS)
    .fewest(1);
    c.add(
        "coulomb_grid",
        ["px", "py", "q", "rows", "cols"],
        "r",
        [v(9), v(9), v(9), s(7.0), s(8.0)],
        |px: VExp<f32>, py: VExp<f32>, q: VExp<f32>, rows: SExp<i64>, cols: SExp<i64>| {
            generate2(rows, cols, |i, j| {
                let (y, x) = (i.cast::<f32>() * 0.25, j.cast::<f32>() * 0.25);
                px.zip3(py, q, |a, b, q| q * ((a - x) * (a - x) + (b - y) * (b - y) + 0.0625).rsqrt()).sum()
            })
        },
        |[px, py, q, _, _]| {
            Array::matrix(7, 8, |i, j| {
                let (y, x) = (i as f64 / 4.0, j as f64 / 4.0);
                (0..9).map(|k| q[k] / ((px[k] - x).powi(2) + (py[k] - y).powi(2) + 0.0625).sqrt()).sum()
            })
        },
    );
    c.add(
        "particle_deposit",
        ["x", "q", "cells"],
        "r",
        [v(40).unit().of(|x| x * 6.0), v(40), s(7.0)],
        |x: VExp<f32>, q: VExp<f32>, cells: SExp<i64>| {
            generate(cells, |c| x.zip_with(q, |x, q| q * (1.0 - (x - c.cast::<f32>()).abs()).max(0.0)).sum())
        },
        |[x, q, _]| {
            Array::vector(7, |c| (0..40).map(|i| q[i] * (1.0 - (x[i] - c as f64).abs()).max(0.0)).sum())
        },
    );
}

fn fields(c: &mut Corpus) {
    c.add(
        "ising_energy",
        ["spins"],
        "energy magnetisation",
        [m(8, 8).of(|x| if x < 0.0 { -1.0 } else { 1.0 })],
        |spins: MExp<f32>| {
            let w = spins.padded([0, 1], [0, 1], Boundary::Wrap).windows2(2, 2);
            (-(w[0][0] * (w[0][1] + w[1][0])).sum(), spins.sum())
        },
        |[spins]| {
            let mut e = 0.0;
            for i in 0..8 {
                for j in 0..8 {
                    e -= spins[[i, j]] * (spins[[i, (j + 1) % 8]] + spins[[(i + 1) % 8, j]]);
                }
            }
            (e, spins.elements.iter().sum::<f64>())
        },
    );
    c.add(
        "ising_checkerboard",
        ["spins", "random", "beta"],
        "r",
        [m(8, 8).of(|x| if x < 0.0 { -1.0 } else { 1.0 }), m(8, 8).unit(), s(0.5)],
        |spins: MExp<f32>, random: MExp<f32>, beta: SExp<f32>| {
            let sweep = |s: MExp<f32>, colour: i64| {
                let w = s.padded([1, 1], [1, 1], Boundary::Wrap).windows2(3, 3);
                let near = w[0][1] + w[1][0] + w[1][2] + w[2][1];
                generate2(s.rows(), s.cols(), |i, j| {
                    let flip = random.at(i, j).lt((-2.0 * beta * s.at(i, j) * near.at(i, j)).exp());
                    let turn = ((i + j) % 2).eq(colour) & flip;
                    cond(turn, -s.at(i, j), s.at(i, j))
                })
            };
            sweep(sweep(spins, 0), 1)
        },
        |[spins, random, beta]| {
            let sweep = |s: &Array, colour: usize| {
                Array::matrix(8, 8, |i, j| {
                    let at = |a: i64, b: i64| s.wrapped(i as i64 + a, j as i64 + b);
                    let near = at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1);
                    let flip = random[[i, j]] < (-2.0 * beta.value() * s[[i, j]] * near).exp();
                    if (i + j) % 2 == colour && flip { -s[[i, j]] } else { s[[i, j]] }
                })
            };
            sweep(&sweep(spins, 0), 1)
        },
    )
    .because(reason::RECORDS);
    c.add(
        "maxwell_2d",
        ["ez", "hx", "hy"],
        "a b c",
        [m(7, 9), m(7, 9), m(7, 9)],
        |ez: MExp<f32>, hx: MExp<f32>, hy: MExp<f32>| {
            iterate(2, (ez, hx, hy), |(ez, hx, hy)| {
                let e = ez.padded([0, 1], [0, 1], Boundary::Constant(0.0)).windows2(2, 2);
                let hx = hx - 0.5 * (e[1][0] - e[0][0]);
                let hy = hy + 0.5 * (e[0][1] - e[0][0]);
                let x = hx.padded([1, 0], [0, 0], Boundary::Constant(0.0)).windows2(2, 1);
                let y = hy.padded([0, 0], [1, 0], Boundary::Constant(0.0)).windows2(1, 2);
                (ez + 0.5 * ((y[0][1] - y[0][0]) - (x[1][0] - x[0][0])), hx, hy)
            })
        },
        |[ez, hx, hy]| {
            let (mut e, mut x, mut y) = (ez.clone(), hx.clone(), hy.clone());
            for _ in 0..2 {
                let at = |u: &Array, i: i64, j: i64| u.or(i, j, 0.0);
                x = Array::matrix(7, 9, |i, j| {
                    x[[i, j]] - 0.5 * (at(&e, i as i64 + 1, j as i64) - e[[i, j]])
                });
                y = Array::matrix(7, 9, |i, j| {
                    y[[i, j]] + 0.5 * (at(&e, i as i64, j as i64 + 1) - e[[i, j]])
                });
                e = Array::matrix(7, 9, |i, j| {
                    let (dy, dx) = (at(&y, i as i64, j as i64 - 1), at(&x, i as i64 - 1, j as i64));
                    e[[i, j]] + 0.5 * ((y[[i, j]] - dy) - (x[[i, j]] - dx))
                });
            }
            (e, x, y)
        },
    )
    .because(reason::HALO)
    .fewest(2);
    c.add(
        "schroedinger_step",
        ["re", "im", "pot"],
        "a b",
        [v(9), v(9), v(9)],
        |re: VExp<f32>, im: VExp<f32>, pot: VExp<f32>| {
            iterate(3, (re, im), |(re, im)| {
                let h = |u: VExp<f32>| {
                    let w = u.padded(1, 1, Boundary::Constant(0.0)).windows(3);
                    pot * u - 0.5 * (w[0] - 2.0 * w[1] + w[2])
                };
                let re = re + 0.0625 * h(im);
                (re, im - 0.0625 * h(re))
            })
        },
        |[re, im, pot]| {
            let (mut re, mut im) = (re.elements.clone(), im.elements.clone());
            let h = |u: &[f64], i: usize| {
                let at = |k: i64| if (0..9).contains(&k) { u[k as usize] } else { 0.0 };
                let i = i as i64;
                pot[i as usize] * at(i) - 0.5 * (at(i - 1) - 2.0 * at(i) + at(i + 1))
            };
            for _ in 0..3 {
                re = (0..9).map(|i| re[i] + 0.0625 * h(&im, i)).collect();
                im = (0..9).map(|i| im[i] - 0.0625 * h(&re, i)).collect();
            }
            (re, im)
        },
    )
    .because(reason::HALO)
    .fewest(3);
    c.add(
        "elastic_volume_stress",
        ["u"],
        "r",
        [t(6, 7, 9)],
        |u: TExp<f32>| {
            let (p, n, k) = (u.planes(), u.rows(), u.cols());
            generate3(p, n, k, |z, y, x| {
                let at = |a: SExp<i64>, b: SExp<i64>, c: SExp<i64>| u.at(a, b, c);
                let dz = at((z + 1).min(p - 1), y, x) - at((z - 1).max(0), y, x);
                let dy = at(z, (y + 1).min(n - 1), x) - at(z, (y - 1).max(0), x);
                let dx = at(z, y, (x + 1).min(k - 1)) - at(z, y, (x - 1).max(0));
                (dz * dz + dy * dy + dx * dx) * 0.25
            })
        },
        |[u]| {
            Array::tensor([6, 7, 9], |z, y, x| {
                let dz = u[[(z + 1).min(5), y, x]] - u[[z.max(1) - 1, y, x]];
                let dy = u[[z, (y + 1).min(6), x]] - u[[z, y.max(1) - 1, x]];
                let dx = u[[z, y, (x + 1).min(8)]] - u[[z, y, x.max(1) - 1]];
                (dz * dz + dy * dy + dx * dx) / 4.0
            })
        },
    );
}

fn spectra(c: &mut Corpus) {
    c.add(
        "fourier_transform",
        ["re", "im"],
        "a b",
        [v(16), v(16)],
        |re: VExp<f32>, im: VExp<f32>| {
            let n = re.len();
            generate(n, |k| {
                let angle = |i: SExp<i64>| ((i * k) % n).cast::<f32>() * -2.0 / n.cast::<f32>();
                let (a, b) = generate(n, |i| {
                    let (c, s) = (angle(i).cospi(), angle(i).sinpi());
                    (re.at(i) * c - im.at(i) * s, re.at(i) * s + im.at(i) * c)
                });
                (a.sum(), b.sum())
            })
        },
        |[re, im]| {
            let of = |k: usize| {
                let (mut a, mut b) = (0.0, 0.0);
                for i in 0..16 {
                    let (s, c) = (-std::f64::consts::TAU * (i * k % 16) as f64 / 16.0).sin_cos();
                    (a, b) = (a + re[i] * c - im[i] * s, b + re[i] * s + im[i] * c);
                }
                (a, b)
            };
            let parts: (Vec<f64>, Vec<f64>) = (0..16).map(of).unzip();
            parts
        },
    );
    c.add(
        "expectation_value",
        ["h", "psi"],
        "r",
        [m(8, 8), v(8)],
        |h: MExp<f32>, psi: VExp<f32>| psi.dot(h.map_rows(|r| r.dot(psi))) / psi.dot(psi),
        |[h, psi]| {
            let hp = by_vector(h, &psi.elements);
            let norm: f64 = psi.elements.iter().map(|p| p * p).sum();
            (0..8).map(|i| psi[i] * hp[i]).sum::<f64>() / norm
        },
    )
    .because(reason::FLATTENED);
    c.add(
        "ray_spheres",
        ["dx", "dy", "cx", "cy", "cz"],
        "r",
        [v(9).of(|x| x / 8.0), v(9).of(|x| x / 8.0), v(6), v(6), v(6).of(|x| x + 5.0)],
        |dx: VExp<f32>, dy: VExp<f32>, cx: VExp<f32>, cy: VExp<f32>, cz: VExp<f32>| {
            dx.zip_with(dy, |x, y| {
                let length = (x * x + y * y + 1.0).rsqrt();
                let (x, y, z) = (x * length, y * length, length);
                let hits = cx.zip3(cy, cz, |a, b, c| {
                    let along = x * a + y * b + z * c;
                    let d = along * along - (a * a + b * b + c * c) + 1.0;
                    cond(d.gt(0.0), along - d.max(0.0).sqrt(), 1000.0)
                });
                hits.min()
            })
        },
        |[dx, dy, cx, cy, cz]| {
            Array::vector(9, |i| {
                let l = 1.0 / (dx[i] * dx[i] + dy[i] * dy[i] + 1.0f64).sqrt();
                let (x, y, z) = (dx[i] * l, dy[i] * l, l);
                (0..6)
                    .map(|k| {
                        let along = x * cx[k] + y * cy[k] + z * cz[k];
                        let d = along * along - (cx[k].powi(2) + cy[k].powi(2) + cz[k].powi(2)) + 1.0;
                        if d > 0.0 { along - d.sqrt() } else { 1000.0 }
                    })
                    .fold(1e9, f64::min)
            })
        },
    )
    .within(1e-3);
    c.add(
        "mandelbrot",
        ["rows", "cols"],
        "r",
        [s(7.0), s(8.0)],
        |rows: SExp<i64>, cols: SExp<i64>| {
            generate2(rows, cols, |i, j| {
                let (x0, y0) = (j.cast::<f32>() * 0.375 - 2.0, i.cast::<f32>() * 0.3125 - 1.0);
                type State = (SExp<f32>, SExp<f32>, SExp<i64>);
                let inside = |(x, y, k): State| (x * x + y * y).le(4.0) & k.lt(4);
                let step = |(x, y, k): State| (x * x - y * y + x0, 2.0 * x * y + y0, k + 1);
                loop_while((0.0f32, 0.0f32, 0i64), inside, step).2.cast::<f32>()
            })
        },
        |[_, _]| {
            Array::matrix(7, 8, |i, j| {
                let (a, b) = (j as f64 * 0.375 - 2.0, i as f64 * 0.3125 - 1.0);
                let (mut x, mut y, mut count) = (0.0, 0.0, 0.0);
                for _ in 0..4 {
                    if x * x + y * y <= 4.0 {
                        (x, y) = (x * x - y * y + a, 2.0 * x * y + b);
                        count += 1.0;
                    }
                }
                count
            })
        },
    );
}
