//! Words of the language joined in one program, as `docs/language.md` lets one expect: on the interpreter before and
//! after the passes, and in every version of every kernel on a simulated GPU.

mod common;

use arraygpu_dsl::prelude::*;
use common::{everywhere, lower, matrix, scalar, vector};

#[derive(Clone, Copy, Record)]
#[record(crate = arraygpu_dsl)]
struct Body {
    x: f32,
    v: f32,
}

#[derive(Clone, Copy, Record)]
#[record(crate = arraygpu_dsl)]
struct Best {
    value: f32,
    index: i64,
}

/// A record with arrays in it.
#[derive(Clone, Copy, Record)]
#[record(crate = arraygpu_dsl)]
struct Mat2 {
    a: [[f32; 2]; 2],
}

/// A record with a record in it.
#[derive(Clone, Copy, Record)]
#[record(crate = arraygpu_dsl)]
struct Star {
    at: [f32; 2],
    body: Body,
}

const ONE: Mat2 = Mat2 { a: [[1.0, 0.0], [0.0, 1.0]] };
const NONE: Best = Best { value: f32::INFINITY, index: -1 };

fn times(p: SExp<Mat2>, q: SExp<Mat2>) -> SExp<Mat2> {
    let entry = |i: usize, j: usize| p.a[i][0] * q.a[0][j] + p.a[i][1] * q.a[1][j];
    let row = |i| [entry(i, 0), entry(i, 1)];
    Mat2Fields { a: [row(0), row(1)] }.pack()
}

fn better(a: SExp<Best>, b: SExp<Best>) -> SExp<Best> {
    if_else(b.value.lt(a.value) | (b.value.eq(a.value) & b.index.lt(a.index)), || b, || a)
}

fn fall(b: SExp<Body>) -> SExp<Body> {
    BodyFields { x: b.x + 0.5 * b.v, v: b.v * 0.5 }.pack()
}

const X: [f32; 5] = [1.0, 2.0, 3.0, 4.0, 5.0];
const V: [f32; 5] = [2.0, -4.0, 8.0, 0.0, 1.0];

fn bodies() -> [arraygpu_compiler::core::interp::Value; 2] {
    [vector(&X), vector(&V)]
}

#[test]
fn records_in_ordered_reductions() {
    let f = lower(["m"], "r", |m: VExp<Mat2>| m.reduce_noncommutative(ONE, times));
    let column = |c: [f32; 3]| vector(&c);
    let args =
        [column([1.0, 1.0, 2.0]), column([1.0, 0.0, 1.0]), column([0.0, 1.0, 0.0]), column([1.0, 1.0, 1.0])];
    // (1 1; 0 1) (1 0; 1 1) (2 1; 0 1)
    let expected = [4.0f32, 3.0, 2.0, 2.0].map(scalar);
    assert_eq!(everywhere(&f, &args), expected);
    // beside an array of numbers, and of rows
    let f = lower(["m", "w"], ["r", "s"], |m: VExp<Mat2>, w: VExp<f32>| {
        (m, w).reduce_noncommutative((ONE, 0.0f32), |(p, a), (q, b)| (times(p, q), a + b))
    });
    let mut more = args.to_vec();
    more.push(column([1.0, 2.0, 3.0]));
    assert_eq!(everywhere(&f, &more)[..4], expected);
    let f = lower(["m"], "r", |m: MExp<Body>| {
        m.map_rows(|r| {
            let last = |a: SExp<Body>, b: SExp<Body>| if_else(b.v.eq(0.0), || a, || b);
            r.reduce_noncommutative(Body { x: 0.0, v: 0.0 }, last)
        })
    });
    let args =
        [matrix(&[[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]), matrix(&[[1.0f32, 2.0, 0.0], [0.0, 0.0, 0.0]])];
    assert_eq!(everywhere(&f, &args), [vector(&[2.0f32, 0.0]), vector(&[2.0f32, 0.0])]);
}

#[test]
fn records_as_states_of_iterations() {
    let f = lower(["k", "b"], "r", |k: SExp<i64>, b: VExp<Body>| b.iterate(k, |b| b.map(fall)));
    let args = [vec![scalar(2i64)], bodies().to_vec()].concat();
    everywhere(&f, &args);
    let f = lower(["b"], ["r", "k"], |b: VExp<Body>| {
        iterate_while(30, b, |b| b.v.abs().max().gt(1.0), |b| b.map(fall)).check_every(2)
    });
    assert_eq!(everywhere(&f, &bodies())[2], scalar(4i64));
    let f = lower(["b"], "r", |b: VExp<Body>| iterate_collect(2, b, |b| b.map(fall)));
    let found = everywhere(&f, &bodies());
    assert_eq!(found[1], matrix(&[V.map(|v| v * 0.5), V.map(|v| v * 0.25)]));
    let f = lower(["b"], "r", |b: SExp<Body>| iterate_collect(3, b, fall));
    assert_eq!(everywhere(&f, &[1.0f32, 8.0].map(scalar))[1], vector(&[4.0f32, 2.0, 1.0]));
    // lists of arrays of records, beside a record
    let f = lower(["b", "c", "s"], ["x", "y", "z"], |b: VExp<Body>, c: VExp<Body>, s: SExp<Body>| {
        let ([b, c], s) = iterate_indexed(2, ([b, c], s), |t, ([b, c], s)| {
            (
                [c.map(fall), b.zip_with(c, |b, c| cond(b.x.lt(c.x), b, c))],
                fall(cond(t.eq(0), s, Body { x: 1.0, v: 1.0 })),
            )
        });
        (b, c, s)
    });
    let args = [&bodies()[..], &bodies().map(|b| b), &[1.0f32, 8.0].map(scalar)].concat();
    everywhere(&f, &args);
}

/// The initial values of a reduction of tuples, and arrays of tuples, may not depend on the states.
#[test]
fn reductions_of_tuples_inside_of_iterations() {
    let f = lower(["x", "w"], "r", |x: VExp<f32>, w: VExp<f32>| {
        x.iterate(2, |x| {
            let (sum, most) = (x, w).reduce((0.0, -1.0), |(a, b), (c, d)| (a + c, b.max(d)));
            // only the initial value depends on the state
            let (least, _) = (w, w * 2.0).fold((sum, 0i64), |(a, k), (c, d)| (a.min(c) + d, k + 1));
            x * 0.5 + most - least
        })
    });
    everywhere(&f, &[vector(&X), vector(&V)]);
    let f = lower(["b", "k"], "r", |b: VExp<Body>, k: SExp<i64>| {
        b.iterate(k, |all| {
            all.map(|b| {
                let pulls = all.map(|o| (o.x - b.x, o.v * b.v));
                let (x, v) = pulls.reduce((0.0, 0.0), |(a, b), (c, d)| (a + c, b + d));
                let none = Body { x: 0.0, v: 0.0 };
                let last = all.reduce_noncommutative(none, |a, b| if_else(b.v.eq(0.0), || a, || b));
                BodyFields { x: b.x + 0.125 * x + last.x, v: b.v - 0.125 * v }.pack()
            })
        })
    });
    everywhere(&f, &[&bodies()[..], &[scalar(2i64)]].concat());
}

#[test]
fn folds_with_records() {
    let f = lower(["x"], "r", |x: VExp<f32>| {
        x.fold(Best { value: 0.0, index: 0 }, |best, x| {
            BestFields { value: best.value * 0.5 + x, index: best.index + 1 }.pack()
        })
    });
    assert_eq!(everywhere(&f, &[vector(&X)])[1], scalar(5i64));
    // a record inside of a tuple of states
    let f = lower(["b", "w"], ["r", "s"], |b: VExp<Body>, w: VExp<f32>| {
        (b, w).fold((Body { x: 0.0, v: 0.0 }, 0.0f32), |(sum, s), (b, w)| {
            (BodyFields { x: sum.x + w * b.x, v: sum.v.max(b.v) }.pack(), s + w)
        })
    });
    let args = [&bodies()[..], &[vector(&[1.0f32, 0.0, 2.0, 0.0, 1.0])]].concat();
    assert_eq!(everywhere(&f, &args), [scalar(12.0f32), scalar(8.0f32), scalar(4.0f32)]);
}

#[test]
fn rows_of_records_and_records_of_rows() {
    let f = lower(["m"], "r", |m: MExp<f32>| {
        m.map_rows(|r| BestFields { value: r.max(), index: r.argmax() }.pack())
    });
    let m = matrix(&[[1.0f32, 7.0, 3.0], [9.0, 5.0, 6.0]]);
    assert_eq!(everywhere(&f, std::slice::from_ref(&m)), [vector(&[7.0f32, 9.0]), vector(&[1i64, 0])]);
    let f = lower(["m"], "r", |m: MExp<f32>| {
        let all = m.zip_with(generate2(m.rows(), m.cols(), |_, j| j), |value, index| {
            BestFields { value, index }.pack()
        });
        (all.reduce_rows(NONE, better), all.reduce_cols(NONE, better), all.reduce(NONE, better)).2
    });
    assert_eq!(everywhere(&f, std::slice::from_ref(&m)), [scalar(1.0f32), scalar(0i64)]);
    let f = lower(["m"], "r", |m: MExp<Body>| m.map_rows(|r| (r.x * r.v).sum() / r.v.sum()));
    everywhere(&f, &[m.clone(), m.clone()]);
    let f = lower(["m"], ["r", "s"], |m: MExp<Body>| {
        m.map_cols(|r| (r.at(r.x.argmin()), r.fold(0.0f32, |a, b| a * b.v + b.x)))
    });
    everywhere(&f, &[m.clone(), m]);
}

#[test]
fn fields_of_the_least_element() {
    let f = lower(["b"], ["r", "i"], |b: VExp<Body>| (b.at(b.v.argmin()), b.x.argmax()));
    assert_eq!(everywhere(&f, &bodies()), [scalar(2.0f32), scalar(-4.0f32), scalar(4i64)]);
    let f = lower(["b"], ["lo", "hi", "mean", "std"], |b: VExp<Body>| {
        let (lo, hi) = b.x.minmax();
        (lo, hi, b.v.mean(), (b.x + b.v).std(1))
    });
    everywhere(&f, &bodies());
}

#[test]
fn choices_of_records() {
    let f = lower(["b", "c"], ["r", "s"], |b: VExp<Body>, c: VExp<Body>| {
        b.zip_with(c, |b, c| if_else(b.x.lt(c.v), || (b, 1i64), || (Body { x: 0.0, v: 1.0 }, 2i64)))
    });
    everywhere(&f, &[bodies(), bodies()].concat());
    let f = lower(["s"], "r", |s: VExp<Star>| {
        s.map(|s| {
            let body = if_else(s.at[0].gt(2.0), || s.body, || fall(s.body));
            let [a, b] = s.at;
            StarFields { at: [b, a], body }.pack()
        })
    });
    everywhere(&f, &[bodies(), bodies()].concat());
}

#[test]
fn parts_of_computed_arrays_and_of_matrices_of_records() {
    let f = lower(["b"], ["r", "s", "t"], |b: VExp<Body>| {
        let computed = b.map(fall);
        (computed.sliced(s![1..-1]), b.sliced(s![..; -1]).x, (b.x * 2.0).sliced(s![..; 2]).sum())
    });
    assert_eq!(everywhere(&f, &bodies())[3], scalar(18.0f32));
    let f = lower(["m", "i"], ["r", "s", "t", "u"], |m: MExp<Body>, i: SExp<i64>| {
        (
            m.sliced(s![.., 1..-1]),
            m.sliced(s![i, ..]),
            m.sliced(s![-1, i]),
            m.transpose().map(fall).sliced(s![.., 0]),
        )
    });
    let m = matrix(&[[1.0f32, 7.0, 3.0], [9.0, 5.0, 6.0]]);
    assert_eq!(everywhere(&f, &[m.clone(), m, scalar(1i64)])[4], scalar(5.0f32));
}

#[test]
fn neighbours_of_records() {
    let f = lower(["b"], ["r", "s"], |b: VExp<Body>| {
        let w = b.padded(1, 1, Boundary::Clamp).windows(3);
        let next = w[0].zip_with(w[2], |l, r| BodyFields { x: r.x - l.x, v: 0.5 * (l.v + r.v) }.pack());
        (next.with_slice(0, b.slice(0, 1)), b.reverse().gather(iota(b.len())))
    });
    everywhere(&f, &bodies());
    let f = lower(["m"], "r", |m: MExp<Body>| {
        m.iterate(2, |m| {
            let w = m.windows2(3, 3);
            let inner = w[1][1].zip_with(w[0][1], |a, b| BodyFields { x: a.x + b.v, v: a.v - b.x }.pack());
            m.with_block(1, 1, inner)
        })
    });
    let m =
        matrix(&[[1.0f32, 7.0, 3.0, 1.0], [9.0, 5.0, 6.0, 2.0], [1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 2.0, 1.0]]);
    everywhere(&f, &[m.clone(), m]);
    let f = lower(["b"], "r", |b: VExp<Body>| b.padded(1, 0, Boundary::Constant(Body { x: 1.0, v: 2.0 })));
    assert_eq!(everywhere(&f, &bodies())[1], vector(&[2.0f32, 2.0, -4.0, 8.0, 0.0, 1.0]));
}

#[test]
fn twelve_arrays_and_a_reduction() {
    let f = lower(["x"], ["r", "s"], |x: VExp<f32>| {
        let all = x.zip12(x, x, x, x, x, x, x, x, x, x, x, |a, b, c, d, e, f, g, h, i, j, k, l| {
            (a + b + c + d + e + f, g.max(h) + i * j - k * l)
        });
        (all.0.sum(), (all.0, all.1).reduce((0.0, 0.0), |(a, b), (c, d)| (a + c, b.max(d))).1)
    });
    assert_eq!(everywhere(&f, &[vector(&X)]), [scalar(90.0f32), scalar(5.0f32)]);
}

#[test]
fn loops_over_records() {
    let f = lower(["b"], "r", |b: VExp<Body>| b.map(|b| loop_while(b, |b| b.v.abs().gt(1.0), fall)));
    assert_eq!(everywhere(&f, &bodies())[1], vector(&[1.0f32, -1.0, 1.0, 0.0, 1.0]));
    let f = lower(["b"], ["r", "k"], |b: VExp<Body>| {
        b.map(|b| {
            let states = (b, (0i64, [b, b]));
            let (b, (k, [c, _])) =
                loop_for(b.x.cast::<i64>(), states, |i, (b, (k, [c, d]))| (fall(c), (k + i, [d, b])));
            (cond(c.x.lt(0.0), b, c), k)
        })
    });
    everywhere(&f, &bodies());
}

#[test]
fn products_and_casts_of_complex_numbers() {
    type Parts = [[f32; 2]; 2];
    let (re, im): (Parts, Parts) = ([[1.0, 2.0], [0.0, -1.0]], [[0.0, 1.0], [3.0, 0.5]]);
    let product = |a: Parts, b: Parts| -> Parts {
        [0, 1].map(|i| [0, 1].map(|j| a[i][0] * b[0][j] + a[i][1] * b[1][j]))
    };
    let joined =
        |a: Parts, b: Parts, sign: f32| -> Parts { [0, 1].map(|i| [0, 1].map(|j| a[i][j] + sign * b[i][j])) };
    let square =
        [joined(product(re, re), product(im, im), -1.0), joined(product(re, im), product(im, re), 1.0)];
    let f = lower(["z"], "r", |z: MExp<Complex<f32>>| z.matmul(z));
    let args = [matrix(&re), matrix(&im)];
    assert_eq!(everywhere(&f, &args), square.map(|part| matrix(&part)));
    // of planes, in f64, beside what uses the product
    let f = lower(["z"], ["r", "s"], |z: MExp<Complex<f32>>| {
        let planes = z.cast::<f64>().broadcast_planes(2);
        let product = planes.matmul(planes);
        (product.plane(1).cast::<f32>(), product.norm_sqr().sum())
    });
    assert_eq!(everywhere(&f, &args)[..2], square.map(|part| matrix(&part)));
}
