//! Records: what the handles of `#[derive(Record)]` mean, in the reference interpreter.

use arraygpu_dsl::example::{call_parts, matrix, scalar, tensor, vector};
use arraygpu_dsl::prelude::*;
use arraygpu_dsl::{VExp, derived};

#[derive(Record)]
#[record(crate = arraygpu_dsl)]
struct Body {
    x: f32,
    v: f32,
}

/// A record with a record, a fixed array and several element types in it.
#[derive(Clone, Copy, Record)]
#[record(crate = arraygpu_dsl)]
struct Star {
    at: [f64; 2],
    kind: i32,
    light: Light,
}

#[derive(Clone, Copy, Record)]
#[record(crate = arraygpu_dsl)]
struct Light {
    bright: f32,
    is_on: bool,
}

/// A record with a type parameter and a constant.
#[derive(Record)]
#[record(crate = arraygpu_dsl)]
struct Series<T: Float, const N: usize> {
    terms: [T; N],
}

const SUN: Star = Star { at: [0.5, -1.0], kind: 3, light: Light { bright: 2.0, is_on: true } };

#[test]
fn fields_are_read_and_packed() {
    let step =
        |dt: SExp<f32>, bodies: VExp<Body>| bodies.map(|b| BodyFields { x: b.x + dt * b.v, ..*b }.pack());
    let args = [scalar(0.5f32), vector(&[1.0f32, 2.0]), vector(&[4.0f32, 6.0])];
    assert_eq!(call_parts(step, args.clone()), [vector(&[3.0f32, 5.0]), vector(&[4.0f32, 6.0])]);
    // a closure may give the fields themselves, and arrays have fields, too
    let same = |dt: SExp<f32>, bodies: VExp<Body>| {
        BodyVectors { x: bodies.x + dt * bodies.v, v: bodies.map(|b| BodyFields { ..*b }).v }.pack()
    };
    assert_eq!(call_parts(same, args.clone()), call_parts(step, args));
}

#[test]
fn leaves_of_nested_records_are_in_order() {
    let names: Vec<String> =
        derived::leaves_of_item::<Star>().iter().map(|leaf| format!("{leaf:?}")).collect();
    let expected = [
        "at_0\", ty: F64",
        "at_1\", ty: F64",
        "kind\", ty: I32",
        "light_bright\", ty: F32",
        "light_is_on\", ty: Bool",
    ];
    assert_eq!(names.len(), expected.len());
    for (name, expected) in names.iter().zip(expected) {
        assert!(name.contains(expected), "{name}");
    }
    let f = |n: SExp<i64>| {
        generate(n, |i| {
            let sun = lit(SUN);
            let light = LightFields { bright: sun.light.bright + i.cast::<f32>(), ..*sun.light }.pack();
            StarFields { at: [sun.at[1], sun.at[0]], light, ..*sun }.pack()
        })
    };
    let expected = [
        vector(&[-1.0f64, -1.0]),
        vector(&[0.5f64, 0.5]),
        vector(&[3i32, 3]),
        vector(&[2.0f32, 3.0]),
        vector(&[true, true]),
    ];
    assert_eq!(call_parts(f, [scalar(2i64)]), expected);
}

#[test]
fn generic_records() {
    let f = |x: VExp<Series<f64, 3>>, y: VExp<f64>| {
        x.zip_with(y, |s, y| s.terms[0] + y * (s.terms[1] + y * s.terms[2]))
    };
    let args = [vector(&[1.0f64]), vector(&[2.0f64]), vector(&[3.0f64]), vector(&[10.0f64])];
    assert_eq!(call_parts(f, args), [vector(&[321.0f64])]);
}

/// x and v of three bodies.
fn three() -> [arraygpu_compiler::core::interp::Value; 2] {
    [vector(&[1.0f32, 2.0, 4.0]), vector(&[10.0f32, 20.0, 40.0])]
}

#[test]
fn every_combinator_takes_records() {
    let joined = |a: SExp<Body>, b: SExp<Body>| BodyFields { x: a.x + b.x, v: a.v.max(b.v) }.pack();
    let all = [7.0f32, 40.0].map(scalar);
    let reduced = |b: VExp<Body>| b.reduce(Body { x: 0.0, v: f32::NEG_INFINITY }, joined);
    assert_eq!(call_parts(reduced, three()), all);
    let folded = |b: VExp<Body>| b.fold(Body { x: 0.0, v: f32::NEG_INFINITY }, joined);
    assert_eq!(call_parts(folded, three()), all);
    let counted = |b: VExp<Body>| b.fold(lit(0i64), |n, b| cond(b.x.gt(1.5), n + 1, n));
    assert_eq!(call_parts(counted, three()), [scalar(2i64)]);
    // with another array, as a tuple
    let weighted = |b: VExp<Body>, w: VExp<f32>| {
        (b, w).reduce((Body { x: 0.0, v: 0.0 }, 0.0), |(a, s), (b, t)| (joined(a, b), s + t))
    };
    let [x, v] = three();
    let args = [x.clone(), v.clone(), vector(&[1.0f32, 1.0, 1.0])];
    assert_eq!(call_parts(weighted, args), [7.0f32, 40.0, 3.0].map(scalar));
    // reads, gathers, slices, reversals, updates
    let second = |b: VExp<Body>| b.at(1);
    assert_eq!(call_parts(second, three()), [2.0f32, 20.0].map(scalar));
    let gathered = |b: VExp<Body>, i: VExp<i64>| b.gather(i);
    let args = [x.clone(), v.clone(), vector(&[2i64, 0])];
    assert_eq!(call_parts(gathered, args), [vector(&[4.0f32, 1.0]), vector(&[40.0f32, 10.0])]);
    let moved = |b: VExp<Body>| b.slice_by(0, b.len(), 2).reverse().materialize();
    assert_eq!(call_parts(moved, three()), [vector(&[4.0f32, 1.0]), vector(&[40.0f32, 10.0])]);
    let replaced = |b: VExp<Body>| b.with_slice(2, b.slice(0, 1));
    assert_eq!(call_parts(replaced, three()), [vector(&[1.0f32, 2.0, 1.0]), vector(&[10.0f32, 20.0, 10.0])]);
    let filled = |n: SExp<i64>| fill(n, Body { x: 1.0, v: 2.0 });
    assert_eq!(call_parts(filled, [scalar(2i64)]), [vector(&[1.0f32, 1.0]), vector(&[2.0f32, 2.0])]);
    // pairs
    let pairs = |b: VExp<Body>| b.outer(b, |a, b| a.x * b.v).sum_rows();
    assert_eq!(call_parts(pairs, three()), [vector(&[70.0f32, 140.0, 280.0])]);
}

#[test]
fn choices_and_names() {
    let f = |c: SExp<bool>, a: SExp<Body>, b: SExp<Body>| slet(cond(c, a, b), |z| z.x * z.v);
    let args = |c| [scalar(c), scalar(1.0f32), scalar(2.0f32), scalar(3.0f32), scalar(4.0f32)];
    assert_eq!(call_parts(f, args(true)), [scalar(2.0f32)]);
    assert_eq!(call_parts(f, args(false)), [scalar(12.0f32)]);
    let g = |c: SExp<bool>, a: SExp<Body>| cond(c, a, Body { x: 0.0, v: -1.0 });
    assert_eq!(call_parts(g, [scalar(false), scalar(1.0f32), scalar(1.0f32)]), [0.0f32, -1.0].map(scalar));
}

#[test]
fn loops_and_iterations() {
    let step = |b: SExp<Body>| BodyFields { x: b.x + b.v, v: b.v * 0.5 }.pack();
    let looped = |b: SExp<Body>| loop_for(3, b, |_, b| step(b));
    let expected = [1.0f32 + 8.0 + 4.0 + 2.0, 1.0].map(scalar);
    assert_eq!(call_parts(looped, [1.0f32, 8.0].map(scalar)), expected);
    let constant =
        || loop_while((lit(Body { x: 1.0, v: 8.0 }), 0i64), |(_, i)| i.lt(3), |(b, i)| (step(b), i + 1)).0;
    assert_eq!(call_parts(constant, []), expected);
    let iterated = |k: SExp<i64>, b: VExp<Body>| b.iterate(k, |b| b.map(step));
    let args = [scalar(3i64), vector(&[1.0f32]), vector(&[8.0f32])];
    assert_eq!(call_parts(iterated, args.clone()), [vector(&[15.0f32]), vector(&[1.0f32])]);
    let with_another =
        |k: SExp<i64>, b: VExp<Body>| iterate(k, (b, b.x), |(b, sum)| (b.map(step), sum + b.x));
    let expected = [vector(&[15.0f32]), vector(&[1.0f32]), vector(&[1.0f32 + 1.0 + 9.0 + 13.0])];
    assert_eq!(call_parts(with_another, args), expected);
}

#[test]
fn matrices_and_volumes() {
    let x = [matrix(&[[1.0f32, 2.0], [3.0, 4.0]]), matrix(&[[1.0f32, 1.0], [0.0, 2.0]])];
    let rows = |m: MExp<Body>| m.map_rows(|r| r.x.dot(r.v));
    assert_eq!(call_parts(rows, x.clone()), [vector(&[3.0f32, 8.0])]);
    let row_sums = |m: MExp<Body>| {
        m.reduce_rows(Body { x: 0.0, v: 0.0 }, |a, b| BodyFields { x: a.x + b.x, v: a.v + b.v }.pack())
    };
    assert_eq!(call_parts(row_sums, x.clone()), [vector(&[3.0f32, 7.0]), vector(&[2.0f32, 2.0])]);
    let read = |m: MExp<Body>| m.transpose().at(1, 0).x;
    assert_eq!(call_parts(read, x.clone()), [scalar(2.0f32)]);
    let made = |n: SExp<i64>| generate2(n, n, |i, j| BodyFields { x: i.cast(), v: j.cast() }.pack()).row(1);
    assert_eq!(call_parts(made, [scalar(2i64)]), [vector(&[1.0f32, 1.0]), vector(&[0.0f32, 1.0])]);
    let volume = |t: TExp<Body>| t.permute([2, 1, 0]).map_planes(|p| p.x.sum());
    let args = [tensor(&[[[1.0f32, 2.0]], [[3.0, 4.0]]]), tensor(&[[[0.0f32, 0.0]], [[0.0, 0.0]]])];
    assert_eq!(call_parts(volume, args), [vector(&[4.0f32, 6.0])]);
}

#[test]
fn parameters_and_results_have_a_name_for_each_field() {
    let package = Package::new("p").function(
        "f",
        ["stars", "dt"],
        ["next", "best"],
        |stars: VExp<Star>, dt: SExp<f64>| {
            let next = stars.map(|s| StarFields { at: [s.at[0] + dt, s.at[1]], ..*s }.pack());
            (next, stars.at(0).light)
        },
    );
    let functions = package.functions().expect("it lowers");
    let params: Vec<&str> = functions[0].params.iter().map(|p| p.name.as_str()).collect();
    let fields = ["at_0", "at_1", "kind", "light_bright", "light_is_on"];
    let named = |of: &str| fields.map(|field| format!("{of}_{field}")).to_vec();
    assert_eq!(params, [named("stars"), vec!["dt".into()]].concat());
    let results: Vec<&str> = functions[0].results.iter().map(|r| r.name.as_str()).collect();
    assert_eq!(results, [named("next"), vec!["best_bright".into(), "best_is_on".into()]].concat());
    // a name for each value, not for each field
    let wrong = Package::new("p").function("f", ["stars"], ["a", "b"], |stars: VExp<Star>| stars);
    let message = wrong.functions().expect_err("one value has two names").to_string();
    assert!(message.contains("f returns 1 value, but there are 2 names for results"), "{message}");
}

#[test]
#[should_panic(expected = "record p0: p0_x, p0_v")]
fn fields_of_a_parameter_have_one_shape() {
    let f = |bodies: VExp<Body>| bodies.x.sum();
    call_parts(f, [vector(&[1.0f32]), vector(&[1.0f32, 2.0])]);
}

#[test]
#[should_panic(expected = "pack: p0, p1: the lengths 1 and 2 differ")]
fn fields_that_are_packed_have_one_shape() {
    let f = |x: VExp<f32>, v: VExp<f32>| BodyVectors { x, v }.pack();
    call_parts(f, [vector(&[1.0f32]), vector(&[1.0f32, 2.0])]);
}

/// The example of docs/language.md.
#[test]
fn a_step_of_bodies() {
    #[derive(Record)]
    #[record(crate = arraygpu_dsl)]
    struct Body {
        x: f32,
        v: f32,
        mass: f32,
    }

    fn step(bodies: VExp<Body>, pull: VExp<f32>, dt: SExp<f32>) -> (VExp<Body>, SExp<f32>) {
        let next = bodies.zip_with(pull, |b, pull| {
            let v = b.v + dt * pull / b.mass;
            BodyFields { x: b.x + dt * v, v, ..*b }.pack()
        });
        (next, (next.mass * next.v).sum())
    }

    let args = [1.0f32, 3.0, 2.0, 4.0].map(|x| vector(&[x]));
    let args: Vec<_> = args.into_iter().chain([scalar(0.5f32)]).collect();
    let next = [3.0f32, 4.0, 2.0].map(|x| vector(&[x]));
    let expected: Vec<_> = next.into_iter().chain([scalar(8.0f32)]).collect();
    assert_eq!(call_parts(step, args), expected);
}
