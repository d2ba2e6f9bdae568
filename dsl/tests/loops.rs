//! Loops inside of an element.

mod common;

use arraygpu_compiler::driver::{self, Targets};
use arraygpu_compiler::kernel::interp::Order;
use arraygpu_dsl::{eval, example::*, prelude::*};
use arraygpu_suite::gpu;
use common::{everywhere, lower};

fn gcd(a: SExp<i64>, b: SExp<i64>) -> SExp<i64> {
    loop_while((a, b), |(_, b)| b.ne(0), |(a, b)| (b, a % b)).0
}

/// The step at which z = z^2 + c leaves the circle of radius 2, at most `most`.
fn escape(most: SExp<i64>, cx: SExp<f32>, cy: SExp<f32>) -> SExp<i64> {
    let inside = |((x, y), k): ((SExp<f32>, SExp<f32>), SExp<i64>)| (x * x + y * y).le(4.0) & k.lt(most);
    loop_while_at_most(most, ((0.0f32, 0.0f32), 0i64), inside, |((x, y), k)| {
        ((x * x - y * y + cx, 2 * x * y + cy), k + 1)
    })
    .1
}

#[test]
fn elements_decide_when_their_loops_end() {
    let f = |a: VExp<i64>, b: VExp<i64>| a.zip_with(b, gcd);
    let args = [vector(&[48i64, 7, 0, 100]), vector(&[36i64, 13, 5, 0])];
    assert_eq!(call(f, args), [vector(&[12i64, 1, 5, 100])]);
}

#[test]
fn states_are_nested_tuples() {
    let f = |x: VExp<f32>, y: VExp<f32>, most: SExp<i64>| x.zip_with(y, |x, y| escape(most, x, y));
    let args = [vector(&[0.0f32, 2.0, 1.0]), vector(&[0.0f32, 2.0, 0.0]), scalar(50i64)];
    assert_eq!(call(f, args), [vector(&[50i64, 1, 3])]);
}

#[test]
fn a_number_of_steps_may_be_data() {
    let f = |n: VExp<i64>| n.map(|n| loop_for(n, 1i64, |i, p| p * (i + 1)));
    assert_eq!(call(f, [vector(&[5i64, 0, -3, 1])]), [vector(&[120i64, 1, 1, 1])]);
}

#[test]
fn loops_read_arrays_and_nest() {
    // the number of elements below v, in a sorted vector
    let below = |x: VExp<f32>, v: SExp<f32>| {
        let step = |(lo, hi): (SExp<i64>, SExp<i64>)| {
            slet((lo + hi) / 2, |m| slet(x.at(m).lt(v), |c| (cond(c, m + 1, lo), cond(c, hi, m))))
        };
        loop_while((0i64, x.len()), |(lo, hi)| lo.lt(hi), step).0
    };
    let f = |x: VExp<f32>, v: VExp<f32>| v.map(|v| below(x, v));
    let args = [vector(&[1.0f32, 2.0, 2.0, 5.0]), vector(&[0.0f32, 2.0, 3.0, 9.0])];
    assert_eq!(call(f, args), [vector(&[0i64, 1, 3, 4])]);
    let nested = |n: VExp<i64>| n.map(|n| loop_for(n, 0i64, |i, s| s + loop_for(i, 0i64, |j, t| t + j + n)));
    assert_eq!(call(nested, [vector(&[3i64])]), [vector(&[10i64])]);
}

/// What a newcomer reads of a loop that does not end: the line of the loop, and that it is its limit.
#[test]
fn a_loop_that_does_not_end_says_so() {
    let said = |f: fn(VExp<f32>) -> VExp<f32>| {
        let error = eval(f, ([1.0, 100.0],)).expect_err("it does not end");
        assert_eq!(error.code(), Some("E0211"));
        error.to_string()
    };
    let line = line!() + 1;
    let few = said(|x| x.map(|x| loop_while_at_most(3, x, |x| x.gt(1.0), |x| x * 0.5)));
    let endless = said(|x| x.map(|x| loop_while(x, |x| x.gt(1.0), |x| x)));
    let steps = said(|x| iterate_while(2, x, |x| x.sum().gt(0.0), |x| x).check_every(1).0);
    let of_element = "a loop takes more steps than its limit";
    let of_arrays = "the condition of an iteration still holds at its limit of steps";
    for (i, (text, words)) in
        [(few, of_element), (endless, of_element), (steps, of_arrays)].into_iter().enumerate()
    {
        assert!(text.contains(words), "{text}");
        assert!(text.contains(&format!("dsl/tests/loops.rs:{}:", line as usize + i)), "{text}");
    }
}

/// A state that begins below zero takes as many steps as it takes: the limit is not proven to hold.
#[test]
fn states_that_begin_below_zero_have_limits() {
    let counted = |x: VExp<i32>| x.map(|x| x + loop_while_at_most(5, -5i32, |s| s.lt(10), |s| s + 1));
    let f = lower(["x"], "r", counted);
    let targets = Targets { cpu: false, cuda: true };
    let compiled = driver::compile_for("t", vec![f], targets).expect("it compiles");
    let how = gpu::How { layout: gpu::Layout::Contiguous, version: None, span: 1, order: Order::Ascending };
    let found = gpu::call(&compiled, 0, &[vector(&[7i32])], how).expect("it runs");
    assert!(found.record.is_some());
    assert_eq!(found.results, [vector(&[7i32])]);
    let enough = |x: VExp<i32>| x.map(|x| x + loop_while_at_most(15, -5i32, |s| s.lt(10), |s| s + 1));
    assert_eq!(everywhere(&lower(["x"], "r", enough), &[vector(&[7i32])]), [vector(&[17i32])]);
}

/// No loop takes more steps than the greatest limit.
#[test]
fn the_greatest_limit_is_none() {
    let constant = |x: VExp<f32>| x.map(|x| loop_while_at_most(i64::MAX, x, |x| x.gt(1.0), |x| x * 0.5));
    let given = |x: VExp<f32>, n: SExp<i64>| x.map(|x| loop_while_at_most(n, x, |x| x.gt(1.0), |x| x * 0.5));
    let (x, halved) = (vector(&[8.0f32, 0.5, 3.0]), [vector(&[1.0f32, 0.5, 0.75])]);
    assert_eq!(everywhere(&lower(["x"], "r", constant), std::slice::from_ref(&x)), halved);
    assert_eq!(everywhere(&lower(["x", "n"], "r", given), &[x, scalar(i64::MAX)]), halved);
}

/// Sixteen numbers of an element go around in a loop, in both forms, and come out as sixteen results.
#[test]
fn sixteen_states() {
    let names: [String; 16] = std::array::from_fn(|i| format!("r{i}"));
    let turned = |x: VExp<i64>, k: SExp<i64>| -> [VExp<i64>; 16] {
        let numbers = |x: SExp<i64>| std::array::from_fn::<_, 16, _>(|i| x * (i as i64 + 1));
        let next = |s: [SExp<i64>; 16]| std::array::from_fn(|i| s[(i + 1) % 16] - s[i]);
        let all: [VExp<i64>; 16] = x.map(|x| loop_for(k, numbers(x), |_, s| next(s)));
        all
    };
    let f = lower(["x", "turns"], names, turned);
    let mut all: [[i64; 3]; 16] = std::array::from_fn(|i| [1, -2, 5].map(|x| x * (i as i64 + 1)));
    for _ in 0..3 {
        all = std::array::from_fn(|i| [0, 1, 2].map(|e| all[(i + 1) % 16][e] - all[i][e]));
    }
    let found = everywhere(&f, &[vector(&[1i64, -2, 5]), scalar(3i64)]);
    assert_eq!(found, all.map(|s| vector(&s)));
    // the same as a tuple of tuples
    let nested = |x: VExp<i64>, k: SExp<i64>| {
        x.map(|x| {
            let four = |i: i64| (x * i, x * (i + 1), x * (i + 2), x * (i + 3));
            let (a, b, c, d) = loop_for(k, (four(1), four(5), four(9), four(13)), |_, (a, b, c, d)| {
                type Four = (SExp<i64>, SExp<i64>, SExp<i64>, SExp<i64>);
                let next = |a: Four, b: Four| (a.1 - a.0, a.2 - a.1, a.3 - a.2, b.0 - a.3);
                (next(a, b), next(b, c), next(c, d), next(d, a))
            });
            a.0 + b.1 + c.2 + d.3
        })
    };
    let found = everywhere(&lower(["x", "k"], "r", nested), &[vector(&[1i64, -2, 5]), scalar(3i64)]);
    let sums = [0, 1, 2].map(|e| all[0][e] + all[5][e] + all[10][e] + all[15][e]);
    assert_eq!(found, [vector(&sums)]);
}

/// What a loop needs from outside has its rare arm, too, where the code around the loop is a fast path without it:
/// the large argument of `exp` is seen by no test of `sin`'s.
#[test]
fn rare_arguments_of_loops() {
    let numbers = |n: usize, large: usize| {
        let mut x: Vec<f32> = (0..n).map(|i| (i * 37 % 113) as f32 / 128.0).collect();
        x[large] = 100.0;
        vector(&x)
    };
    let looped = |a: SExp<f32>| loop_for(3, 0f32, move |_, s| s * 0.5 + a.exp());
    let summed = |x: VExp<f32>| x.map(|a| a.sin() - looped(a)).sum();
    let nested = |x: VExp<f32>, y: VExp<f32>| x.map(|a| a.sin() - y.map(|b| b * a.exp()).sum()).sum();
    let (summed, nested) = (lower(["x"], "r", summed), lower(["x", "y"], "r", nested));
    for (n, large) in [(5, 2), (2050, 7), (4100, 4099)] {
        everywhere(&summed, &[numbers(n, large)]);
        everywhere(&nested, &[numbers(n, large), vector(&[0.5f32, 2.0])]);
    }
    // a loop without steps tests nothing for the code behind it
    let behind = |x: VExp<f32>, n: VExp<i64>, y: VExp<f32>| {
        let read = |a: SExp<f32>, n: SExp<i64>| loop_for(n, 0f32, move |i, s| s * y.at(i) + a.exp());
        x.zip_with(n, |a, n| read(a, n) - a.exp())
    };
    let behind = lower(["x", "n", "y"], "r", behind);
    everywhere(&behind, &[numbers(5, 2), vector(&[0i64, 1, 0, 2, 0]), vector(&[0.5f32, 2.0])]);
}
