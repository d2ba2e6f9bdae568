//! Dynamic programming: a row or a diagonal at a time, as the language has no loops over elements.

use crate::array::{Array, m, s, v};
use crate::program::Corpus;
use crate::reason;
use arraygpu::prelude::*;

/// Adds the programs.
pub fn add(c: &mut Corpus) {
    rows(c);
    tables(c);
    graphs(c);
    ladders(c);
}

fn rows(c: &mut Corpus) {
    c.add(
        "minimum_path_rows",
        ["costs"],
        "r",
        [m(5, 9).positive()],
        |costs: MExp<f32>| {
            let (total, _) = iterate(costs.rows() - 1, (costs.row(0), fill(1, 1i64)), |(t, k)| {
                let w = t.padded(1, 1, Boundary::Clamp).windows(3);
                let least = w[0].zip3(w[1], w[2], |a, b, c| a.min(b).min(c));
                let row = generate(t.len(), |j| costs.at(k.at(0), j));
                (least + row, k + 1)
            });
            total.min()
        },
        |[costs]| {
            let mut t = costs.row(0).to_vec();
            for k in 1..5 {
                t = (0..9)
                    .map(|j: usize| {
                        let near = t[j.max(1) - 1].min(t[j]).min(t[(j + 1).min(8)]);
                        near + costs[[k, j]]
                    })
                    .collect();
            }
            t.into_iter().fold(f64::MAX, f64::min)
        },
    )
    .because(reason::COUNTER)
    .because(reason::STARTS)
    .keep(6)
    .fewest(6);
    c.add(
        "seam_energy_unrolled",
        ["costs"],
        "r",
        [m(4, 9).positive()],
        |costs: MExp<f32>| {
            let mut t = costs.row(0);
            for k in 1..4 {
                let w = t.padded(1, 1, Boundary::Clamp).windows(3);
                t = w[0].zip3(w[1], w[2], |a, b, c| a.min(b).min(c)) + costs.row(k);
            }
            t
        },
        |[costs]| {
            let mut t = costs.row(0).to_vec();
            for k in 1..4 {
                t = (0..9)
                    .map(|j: usize| t[j.max(1) - 1].min(t[j]).min(t[(j + 1).min(8)]) + costs[[k, j]])
                    .collect();
            }
            t
        },
    )
    .because(reason::STAGES);
    c.add(
        "knapsack",
        ["weights", "values", "capacity"],
        "r",
        [v(4).below(3).of(|x| x + 1.0), v(4).positive(), s(9.0)],
        |weights: VExp<i64>, values: VExp<f32>, capacity: SExp<i64>| {
            let start = fill(capacity + 1, 0.0f32);
            let (best, _) = iterate(weights.len(), (start, fill(1, 0i64)), |(best, k)| {
                let (w, value) = (weights.at(k.at(0)), values.at(k.at(0)));
                let next = generate(capacity + 1, |c| {
                    let with = best.at((c - w).max(0)) + value;
                    cond(c.ge(w), best.at(c).max(with), best.at(c))
                });
                (next, k + 1)
            });
            best
        },
        |[weights, values, _]| {
            let mut best = vec![0.0f64; 10];
            for k in 0..4 {
                let w = weights[k] as usize;
                best = (0..10)
                    .map(|c| if c >= w { best[c].max(best[c - w] + values[k]) } else { best[c] })
                    .collect();
            }
            best
        },
    )
    .because(reason::COUNTER)
    .because(reason::STARTS)
    .fewest(6);
    c.add(
        "coin_ways",
        ["amount"],
        "r",
        [s(12.0)],
        |amount: SExp<i64>| {
            let n = amount + 1;
            let mut ways = generate(n, |i| cond(i.eq(0), lit(1i64), 0i64));
            for coin in [1i64, 2, 5] {
                let before = ways;
                ways = generate(n, |i| {
                    generate(n, |k| cond((k * coin).le(i), before.at((i - k * coin).max(0)), 0i64)).sum()
                });
            }
            ways
        },
        |[_]| {
            let mut ways = vec![0.0; 13];
            ways[0] = 1.0;
            for coin in [1, 2, 5] {
                for i in coin..13 {
                    ways[i] += ways[i - coin];
                }
            }
            ways
        },
    )
    .because(reason::RECORDS)
    .fewest(3);
    c.add(
        "viterbi",
        ["transition", "emission", "start"],
        "r",
        [m(6, 6), v(6), v(6)],
        |transition: MExp<f32>, emission: VExp<f32>, start: VExp<f32>| {
            start.iterate(4, |p| {
                let n = p.len();
                generate(n, |j| generate(n, |i| p.at(i) + transition.at(i, j)).max()) + emission
            })
        },
        |[transition, emission, start]| {
            let mut p = start.elements.clone();
            for _ in 0..4 {
                let best = |j: usize| (0..6).map(|i| p[i] + transition[[i, j]]).fold(f64::MIN, f64::max);
                p = (0..6).map(|j| best(j) + emission[j]).collect();
            }
            p
        },
    )
    .fewest(4);
    c.add(
        "edit_distance_diagonals",
        ["a", "b"],
        "r",
        [v(7).below(3), v(7).below(3)],
        |a: VExp<i64>, b: VExp<i64>| {
            let n = a.len() + 1;
            // on diagonal d: the distance of the first i and the first d - i elements
            let state = (fill(n, 0i64), fill(n, 0i64), fill(1, 1i64));
            let (last, _, _) = iterate(2 * (n - 1), state, |(now, before, d)| {
                let d0 = d.at(0);
                let next = generate(n, |i| {
                    let j = d0 - i;
                    let same = a.at((i - 1).max(0)).eq(b.at((j - 1).max(0).min(n - 2)));
                    let replaced = before.at((i - 1).max(0)) + cond(same, lit(0i64), 1);
                    let moved = now.at((i - 1).max(0)).min(now.at(i)) + 1;
                    cond(i.eq(0) | j.eq(0), d0, cond(j.lt(0) | j.ge(n), lit(0i64), replaced.min(moved)))
                });
                (next, now, d + 1)
            });
            last.at(n - 1)
        },
        |[a, b]| {
            let mut d = vec![vec![0.0f64; 8]; 8];
            for i in 0..8 {
                for j in 0..8 {
                    d[i][j] = if i == 0 || j == 0 {
                        (i + j) as f64
                    } else {
                        let replaced = d[i - 1][j - 1] + f64::from(u8::from(a[i - 1] != b[j - 1]));
                        replaced.min(d[i - 1][j] + 1.0).min(d[i][j - 1] + 1.0)
                    };
                }
            }
            d[7][7]
        },
    )
    .because(reason::COUNTER)
    .because(reason::STARTS)
    .keep(8)
    .extent(7, crate::program::Large::Is(64))
    .fewest(130);
}

fn tables(c: &mut Corpus) {
    c.add(
        "matrix_chain_level",
        ["cost", "dims"],
        "r",
        [m(9, 9).positive(), v(10).positive()],
        |cost: MExp<f32>, dims: VExp<f32>| {
            let n = cost.rows();
            generate2(n, n, |i, j| {
                let best = generate(n, |k| {
                    let split = cost.at(i, k) + cost.at((k + 1).min(n - 1), j);
                    cond(k.ge(i) & k.lt(j), split + dims.at(i) * dims.at(k + 1) * dims.at(j + 1), 1e9)
                });
                cond(i.lt(j), best.min(), 0.0)
            })
        },
        |[cost, dims]| {
            Array::matrix(9, 9, |i, j| {
                let split = |k: usize| cost[[i, k]] + cost[[k + 1, j]] + dims[i] * dims[k + 1] * dims[j + 1];
                if i < j { (i..j).map(split).fold(1e9, f64::min) } else { 0.0 }
            })
        },
    )
    .extent(10, crate::program::Large::Times(2));
    c.add(
        "time_warp_band",
        ["a", "b"],
        "r",
        [v(9), v(9)],
        |a: VExp<f32>, b: VExp<f32>| {
            let n = a.len();
            let first = b.map(|b| (a.at(0) - b).abs()).scan(0.0, |a, b| a + b);
            let (last, _) = iterate(3, (first, fill(1, 1i64)), |(t, i)| {
                let x = a.at(i.at(0));
                let next = generate(n, |j| t.at(j).min(t.at((j - 1).max(0))) + (x - b.at(j)).abs());
                (next, i + 1)
            });
            last
        },
        |[a, b]| {
            let mut t: Vec<f64> = (0..9).map(|j| (0..=j).map(|k| (a[0] - b[k]).abs()).sum()).collect();
            for i in 1..4 {
                t = (0..9usize).map(|j| t[j].min(t[j.max(1) - 1]) + (a[i] - b[j]).abs()).collect();
            }
            t
        },
    )
    .because(reason::SCAN)
    .fewest(4);
    c.add(
        "smith_waterman_scores",
        ["a", "b"],
        "r",
        [v(7).below(4), v(9).below(4)],
        |a: VExp<i32>, b: VExp<i32>| {
            let score = a.outer(b, |x, y| cond(x.eq(y), lit(2.0f32), -1.0));
            let p = score.padded([1, 0], [1, 0], Boundary::Constant(0.0)).windows2(2, 2);
            (p[1][1] + p[0][0]).map(|x| x.max(0.0))
        },
        |[a, b]| {
            let score = Array::matrix(7, 9, |i, j| if a[i] == b[j] { 2.0 } else { -1.0 });
            Array::matrix(7, 9, |i, j| (score[[i, j]] + score.or(i as i64 - 1, j as i64 - 1, 0.0)).max(0.0))
        },
    );
}

fn graphs(c: &mut Corpus) {
    c.add(
        "bellman_ford",
        ["w", "start"],
        "r",
        [m(7, 7).positive(), v(7).positive()],
        |w: MExp<f32>, start: VExp<f32>| {
            start.iterate(4, |d| {
                let n = d.len();
                let best = generate(n, |j| generate(n, |i| d.at(i) + w.at(i, j)).min());
                best.zip_with(d, |a, b| a.min(b))
            })
        },
        |[w, start]| {
            let mut d = start.elements.clone();
            for _ in 0..4 {
                d = (0..7).map(|j| (0..7).map(|i| d[i] + w[[i, j]]).fold(d[j], f64::min)).collect();
            }
            d
        },
    )
    .fewest(4);
    c.add(
        "min_plus_product",
        ["a", "b"],
        "r",
        [m(7, 9), m(9, 6)],
        |a: MExp<f32>, b: MExp<f32>| {
            generate2(a.rows(), b.cols(), |i, j| a.row(i).zip_with(b.col(j), |x, y| x + y).min())
        },
        |[a, b]| Array::matrix(7, 6, |i, j| (0..9).map(|k| a[[i, k]] + b[[k, j]]).fold(f64::MAX, f64::min)),
    );
    c.add(
        "floyd_warshall",
        ["w"],
        "r",
        [m(7, 7).positive()],
        |w: MExp<f32>| {
            let (d, _) = iterate(4, (w, fill(1, 0i64)), |(d, k)| {
                let k0 = k.at(0);
                let next = generate2(d.rows(), d.cols(), |i, j| d.at(i, j).min(d.at(i, k0) + d.at(k0, j)));
                (next, k + 1)
            });
            d
        },
        |[w]| {
            let mut d = w.clone();
            for k in 0..4 {
                let b = d.clone();
                d = Array::matrix(7, 7, |i, j| b[[i, j]].min(b[[i, k]] + b[[k, j]]));
            }
            d
        },
    )
    .because(reason::COUNTER)
    .because(reason::STARTS)
    .fewest(4);
    c.add(
        "reachability",
        ["links", "from"],
        "r",
        [m(7, 7).below(3), v(7).below(2)],
        |links: MExp<i32>, from: VExp<i32>| {
            from.iterate(3, |r| {
                let near = links.map_cols(|c| c.zip_with(r, |l, r| l.gt(1) & r.gt(0)).any());
                near.zip_with(r, |n, r| cond(n | r.gt(0), lit(1i32), 0))
            })
        },
        |[links, from]| {
            let mut r = from.elements.clone();
            for _ in 0..3 {
                let is = |j: usize| r[j] > 0.0 || (0..7).any(|i| links[[i, j]] > 1.0 && r[i] > 0.0);
                r = (0..7).map(|j| f64::from(u8::from(is(j)))).collect();
            }
            r
        },
    )
    .fewest(3);
}

fn ladders(c: &mut Corpus) {
    c.add(
        "prefix_sum_ladder",
        ["x"],
        "r",
        [v(16)],
        |x: VExp<f32>| {
            (0..4).fold(x, |z, l| {
                let d = 1i64 << l;
                generate(z.len(), |i| z.at(i) + cond(i.ge(d), z.at((i - d).max(0)), 0.0))
            })
        },
        |[x]| Array::vector(16, |i| x.elements[..=i].iter().sum()),
    )
    .because(reason::LADDER);
    c.add(
        "butterfly",
        ["x"],
        "r",
        [v(16)],
        |x: VExp<f32>| {
            (0..4).fold(x, |z, l| {
                let d = 1i64 << l;
                generate(z.len(), |i| {
                    let other = z.at(i ^ d);
                    cond((i & d).eq(0), z.at(i) + other, other - z.at(i))
                })
            })
        },
        |[x]| {
            let mut z = x.elements.clone();
            for l in 0..4 {
                let d = 1usize << l;
                z = (0..16).map(|i| if i & d == 0 { z[i] + z[i ^ d] } else { z[i ^ d] - z[i] }).collect();
            }
            z
        },
    )
    .because(reason::RECORDS);
    c.add(
        "bitonic_sort",
        ["x"],
        "r",
        [v(16)],
        |x: VExp<f32>| {
            let mut z = x;
            for k in 1..=4 {
                for j in (0..k).rev() {
                    let d = 1i64 << j;
                    let before = z;
                    z = generate(z.len(), |i| {
                        let (a, b) = (before.at(i), before.at(i ^ d));
                        let low = (i & (1i64 << k)).eq(0).eq((i & d).eq(0));
                        cond(low, a.min(b), a.max(b))
                    });
                }
            }
            z
        },
        |[x]| {
            let mut z = x.elements.clone();
            z.sort_by(f64::total_cmp);
            z
        },
    )
    .because(reason::RECORDS);
    c.add(
        "prefix_sum_quadratic",
        ["x"],
        "r",
        [v(16)],
        |x: VExp<f32>| generate(x.len(), |i| generate(x.len(), |k| cond(k.le(i), x.at(k), 0.0)).sum()),
        |[x]| Array::vector(16, |i| x.elements[..=i].iter().sum()),
    );
    c.add(
        "pointer_jumping",
        ["next"],
        "r",
        [v(16).below(16)],
        |next: VExp<i64>| (0..3).fold(next, |p, _| p.gather(p)),
        |[next]| {
            let mut p = next.elements.clone();
            for _ in 0..3 {
                p = (0..16).map(|i| p[p[i] as usize]).collect();
            }
            p
        },
    );
}
