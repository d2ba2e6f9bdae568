//! Filters of vectors (semantics 5.22): everything, nothing, and what is between, everywhere.

mod common;

use arraygpu_compiler::core::interp;
use arraygpu_dsl::eval;
use arraygpu_dsl::prelude::*;
use common::{call, everywhere, lower, recorded, refused, vector};

fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919) % 1009) as f32 * 0.001 - 0.4).collect()
}

#[test]
fn filters_and_partitions_keep_the_order() {
    let f = |x: VExp<f32>, bound: SExp<f32>| {
        let kept = x.filter(|v| v.gt(bound));
        let (parts, split) = x.partition(|v| v.gt(bound));
        (kept.filled(-7.0), kept.len(), kept.indices().filled(-1), parts, split)
    };
    let lowered = lower(["x", "bound"], ["kept", "count", "indices", "parts", "split"], f);
    for n in [0usize, 1, 2, 31, 65, 300] {
        let x = numbers(n);
        for bound in [0.1f32, 9.0, -9.0] {
            let (kept, count, indices, parts, split) = eval(f, (&x, bound)).expect("it runs");
            let (yes, no): (Vec<f32>, Vec<f32>) = x.iter().partition(|v| **v > bound);
            assert_eq!((count, split), (yes.len() as i64, yes.len() as i64));
            assert_eq!(kept, [&yes[..], &vec![-7.0; no.len()]].concat(), "{n} {bound}");
            assert_eq!(parts, [&yes[..], &no[..]].concat(), "{n} {bound}");
            let places = (0..n as i64).filter(|i| x[*i as usize] > bound);
            assert_eq!(indices[..yes.len()], places.collect::<Vec<i64>>());
            if n == 65 || bound == 0.1 {
                everywhere(&lowered, &[vector(&x), common::scalar(bound)]);
            }
        }
    }
}

/// A scalar that leaves a record leaves it for a kept element, whose index is its own.
#[test]
fn records_of_scalars_name_kept_elements() {
    let f = lower(["x", "k"], "r", |x: VExp<i64>, k: SExp<i64>| {
        x.filter(|v| v.gt(0)).map(|v| v * (10 / k)).filled(0)
    });
    let record = recorded(&f, &[vector(&[-1i64, -3, 2]), common::scalar(0i64)]);
    assert!(record.contains("element 0"), "{record}");
    everywhere(&f, &[vector(&[-1i64, -3, 2]), common::scalar(5i64)]);
}

#[test]
fn filters_go_on_from_tile_to_tile() {
    let f = |x: VExp<f32>, bound: SExp<f32>| {
        let (parts, _) = x.partition(|v| v.gt(bound));
        (x.filter(|v| v.gt(bound)).filled(-7.0), parts)
    };
    let lowered = lower(["x", "bound"], ["kept", "parts"], f);
    for n in [8191usize, 8192, 8193, 20_000] {
        let x = numbers(n);
        for bound in [0.1f32, 9.0, -9.0] {
            let (yes, no): (Vec<f32>, Vec<f32>) = x.iter().partition(|v| **v > bound);
            let filled = [&yes[..], &vec![-7.0; no.len()]].concat();
            let wanted = [vector(&filled), vector(&[yes, no].concat())];
            assert_eq!(call(&lowered, &[vector(&x), common::scalar(bound)]), wanted, "{n} {bound}");
        }
    }
    everywhere(&lowered, &[vector(&numbers(8193)), common::scalar(0.1f32)]);
}

#[test]
fn a_reduction_has_the_bits_of_what_is_kept() {
    let f = |x: VExp<f32>| x.filter(|v| v.gt(-0.3)).map(|v| v * 1.7).reduce(0.25, |a, b| a + b);
    let lowered = lower(["x"], "sum", f);
    // around the edges of columns, and of tiles
    for n in [0, 1, 127, 129, 300, 2100, 5000] {
        let x = numbers(n);
        let kept: Vec<f32> = x.iter().filter(|v| **v > -0.3).map(|v| v * 1.7).collect();
        let alone = eval(|x: VExp<f32>| x.reduce(0.25, |a, b| a + b), (&kept,)).expect("it runs");
        assert_eq!(eval(f, (&x,)).expect("it runs").to_bits(), alone.to_bits(), "{n}");
    }
    everywhere(&lowered, &[vector(&numbers(300))]);
    call(&lowered, &[vector(&numbers(2100))]);
    let zeros = eval(|x: VExp<f32>| x.filter(|v| v.le(0.0)).reduce(-0.0, |a, b| a + b), (&[-0.0f32, 1.0],));
    assert!(zeros.expect("it runs").is_sign_negative());
}

#[test]
fn runs_begin_where_elements_differ() {
    let f = |x: VExp<f32>| {
        let (values, lengths) = x.run_lengths();
        (x.unique().filled(-7.0), values.filled(-7.0), lengths.filled(0), lengths.len())
    };
    let lowered = lower(["x"], ["unique", "values", "lengths", "count"], f);
    for n in [0, 1, 2, 64, 200] {
        let x: Vec<f32> = (0..n).map(|i| ((i * i / 40) % 3) as f32).collect();
        let (unique, values, lengths, count) = eval(f, (&x,)).expect("it runs");
        assert_eq!(unique, values);
        let decoded: Vec<f32> =
            values.iter().zip(&lengths).flat_map(|(v, n)| vec![*v; *n as usize]).collect();
        assert_eq!(decoded, x, "{n}");
        let count = count as usize;
        assert!(values[..count].windows(2).all(|w| w[0] != w[1]));
        assert!(lengths[..count].iter().all(|n| *n > 0) && lengths[count..].iter().all(|n| *n == 0));
    }
    let x = [0.0f32, -0.0, f32::NAN, f32::NAN, 1.0, 1.0, 1.0];
    assert_eq!(eval(f, (&x,)).expect("it runs").2, [2, 1, 1, 3, 0, 0, 0]);
    everywhere(&lowered, &[vector(&x)]);
    everywhere(&lowered, &[vector::<f32>(&[])]);
}

#[test]
fn what_is_left_out_leaves_no_record() {
    let f = |x: VExp<i32>| {
        let others = x.filter(|v| v.ne(0)).map(|v| 60 / v);
        (others.filled(0), others.reduce(0, |a, b| a + b))
    };
    let f = lower(["x"], ["quotients", "sum"], f);
    everywhere(&f, &[vector(&[3i32, 0, 4, 0, 0, 5])]);
    let f = lower(["x"], "kept", |x: VExp<i32>| x.filter(|v| (60 / v).gt(12)).filled(0));
    let record = recorded(&f, &[vector(&[3i32, 9, 0, 4])]);
    assert!(record.starts_with("element 2: "), "{record}");
    assert!(!interp::run(&f, &[vector(&[3i32, 9])]).expect("it runs").recorded);
}

#[test]
fn records_are_filtered_whole() {
    let f = |z: VExp<Complex<f32>>| {
        let kept = z.filter(|z| z.re.gt(z.im));
        (kept.filled(complex(0.0, 0.0)), kept.map(|z| z.re).reduce(0.0, |a, b| a.max(b)))
    };
    let f = lower(["z"], ["kept", "greatest"], f);
    everywhere(&f, &[vector(&numbers(70)), vector(&numbers(90)[20..])]);
}

#[test]
fn filters_stand_outside_of_closures_and_in_steps() {
    let inside = |x: VExp<f32>, y: VExp<f32>| x.map(|a| y.filter(|b| b.gt(a)).reduce(0.0, |a, b| a + b));
    let error = refused(["x", "y"], inside).to_string();
    assert!(error.contains("filters.rs") && error.contains(" filter inside of a closure"), "{error}");
    // each step moves what is above the mean to the front
    let f = lower(["x"], "sorted", |x: VExp<f32>| {
        iterate(3, x, |x: VExp<f32>| {
            let mean = x.mean();
            x.partition(|v| v.gt(mean)).0
        })
    });
    everywhere(&f, &[vector(&numbers(50))]);
}
