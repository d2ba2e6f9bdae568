//! Shifted slices, weighted sums and boundaries: their elements, and what is too narrow for them.

mod common;

use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_dsl::example::tensor;
use arraygpu_dsl::prelude::*;
use common::{everywhere, lower, matrix, recorded, rules, vector};

const ALL: [Boundary<f32>; 4] = [Boundary::Clamp, Boundary::Mirror, Boundary::Wrap, Boundary::Constant(-1.0)];

/// A vector padded by rules written out in Rust.
fn padded(x: &[f32], before: usize, after: usize, boundary: Boundary<f32>) -> Vec<f32> {
    let n = x.len() as i64;
    let element = |i: i64| match boundary {
        Boundary::Clamp => x[i.clamp(0, n - 1) as usize],
        Boundary::Mirror => {
            let i = i.rem_euclid(2 * n);
            x[(if i < n { i } else { 2 * n - 1 - i }) as usize]
        }
        Boundary::Wrap => x[i.rem_euclid(n) as usize],
        Boundary::Constant(c) => usize::try_from(i).ok().and_then(|i| x.get(i)).copied().unwrap_or(c),
    };
    (-(before as i64)..n + after as i64).map(element).collect()
}

#[test]
fn vectors_beyond_their_edges() {
    let x: Vec<f32> = (1..=5).map(|i| i as f32).collect();
    for boundary in ALL {
        for (before, after) in [(0, 0), (1, 0), (0, 2), (2, 1), (5, 5)] {
            let f = lower(["x"], ["stored", "computed", "len"], |x: VExp<f32>| {
                let computed = (x * 2).reverse().padded(before, after, boundary);
                (x.padded(before, after, boundary), computed, computed.len())
            });
            let doubled: Vec<f32> = x.iter().rev().map(|x| x * 2.0).collect();
            let expected = [
                vector(&padded(&x, before, after, boundary)),
                vector(&padded(&doubled, before, after, boundary)),
                common::scalar((5 + before + after) as i64),
            ];
            assert_eq!(everywhere(&f, &[vector(&x)]), expected, "{boundary:?} {before} {after}");
        }
    }
}

#[test]
fn matrices_beyond_their_edges() {
    let rows = [[1f32, 2., 3.], [4., 5., 6.]];
    for boundary in ALL {
        let f = lower(["a"], "result", |a: MExp<f32>| a.padded([1, 2], [2, 0], boundary));
        let wide: Vec<Vec<f32>> = rows.iter().map(|row| padded(row, 2, 0, boundary)).collect();
        let col = |j: usize| padded(&wide.iter().map(|row| row[j]).collect::<Vec<_>>(), 1, 2, boundary);
        let cols: Vec<Vec<f32>> = (0..5).map(col).collect();
        let expected: Vec<[f32; 5]> = (0..5).map(|i| std::array::from_fn(|j| cols[j][i])).collect();
        assert_eq!(everywhere(&f, &[matrix(&rows)]), [matrix(&expected)], "{boundary:?}");
    }
}

#[test]
fn margins_wider_than_the_array() {
    let error = |boundary, n: usize| {
        let f = lower(["x"], "result", |x: VExp<f32>| x.padded(1, 3, boundary));
        interp::run(&f, &[vector(&vec![1f32; n])]).err().map(|e| e.message)
    };
    for boundary in [Boundary::Mirror, Boundary::Wrap] {
        let text = "f: padded of x: the margin needs 3 or more elements, the length is 2";
        assert_eq!(error(boundary, 2).as_deref(), Some(text));
        assert_eq!(error(boundary, 3), None);
    }
    for boundary in [Boundary::Clamp, Boundary::Constant(0.0)] {
        let text = "f: padded of x: the margin needs 1 or more elements, the length is 0";
        assert_eq!(error(boundary, 0).as_deref(), Some(text));
        assert_eq!(error(boundary, 1), None);
    }
}

/// Wherever a padded array is read, the array itself is read inside of it, and only the author's own read
/// leaves a record.
#[test]
fn reads_of_a_padded_array() {
    for boundary in ALL {
        let f = lower(["x", "k"], "result", |x: VExp<f32>, k: VExp<i64>| x.padded(2, 2, boundary).gather(k));
        let x = vector(&[1f32, 2., 3.]);
        let inside = everywhere(&f, &[x.clone(), vector(&[0i64, 6, 3])]);
        let all = padded(&[1., 2., 3.], 2, 2, boundary);
        assert_eq!(inside, [vector(&[all[0], all[6], all[3]])]);
        let record = recorded(&f, &[x, vector(&[0i64, 4000, -5000, i64::MIN, i64::MAX])]);
        assert!(record.starts_with("element 1: a read of a computed vector is out of range"), "{record}");
    }
}

#[test]
fn windows_of_matrices() {
    let f = lower(["a"], ["first", "last", "sum"], |a: MExp<f32>| {
        let w = a.windows2(2, 3);
        (w[0][0], w[1][2], w.concat().into_iter().sum::<MExp<f32>>())
    });
    assert_eq!(rules(&f), ["order windows2 of a", "order windows2 of a"], "the rows and the columns");
    let a = matrix(&[[1f32, 2., 3., 4.], [10., 20., 30., 40.], [5., 6., 7., 8.]]);
    let expected = [
        matrix(&[[1f32, 2.], [10., 20.]]),
        matrix(&[[30f32, 40.], [7., 8.]]),
        matrix(&[[66f32, 99.], [78., 111.]]),
    ];
    assert_eq!(everywhere(&f, &[a]), expected);
    let narrow = interp::run(&f, &[matrix(&[[1f32], [2.]])]).expect_err("too narrow").message;
    assert_eq!(narrow, "f: windows2 of a: the window is wider than the array by 2");
}

#[test]
fn weighted_sums_of_matrices() {
    let third = 1f32 / 3.0;
    let weights = [[0.1, third, -0.3], [0.7, 1e-3, 3.0]];
    let f = lower(["a"], "result", |a: MExp<f32>| a.weighted_sum2(&weights));
    assert_eq!(rules(&f), ["order weighted_sum2 of a", "order weighted_sum2 of a"]);
    let rows: [[f32; 5]; 4] = std::array::from_fn(|i| std::array::from_fn(|j| 1.0 / (i * 5 + j + 1) as f32));
    let element = |i: usize, j: usize| {
        let taps = (0..2).flat_map(|r| (0..3).map(move |c| (r, c)));
        taps.fold(None, |sum: Option<f32>, (r, c)| {
            let (w, x) = (weights[r][c], rows[i + r][j + c]);
            Some(sum.map_or(w * x, |sum| w.mul_add(x, sum)))
        })
    };
    let expected: [[f32; 3]; 3] = std::array::from_fn(|i| std::array::from_fn(|j| element(i, j).unwrap()));
    assert_eq!(everywhere(&f, &[matrix(&rows)]), [matrix(&expected)]);
    // a whole stencil: as large as its input
    let f = lower(["a"], "result", |a: MExp<i32>| {
        a.padded([1, 1], [1, 1], Boundary::Constant(0)).weighted_sum2(&vec![vec![1; 3]; 3])
    });
    let sums: Value = matrix(&[[12, 21, 16], [12, 21, 16]]);
    assert_eq!(everywhere(&f, &[matrix(&[[1, 2, 3], [4, 5, 6]])]), [sums]);
}

/// A volume padded by rules written out in Rust, one axis after the other.
fn padded_volume<const P: usize, const R: usize, const C: usize>(
    x: &[Vec<Vec<f32>>],
    margins: [[usize; 2]; 3],
    boundary: Boundary<f32>,
) -> [[[f32; C]; R]; P] {
    let (rows, cols) = (x[0].len(), x[0][0].len());
    let column = |i: usize, j: usize| x.iter().map(|plane| plane[i][j]).collect::<Vec<f32>>();
    let [front, behind] = margins[0];
    let deep = |i: usize, j: usize| padded(&column(i, j), front, behind, boundary);
    let tall = |k: usize, j: usize| {
        let line: Vec<f32> = (0..rows).map(|i| deep(i, j)[k]).collect();
        padded(&line, margins[1][0], margins[1][1], boundary)
    };
    let wide = |k: usize, i: usize| {
        let line: Vec<f32> = (0..cols).map(|j| tall(k, j)[i]).collect();
        padded(&line, margins[2][0], margins[2][1], boundary)
    };
    std::array::from_fn(|k| std::array::from_fn(|i| wide(k, i).try_into().expect("so many columns")))
}

#[test]
fn volumes_beyond_their_edges() {
    let planes = [[[1f32, 2., 3.], [4., 5., 6.]], [[7., 8., 9.], [10., 11., 12.]]];
    let x: Vec<Vec<Vec<f32>>> = planes.iter().map(|p| p.iter().map(|row| row.to_vec()).collect()).collect();
    for boundary in ALL {
        let f = lower(["u"], "result", |u: TExp<f32>| u.padded([2, 1], [1, 2], [0, 3], boundary));
        let expected: [[[f32; 6]; 5]; 5] = padded_volume(&x, [[2, 1], [1, 2], [0, 3]], boundary);
        assert_eq!(everywhere(&f, &[tensor(&planes)]), [tensor(&expected)], "{boundary:?}");
    }
}

/// Volumes of one plane, one row and one column, with margins as wide as the boundary allows.
#[test]
fn margins_of_small_volumes() {
    let seven = |u: TExp<f32>, boundary| {
        let w = u.padded([1, 1], [1, 1], [1, 1], boundary).windows3(3, 3, 3);
        (w[0][1][1] + w[2][1][1]) + (w[1][0][1] + w[1][2][1]) + (w[1][1][0] + w[1][1][2]) - 6.0 * w[1][1][1]
    };
    for boundary in ALL {
        let f = lower(["u"], "result", |u: TExp<f32>| seven(u, boundary));
        let beyond = if let Boundary::Constant(c) = boundary { c } else { 5.0 };
        let one = tensor(&[[[6.0 * beyond - 30.0]]]);
        assert_eq!(everywhere(&f, &[tensor(&[[[5f32]]])]), [one], "{boundary:?}");
        let x: Vec<Vec<Vec<f32>>> = vec![vec![vec![1., 2., 4., 8.], vec![3., 5., 7., 9.]]];
        let p: [[[f32; 6]; 4]; 3] = padded_volume(&x, [[1, 1]; 3], boundary);
        let element = |i: usize, j: usize| {
            (p[0][i][j] + p[2][i][j]) + (p[1][i - 1][j] + p[1][i + 1][j]) + (p[1][i][j - 1] + p[1][i][j + 1])
                - 6.0 * p[1][i][j]
        };
        let rows: [[f32; 4]; 2] = std::array::from_fn(|i| std::array::from_fn(|j| element(i + 1, j + 1)));
        let u = tensor(&[[[1f32, 2., 4., 8.], [3., 5., 7., 9.]]]);
        assert_eq!(everywhere(&f, &[u]), [tensor(&[rows])], "{boundary:?}");
        let f = lower(["u"], "result", |u: TExp<f32>| u.padded([2, 2], [0, 0], [1, 1], boundary));
        let narrow = interp::run(&f, &[tensor(&[[[1f32, 2.]]])]).map(|r| r.results).map_err(|e| e.message);
        match boundary {
            Boundary::Mirror | Boundary::Wrap => {
                let text = "f: padded of u: the margin needs 2 or more elements, the length is 1";
                assert_eq!(narrow.expect_err("too narrow"), text);
            }
            _ => assert!(narrow.is_ok()),
        }
        let x: Vec<Vec<Vec<f32>>> = vec![vec![vec![1., 2.]], vec![vec![3., 4.]]];
        let all: [[[f32; 4]; 1]; 6] = padded_volume(&x, [[2, 2], [0, 0], [1, 1]], boundary);
        let u = tensor(&[[[1f32, 2.]], [[3., 4.]]]);
        assert_eq!(everywhere(&f, &[u]), [tensor(&all)], "{boundary:?}, as wide as the volume");
    }
}

#[test]
fn windows_of_volumes() {
    let f = lower(["u"], ["first", "last", "kept"], |u: TExp<f32>| {
        let w = u.windows3(2, 1, 3);
        (w[0][0][0], w[1][0][2], u.with_block(1, 0, 2, w[0][0][1] + w[1][0][1]))
    });
    assert_eq!(rules(&f)[..2], ["order windows3 of u"; 2], "the planes and the columns; rows are not cut");
    let u = tensor(&[[[1f32, 2., 3.], [4., 5., 6.]], [[10., 20., 30.], [40., 50., 60.]]]);
    let expected = [
        tensor(&[[[1f32], [4.]]]),
        tensor(&[[[30f32], [60.]]]),
        tensor(&[[[1f32, 2., 3.], [4., 5., 6.]], [[10., 20., 22.], [40., 50., 55.]]]),
    ];
    assert_eq!(everywhere(&f, &[u]), expected);
    let error = |x: Value| interp::run(&f, &[x]).expect_err("too small").message;
    let part = "f: with_block of u: the part has the length 0, it must have 1 element or more";
    assert_eq!(error(tensor(&[[[1f32, 2., 3.]]])), part, "a volume of one plane");
    assert_eq!(
        error(tensor(&[[[1f32]], [[2.]]])),
        "f: windows3 of u: the window is wider than the array by 2"
    );
}

#[test]
fn weighted_sums_of_volumes() {
    let third = 1f32 / 3.0;
    let weights = [[[0.1, third], [-0.3, 0.7]], [[1e-3, 3.0], [0.0, -2.5]], [[1.5, 0.2], [0.4, 0.6]]];
    let f = lower(["u"], "result", |u: TExp<f32>| u.weighted_sum3(&weights));
    assert_eq!(rules(&f), ["order weighted_sum3 of u"; 3]);
    let x: [[[f32; 5]; 3]; 4] = std::array::from_fn(|k| {
        std::array::from_fn(|i| std::array::from_fn(|j| 1.0 / (k * 15 + i * 5 + j + 1) as f32))
    });
    let element = |k: usize, i: usize, j: usize| {
        let taps = (0..3).flat_map(|p| (0..2).flat_map(move |r| (0..2).map(move |c| (p, r, c))));
        let sum = taps.fold(None, |sum: Option<f32>, (p, r, c)| {
            let (w, x) = (weights[p][r][c], x[k + p][i + r][j + c]);
            Some(sum.map_or(w * x, |sum| w.mul_add(x, sum)))
        });
        sum.expect("a sum of twelve")
    };
    let expected: [[[f32; 4]; 2]; 2] =
        std::array::from_fn(|k| std::array::from_fn(|i| std::array::from_fn(|j| element(k, i, j))));
    assert_eq!(everywhere(&f, &[tensor(&x)]), [tensor(&expected)]);
    // a whole stencil of integers, with rows of weights as vectors: as large as its input
    let f = lower(["u"], "result", |u: TExp<i32>| {
        let box3 = vec![vec![vec![1; 3]; 3]; 3];
        u.padded([1, 1], [1, 1], [1, 1], Boundary::Constant(0)).weighted_sum3(&box3)
    });
    let u = tensor(&[[[1, 2, 3], [4, 5, 6]], [[1, 0, 0], [0, 0, 1]]]);
    let sums = [[13, 23, 17], [13, 23, 17]];
    assert_eq!(everywhere(&f, &[u]), [tensor(&[sums, sums])]);
}

/// The examples of docs/language.md.
#[test]
fn examples_of_the_documentation() {
    fn normalised(m: MExp<f32>) -> MExp<f32> {
        let length = m.map_rows(|r| r.dot(r)).sqrt();
        m / length.broadcast_cols(m.cols())
    }
    fn jacobi(m: MExp<f32>) -> MExp<f32> {
        let w = m.padded([1, 1], [1, 1], Boundary::Clamp).windows2(3, 3);
        (w[0][1] + w[1][0] + w[1][2] + w[2][1]) * 0.25
    }
    let m = matrix(&[[3f32, 4.], [0., 8.]]);
    let f = lower(["m"], "result", normalised);
    assert_eq!(everywhere(&f, std::slice::from_ref(&m)), [matrix(&[[0.6f32, 0.8], [0., 1.]])]);
    let f = lower(["m"], "result", jacobi);
    assert_eq!(everywhere(&f, &[m]), [matrix(&[[2.5f32, 4.75], [2.75, 5.]])]);
}
