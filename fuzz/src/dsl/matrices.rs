//! Matrices and arrays of three dimensions: what makes one, and what reads one.

use super::records;
use super::{Constructs, Reader, Readers};
use arraygpu::prelude::*;

/// Every construct that makes a matrix, square and as wide as the vectors are long.
pub(super) const CONSTRUCTS: Constructs<MExp<f32>> = &[
    ("parameter", |p| p.a),
    ("map", |p| p.a.map(|e| e * e + p.s)),
    ("operators", |p| p.a * p.b - 1.0),
    ("cast", |p| p.a.cast::<i32>().cast()),
    ("transpose", |p| p.a.transpose()),
    ("slice", |p| p.a.padded([1, 1], [1, 1], Boundary::Clamp).slice(1, p.x.len() + 1, 0, p.x.len())),
    ("slice_rows", |p| p.a.padded([1, 0], [0, 0], Boundary::Mirror).slice_rows(0, p.x.len())),
    ("slice_rows_by", |p| {
        p.a.padded([0, p.extra()], [0, 0], Boundary::Constant(0.5)).slice_rows_by(0, p.x.len() * 2 - 1, 2)
    }),
    ("slice_cols", |p| p.a.padded([0, 0], [1, 0], Boundary::Mirror).slice_cols(0, p.x.len())),
    ("slice_cols_by", |p| {
        p.a.padded([0, 0], [0, p.extra()], Boundary::Clamp).slice_cols_by(0, p.x.len() * 2 - 1, 2)
    }),
    ("reverse_rows", |p| p.a.reverse_rows()),
    ("reverse_cols", |p| p.a.reverse_cols()),
    ("matmul", |p| p.a.matmul(p.b)),
    ("matmul_of_computed", |p| (p.a + 1.0).matmul(p.b.transpose() * 0.5) / 3.0),
    ("matmul_of_wide", |p| p.a.cast::<f64>().map(|e| e * 0.5).cast::<f16>().matmul(p.b.cast()).cast()),
    ("matmul_twice", |p| p.a.matmul(p.b).matmul(p.a)),
    ("outer", |p| p.x.outer(p.y, |a, b| a - b)),
    ("broadcast_rows", |p| p.x.broadcast_rows(p.x.len())),
    ("broadcast_cols", |p| p.y.broadcast_cols(p.x.len())),
    ("generate2", |p| generate2(p.x.len(), p.x.len(), |i, j| p.x.at(i) * p.y.at(j))),
    ("generate2_of_sums", |p| generate2(p.x.len(), p.x.len(), |i, j| (p.a.row(i) - p.b.row(j)).dot(p.x))),
    ("windows2", |p| {
        let w = p.a.padded([1, 1], [1, 1], Boundary::Clamp).windows2(3, 3);
        (w[0][1] + w[1][0] + w[1][2] + w[2][1]) * 0.25
    }),
    ("weighted_sum2", |p| {
        p.a.padded([0, 1], [1, 0], Boundary::Constant(1.0)).weighted_sum2(&[[0.5f32, 0.25], [0.25, 0.5]])
    }),
    ("with_block", |p| p.a.with_block(1, 0, p.b.slice(0, 1, 0, 1))),
    ("materialize", |p| (p.a * p.b).materialize()),
    ("normalised", |p| p.a / p.a.map_rows(|r| r.dot(r)).sqrt().broadcast_cols(p.x.len())),
    ("softmax_rows", |p| p.a.softmax_rows()),
    ("softmax_cols", |p| p.a.softmax_cols()),
    ("normalise_rows", |p| p.a.normalise_rows()),
    ("normalise_cols", |p| p.a.normalise_cols()),
    ("scan_rows", |p| p.a.scan_rows(p.s, |a, b| a * 0.5 + b)),
    ("scan_rows_exclusive", |p| p.a.reverse_cols().scan_rows_exclusive(p.s, |a, b| a + b).reverse_cols()),
    ("scan_cols", |p| (p.a * p.b).scan_cols(0.0, |a, b| a.max(b) + 0.5)),
    ("scan_cols_exclusive", |p| {
        let z =
            p.a.zip_with(p.b, |re, im| complex(re, im))
                .scan_cols_exclusive(Complex::new(1.0, 0.5), |a, b| a * b);
        z.re - z.im
    }),
    ("iterate", |p| p.a.iterate(2, |m| m * 0.5 + p.b)),
    ("iterate_indexed", |p| p.a.iterate_indexed(3, |t, m| m * 0.5 + p.b * t.cast::<f32>())),
    ("iterate_of_a_product", |p| p.a.iterate(2, |m| m.matmul(p.b) / 10.0)),
    ("iterate_stencil", |p| {
        p.a.iterate(3, |m| {
            let w = m.padded([1, 1], [1, 1], Boundary::Clamp).windows2(3, 3);
            (w[0][1] + w[1][0] + w[1][2] + w[2][1]) * 0.25
        })
    }),
    ("iterate_twice", |p| p.a.iterate(2, |m| m.iterate(2, |n| n * 0.5) + p.b)),
    ("iterate_collect", |p| iterate_collect(p.x.len(), p.x, |x| x * 0.5 + p.y)),
    ("iterate_collect_indexed", |p| {
        iterate_collect_indexed(p.x.len(), p.x, |t, x| x * 0.5 + p.y * t.cast::<f32>())
    }),
    ("record", |p| records::grid(p).transpose().map(|b| records::number(records::moved(b)))),
    ("parts_of_records", |p| {
        let b = records::grid(p).padded([1, 1], [1, 1], Boundary::Mirror).windows2(3, 3);
        b[0][1].zip_with(b[2][0], records::heavier).map(records::number)
    }),
    ("complex_matmul", |p| {
        let z = p.a.zip_with(p.b, |re, im| complex(re, im));
        z.matmul(z.conj()).im
    }),
    ("sliced", |p| p.a.padded([1, 0], [0, 1], Boundary::Clamp).sliced(s![1.., ..-1])),
    ("plane", |p| p.t.plane(0)),
    ("map_rows_of_planes", |p| {
        p.t.map_rows(|r| r.sum())
            .padded([0, 1], [0, 0], Boundary::Clamp)
            .transpose()
            .matmul(p.t.map_rows(|r| r.max()).padded([0, 1], [0, 0], Boundary::Clamp))
    }),
];

/// Every way to read a matrix.
pub(super) const READERS: Readers<MExp<f32>> = &[
    ("result", Reader::Matrix(|m, _| m)),
    ("at_constant", Reader::Scalar(|m, _| m.at(0, 0))),
    ("at_of_the_call", Reader::Scalar(|m, p| m.at(p.m, p.m))),
    ("at_of_data", Reader::Vector(|m, p| p.k.map(|i| m.at(i, i)))),
    ("divided_by_an_element", Reader::Matrix(|m, p| p.a / m.at(0, 0))),
    ("row", Reader::Vector(|m, _| m.row(0))),
    ("element_of_a_row", Reader::Scalar(|m, _| m.row(0).at(1))),
    ("row_of_data", Reader::Vector(|m, p| p.k.map(|i| m.row(i).sum()))),
    ("col", Reader::Vector(|m, p| m.col(p.m))),
    ("gather", Reader::Vector(|m, p| m.row(1).gather(p.k))),
    ("slice", Reader::Matrix(|m, _| m.slice(0, m.rows() - 1, 1, m.cols()))),
    ("slice_by", Reader::Matrix(|m, _| m.slice_by(0, m.rows(), 2, 0, m.cols(), 1))),
    ("transpose", Reader::Matrix(|m, _| m.transpose())),
    ("reverse", Reader::Matrix(|m, _| m.reverse_rows().reverse_cols())),
    ("sum", Reader::Scalar(|m, _| m.sum())),
    ("fold", Reader::Scalar(|m, _| m.fold(0.0, |a, b| a * 0.5 + b))),
    ("dot", Reader::Scalar(|m, p| m.dot(p.b))),
    (
        "reduce_noncommutative",
        Reader::Scalar(|m, _| m.reduce_noncommutative(0.0, |a, b| cond(b.lt(0.0), a - b, b))),
    ),
    ("sliced", Reader::Vector(|m, p| m.sliced(s![..-1, p.m]))),
    (
        "records_of_rows",
        Reader::Vector(|m, p| {
            let heaviest = |r: VExp<f32>| {
                r.map(|a| records::particle(a, p.s, a)).reduce(records::NONE, records::heavier)
            };
            m.map_rows(heaviest).map(records::number)
        }),
    ),
    ("sum_rows", Reader::Vector(|m, _| m.sum_rows())),
    ("sum_cols", Reader::Vector(|m, _| m.sum_cols())),
    ("map_rows", Reader::Vector(|m, p| m.map_rows(|r| r.dot(p.x)))),
    ("map_cols", Reader::Vector(|m, _| m.map_cols(|c| c.fold(0.0, |a, b| a + b)))),
    ("variance", Reader::Scalar(|m, _| m.variance(0))),
    ("variance_cols", Reader::Vector(|m, _| m.variance_cols(1))),
    ("std_rows", Reader::Vector(|m, _| m.std_rows(0))),
    ("map", Reader::Matrix(|m, p| m.map(|e| e + p.s))),
    ("operators", Reader::Matrix(|m, p| (m + p.b) * 0.5)),
    ("materialize", Reader::Matrix(|m, _| m.materialize() + 1.0)),
    ("matmul", Reader::Matrix(|m, p| m.matmul(p.b))),
    ("matmul_right", Reader::Matrix(|m, p| p.a.matmul(m))),
    ("matmul_vector", Reader::Vector(|m, p| m.map_rows(|r| r.dot(p.x)) + m.row(0))),
    ("scan_rows", Reader::Matrix(|m, p| m.scan_rows_exclusive(p.s, |a, b| a - b))),
    ("scan_cols", Reader::Matrix(|m, _| m.scan_cols(0.5, |a, b| a + b).sum_rows().broadcast_cols(2))),
    ("iterate", Reader::Matrix(|m, _| m.iterate(2, |n| n * 0.5))),
    ("iterate_beside", Reader::Matrix(|m, p| p.a.iterate(2, |n| n + m))),
    ("windows2", Reader::Matrix(|m, _| m.windows2(2, 2)[1][0] - m.windows2(2, 2)[0][1])),
    ("padded", Reader::Matrix(|m, _| m.padded([1, 0], [0, 1], Boundary::Wrap))),
    ("with_block", Reader::Matrix(|m, p| m.with_block(0, 0, p.b.slice(0, 1, 0, 2)))),
    ("part_of_with_block", Reader::Matrix(|m, p| p.b.with_block(0, 0, m.slice(0, 1, 0, 2)))),
    ("broadcast_planes", Reader::Tensor(|m, _| m.broadcast_planes(2))),
    ("in_a_closure", Reader::Vector(|m, p| generate(p.x.len(), |i| m.row(i).max() - m.col(i).min()))),
    ("twice", Reader::Matrix(|m, _| m / m.max())),
    ("second_result", Reader::Two(|m, _| (m.sum(), m.row(0) * 2.0))),
];

/// Every construct that makes an array of three dimensions.
pub(super) const TENSORS: Constructs<TExp<f32>> = &[
    ("parameter", |p| p.t),
    ("map", |p| p.t * 2.0),
    ("permute", |p| p.t.permute([2, 0, 1])),
    ("reverse_planes", |p| p.t.reverse_planes()),
    ("slice_planes", |p| p.t.slice_planes(0, 2)),
    ("slice_planes_by", |p| p.t.slice_planes_by(0, p.t.planes(), 1)),
    ("generate3", |p| generate3(2, p.x.len(), 3, |k, i, j| p.x.at(i) + (k * 3 + j).cast())),
    ("broadcast_planes", |p| p.a.broadcast_planes(2)),
    ("broadcast_planes_of_a_product", |p| p.a.matmul(p.b).broadcast_planes(2)),
    ("scan_rows", |p| p.t.scan_rows(p.s, |a, b| a + b)),
    ("scan_cols", |p| p.t.scan_cols_exclusive(0.5, |a, b| a * 0.5 - b)),
    ("scan_planes", |p| p.t.scan_planes(p.s, |a, b| a + b)),
    ("scan_planes_exclusive", |p| {
        p.t.permute([1, 0, 2]).scan_planes_exclusive(p.s, |a, b| a.min(b)).permute([1, 0, 2])
    }),
    ("iterate", |p| p.t.iterate(2, |t| t * 0.5)),
    ("iterate_collect", |p| iterate_collect(2, p.a, |a| a * 0.5 + p.b)),
    ("record", |p| p.t.map(|a| records::number(records::moved(records::particle(a, p.s, a))))),
    ("records_in_planes", |p| {
        let b = p.t.map(|a| records::particle(a, p.s, a)).padded([1, 0], [0, 0], [0, 1], Boundary::Wrap);
        b.windows3(2, 1, 2)[0][0][1].map(records::number)
    }),
    ("iterate_indexed", |p| p.t.iterate_indexed(2, |i, t| t * 0.5 + i.cast::<f32>())),
    ("matmul3", |p| p.t.matmul(p.t.permute([0, 2, 1])) / 4.0),
    ("matmul3_of_computed", |p| (p.t + 1.0).matmul(p.a.transpose().broadcast_planes(p.t.planes()))),
    ("materialize", |p| (p.t + 1.0).materialize()),
    ("windows3", |p| {
        let w = p.t.padded([1, 1], [1, 1], [1, 1], Boundary::Clamp).windows3(3, 3, 3);
        (w[0][1][1] + w[2][1][1]) + (w[1][0][1] + w[1][2][1]) + (w[1][1][0] + w[1][1][2])
    }),
    ("weighted_sum3", |p| {
        let u = p.t.padded([0, 1], [1, 0], [1, 0], Boundary::Constant(1.0));
        u.weighted_sum3(&[[[0.5f32, 0.25], [0.25, 0.5]], [[0.125, 0.5], [1.0, -0.25]]])
    }),
    ("with_block3", |p| p.t.with_block(1, 0, 0, p.t.slice_planes(0, 1).slice_rows(1, 2) * 0.5)),
    ("iterate_stencil3", |p| {
        p.t.iterate(2, |u| {
            let w = u.padded([1, 1], [0, 0], [1, 1], Boundary::Wrap).windows3(3, 1, 3);
            (w[0][0][1] + w[2][0][1] + w[1][0][0] + w[1][0][2]) * 0.25
        })
    }),
];

/// Every way to read an array of three dimensions.
pub(super) const READERS_OF_TENSORS: Readers<TExp<f32>> = &[
    ("result", Reader::Tensor(|t, _| t)),
    ("at_constant", Reader::Scalar(|t, _| t.at(0, 1, 0))),
    ("at_of_data", Reader::Vector(|t, p| p.k.map(|i| t.at(i, i, i)))),
    ("at_the_last_plane", Reader::Scalar(|t, _| t.at(t.planes() - 1, 0, 0))),
    ("plane", Reader::Matrix(|t, _| t.plane(1))),
    ("row_of_a_plane", Reader::Vector(|t, _| t.plane(0).row(1))),
    ("permute", Reader::Tensor(|t, _| t.permute([1, 2, 0]))),
    ("slice_rows", Reader::Tensor(|t, _| t.slice_rows(1, t.rows()))),
    ("reverse_cols", Reader::Tensor(|t, _| t.reverse_cols())),
    ("sum", Reader::Scalar(|t, _| t.sum())),
    (
        "reduce_noncommutative",
        Reader::Scalar(|t, _| t.reduce_noncommutative(0.0, |a, b| cond(b.lt(0.0), a - b, b))),
    ),
    ("sliced", Reader::Matrix(|t, _| t.sliced(s![-1, 1.., ..]))),
    ("bits", Reader::Tensor(|t, _| (t.to_bits() >> 8u32).cast())),
    ("map", Reader::Tensor(|t, p| t * p.s)),
    ("map_planes", Reader::Vector(|t, _| t.map_planes(|m| m.sum()))),
    ("sum_planes", Reader::Vector(|t, _| t.sum_planes() - t.mean_planes())),
    ("reduce_planes", Reader::Vector(|t, _| t.reduce_planes(0.5, |a, b| a.max(b)))),
    ("argmin_planes", Reader::Vector(|t, _| t.argmin_planes().cast())),
    ("argmax_planes", Reader::Vector(|t, _| t.argmax_planes().cast())),
    ("minmax_planes", Reader::Vector(|t, _| t.minmax_planes().1 - t.minmax_planes().0)),
    ("variance_planes", Reader::Vector(|t, _| t.variance_planes(1))),
    ("std_planes", Reader::Vector(|t, p| t.std_planes(p.m))),
    ("norm_planes", Reader::Vector(|t, _| t.norm_planes())),
    ("log_sum_exp_planes", Reader::Vector(|t, _| t.log_sum_exp_planes())),
    ("softmax_planes", Reader::Tensor(|t, _| t.softmax_planes())),
    ("normalise_planes", Reader::Tensor(|t, _| t.normalise_planes())),
    ("reduce_rows3", Reader::Matrix(|t, _| t.reduce_rows(0.5, |a, b| a + b))),
    (
        "tuples_of_rows3",
        Reader::Matrix(|t, _| (t, t * t).reduce_rows((0.0, 1.0), |(a, b), (c, d)| (a + c, b.max(d))).0),
    ),
    (
        "tuples_of_planes",
        Reader::Vector(|t, _| (t, t).reduce_planes((0.0, 1.0), |(a, b), (c, d)| (a + c, b.min(d))).1),
    ),
    (
        "complex_sums_of_planes",
        Reader::Vector(|t, p| t.zip_with(p.t, |re, im| complex(re, im)).sum_planes().norm_sqr()),
    ),
    ("complex_sums_of_cols", Reader::Matrix(|t, _| t.map(|re| complex(re, 1.0)).sum_cols().im)),
    (
        "scans_of_tuples",
        Reader::Tensor(|t, p| {
            let add = |(a, b): (SExp<f32>, SExp<f32>), (c, d): (SExp<f32>, SExp<f32>)| (a + c, b.max(d));
            let (rows, cols) =
                ((t, t).scan_rows((0.0, p.s), add), (t, t).scan_cols_exclusive((p.s, 0.0), add));
            (rows.0, cols.1).scan_planes((0.0, 0.0), add).0
        }),
    ),
    (
        "exclusive_scans_of_tuples",
        Reader::Tensor(|t, p| {
            let add = |(a, b): (SExp<f32>, SExp<f32>), (c, d): (SExp<f32>, SExp<f32>)| (a + c, b.min(d));
            let (rows, cols) =
                ((t, t).scan_rows_exclusive((0.0, p.s), add), (t, t).scan_cols((p.s, 0.0), add));
            (rows.1, cols.0).scan_planes_exclusive((0.0, 0.0), add).1
        }),
    ),
    ("variance_rows3", Reader::Matrix(|t, _| t.variance_rows(0))),
    ("log_sum_exp_rows3", Reader::Matrix(|t, _| t.log_sum_exp_rows())),
    ("softmax_rows3", Reader::Tensor(|t, _| t.softmax_rows())),
    ("argmax_cols3", Reader::Matrix(|t, _| t.argmax_cols().cast())),
    ("mean_cols3", Reader::Matrix(|t, _| t.mean_cols() + t.map_cols(|c| c.max()))),
    ("softmax_cols3", Reader::Tensor(|t, _| t.softmax_cols())),
    ("normalise_cols3", Reader::Tensor(|t, _| t.normalise_cols())),
    ("map_rows", Reader::Matrix(|t, _| t.map_rows(|r| r.max()))),
    ("materialize", Reader::Tensor(|t, _| t.materialize() + 1.0)),
    ("scan_rows", Reader::Tensor(|t, p| t.scan_rows_exclusive(p.s, |a, b| a + b))),
    ("scan_cols", Reader::Tensor(|t, p| t.scan_cols(p.s, |a, b| a + b))),
    ("scan_planes", Reader::Tensor(|t, _| t.scan_planes(0.5, |a, b| a + b))),
    ("iterate", Reader::Tensor(|t, _| t.iterate(2, |u| u + t))),
    ("windows3", Reader::Tensor(|t, _| t.windows3(2, 1, 2)[1][0][0] - t.windows3(2, 1, 2)[0][0][1])),
    ("matmul3", Reader::Tensor(|t, _| t.permute([0, 2, 1]).matmul(t))),
    ("padded3", Reader::Tensor(|t, _| t.padded([1, 0], [0, 1], [1, 1], Boundary::Wrap))),
    ("mirrored3", Reader::Tensor(|t, _| t.padded([0, 1], [1, 0], [0, 0], Boundary::Mirror))),
    (
        "with_block3",
        Reader::Tensor(|t, p| {
            p.t.with_block(0, 1, 0, t.slice_planes(0, 1).slice_rows(0, 1).slice_cols(0, 1))
        }),
    ),
    ("second_result", Reader::Two(|t, _| (t.sum(), t.plane(0).row(0)))),
];
