//! Reductions by operators that are not commutative: in order, at every edge of the tree, everywhere.

mod common;

use arraygpu_compiler::core::interp::Value;
use arraygpu_dsl::eval;
use arraygpu_dsl::prelude::*;
use common::{everywhere, lower, matrix, recorded, scalar, vector};

/// The lengths around the edges of columns, tiles and levels.
const LENGTHS: [usize; 13] = [0, 1, 2, 15, 16, 17, 129, 2047, 2048, 2049, 2064, 4097, 6000];

fn numbers(n: usize) -> Vec<i64> {
    (0..n as i64).map(|i| (i * 7919) % 23 - 11).collect()
}

type Sums = (SExp<i64>, SExp<i64>, SExp<i64>, SExp<i64>);

/// The greatest sum of neighbouring elements, 0 of none.
fn greatest_sum(x: VExp<i64>) -> SExp<i64> {
    let join = |(a, first, last, all): Sums, (b, next, end, more): Sums| {
        (a.max(b).max(last + next), first.max(all + next), end.max(more + last), all + more)
    };
    let positive = x.map(|a| a.max(0));
    (positive, positive, positive, x).reduce_noncommutative((0, 0, 0, 0), join).0
}

/// The length of the longest run of equal elements.
fn longest_run(x: VExp<i64>) -> SExp<i64> {
    let one = x.map(|_| lit(1i64));
    let all = (x, x, one, one, one, one).reduce_noncommutative(
        (0, 0, 0, 0, 0, 0),
        |(first, last, begin, end, best, n), (other, final_, start, rest, most, m)| {
            let meets = last.eq(other) & n.gt(0);
            let across = cond(meets, end + start, 0);
            let begin = cond(begin.eq(n) & meets, n + start, cond(n.eq(0), start, begin));
            let end = cond(rest.eq(m) & meets, m + end, rest);
            (cond(n.eq(0), other, first), final_, begin, end, best.max(most).max(across), n + m)
        },
    );
    all.4
}

/// The product of matrices of two rows and columns.
fn product(
    a: VExp<f32>,
    b: VExp<f32>,
    c: VExp<f32>,
    d: VExp<f32>,
) -> (SExp<f32>, SExp<f32>, SExp<f32>, SExp<f32>) {
    (a, b, c, d).reduce_noncommutative((1.0, 0.0, 0.0, 1.0), |(a, b, c, d), (e, f, g, h)| {
        (a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h)
    })
}

#[test]
fn the_greatest_sum_and_the_longest_run() {
    for n in LENGTHS {
        let x = numbers(n);
        let (mut best, mut here) = (0, 0);
        for a in &x {
            here = (here + a).max(0);
            best = best.max(here);
        }
        assert_eq!(eval(greatest_sum, (&x,)).expect("it runs"), best, "{n}");
        let runs: Vec<i64> = x.iter().map(|a| a / 6).collect();
        let longest = runs.chunk_by(|a, b| a == b).map(|run| run.len() as i64).max().unwrap_or(0);
        assert_eq!(eval(longest_run, (&runs,)).expect("it runs"), longest, "{n}");
    }
}

#[test]
fn products_of_matrices_have_the_bits_of_the_tree_everywhere() {
    let f = lower(["a", "b", "c", "d"], ["e", "f", "g", "h"], product);
    for n in [0, 17, 2049] {
        let of =
            |k: usize| (0..n).map(|i| ((i * 31 + k * 17) % 101) as f32 * 0.013 - 0.5).collect::<Vec<f32>>();
        let args: Vec<Value> = (0..4).map(|k| vector(&of(k))).collect();
        everywhere(&f, &args);
    }
    for n in [16, 2049] {
        everywhere(&lower(["x"], "r", greatest_sum), &[vector(&numbers(n))]);
        everywhere(&lower(["x"], "r", longest_run), &[vector(&numbers(n))]);
    }
}

#[test]
fn the_order_is_that_of_the_elements() {
    // the last element that is not 0, of vectors, matrices and volumes
    let last = |a: SExp<f32>, b: SExp<f32>| cond(b.eq(0.0), a, b);
    let x: Vec<f32> = (0..5000).map(|i| if i < 4321 { i as f32 } else { 0.0 }).collect();
    let f = move |x: VExp<f32>| {
        (x.reduce_noncommutative(0.0, last), x.reverse().reduce_noncommutative(-1.0, last))
    };
    assert_eq!(eval(f, (&x,)).expect("it runs"), (4320.0, 1.0));
    everywhere(&lower(["x"], ["a", "b"], f), &[vector(&x)]);
    let of_matrix = move |m: MExp<f32>| {
        (m.reduce_noncommutative(0.0, last), m.transpose().reduce_noncommutative(0.0, last))
    };
    let m = [[1.0f32, 2.0, 3.0], [4.0, 0.0, 0.0]];
    assert_eq!(eval(of_matrix, (m,)).expect("it runs"), (4.0, 3.0));
    everywhere(&lower(["m"], ["a", "b"], of_matrix), &[matrix(&m)]);
    // rows, columns, and inside of closures
    let rows = move |m: MExp<f32>| {
        let row = |r: VExp<f32>| r.reduce_noncommutative(7.0, last);
        (m.map_rows(row), m.map_cols(row))
    };
    assert_eq!(eval(rows, (m,)).expect("it runs"), (vec![3.0, 4.0], vec![4.0, 2.0, 3.0]));
    everywhere(&lower(["m"], ["a", "b"], rows), &[matrix(&m)]);
    let within = move |x: VExp<f32>| x.map(|a| x.map(|b| b * a).reduce_noncommutative(0.0, last));
    everywhere(&lower(["x"], "r", within), &[vector(&[1.0f32, 2.0, 0.0])]);
}

#[test]
fn every_type_and_twelve_components() {
    let text = |x: VExp<u8>| {
        (x, x.map(|_| lit(1u64))).reduce_noncommutative((0, 0), |(a, m), (b, n)| (a * 31 + b, m + n))
    };
    let x: Vec<u8> = (0..300u32).map(|i| i as u8).collect();
    everywhere(&lower(["x"], ["a", "n"], text), &[vector(&x)]);
    let half = |x: VExp<f16>| x.reduce_noncommutative(f16::from_f32(0.5), |a, b| a * 2 - b);
    let x: Vec<f16> = (0..40).map(|i| f16::from_f32(i as f32 * 0.25)).collect();
    everywhere(&lower(["x"], "r", half), &[vector(&x)]);
    let bits = |x: VExp<bool>| x.reduce_noncommutative(false, |a, b| a & !b);
    everywhere(&lower(["x"], "r", bits), &[vector(&[true, false, true])]);
    let twelve = |x: VExp<i32>| {
        type Six = (SExp<i32>, SExp<i32>, SExp<i32>, SExp<i32>, SExp<i32>, SExp<i32>);
        let six = |a: Six, b: Six| (b.0, a.0 + b.1, a.1 * b.2, a.2 - b.3, a.3 ^ b.4, a.4 + b.5);
        let six_arrays = (x, x + 1, x + 2, x + 3, x + 4, x + 5);
        let (a, b) = (six_arrays, six_arrays)
            .reduce_noncommutative(((0, 0, 0, 0, 0, 0), (0, 0, 0, 0, 0, 0)), |(a, b), (c, d)| {
                (six(a, d), six(b, c))
            });
        (a.5, b.5)
    };
    everywhere(&lower(["x"], ["a", "b"], twelve), &[vector(&(0..100).collect::<Vec<i32>>())]);
}

#[test]
fn records_have_the_numbers_of_elements() {
    let f =
        |x: VExp<i64>, y: VExp<i64>| x.zip_with(y, |a, b| a / b).reduce_noncommutative(0, |a, b| a * 2 + b);
    let f = lower(["x", "y"], "r", f);
    let y: Vec<i64> = (0..3000).map(|i| i64::from(i != 2500 && i != 2400)).collect();
    let record = recorded(&f, &[vector(&numbers(3000)), vector(&y)]);
    assert!(record.contains("element 2400"), "{record}");
    // of the operator: element 0, and only where there is an element to join
    let g = |x: VExp<i64>| x.reduce_noncommutative(5, |a, b| a / b);
    let g = lower(["x"], "r", g);
    assert_eq!(everywhere(&g, &[vector::<i64>(&[])]), [scalar(5i64)]);
    assert_eq!(everywhere(&g, &[vector(&[3i64, 1, 3])]), [scalar(5i64)]);
    let record = recorded(&g, &[vector(&[2i64, 0, 3])]);
    assert!(record.contains("element 0"), "{record}");
    // a reduction that no element needs is computed for the call
    let h =
        |x: VExp<i64>, k: SExp<i64>| x.map(|a| cond(k.gt(0), a, x.reduce_noncommutative(1, |a, b| a / b)));
    recorded(&lower(["x", "k"], "r", h), &[vector(&[2i64, 0, 3]), scalar(1i64)]);
}
