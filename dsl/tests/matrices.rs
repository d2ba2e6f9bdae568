//! Matrices and arrays of three dimensions: what programs mean (the interpreter, before and after the
//! passes, and a simulated GPU), and their rules.

mod common;

use arraygpu_compiler::core::Function;
use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::scalar::Lit;
use arraygpu_dsl::prelude::*;
use common::{everywhere, lower, matrix, recorded, refused, rules, scalar, vector};

/// Two rows of three: 1 to 6.
fn six() -> Value {
    matrix(&[[1f32, 2., 3.], [4., 5., 6.]])
}

/// Two planes of two rows of three columns: the digits of plane, row and column.
fn cube() -> Value {
    let digits = |k: i64| (1..=2).flat_map(move |i| (1..=3).map(move |j| Lit::i64(100 * k + 10 * i + j)));
    Value::Array(vec![2, 2, 3], (1..=2).flat_map(digits).collect())
}

#[test]
fn elementwise() {
    let f = lower(["a", "b", "s"], ["sum", "scaled", "roots", "less", "zipped", "cast"], {
        |a: MExp<f32>, b: MExp<f32>, s: SExp<f32>| {
            let mut scaled = 2 * a - s;
            scaled /= 0.5f32;
            let zipped = a.zip3(b, -a, |a, b, c| cond(a.gt(2.0), b, c));
            (a + b, scaled, a.map(|x| x * x).sqrt(), a.lt(b), zipped, s * a.cast::<f32>())
        }
    });
    assert_eq!(rules(&f), ["same zip3: rows of a, b", "same zip3: columns of a, b"]);
    let b = matrix(&[[9f32, 1., 9.], [1., 9., 1.]]);
    let expected = [
        matrix(&[[10f32, 3., 12.], [5., 14., 7.]]),
        matrix(&[[2f32, 6., 10.], [14., 18., 22.]]),
        six(),
        matrix(&[[true, false, true], [false, true, false]]),
        matrix(&[[-1f32, -2., 9.], [1., 9., 1.]]),
        six(),
    ];
    assert_eq!(everywhere(&f, &[six(), b, scalar(1f32)]), expected);
}

#[test]
fn whole_reductions_are_row_major() {
    let f = lower(["a"], ["sum", "product", "min", "max", "digits", "in_order", "dot", "all", "any"], {
        |a: MExp<f32>| {
            let digits = a.fold(0.0f64, |all, x| all * 10 + x.cast::<f64>());
            (
                (a.sum(), a.product(), a.min(), a.max()),
                (digits, a.sum_in_order(), a.dot(a)),
                (a.gt(0.0).all(), a.gt(6.0).any()),
            )
        }
    });
    let found = everywhere(&f, &[six()]);
    assert_eq!(found[..4], [21f32, 720., 1., 6.].map(scalar));
    assert_eq!(found[4..7], [scalar(123456f64), scalar(21f32), scalar(91f32)]);
    assert_eq!(found[7..], [scalar(true), scalar(false)]);
    // a transposed or sliced matrix has its own row-major order
    let f = lower(["a"], ["down", "part"], |a: MExp<f32>| {
        let digits = |a: MExp<f32>| a.fold(0f32, |all, x| all * 10 + x);
        (digits(a.transpose()), digits(a.slice(0, 2, 1, 3)))
    });
    assert_eq!(everywhere(&f, &[six()]), [scalar(142536f32), scalar(2356f32)]);
    let nothing = Value::Array(vec![2, 0], vec![]);
    let error = interp::run(&f, std::slice::from_ref(&nothing)).expect_err("columns 1 to 3 of none").message;
    assert_eq!(error, "f: slice of a: the slice stops at 3, past the length 0");
    let f = lower(["a"], ["sum", "min"], |a: MExp<f32>| (a.sum(), a.min()));
    assert_eq!(everywhere(&f, &[nothing]), [scalar(0f32), scalar(f32::INFINITY)]);
}

#[test]
fn slices_and_reversals() {
    let f = lower(["a"], ["block", "rows", "cols", "strided", "odd", "up", "left"], |a: MExp<f32>| {
        let (n, m) = (a.rows(), a.cols());
        (
            (a.slice(1, n, 0, m - 1), a.slice_rows(0, 1), a.slice_cols(1, m)),
            (a.slice_by(0, n, 1, 0, m, 2), a.slice_cols_by(1, m, 2)),
            (a.reverse_rows(), a.reverse_cols()),
        )
    });
    assert_eq!(rules(&f), ["order slice of a", "order slice of a"], "there must be a row and a column");
    let expected = [
        matrix(&[[4f32, 5.]]),
        matrix(&[[1f32, 2., 3.]]),
        matrix(&[[2f32, 3.], [5., 6.]]),
        matrix(&[[1f32, 3.], [4., 6.]]),
        matrix(&[[2f32], [5.]]),
        matrix(&[[4f32, 5., 6.], [1., 2., 3.]]),
        matrix(&[[3f32, 2., 1.], [6., 5., 4.]]),
    ];
    assert_eq!(everywhere(&f, &[six()]), expected);
}

#[test]
fn transposition_and_parts() {
    let f = lower(["a", "i"], ["t", "row", "col", "last", "size"], |a: MExp<f32>, i: SExp<i64>| {
        let t = a.transpose();
        (t, a.row(i), t.col(i), a.col(a.cols() - 1), t.rows() * 10 + t.cols())
    });
    assert_eq!(rules(&f), ["index row of a: i", "inside row of a: i", "index col of a",]);
    let expected = [
        matrix(&[[1f32, 4.], [2., 5.], [3., 6.]]),
        vector(&[4f32, 5., 6.]),
        vector(&[4f32, 5., 6.]),
        vector(&[3f32, 6.]),
        scalar(32i64),
    ];
    assert_eq!(everywhere(&f, &[six(), scalar(1i64)]), expected);
    for i in [-1i64, 2] {
        assert!(interp::run(&f, &[six(), scalar(i)]).is_err(), "row {i} of 2");
    }
}

#[test]
fn rows_that_only_the_device_knows() {
    let f = lower(["a", "k"], "result", |a: MExp<f32>, k: VExp<i64>| a.row(k.max()));
    assert!(f.requires.is_empty());
    assert_eq!(everywhere(&f, &[six(), vector(&[0i64, 1])]), [vector(&[4f32, 5., 6.])]);
    let outcome = interp::run(&f, &[six(), vector(&[0i64, 2])]).expect("a value");
    assert_eq!((outcome.results, outcome.recorded), (vec![vector(&[0f32; 3])], true));
}

#[test]
fn functions_of_rows_and_columns() {
    let f = lower(["a", "v"], ["sums", "mv", "cols", "greatest", "lowest", "mean", "count"], {
        |a: MExp<f32>, v: VExp<f32>| {
            let (mean, count) = a.map_rows(|r| (r.sum() / r.len().cast::<f32>(), r.len()));
            (
                (a.sum_rows(), a.map_rows(|r| r.dot(v)), a.sum_cols()),
                (a.reduce_rows(0.0, |x, y| x.max(y)), a.map_cols(|c| c.min())),
                (mean, count),
            )
        }
    });
    assert_eq!(rules(&f), ["same dot: a, v"]);
    let expected = [
        vector(&[6f32, 15.]),
        vector(&[321f32, 654.]),
        vector(&[5f32, 7., 9.]),
        vector(&[3f32, 6.]),
        vector(&[1f32, 2., 3.]),
        vector(&[2f32, 5.]),
        vector(&[3i64, 3]),
    ];
    assert_eq!(everywhere(&f, &[six(), vector(&[1f32, 10., 100.])]), expected);
    let f = lower(["a"], ["rows", "cols"], |a: MExp<f32>| (a.sum_rows(), a.reduce_cols(7, |x, y| x * y)));
    let empty = everywhere(&f, &[Value::Array(vec![0, 2], vec![])]);
    assert_eq!(empty, [vector::<f32>(&[]), vector(&[7f32, 7.])]);
    let text =
        refused(["a"], |a: MExp<f32>| a.map_rows(|r| r.slice(0, r.sum().cast::<i64>()).sum())).to_string();
    assert!(text.contains("slice of a: a bound is computed by a reduction"), "{text}");
}

#[test]
fn reductions_that_depend_on_an_index() {
    let f = lower(["x", "y"], "result", |x: VExp<f32>, y: VExp<f32>| {
        generate(y.len(), |i| x.map(|v| v * y.at(i)).sum())
    });
    assert_eq!(
        everywhere(&f, &[vector(&[1f32, 2.]), vector(&[10f32, 100., 0.])]),
        [vector(&[30f32, 300., 0.])]
    );
    let f = lower(["a", "b"], "result", |a: MExp<i32>, b: MExp<i32>| {
        generate2(a.rows(), b.cols(), |i, j| a.row(i).dot(b.col(j)))
    });
    assert_eq!(rules(&f), ["same dot: a, b"]);
    let (a, b) = (matrix(&[[1, 2], [3, 4]]), matrix(&[[1, 0, 1], [0, 1, 1]]));
    assert_eq!(everywhere(&f, &[a, b]), [matrix(&[[1, 2, 3], [3, 4, 7]])]);
}

#[test]
fn products() {
    let f = lower(["a", "b"], ["c", "scaled"], |a: MExp<f32>, b: MExp<f32>| {
        (a.matmul(b), a.transpose().matmul(a.map(|x| x * 2)).map(|x| x + 1))
    });
    assert_eq!(rules(&f), ["same matmul: columns of a, rows of b"]);
    let (a, b) = (matrix(&[[1f32, 2.], [3., 4.]]), matrix(&[[1f32, 0., 1.], [0., 1., 1.]]));
    let expected = [matrix(&[[1f32, 2., 3.], [3., 4., 7.]]), matrix(&[[21f32, 29.], [29., 41.]])];
    assert_eq!(everywhere(&f, &[a, b]), expected);
}

/// An inner extent of 0 gives zeros, no rows or planes give nothing, and shapes that do not fit are errors of the
/// call.
#[test]
fn products_of_nothing_and_of_other_shapes() {
    let f = lower(["a", "b"], "c", |a: MExp<f32>, b: MExp<f32>| a.matmul(b));
    let of = |extents: [i64; 2]| {
        Value::Array(extents.to_vec(), vec![Lit::f32(1.0); (extents[0] * extents[1]) as usize])
    };
    for ([m, k, n], each) in [([1, 0, 2], 0.0), ([1, 3, 1], 3.0), ([0, 3, 2], 0.0), ([2, 1, 0], 0.0)] {
        let expected = Value::Array(vec![m, n], vec![Lit::f32(each); (m * n) as usize]);
        assert_eq!(everywhere(&f, &[of([m, k]), of([k, n])]), [expected], "{m} by {k} by {n}");
    }
    let error =
        |f: &Function, args: &[Value]| interp::run(f, args).expect_err("shapes that do not fit").message;
    assert_eq!(
        error(&f, &[of([2, 3]), of([2, 3])]),
        "f: matmul: columns of a, rows of b: the lengths 3 and 2 differ"
    );
    let g = lower(["a", "b"], "c", |a: TExp<f32>, b: TExp<f32>| a.matmul(b));
    let of = |extents: [i64; 3]| {
        let count: i64 = extents.iter().product();
        Value::Array(extents.to_vec(), vec![Lit::f32(1.0); count as usize])
    };
    for ([p, m, k, n], each) in
        [([2, 1, 0, 2], 0.0), ([3, 1, 2, 1], 2.0), ([0, 1, 2, 1], 0.0), ([1, 0, 1, 1], 0.0)]
    {
        let expected = Value::Array(vec![p, m, n], vec![Lit::f32(each); (p * m * n) as usize]);
        assert_eq!(everywhere(&g, &[of([p, m, k]), of([p, k, n])]), [expected], "{p} of {m} by {k} by {n}");
    }
    assert_eq!(
        error(&g, &[of([2, 1, 3]), of([3, 3, 1])]),
        "f: matmul of planes: a, b: the lengths 2 and 3 differ"
    );
    assert_eq!(
        error(&g, &[of([2, 1, 3]), of([2, 2, 1])]),
        "f: matmul: columns of a, rows of b: the lengths 3 and 2 differ"
    );
}

#[test]
fn elements_and_rows_of_products() {
    let f = lower(["a", "b"], ["element", "of_row", "scaled"], |a: MExp<f32>, b: MExp<f32>| {
        (a.matmul(b).at(0, 0), a.matmul(b).row(0).at(1), a / a.matmul(b).at(0, 0))
    });
    let (a, b) = (matrix(&[[2f32, 4.], [6., 8.]]), matrix(&[[1f32, 0.], [0.5, 1.]]));
    let expected = [scalar(4f32), scalar(4f32), matrix(&[[0.5f32, 1.], [1.5, 2.]])];
    assert_eq!(everywhere(&f, &[a, b]), expected);
}

/// Products and reductions whose factors are wider in memory than where they are used.
#[test]
fn wide_elements_are_narrow_where_they_are_used() {
    let f = lower(["a", "k", "n"], ["product", "greatest"], |a: MExp<f64>, k: VExp<i64>, n: SExp<u8>| {
        let a = a.cast::<f16>();
        (a.matmul(a).cast::<f32>(), k.map(|x| x.cast::<u8>().min(n)).max())
    });
    let args = [matrix(&[[1f64, 2.], [3., 4.]]), vector(&[300i64, 7, -1]), scalar(100u8)];
    let expected = [matrix(&[[7f32, 10.], [15., 22.]]), scalar(100u8)];
    assert_eq!(everywhere(&f, &args), expected);
}

#[test]
fn broadcasts_and_outer_products() {
    let f = lower(["a", "row", "col"], ["centred", "scaled", "outer", "table", "both"], {
        |a: MExp<f32>, row: VExp<f32>, col: VExp<f32>| {
            let (table, both) = generate2(a.rows(), 2, |i, j| (i * 10 + j, a.at(i, j)));
            (
                a - row.broadcast_rows(a.rows()),
                a * col.broadcast_cols(a.cols()),
                (col.outer(row, |c, r| c * 10 + r), table, both),
            )
        }
    });
    let expected = ["same operator -: columns of a, row", "same operator *: rows of a, col"];
    assert_eq!(rules(&f), expected);
    let expected = [
        matrix(&[[0f32, 0., 0.], [3., 3., 3.]]),
        matrix(&[[1f32, 2., 3.], [8., 10., 12.]]),
        matrix(&[[11f32, 12., 13.], [21., 22., 23.]]),
        matrix(&[[0i64, 1], [10, 11]]),
        matrix(&[[1f32, 2.], [4., 5.]]),
    ];
    assert_eq!(everywhere(&f, &[six(), vector(&[1f32, 2., 3.]), vector(&[1f32, 2.])]), expected);
    let f = lower(["v", "n"], "result", |v: VExp<f32>, n: SExp<i64>| v.broadcast_rows(n));
    assert_eq!(rules(&f), ["extent broadcast_rows: n"]);
}

#[test]
fn three_dimensions() {
    let f = lower(["t", "a"], ["turned", "plane", "sum", "planes", "made", "part", "size"], {
        |t: TExp<i64>, a: MExp<i64>| {
            let turned = t.permute([2, 0, 1]);
            let plus = t + a.broadcast_planes(t.planes());
            let made = generate3(1, 2, 2, |k, i, j| t.at(k + 1, i, j + 1)).reverse_rows();
            let part = t.slice_planes(1, 2).slice_cols_by(0, t.cols(), 2).reverse_cols();
            let size = turned.planes() * 100 + turned.rows() * 10 + turned.cols();
            (turned, t.plane(1), (plus - t).sum(), (t * 2 - t).plane(t.planes() - 2), made, part, size)
        }
    });
    let args = [cube(), matrix(&[[1i64, 2, 3], [4, 5, 6]])];
    let tensor = |extents: [i64; 3], elements: &[i64]| {
        Value::Array(extents.to_vec(), elements.iter().map(|x| Lit::i64(*x)).collect())
    };
    let turned = [111, 121, 211, 221, 112, 122, 212, 222, 113, 123, 213, 223];
    let expected = [
        tensor([3, 2, 2], &turned),
        matrix(&[[211i64, 212, 213], [221, 222, 223]]),
        scalar(42i64),
        matrix(&[[111i64, 112, 113], [121, 122, 123]]),
        tensor([1, 2, 2], &[222, 223, 212, 213]),
        tensor([1, 2, 2], &[213, 211, 223, 221]),
        scalar(322i64),
    ];
    assert_eq!(everywhere(&f, &args), expected);
    let f =
        lower(["t"], ["planes", "rows"], |t: TExp<i64>| (t.map_planes(|p| p.sum()), t.map_rows(|r| r.max())));
    assert_eq!(everywhere(&f, &[cube()]), [vector(&[702i64, 1302]), matrix(&[[113i64, 123], [213, 223]])]);
}

#[test]
fn shapes_that_differ_are_named() {
    let f = lower(["a", "b"], "result", |a: MExp<f32>, b: MExp<f32>| a + b);
    let message = |a: Value, b: Value| interp::run(&f, &[a, b]).expect_err("other shapes").message;
    let (tall, wide) = (matrix(&[[1f32; 3]; 4]), matrix(&[[1f32; 5]; 2]));
    assert_eq!(message(six(), tall), "f: operator +: rows of a, b: the lengths 2 and 4 differ");
    assert_eq!(message(six(), wide), "f: operator +: columns of a, b: the lengths 3 and 5 differ");
}

#[test]
fn sums_of_rows_that_are_not_there() {
    let f = lower(["a", "n"], "result", |a: MExp<f32>, n: SExp<i64>| {
        let sums = a.sum_rows();
        generate(n, |i| sums.at(i))
    });
    assert_eq!(everywhere(&f, &[six(), scalar(2i64)]), [vector(&[6f32, 15.])]);
    // reads the rows that there are, and nothing else
    let record = recorded(&f, &[six(), scalar(5000i64)]);
    assert!(record.starts_with("element 2: a read of a computed vector is out of range"), "{record}");
}
