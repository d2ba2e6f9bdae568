//! Error records that no simpler form of the program may lose: those of values that decide nothing, and those of what
//! the call computes once, whoever needs it.

// such expressions are what the tests are about
#![allow(clippy::eq_op, clippy::erasing_op)]

mod common;

use arraygpu_compiler::core::Function;
use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::passes::pipeline;
use arraygpu_dsl::prelude::*;
use common::{everywhere, lower, recorded, scalar, vector};

/// A call leaves a record in the function as it was written, after the passes, and in every version on a simulated
/// GPU.
#[track_caller]
fn leaves(f: &Function, args: &[Value]) -> String {
    let fused = pipeline::run(f, &mut |_, _| ()).expect("the passes work");
    assert!(interp::run(&fused, args).expect("the call works").recorded, "{f}\n{fused}");
    recorded(f, args)
}

/// Forms whose value is the same for all operands.
const SAME: [fn(SExp<i64>) -> SExp<i64>; 8] = [
    |a| a - a,
    |a| lit(0i64) * a,
    |a| a + 1 - a,
    |a| a ^ a,
    |a| a & lit(0i64),
    |a| a | -1,
    |a| cond(a.eq(a), 1, 2),
    |a| cond(a.lt(a), 1, 2),
];

#[test]
fn elements_that_decide_nothing() {
    for of in SAME {
        let f = lower(["x"], ["r"], move |x: VExp<i64>| x.map(|a| 7 / a).map(of));
        assert!(leaves(&f, &[vector(&[3i64, 0])]).starts_with("element 1"));
        everywhere(&f, &[vector(&[3i64, 7])]);
        // the second array has records of its own, too
        let f = lower(["x", "p"], ["r"], move |x: VExp<i64>, p: SExp<i64>| {
            x.map(|a| 7 / a).map(move |a| of(a) + 5 / p)
        });
        assert!(leaves(&f, &[vector(&[3i64, 0]), scalar(1i64)]).starts_with("element 1"));
    }
    let f = lower(["x"], ["r"], |x: VExp<i64>| x.map(|a| 7 / a) * 0);
    leaves(&f, &[vector(&[0i64])]);
    let f = lower(["x"], ["r"], |x: VExp<i32>| x.map(|a| 7 / a).map(|b| b - b).sum());
    leaves(&f, &[vector(&[0i32])]);
}

#[test]
fn values_of_the_call_that_decide_nothing() {
    for of in SAME {
        let f = lower(["x"], ["r"], move |x: VExp<i64>| of(x.map(|a| 7 / a).sum()));
        leaves(&f, &[vector(&[0i64])]);
        let f = lower(["x"], ["r"], move |x: VExp<i64>| {
            let all = x.map(|a| 7 / a).materialize();
            generate(x.len(), move |i| of(all.at(i)))
        });
        leaves(&f, &[vector(&[1i64, 0])]);
    }
}

#[test]
fn operands_of_operators_and_states_that_decide_nothing() {
    for of in SAME {
        let f = lower(["x"], ["r"], move |x: VExp<i64>| x.map(|a| 7 / a).fold(0i64, move |s, a| s + of(a)));
        leaves(&f, &[vector(&[1i64, 0])]);
        let f = lower(["x"], ["r"], move |x: VExp<i64>| {
            x.map(move |a| {
                let step = move |_, (s, t): (SExp<i64>, SExp<i64>)| (7 / s - 7, t + of(s));
                loop_for(a, (lit(1i64), lit(0i64)), step).1
            })
        });
        assert!(leaves(&f, &[vector(&[2i64, 3])]).starts_with("element 0"));
    }
}

/// Indices leave no records: sums of them are simplified as ever.
#[test]
fn indices_that_decide_nothing() {
    let f = lower(["x"], ["r"], |x: VExp<i64>| generate(x.len(), |i| (x.at(i + 1 - 1) / x.at(i)) + (i - i)));
    let fused = pipeline::run(&f, &mut |_, _| ()).expect("the passes work").to_string();
    assert!(!fused.contains(" = at ") && !fused.contains(" = sub "), "{fused}");
}

/// A short reduction is not written into the elements that need it, where it would leave its record for these only.
#[test]
fn short_reductions_of_the_call() {
    let sum = |p: SExp<i64>| generate(3, move |k| 7 / (p + k)).sum();
    let always = lower(["x", "p"], ["r"], move |x: VExp<i64>, p: SExp<i64>| {
        let s = sum(p);
        x.map(move |a| a + s)
    });
    let some = lower(["x", "p"], ["r"], move |x: VExp<i64>, p: SExp<i64>| {
        let s = sum(p);
        x.map(move |a| cond(a.gt(0), s, a))
    });
    let folded = lower(["x", "p"], ["r"], move |x: VExp<i64>, p: SExp<i64>| {
        let s = iota(3).fold(p, |s, k| s + 7 / (s + k));
        x.map(move |a| cond(a.gt(0), s, a))
    });
    for f in [&always, &some] {
        for x in [vector::<i64>(&[]), vector(&[-1i64, -2]), vector(&[3i64])] {
            assert!(leaves(f, &[x.clone(), scalar(-1i64)]).starts_with("element 1"));
            everywhere(f, &[x, scalar(5i64)]);
        }
    }
    leaves(&folded, &[vector(&[-1i64]), scalar(0i64)]);
    // a loop that depends on an element leaves its records for that one only
    let own = lower(["x", "p"], ["r"], move |x: VExp<i64>, p: SExp<i64>| {
        x.map(move |a| cond(a.gt(0), generate(3, move |k| a / (p + k)).sum(), a))
    });
    everywhere(&own, &[vector(&[-1i64]), scalar(0i64)]);
    assert!(leaves(&own, &[vector(&[-1i64, 1]), scalar(0i64)]).starts_with("element 1"));
}

/// The join with the initial value leaves its record for the call as well.
#[test]
fn reductions_in_order() {
    let sum = |x: VExp<i64>, m: SExp<i64>| x.reduce_noncommutative(0, move |a, b| (a + b) % m);
    let always = lower(["x", "y", "m"], ["r"], move |x: VExp<i64>, y: VExp<i64>, m: SExp<i64>| {
        let s = sum(x, m);
        y.map(move |e| e + s)
    });
    let some = lower(["x", "y", "m"], ["r"], move |x: VExp<i64>, y: VExp<i64>, m: SExp<i64>| {
        let s = sum(x, m);
        y.map(move |e| cond(e.gt(0), s, e))
    });
    let begun = lower(["x", "y", "m"], ["r"], move |x: VExp<i64>, y: VExp<i64>, m: SExp<i64>| {
        let s = x.reduce_noncommutative(5 / m, |a, b| a * 3 + b);
        y.map(move |e| cond(e.gt(0), s, e))
    });
    let none = vector::<i64>(&[]);
    for f in [&always, &begun] {
        assert!(leaves(f, &[vector(&[1i64]), none.clone(), scalar(0i64)]).starts_with("element 0"));
    }
    leaves(&some, &[vector(&[1i64]), vector(&[-1i64]), scalar(0i64)]);
    leaves(&begun, &[none.clone(), none.clone(), scalar(0i64)]);
    everywhere(&some, &[none, vector(&[1i64]), scalar(0i64)]);
    everywhere(&begun, &[vector(&[4i64, 5]), vector(&[1i64]), scalar(2i64)]);
    let pairs = lower(["x", "y", "m"], ["r"], move |x: VExp<i64>, y: VExp<i64>, m: SExp<i64>| {
        let join =
            move |(a, n): (SExp<i64>, SExp<i64>), (b, k): (SExp<i64>, SExp<i64>)| ((a + b) % m, n * 3 + k);
        let (s, n) = (x, x).reduce_noncommutative((0, 1), join);
        y.map(move |e| cond(e.gt(0), s, n))
    });
    leaves(&pairs, &[vector(&[1i64]), vector::<i64>(&[]), scalar(0i64)]);
}
