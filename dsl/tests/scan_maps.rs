//! Maps behind scans, which the launch that scans tiles computes (semantics 5.18): with the scan stored and without,
//! of several scans, and what must stay behind it.

mod common;

use arraygpu_dsl::eval;
use arraygpu_dsl::prelude::*;
use common::{everywhere, lower, vector};

fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919) % 1009) as f32 * 0.001 - 0.4).collect()
}

fn sums(x: VExp<f32>) -> VExp<f32> {
    x.scan(0.0, |a, b| a + b)
}

/// The largest length that the simulator takes here has two tiles, the last of which is not complete.
const LENGTHS: [usize; 6] = [0, 1, 4, 129, 8192, 8195];

#[test]
fn a_map_has_the_bits_of_one_of_the_stored_scan() {
    let f = |x: VExp<f32>, y: VExp<f32>| {
        let s = sums(x);
        (s * 0.5 + y, s, (s / y).map(|v| cond(v.lt(1.0), v, 1.0)))
    };
    let stored = |x: VExp<f32>, y: VExp<f32>| {
        let s = sums(x).materialize();
        (s * 0.5 + y, s, (s / y).map(|v| cond(v.lt(1.0), v, 1.0)))
    };
    let lowered = lower(["x", "y"], ["a", "s", "b"], f);
    for n in LENGTHS {
        let (x, y) = (numbers(n), numbers(n + 3)[3..].to_vec());
        let found = eval(f, (&x, &y)).expect("it runs");
        assert_eq!(found, eval(stored, (&x, &y)).expect("it runs"), "{n}");
        for (i, (y, sum)) in y.iter().zip(&found.1).enumerate() {
            assert_eq!(found.0[i].to_bits(), (sum * 0.5 + y).to_bits(), "{i} of {n}");
        }
        everywhere(&lowered, &[vector(&x), vector(&y)]);
    }
}

#[test]
fn maps_of_tuples_indices_and_halves() {
    let f = |a: VExp<f64>, b: VExp<f64>| {
        let (p, q) = (a, b).scan((1.0, 0.0), |(a, b), (c, d)| (a * c, b * c + d));
        (p + q, generate(a.len(), |i| q.at(i) * i.cast::<f64>()))
    };
    let a: Vec<f64> = (0..300).map(|i| f64::from(i % 7) * 0.25 - 0.5).collect();
    let b: Vec<f64> = (0..300).map(|i| f64::from(i % 3) - 1.0).collect();
    everywhere(&lower(["a", "b"], ["sum", "by_index"], f), &[vector(&a), vector(&b)]);
    let half = |x: VExp<f16>| x.scan(f16::from_f32(0.5), |a, b| a + b) * lit(f16::from_f32(3.0));
    let x: Vec<f16> = (0..200).map(|i| f16::from_f32(i as f32 * 0.25)).collect();
    everywhere(&lower(["x"], "r", half), &[vector(&x)]);
    let bytes = |x: VExp<u8>| x.scan(3u8, |a, b| a + b).map(|v| v.gt(100));
    let x: Vec<u8> = (0..200u32).map(|i| (i * 77) as u8).collect();
    everywhere(&lower(["x"], "r", bytes), &[vector(&x)]);
}

#[test]
fn what_follows_from_the_scan_in_another_way_stays_behind_it() {
    let f = |x: VExp<f32>| {
        let s = sums(x);
        let steps = s.slice(1, x.len()) - s.slice(0, x.len() - 1);
        let twice = sums(s * 0.25);
        (s / s.max(), s + s.reverse(), steps, twice * 2.0 + s, s + sums(x * x))
    };
    let lowered = lower(["x"], ["part", "both", "steps", "twice", "two"], f);
    for n in [1, 200, 8200] {
        everywhere(&lowered, &[vector(&numbers(n))]);
    }
}

#[test]
fn maps_in_steps_of_iterations() {
    let f = |x: VExp<f32>| {
        let (a, _) = iterate(3, (x, x), |(a, b)| {
            let s = sums(a) * 0.125;
            (s + b, s - b)
        });
        a
    };
    everywhere(&lower(["x"], "r", f), &[vector(&numbers(200))]);
}
