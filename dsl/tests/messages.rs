//! What authors are told when shapes do not fit: the word that they wrote, the sizes, and their line.

use arraygpu_compiler::driver::{Targets, compile_for};
use arraygpu_compiler::explain;
use arraygpu_dsl::prelude::*;
use arraygpu_dsl::{Volume, call_of, eval};

/// Checks that a function that is called in this line or the next ones fails with these words.
macro_rules! says {
    ($f:expr, $args:expr, $words:expr) => {{
        let text = eval($f, $args).map(drop).expect_err($words).to_string();
        let mut lines = line!()..line!() + 5;
        let is_here = lines.any(|line| text.contains(&format!("messages.rs:{line}:")));
        assert!(text.contains($words) && is_here, "not {:?} in: {text}", $words);
    }};
}

const X: [f32; 3] = [1.0, 2.0, 3.0];
const Y: [f32; 4] = [1.0, 2.0, 3.0, 4.0];
const NONE: [f32; 0] = [];
const M: [[f32; 3]; 2] = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
const N: [[f32; 4]; 4] = [[1.0; 4]; 4];

type V = VExp<f32>;
type A = MExp<f32>;
type T = TExp<f32>;

#[test]
fn arrays_of_one_shape() {
    says!(|x: V, y: V| x + y, (X, Y), "operator +: argument1, argument2: the lengths 3 and 4 differ");
    says!(
        |x: V, y: V| x.zip_with(y, |a, b| a + b),
        (X, Y),
        "zip_with: argument1, argument2: the lengths 3 and 4"
    );
    says!(
        |x: V, y: V| x.zip3(x, y, |a, b, _| a + b),
        (X, Y),
        "zip3: argument1, argument2: the lengths 3 and 4"
    );
    says!(|x: V, y: V| x.dot(y), (X, Y), "dot: argument1, argument2: the lengths 3 and 4 differ");
    says!(|a: A, b: A| a - b, (M, N), "operator -: rows of argument1, argument2: the lengths 2 and 4 differ");
    says!(
        |a: A, b: A| a.matmul(b),
        (M, N),
        "matmul: columns of argument1, rows of argument2: the lengths 3 and 4 differ"
    );
    says!(
        |a: A| a.matmul(a),
        (M,),
        "matmul: columns of argument1, rows of argument1: the lengths 3 and 2 differ"
    );
    says!(
        |a: T, b: T| a.matmul(b),
        (Volume::new([2, 1, 1], vec![1.0f32; 2]), Volume::new([3, 1, 1], vec![1.0f32; 3])),
        "matmul of planes: argument1, argument2: the lengths 2 and 3 differ"
    );
    says!(
        |x: V, y: V| (x, y).reduce((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1)),
        (X, Y),
        "reduce: argument1, argument2: the lengths 3 and 4"
    );
    says!(
        |x: V, y: V| (x, y).fold(0.0, |a: SExp<f32>, b| a + b.0 * b.1),
        (X, Y),
        "fold: argument1, argument2: the lengths 3 and 4"
    );
    says!(
        |x: V, y: V| (x, y).scan((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1)).0,
        (X, Y),
        "scan: argument1, argument2: the lengths 3 and 4"
    );
    says!(
        |x: V, y: V| (x, y).scan_exclusive((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1)).0,
        (X, Y),
        "scan_exclusive: argument1, argument2: the lengths 3 and 4"
    );
    says!(
        |a: A, b: A| (a, b).reduce_rows((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1)).0,
        (M, N),
        "reduce_rows: rows of argument1, argument2: the lengths 2 and 4"
    );
    says!(
        |a: A, b: A| (a, b).scan_cols((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1)).0,
        (M, N),
        "scan_cols: rows of argument1, argument2: the lengths 2 and 4"
    );
    says!(
        |x: V, y: V| x.sort_by_key(y).1,
        (X, Y),
        "sort_by_key: argument1, argument2: the lengths 3 and 4 differ"
    );
    says!(
        |a: A, y: V| a.map_rows(|r| r.dot(y)),
        (M, Y),
        "dot: argument1, argument2: the lengths 3 and 4 differ"
    );
    says!(
        |x: V, y: V| x.filter(|v| v.gt(0.0)).filled(0.0) + y,
        (X, Y),
        "operator +: argument1, argument2: the lengths 3 and 4"
    );
}

#[test]
fn parts_of_arrays() {
    says!(|x: V| x.slice(1, 5), (X,), "slice of argument1: the slice stops at 5, past the length 3");
    says!(|x: V| x.slice(-1, 2), (X,), "slice of argument1: the slice starts at -1, below 0");
    says!(|x: V| x.slice(2, 1), (X,), "slice of argument1: the slice stops at 1, before its start 2");
    says!(
        |x: V, k: SExp<i64>| x.slice_by(0, 2, k),
        (X, 0),
        "slice_by of argument1: argument2: the stride is 0, it must be 1 or more"
    );
    says!(
        |a: A| a.slice_rows(0, 3),
        (M,),
        "slice_rows of argument1: the slice stops at 3, past the length 2"
    );
    says!(|a: A| a.slice(0, 1, 0, 4), (M,), "slice of argument1: the slice stops at 4, past the length 3");
    says!(|a: A| a.row(2), (M,), "row of argument1: the index 2 is outside of the length 2");
    says!(|a: A| a.col(-1), (M,), "col of argument1: the index -1 is negative");
    says!(|x: V| x.with_slice(2, x), (X,), "with_slice of argument1: the part stops at 5, past the length 3");
    says!(
        |x: V, y: V| x.with_slice(0, y),
        (X, NONE),
        "with_slice of argument1: the part has the length 0, it must have 1 element or more"
    );
    says!(
        |a: A| a.with_block(1, 0, a),
        (M,),
        "with_block of argument1: the part stops at 3, past the length 2"
    );
    says!(|x: V| x.windows(5)[0], (X,), "windows of argument1: the window is wider than the array by 2");
    says!(
        |x: V| x.weighted_sum(&[1.0; 5]),
        (X,),
        "weighted_sum of argument1: the window is wider than the array by 2"
    );
    says!(
        |x: V| x.padded(4, 4, Boundary::Mirror),
        (X,),
        "padded of argument1: the margin needs 4 or more elements, the length is 3"
    );
    says!(
        |x: V, k: SExp<i64>| x.padded(k, k, Boundary::Clamp),
        (X, -1),
        "padded of argument1: argument2: the margin -1 is negative"
    );
    says!(
        |x: V| x.filter(|v| v.gt(0.0)).with_len(5),
        (X,),
        "with_len of argument1: 5 elements cannot be kept of 3"
    );
    says!(
        |x: V, n: SExp<i64>| x.filter(|v| v.gt(0.0)).with_len(n),
        ([1.0], -1),
        "with_len of argument1: argument2: the number of elements is -1, below 0"
    );
    says!(
        |x: V| x.filter(|v| v.gt(0.0)).with_len(2),
        (X,),
        "with_len: the number of elements that are kept is 3, not 2"
    );
    says!(
        |x: V, i: VExp<i64>| x.segmented_reduce(i, 0.0, |a, b| a + b),
        (X, []),
        "segmented_reduce of argument2: there are 0 offsets"
    );
}

#[test]
fn lengths_and_numbers() {
    says!(|n: SExp<i64>| iota(n), (-1,), "iota: argument1: the length -1 is negative");
    says!(|n: SExp<i64>| fill(n, 1.0f32), (-1,), "fill: argument1: the length -1 is negative");
    says!(|n: SExp<i64>| generate(n, |i| i), (-1,), "generate: argument1: the length -1 is negative");
    says!(
        |x: V, n: SExp<i64>| x.broadcast_rows(n),
        (X, -1),
        "broadcast_rows: argument2: the length -1 is negative"
    );
    says!(
        |i: VExp<i64>, n: SExp<i64>| i.histogram(n),
        ([0, 1], -1),
        "histogram: argument2: the length -1 is negative"
    );
    says!(
        |x: V, i: VExp<i64>, n: SExp<i64>| x.scatter(n, i, 0.0),
        (X, [0, 1, 2], -1),
        "scatter: argument3: the length -1 is negative"
    );
    says!(
        |x: V, i: VExp<i64>| x.scatter(5, i, 0.0),
        (X, [0, 1]),
        "scatter: argument2, argument1: the lengths 2 and 3 differ"
    );
    says!(
        |x: V, i: VExp<i64>| x.scatter_reduce(5, i.unordered(), 0.0, |a, b| a + b),
        (X, [0, 1]),
        "scatter_reduce: argument2, argument1: the lengths 2 and 3 differ"
    );
    says!(
        |x: V, k: SExp<i64>| x.iterate(k, |x| x * 2),
        (X, -1),
        "iterate: argument2: the number of steps is -1, it must be 0 or more"
    );
    says!(
        |x: V, k: SExp<i64>| iterate_collect(k, x, |x| x * 2),
        (X, -1),
        "iterate_collect: argument2: the number of steps is -1"
    );
    says!(
        |x: V, k: SExp<i64>| iterate_indexed(k, x, |_, x| x * 2),
        (X, -1),
        "iterate_indexed: argument2: the number of steps is -1"
    );
    says!(
        |x: V, k: SExp<i64>| iterate_while(k, x, |x: &V| x.sum().lt(9.0), |x| x * 2).check_every(1),
        (X, -1),
        "iterate_while: argument2: the number of steps is -1"
    );
    says!(
        |x: V| iterate_collect(1, x, |x| x.slice(1, x.len())),
        (X,),
        "iterate_collect: the state before and after a step: the lengths 3 and 2 differ"
    );
}

/// Two elements of a GPU's thread share the loop, which is written anew for both.
#[test]
fn warnings_name_the_line_of_a_loop_that_elements_share() {
    let line = line!() + 1;
    let f = |m: A| m.map_rows(|r| r.map(|v| r.map(|w| (v - w).abs()).sum()).max());
    let function = call_of(f, &(M,)).expect("it is made").function;
    let targets = Targets { cpu: false, cuda: true };
    let compiled = compile_for("t", vec![function], targets).expect("it compiles");
    let warnings = &compiled.functions[0].warnings;
    let wanted = format!("(messages.rs:{line}) is a sequential loop in each thread of a GPU");
    assert!(!warnings.is_empty() && warnings.iter().all(|w| w.contains(&wanted)), "{warnings:?}");
}

/// A reduction in order is made of others, inside of a closure of loops in loops.
#[test]
fn warnings_name_the_line_of_a_reduction_in_order() {
    let line = line!() + 1;
    let f = |m: A| m.map_rows(|r| r.reduce_noncommutative(0.0, |a, b| cond(b.eq(0.0), a, b)));
    let function = call_of(f, &(M,)).expect("it is made").function;
    let targets = Targets { cpu: false, cuda: true };
    let compiled = compile_for("t", vec![function], targets).expect("it compiles");
    let warnings = &compiled.functions[0].warnings;
    let explained = explain::report(&compiled, &explain::Options::default()).expect("it is explained");
    let said = |what: &str| {
        let of = warnings.iter().chain(explained.functions.iter().flat_map(|f| &f.warnings));
        let found: Vec<_> = of.filter(|w| w.contains(what)).collect();
        let is_named = |w: &&String| w.contains(&format!("(messages.rs:{line})"));
        assert!(!found.is_empty() && found.iter().all(is_named), "{found:?}");
    };
    said("is a sequential loop");
    said("each thread of a GPU computes it alone");
}
