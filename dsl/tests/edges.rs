//! Programs at the edges of what rules and proofs allow: indices from outside, extents and margins of any size, and
//! scalars that only the device knows.

mod common;

use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::core::{Function, Rule};
use arraygpu_compiler::driver::{self, Targets};
use arraygpu_compiler::kernel::interp::Order;
use arraygpu_compiler::passes::pipeline;
use arraygpu_dsl::prelude::*;
use common::{call, everywhere, gpu, lower, matrix, recorded, refused, scalar, vector};

/// The message of the rule that does not hold: in the function as it was written, after the passes, and in its plan.
#[track_caller]
fn violated(f: &Function, args: &[Value]) -> String {
    let message = |f: &Function| interp::run(f, args).expect_err("a rule that does not hold").message;
    let fused = pipeline::run(f, &mut |_, _| ()).expect("the passes work");
    assert_eq!(message(&fused), message(f), "{fused}");
    let targets = Targets { cpu: false, cuda: true };
    let compiled = driver::compile_for("t", vec![f.clone()], targets).expect("it compiles");
    let how = gpu::How { layout: gpu::Layout::Offset, version: None, span: 1, order: Order::Ascending };
    let called = gpu::call(&compiled, 0, args, how);
    assert!(matches!(called, Err(gpu::Failure::Shape(_))), "{fused}");
    message(f)
}

/// What is proven of a loop whose count is an index holds in the index space only: at another index, that of a read
/// from outside, the loop reads beyond the array.
#[test]
fn loops_as_long_as_an_index_says() {
    let sums = |x: VExp<f32>| generate(x.len(), move |n| loop_for(n, 0f32, |k, s| s + x.at(k)));
    let alone = lower(["x", "j"], ["r"], |x: VExp<f32>, j: SExp<i64>| sums(x).at(j));
    let beside = lower(["x", "j"], ["r", "all"], |x: VExp<f32>, j: SExp<i64>| (sums(x).at(j), sums(x)));
    let gathered = lower(["x", "j"], ["r"], |x: VExp<f32>, j: VExp<i64>| sums(x).gather(j));
    let nested = lower(["x", "j"], ["r"], |x: VExp<f32>, j: SExp<i64>| {
        let each = |n| loop_for(n, 0f32, |k, s| s + loop_for(k, 0f32, |l, t| t + x.at(l)));
        generate(x.len(), each).at(j)
    });
    let mapped = lower(["x", "j"], ["r"], |x: VExp<f32>, j: SExp<i64>| {
        let (y, indices) = (sums(x), iota(x.len()));
        indices.map(|i| y.at(i) + loop_for(i, 0f32, |k, s| s + x.at(k))).at(j)
    });
    let x = vector(&[1f32, 2., 4., 8., 16.]);
    assert_eq!(everywhere(&alone, &[x.clone(), scalar(3i64)]), [scalar(7f32)]);
    assert_eq!(everywhere(&beside, &[x.clone(), scalar(4i64)])[0], scalar(15f32));
    assert_eq!(everywhere(&nested, &[x.clone(), scalar(4i64)]), [scalar(11f32)]);
    assert_eq!(everywhere(&mapped, &[x.clone(), scalar(4i64)]), [scalar(30f32)]);
    assert_eq!(everywhere(&gathered, &[x.clone(), vector(&[0i64, 4, 2])]), [vector(&[0f32, 15., 3.])]);
    for j in [5i64, 6, 100, -1] {
        for f in [&alone, &beside, &nested, &mapped] {
            recorded(f, &[x.clone(), scalar(j)]);
        }
        assert!(recorded(&gathered, &[x.clone(), vector(&[1, j])]).starts_with("element 1"));
    }
}

/// Such a loop has no steps where the index is outside, also if it is written for an element of another array, of a
/// part, or of one that is read backwards.
#[test]
fn loops_as_long_as_an_index_from_far_away() {
    let sum = |n: SExp<i64>| loop_for(n, 0f32, |k, s| s + k.cast::<f32>());
    let (names, n) = (["x", "j"], |x: VExp<f32>| x.len());
    let functions = [
        lower(names, "r", |x: VExp<f32>, j: VExp<i64>| generate(n(x), sum).gather(j)),
        lower(names, "r", |x: VExp<f32>, j: VExp<i64>| iota(n(x)).map(sum).gather(j)),
        lower(names, "r", |x: VExp<f32>, j: VExp<i64>| generate(n(x) + 2, sum).slice(1, n(x) + 1).gather(j)),
        lower(names, "r", |x: VExp<f32>, j: VExp<i64>| generate(n(x), sum).reverse().gather(j)),
        lower(names, "r", |x: VExp<f32>, j: VExp<i64>| {
            let all = generate2(2, n(x), |i, k| sum(i + k) + loop_for(k, 0f32, |l, s| s + sum(l)));
            j.map(|j| all.at(1, j))
        }),
        lower(names, "r", |x: VExp<f32>, j: VExp<i64>| {
            let (all, z) = (generate(n(x), |i| sum(i) + x.at(i)), x.scan(0.0, |a, b| a + b));
            j.map(|j| all.at(j) + z.at(j))
        }),
    ];
    let x = vector(&[1f32, 2., 4., 8., 16.]);
    for f in functions {
        everywhere(&f, &[x.clone(), vector(&[0i64, 3, 4])]);
        for j in [1i64 << 62, i64::MAX, i64::MIN, -1, 5] {
            let args = [x.clone(), vector(&[2i64, j])];
            assert!(recorded(&f, &args).starts_with("element 1"), "{j}");
            let fused = pipeline::run(&f, &mut |_, _| ()).expect("the passes work");
            assert!(interp::run(&fused, &args).expect("the call works").recorded);
        }
    }
    let alone = lower(["x", "j"], "r", |x: VExp<f32>, j: SExp<i64>| generate(n(x), sum).at(j));
    recorded(&alone, &[x, scalar(1i64 << 62)]);
}

/// What a function of an array that no one could store gives, in the passes' form and on a simulated GPU, and whether
/// it leaves a record. Nothing is read out of bounds.
fn fused(f: &Function, args: &[Value]) -> (Vec<Value>, bool) {
    let fused = pipeline::run(f, &mut |_, _| ()).expect("the passes work");
    let expected = interp::run(&fused, args).expect("the call works");
    let targets = Targets { cpu: false, cuda: true };
    let compiled = driver::compile_for("t", vec![f.clone()], targets).expect("it compiles");
    let how = gpu::How { layout: gpu::Layout::Offset, version: None, span: 1, order: Order::Ascending };
    let found = gpu::call(&compiled, 0, args, how).unwrap_or_else(|e| panic!("{e}\n{f}"));
    assert_eq!((&found.results, found.record.is_some()), (&expected.results, expected.recorded), "{f}");
    (expected.results, expected.recorded)
}

/// An extent that a scalar parameter gives may be so large that an index plus another one wraps, as nothing of that
/// size is ever stored.
#[test]
fn extents_of_any_size() {
    let f = lower(["x", "n"], ["r"], |x: VExp<u8>, n: SExp<i64>| {
        generate2(n, x.len(), |i, j| x.at((i + j).min(x.len() - 1))).row(n - 1)
    });
    let x = vector(&[1u8, 2, 3]);
    assert_eq!(everywhere(&f, &[x.clone(), scalar(2i64)]), [vector(&[2u8, 3, 3])]);
    assert_eq!(fused(&f, &[x.clone(), scalar(i64::MAX)]), (vec![vector(&[3u8, 3, 0])], true));
    let clamped = lower(["x", "n"], ["r"], |x: VExp<u8>, n: SExp<i64>| {
        generate2(n, x.len(), |i, j| x.at((n - 1 - i + j).min(x.len() - 1))).row(0)
    });
    assert_eq!(fused(&clamped, &[x.clone(), scalar(i64::MAX)]), (vec![vector(&[3u8, 3, 0])], true));
    let g = lower(["x", "n"], ["r"], |x: VExp<u8>, n: SExp<i64>| {
        generate2(n, n, |i, j| x.at((i + j).max(0) % x.len())).slice(n - 1, n, n - 2, n)
    });
    assert_eq!(everywhere(&g, &[x.clone(), scalar(3i64)]), [matrix(&[[1u8, 2]])]);
    assert!(!fused(&g, &[x, scalar(i64::MAX)]).1);
}

/// The length of a vector that the function returns is small, whoever gives it, because the vector has memory: sums
/// of indices below it cannot wrap, and their reads are proven. A vector that is only summed has none.
#[test]
fn lengths_of_results_are_small() {
    let lagged = |x: VExp<f32>, lags: SExp<i64>| {
        let n = x.len();
        generate(lags, |k| {
            generate(n, |i| cond((i + k).lt(n), x.at(i) * x.at((i + k).min(n - 1)), 0.0)).sum()
        })
    };
    let returned = lower(["x", "lags"], "r", lagged);
    let mapped = lower(["x", "lags"], "r", |x: VExp<f32>, lags: SExp<i64>| lagged(x, lags) * 2.0);
    let summed = lower(["x", "lags"], "r", |x: VExp<f32>, lags: SExp<i64>| lagged(x, lags).sum());
    let is_proven = |f: &Function| {
        let fused = pipeline::run(f, &mut |_, _| ()).expect("the passes work");
        !fused.to_string().contains(" = at ")
    };
    assert_eq!([&returned, &mapped, &summed].map(is_proven), [true, true, false]);
    let x = vector(&[1f32, 2., 3., 4., 5.]);
    assert_eq!(everywhere(&returned, &[x, scalar(7i64)]), [vector(&[55f32, 40., 26., 14., 5., 0., 0.])]);
}

/// Iterations get a scalar that a loop or an index computes as they get that of a reduction.
#[test]
fn scalars_that_the_device_computes() {
    let f = lower(["x", "p"], ["r"], |x: VExp<f32>, p: SExp<f32>| {
        let s = loop_for(10, p, |_, s| s * 0.5 + 1.0);
        x.iterate(3, |x| x * s)
    });
    assert_eq!(everywhere(&f, &[vector(&[1f32, 3.]), scalar(2f32)]), [vector(&[8f32, 24.])]);
    let f = lower(["m", "k"], ["r"], |m: MExp<f32>, k: SExp<i64>| {
        m.row(loop_for(k, 0i64, |_, s| (s * 5 + 1) % 7))
    });
    let m = matrix(&[[1f32, 2.], [3., 4.]]);
    assert_eq!(everywhere(&f, &[m.clone(), scalar(1i64)]), [vector(&[3f32, 4.])]);
    recorded(&f, &[m, scalar(2i64)]);
    let f = lower(["x", "p", "q", "k"], ["r"], |x: VExp<f32>, p: SExp<f32>, q: SExp<f32>, k: SExp<i64>| {
        let w = [p, q].at(k);
        x.iterate(3, |x| x * w)
    });
    let args = |k: i64| [vector(&[1f32, 3.]), scalar(2f32), scalar(3f32), scalar(k)];
    assert_eq!(everywhere(&f, &args(1)), [vector(&[27f32, 81.])]);
    recorded(&f, &args(2));
}

#[test]
fn lengths_that_the_device_computes() {
    fn steps(k: SExp<i64>) -> SExp<i64> {
        loop_for(k, 0i64, |_, s| s * 2 + 1)
    }
    let errors = [
        refused(["k"], |k: SExp<i64>| iota(steps(k))),
        refused(["x", "k"], |x: VExp<f32>, k: SExp<i64>| x.slice(0, steps(k))),
        refused(["x", "k"], |x: VExp<f32>, k: SExp<i64>| x.iterate(steps(k), |x| x + 1.0)),
        refused(["x", "k"], |x: VExp<f32>, k: SExp<i64>| x.padded(steps(k), 0, Boundary::Clamp)),
    ];
    for error in errors {
        assert_eq!(error.code(), Some("E0209"), "{error}");
        assert!(error.to_string().contains("is computed by a loop"), "{error}");
    }
    let error = refused(["k"], |k: SExp<i64>| iota([k, k + 1].at(k)));
    assert_eq!(error.code(), Some("E0209"), "{error}");
    let error = refused(["x", "k"], |x: VExp<i64>, k: SExp<i64>| x + stage(steps(k)));
    assert_eq!(error.code(), Some("E0311"), "{error}");
    assert!(error.to_string().contains("is computed by a loop"), "{error}");
}

/// Each sum is looked into once, though it is used twice.
#[test]
fn sums_of_sums() {
    let f = lower(["x"], ["r", "n"], |x: VExp<f32>| {
        let n = (0..60).fold(x.len(), |n, _| n + n);
        let m = (0..60).fold(x.len(), |m, k| m + (m - k));
        (iota(n), m)
    });
    assert_eq!(call(&f, &[vector::<f32>(&[])])[0], vector::<i64>(&[]));
}

#[test]
fn parts_that_wrap() {
    let f = lower(["x", "p", "s"], ["r"], |x: VExp<f32>, p: VExp<f32>, s: SExp<i64>| x.with_slice(s, p));
    let args = |s: i64| [vector(&[1f32, 2., 3.]), vector(&[7f32, 8.]), scalar(s)];
    assert_eq!(everywhere(&f, &args(1)), [vector(&[1f32, 7., 8.])]);
    for s in [2, i64::MAX - 1, i64::MAX, -1, i64::MIN] {
        violated(&f, &args(s));
    }
    assert!(
        pipeline::run(&f, &mut |_, _| ()).is_ok_and(|f| f.requires.iter().any(|r| r.rule == Rule::Order))
    );
    let block = |m: MExp<f32>, p: MExp<f32>, s: SExp<i64>| m.with_block(0, s, p);
    let f = lower(["m", "p", "s"], ["r"], block);
    violated(&f, &[matrix(&[[1f32, 2.], [3., 4.]]), matrix(&[[5f32]]), scalar(i64::MAX)]);
}

/// A slice is as long as it says, also if its end wraps: then it ends before it begins.
#[test]
fn slices_that_wrap() {
    type Slice = fn(VExp<f32>, SExp<i64>) -> VExp<f32>;
    let slices: [Slice; 3] =
        [|x, k| x.slice(k, k + 3), |x, k| x.slice_by(k, k + 3, 2), |x, k| x.slice(k, k + x.len())];
    for slice in slices {
        let f = lower(["x", "k"], ["r"], slice);
        for k in [i64::MAX - 1, i64::MAX] {
            let message = violated(&f, &[vector(&[1f32, 2., 3.]), scalar(k)]);
            assert!(message.contains(&format!("before its start {k}")), "{message}");
        }
        assert!(!everywhere(&f, &[vector(&[1f32, 2., 3.]), scalar(0i64)]).is_empty());
    }
    let f = lower(["m", "k"], ["r"], |m: MExp<f32>, k: SExp<i64>| m.slice(0, 1, k, k + 2));
    violated(&f, &[matrix(&[[1f32, 2.], [3., 4.]]), scalar(i64::MAX)]);
}

#[test]
fn margins_that_wrap() {
    for boundary in [Boundary::Clamp, Boundary::Constant(0f32), Boundary::Mirror, Boundary::Wrap] {
        let f = lower(["x", "a", "b"], ["r"], |x: VExp<f32>, a: SExp<i64>, b: SExp<i64>| {
            x.padded(a, b, boundary).slice(0, 1)
        });
        let args = |a: i64, b: i64| [vector(&[1f32, 2.]), scalar(a), scalar(b)];
        everywhere(&f, &args(1, 2));
        for (a, b) in [(i64::MAX, i64::MAX), (i64::MAX, 0), (0, i64::MAX), (i64::MAX - 2, 1)] {
            let message = violated(&f, &args(a, b));
            assert!(message.contains("padded of x"), "{message}");
        }
        // an array of any length, of which nothing is stored
        let f =
            lower(["n", "i"], ["r"], |n: SExp<i64>, i: SExp<i64>| fill(n, 1f32).padded(1, 1, boundary).at(i));
        violated(&f, &[scalar(i64::MAX), scalar(i64::MAX)]);
    }
}

/// Without margins nothing is asked of an array, also if the margins are known only at the call.
#[test]
fn no_margins() {
    for boundary in [Boundary::Clamp, Boundary::Constant(0f32), Boundary::Mirror, Boundary::Wrap] {
        let f = lower(["x", "r"], ["y"], |x: VExp<f32>, r: SExp<i64>| x.padded(r, r, boundary));
        assert_eq!(everywhere(&f, &[vector::<f32>(&[]), scalar(0i64)]), [vector::<f32>(&[])]);
        let message = violated(&f, &[vector::<f32>(&[]), scalar(1i64)]);
        assert!(message.contains("the margin needs 1 or more elements, the length is 0"), "{message}");
        let f = lower(["x"], ["y"], |x: VExp<f32>| x.padded(0, 0, boundary));
        assert_eq!(everywhere(&f, &[vector::<f32>(&[])]), [vector::<f32>(&[])]);
        assert!(f.requires.iter().all(|r| r.rule != Rule::Margin), "{f}");
    }
}

#[test]
fn checks_after_no_steps() {
    let steps = |x: VExp<f32>| iterate_while(9, x, |x| x.max().lt(9.0), |x| x + 1.0).check_every(0);
    let number = refused(["x"], move |x: VExp<f32>| steps(x).1);
    let states = refused(["x"], move |x: VExp<f32>| steps(x).0);
    for error in [number, states] {
        assert_eq!(error.code(), Some("E0208"), "{error}");
    }
}

/// The number of steps of an arm that is not taken may be any number.
#[test]
fn loops_of_arms_that_are_not_taken() {
    let steps = |n: SExp<i64>| loop_for(n, 1i64, |i, s| s * 3 + i);
    let few = move |n: SExp<i64>| cond(n.lt(64), steps(n), -1);
    let x = vector(&[1i64 << 60, 3, i64::MAX]);
    let f = lower(["x"], ["r"], move |x: VExp<i64>| x.map(few));
    assert_eq!(everywhere(&f, std::slice::from_ref(&x)), [vector(&[-1i64, 32, -1])]);
    // the loop of all elements, and that of each row
    let f = lower(["x", "p"], ["r"], move |x: VExp<i64>, p: SExp<i64>| x.map(move |a| a + few(p)));
    assert_eq!(everywhere(&f, &[vector(&[5i64, 6]), scalar(1i64 << 60)]), [vector(&[4i64, 5])]);
    let f = lower(["x", "y"], ["r"], move |x: VExp<i64>, y: VExp<i64>| {
        generate2(x.len(), y.len(), move |i, j| few(x.at(i)) + y.at(j))
    });
    assert_eq!(everywhere(&f, &[x.clone(), vector(&[7i64])]), [matrix(&[[6i64], [39], [6]])]);
    // both ways to the loop ask the same; two states of one loop, one of which is always needed
    let f = lower(["x"], ["r"], move |x: VExp<i64>| {
        x.map(move |n| cond(n.lt(64), cond(n.eq(3), steps(n), steps(n) + 1), -1))
    });
    assert_eq!(everywhere(&f, &[x]), [vector(&[-1i64, 32, -1])]);
    let f = lower(["x"], ["r"], |x: VExp<i64>| {
        x.map(|n| {
            let (a, b) = loop_for(n, (1i64, 0i64), |i, (a, b)| (a * 3 + i, b + a));
            cond(n.lt(3), a, 0) + b
        })
    });
    assert_eq!(everywhere(&f, &[vector(&[2i64, 3])]), [vector(&[14i64, 14])]);
    // a condition that leaves a record
    let f = lower(["x", "y"], ["r"], move |x: VExp<i64>, y: VExp<i64>| x.map(move |i| few(y.at(i))));
    let y = vector(&[1i64 << 60, 3]);
    assert_eq!(everywhere(&f, &[vector(&[0i64, 1]), y.clone()]), [vector(&[-1i64, 32])]);
    assert!(recorded(&f, &[vector(&[0i64, 9]), y]).starts_with("element 1"));
}

#[test]
fn records_of_small_arrays() {
    let f = lower(["x", "i"], ["r"], |x: VExp<f32>, i: VExp<i64>| {
        x.zip_with(i, |a, i| [a, 2 * a, 3 * a].with_at(i, 0.0)[0])
    });
    let record = recorded(&f, &[vector(&[1f32, 2.0]), vector(&[2i64, 3])]);
    assert!(record.starts_with("element 1: an update of a small array is out of range"), "{record}");
    let f = lower(["x", "i"], ["r"], |x: VExp<f32>, i: VExp<i64>| x.zip_with(i, |a, i| [a, 2 * a].at(i)));
    let record = recorded(&f, &[vector(&[1f32, 2.0]), vector(&[1i64, -1])]);
    assert!(record.starts_with("element 1: a read of a small array is out of range"), "{record}");
}

/// Whoever computes a value leaves the records of all that it names, whatever it turns out to be.
#[test]
fn records_of_operands_that_decide_nothing() {
    let f = lower(["x"], ["r"], |x: VExp<f32>| x.map(|a| [a, a, a].with_at(lit(5i64), 0.0)[0]));
    recorded(&f, &[vector(&[1f32])]);
    let beyond = |x: VExp<i64>, of: fn(SExp<i64>) -> SExp<i64>| generate(x.len(), move |i| of(x.at(i + 7)));
    let all: [fn(SExp<i64>) -> SExp<i64>; 9] = [
        |a| a - a,
        |a| lit(0i64) * a,
        |a| a + 1 - a,
        |a| (a + a) - 2 * a,
        |a| a ^ a,
        |a| a & lit(0i64),
        |a| a | -1,
        |a| cond(a.eq(a), 1, 2),
        |a| cond(a.lt(a) & a.ne(a), 1, 2),
    ];
    for of in all {
        let f = lower(["x"], ["r"], move |x: VExp<i64>| beyond(x, of));
        recorded(&f, &[vector(&[1i64, 2])]);
    }
    // an arm that is not taken leaves none
    let f = lower(["x"], ["r"], |x: VExp<i64>| generate(x.len(), |i| cond(lit(true), i, x.at(i + 7))));
    everywhere(&f, &[vector(&[1i64, 2])]);
}
