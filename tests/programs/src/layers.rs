//! Layers of neural networks, their gradients and their optimisers.

use crate::array::{Array, m, s, t, v};
use crate::convolutions;
use crate::linear_algebra::{dot, product, transposed};
use crate::program::{Corpus, Large};
use crate::reason;
use arraygpu::prelude::*;

fn softmax(x: &[f64]) -> Vec<f64> {
    let max = x.iter().copied().fold(f64::MIN, f64::max);
    let e: Vec<f64> = x.iter().map(|x| (x - max).exp()).collect();
    let sum: f64 = e.iter().sum();
    e.iter().map(|e| e / sum).collect()
}

fn by_rows(x: &Array, f: impl Fn(&[f64]) -> Vec<f64>) -> Array {
    let rows: Vec<Vec<f64>> = (0..x.rows()).map(|i| f(x.row(i))).collect();
    Array { extents: x.extents.clone(), elements: rows.concat() }
}

fn softmax_of(x: MExp<f32>) -> MExp<f32> {
    let max = x.map_rows(|r| r.max());
    let e = (x - max.broadcast_cols(x.cols())).exp();
    e / e.sum_rows().broadcast_cols(x.cols())
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Adds the programs.
pub fn add(c: &mut Corpus) {
    activations(c);
    normalisations(c);
    dense(c);
    attention(c);
    convolutions::add(c);
    training(c);
}

fn activations(c: &mut Corpus) {
    c.add(
        "gelu",
        ["x"],
        "r",
        [m(7, 9)],
        |x: MExp<f32>| x.map(|x| 0.5 * x * (1.0 + (0.7978846 * (x + 0.044715 * x * x * x)).tanh())),
        |[x]| x.map(|x| 0.5 * x * (1.0 + (0.7978846 * (x + 0.044715 * x.powi(3))).tanh())),
    );
    c.add(
        "swiglu",
        ["a", "b"],
        "r",
        [m(7, 9), m(7, 9)],
        |a: MExp<f32>, b: MExp<f32>| a.map(|a| a / (1.0 + (-a).exp())) * b,
        |[a, b]| Array::matrix(7, 9, |i, j| a[[i, j]] * sigmoid(a[[i, j]]) * b[[i, j]]),
    );
    c.add(
        "bias_and_relu",
        ["x", "b"],
        "r",
        [m(7, 9), v(9)],
        |x: MExp<f32>, b: VExp<f32>| (x + b.broadcast_rows(x.rows())).map(|x| x.max(0.0)),
        |[x, b]| Array::matrix(7, 9, |i, j| (x[[i, j]] + b[j]).max(0.0)),
    );
    c.add(
        "dropout",
        ["x", "mask", "p"],
        "r",
        [m(7, 9), m(7, 9).unit(), s(0.25)],
        |x: MExp<f32>, mask: MExp<f32>, p: SExp<f32>| {
            x.zip_with(mask, |x, u| cond(u.lt(p), 0.0, x / (1.0 - p)))
        },
        |[x, mask, p]| {
            Array::matrix(
                7,
                9,
                |i, j| {
                    if mask[[i, j]] < p.value() { 0.0 } else { x[[i, j]] / (1.0 - p.value()) }
                },
            )
        },
    );
}

fn normalisations(c: &mut Corpus) {
    c.add("softmax", ["x"], "r", [m(7, 9)], softmax_of, |[x]| by_rows(x, softmax))
        .fewest(3)
        .because(reason::PASSES);
    c.add(
        "softmax_of_vector",
        ["x"],
        "r",
        [v(9)],
        |x: VExp<f32>| {
            let e = (x - x.max()).exp();
            e / e.sum()
        },
        |[x]| softmax(&x.elements),
    )
    .because(reason::PASSES)
    .fewest(3);
    c.add(
        "softmax_stored",
        ["x"],
        "r",
        [m(7, 9)],
        |x: MExp<f32>| {
            let max = x.map_rows(|r| r.max());
            let e = (x - max.broadcast_cols(x.cols())).exp().materialize();
            e / e.sum_rows().broadcast_cols(x.cols())
        },
        |[x]| by_rows(x, softmax),
    )
    .because(reason::AUTHOR)
    .fewest(3);
    c.add(
        "log_softmax",
        ["x"],
        "r",
        [m(7, 9)],
        |x: MExp<f32>| {
            let n = x.cols();
            let shifted = x - x.map_rows(|r| r.max()).broadcast_cols(n);
            shifted - shifted.exp().sum_rows().log().broadcast_cols(n)
        },
        |[x]| by_rows(x, |r| softmax(r).iter().map(|p| p.ln()).collect()),
    )
    .because(reason::PASSES)
    .fewest(3);
    c.add(
        "layer_norm",
        ["x", "g", "b"],
        "r",
        [m(7, 9), v(9), v(9)],
        |x: MExp<f32>, g: VExp<f32>, b: VExp<f32>| {
            let (rows, n) = (x.rows(), x.cols());
            let mean = x.sum_rows() / n.cast::<f32>();
            let d = x - mean.broadcast_cols(n);
            let variance = d.map_rows(|r| r.dot(r)) / n.cast::<f32>();
            let scale = (variance + 0.0009765625).rsqrt();
            d * scale.broadcast_cols(n) * g.broadcast_rows(rows) + b.broadcast_rows(rows)
        },
        |[x, g, b]| {
            by_rows(x, |r| {
                let mean = r.iter().sum::<f64>() / 9.0;
                let variance = r.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 9.0;
                let scale = 1.0 / (variance + 0.0009765625).sqrt();
                (0..9).map(|j| (r[j] - mean) * scale * g[j] + b[j]).collect()
            })
        },
    )
    .because(reason::PASSES)
    .fewest(3);
    c.add(
        "rms_norm",
        ["x", "g"],
        "r",
        [m(7, 9), v(9)],
        |x: MExp<f32>, g: VExp<f32>| {
            let n = x.cols();
            let scale = (x.map_rows(|r| r.dot(r)) / n.cast::<f32>() + 0.0009765625).rsqrt();
            x * scale.broadcast_cols(n) * g.broadcast_rows(x.rows())
        },
        |[x, g]| {
            by_rows(x, |r| {
                let scale = 1.0 / (dot(r, r) / 9.0 + 0.0009765625).sqrt();
                (0..9).map(|j| r[j] * scale * g[j]).collect()
            })
        },
    )
    .fewest(2);
    c.add(
        "batch_norm",
        ["x"],
        "r",
        [m(7, 9)],
        |x: MExp<f32>| {
            let (rows, n) = (x.rows(), x.rows().cast::<f32>());
            let mean = x.sum_cols() / n;
            let variance = x.map_cols(|c| c.dot(c)) / n - mean * mean;
            (x - mean.broadcast_rows(rows)) * (variance + 0.0009765625).rsqrt().broadcast_rows(rows)
        },
        |[x]| {
            let stats: Vec<(f64, f64)> = (0..9)
                .map(|j| {
                    let col = x.col(j);
                    let mean = col.iter().sum::<f64>() / 7.0;
                    (mean, dot(&col, &col) / 7.0 - mean * mean)
                })
                .collect();
            Array::matrix(7, 9, |i, j| (x[[i, j]] - stats[j].0) / (stats[j].1 + 0.0009765625).sqrt())
        },
    )
    .fewest(2)
    .because(reason::APART);
    c.add(
        "group_of_planes_norm",
        ["x"],
        "r",
        [t(6, 7, 9)],
        |x: TExp<f32>| {
            let n = (x.rows() * x.cols()).cast::<f32>();
            let mean = x.map_planes(|p| p.sum()) / n;
            let square = x.map_planes(|p| p.map(|a| a * a).sum()) / n;
            generate3(x.planes(), x.rows(), x.cols(), |k, i, j| {
                (x.at(k, i, j) - mean.at(k)) / (square.at(k) - mean.at(k) * mean.at(k) + 0.0009765625).sqrt()
            })
        },
        |[x]| {
            let stats: Vec<(f64, f64)> = (0..6)
                .map(|p| {
                    let all = &x.elements[p * 63..(p + 1) * 63];
                    let mean = all.iter().sum::<f64>() / 63.0;
                    (mean, dot(all, all) / 63.0 - mean * mean)
                })
                .collect();
            Array::tensor([6, 7, 9], |p, i, j| {
                (x[[p, i, j]] - stats[p].0) / (stats[p].1 + 0.0009765625).sqrt()
            })
        },
    )
    .fewest(2)
    .within(1e-3);
}

fn dense(c: &mut Corpus) {
    c.add(
        "dense_layer",
        ["x", "w", "b"],
        "r",
        [m(7, 9), m(9, 6), v(6)],
        |x: MExp<f32>, w: MExp<f32>, b: VExp<f32>| {
            (x.matmul(w) + b.broadcast_rows(x.rows())).map(|y| y.max(0.0))
        },
        |[x, w, b]| {
            let p = product(x, w);
            Array::matrix(7, 6, |i, j| (p[[i, j]] + b[j]).max(0.0))
        },
    );
    c.add(
        "two_layers",
        ["x", "w1", "b1", "w2", "b2"],
        "r",
        [m(7, 9), m(9, 8), v(8), m(8, 6), v(6)],
        |x: MExp<f32>, w1: MExp<f32>, b1: VExp<f32>, w2: MExp<f32>, b2: VExp<f32>| {
            let h = (x.matmul(w1) + b1.broadcast_rows(x.rows())).tanh();
            h.matmul(w2) + b2.broadcast_rows(x.rows())
        },
        |[x, w1, b1, w2, b2]| {
            let p = product(x, w1);
            let h = Array::matrix(7, 8, |i, j| (p[[i, j]] + b1[j]).tanh());
            let q = product(&h, w2);
            Array::matrix(7, 6, |i, j| q[[i, j]] + b2[j])
        },
    )
    .fewest(2);
    c.add(
        "gated_mlp",
        ["x", "u", "v", "w"],
        "r",
        [m(7, 9), m(9, 8), m(9, 8), m(8, 6)],
        |x: MExp<f32>, u: MExp<f32>, v: MExp<f32>, w: MExp<f32>| {
            let gate = x.matmul(u).map(|a| a / (1.0 + (-a).exp()));
            (gate * x.matmul(v)).matmul(w)
        },
        |[x, u, v, w]| {
            let (a, b) = (product(x, u), product(x, v));
            product(&Array::matrix(7, 8, |i, j| a[[i, j]] * sigmoid(a[[i, j]]) * b[[i, j]]), w)
        },
    )
    .because(reason::FLATTENED)
    .fewest(2)
    .within(1e-3);
    c.add(
        "lstm_cell",
        ["x", "h", "cell", "w", "u", "b"],
        "hn cn",
        [v(9), v(6), v(6), m(24, 9).of(|x| x / 4.0), m(24, 6).of(|x| x / 4.0), v(24)],
        |x: VExp<f32>, h: VExp<f32>, cell: VExp<f32>, w: MExp<f32>, u: MExp<f32>, b: VExp<f32>| {
            let z = w.map_rows(|r| r.dot(x)) + u.map_rows(|r| r.dot(h)) + b;
            let n = h.len();
            let sigmoid = |x: VExp<f32>| 1.0 / (1.0 + (-x).exp());
            let part = |k: i64| z.slice(k * n, (k + 1) * n);
            let next = sigmoid(part(1)) * cell + sigmoid(part(0)) * part(2).tanh();
            (sigmoid(part(3)) * next.tanh(), next)
        },
        |[x, h, cell, w, u, b]| {
            let z: Vec<f64> =
                (0..24).map(|i| dot(w.row(i), &x.elements) + dot(u.row(i), &h.elements) + b[i]).collect();
            let next: Vec<f64> =
                (0..6).map(|i| sigmoid(z[6 + i]) * cell[i] + sigmoid(z[i]) * z[12 + i].tanh()).collect();
            ((0..6).map(|i| sigmoid(z[18 + i]) * next[i].tanh()).collect::<Vec<f64>>(), next)
        },
    )
    .because(reason::FLATTENED)
    .fewest(2)
    .extent(24, Large::Times(4));
    c.add(
        "recurrent_steps",
        ["w", "u", "x"],
        "r",
        [m(6, 6).of(|x| x / 4.0), m(6, 9).of(|x| x / 4.0), v(9)],
        |w: MExp<f32>, u: MExp<f32>, x: VExp<f32>| {
            let input = u.map_rows(|r| r.dot(x));
            fill(w.rows(), 0.0f32).iterate(4, |h| (w.map_rows(|r| r.dot(h)) + input).tanh())
        },
        |[w, u, x]| {
            let mut h = vec![0.0; 6];
            for _ in 0..4 {
                h = (0..6).map(|i| (dot(w.row(i), &h) + dot(u.row(i), &x.elements)).tanh()).collect();
            }
            h
        },
    )
    .fewest(5);
    c.add(
        "embedding",
        ["table", "ids"],
        "r",
        [m(8, 9), v(7).below(8)],
        |table: MExp<f32>, ids: VExp<i64>| generate2(ids.len(), table.cols(), |i, j| table.at(ids.at(i), j)),
        |[table, ids]| Array::matrix(7, 9, |i, j| table[[ids[i] as usize, j]]),
    );
    c.add(
        "quantised_product",
        ["x", "w", "scale"],
        "r",
        [m(7, 9).below(100), m(9, 6).below(100), v(6).positive()],
        |x: MExp<i32>, w: MExp<i32>, scale: VExp<f32>| {
            x.matmul(w).cast::<f32>() * scale.broadcast_rows(x.rows())
        },
        |[x, w, scale]| {
            let p = product(x, w);
            Array::matrix(7, 6, |i, j| p[[i, j]] * scale[j])
        },
    );
}

fn attention(c: &mut Corpus) {
    c.add(
        "attention",
        ["q", "k", "v"],
        "r",
        [m(7, 4), m(8, 4), m(8, 4)],
        |q: MExp<f32>, k: MExp<f32>, v: MExp<f32>| softmax_of(q.matmul(k.transpose()) * 0.5).matmul(v),
        |[q, k, v]| {
            let scores = product(q, &transposed(k)).map(|x| x * 0.5);
            product(&by_rows(&scores, softmax), v)
        },
    )
    .because(reason::SCORES)
    .fewest(4)
    .within(1e-3)
    .extent(4, Large::Is(64));
    c.add(
        "causal_attention",
        ["q", "k", "v"],
        "r",
        [m(7, 4), m(7, 4), m(7, 4)],
        |q: MExp<f32>, k: MExp<f32>, v: MExp<f32>| {
            let scores = q.matmul(k.transpose()) * 0.5;
            let n = q.rows();
            let masked = generate2(n, n, |i, j| cond(j.le(i), scores.at(i, j), -1e9));
            softmax_of(masked).matmul(v)
        },
        |[q, k, v]| {
            let scores = product(q, &transposed(k));
            let masked = Array::matrix(7, 7, |i, j| if j <= i { scores[[i, j]] * 0.5 } else { -1e9 });
            product(&by_rows(&masked, softmax), v)
        },
    )
    .because(reason::RECORDS)
    .fewest(4)
    .within(1e-3)
    .extent(4, Large::Is(64));
    c.add(
        "rotary_embedding",
        ["x"],
        "r",
        [m(7, 8)],
        |x: MExp<f32>| {
            let half = x.cols() / 2;
            generate2(x.rows(), x.cols(), |i, j| {
                let k = j % half;
                let rate = (-(k.cast::<f32>()) / half.cast::<f32>() * 4.0).exp();
                let (sin, cos) = slet(i.cast::<f32>() * rate, |a| (a.sin(), a.cos()));
                let (a, b) = (x.at(i, k), x.at(i, k + half));
                cond(j.lt(half), a * cos - b * sin, a * sin + b * cos)
            })
        },
        |[x]| {
            Array::matrix(7, 8, |i, j| {
                let k = j % 4;
                let angle = i as f64 * (-(k as f64)).exp();
                let (sin, cos) = angle.sin_cos();
                let (a, b) = (x[[i, k]], x[[i, k + 4]]);
                if j < 4 { a * cos - b * sin } else { a * sin + b * cos }
            })
        },
    )
    .because(reason::HOISTED);
    c.add(
        "attention_of_one_query",
        ["q", "k", "v"],
        "r",
        [v(6), m(8, 6), m(8, 6)],
        |q: VExp<f32>, k: MExp<f32>, v: MExp<f32>| {
            let scores = k.map_rows(|r| r.dot(q));
            let e = (scores - scores.max()).exp();
            let p = e / e.sum();
            v.map_cols(|c| c.dot(p))
        },
        |[q, k, v]| {
            let scores: Vec<f64> = (0..8).map(|i| dot(k.row(i), &q.elements)).collect();
            let p = softmax(&scores);
            Array::vector(6, |j| dot(&v.col(j), &p))
        },
    )
    .because(reason::FLATTENED)
    .fewest(4)
    .within(1e-3);
}

fn training(c: &mut Corpus) {
    c.add(
        "cross_entropy",
        ["x", "labels"],
        "loss",
        [m(7, 9), v(7).below(9)],
        |x: MExp<f32>, labels: VExp<i64>| {
            let max = x.map_rows(|r| r.max());
            let sum = (x - max.broadcast_cols(x.cols())).exp().sum_rows();
            let chosen = generate(x.rows(), |i| x.at(i, labels.at(i)));
            (max + sum.log() - chosen).sum() / x.rows().cast::<f32>()
        },
        |[x, labels]| -> f64 {
            (0..7).map(|i| -softmax(x.row(i))[labels[i] as usize].ln()).sum::<f64>() / 7.0
        },
    )
    .because(reason::PASSES)
    .fewest(3);
    c.add(
        "softmax_gradient",
        ["p", "g"],
        "r",
        [m(7, 9), m(7, 9)],
        |p: MExp<f32>, g: MExp<f32>| p * (g - (p * g).sum_rows().broadcast_cols(p.cols())),
        |[p, g]| Array::matrix(7, 9, |i, j| p[[i, j]] * (g[[i, j]] - dot(p.row(i), g.row(i)))),
    )
    .because(reason::PASSES)
    .fewest(2);
    c.add(
        "dense_gradients",
        ["x", "w", "g"],
        "dx dw db",
        [m(7, 9), m(9, 6), m(7, 6)],
        |x: MExp<f32>, w: MExp<f32>, g: MExp<f32>| {
            (g.matmul(w.transpose()), x.transpose().matmul(g), g.sum_cols())
        },
        |[x, w, g]| {
            let db = Array::vector(6, |j| g.col(j).iter().sum());
            (product(g, &transposed(w)), product(&transposed(x), g), db)
        },
    )
    .fewest(3);
    c.add(
        "adam",
        ["w", "g", "m", "v"],
        "wn mn vn",
        [v(9), v(9), v(9), v(9).positive()],
        |w: VExp<f32>, g: VExp<f32>, m: VExp<f32>, v: VExp<f32>| {
            let m = 0.875 * m + 0.125 * g;
            let v = 0.96875 * v + 0.03125 * g * g;
            (w - 0.0625 * m / (v.sqrt() + 0.0009765625), m, v)
        },
        |[w, g, m, v]| {
            let mn = Array::vector(9, |i| 0.875 * m[i] + 0.125 * g[i]);
            let vn = Array::vector(9, |i| 0.96875 * v[i] + 0.03125 * g[i] * g[i]);
            (Array::vector(9, |i| w[i] - 0.0625 * mn[i] / (vn[i].sqrt() + 0.0009765625)), mn, vn)
        },
    );
    c.add(
        "clipped_gradient",
        ["w", "g", "limit"],
        "r",
        [v(9), v(9), s(1.0)],
        |w: VExp<f32>, g: VExp<f32>, limit: SExp<f32>| {
            let norm = g.dot(g).sqrt();
            w - g * (limit / norm.max(limit))
        },
        |[w, g, limit]| {
            let norm = dot(&g.elements, &g.elements).sqrt();
            Array::vector(9, |i| w[i] - g[i] * limit.value() / norm.max(limit.value()))
        },
    )
    .fewest(2);
    c.add(
        "accuracy",
        ["scores", "labels"],
        "r",
        [m(7, 9), v(7).below(9)],
        |scores: MExp<f32>, labels: VExp<i64>| {
            let max = scores.map_rows(|r| r.max());
            let right =
                generate(labels.len(), |i| cond(scores.at(i, labels.at(i)).eq(max.at(i)), 1.0f32, 0.0f32));
            right.sum() / labels.len().cast::<f32>()
        },
        |[scores, labels]| {
            let right = (0..7).filter(|i| {
                let max = scores.row(*i).iter().copied().fold(f64::MIN, f64::max);
                scores[[*i, labels[*i] as usize]] == max
            });
            right.count() as f64 / 7.0
        },
    )
    .fewest(1)
    .because(reason::APART);
}
