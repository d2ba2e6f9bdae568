//! Constructs joined that programs rarely join: scans inside of attention, records and complex numbers through
//! iterations of products, volumes whose rows are reduced, searches in scans.

use crate::array::{Array, m, s, t, v};
use crate::program::Corpus;
use crate::reason;
use arraygpu::prelude::*;

/// Adds the programs.
pub fn add(c: &mut Corpus) {
    scans(c);
    searches(c);
    products(c);
    complex_products(c);
    volumes(c);
    choices(c);
}

/// The sums of all beginnings of a vector, each with its last element.
fn running(x: &[f64]) -> Vec<f64> {
    x.iter().scan(0.0, |sum, x| Some(*sum + x).inspect(|next| *sum = *next)).collect()
}

/// A matrix, and the product of two.
fn product(a: &Array, b: &Array) -> Array {
    Array::matrix(a.rows(), b.cols(), |i, j| (0..a.cols()).map(|k| a[[i, k]] * b[[k, j]]).sum())
}

fn softmax(row: &[f64]) -> Vec<f64> {
    let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let e: Vec<f64> = row.iter().map(|x| (x - most).exp()).collect();
    e.iter().map(|x| x / e.iter().sum::<f64>()).collect()
}

fn scans(c: &mut Corpus) {
    c.add(
        "decayed_attention",
        ["q", "k", "v", "gate"],
        "r",
        [m(12, 4), m(12, 4), m(12, 4), v(12).unit()],
        // attention whose scores decay by a gate's sum over the steps between query and key
        |q: MExp<f32>, k: MExp<f32>, v: MExp<f32>, gate: VExp<f32>| {
            let decay = gate.scan(0.0, |a, b| a + b);
            let far = decay.outer(decay, |i, j| -(i - j).abs());
            (q.matmul(k.transpose()) * 0.5 + far).softmax_rows().matmul(v)
        },
        |[q, k, v, gate]| {
            let decay = running(&gate.elements);
            let score = |i: usize, j: usize| {
                (0..4).map(|d| q[[i, d]] * k[[j, d]]).sum::<f64>() * 0.5 - (decay[i] - decay[j]).abs()
            };
            let weights = Array::matrix(12, 12, score);
            let weights: Vec<f64> = (0..12).flat_map(|i| softmax(weights.row(i))).collect();
            product(&Array { extents: vec![12, 12], elements: weights }, v)
        },
    )
    .fewest(5)
    .because(reason::SCORES);
    c.add(
        "sums_of_ragged_rows",
        ["x", "ends"],
        "r",
        [v(40), v(10).at(|k| (k - k % 3) as f64)],
        // the sums of parts whose ends are data, some of them empty, as differences of a scan
        |x: VExp<f32>, ends: VExp<i64>| {
            let sums = x.scan(0.0, |a, b| a + b);
            let upto = sums.gather(ends);
            generate(ends.len(), |i| upto.at(i) - cond(i.gt(0), upto.at((i - 1).max(0)), 0.0))
        },
        |[x, ends]| {
            let start = |i: usize| if i > 0 { ends[i - 1] as usize + 1 } else { 0 };
            Array::vector(10, |i| x.elements[start(i)..=ends[i] as usize].iter().sum())
        },
    )
    .fewest(2)
    .because(reason::SCAN);
    c.add(
        "normalised_scan_steps",
        ["x", "k"],
        "r",
        [v(40), s(3.0)],
        // each step is a running sum, divided by its greatest element
        |x: VExp<f32>, k: SExp<i64>| {
            x.iterate(k, |x| {
                let sums = x.scan(0.0, |a, b| a + b);
                sums / (sums.abs().max() + 1.0)
            })
        },
        |[x, _]| {
            (0..3).fold(x.clone(), |x, _| {
                let sums = running(&x.elements);
                let most = sums.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
                Array::vector(40, |i| sums[i] / (most + 1.0))
            })
        },
    )
    .because(reason::SCAN)
    .fewest(6);
}

fn searches(c: &mut Corpus) {
    c.add(
        "samples_by_inversion",
        ["weight", "x", "u"],
        "r",
        [v(40).positive(), v(40), v(30).unit()],
        // draws of x by weights: each searches its place in the running sum
        |weight: VExp<f32>, x: VExp<f32>, u: VExp<f32>| {
            let sums = weight.scan(0.0, |a, b| a + b);
            let (n, total) = (x.len(), weight.sum());
            u.map(|u| {
                let wanted = u * total;
                let step = |(low, high): (SExp<i64>, SExp<i64>)| {
                    let middle = (low + high) / 2;
                    slet(sums.at(middle).le(wanted), |is_below| {
                        (cond(is_below, middle + 1, low), cond(is_below, high, middle))
                    })
                };
                let place = loop_while((0i64, n - 1), |(low, high)| low.lt(high), step).0;
                x.at(place)
            })
        },
        |[weight, x, u]| {
            let sums = running(&weight.elements);
            u.map(|u| x[sums.iter().take(39).filter(|s| **s <= u * sums[39]).count()])
        },
    )
    .fewest(3)
    .because(reason::SCAN);
    c.add(
        "nearest_rows_gathered",
        ["x", "y", "values"],
        "r",
        [m(12, 3), m(14, 3), m(14, 6)],
        // the mean of the rows of `values` whose places are near each row of x, by a weight of the distance
        |x: MExp<f32>, y: MExp<f32>, values: MExp<f32>| {
            let distance = generate2(x.rows(), y.rows(), |i, j| {
                let d = x.row(i) - y.row(j);
                d.dot(d)
            });
            let nearest = distance.argmin_rows();
            let best = distance.map_rows(|r| r.min());
            generate2(x.rows(), values.cols(), |i, j| values.at(nearest.at(i), j) / (1.0 + best.at(i)))
        },
        |[x, y, values]| {
            let distance = |i: usize, j: usize| (0..3).map(|d| (x[[i, d]] - y[[j, d]]).powi(2)).sum::<f64>();
            Array::matrix(12, 6, |i, c| {
                let mut best = 0;
                for j in 1..14 {
                    if distance(i, j) < distance(i, best) {
                        best = j;
                    }
                }
                values[[best, c]] / (1.0 + distance(i, best))
            })
        },
    )
    .fewest(2)
    .because(reason::FLATTENED);
}

fn products(c: &mut Corpus) {
    c.add(
        "polar_factor",
        ["x"],
        "r",
        [m(12, 10)],
        // three steps of Newton and Schulz to the orthogonal factor of the centred columns
        |x: MExp<f32>| {
            let centred = x - x.mean_cols().broadcast_rows(x.rows());
            let scaled = centred / centred.norm();
            scaled.iterate(3, |y| 1.5 * y - 0.5 * y.matmul(y.transpose().matmul(y)))
        },
        |[x]| {
            let mean = |j: usize| x.col(j).iter().sum::<f64>() / 12.0;
            let centred = Array::matrix(12, 10, |i, j| x[[i, j]] - mean(j));
            let norm = centred.elements.iter().map(|x| x * x).sum::<f64>().sqrt();
            (0..3).fold(centred.map(|x| x / norm), |y, _| {
                let turned = Array::matrix(10, 12, |i, j| y[[j, i]]);
                let cube = product(&y, &product(&turned, &y));
                Array::matrix(12, 10, |i, j| 1.5 * y[[i, j]] - 0.5 * cube[[i, j]])
            })
        },
    )
    .because(reason::CUBE)
    .because(reason::STARTS)
    .fewest(8);
}

fn complex_products(c: &mut Corpus) {
    c.add(
        "propagated_state",
        ["h", "z"],
        "after",
        [m(10, 10), m(10, 10), v(10), v(10)],
        // four steps of a complex matrix on a complex vector, each scaled to length one
        |h: MExp<Complex<f32>>, z: VExp<Complex<f32>>| {
            z.iterate(4, |z| {
                let next = generate(h.rows(), |i| (h.row(i) * z).sum());
                let scale = 1.0 / next.map(|z| z.norm_sqr()).sum().sqrt();
                next.map(|z| z.scale(scale))
            })
        },
        |[hr, hi, re, im]| {
            let mut z: Vec<[f64; 2]> = (0..10).map(|i| [re[i], im[i]]).collect();
            for _ in 0..4 {
                let element = |i: usize| {
                    z.iter().enumerate().fold([0.0, 0.0], |[a, b], (j, [x, y])| {
                        let [r, s] = [hr[[i, j]], hi[[i, j]]];
                        [a + r * x - s * y, b + r * y + s * x]
                    })
                };
                let next: Vec<[f64; 2]> = (0..10).map(element).collect();
                let norm = next.iter().map(|[x, y]| x * x + y * y).sum::<f64>().sqrt();
                z = next.iter().map(|[x, y]| [x / norm, y / norm]).collect();
            }
            (0..2).map(|k| Array::vector(10, |i| z[i][k])).collect::<Vec<Array>>()
        },
    )
    .because(reason::FLATTENED)
    .fewest(8);
    c.add(
        "strongest_response",
        ["a", "b"],
        "place strength",
        [m(12, 10), m(12, 10), m(10, 14), m(10, 14)],
        // of a complex product, where the greatest square of each row is, and its share of the row
        |a: MExp<Complex<f32>>, b: MExp<Complex<f32>>| {
            let power = a.matmul(b).map(|z| z.norm_sqr());
            let most = power.map_rows(|r| r.max());
            (power.argmax_rows(), most / power.sum_rows())
        },
        |[ar, ai, br, bi]| {
            let [rr, ii] = [product(ar, br), product(ai, bi)];
            let [ri, ir] = [product(ar, bi), product(ai, br)];
            let power = Array::matrix(12, 14, |i, j| {
                (rr[[i, j]] - ii[[i, j]]).powi(2) + (ri[[i, j]] + ir[[i, j]]).powi(2)
            });
            let place = |i: usize| {
                let row = power.row(i);
                (1..14).fold(0, |best, j| if row[j] > row[best] { j } else { best })
            };
            let share = |i: usize| power[[i, place(i)]] / power.row(i).iter().sum::<f64>();
            (Array::vector(12, |i| place(i) as f64), Array::vector(12, share))
        },
    )
    .fewest(2)
    .because(reason::FLATTENED);
}

fn volumes(c: &mut Corpus) {
    c.add(
        "normalised_rows_of_a_smoothed_volume",
        ["u"],
        "r",
        [t(6, 7, 8)],
        |u: TExp<f32>| {
            let w = u.padded([1, 1], [1, 1], [1, 1], Boundary::Clamp).windows3(3, 3, 3);
            let around = (w[0][1][1] + w[2][1][1]) + (w[1][0][1] + w[1][2][1]) + (w[1][1][0] + w[1][1][2]);
            let smooth = 0.5 * u + around * 0.125;
            let energy = smooth.map_rows(|r| r.dot(r)) + 1.0;
            smooth / energy.sqrt().broadcast_planes(u.cols()).permute([1, 2, 0])
        },
        |[u]| {
            let at = |k: i64, i: i64, j: i64| {
                let inside = |x: i64, n: i64| x.clamp(0, n - 1) as usize;
                u[[inside(k, 6), inside(i, 7), inside(j, 8)]]
            };
            let smooth = |k: usize, i: usize, j: usize| {
                let (k, i, j) = (k as i64, i as i64, j as i64);
                let around = at(k - 1, i, j) + at(k + 1, i, j) + at(k, i - 1, j) + at(k, i + 1, j);
                0.5 * at(k, i, j) + (around + at(k, i, j - 1) + at(k, i, j + 1)) * 0.125
            };
            Array::tensor([6, 7, 8], |k, i, j| {
                let energy: f64 = (0..8).map(|j| smooth(k, i, j).powi(2)).sum();
                smooth(k, i, j) / (energy + 1.0).sqrt()
            })
        },
    )
    .because(reason::APART);
}

/// A point of a plane, and how much it counts.
#[derive(Record)]
struct Point {
    x: f32,
    y: f32,
    weight: f32,
}

fn choices(c: &mut Corpus) {
    c.add(
        "points_drawn_to_centres",
        ["point", "centre", "k"],
        "next",
        [v(12), v(12), v(12).positive(), m(3, 2), s(3.0)],
        // each step moves the points towards the nearest centre, and weighs them by their distance from the mean
        |points: VExp<Point>, centres: MExp<f32>, k: SExp<i64>| {
            points.iterate(k, |points| {
                let total = points.weight.sum();
                let (mx, my) =
                    ((points.x * points.weight).sum() / total, (points.y * points.weight).sum() / total);
                points.map(|p| {
                    let far =
                        generate(centres.rows(), |c| (p.x - centres.at(c, 0)).hypot(p.y - centres.at(c, 1)));
                    let nearest = far.argmin();
                    let (x, y) = (centres.at(nearest, 0), centres.at(nearest, 1));
                    let weight = p.weight / (1.0 + (p.x - mx).hypot(p.y - my));
                    PointFields { x: 0.5 * (p.x + x), y: 0.5 * (p.y + y), weight }.pack()
                })
            })
        },
        |[x, y, weight, centres, _]| {
            let mut points: Vec<[f64; 3]> = (0..12).map(|i| [x[i], y[i], weight[i]]).collect();
            for _ in 0..3 {
                let total: f64 = points.iter().map(|p| p[2]).sum();
                let mean = |k: usize| points.iter().map(|p| p[k] * p[2]).sum::<f64>() / total;
                let (mx, my) = (mean(0), mean(1));
                let step = |p: &[f64; 3]| {
                    let far = |c: &usize| (p[0] - centres[[*c, 0]]).hypot(p[1] - centres[[*c, 1]]);
                    let c = (0..3).min_by(|a, b| far(a).total_cmp(&far(b))).unwrap_or(0);
                    let weight = p[2] / (1.0 + (p[0] - mx).hypot(p[1] - my));
                    [0.5 * (p[0] + centres[[c, 0]]), 0.5 * (p[1] + centres[[c, 1]]), weight]
                };
                points = points.iter().map(step).collect();
            }
            (0..3).map(|k| Array::vector(12, |i| points[i][k])).collect::<Vec<Array>>()
        },
    )
    .because(reason::PASSES)
    .because(reason::LOOPS)
    .fewest(6);
}
