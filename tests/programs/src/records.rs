//! Records, iterations that know their step or their end, and reductions that keep the order, as people write them.

use crate::array::{Array, m, s, v};
use crate::program::Corpus;
use crate::reason;
use arraygpu::prelude::*;

/// Adds the programs.
pub fn add(c: &mut Corpus) {
    bodies(c);
    complex_numbers(c);
    ordered(c);
    joined(c);
    iterations(c);
    bits(c);
}

#[derive(Record)]
struct Body {
    x: f32,
    y: f32,
    vx: f32,
    vy: f32,
}

fn bodies(c: &mut Corpus) {
    c.add(
        "n_body",
        ["body", "mass", "dt"],
        "next",
        [v(12), v(12), v(12), v(12), v(12).positive(), s(0.125)],
        // three steps of bodies that attract each other in a plane
        |bodies: VExp<Body>, mass: VExp<f32>, dt: SExp<f32>| {
            let step = |all: VExp<Body>| {
                all.map(|b| {
                    let pulls = all.zip_with(mass, |o, m| {
                        let (x, y) = (o.x - b.x, o.y - b.y);
                        let r2 = x * x + y * y + 0.5;
                        let pull = m / (r2 * r2.sqrt());
                        (pull * x, pull * y)
                    });
                    let (ax, ay) = pulls.reduce((0.0, 0.0), |(a, b), (c, d)| (a + c, b + d));
                    let (vx, vy) = (b.vx + dt * ax, b.vy + dt * ay);
                    BodyFields { x: b.x + dt * vx, y: b.y + dt * vy, vx, vy }.pack()
                })
            };
            bodies.iterate(3, step)
        },
        |[x, y, vx, vy, mass, dt]| {
            let mut all: Vec<[f64; 4]> = (0..12).map(|i| [x[i], y[i], vx[i], vy[i]]).collect();
            for _ in 0..3 {
                let step = |b: &[f64; 4]| {
                    let mut v = [b[2], b[3]];
                    for (o, m) in all.iter().zip(&mass.elements) {
                        let (x, y) = (o[0] - b[0], o[1] - b[1]);
                        let pull = dt.value() * m / (x * x + y * y + 0.5).powf(1.5);
                        v = [v[0] + pull * x, v[1] + pull * y];
                    }
                    [b[0] + dt.value() * v[0], b[1] + dt.value() * v[1], v[0], v[1]]
                };
                all = all.iter().map(step).collect();
            }
            (0..4).map(|k| Array::vector(12, |i| all[i][k])).collect::<Vec<Array>>()
        },
    )
    .fewest(3);
}

fn complex_numbers(c: &mut Corpus) {
    c.add(
        "julia_set",
        ["rows", "cols"],
        "steps",
        [s(7.0), s(8.0)],
        |rows: SExp<i64>, cols: SExp<i64>| {
            generate2(rows, cols, |i, j| {
                let z = complex(j.cast::<f32>() * 0.4 - 1.4, i.cast::<f32>() * 0.4 - 1.2);
                let inside = |(z, k): (SExp<Complex<f32>>, SExp<i64>)| z.norm_sqr().le(4.0) & k.lt(20);
                loop_while((z, 0i64), inside, |(z, k)| (z * z + Complex::new(-0.5, 0.5), k + 1)).1
            })
        },
        |[_, _]| {
            Array::matrix(7, 8, |i, j| {
                let (mut x, mut y, mut k) = (j as f64 * 0.4 - 1.4, i as f64 * 0.4 - 1.2, 0);
                while x * x + y * y <= 4.0 && k < 20 {
                    (x, y, k) = (x * x - y * y - 0.5, 2.0 * x * y + 0.5, k + 1);
                }
                f64::from(k)
            })
        },
    );
    c.add(
        "discrete_fourier",
        ["z"],
        "r",
        [v(9), v(9)],
        |z: VExp<Complex<f32>>| {
            let n = z.len();
            generate(n, |k| {
                let turn = |j: SExp<i64>| -2.0 * (j * k % n).cast::<f32>() / n.cast::<f32>();
                generate(n, |j| complex(turn(j).cospi(), turn(j).sinpi()) * z.at(j)).sum()
            })
        },
        |[re, im]| {
            let part = |k: usize, sign: f64, a: &Array, b: &Array| {
                let angle = |j: usize| -std::f64::consts::TAU * (j * k % 9) as f64 / 9.0;
                (0..9).map(|j| angle(j).cos() * a[j] - sign * angle(j).sin() * b[j]).sum::<f64>()
            };
            (Array::vector(9, |k| part(k, 1.0, re, im)), Array::vector(9, |k| part(k, -1.0, im, re)))
        },
    );
}

/// The function a x + b.
#[derive(Clone, Copy, Record)]
struct Affine {
    a: f32,
    b: f32,
}

fn ordered(c: &mut Corpus) {
    c.add(
        "maximum_segment_sum",
        ["x"],
        "r",
        [v(40)],
        |x: VExp<f32>| {
            let p = x.map(|a| a.max(0.0));
            (p, p, p, x)
                .reduce_noncommutative((0.0, 0.0, 0.0, 0.0), |(a, first, last, all), (b, next, end, more)| {
                    let best = a.max(b).max(last + next);
                    (best, first.max(all + next), end.max(more + last), all + more)
                })
                .0
        },
        |[x]| {
            let segment = |(most, run): (f64, f64), x: &f64| {
                let run = (run + x).max(0.0);
                (most.max(run), run)
            };
            x.elements.iter().fold((0.0, 0.0), segment).0
        },
    )
    .fewest(3)
    .because(reason::ORDERED);
    c.add(
        "linear_recurrence",
        ["step", "first"],
        "r",
        [v(40).of(|x| x / 2.0), v(40), s(0.75)],
        |steps: VExp<Affine>, first: SExp<f32>| {
            let then =
                |f: SExp<Affine>, g: SExp<Affine>| AffineFields { a: f.a * g.a, b: f.b * g.a + g.b }.pack();
            let all = steps.reduce_noncommutative(Affine { a: 1.0, b: 0.0 }, then);
            all.a * first + all.b
        },
        |[a, b, first]| (0..40).fold(first.value(), |x, k| a[k] * x + b[k]),
    )
    .fewest(3)
    .because(reason::ORDERED);
}

#[derive(Clone, Copy, Record)]
struct Near {
    distance: f32,
    index: i64,
}

/// How many numbers there are, their mean, and the sum of their squared deviations.
#[derive(Clone, Copy, Record)]
struct Moments {
    count: f32,
    mean: f32,
    rest: f32,
}

fn joined(c: &mut Corpus) {
    c.add(
        "nearest_place",
        ["lat", "lon", "y", "x"],
        "near",
        [v(40), v(40), s(0.5), s(-0.25)],
        |lat: VExp<f32>, lon: VExp<f32>, y: SExp<f32>, x: SExp<f32>| {
            let near = lat.zip3(lon, iota(lat.len()), |lat, lon, index| {
                NearFields { distance: (lat - y).hypot(lon - x), index }.pack()
            });
            near.reduce(Near { distance: f32::INFINITY, index: -1 }, |a, b| {
                let is_nearer = b.distance.lt(a.distance) | (b.distance.eq(a.distance) & b.index.lt(a.index));
                cond(is_nearer, b, a)
            })
        },
        |[lat, lon, y, x]| {
            let distance = |i: usize| (lat[i] - y.value()).hypot(lon[i] - x.value());
            let least = (0..40).fold(0, |best, i| if distance(i) < distance(best) { i } else { best });
            (distance(least), least as f64)
        },
    );
    c.add(
        "moments_of_parts",
        ["x"],
        "mean variance",
        [v(40)],
        |x: VExp<f32>| {
            let one = x.map(|mean| MomentsFields { count: lit(1.0f32), mean, rest: lit(0.0f32) }.pack());
            let all = one.reduce(Moments { count: 0.0, mean: 0.0, rest: 0.0 }, |a, b| {
                let count = a.count + b.count;
                let (apart, part) = (b.mean - a.mean, b.count / count);
                let rest = a.rest + b.rest + apart * apart * a.count * part;
                MomentsFields { count, mean: a.mean + apart * part, rest }.pack()
            });
            (all.mean, all.rest / all.count)
        },
        |[x]| {
            let mean = x.elements.iter().sum::<f64>() / 40.0;
            (mean, x.elements.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 40.0)
        },
    );
    c.add(
        "azimuthal_means",
        ["radius", "x", "rings"],
        "r",
        [v(40).positive(), v(40), s(3.0)],
        // the mean of the elements in each ring around a centre
        |radius: VExp<f32>, x: VExp<f32>, rings: SExp<i64>| {
            generate(rings, |k| {
                let low = k.cast::<f32>() * 0.75 + 0.25;
                let chosen = radius.zip_with(x, |r, x| {
                    if_else(r.ge(low) & r.lt(low + 0.75), || (x, lit(1.0f32)), || (0.0, 0.0))
                });
                let (sum, count) = chosen.reduce((0.0, 0.0), |(a, m), (b, n)| (a + b, m + n));
                sum / count.max(1.0)
            })
        },
        |[radius, x, _]| {
            Array::vector(3, |k| {
                let low = k as f64 * 0.75 + 0.25;
                let is_chosen = |i: &usize| radius[*i] >= low && radius[*i] < low + 0.75;
                let chosen: Vec<f64> = (0..40).filter(is_chosen).map(|i| x[i]).collect();
                chosen.iter().sum::<f64>() / (chosen.len() as f64).max(1.0)
            })
        },
    );
}

fn iterations(c: &mut Corpus) {
    c.add(
        "pathfinder",
        ["m"],
        "r",
        [m(4, 40)],
        // the least sums from the first row down, by a step to a neighbouring column
        |m: MExp<f32>| {
            m.row(0).iterate_indexed(m.rows() - 1, |t, best| {
                let w = best.padded(1, 1, Boundary::Constant(f32::INFINITY)).windows(3);
                m.row(t + 1) + w[0].zip3(w[1], w[2], |a, b, c| a.min(b).min(c))
            })
        },
        |[m]| {
            (1..4).fold(m.row(0).to_vec(), |best, t| {
                let least = |j: usize| {
                    best[j.saturating_sub(1)..40.min(j + 2)].iter().copied().fold(f64::INFINITY, f64::min)
                };
                (0..40).map(|j| m[[t, j]] + least(j)).collect()
            })
        },
    )
    .because(reason::STARTS)
    .fewest(3);
    c.add(
        "heat_history",
        ["x"],
        "r",
        [v(40)],
        |x: VExp<f32>| {
            iterate_collect(4, x, |x| {
                let w = x.padded(1, 1, Boundary::Clamp).windows(3);
                w[1] + 0.25 * (w[0] - 2.0 * w[1] + w[2])
            })
        },
        |[x]| {
            let mut all = vec![x.elements.clone()];
            for t in 0..4 {
                let at = |j: i64| all[t][j.clamp(0, 39) as usize];
                all.push((0..40).map(|j| 0.5 * at(j) + 0.25 * (at(j - 1) + at(j + 1))).collect());
            }
            Array::matrix(4, 40, |t, j| all[t + 1][j])
        },
    )
    .fewest(4);
    c.add(
        "jacobi_until",
        ["m", "b"],
        "x",
        [m(12, 12), v(12)],
        // 4 x + m x / 2 n = b, until no element changes by more than 1e-5
        |m: MExp<f32>, b: VExp<f32>| {
            let scale = 0.5 / m.cols().cast::<f32>();
            let next = move |x: VExp<f32>| (b - scale * m.map_rows(|r| r.dot(x))) * 0.25;
            iterate_while(60, b, |x| (next(*x) - *x).abs().max().gt(1e-5), next).check_every(2).0
        },
        |[m, b]| {
            (0..60).fold(b.elements.clone(), |x, _| {
                let product = |i: usize| m.row(i).iter().zip(&x).map(|(m, x)| m * x).sum::<f64>();
                (0..12).map(|i| (b[i] - product(i) / 24.0) / 4.0).collect()
            })
        },
    )
    .because(reason::FLATTENED)
    .fewest(91);
}

fn bits(c: &mut Corpus) {
    c.add(
        "inverse_roots_by_bits",
        ["x"],
        "r",
        [v(40).positive()],
        |x: VExp<f32>| {
            x.map(|a| {
                let guess = SExp::<f32>::from_bits(0x5f37_59dfu32 - (a.to_bits() >> 1u32));
                loop_for(3, guess, |_, y| y * (1.5 - 0.5 * a * y * y))
            })
        },
        |[x]| x.map(|x| 1.0 / x.sqrt()),
    );
}
