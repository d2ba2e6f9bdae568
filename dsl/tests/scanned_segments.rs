//! Scans of segments (semantics 5.20): each with the bits of the scan of a vector of its own.

mod common;

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::scalar::Lit;
use arraygpu_dsl::eval;
use arraygpu_dsl::prelude::*;
use common::{call, everywhere, literals, lower, recorded, refused, vector};

fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919) % 1009) as f32 * 0.001 - 0.4).collect()
}

/// The scans of segments of a vector, each of a vector of its own; what is in none is the initial value.
fn expected(x: &[f32], offsets: &[i64], is_exclusive: bool) -> Vec<f32> {
    let mut all = vec![0.25; x.len()];
    for pair in offsets.windows(2) {
        let (begin, end) = (pair[0] as usize, pair[1] as usize);
        if begin < end {
            let of = |x: VExp<f32>| match is_exclusive {
                true => x.scan_exclusive(0.25, |a, b| a + b),
                false => x.scan(0.25, |a, b| a + b),
            };
            let own: Vec<f32> = eval(of, (&x[begin..end],)).expect("it runs");
            all[begin..end].copy_from_slice(&own);
        }
    }
    all
}

fn scans(x: VExp<f32>, offsets: VExp<i64>) -> (VExp<f32>, VExp<f32>) {
    (x.segmented_scan(offsets, 0.25, |a, b| a + b), x.segmented_scan_exclusive(offsets, 0.25, |a, b| a + b))
}

fn check(found: &[Value], x: &[f32], offsets: &[i64]) {
    for (found, is_exclusive) in found.iter().zip([false, true]) {
        let bits = |v: &[f32]| v.iter().map(|v| u64::from(v.to_bits())).collect::<Vec<_>>();
        let found: Vec<u64> = literals(found).iter().map(|v| v.bits).collect();
        assert_eq!(found, bits(&expected(x, offsets, is_exclusive)), "{} elements, {offsets:?}", x.len());
    }
}

#[test]
fn every_segment_has_the_bits_of_its_own_scan() {
    let f = lower(["x", "offsets"], ["scan", "exclusive"], scans);
    // short and empty segments, elements before and behind all of them, and segments of several rows
    let cases: [(usize, &[i64]); 8] = [
        (0, &[0]),
        (0, &[0, 0, 0]),
        (3, &[1]),
        (9, &[0, 3, 3, 5]),
        (12, &[2, 3, 7, 7, 12]),
        (140, &[0, 1, 2, 3, 131, 140]),
        (300, &[5, 5, 134, 290]),
        (700, &[0, 127, 255, 384, 700]),
    ];
    for (n, offsets) in cases {
        let x = numbers(n);
        check(&everywhere(&f, &[vector(&x), vector(offsets)]), &x, offsets);
    }
}

#[test]
fn segments_of_several_tiles_and_groups() {
    let f = lower(["x", "offsets"], ["scan", "exclusive"], scans);
    let group = 262_144;
    for (n, offsets) in
        [(20_000, vec![3, 8196, 8199, 20_000]), (group + 9005, vec![0, 2, group + 8195, group + 9005])]
    {
        let x = numbers(n as usize);
        check(&call(&f, &[vector(&x), vector(&offsets)]), &x, &offsets);
    }
}

#[test]
fn many_segments_of_any_lengths() {
    let f = lower(["x", "offsets"], ["scan", "exclusive"], scans);
    for most in [1, 2, 9, 40] {
        let lengths = (0..60i64).map(|k| (k * k * 31 + 7 * k) % (most + 1));
        let mut offsets = vec![most];
        lengths.for_each(|length| offsets.push(offsets[offsets.len() - 1] + length));
        let x = numbers(offsets[60] as usize + 5);
        check(&everywhere(&f, &[vector(&x), vector(&offsets)]), &x, &offsets);
    }
}

#[test]
fn offsets_that_are_none_leave_a_record() {
    let f = lower(["x", "offsets"], "sums", |x: VExp<f32>, offsets: VExp<i64>| {
        x.segmented_scan(offsets, 0.0, |a, b| a + b)
    });
    for offsets in
        [&[0i64, 3, 2, 5][..], &[-1, 3], &[0, 6], &[7], &[4, 0, 9, -3, i64::MAX], &[i64::MIN, i64::MAX]]
    {
        recorded(&f, &[vector(&numbers(5)), vector(offsets)]);
    }
}

#[test]
fn there_is_an_offset() {
    let refused: arraygpu_dsl::Result<(Vec<f32>, Vec<f32>)> =
        eval(scans, (&numbers(3)[..], Vec::<i64>::new()));
    let message = refused.expect_err("there is none").to_string();
    assert!(message.contains("segmented_scan"), "{message}");
}

#[test]
fn operators_leave_records_of_wanted_elements_alone() {
    let f = lower(["x", "offsets"], "quotients", |x: VExp<i64>, offsets: VExp<i64>| {
        x.segmented_scan(offsets, 5, |a, b| a + 60 / b)
    });
    let x: Vec<i64> = (0..40).map(|i| if i == 39 { 0 } else { i % 7 + 1 }).collect();
    everywhere(&f, &[vector(&x), vector(&[0i64, 9, 30, 39])]);
    recorded(&f, &[vector(&x), vector(&[0i64, 9, 30, 40])]);
}

#[test]
fn tuples_of_segments_need_not_commute() {
    // the composition of x -> a x + b
    let f = lower(["x", "y", "offsets"], "composed", |x: VExp<f32>, y: VExp<f32>, offsets: VExp<i64>| {
        let all = x.zip_with(y, |a, b| complex(a, b));
        all.segmented_scan(offsets, Complex::new(1.0, 0.0), |p, q| complex(p.re * q.re, p.im * q.re + q.im))
    });
    let (x, y, offsets) = (numbers(30), numbers(60), [0i64, 4, 11, 30]);
    let found = everywhere(&f, &[vector(&x), vector(&y[30..]), vector(&offsets)]);
    for pair in offsets.windows(2) {
        let own = pair[0] as usize..pair[1] as usize;
        let alone = |x: VExp<f32>, y: VExp<f32>| (x, y).scan((1.0, 0.0), |(a, b), (c, d)| (a * c, b * c + d));
        let (p, q) = eval(alone, (&x[own.clone()], &y[30..][own.clone()])).expect("it runs");
        for (found, expected) in found.iter().zip([p, q]) {
            let expected: Vec<Lit> = expected.into_iter().map(Lit::f32).collect();
            assert_eq!(literals(found)[own.clone()], expected[..], "{own:?}");
        }
    }
}

#[test]
fn they_stand_outside_of_closures() {
    let inside = |x: VExp<f32>, offsets: VExp<i64>| {
        x.map(|a| (x * a).segmented_scan(offsets, 0.0, |a, b| a + b).sum())
    };
    assert_eq!(refused(["x", "offsets"], inside).code(), Some("E0312"));
}

/// The example of docs/language.md.
#[test]
fn weights_of_rows_are_summed() {
    fn cumulative_weights(weights: VExp<f32>, rows: VExp<i64>) -> VExp<f32> {
        weights.segmented_scan(rows, 0.0, |a, b| a + b)
    }
    let f = lower(["weights", "rows"], "sums", cumulative_weights);
    let found = everywhere(&f, &[vector(&[1.0f32, 2.0, 0.5, 3.0]), vector(&[0i64, 2, 2, 4])]);
    assert_eq!(found, [vector(&[1.0f32, 3.0, 0.5, 3.5])]);
}
