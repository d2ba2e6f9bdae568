//! Scans of rows, columns and planes (semantics 5.18): each with the bits of the scan of a vector of its own.

mod common;

use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::scalar::Lit;
use arraygpu_dsl::eval;
use arraygpu_dsl::prelude::*;
use common::{call, everywhere, literals, lower, recorded, refused, rules, vector};

fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919) % 1009) as f32 * 0.001 - 0.4).collect()
}

fn array(extents: &[usize], v: &[f32]) -> Value {
    Value::Array(extents.iter().map(|n| *n as i64).collect(), v.iter().map(|v| Lit::f32(*v)).collect())
}

fn bits(v: &[Lit]) -> Vec<u64> {
    v.iter().map(|v| v.bits).collect()
}

/// The scan of a vector, or that without the element itself.
fn scan(v: &[f32], init: f32, is_exclusive: bool) -> Vec<f32> {
    if is_exclusive {
        return eval(|x: VExp<f32>, init: SExp<f32>| x.scan_exclusive(init, join), (v, init))
            .expect("it runs");
    }
    eval(|x: VExp<f32>, init: SExp<f32>| x.scan(init, join), (v, init)).expect("it runs")
}

/// It is associative up to rounding, and not commutative in its bits.
fn join(a: SExp<f32>, b: SExp<f32>) -> SExp<f32> {
    a + b
}

/// The numbers of the elements of each row, column and plane of an array of these extents.
fn lines([planes, rows, cols]: [usize; 3]) -> [Vec<Vec<usize>>; 3] {
    let at = |k: usize, i: usize, j: usize| (k * rows + i) * cols + j;
    let of_rows = (0..planes * rows).map(|line| (0..cols).map(|j| line * cols + j).collect()).collect();
    let of_cols =
        (0..planes * cols).map(|line| (0..rows).map(|i| at(line / cols, i, line % cols)).collect()).collect();
    let of_planes = (0..planes).map(|k| (0..rows * cols).map(|i| k * rows * cols + i).collect()).collect();
    [of_rows, of_cols, of_planes]
}

/// Checks the elements of some lines against scans of vectors.
fn check(found: &Value, x: &[f32], lines: &[Vec<usize>], is_exclusive: bool) {
    let found = literals(found);
    assert_eq!(found.len(), x.len());
    for line in lines {
        let own: Vec<f32> = line.iter().map(|i| x[*i]).collect();
        for (i, expected) in line.iter().zip(scan(&own, 0.25, is_exclusive)) {
            assert_eq!(found[*i].bits, u64::from(expected.to_bits()), "element {i} of {}", x.len());
        }
    }
}

fn of_a_matrix(x: MExp<f32>) -> (MExp<f32>, MExp<f32>, MExp<f32>, MExp<f32>) {
    let rows = (x.scan_rows(0.25, join), x.scan_rows_exclusive(0.25, join));
    (rows.0, rows.1, x.scan_cols(0.25, join), x.scan_cols_exclusive(0.25, join))
}

#[test]
fn every_line_of_a_matrix_has_the_bits_of_its_own_scan() {
    let f = lower(["x"], ["rows", "rows_exclusive", "cols", "cols_exclusive"], of_a_matrix);
    // around the edges of chunks, rows and tiles
    let shapes =
        [[0, 0], [0, 3], [3, 0], [1, 1], [2, 3], [4, 5], [3, 127], [129, 2], [2, 640], [8193, 1], [1, 20000]];
    for [rows, cols] in shapes {
        let x = numbers(rows * cols);
        let found = call(&f, &[array(&[rows, cols], &x)]);
        let [of_rows, of_cols, _] = lines([1, rows, cols]);
        for (k, found) in found.iter().enumerate() {
            check(found, &x, if k < 2 { &of_rows } else { &of_cols }, k % 2 == 1);
        }
    }
}

#[test]
fn a_line_of_several_groups_goes_on_behind_each() {
    let f = lower(["x"], "sums", |x: MExp<f32>| x.scan_rows(0.25, join));
    let n = 2 * 262_144 + 3;
    let x = numbers(n);
    let found = interp::run(&f, &[array(&[1, n], &x)]).expect("it runs").results;
    check(&found[0], &x, &[(0..n).collect()], false);
}

#[test]
fn lines_are_the_same_everywhere() {
    let f = lower(["x"], ["rows", "rows_exclusive", "cols", "cols_exclusive"], of_a_matrix);
    for [rows, cols] in [[0, 3], [3, 0], [1, 1], [3, 9], [2, 131]] {
        everywhere(&f, &[array(&[rows, cols], &numbers(rows * cols))]);
    }
    // maps are fused with scans, and scans with what reads them
    let f = lower(["x"], ["sums", "last"], |x: MExp<f32>| {
        let sums = (x * 0.5).reverse_cols().scan_rows(0.0, |a, b| a.max(b)).reverse_cols();
        (sums - x, sums.scan_cols(1.0, |a, b| a * b).sum_rows())
    });
    for [rows, cols] in [[1, 1], [5, 6]] {
        everywhere(&f, &[array(&[rows, cols], &numbers(rows * cols))]);
    }
}

#[test]
fn lines_of_three_dimensions() {
    let f = |x: TExp<f32>| {
        let rows = (x.scan_rows(0.25, join), x.scan_rows_exclusive(0.25, join));
        let cols = (x.scan_cols(0.25, join), x.scan_cols_exclusive(0.25, join));
        (rows.0, rows.1, cols.0, cols.1, x.scan_planes(0.25, join), x.scan_planes_exclusive(0.25, join))
    };
    let f = lower(["x"], ["rows", "rows0", "cols", "cols0", "planes", "planes0"], f);
    for extents in [[0, 2, 3], [2, 0, 3], [2, 3, 0], [1, 1, 1], [2, 3, 5], [3, 70, 4], [2, 100, 90]] {
        let n: usize = extents.iter().product();
        let x = numbers(n);
        let args = [array(&extents, &x)];
        let found = if n < 100 { everywhere(&f, &args) } else { call(&f, &args) };
        let all = lines(extents);
        for (k, found) in found.iter().enumerate() {
            check(found, &x, &all[k / 2], k % 2 == 1);
        }
    }
}

#[test]
fn operators_of_lines_need_not_commute() {
    // the composition of x -> a x + b, as a record; and the last number that is not 0
    let f = |x: MExp<f32>, y: MExp<f32>| {
        let z = x.zip_with(y, |a, b| complex(a, b));
        let composed = z.scan_rows(Complex::new(1.0, 0.0), |p, q| complex(p.re * q.re, p.im * q.re + q.im));
        let last = x.scan_cols(7.0, |a, b| cond(b.eq(0.0), a, b));
        (composed, last)
    };
    let f = lower(["x", "y"], ["composed", "last"], f);
    let x: Vec<f32> = (0..60).map(|i| if i % 3 == 0 { 0.0 } else { i as f32 * 0.25 }).collect();
    let found = everywhere(&f, &[array(&[6, 10], &x), array(&[6, 10], &numbers(60))]);
    let last = literals(found.last().expect("three arrays"));
    for j in 0..10 {
        let mut expected = 7.0;
        for i in 0..6 {
            expected = if x[i * 10 + j] == 0.0 { expected } else { x[i * 10 + j] };
            assert_eq!(last[i * 10 + j], Lit::f32(expected), "{i}, {j}");
        }
    }
    let numbers = numbers(60);
    let (a, b) = (literals(&found[0]), literals(&found[1]));
    for i in 0..6 {
        let alone = |x: VExp<f32>, y: VExp<f32>| (x, y).scan((1.0, 0.0), |(a, b), (c, d)| (a * c, b * c + d));
        let row = i * 10..i * 10 + 10;
        let (p, q) = eval(alone, (&x[row.clone()], &numbers[row.clone()])).expect("it runs");
        let of = |v: &[f32]| v.iter().map(|v| u64::from(v.to_bits())).collect::<Vec<_>>();
        assert_eq!((bits(&a[row.clone()]), bits(&b[row])), (of(&p), of(&q)), "{i}");
    }
}

#[test]
fn records_and_what_is_refused() {
    // an operator leaves a record where it is needed alone: of elements that stand before another one
    let f = lower(["x"], "quotients", |x: MExp<i64>| x.scan_rows(5, |a, b| a + 60 / b));
    let ints =
        |v: &[i64]| Value::Array(vec![2, v.len() as i64 / 2], v.iter().map(|v| Lit::i64(*v)).collect());
    for n in [1, 4, 5, 9] {
        let x: Vec<i64> = (0..2 * n).map(|i| i % 7 + 1).collect();
        everywhere(&f, &[ints(&x)]);
    }
    recorded(&f, &[ints(&[1, 2, 3, 4, 0, 1])]);
    recorded(&f, &[ints(&[1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 0, 1])]);
    // what is read outside of an array leaves its own record
    let f = lower(["x", "i"], "sums", |x: VExp<f32>, i: VExp<i64>| {
        generate2(2, i.len(), |r, k| x.at(i.at(k) + r)).scan_rows(0.0, |a, b| a + b)
    });
    everywhere(&f, &[vector(&numbers(9)), vector(&[0i64, 3, 7])]);
    recorded(&f, &[vector(&numbers(9)), vector(&[0i64, 3, 8])]);
    assert!(rules(&f).is_empty(), "{:?}", rules(&f));
    let inside = |x: MExp<f32>| x.map(|a| (x * a).scan_rows(0.0, |a, b| a + b).sum());
    let error = refused(["x"], inside);
    assert_eq!(error.code(), Some("E0312"));
}

/// Extents of an array without elements may be any.
#[test]
fn lines_of_no_elements_have_any_length() {
    let by_rows = lower(["x"], "r", |x: MExp<f32>| x.scan_rows(0.0, join));
    let by_cols = lower(["x"], "r", |x: MExp<f32>| x.scan_cols_exclusive(0.0, join));
    for n in [1 << 62, i64::MAX - 2048, i64::MAX - 5, i64::MAX] {
        for (f, extents) in [(&by_rows, vec![0, n]), (&by_cols, vec![n, 0])] {
            let x = Value::Array(extents, vec![]);
            assert_eq!(call(f, std::slice::from_ref(&x)), [x]);
        }
    }
}

#[test]
fn steps_of_iterations_scan_lines() {
    // the sums of all elements above and to the left: twice
    let f = |x: MExp<i64>| {
        let table = |x: MExp<i64>| x.scan_rows(0, |a, b| a + b).scan_cols(0, |a, b| a + b);
        (table(x), x.iterate(2, table))
    };
    let f = lower(["x"], ["table", "twice"], f);
    let x: Vec<i64> = (0..15).map(|i| i * i % 7 - 2).collect();
    let arg = Value::Array(vec![3, 5], x.iter().map(|v| Lit::i64(*v)).collect());
    let found = everywhere(&f, &[arg]);
    let table = |x: &[i64]| -> Vec<i64> {
        let at = |i: usize, j: usize| (0..=i).flat_map(|r| (0..=j).map(move |c| x[r * 5 + c])).sum();
        (0..15).map(|n| at(n / 5, n % 5)).collect()
    };
    let once = table(&x);
    assert_eq!(literals(&found[0]), once.iter().map(|v| Lit::i64(*v)).collect::<Vec<_>>());
    assert_eq!(literals(&found[1]), table(&once).iter().map(|v| Lit::i64(*v)).collect::<Vec<_>>());
}

/// The example of docs/language.md.
#[test]
fn areas_are_summed() {
    fn summed_areas(m: MExp<f64>) -> MExp<f64> {
        m.scan_rows(0.0, |a, b| a + b).scan_cols(0.0, |a, b| a + b)
    }
    let f = lower(["m"], "areas", summed_areas);
    let matrix = |v: &[f64]| Value::Array(vec![2, 3], v.iter().map(|v| Lit::f64(*v)).collect());
    let found = everywhere(&f, &[matrix(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])]);
    assert_eq!(found, [matrix(&[1.0, 3.0, 6.0, 5.0, 12.0, 21.0])]);
}
