//! Functions that tests run on the reference interpreter.

use arraygpu_dsl::prelude::*;
use arraygpu_dsl::{Matrix, Volume, eval};

fn rmse(x: VExp<f32>, y: VExp<f32>) -> SExp<f32> {
    ((x - y).map(|d| d * d).sum() / x.len().cast::<f32>()).sqrt()
}

#[test]
fn arguments_and_results_of_every_rank() {
    let (x, y): (Vec<f32>, &[f32]) = (vec![1.0, 2.0], &[1.0, 5.0]);
    assert_eq!(eval(rmse, (&x, y)).expect("it runs"), 4.5f32.sqrt());
    assert_eq!(eval(rmse, (x, [1.0, 5.0])).expect("it runs"), 4.5f32.sqrt());
    assert_eq!(eval(|| lit(3u8), ()).expect("it runs"), 3);
    let all =
        |a: SExp<i64>, x: VExp<bool>, m: MExp<f16>, t: TExp<f64>| (a + 1, (!x, (m + m, t.transpose_all())));
    trait Turned {
        fn transpose_all(self) -> Self;
    }
    impl Turned for TExp<f64> {
        fn transpose_all(self) -> Self {
            self.permute([2, 1, 0])
        }
    }
    let half = f16::from_f32;
    let m = Matrix::new([1, 2], vec![half(1.0), half(2.5)]);
    let t = Volume::from([[[1.0, 2.0]]]);
    let (a, (x, (m, t))) = eval(all, (1, [true, false], &m, &t)).expect("it runs");
    assert_eq!((a, x), (2, vec![false, true]));
    assert_eq!(m, [[half(2.0), half(5.0)]]);
    assert_eq!((t.extents(), t[[1, 0, 0]]), ([2, 1, 1], 2.0));
    // no elements
    assert_eq!(
        eval(|m: MExp<f32>| m * 2, (Matrix::new([0, 3], vec![]),)).expect("it runs").extents(),
        [0, 3]
    );
    assert_eq!(eval(|x: VExp<f32>| x.sum(), ([],)).expect("it runs"), 0.0);
}

#[derive(Clone, Debug, PartialEq, Record)]
#[record(crate = arraygpu_dsl)]
struct Body {
    at: [f64; 2],
    kind: i32,
}

fn body(x: f64, y: f64, kind: i32) -> Body {
    Body { at: [x, y], kind }
}

#[test]
fn records_are_values_of_their_structs() {
    let turned = |b: SExp<Body>| BodyFields { at: [b.at[1], b.at[0]], ..*b }.pack();
    assert_eq!(eval(turned, (body(1.0, 2.0, 3),)).expect("it runs"), body(2.0, 1.0, 3));
    let all = [body(1.0, 2.0, 3), body(4.0, 5.0, 6)];
    let f = |b: VExp<Body>, k: SExp<i64>| (b.reverse(), b.at(k).trace("b").kind, b.kind.sum());
    let (back, kind, sum) = eval(f, (&all[..], 1)).expect("it runs");
    assert_eq!((back, kind, sum), (vec![all[1].clone(), all[0].clone()], 6, 9));
    let m = Matrix::new([2, 1], all.to_vec());
    let transposed = eval(|m: MExp<Body>| m.transpose(), (&m,)).expect("it runs");
    assert_eq!((transposed.extents(), &transposed[[0, 1]]), ([1, 2], &all[1]));
    let none: [Body; 0] = [];
    assert_eq!(eval(|b: VExp<Body>| b, (none,)).expect("it runs"), []);
    // complex numbers, and arrays of arrays
    let z = [Complex::new(0.0, 1.0), Complex::new(2.0, 0.0)];
    assert_eq!(eval(|z: VExp<Complex<f32>>| z * z, (z,)).expect("it runs")[0], Complex::new(-1.0, 0.0));
    let swapped = |[x, y]: [VExp<f32>; 2]| [y, x];
    assert_eq!(eval(swapped, ([[1.0], [2.0]],)).expect("it runs"), [[2.0], [1.0]]);
}

#[test]
fn traces_inside_of_iterations_and_nests() {
    let f = |m: MExp<f32>| {
        let moved = m.iterate(2, |m| m.map(|a| (a * 2.0).trace("a")));
        moved.map_rows(|r| r.map(|a| (r * a).sum().trace("s")).sum().trace("row"))
    };
    assert_eq!(eval(f, ([[1.0, 2.0], [0.0, 1.0]],)).expect("it runs"), [144.0, 16.0]);
}

#[test]
fn errors_are_values() {
    let error = eval(rmse, ([1.0, 2.0], [1.0])).expect_err("two lengths");
    assert_eq!(error.code(), Some("E0302"));
    let text = error.to_string();
    assert!(text.starts_with("rmse: operator -: argument1, argument2: the lengths 2 and 1 differ"), "{text}");
    assert!(text.contains("dsl/tests/eval.rs:7:"), "{text}");
    // records, with the line that left them
    let line = line!() + 1;
    let read = |x: VExp<f32>, i: VExp<i64>| i.map(|i| x.at(i));
    let error = eval(read, ([1.0], [0, 1])).expect_err("out of range");
    assert_eq!(error.code(), Some("E0211"));
    let text = error.to_string();
    let said = "a read of argument1 is out of range: the index 1 of 1 element";
    assert!(text.contains(said) && text.contains(&format!("dsl/tests/eval.rs:{line}:")), "{text}");
    let quotient = |a: SExp<i32>, b: SExp<i32>| a / b;
    assert_eq!(eval(quotient, (7, 2)).expect("it runs"), 3);
    let error = eval(quotient, (7, 0)).expect_err("by 0");
    assert!(
        error.code() == Some("E0211") && error.to_string().contains("an integer is divided by zero"),
        "{error}"
    );
    // arrays that are computed, matrices, destinations, and promises, with the numbers of each
    let said = |error: arraygpu_dsl::Error| error.to_string();
    let cell = |m: MExp<f32>, i: SExp<i64>| m.at(i, 0) + m.transpose().at(0, 5);
    let text = said(eval(cell, ([[1.0], [2.0]], -1)).expect_err("out of range"));
    assert!(
        text.contains("a read of argument1 is out of range: the index (-1, 0) of 2 x 1 elements"),
        "{text}"
    );
    let computed = |x: VExp<f32>| x.scan(0.0, |a, b| a + b).at(3);
    let text = said(eval(computed, ([1.0, 2.0],)).expect_err("out of range"));
    assert!(
        text.contains("a read of a computed vector is out of range: the index 3 of 2 elements"),
        "{text}"
    );
    let scattered = |x: VExp<f32>, i: VExp<i64>| x.scatter(4, i, 0.0);
    let text = said(eval(scattered, ([1.0, 2.0], [0, 7])).expect_err("outside"));
    assert!(text.contains("a destination is outside of the result: the index 7 of 4 elements"), "{text}");
    let promised = |x: VExp<f32>| x.filter(|v| v.gt(0.0)).with_len(3).sum();
    let text = said(eval(promised, ([1.0, -1.0, 2.0],)).expect_err("another number"));
    assert!(text.contains("with_len: the number of elements that are kept is 2, not 3"), "{text}");
    // mistakes in the program
    let wrong = eval(|x: VExp<f32>| x.weighted_sum(&[]), ([1.0],)).expect_err("no weights");
    assert_eq!(wrong.code(), Some("E0207"));
    let not_square = eval(|m: MExp<f32>| m + m.transpose(), ([[1.0, 2.0]],)).expect_err("not square");
    assert_eq!(not_square.code(), Some("E0302"));
    // steps of iterations have no name of their own
    let shorter = |x: VExp<f32>| x.iterate(2, |x| x.iterate(1, |x| x.slice(1, x.len())));
    let text = eval(shorter, ([1.0, 2.0, 3.0],)).expect_err("another length").to_string();
    let step =
        ", a step of its iteration, a step of its iteration: iterate: the state before and after a step";
    assert!(text.contains(step) && !text.contains("__step"), "{text}");
}

#[test]
fn traced_values_are_the_same() {
    let plain = |x: VExp<f32>, k: SExp<i64>| x.iterate(k, |x| x.map(|a| a * a) / x.sum());
    let traced = |x: VExp<f32>, k: SExp<i64>| {
        let x = x.trace("x");
        x.iterate(k.trace("k"), |x| x.map(|a| (a.trace("a") * a).trace("square")).trace("squares") / x.sum())
    };
    let x = [1.0, 2.0, 5.0];
    assert_eq!(eval(plain, (x, 2)).expect("it runs"), eval(traced, (x, 2)).expect("it runs"));
    // in packages they are nothing
    let package = |f| Package::new("p").function("f", ["x", "k"], "r", f);
    let core = |package: Package| {
        let mut out = Vec::new();
        package.run_to(["--emit", "core"], &mut out).expect("it is printed");
        String::from_utf8(out)
            .expect("text")
            .lines()
            .map(|l| l.split(" !").next().map(String::from))
            .collect::<Vec<_>>()
    };
    let (plain, traced): (fn(_, _) -> _, fn(_, _) -> _) = (plain, traced);
    assert_eq!(core(package(plain)), core(package(traced)));
}
