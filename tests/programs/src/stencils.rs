//! Stencils on grids of one, two and three dimensions.

use crate::array::{Array, m, s, t, v};
use crate::program::Corpus;
use crate::reason;
use arraygpu::Windows;
use arraygpu::prelude::*;

/// Adds the programs.
pub fn add(c: &mut Corpus) {
    lines(c);
    planes(c);
    ported(c);
    steps(c);
    volumes(c);
}

fn lines(c: &mut Corpus) {
    c.add(
        "three_point",
        ["x"],
        "r",
        [v(9)],
        |x: VExp<f32>| x.padded(1, 1, Boundary::Clamp).weighted_sum(&[0.25, 0.5, 0.25]),
        |[x]| Array::vector(9, |i| 0.25 * x[i.max(1) - 1] + 0.5 * x[i] + 0.25 * x[(i + 1).min(8)]),
    );
    c.add(
        "second_difference",
        ["x", "h"],
        "r",
        [v(9), s(0.5)],
        |x: VExp<f32>, h: SExp<f32>| {
            let w = x.windows(3);
            (w[0] - 2.0 * w[1] + w[2]) / (h * h)
        },
        |[x, h]| Array::vector(7, |i| (x[i] - 2.0 * x[i + 1] + x[i + 2]) / h.value().powi(2)),
    );
    c.add(
        "upwind_advection",
        ["u", "c"],
        "r",
        [v(9), s(0.5)],
        |u: VExp<f32>, c: SExp<f32>| {
            let n = u.len();
            generate(n, |i| u.at(i) - c * (u.at(i) - u.at((i + n - 1) % n)))
        },
        |[u, c]| Array::vector(9, |i| u[i] - c.value() * (u[i] - u[(i + 8) % 9])),
    );
    c.add(
        "lax_wendroff",
        ["u", "c"],
        "r",
        [v(9), s(0.5)],
        |u: VExp<f32>, c: SExp<f32>| {
            let w = u.padded(1, 1, Boundary::Wrap).windows(3);
            w[1] - 0.5 * c * (w[2] - w[0]) + 0.5 * c * c * (w[2] - 2.0 * w[1] + w[0])
        },
        |[u, c]| {
            let c = c.value();
            Array::vector(9, |i| {
                let (l, r) = (u[(i + 8) % 9], u[(i + 1) % 9]);
                u[i] - 0.5 * c * (r - l) + 0.5 * c * c * (r - 2.0 * u[i] + l)
            })
        },
    );
    c.add(
        "flux_difference",
        ["u"],
        "r",
        [v(12)],
        |u: VExp<f32>| {
            let flux = u.map(|u| u * u * 0.5);
            let w = u.windows(2);
            let f = flux.windows(2);
            let rusanov =
                0.5 * (f[0] + f[1]) - 0.5 * (w[1] - w[0]) * w[0].abs().zip_with(w[1].abs(), |a, b| a.max(b));
            let r = rusanov.windows(2);
            r[1] - r[0]
        },
        |[u]| {
            let f = |i: usize| {
                let (a, b) = (u[i], u[i + 1]);
                0.25 * (a * a + b * b) - 0.5 * (b - a) * a.abs().max(b.abs())
            };
            Array::vector(10, |i| f(i + 1) - f(i))
        },
    );
}

fn planes(c: &mut Corpus) {
    c.add(
        "five_point",
        ["u"],
        "r",
        [m(7, 9)],
        |u: MExp<f32>| {
            let w = u.padded([1, 1], [1, 1], Boundary::Clamp).windows2(3, 3);
            (w[0][1] + w[1][0] + w[1][2] + w[2][1]) * 0.25
        },
        |[u]| {
            Array::matrix(7, 9, |i, j| {
                let (i, j) = (i as i64, j as i64);
                (u.clamped(i - 1, j) + u.clamped(i + 1, j) + u.clamped(i, j - 1) + u.clamped(i, j + 1)) / 4.0
            })
        },
    );
    c.add(
        "nine_point",
        ["u"],
        "r",
        [m(7, 9)],
        |u: MExp<f32>| {
            u.padded([1, 1], [1, 1], Boundary::Wrap).weighted_sum2(&[
                [0.25f32, 0.5, 0.25],
                [0.5, -3.0, 0.5],
                [0.25, 0.5, 0.25],
            ])
        },
        |[u]| {
            Array::matrix(7, 9, |i, j| {
                let at = |a: i64, b: i64| u.wrapped(i as i64 + a, j as i64 + b);
                let corners = at(-1, -1) + at(-1, 1) + at(1, -1) + at(1, 1);
                0.25 * corners + 0.5 * (at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1)) - 3.0 * at(0, 0)
            })
        },
    );
    c.add(
        "gradient_magnitude",
        ["u"],
        "r",
        [m(7, 9)],
        |u: MExp<f32>| {
            let w = u.windows2(3, 3);
            let (gx, gy) = ((w[1][2] - w[1][0]) * 0.5, (w[2][1] - w[0][1]) * 0.5);
            (gx * gx + gy * gy).sqrt()
        },
        |[u]| {
            Array::matrix(5, 7, |i, j| {
                let gx = (u[[i + 1, j + 2]] - u[[i + 1, j]]) / 2.0;
                let gy = (u[[i + 2, j + 1]] - u[[i, j + 1]]) / 2.0;
                (gx * gx + gy * gy).sqrt()
            })
        },
    );
    c.add(
        "biharmonic",
        ["u"],
        "r",
        [m(9, 10)],
        |u: MExp<f32>| {
            let laplace = |u: MExp<f32>| {
                let w = u.windows2(3, 3);
                w[0][1] + w[1][0] + w[1][2] + w[2][1] - 4.0 * w[1][1]
            };
            laplace(laplace(u))
        },
        |[u]| {
            let laplace = |u: &Array| {
                Array::matrix(u.rows() - 2, u.cols() - 2, |i, j| {
                    u[[i, j + 1]] + u[[i + 1, j]] + u[[i + 1, j + 2]] + u[[i + 2, j + 1]]
                        - 4.0 * u[[i + 1, j + 1]]
                })
            };
            laplace(&laplace(u))
        },
    )
    .because(reason::CHAIN);
    c.add(
        "divergence_and_curl",
        ["u", "v"],
        "div curl",
        [m(7, 9), m(7, 9)],
        |u: MExp<f32>, v: MExp<f32>| {
            let (a, b) = (u.windows2(3, 3), v.windows2(3, 3));
            let dx = |w: &[Windows<MExp<f32>>]| (w[1][2] - w[1][0]) * 0.5;
            let dy = |w: &[Windows<MExp<f32>>]| (w[2][1] - w[0][1]) * 0.5;
            (dx(&a) + dy(&b), dx(&b) - dy(&a))
        },
        |[u, v]| {
            let dx = |w: &Array, i: usize, j: usize| (w[[i + 1, j + 2]] - w[[i + 1, j]]) / 2.0;
            let dy = |w: &Array, i: usize, j: usize| (w[[i + 2, j + 1]] - w[[i, j + 1]]) / 2.0;
            (
                Array::matrix(5, 7, |i, j| dx(u, i, j) + dy(v, i, j)),
                Array::matrix(5, 7, |i, j| dx(v, i, j) - dy(u, i, j)),
            )
        },
    );
}

/// As CUDA code is ported: an index for each element, and conditions.
fn ported(c: &mut Corpus) {
    c.add(
        "jacobi_guarded",
        ["u"],
        "r",
        [m(7, 9)],
        |u: MExp<f32>| {
            let (n, k) = (u.rows(), u.cols());
            generate2(n, k, |i, j| {
                let inside = i.gt(0) & i.lt(n - 1) & j.gt(0) & j.lt(k - 1);
                let mean = (u.at(i - 1, j) + u.at(i + 1, j) + u.at(i, j - 1) + u.at(i, j + 1)) * 0.25;
                cond(inside, mean, u.at(i, j))
            })
        },
        |[u]| {
            Array::matrix(7, 9, |i, j| {
                if i == 0 || i == 6 || j == 0 || j == 8 {
                    return u[[i, j]];
                }
                (u[[i - 1, j]] + u[[i + 1, j]] + u[[i, j - 1]] + u[[i, j + 1]]) / 4.0
            })
        },
    );
    c.add(
        "diffusion_clamped",
        ["u"],
        "r",
        [m(7, 9)],
        |u: MExp<f32>| {
            let (n, k) = (u.rows(), u.cols());
            generate2(n, k, |i, j| {
                let (up, down) = (u.at((i - 1).max(0), j), u.at((i + 1).min(n - 1), j));
                let (left, right) = (u.at(i, (j - 1).max(0)), u.at(i, (j + 1).min(k - 1)));
                u.at(i, j) + 0.125 * (up + down + left + right - 4.0 * u.at(i, j))
            })
        },
        |[u]| {
            Array::matrix(7, 9, |i, j| {
                let at = |a: i64, b: i64| u.clamped(i as i64 + a, j as i64 + b);
                u[[i, j]] + 0.125 * (at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1) - 4.0 * u[[i, j]])
            })
        },
    );
    c.add(
        "life",
        ["u"],
        "r",
        [m(7, 9).below(2)],
        |u: MExp<i32>| {
            let w = u.padded([1, 1], [1, 1], Boundary::Wrap).windows2(3, 3);
            let sum = w[0][0] + w[0][1] + w[0][2] + w[1][0] + w[1][2] + w[2][0] + w[2][1] + w[2][2];
            sum.zip_with(u, |n, u| cond(n.eq(3) | (n.eq(2) & u.eq(1)), lit(1i32), 0i32))
        },
        |[u]| {
            Array::matrix(7, 9, |i, j| {
                let mut n = -u[[i, j]];
                for a in -1..=1 {
                    for b in -1..=1 {
                        n += u.wrapped(i as i64 + a, j as i64 + b);
                    }
                }
                f64::from(u8::from(n == 3.0 || n == 2.0 && u[[i, j]] == 1.0))
            })
        },
    );
    c.add(
        "life_by_index",
        ["u"],
        "r",
        [m(7, 9).below(2)],
        |u: MExp<i32>| {
            let (n, k) = (u.rows(), u.cols());
            generate2(n, k, |i, j| {
                let at = |a: i64, b: i64| u.at((i + a + n) % n, (j + b + k) % k);
                let sum = at(-1, -1)
                    + at(-1, 0)
                    + at(-1, 1)
                    + at(0, -1)
                    + at(0, 1)
                    + at(1, -1)
                    + at(1, 0)
                    + at(1, 1);
                cond(sum.eq(3) | (sum.eq(2) & u.at(i, j).eq(1)), lit(1i32), 0i32)
            })
        },
        |[u]| {
            Array::matrix(7, 9, |i, j| {
                let mut n = -u[[i, j]];
                for a in -1..=1 {
                    for b in -1..=1 {
                        n += u.wrapped(i as i64 + a, j as i64 + b);
                    }
                }
                f64::from(u8::from(n == 3.0 || n == 2.0 && u[[i, j]] == 1.0))
            })
        },
    );
}

fn steps(c: &mut Corpus) {
    c.add(
        "heat_steps",
        ["u", "k"],
        "r",
        [m(7, 9), s(4.0)],
        |u: MExp<f32>, k: SExp<i64>| {
            u.iterate(k, |u| {
                let w = u.windows2(3, 3);
                u.with_block(1, 1, 0.25 * ((w[1][0] + w[1][2]) + (w[0][1] + w[2][1])))
            })
        },
        |[u, _]| {
            let mut u = u.clone();
            for _ in 0..4 {
                let b = u.clone();
                u = Array::matrix(7, 9, |i, j| {
                    if i == 0 || i == 6 || j == 0 || j == 8 {
                        return b[[i, j]];
                    }
                    (b[[i - 1, j]] + b[[i + 1, j]] + b[[i, j - 1]] + b[[i, j + 1]]) / 4.0
                });
            }
            u
        },
    )
    .fewest(4);
    c.add(
        "wave_equation",
        ["u", "v"],
        "a b",
        [m(7, 9), m(7, 9)],
        |u: MExp<f32>, v: MExp<f32>| {
            iterate(3, (u, v), |(u, v)| {
                let w = u.padded([1, 1], [1, 1], Boundary::Wrap).windows2(3, 3);
                let laplace = w[0][1] + w[1][0] + w[1][2] + w[2][1] - 4.0 * u;
                let v = v + 0.125 * laplace;
                (u + v, v)
            })
        },
        |[u, v]| {
            let (mut u, mut v) = (u.clone(), v.clone());
            for _ in 0..3 {
                v = Array::matrix(7, 9, |i, j| {
                    let at = |a: i64, b: i64| u.wrapped(i as i64 + a, j as i64 + b);
                    v[[i, j]] + 0.125 * (at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1) - 4.0 * u[[i, j]])
                });
                u = Array::matrix(7, 9, |i, j| u[[i, j]] + v[[i, j]]);
            }
            (u, v)
        },
    )
    .fewest(3);
    c.add(
        "staggered_wave",
        ["p", "v"],
        "a b",
        [v(9), v(9)],
        |p: VExp<f32>, v: VExp<f32>| {
            iterate(3, (p, v), |(p, v)| {
                let w = p.padded(0, 1, Boundary::Wrap).windows(2);
                let v = v - 0.25 * (w[1] - w[0]);
                let w = v.padded(1, 0, Boundary::Wrap).windows(2);
                (p - 0.25 * (w[1] - w[0]), v)
            })
        },
        |[p, v]| {
            let (mut p, mut v) = (p.clone(), v.clone());
            for _ in 0..3 {
                v = Array::vector(9, |i| v[i] - 0.25 * (p[(i + 1) % 9] - p[i]));
                p = Array::vector(9, |i| p[i] - 0.25 * (v[i] - v[(i + 8) % 9]));
            }
            (p, v)
        },
    )
    .because(reason::NEIGHBOURS)
    .fewest(3);
    c.add(
        "gray_scott",
        ["u", "v"],
        "a b",
        [m(7, 9).unit(), m(7, 9).unit()],
        |u: MExp<f32>, v: MExp<f32>| {
            iterate(2, (u, v), |(u, v)| {
                let laplace = |x: MExp<f32>| {
                    let w = x.padded([1, 1], [1, 1], Boundary::Wrap).windows2(3, 3);
                    w[0][1] + w[1][0] + w[1][2] + w[2][1] - 4.0 * x
                };
                let reaction = u * v * v;
                (
                    u + 0.125 * laplace(u) - reaction + 0.03125 * (1.0 - u),
                    v + 0.0625 * laplace(v) + reaction - 0.09375 * v,
                )
            })
        },
        |[u, v]| {
            let (mut u, mut v) = (u.clone(), v.clone());
            for _ in 0..2 {
                let laplace = |x: &Array, i: usize, j: usize| {
                    let at = |a: i64, b: i64| x.wrapped(i as i64 + a, j as i64 + b);
                    at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1) - 4.0 * x[[i, j]]
                };
                let r = |i: usize, j: usize| u[[i, j]] * v[[i, j]] * v[[i, j]];
                let a = Array::matrix(7, 9, |i, j| {
                    u[[i, j]] + 0.125 * laplace(&u, i, j) - r(i, j) + 0.03125 * (1.0 - u[[i, j]])
                });
                let b = Array::matrix(7, 9, |i, j| {
                    v[[i, j]] + 0.0625 * laplace(&v, i, j) + r(i, j) - 0.09375 * v[[i, j]]
                });
                (u, v) = (a, b);
            }
            (u, v)
        },
    )
    .fewest(2);
    c.add(
        "residual_of_poisson",
        ["u", "f"],
        "norm",
        [m(7, 9), m(7, 9)],
        |u: MExp<f32>, f: MExp<f32>| {
            let w = u.windows2(3, 3);
            let inner = f.slice(1, f.rows() - 1, 1, f.cols() - 1);
            let r = inner - (w[0][1] + w[1][0] + w[1][2] + w[2][1] - 4.0 * w[1][1]);
            (r * r).sum().sqrt()
        },
        |[u, f]| {
            let mut sum = 0.0;
            for i in 1..6 {
                for j in 1..8 {
                    let laplace =
                        u[[i - 1, j]] + u[[i + 1, j]] + u[[i, j - 1]] + u[[i, j + 1]] - 4.0 * u[[i, j]];
                    sum += (f[[i, j]] - laplace).powi(2);
                }
            }
            sum.sqrt()
        },
    );
    c.add(
        "multigrid_restriction",
        ["u"],
        "r",
        [m(10, 12)],
        |u: MExp<f32>| {
            let (n, k) = (u.rows(), u.cols());
            let part = |a: i64, b: i64| u.slice_by(a, n, 2, b, k, 2);
            (part(0, 0) + part(0, 1) + part(1, 0) + part(1, 1)) * 0.25
        },
        |[u]| {
            Array::matrix(5, 6, |i, j| {
                let (i, j) = (2 * i, 2 * j);
                (u[[i, j]] + u[[i, j + 1]] + u[[i + 1, j]] + u[[i + 1, j + 1]]) / 4.0
            })
        },
    );
    c.add(
        "multigrid_prolongation",
        ["u"],
        "r",
        [m(6, 7)],
        |u: MExp<f32>| {
            let (n, k) = (u.rows(), u.cols());
            generate2(2 * n - 1, 2 * k - 1, |i, j| {
                let (a, b) = (u.at(i / 2, j / 2), u.at(i / 2, (j + 1) / 2));
                let (c, d) = (u.at((i + 1) / 2, j / 2), u.at((i + 1) / 2, (j + 1) / 2));
                (a + b + c + d) * 0.25
            })
        },
        |[u]| {
            Array::matrix(11, 13, |i, j| {
                let (p, q) = (i.div_ceil(2), j.div_ceil(2));
                (u[[i / 2, j / 2]] + u[[i / 2, q]] + u[[p, j / 2]] + u[[p, q]]) / 4.0
            })
        },
    );
}

fn volumes(c: &mut Corpus) {
    c.add(
        "seven_point",
        ["u"],
        "r",
        [t(6, 7, 9)],
        |u: TExp<f32>| {
            let (p, n, k) = (u.planes(), u.rows(), u.cols());
            generate3(p - 2, n - 2, k - 2, |z, y, x| {
                let at = |a: i64, b: i64, c: i64| u.at(z + 1 + a, y + 1 + b, x + 1 + c);
                at(-1, 0, 0) + at(1, 0, 0) + at(0, -1, 0) + at(0, 1, 0) + at(0, 0, -1) + at(0, 0, 1)
                    - 6.0 * at(0, 0, 0)
            })
        },
        |[u]| {
            Array::tensor([4, 5, 7], |z, y, x| {
                let (z, y, x) = (z + 1, y + 1, x + 1);
                u[[z - 1, y, x]]
                    + u[[z + 1, y, x]]
                    + u[[z, y - 1, x]]
                    + u[[z, y + 1, x]]
                    + u[[z, y, x - 1]]
                    + u[[z, y, x + 1]]
                    - 6.0 * u[[z, y, x]]
            })
        },
    );
    c.add(
        "seven_point_slices",
        ["u"],
        "r",
        [t(6, 7, 9)],
        |u: TExp<f32>| {
            let (p, n, k) = (u.planes(), u.rows(), u.cols());
            let part = |a: i64, b: i64, c: i64| {
                u.slice_planes(1 + a, p - 1 + a).slice_rows(1 + b, n - 1 + b).slice_cols(1 + c, k - 1 + c)
            };
            part(-1, 0, 0) + part(1, 0, 0) + part(0, -1, 0) + part(0, 1, 0) + part(0, 0, -1) + part(0, 0, 1)
                - 6.0 * part(0, 0, 0)
        },
        |[u]| {
            Array::tensor([4, 5, 7], |z, y, x| {
                let (z, y, x) = (z + 1, y + 1, x + 1);
                u[[z - 1, y, x]]
                    + u[[z + 1, y, x]]
                    + u[[z, y - 1, x]]
                    + u[[z, y + 1, x]]
                    + u[[z, y, x - 1]]
                    + u[[z, y, x + 1]]
                    - 6.0 * u[[z, y, x]]
            })
        },
    );
    padded_volumes(c);
}

/// Around an element of a volume that is clamped at its faces.
fn around(u: &Array, [planes, rows, cols]: [usize; 3], [z, y, x]: [usize; 3]) -> impl Fn([usize; 3]) -> f64 {
    let near = |i: usize, by: usize, n: usize| (i + by).clamp(1, n) - 1;
    move |by| u[[near(z, by[0], planes), near(y, by[1], rows), near(x, by[2], cols)]]
}

fn padded_volumes(c: &mut Corpus) {
    const SIZE: [usize; 3] = [6, 7, 9];
    let six = |u: &Array, at: [usize; 3]| {
        let near = around(u, SIZE, at);
        let faces = [[0, 1, 1], [2, 1, 1], [1, 0, 1], [1, 2, 1], [1, 1, 0], [1, 1, 2]];
        faces.map(near).iter().sum::<f64>() - 6.0 * u[at]
    };
    fn laplace(u: TExp<f32>) -> TExp<f32> {
        let w = u.padded([1, 1], [1, 1], [1, 1], Boundary::Clamp).windows3(3, 3, 3);
        (w[0][1][1] + w[2][1][1]) + (w[1][0][1] + w[1][2][1]) + (w[1][1][0] + w[1][1][2]) - 6.0 * u
    }
    c.add("laplace3d", ["u"], "r", [t(6, 7, 9)], laplace, |[u]| {
        Array::tensor(SIZE, |z, y, x| six(u, [z, y, x]))
    });
    c.add(
        "laplace27",
        ["u"],
        "r",
        [t(6, 7, 9)],
        |u: TExp<f32>| {
            let weight = |p: usize, r: usize, c: usize| 1.0 / (1 + p * 9 + r * 3 + c) as f32;
            let weights: [[[f32; 3]; 3]; 3] =
                std::array::from_fn(|p| std::array::from_fn(|r| std::array::from_fn(|c| weight(p, r, c))));
            u.padded([1, 1], [1, 1], [1, 1], Boundary::Clamp).weighted_sum3(&weights)
        },
        |[u]| {
            Array::tensor(SIZE, |z, y, x| {
                let near = around(u, SIZE, [z, y, x]);
                (0..27).map(|k| near([k / 9, k / 3 % 3, k % 3]) / (k + 1) as f64).sum()
            })
        },
    );
    c.add(
        "wave_step_of_a_volume",
        ["u", "before", "c"],
        "r",
        [t(6, 7, 9), t(6, 7, 9), s(0.25)],
        |u: TExp<f32>, before: TExp<f32>, c: SExp<f32>| 2.0 * u - before + c * laplace(u),
        |[u, before, c]| {
            Array::tensor(SIZE, |z, y, x| {
                let at = [z, y, x];
                2.0 * u[at] - before[at] + c.value() * six(u, at)
            })
        },
    );
}
