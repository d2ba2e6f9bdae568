//! The conditions of filters, stored or computed again, and their numbers, which are sums of the totals of a scan's
//! tiles: at the edges of tiles (semantics 5.18, 5.22).

mod common;

use arraygpu_dsl::eval;
use arraygpu_dsl::prelude::*;
use common::{everywhere, lower, recorded, vector};

fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919) % 1009) as f32 - 504.0).collect()
}

/// No tile, one that is not complete, complete ones, and one behind two complete ones.
const LENGTHS: [usize; 6] = [0, 1, 8191, 8192, 8193, 16389];

#[test]
fn a_condition_of_one_vector_is_computed_again() {
    let f = |x: VExp<f32>| {
        let kept = x.filter(|v| v.gt(0.0));
        let (parted, _) = x.partition(|v| v.lt(100.0));
        (kept.filled(-1.0), kept.len(), kept.reduce(0.0, |a, b| a + b), parted)
    };
    let lowered = lower(["x"], ["kept", "count", "sum", "parted"], f);
    for n in LENGTHS {
        let x = numbers(n);
        let (kept, count, _, parted) = eval(f, (&x,)).expect("it runs");
        let wanted: Vec<f32> = x.iter().copied().filter(|v| *v > 0.0).collect();
        assert_eq!((&kept[..wanted.len()], count), (&wanted[..], wanted.len() as i64), "{n}");
        assert!(kept[wanted.len()..].iter().all(|v| *v == -1.0), "{n}");
        let (low, high): (Vec<f32>, Vec<f32>) = x.iter().partition(|v| **v < 100.0);
        assert_eq!(parted, [low, high].concat(), "{n}");
        everywhere(&lowered, &[vector(&x)]);
    }
}

#[test]
fn all_elements_and_none_are_kept() {
    let f = |x: VExp<f32>| {
        let [all, none] = [x.filter(|v| v.lt(1e9)), x.filter(|v| v.gt(1e9))];
        (all.filled(0.0), all.len(), none.filled(0.0), none.len())
    };
    let lowered = lower(["x"], ["all", "many", "none", "zero"], f);
    for n in [8192, 8200] {
        let found = everywhere(&lowered, &[vector(&numbers(n))]);
        assert_eq!(found[0], vector(&numbers(n)));
        assert_eq!(found[2], vector(&vec![0.0f32; n]));
    }
}

#[test]
fn other_conditions_are_stored() {
    // of neighbours, and of a vector that is a map
    let f = |x: VExp<f32>| {
        let (values, lengths) = x.map(|v| (v * 0.01).floor()).run_lengths();
        (values.filled(0.0), lengths.filled(0), x.unique().len())
    };
    let lowered = lower(["x"], ["values", "lengths", "count"], f);
    for n in [1, 300, 8193] {
        everywhere(&lowered, &[vector(&numbers(n))]);
    }
}

#[test]
fn a_condition_that_leaves_a_record_leaves_it_once() {
    let f = lower(["x"], "r", |x: VExp<i64>| x.filter(|v| (100 / v).gt(3)).filled(0));
    assert!(recorded(&f, &[vector(&[5i64, 2, 0, 7])]).starts_with("element 2"));
}

#[test]
fn sums_of_integers_that_are_scanned() {
    let f = |x: VExp<i32>| {
        let sum = |x: VExp<i32>| x.scan(7, |a, b| a + b);
        (sum(x * 3), (x * 3).sum(), x.scan_exclusive(0, |a, b| a + b), x.sum())
    };
    let lowered = lower(["x"], ["scan", "sum", "before", "all"], f);
    for n in LENGTHS {
        let x: Vec<i32> = (0..n as i32).map(|i| i.wrapping_mul(0x9E37_79B1u32 as i32)).collect();
        let (scan, sum, before, all) = eval(f, (&x,)).expect("it runs");
        let wanted = x.iter().fold(0i32, |a, b| a.wrapping_add(*b));
        assert_eq!((sum, all), (wanted.wrapping_mul(3), wanted), "{n}");
        if n > 0 {
            assert_eq!(scan[n - 1], wanted.wrapping_mul(3).wrapping_add(7), "{n}");
            assert_eq!(before[n - 1].wrapping_add(x[n - 1]), wanted, "{n}");
        }
        everywhere(&lowered, &[vector(&x)]);
    }
}
