//! Reductions of runs of equal keys (semantics 5.22): with the bits of each run alone, and of every other way to
//! reduce the same elements.

mod common;

use arraygpu_compiler::core::interp;
use arraygpu_dsl::eval;
use arraygpu_dsl::prelude::*;
use common::{call, everywhere, lower, recorded, refused, rules, vector};

fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919) % 1009) as f32 * 0.001 - 0.4).collect()
}

/// The reduction of some numbers in the order of semantics 5.1, behind an initial value.
fn sum_of(v: &[f32], init: f32) -> f32 {
    eval(|x: VExp<f32>, init: SExp<f32>| x.reduce(init, |a, b| a + b), (v, init)).expect("it runs")
}

/// Runs of these lengths, whose keys are 0, 1, 2, 0 ..
fn keys(lengths: &[usize]) -> Vec<i32> {
    (0..).zip(lengths).flat_map(|(k, n)| std::iter::repeat_n(k % 3, *n)).collect()
}

fn sums(keys: VExp<i32>, x: VExp<f32>) -> (VExp<i32>, VExp<f32>, SExp<i64>) {
    let (keys, sums) = keys.reduce_by_key(x, 0.25, |a, b| a + b);
    (keys.filled(-1), sums.filled(-9.0), sums.len())
}

#[test]
fn runs_have_the_bits_of_their_own_reduction() {
    // around the edges of columns, rows of columns and tiles; long runs among short ones
    let lengths = [1, 1, 2, 127, 128, 129, 1, 300, 2047, 2048, 2049, 1, 6000, 3, 1, 1];
    for lengths in [&lengths[..], &[4500], &[1; 60], &[]] {
        let own = keys(lengths);
        let x = numbers(own.len());
        let (found, reduced, count) = eval(sums, (&own, &x)).expect("it runs");
        assert_eq!(count, lengths.len() as i64);
        let mut end = 0;
        for (k, n) in lengths.iter().enumerate() {
            let part = &x[end..end + n];
            assert_eq!(found[k], own[end], "{k}");
            assert_eq!(reduced[k].to_bits(), sum_of(part, 0.25).to_bits(), "{n} elements");
            end += n;
        }
        assert!(reduced[lengths.len()..].iter().all(|v| *v == -9.0));
        assert!(found[lengths.len()..].iter().all(|k| *k == -1));
    }
}

#[test]
fn runs_are_the_same_everywhere() {
    let f = lower(["keys", "x"], ["names", "sums", "count"], sums);
    for lengths in [&[][..], &[1], &[3], &[1, 1, 1], &[2, 40, 1, 130, 1, 1, 9]] {
        let own = keys(lengths);
        everywhere(&f, &[vector(&own), vector(&numbers(own.len()))]);
    }
    // a run of several tiles between others
    let own = keys(&[3, 2500, 1, 2]);
    call(&f, &[vector(&own), vector(&numbers(own.len()))]);
    let rules = rules(&f);
    assert_eq!(rules, ["same reduce_by_key: keys, x"]);
    interp::run(&f, &[vector(&own), vector(&[1.0f32])]).expect_err("two lengths");
}

/// A run's length is data, and a run that is read by itself is the only one that is asked for: its loop is not one of
/// the whole function.
#[test]
fn one_run_is_read() {
    let first = |keys: VExp<i32>, x: VExp<f32>| {
        let (_, sums) = keys.reduce_by_key(x, 0.25, |a, b| a + b);
        let sums = sums.filled(-9.0);
        (sums.at(0), sums.at(1) * 2.0)
    };
    let f = lower(["keys", "x"], ["first", "second"], first);
    for lengths in [&[3, 1][..], &[1, 1, 1], &[2, 40, 1, 130, 1, 1, 9], &[40]] {
        let own = keys(lengths);
        everywhere(&f, &[vector(&own), vector(&numbers(own.len()))]);
    }
    let f = lower(["x", "offsets"], ["second"], |x: VExp<f32>, offsets: VExp<i64>| {
        x.segmented_reduce(offsets, 0.0, |a, b| a + b).at(1)
    });
    everywhere(&f, &[vector(&numbers(100)), vector(&[0i64, 3, 90, 100])]);
}

#[test]
fn all_ways_to_reduce_groups_have_the_same_bits() {
    let f = |keys: VExp<i64>, x: VExp<f32>, n: SExp<i64>| {
        let of_groups = x.scatter_reduce(n, keys, 0.5, |a, b| a + b);
        let (sorted, moved) = keys.sort_by_key(x);
        let (names, by_key) = sorted.reduce_by_key(moved, 0.5, |a, b| a + b);
        // each run's sum at its key
        let by_key = by_key.filled(0.0).scatter(n, names.filled(-1).ignored(), 0.5);
        let counts = keys.histogram(n).scan(0, |a, b| a + b);
        let offsets = generate(n + 1, |k| cond(k.gt(0), counts.at((k - 1).max(0)), 0));
        (of_groups, by_key, moved.segmented_reduce(offsets, 0.5, |a, b| a + b))
    };
    for (n, groups) in [(0usize, 1i64), (7, 9), (300, 11), (6000, 2)] {
        let x = numbers(n);
        let keys: Vec<i64> = (0..n as i64).map(|i| (i * i + 3 * i) % 101 % groups).collect();
        let (of_groups, by_key, of_segments) = eval(f, (&keys, &x, groups)).expect("it runs");
        for k in 0..groups {
            let own: Vec<f32> = x.iter().zip(&keys).filter(|(_, key)| **key == k).map(|(x, _)| *x).collect();
            let bits = [&of_groups, &by_key, &of_segments].map(|all| all[k as usize].to_bits());
            assert_eq!(bits, [sum_of(&own, 0.5).to_bits(); 3], "group {k} of {n} elements");
        }
    }
}

#[test]
fn keys_are_equal_as_numbers_are() {
    let keys = [0.0f32, -0.0, f32::NAN, f32::NAN, 1.0, 1.0, 0.0];
    let f = |keys: VExp<f32>, x: VExp<i64>| {
        let (keys, sums) = keys.reduce_by_key(x, 0, |a, b| a + b);
        let (_, counts) = keys.run_lengths();
        (sums.filled(-1), keys.zip_with(sums, |k, s| cond(k.gt(0.5), s, 0)).filled(-1), counts.len())
    };
    let (sums, chosen, counts) = eval(f, (&keys, &[1i64, 2, 4, 8, 16, 32, 64])).expect("it runs");
    assert_eq!(sums, [3, 4, 8, 48, 64, -1, -1]);
    assert_eq!(chosen, [0, 0, 0, 48, 0, -1, -1]);
    assert_eq!(counts, 5, "runs of the keys of runs");
    let truths = |keys: VExp<bool>, x: VExp<i64>| keys.reduce_by_key(x, 1, |a, b| a * b).1.filled(0);
    assert_eq!(eval(truths, (&[true, true, false], &[2i64, 3, 5])).expect("it runs"), [6, 5, 0]);
}

#[test]
fn records_are_reduced_by_key() {
    let f = |keys: VExp<u8>, z: VExp<Complex<f64>>| {
        let (keys, products) = keys.reduce_by_key(z, Complex::new(1.0, 0.0), |a, b| a * b);
        (products.filled(Complex::new(0.0, 0.0)), keys.filled(9))
    };
    let f = lower(["keys", "z"], ["products", "names"], f);
    let (re, im) = (vector(&[1.0f64, 2.0, 0.0]), vector(&[1.0f64, 0.0, 3.0]));
    let found = everywhere(&f, &[vector(&[4u8, 4, 5]), re, im]);
    assert_eq!(found, [vector(&[2.0f64, 0.0, 0.0]), vector(&[2.0f64, 3.0, 0.0]), vector(&[4u8, 5, 9])]);
}

#[test]
fn kept_keys_are_reduced_with_what_their_filter_keeps() {
    let f = |keys: VExp<i64>, x: VExp<f32>| {
        let kept = keys.filter(|k| (k & 3).ne(1));
        let values = kept.indices().map(|i| x.at(i));
        let (runs, sums) = kept.map(|k| k >> 2).reduce_by_key(values, 0.0, |a, b| a + b);
        (runs.filled(-1), sums.filled(-9.0), sums.indices().filled(-1))
    };
    let lowered = lower(["keys", "x"], ["runs", "sums", "begins"], f);
    for n in [0usize, 1, 2, 60, 400] {
        let keys: Vec<i64> = (0..n as i64).map(|i| (i * i) % 7 + i / 20).collect();
        let x = numbers(n);
        let mut runs: Vec<(i64, Vec<f32>, i64)> = Vec::new();
        for (i, (k, v)) in keys.iter().zip(&x).enumerate().filter(|(_, (k, _))| **k & 3 != 1) {
            match runs.last_mut() {
                Some(run) if run.0 == k >> 2 => run.1.push(*v),
                _ => runs.push((k >> 2, vec![*v], i as i64)),
            }
        }
        let (found, sums, begins) = eval(f, (&keys, &x)).expect("it runs");
        for (k, run) in runs.iter().enumerate() {
            assert_eq!((found[k], begins[k]), (run.0, run.2), "{n}");
            assert_eq!(sums[k].to_bits(), sum_of(&run.1, 0.0).to_bits(), "{n}");
        }
        assert!(found[runs.len()..].iter().all(|k| *k == -1));
        if n <= 60 {
            everywhere(&lowered, &[vector(&keys), vector(&x)]);
        }
    }
    let two = |keys: VExp<i64>, x: VExp<f32>| {
        let values = x.filter(|v| v.gt(0.0));
        keys.filter(|k| k.gt(0)).reduce_by_key(values, 0.0, |a, b| a + b).1.filled(0.0)
    };
    let error = refused(["keys", "x"], two);
    assert_eq!(error.code(), Some("E0212"));
    assert!(error.to_string().contains("reduce_by_key: these elements are kept by two filters"), "{error}");
}

#[test]
fn groups_that_occur_have_means() {
    let f = |group: VExp<u32>, x: VExp<f32>| {
        let (sorted, x) = group.sort_by_key(x);
        let pairs = x.map(|v| complex(v, lit(1.0)));
        let (groups, both) = sorted.reduce_by_key(pairs, Complex::new(0.0, 0.0), |a, b| a + b);
        (groups.filled(0), both.map(|b| b.re / b.im).filled(0.0))
    };
    let x = [1.0f32, 2.0, 3.0, 4.0, 6.0];
    let (groups, means) = eval(f, (&[3u32, 1, 3, 2, 1], &x)).expect("it runs");
    assert_eq!(groups, [1, 2, 3, 0, 0]);
    assert_eq!(means, [4.0, 4.0, 2.0, 0.0, 0.0]);
}

#[test]
fn runs_are_reduced_beside_everything_else() {
    // the means of runs, in the steps of an iteration: each step joins runs of equal rounded means
    let f = |x: VExp<f32>| {
        let step = |x: VExp<f32>| {
            let keys = x.map(|v| (v * 4.0).floor());
            let (_, sums) = keys.reduce_by_key(x, 0.0, |a, b| a + b);
            let (_, counts) = keys.run_lengths();
            let means = sums.filled(0.0).zip_with(counts.filled(1), |s, n| s / n.cast());
            means.scan(0.0, |a, b| a.max(b))
        };
        let least = x.iterate(2, step);
        (least, least.sort().sum())
    };
    let f = lower(["x"], ["least", "sum"], f);
    for n in [0, 1, 40] {
        everywhere(&f, &[vector(&numbers(n))]);
    }
    // an operator that divides leaves its record where a run needs it
    let f = lower(["keys", "x"], "quotients", |keys: VExp<i64>, x: VExp<i64>| {
        keys.reduce_by_key(x, 5, |a, b| a + 60 / b).1.filled(0)
    });
    let keys = vector(&[1i64, 1, 2, 2]);
    assert_eq!(everywhere(&f, &[keys.clone(), vector(&[1i64, 2, 3, 4])])[0], vector(&[6i64, 8, 0, 0]));
    recorded(&f, &[keys, vector(&[1i64, 2, 0, 0])]);
    // a reduction by key mentions no variable of a closure
    let inside = |x: VExp<f32>| x.map(|a| (x * a).reduce_by_key(x, 0.0, |a, b| a + b).1.filled(0.0).sum());
    assert_eq!(refused(["x"], inside).code(), Some("E0312"));
}
