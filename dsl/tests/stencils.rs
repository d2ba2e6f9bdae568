//! Shifted slices, weighted sums and boundaries: their elements, and what is too narrow for them.

mod common;

use arraygpu_compiler::core::interp::{self, Value};
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

/// Wherever a padded array is read, the array itself is read inside of it, and only the author's own read leaves a record.
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
    assert_eq!(narrow, "f: windows2 of a: the slice stops at -1, before its start 0");
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
