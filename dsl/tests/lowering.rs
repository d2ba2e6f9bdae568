//! What programs become: core IR as text, shape rules, places, sharing.

mod common;

use arraygpu_compiler::core::Op;
use arraygpu_compiler::loc::LocStack;
use arraygpu_dsl::prelude::*;
use common::{call, lower, refused, rules, scalar, vector};

fn rmse(x: VExp<f32>, y: VExp<f32>) -> SExp<f32> {
    let d2 = x.zip_with(y, |a, b| slet(a - b, |d| d * d));
    (d2.sum() / x.len().cast::<f32>()).sqrt()
}

fn wmavg(w: &[f32]) -> impl Fn(VExp<f32>) -> VExp<f32> + '_ {
    move |xs| {
        let n = xs.len() - (w.len() as i64 - 1);
        w.iter().zip(0..).map(|(&w, i)| w * xs.slice(i, n + i)).sum()
    }
}

#[test]
fn rmse_in_core_ir() {
    let f = lower(["x", "y"], "result", rmse);
    let expected = "\
func @f(%x: [f32], %y: [f32]) -> (result: f32) {
  %0 = len %x
  %1 = len %y
  require same %0, %1 \"zip_with: x, y\"
  %2 = map (%3: f32, %4: f32) over %x, %y {
    let %5 = sub %3, %4
    %6 = mul %5, %5
    yield %6
  }
  %7 = reduce (%8: f32, %9: f32) from 0f32 over %2 {
    %10 = add %8, %9
    yield %10
  }
  %11 = cast f32 %0
  %12 = div %7, %11
  %13 = sqrt %12
  return %13
}
";
    assert_eq!(f.to_string(), expected);
    let value = call(&f, &[vector(&[1f32, 2., 3., 4.]), vector(&[1f32, 2., 3., 2.])]);
    assert_eq!(value, [scalar(1f32)]);
}

#[test]
fn the_moving_average_needs_one_rule() {
    let f = lower(["xs"], "result", wmavg(&[0.25, 0.5, 0.25]));
    assert_eq!(rules(&f), ["order slice of xs"]);
    assert_eq!(call(&f, &[vector(&[4f32, 8., 0., 4.])]), [vector(&[5f32, 3.])]);
    // the right length of nothing, and too short by one
    assert_eq!(call(&f, &[vector(&[1f32, 2.])]), [vector::<f32>(&[])]);
    let error = arraygpu_compiler::core::interp::run(&f, &[vector(&[1f32])]).unwrap_err();
    assert!(error.message.contains("slice of xs: the slice stops at -1, before its start 0"), "{error}");
}

#[test]
fn weighted_sum_is_one_map_of_a_chain() {
    let f = lower(["xs"], "result", |xs: VExp<f32>| xs.weighted_sum(&[0.25, 0.5, 0.25]));
    assert_eq!(rules(&f), ["order weighted_sum of xs"]);
    let Op::Map(lambda, srcs) = f.graph.op(f.results[0].value) else { panic!("not a map:\n{f}") };
    assert_eq!(srcs.len(), 3);
    assert!(matches!(f.graph.op(lambda.body), Op::MulAdd(..)));
    assert_eq!(call(&f, &[vector(&[4f32, 8., 0., 4.])]), [vector(&[5f32, 3.])]);
    let one = lower(["xs"], "result", |xs: VExp<i32>| xs.weighted_sum(&[3]));
    assert!(one.requires.is_empty());
    assert_eq!(call(&one, &[vector(&[1, 2])]), [vector(&[3, 6])]);
}

#[test]
fn many_weights() {
    let weights: Vec<f32> = (1..=63).map(|i| i as f32).collect();
    let f = lower(["xs"], "result", |xs: VExp<f32>| xs.weighted_sum(&weights));
    assert_eq!(f.requires.len(), 1);
    let expected: f32 = weights.iter().sum();
    assert_eq!(call(&f, &[vector(&[1f32; 64])]), [vector(&[expected; 2])]);
}

#[test]
fn tuples_of_vectors_share_their_closure() {
    let f = lower(["x", "y"], ["sum", "less", "both"], |x: VExp<f32>, y: VExp<f32>| {
        let (sum, less) = x.zip_with(y, |a, b| (a + b, a.lt(b)));
        (sum, less, sum.sum())
    });
    assert_eq!(rules(&f), ["same zip_with: x, y"]);
    let results = call(&f, &[vector(&[1f32, 5.]), vector(&[2f32, 3.])]);
    assert_eq!(results, [vector(&[3f32, 8.]), vector(&[true, false]), scalar(11f32)]);
    let nested = lower(["n"], ["i", "square", "half"], |n: SExp<i64>| {
        let (i, (square, half)) = generate(n, |i| (i, (i * i, i.cast::<f64>() / 2)));
        (i, (square, half))
    });
    assert_eq!(rules(&nested), ["extent generate: n"]);
    let results = call(&nested, &[scalar(3i64)]);
    assert_eq!(results, [vector(&[0i64, 1, 2]), vector(&[0i64, 1, 4]), vector(&[0.0, 0.5, 1.0])]);
}

#[test]
fn zips_of_three_to_six() {
    let f = lower(["a", "b", "c", "d", "e", "f"], ["three", "four", "five", "six"], {
        |a: VExp<i32>, b: VExp<i32>, c: VExp<i32>, d: VExp<i32>, e: VExp<i64>, f: VExp<bool>| {
            let three = a.zip3(b, c, |a, b, c| a * b + c);
            let four = a.zip4(b, c, d, |a, b, c, d| a + b + c + d);
            let five = a.zip5(b, c, d, e, |a, b, c, d, e| (a + b + c + d).cast::<i64>() + e);
            (three, four, five, a.zip6(b, c, d, e, f, |a, b, _, _, _, f| cond(f, a, b)))
        }
    });
    let expected: Vec<String> = ["zip3: a, b", "zip3: a, c", "zip4: a, d", "zip5: a, e", "zip6: a, f"]
        .iter()
        .map(|s| format!("same {s}"))
        .collect();
    assert_eq!(rules(&f), expected, "a rule that stands already is not repeated");
    let one = |i: i32| vector(&[i]);
    let args = [one(2), one(3), one(4), one(5), vector(&[6i64]), vector(&[false])];
    assert_eq!(call(&f, &args), [one(10), one(14), vector(&[20i64]), one(3)]);
}

#[test]
fn slices_and_their_rules() {
    let f = lower(["x", "a", "b", "k"], ["plain", "strided"], {
        |x: VExp<f32>, a: SExp<i64>, b: SExp<i64>, k: SExp<i64>| (x.slice(a, b), x.slice_by(a, b, k))
    });
    let expected = [
        "start slice of x: a, b",
        "order slice of x: a, b",
        "stop slice of x: a, b",
        "stride slice_by of x: a, b, k",
    ];
    assert_eq!(rules(&f), expected);
    let args = [vector(&[0f32, 1., 2., 3., 4.]), scalar(1i64), scalar(5i64), scalar(3i64)];
    assert_eq!(call(&f, &args), [vector(&[1f32, 2., 3., 4.]), vector(&[1f32, 4.])]);
}

#[test]
fn a_sum_that_may_wrap_keeps_its_rule() {
    // k + 3 < k for the largest k: the rule that looks always true is needed
    let f = lower(["x", "k"], "result", |x: VExp<f32>, k: SExp<i64>| x.slice(k, k + 3));
    assert_eq!(rules(&f), ["start slice of x: k", "order slice of x: k", "stop slice of x: k"]);
    let args = [vector(&[1f32; 8]), scalar(i64::MAX - 1)];
    assert!(arraygpu_compiler::core::interp::run(&f, &args).is_err());
}

#[test]
fn lengths_of_expressions_are_lengths_of_parameters() {
    let f = lower(["x", "n"], ["a", "b", "c", "d"], |x: VExp<f32>, n: SExp<i64>| {
        let y = x.map(|a| a * 2.0).reverse().slice(1, x.len()).materialize();
        (y.len(), iota(n).len(), x.slice_by(0, x.len(), 3).len(), (y + y).len())
    });
    assert_eq!(rules(&f), ["order slice of x", "extent iota: n"]);
    let args = [vector(&[0f32; 8]), scalar(5i64)];
    assert_eq!(call(&f, &args), [scalar(7i64), scalar(5i64), scalar(3i64), scalar(7i64)]);
}

#[test]
fn slices_inside_closures() {
    // the inner zip has its rule, though its elements depend on the outer variable
    let f = lower(["x", "y", "z"], "result", |x: VExp<f32>, y: VExp<f32>, z: VExp<f32>| {
        x.map(|a| (y.map(|b| a * b).slice(1, y.len()) + z).dot(z))
    });
    assert_eq!(rules(&f), ["order slice of y", "same operator +: y, z"]);
    let args = [vector(&[1f32, 2.]), vector(&[9f32, 3., 4.]), vector(&[1f32, 10.])];
    assert_eq!(call(&f, &args), [vector(&[144f32, 187.])]);
}

#[test]
fn bounds_must_be_known_to_the_host() {
    let by_variable = refused(["x"], |x: VExp<f32>| iota(4).map(|i| x.slice(0, i).sum()));
    assert_eq!(by_variable.code(), Some("E0209"));
    let text = by_variable.to_string();
    assert!(text.contains("slice of x: a bound depends on the variable of a closure"), "{text}");
    assert!(text.contains("lowering.rs:"), "{text}");
    let text = refused(["x"], |x: VExp<i64>| iota(x.max())).to_string();
    assert!(text.contains("iota: x: the length is computed by a reduction"), "{text}");
    let text = refused(["x"], |x: VExp<i64>| fill(x.at(0) + 1, 1.0)).to_string();
    assert!(text.contains("fill: x: the length is read from a vector"), "{text}");
}

#[test]
fn gather_reads_as_at_does() {
    let f = lower(["x", "i"], ["all", "one"], |x: VExp<f32>, i: VExp<i64>| (x.gather(i), x.at(1)));
    assert!(f.requires.is_empty());
    let args = [vector(&[5f32, 6., 7.]), vector(&[2i64, -1, 0])];
    assert_eq!(call(&f, &args), [vector(&[7f32, 0., 5.]), scalar(6f32)]);
}

#[test]
fn reductions() {
    let f = lower(["x"], ["sum", "product", "least", "greatest", "order", "any", "all"], |x: VExp<i32>| {
        let above = x.gt(2);
        (x.sum(), x.product(), x.min(), x.max(), x.sum_in_order(), above.any(), (all(above), any(above)).0)
    });
    let results = call(&f, &[vector(&[3, 1, 4])]);
    assert_eq!(results[..5], [8, 12, 1, 4, 8].map(scalar));
    assert_eq!(results[5..], [scalar(true), scalar(false)]);
    let results = call(&f, &[vector::<i32>(&[])]);
    assert_eq!(results[..5], [0, 1, i32::MAX, i32::MIN, 0].map(scalar));
    assert_eq!(results[5..], [scalar(false), scalar(true)]);
}

#[test]
fn reduce_and_fold_by_closures() {
    let f = lower(["x", "y"], ["greatest", "horner", "seen", "dot"], |x: VExp<f64>, y: VExp<f64>| {
        let greatest = x.reduce(0, |a, b| a.max(b));
        let horner = x.fold(0.0, |sum, c| sum * 10 + c);
        (greatest, horner, x.fold(false, |seen, c| seen | c.eq(2.0)), x.dot(y))
    });
    let results = call(&f, &[vector(&[1.0, 2.0, 3.0]), vector(&[1.0, 1.0, 2.0])]);
    assert_eq!(results, [scalar(3.0), scalar(123.0), scalar(true), scalar(9.0)]);
}

#[test]
fn windows_and_sums_of_iterators() {
    let f = lower(["x"], ["vector", "scalar", "none"], |x: VExp<f32>| {
        let windows = x.windows(2);
        let total: SExp<f32> = windows.iter().map(|w| w.sum()).sum();
        (windows.iter().sum::<VExp<f32>>(), total, std::iter::empty::<SExp<f32>>().sum::<SExp<f32>>())
    });
    assert_eq!(rules(&f), ["order windows of x"]);
    let results = call(&f, &[vector(&[1f32, 2., 4.])]);
    assert_eq!(results, [vector(&[3f32, 6.]), scalar(9f32), scalar(0f32)]);
}

#[test]
fn one_handle_is_one_node() {
    let f = lower(["x"], ["a", "b"], |x: SExp<f32>| {
        let y = x.exp();
        (y + 1.0, y * y)
    });
    let count = f.graph.reachable(f.results.iter().map(|r| r.value)).len();
    assert_eq!(count, 5, "x, exp, 1, +, *:\n{f}");
}

#[test]
fn slet_marks_what_it_names() {
    let f = lower(["x"], "result", |x: SExp<f32>| slet(x * x, |y| slet(x, |x| slet(2.0, |two| two * y + x))));
    let text = f.to_string();
    assert!(text.contains("let %0 = mul %x, %x"), "{text}");
    assert_eq!(text.matches("let").count(), 1, "constants and parameters have names already:\n{text}");
}

/// The line of each construct, in a function that rustfmt leaves alone.
#[rustfmt::skip]
fn three_lines(x: VExp<f32>, y: VExp<f32>) -> VExp<f32> {
    let sum = x + y;
    sum.map(|a| a
        .sqrt())
}
const THREE_LINES: u32 = line!() - 4;

#[test]
fn nodes_know_the_author_s_line() {
    let registered = line!() + 1;
    let f = lower(["x", "y"], "result", three_lines);
    assert_eq!(f.loc.map(|l| (l.file.to_string(), l.line)), Some((file!().to_string(), registered)));
    let line = |stack: &LocStack| stack.first().map(|l| (l.file.to_string(), l.line));
    let expected = |line: u32| Some((file!().to_string(), line));
    assert_eq!(line(&f.requires[0].loc), expected(THREE_LINES), "the operator's, not the library's");
    let result = f.results[0].value;
    assert_eq!(line(&f.graph.node(result).loc), expected(THREE_LINES + 1));
    let all = f.graph.reachable([result]);
    let sqrt = all.iter().find(|n| matches!(f.graph.op(**n), Op::Unary(..))).expect("a sqrt");
    assert_eq!(line(&f.graph.node(*sqrt).loc), expected(THREE_LINES + 2));
}

#[test]
fn sums_have_the_line_of_their_terms() {
    let f = lower(["x"], "result", |x: SExp<f32>| (0..3).map(|i| x * i).sum::<SExp<f32>>());
    let places = f.graph.reachable([f.results[0].value]).into_iter().map(|n| f.graph.node(n).loc.clone());
    assert!(places.flat_map(|p| p.0.to_vec()).all(|p| p.file.as_ref() == file!()));
}

#[test]
fn deep_expressions() {
    let f = lower(["x"], ["inside", "outside"], |x: VExp<f32>| {
        let inside = x.map(|a| (0..10_000).fold(a, |sum, i| sum * 0.5 + i as f32));
        (inside, (0..10_000).fold(x.at(0), |sum, i| sum * 0.5 + i as f32))
    });
    assert!(f.graph.len() > 20_000);
}

#[test]
fn long_chains_of_vectors() {
    let f =
        lower(["x", "y"], "result", |x: VExp<i32>, y: VExp<i32>| (0..10_000).fold(x, |sum, i| sum + y * i));
    assert_eq!(rules(&f), ["same operator +: x, y"]);
}

#[test]
fn functions_of_nothing_and_of_many() {
    let f = lower([], "result", || generate(3, |i| i * 2));
    assert_eq!(call(&f, &[]), [vector(&[0i64, 2, 4])]);
    let f = lower(["a", "b", "c", "d", "e", "f", "g", "h"], "result", {
        #[rustfmt::skip]
        #[allow(clippy::too_many_arguments)]
        fn all(a: SExp<i32>, b: SExp<i32>, c: SExp<i32>, d: SExp<i32>, e: SExp<i32>, f: SExp<i32>, g: SExp<i32>, h: SExp<i32>) -> SExp<i32> {
            [a, b, c, d, e, f, g, h].into_iter().sum()
        }
        all
    });
    assert_eq!(call(&f, &[1, 2, 3, 4, 5, 6, 7, 8].map(scalar)), [scalar(36)]);
}
