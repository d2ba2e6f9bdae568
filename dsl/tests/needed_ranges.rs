//! Nested reductions whose elements a condition on their index leaves (`schedule/facts/needed_range.rs`): loops over
//! the others do not run, and every bit is that of the interpreter, which joins them.

mod common;

use arraygpu_dsl::prelude::*;
use common::{everywhere, lower, scalar, vector};

/// Lengths around rows of 128 columns and tiles of 2048 elements.
const LENGTHS: [usize; 4] = [0, 129, 2048, 4200];

fn floats(n: usize) -> Vec<f32> {
    let special = [f32::NAN, f32::INFINITY, -0.0, 0.0, -1.5];
    let value =
        |i: usize| if i % 701 == 700 { special[i / 701 % 5] } else { (i * 7919 % 1000) as f32 / 8.0 - 60.0 };
    (0..n).map(value).collect()
}

/// A few elements, so that each looks through a long sequence.
fn places(n: usize) -> Vec<i64> {
    let n = n as i64;
    vec![-3, 0, 1, 127, 2047, 2048, n / 2, n - 1, n, n + 5, i64::MIN, i64::MAX, i64::MAX - 2]
}

#[test]
fn sums_up_to_an_index_and_behind_it() {
    let f = |x: VExp<f32>, at: VExp<i64>| {
        let n = x.len();
        let until = generate(at.len(), |i| generate(n, |k| cond(k.le(at.at(i)), x.at(k), 0.0)).sum());
        let before = generate(at.len(), |i| generate(n, |k| cond(at.at(i).gt(k), x.at(k), 0.0)).sum());
        let behind = generate(at.len(), |i| generate(n, |k| cond(k.le(at.at(i)), 0.0, x.at(k))).sum());
        let least = generate(at.len(), |i| {
            let inside = k_between(at.at(i));
            generate(n, |k| cond(inside(k), x.at(k), f32::INFINITY)).min()
        });
        (until, before, behind, least)
    };
    let lowered = lower(["x", "at"], ["until", "before", "behind", "least"], f);
    for n in LENGTHS {
        everywhere(&lowered, &[vector(&floats(n)), vector(&places(n))]);
    }
}

/// Whether an index is at most 5 from a place, by sums that may wrap around.
fn k_between(at: SExp<i64>) -> impl Fn(SExp<i64>) -> SExp<bool> {
    move |k| (k - 5).le(at) & (k + 5).ge(at)
}

#[test]
fn zeros_that_are_no_identity_are_joined() {
    // of -0 and 0 the sum is 0, and of -0 alone it is -0 where the initial value is -0
    let f = |x: VExp<f32>, at: VExp<i64>| {
        let n = x.len();
        let terms = |i: SExp<i64>| generate(n, |k| cond(k.lt(at.at(i)), x.at(k), 0.0));
        let negative = generate(at.len(), |i| terms(i).reduce(-0.0, |a, b| a + b));
        let positive = generate(at.len(), |i| terms(i).reduce(0.0, |a, b| a + b));
        let exact = generate(at.len(), |i| {
            generate(n, |k| cond(k.lt(at.at(i)), x.at(k), -0.0)).reduce(-0.0, |a, b| a + b)
        });
        (negative, positive, exact)
    };
    let lowered = lower(["x", "at"], ["negative", "positive", "exact"], f);
    for n in LENGTHS {
        everywhere(&lowered, &[vector(&vec![-0.0f32; n]), vector(&places(n))]);
    }
}

#[test]
fn lags_bands_and_choices_of_every_type() {
    let f = |x: VExp<f64>, y: VExp<i32>, at: VExp<i64>, lag: SExp<i64>| {
        let (n, last) = (x.len(), x.len() - 1);
        let lagged = generate(at.len(), |i| {
            let shift = at.at(i) % 64 + lag;
            let inside = |k: SExp<i64>| (k + shift).lt(n) & (k + shift).ge(0);
            generate(n, |k| cond(inside(k), x.at(k) * x.at((k + shift).max(0).min(last)), 0.0)).sum()
        });
        let counted =
            generate(at.len(), |i| generate(n, |k| (k.lt(at.at(i)) & y.at(k).gt(3)).cast::<i64>()).sum());
        let chosen = generate(at.len(), |i| generate(n, |k| cond(k.eq(at.at(i)), y.at(k), 0)).sum());
        let product = generate(at.len(), |i| {
            generate(n, |k| cond(k.gt(at.at(i)), cond(k.lt(at.at(i) + 9), y.at(k), 1), 1)).product()
        });
        let greatest = generate(at.len(), |i| generate(n, |k| cond(k.ge(at.at(i)), y.at(k), i32::MIN)).max());
        let any = generate(at.len(), |i| generate(n, |k| k.ge(at.at(i)) & y.at(k).eq(7)).any());
        (lagged, counted, chosen, product, greatest, any)
    };
    let results = ["lagged", "counted", "chosen", "product", "greatest", "any"];
    let lowered = lower(["x", "y", "at", "lag"], results, f);
    for n in LENGTHS {
        let x: Vec<f64> = floats(n).into_iter().map(f64::from).collect();
        let y: Vec<i32> = (0..n).map(|i| (i * 31 % 17) as i32 - 4).collect();
        for lag in [0i64, -2000] {
            everywhere(&lowered, &[vector(&x), vector(&y), vector(&places(n)), scalar(lag)]);
        }
    }
}

#[test]
fn every_pair_of_a_long_vector_by_tiles() {
    let f = |x: VExp<f32>| {
        let n = x.len();
        let sums = generate(n, |i| generate(n, |k| cond(k.le(i), x.at(k), 0.0)).sum());
        let greater = generate(n, |i| generate(n, |k| (k.gt(i) & x.at(k).gt(x.at(i))).cast::<i64>()).sum());
        let last = generate(n, |i| generate(n, |k| cond(k.lt(i), x.at(k), 0.0)).fold(0.0, |a, b| b - a));
        (sums, greater, last)
    };
    let lowered = lower(["x"], ["sums", "greater", "last"], f);
    for n in [1, 300, 2100] {
        everywhere(&lowered, &[vector(&floats(n))]);
    }
}

#[test]
fn multiples_of_the_index() {
    let f = |x: VExp<i64>, at: VExp<i64>| {
        let n = x.len();
        let chosen = |condition: fn(SExp<i64>, SExp<i64>) -> SExp<bool>| {
            generate(at.len(), |i| generate(n, |k| cond(condition(k, at.at(i)), x.at(k), 0)).sum())
        };
        let below = (chosen(|k, at| (k * 3).lt(at)), chosen(|k, at| (k * 7).le(at)));
        let above =
            (chosen(|k, at| (k * 3).gt(at)), chosen(|k, at| (5 * k).ge(at)), chosen(|k, at| (k * 2).eq(at)));
        let wrapped = chosen(|k, at| (k * (i64::MAX / 2)).lt(at));
        (below.0, below.1, above.0, above.1, above.2, wrapped)
    };
    let results = ["lt", "le", "gt", "ge", "eq", "wrapped"];
    let lowered = lower(["x", "at"], results, f);
    for n in LENGTHS {
        let x: Vec<i64> = (0..n as i64).map(|i| i * i - 77).collect();
        everywhere(&lowered, &[vector(&x), vector(&places(n))]);
    }
}
