//! Convolutions and pooling of neural networks.

use crate::array::{Array, m, t};
use crate::program::{Corpus, Large};
use crate::reason;
use arraygpu::prelude::*;

/// The element of a convolution of all channels with the weights of an output channel, 9 for each channel.
fn of_patch(x: &Array, w: &Array, [o, i, j]: [usize; 3]) -> f64 {
    let channels = x.planes();
    let terms = (0..channels * 9).map(|k| {
        let [channel, a, b] = [k / 9, k % 9 / 3, k % 3];
        w.elements[o * channels * 9 + k] * x[[channel, i + a, j + b]]
    });
    terms.sum()
}

/// Adds the programs.
pub fn add(c: &mut Corpus) {
    c.add(
        "convolution_3x3_channels",
        ["x", "w"],
        "r",
        [t(6, 8, 10), m(6, 9)],
        |x: TExp<f32>, w: MExp<f32>| {
            generate2(x.rows() - 2, x.cols() - 2, |i, j| {
                generate3(x.planes(), 3, 3, |k, a, b| w.at(k, a * 3 + b) * x.at(k, i + a, j + b)).sum()
            })
        },
        |[x, w]| {
            Array::matrix(6, 8, |i, j| {
                let mut sum = 0.0;
                for k in 0..6 {
                    for a in 0..9 {
                        sum += w[[k, a]] * x[[k, i + a / 3, j + a % 3]];
                    }
                }
                sum
            })
        },
    )
    .extent(9, Large::Is(9))
    .extent(6, Large::Is(64));
    c.add(
        "convolution_layer",
        ["x", "w"],
        "r",
        [t(6, 8, 10), t(5, 6, 9)],
        |x: TExp<f32>, w: TExp<f32>| {
            generate3(w.planes(), x.rows() - 2, x.cols() - 2, |o, i, j| {
                generate3(x.planes(), 3, 3, |k, a, b| w.at(o, k, a * 3 + b) * x.at(k, i + a, j + b)).sum()
            })
        },
        |[x, w]| Array::tensor([5, 6, 8], |o, i, j| of_patch(x, w, [o, i, j])),
    )
    .extent(9, Large::Is(9))
    .extent(5, Large::Is(64))
    .extent(6, Large::Is(64));
    c.add(
        "convolution_as_product",
        ["x", "w"],
        "r",
        [t(6, 8, 10), m(5, 54)],
        |x: TExp<f32>, w: MExp<f32>| {
            let (rows, cols) = (x.rows() - 2, x.cols() - 2);
            let patches = generate2(x.planes() * 9, rows * cols, |k, at| {
                x.at(k / 9, at / cols + k % 9 / 3, at % cols + k % 3)
            });
            w.matmul(patches)
        },
        |[x, w]| Array::matrix(5, 48, |o, at| of_patch(x, w, [o, at / 8, at % 8])),
    )
    .because(reason::RECORDS)
    .extent(54, Large::Is(576))
    .extent(5, Large::Is(64))
    .extent(6, Large::Is(64));
    c.add(
        "depthwise_convolution",
        ["x", "w"],
        "r",
        [t(6, 8, 9), t(6, 3, 3)],
        |x: TExp<f32>, w: TExp<f32>| {
            generate3(x.planes(), x.rows() - 2, x.cols() - 2, |k, i, j| {
                generate2(3, 3, |a, b| w.at(k, a, b) * x.at(k, i + a, j + b)).sum()
            })
        },
        |[x, w]| {
            Array::tensor([6, 6, 7], |k, i, j| {
                (0..9).map(|a| w[[k, a / 3, a % 3]] * x[[k, i + a / 3, j + a % 3]]).sum()
            })
        },
    );
    c.add(
        "max_pool",
        ["x"],
        "r",
        [t(6, 8, 10)],
        |x: TExp<f32>| {
            generate3(x.planes(), x.rows() / 2, x.cols() / 2, |k, i, j| {
                let at = |a: i64, b: i64| x.at(k, i * 2 + a, j * 2 + b);
                at(0, 0).max(at(0, 1)).max(at(1, 0)).max(at(1, 1))
            })
        },
        |[x]| {
            Array::tensor([6, 4, 5], |k, i, j| {
                (0..4).map(|a| x[[k, 2 * i + a / 2, 2 * j + a % 2]]).fold(f64::MIN, f64::max)
            })
        },
    );
    c.add(
        "global_average_pool",
        ["x"],
        "r",
        [t(6, 7, 9)],
        |x: TExp<f32>| x.map_planes(|p| p.sum()) / (x.rows() * x.cols()).cast::<f32>(),
        |[x]| Array::vector(6, |p| x.elements[p * 63..(p + 1) * 63].iter().sum::<f64>() / 63.0),
    );
}
