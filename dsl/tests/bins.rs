//! Elements that are joined in bins: every type and operator whose order is free, beside a loop in Rust, everywhere.

mod common;

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::core::{Function, Op};
use arraygpu_compiler::driver::{self, Targets};
use arraygpu_dsl::Elem;
use arraygpu_dsl::prelude::*;
use common::{call, everywhere, lower, recorded, scalar, vector};

/// Around the edges of warps, blocks and the chunks at which parts are cut.
const LENGTHS: [usize; 9] = [0, 1, 2, 255, 256, 257, 4095, 4097, 8200];

/// Whether a function has bins, and no sort.
fn has_bins(f: &Function) -> bool {
    let has = |is: &dyn Fn(&Op) -> bool| f.graph.reachable(f.roots()).into_iter().any(|n| is(f.graph.op(n)));
    has(&|op| matches!(op, Op::Bins { .. })) && !has(&|op| matches!(op, Op::Argsort(_)))
}

fn destinations(n: usize, bins: i64) -> Vec<i64> {
    (0..n as i64).map(|i| (i * i + i / 7 * 3) % (bins + 3) - 1).collect()
}

/// What a loop makes of elements with their destinations.
fn joined<T: Copy>(x: &[T], i: &[i64], bins: i64, init: T, f: impl Fn(T, T) -> T) -> Vec<T> {
    let mut out = vec![init; bins as usize];
    for (x, i) in x.iter().zip(i).filter(|(_, i)| (0..bins).contains(i)) {
        out[*i as usize] = f(out[*i as usize], *x);
    }
    out
}

macro_rules! integers {
    ($($test:ident $ty:ident;)*) => { $(
        #[test]
        fn $test() {
            let f = |x: VExp<$ty>, i: VExp<i64>, n: SExp<i64>| {
                let i = i.ignored();
                (
                    x.scatter_reduce(n, i, 7, |a, b| b + a),
                    x.scatter_reduce(n, i, 100, |a, b| a.min(b)),
                    x.scatter_reduce(n, i, 3, |a, b| a.max(b)),
                    x.scatter_reduce(n, i, 127, |a, b| a & b),
                    x.scatter_reduce(n, i, 1, |a, b| a | b),
                    x.scatter_reduce(n, i, 5, |a, b| a ^ b),
                )
            };
            let f = lower(["x", "i", "n"], ["sum", "least", "most", "all", "any", "odd"], f);
            assert!(has_bins(&f));
            for n in LENGTHS {
                let x: Vec<$ty> = (0..n as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as $ty).collect();
                let bins = 5 + (n as i64 % 3) * 300;
                let i = destinations(n, bins);
                let args = [vector(&x), vector(&i), Value::Scalar(bins.lit())];
                let found = if n == 257 { everywhere(&f, &args) } else { call(&f, &args) };
                assert_eq!(found[0], vector(&joined(&x, &i, bins, 7, $ty::wrapping_add)), "{n}");
                assert_eq!(found[1], vector(&joined(&x, &i, bins, 100, Ord::min)), "{n}");
                assert_eq!(found[2], vector(&joined(&x, &i, bins, 3, Ord::max)), "{n}");
                assert_eq!(found[3], vector(&joined(&x, &i, bins, 127, |a, b| a & b)), "{n}");
                assert_eq!(found[4], vector(&joined(&x, &i, bins, 1, |a, b| a | b)), "{n}");
                assert_eq!(found[5], vector(&joined(&x, &i, bins, 5, |a, b| a ^ b)), "{n}");
            }
        }
    )* };
}

integers! {
    bytes u8;
    signed_bytes i8;
    short_words u16;
    signed_short_words i16;
    words u32;
    signed_words i32;
    long_words u64;
    signed_long_words i64;
}

/// -0 is below +0, and a NaN stays, whatever its sign.
#[test]
fn extremes_of_floats_are_those_of_reductions() {
    let x = [1.5f32, -0.0, 0.0, f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -2.5, 1e-40, -1e-40];
    let f = |x: VExp<f32>, i: VExp<i64>| {
        let halves = x.cast::<f16>();
        let doubles = x.cast::<f64>();
        let least = x.scatter_reduce(8, i, 0.5, |a, b| a.min(b));
        let most = x.scatter_reduce(8, i, -0.0, |a, b| b.max(a));
        let other = halves.scatter_reduce(8, i, f16::from_f32(-0.5), |a, b| a.max(b)).cast::<f32>();
        (least, most, other, doubles.scatter_reduce(8, i, 0.25, |a, b| a.min(b)))
    };
    let f = lower(["x", "i"], ["least", "most", "halves", "doubles"], f);
    assert!(has_bins(&f));
    for shift in 0..2 {
        let n = 300;
        let own: Vec<f32> = (0..n).map(|i| x[(i * 7 + i / 10 + shift) % x.len()]).collect();
        let i: Vec<i64> = (0..n as i64).map(|i| (i * 5 + i / 8) % 7).collect();
        let found = everywhere(&f, &[vector(&own), vector(&i)]);
        for k in 0..8 {
            let part: Vec<f32> = own.iter().zip(&i).filter(|(_, i)| **i == k).map(|(x, _)| *x).collect();
            let wide: Vec<f64> = part.iter().map(|x| f64::from(*x)).collect();
            let of = |part: &[f32], init: f32, least: bool| {
                arraygpu_dsl::eval(
                    move |x: VExp<f32>, init: SExp<f32>| {
                        x.reduce(init, |a, b| if least { a.min(b) } else { a.max(b) })
                    },
                    (part, init),
                )
                .expect("it runs")
            };
            let least: f64 = arraygpu_dsl::eval(|x: VExp<f64>| x.reduce(0.25, |a, b| a.min(b)), (&wide,))
                .expect("it runs");
            let element = |v: &Value| match v {
                Value::Vector(v) => v[k as usize].canonical(),
                _ => unreachable!("a vector"),
            };
            assert_eq!(element(&found[0]), of(&part, 0.5, true).lit().canonical(), "{k}");
            assert_eq!(element(&found[1]), of(&part, -0.0, false).lit().canonical(), "{k}");
            assert_eq!(element(&found[3]), least.lit().canonical(), "{k}");
        }
    }
}

#[test]
fn all_elements_may_go_to_one_bin_or_to_none() {
    let f = lower(["i", "n"], ["ignored", "clamped"], |i: VExp<i64>, n: SExp<i64>| {
        (i.ignored().histogram(n), i.clamped().histogram(n))
    });
    for (n, bins) in [(0, 0i64), (300, 0), (300, 1), (300, 13_000), (5000, 3)] {
        for place in [-1i64, 0, 2, 1 << 40] {
            let i = vec![place; n];
            let args = [vector(&i), Value::Scalar(bins.lit())];
            let found = if bins == 1 { everywhere(&f, &args) } else { call(&f, &args) };
            let mut wanted = vec![0i64; bins as usize];
            if (0..bins).contains(&place) {
                wanted[place as usize] = n as i64;
            }
            assert_eq!(found[0], vector(&wanted), "{n} of {place}");
            wanted.fill(0);
            if bins > 0 {
                wanted[place.min(bins - 1).max(0) as usize] = n as i64;
            }
            assert_eq!(found[1], vector(&wanted), "{n} of {place}");
        }
    }
}

#[test]
fn scatters_take_the_last_element() {
    let f = lower(["x", "i", "n"], ["last", "counts"], |x: VExp<f32>, i: VExp<i64>, n: SExp<i64>| {
        (x.scatter(n, i.ignored(), -1.0), i.ignored().histogram(n))
    });
    let (n, bins) = (700, 500);
    let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let i: Vec<i64> = (0..n as i64).map(|i| i * i * 31 % (bins + 5) / 3 * 3).collect();
    let found = everywhere(&f, &[vector(&x), vector(&i), Value::Scalar(bins.lit())]);
    let last = joined(&x, &i, bins, -1.0, |_, x| x);
    assert_eq!(found, [vector(&last), vector(&joined(&vec![1i64; n], &i, bins, 0, |a, b| a + b))]);
}

#[test]
fn the_lowest_element_outside_is_recorded_once_for_the_call() {
    let f = lower(["x"], "r", |x: VExp<u8>| {
        let counts = x.cast::<i64>().histogram(3);
        generate(4, |k| cond(k.gt(9), counts.at(k), 0))
    });
    let x: Vec<u8> = (0..5000).map(|i| if i > 4200 && i % 2 == 0 { 3 } else { 1 }).collect();
    assert!(recorded(&f, &[vector(&x)]).contains("element 4202"));
    call(&f, &[vector(&x[..4000])]);
}

/// Only operators whose order is free have bins: a sum of floats keeps the order of 5.1.
#[test]
fn other_operators_are_sorted() {
    let sums = lower(["x", "i"], "r", |x: VExp<f32>, i: VExp<i64>| x.scatter_reduce(3, i, 0.0, |a, b| a + b));
    let first = lower(["x", "i"], "r", |x: VExp<i32>, i: VExp<i64>| x.scatter_reduce(3, i, 0, |a, _| a));
    let twice = lower(["x", "i"], "r", |x: VExp<i32>, i: VExp<i64>| x.scatter_reduce(3, i, 0, |a, _| a + a));
    for f in [sums, first, twice] {
        assert!(!has_bins(&f), "{f}");
    }
}

#[test]
fn bins_stand_outside_of_closures() {
    let error = common::refused(["x"], |x: VExp<i64>| x.map(|k| x.map(|i| i + k).histogram(3).sum()));
    assert!(error.to_string().contains("a scatter or a histogram inside of a closure"), "{error}");
}

/// As many parts as bins: the launch that joins the parts has as many elements as the one before, and is another one.
#[test]
fn bins_of_constant_sizes() {
    let f = |s: SExp<i64>| generate(65536i64, |i| (i * 7919 + s) & 15).histogram(16);
    assert_eq!(call(&lower(["s"], "r", f), &[scalar(3i64)]), [vector(&[4096i64; 16])]);
    for targets in [Targets { cpu: true, cuda: false }, Targets { cpu: false, cuda: true }] {
        driver::compile_for("t", vec![lower(["s"], "r", f)], targets).expect("it compiles");
    }
}

/// Rows are reduced by a launch of their own before their sums go to bins or destinations.
#[test]
fn sums_of_rows_go_to_destinations() {
    let binned = |m: MExp<f32>, i: VExp<i64>| m.sum_rows().scatter_reduce(4, i, -1.0, |a, b| a.max(b));
    let stored = |m: MExp<f32>, i: VExp<i64>| m.sum_rows().scatter_unique(4, i, -1.0);
    let m = Value::Array(vec![3, 70], (0..210).map(|i| ((i % 17) as f32).lit()).collect());
    for f in [lower(["m", "i"], "r", binned), lower(["m", "i"], "r", stored)] {
        everywhere(&f, &[m.clone(), vector(&[2i64, 0, 3])]);
        let targets = Targets { cpu: false, cuda: true };
        let compiled = driver::compile_for("t", vec![f], targets).expect("it compiles");
        let variants = compiled.kernels.iter().flat_map(|k| k.gpu_variants());
        let strategies: Vec<String> = variants.map(|v| format!("{:?}", v.strategy)).collect();
        assert!(strategies.iter().any(|s| s.contains("Rows")), "{strategies:?}");
    }
}

/// The elements of a matrix by their numbers: rows may have gaps between them.
#[test]
fn bins_of_matrices_with_gaps() {
    let flat = |m: MExp<u8>| {
        let c = m.cols();
        generate(m.rows() * c, |t| m.at(t / c, t % c).cast::<i64>())
    };
    let counted = lower(["m"], "r", |m: MExp<u8>| flat(m).histogram(256));
    let least = lower(["m", "x"], "r", |m: MExp<u8>, x: VExp<i32>| {
        x.scatter_reduce(256, flat(m), 9, |a, b| a.min(b))
    });
    let stored = lower(["m", "x"], "r", |m: MExp<u8>, x: VExp<i32>| x.scatter_unique(256, flat(m), 0));
    let bytes: Vec<u8> = (0..91u32).map(|i| (i * 37 % 256) as u8).collect();
    let m = Value::Array(vec![7, 13], bytes.iter().map(|b| b.lit()).collect());
    let x = vector(&(0..91i32).collect::<Vec<_>>());
    let mut counts = vec![0i64; 256];
    bytes.iter().for_each(|b| counts[usize::from(*b)] += 1);
    assert_eq!(everywhere(&counted, std::slice::from_ref(&m)), [vector(&counts)]);
    everywhere(&least, &[m.clone(), x.clone()]);
    everywhere(&stored, &[m, x]);
}
