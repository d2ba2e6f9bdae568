//! Scans: in the order of semantics 5.18, at every edge of its parts, everywhere.

mod common;

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::driver::{self, Targets};
use arraygpu_compiler::kernel::interp::Order;
use arraygpu_dsl::eval;
use arraygpu_dsl::prelude::*;
use common::{everywhere, gpu, lower, recorded, refused, vector};

/// The lengths around the edges of chunks, rows and tiles, and one of several tiles.
const LENGTHS: [usize; 12] = [0, 1, 3, 4, 5, 127, 128, 129, 640, 8191, 8193, 40000];

fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919) % 1009) as f32 * 0.001 - 0.4).collect()
}

/// The total of an aligned block: neighbours are joined first.
fn total(v: &[f32]) -> f32 {
    match v {
        [one] => *one,
        _ => total(&v[..v.len() / 2]) + total(&v[v.len() / 2..]),
    }
}

/// The sum of the first `count` parts of `size` elements, of which a larger part has `parts`: the largest block
/// comes first, and is joined last.
fn before(v: &[f32], count: usize, size: usize, parts: usize) -> Option<f32> {
    if parts == 1 {
        return None;
    }
    let half = parts / 2;
    if count < half {
        return before(v, count, size, half);
    }
    let (low, rest) = v.split_at(half * size);
    let low = total(low);
    Some(before(rest, count - half, size, half).map_or(low, |rest| low + rest))
}

/// The sum of the elements up to and with i, for fewer elements than a group has: written from the parts before the
/// element, where the interpreter halves whole parts.
fn partial_sum(v: &[f32], i: usize, init: f32) -> f32 {
    let [chunk, row, tile] = [4, 128, 8192].map(|size| i / size * size);
    let both = |a: Option<f32>, b: Option<f32>| a.zip(b).map_or(a.or(b), |(a, b)| Some(a + b));
    let tiles = before(v, i / 8192, 8192, 32);
    let rows = before(&v[tile..], i / 128 % 64, 128, 64);
    let chunks = before(&v[row..], i / 4 % 32, 4, 32);
    let own = both(before(&v[chunk..], i % 4, 1, 4), None);
    // an element is the last part of its chunk
    let own = match i % 4 {
        0 => v[i],
        1 => v[chunk] + v[i],
        2 => own.expect("a pair") + v[i],
        _ => (v[chunk] + v[chunk + 1]) + (v[chunk + 2] + v[i]),
    };
    let outer = both(both(Some(init), tiles), both(rows, chunks));
    outer.expect("there is an initial value") + own
}

#[test]
fn every_partial_sum_has_the_bits_of_its_order() {
    for n in LENGTHS {
        let x = numbers(n);
        let found = eval(|x: VExp<f32>| x.scan(0.25, |a, b| a + b), (&x,)).expect("it runs");
        let step = if n < 1000 { 1 } else { 61 };
        for i in (0..n).step_by(step).chain(n.checked_sub(1)) {
            assert_eq!(found[i].to_bits(), partial_sum(&x, i, 0.25).to_bits(), "{i} of {n}");
        }
    }
}

#[test]
fn sums_are_the_same_everywhere() {
    let f = |x: VExp<f32>| {
        let sums = (x * 0.5).scan(0.0, |a, b| a + b);
        (sums.map(|a| a * 2.0), sums.max())
    };
    let f = lower(["x"], ["sums", "greatest"], f);
    for n in [0, 1, 3, 4, 129, 8193] {
        everywhere(&f, &[vector(&numbers(n))]);
    }
}

#[test]
fn operators_that_are_not_commutative_tuples_and_other_types() {
    // a linear recurrence, and the last element that is not 0
    let f = |a: VExp<f64>, b: VExp<f64>| {
        let (p, q) = (a, b).scan((1.0, 0.0), |(a, b), (c, d)| (a * c, b * c + d));
        (p * 0.5 + q, b.scan(-1.0, |a, b| cond(b.eq(0.0), a, b)))
    };
    let a: Vec<f64> = (0..300).map(|i| f64::from(i % 7) * 0.25 - 0.5).collect();
    let b: Vec<f64> = (0..300).map(|i| f64::from(i % 3) - 1.0).collect();
    let (found, last) = eval(f, (&a, &b)).expect("it runs");
    let (mut y, mut seen) = (0.5, -1.0);
    for i in 0..300 {
        y = a[i] * y + b[i];
        seen = if b[i] == 0.0 { seen } else { b[i] };
        assert!((found[i] - y).abs() < 1e-12, "{i}: {} is not {y}", found[i]);
        assert_eq!(last[i], seen, "{i}");
    }
    everywhere(&lower(["a", "b"], ["y", "last"], f), &[vector(&a), vector(&b)]);
    let counts = |x: VExp<u8>| {
        let is = x.map(|a| a.gt(100).cast::<i64>());
        (is.scan_exclusive(0, |a, b| a + b), is.reverse().scan(5, |a, b| a + b).reverse())
    };
    let x: Vec<u8> = (0..150u32).map(|i| (i * 77) as u8).collect();
    let (before, behind) = eval(counts, (&x,)).expect("it runs");
    for i in 0..150 {
        assert_eq!(before[i], x[..i].iter().filter(|a| **a > 100).count() as i64);
        assert_eq!(behind[i], 5 + x[i..].iter().filter(|a| **a > 100).count() as i64);
    }
    everywhere(&lower(["x"], ["before", "behind"], counts), &[vector(&x)]);
    let half = |x: VExp<f16>| x.scan(f16::from_f32(0.5), |a, b| a + b);
    let x: Vec<f16> = (0..40).map(|i| f16::from_f32(i as f32 * 0.25)).collect();
    everywhere(&lower(["x"], "r", half), &[vector(&x)]);
}

#[test]
fn a_scan_is_read_like_any_vector() {
    // the greatest fall from a peak, the last sum, neighbours, and a scan of a scan
    let f = |x: VExp<f32>| {
        let peaks = x.scan(f32::NEG_INFINITY, |a, b| a.max(b));
        let sums = x.scan(0.0, |a, b| a + b);
        let fall = peaks.zip_with(x, |peak, a| peak - a).max();
        let twice = sums.scan(0.0, |a, b| a + b);
        (fall, sums.slice(1, x.len()) - sums.slice(0, x.len() - 1), twice)
    };
    everywhere(&lower(["x"], ["fall", "steps", "twice"], f), &[vector(&numbers(300))]);
    // inside of a closure a scan of the whole vector is read; in an iteration it is a step
    let g = |x: VExp<f32>| {
        let sums = x.scan(0.0, |a, b| a + b);
        let means = generate(x.len(), |i| sums.at(i) / (i + 1).cast::<f32>());
        (means, x.iterate(3, |x| x.scan(0.0, |a, b| a.max(b)) * 0.5))
    };
    everywhere(&lower(["x"], ["means", "halved"], g), &[vector(&numbers(200))]);
}

#[test]
fn records_and_refusals() {
    let f = |x: VExp<i64>, y: VExp<i64>| x.zip_with(y, |a, b| a / b).scan(0, |a, b| a + b);
    let f = lower(["x", "y"], "r", f);
    let x: Vec<i64> = (0..3000).collect();
    let y: Vec<i64> = (0..3000).map(|i| i64::from(i != 2500 && i != 2400)).collect();
    let record = recorded(&f, &[vector(&x), vector(&y)]);
    assert!(record.contains("element 2400"), "{record}");
    // an operator leaves none for what is not there
    let g = lower(["x"], "r", |x: VExp<i64>| x.scan(5, |a, b| a / b));
    let empty: [Value; 1] = [vector::<i64>(&[])];
    everywhere(&g, &empty);
    for n in [1, 2, 3, 5, 130] {
        everywhere(&g, &[vector(&vec![1i64; n])]);
    }
    recorded(&g, &[vector(&[2i64, 0, 3])]);
    // the total of a block whose last chunk is not complete is no value of the scan
    let begun: Vec<i64> = (0..15).map(|i| if i == 12 { 2 } else { 1 }).collect();
    everywhere(&g, &[vector(&begun)]);
    let error = refused(["m"], |m: MExp<f32>| m.map_rows(|r| r.scan(0.0, |a, b| a + b).max()));
    assert!(error.to_string().contains("inside of a closure: each element would have its own"), "{error}");
    assert!(error.to_string().contains("scans.rs"), "{error}");
}

#[derive(Clone, Copy, Record)]
#[record(crate = arraygpu_dsl)]
struct Wide {
    w: [f64; 33],
}

/// What a thread keeps of an element that is scanned has a limit.
#[test]
fn wide_elements_are_refused() {
    let f = |x: VExp<f64>| {
        let zero = Wide { w: [0.0; 33] };
        let sum =
            |a: SExp<Wide>, b: SExp<Wide>| WideFields { w: std::array::from_fn(|i| a.w[i] + b.w[i]) }.pack();
        x.map(|v| WideFields { w: [v; 33] }.pack()).scan(zero, sum).map(|r| r.w[0])
    };
    let error = refused(["x"], f).to_string();
    assert!(error.contains("E0313") && error.contains("an element has 264 bytes"), "{error}");
}

/// Counts are sums of bits, which few elements make in 32 bits; an operator that only looks like a sum is itself.
#[test]
fn operators_that_look_like_sums() {
    let x = numbers(300);
    let f = lower(["x", "on"], ["chosen", "masked", "swapped"], |x: VExp<f32>, on: SExp<bool>| {
        let bits = x.map(|v| cond(v.gt(0.0), 1i64, 0));
        let chosen = bits.scan(0, |a, b| a + cond(on, b, 0));
        (chosen, bits.scan(0, |a, b| a + (b & -2)), bits.scan(0, |a, b| b + a))
    });
    for on in [false, true] {
        everywhere(&f, &[vector(&x), common::scalar(on)]);
    }
}

/// More tiles than a group has, on a simulated GPU: maps of u32 compose exactly, so that a loop gives every bit.
/// Longer ones run on CPUs (`tests/long_scans.rs`).
#[test]
fn groups_go_on_where_the_group_before_ends() {
    let f = |x: VExp<u32>| {
        let (a, b) = (x * 2 + 1, x + 3).scan((1, 0), |(a, b), (c, d)| (a * c, b * c + d));
        a ^ b
    };
    let x: Vec<u32> = (0..33 * 8192 + 129u32).map(|i| i.wrapping_mul(2_654_435_761) >> 7).collect();
    let (mut a, mut b) = (1u32, 0u32);
    let wanted = x.iter().map(|x| {
        let (c, d) = (x.wrapping_mul(2).wrapping_add(1), x.wrapping_add(3));
        (a, b) = (a.wrapping_mul(c), b.wrapping_mul(c).wrapping_add(d));
        a ^ b
    });
    let wanted = vector(&wanted.collect::<Vec<u32>>());
    let targets = Targets { cpu: false, cuda: true };
    let compiled = driver::compile_for("t", vec![lower(["x"], "r", f)], targets).expect("it compiles");
    let how = gpu::How { layout: gpu::Layout::ALL[0], version: None, span: 1, order: Order::Ascending };
    let found = gpu::call(&compiled, 0, &[vector(&x)], how).expect("it runs");
    assert!(found.record.is_none() && found.results == [wanted]);
}
