//! Segments by offsets, and elements that go to destinations: with the bits of each group alone, everywhere.

mod common;

use arraygpu_compiler::core::interp::Value;
use arraygpu_dsl::prelude::*;
use arraygpu_dsl::{Elem, eval};
use common::{call, everywhere, lower, recorded, rules, vector};
use half::f16;

fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919) % 1009) as f32 * 0.001 - 0.4).collect()
}

/// The sum of some numbers in the order of semantics 5.1, behind an initial value.
fn sum_of(v: &[f32], init: f32) -> f32 {
    eval(|x: VExp<f32>, init: SExp<f32>| x.reduce(init, |a, b| a + b), (v, init)).expect("it runs")
}

#[test]
fn segments_have_the_bits_of_their_own_reduction() {
    let f =
        |x: VExp<f32>, offsets: VExp<i64>, init: SExp<f32>| x.segmented_reduce(offsets, init, |a, b| a + b);
    // around the edges of columns, rows of columns and tiles
    let lengths = [0, 1, 2, 127, 128, 129, 0, 300, 2047, 2048, 2049, 4500, 3];
    let offsets: Vec<i64> = std::iter::once(0)
        .chain(lengths.iter().scan(0, |end, n| {
            *end += n;
            Some(*end)
        }))
        .collect();
    let x = numbers(offsets[lengths.len()] as usize);
    let found = eval(f, (&x, &offsets, 0.25)).expect("it runs");
    for (k, sum) in found.iter().enumerate() {
        let part = &x[offsets[k] as usize..offsets[k + 1] as usize];
        assert_eq!(sum.to_bits(), sum_of(part, 0.25).to_bits(), "{} elements", part.len());
    }
    let f = lower(["x", "offsets"], "sums", |x: VExp<f32>, offsets: VExp<i64>| {
        x.segmented_reduce(offsets, 0.0, |a, b| a + b)
    });
    everywhere(&f, &[vector(&x[..134]), vector::<i64>(&[0, 3, 3, 134])]);
    for offsets in [vec![0, 0], vec![5]] {
        call(&f, &[vector(&x[..134]), vector::<i64>(&offsets)]);
    }
}

/// Segments that one lane, a warp, and several warps reduce: with an identity, as halves, which have none, and of
/// several numbers.
#[test]
fn long_segments_have_the_same_bits_in_every_version() {
    let offsets: Vec<i64> = vec![0, 1, 32, 64, 97, 97, 226, 2273, 4322, 4322, 6400];
    let x = numbers(6400);
    let args = [vector(&x), vector(&offsets)];
    let f = |x: VExp<f32>, offsets: VExp<i64>| x.segmented_reduce(offsets, 0.5, |a, b| a + b);
    everywhere(&lower(["x", "offsets"], "sums", f), &args);
    let f = |x: VExp<f32>, offsets: VExp<i64>| {
        x.cast::<f16>().segmented_reduce(offsets, f16::from_f32(0.5), |a, b| a + b).cast::<f32>()
    };
    everywhere(&lower(["x", "offsets"], "sums", f), &args);
    let f = |x: VExp<Complex<f32>>, offsets: VExp<i64>| {
        x.segmented_reduce(offsets, Complex::new(1.0, 0.5), |a, b| a * b)
    };
    let [re, im] = [1.0, 0.0].map(|a| vector(&x.iter().map(|x| a - x * 0.01).collect::<Vec<f32>>()));
    everywhere(&lower(["x", "offsets"], "products", f), &[re, im, vector(&offsets)]);
}

/// Where lanes load neighbours whatever segments they belong to: stretches that long segments end, more elements than
/// one stretch has, segments without elements, values of 4 and of 12 bytes.
#[test]
fn short_segments_have_the_same_bits_in_every_version() {
    let mut lengths = vec![31; 40];
    lengths.extend([1500, 0, 5, 17, 32, 33, 0, 2100, 1, 1, 2, 0]);
    lengths.extend((0..30).map(|i| i % 7));
    let mut offsets = vec![0i64];
    for n in &lengths {
        offsets.push(offsets.last().copied().unwrap_or(0) + n);
    }
    let count = *offsets.last().expect("an offset") as usize;
    let x = numbers(count);
    let args = [vector(&x), vector(&offsets)];
    let f = |x: VExp<f32>, offsets: VExp<i64>| (x * x).segmented_reduce(offsets, 0.5, |a, b| a + b);
    everywhere(&lower(["x", "offsets"], "sums", f), &args);
    let f = |x: VExp<f32>, offsets: VExp<i64>| {
        let triples = x.map(|v| complex(v.cast::<f64>(), v.cast::<f64>() * 0.5));
        let sums = triples.segmented_reduce(offsets, Complex::new(0.0, 1.0), |a, b| a * b);
        (sums.map(|v| v.re), sums.map(|v| v.im))
    };
    everywhere(&lower(["x", "offsets"], ["re", "im"], f), &args);
    // runs of the same lengths, of which there are fewer than elements
    let keys: Vec<i64> = lengths.iter().zip(0..).flat_map(|(n, k)| vec![k; *n as usize]).collect();
    let f = lower(["keys", "x"], ["occurring", "sums"], |keys: VExp<i64>, x: VExp<f32>| {
        let (keys, sums) = keys.reduce_by_key(x, 0.5, |a, b| a + b);
        (keys.filled(-1), sums.filled(7.0))
    });
    let found = everywhere(&f, &[vector(&keys), vector(&x)]);
    assert_eq!(found[1], {
        let parts = offsets.windows(2).filter(|o| o[0] < o[1]);
        let mut sums: Vec<f32> = parts.map(|o| sum_of(&x[o[0] as usize..o[1] as usize], 0.5)).collect();
        sums.resize(count, 7.0);
        vector(&sums)
    });
}

#[test]
fn offsets_that_fit_no_segment_leave_a_record() {
    let f = lower(["x", "offsets"], "sums", |x: VExp<f32>, offsets: VExp<i64>| {
        x.segmented_reduce(offsets, 0.0, |a, b| a + b)
    });
    assert_eq!(rules(&f)[0], "order segmented_reduce of offsets");
    let x = vector(&numbers(4));
    let cases = [
        ([0, 2, 1, 4], "descend", 1),
        ([-1, 2, 3, 4], "are negative", 0),
        ([0, 2, 3, 5], "end behind the last element", 2),
    ];
    for (offsets, words, segment) in cases {
        let record = recorded(&f, &[x.clone(), vector::<i64>(&offsets)]);
        assert!(record.contains(&format!("the offsets of a segment {words} (")), "{record}");
        assert!(record.contains("groups.rs"), "{record}");
        assert!(record.contains(&format!("element {segment}")), "{record}");
    }
    // no segments have one offset
    let reduced = |x: VExp<f32>, offsets: VExp<i64>| x.segmented_reduce(offsets, 0.0, |a, b| a + b);
    let scanned = |x: VExp<f32>, offsets: VExp<i64>| x.segmented_scan(offsets, 0.0, |a, b| a + b);
    let none = [0i64; 0];
    let said = [eval(reduced, ([1.0], none)), eval(scanned, ([1.0], none))];
    for (said, name) in said.into_iter().zip(["reduce", "scan"]) {
        let said = said.expect_err("no offset").to_string();
        let wanted =
            format!("segmented_{name} of argument2: there are 0 offsets: k segments have k + 1 of them");
        assert!(said.contains(&wanted), "{said}");
    }
    assert!(eval(reduced, ([1.0], [0])).expect("no segments").is_empty());
}

#[test]
fn groups_are_sums_in_the_order_of_their_elements() {
    let f = |x: VExp<f32>, i: VExp<i64>| {
        let sums = x.scatter_reduce(5, i, 0.0, |a, b| a + b);
        (sums, x.scatter(5, i, -1.0), i.histogram(5))
    };
    let x = numbers(60);
    let i: Vec<i64> = (0..60).map(|i: i64| (i * i + 3) % 11 % 5).collect();
    let (sums, last, counts) = eval(f, (&x, &i)).expect("it runs");
    for k in 0..5 {
        let own: Vec<f32> = x.iter().zip(&i).filter(|(_, i)| **i == k as i64).map(|(x, _)| *x).collect();
        assert_eq!(counts[k], own.len() as i64, "{k}");
        assert_eq!(sums[k].to_bits(), sum_of(&own, 0.0).to_bits(), "{k}");
        assert_eq!(last[k], own.last().copied().unwrap_or(-1.0), "{k}");
    }
    let f = lower(["x", "i"], ["sums", "last", "counts"], f);
    for n in [0, 60] {
        call(&f, &[vector(&x[..n]), vector(&i[..n])]);
    }
    // a sum of groups is a sort and a sum of segments, each of which has been everywhere
    let g = lower(["x", "i"], "last", |x: VExp<f32>, i: VExp<i64>| x.scatter(5, i, -1.0));
    everywhere(&g, &[vector(&x), vector(&i)]);
    assert!(rules(&f).contains(&"same scatter_reduce: i, x".to_string()), "{:?}", rules(&f));
}

/// The first element of each destination is found between those of multiples of 64.
#[test]
fn many_destinations_have_their_elements() {
    let f = |x: VExp<f32>, i: VExp<i64>, n: SExp<i64>| x.scatter_reduce(n, i.ignored(), 0.5, |a, b| a + b);
    let x = numbers(700);
    let g = lower(["x", "i", "n"], "sums", f);
    for n in [0i64, 1, 63, 64, 65, 128, 300] {
        // some destinations have no elements, the last one has many, and some elements go nowhere
        let i: Vec<i64> = (0..700).map(|k: i64| (k * k % 311).min(n + k % 2 - 1)).collect();
        let sums = eval(f, (&x, &i, n)).expect("it runs");
        for (k, sum) in sums.iter().enumerate() {
            let own: Vec<f32> = x.iter().zip(&i).filter(|(_, i)| **i == k as i64).map(|(x, _)| *x).collect();
            assert_eq!(sum.to_bits(), sum_of(&own, 0.5).to_bits(), "{k} of {n}");
        }
        everywhere(&g, &[vector(&x), vector(&i), Value::Scalar(n.lit())]);
    }
}

#[test]
fn destinations_outside_are_recorded_ignored_or_clamped() {
    let i = [0i64, 3, -1, 2, 7, i64::MIN, i64::MAX];
    let x = numbers(7);
    let f = |x: VExp<f32>, i: VExp<i64>| {
        let ignored = x.scatter_reduce(3, i.ignored(), 0.0, |a, b| a.max(b));
        (ignored, i.ignored().histogram(3), i.clamped().histogram(3), x.scatter(3, i.clamped(), 0.0))
    };
    let (most, ignored, clamped, last) = eval(f, (&x, &i)).expect("it runs");
    assert_eq!((ignored, clamped), (vec![1, 0, 1], vec![3, 0, 4]));
    assert_eq!((most[0], last[0], last[2]), (x[0].max(0.0), x[5], x[6]));
    call(&lower(["x", "i"], ["most", "ignored", "clamped", "last"], f), &[vector(&x), vector(&i)]);
    let f = lower(["i"], "counts", |i: VExp<i64>| i.histogram(3));
    let record = recorded(&f, &[vector(&i)]);
    assert!(record.contains("element 1") && record.contains("groups.rs"), "{record}");
    // the record speaks of a destination, whatever goes there and however it is found
    let said = "a destination is outside of the result";
    assert!(record.contains(said), "{record}");
    let x = vector(&x[..3]);
    let sums = lower(["x", "i"], "r", |x: VExp<f32>, i: VExp<i64>| x.scatter_reduce(3, i, 0.0, |a, b| a + b));
    let last = lower(["x", "i"], "r", |x: VExp<f32>, i: VExp<i64>| x.scatter(3, i, 0.0));
    let once = lower(["x", "i"], "r", |x: VExp<f32>, i: VExp<i64>| x.scatter_unique(3, i, 0.0));
    let loose = lower(["x", "i"], "r", |x: VExp<f32>, i: VExp<i64>| {
        x.scatter_reduce(3, i.unordered(), 0.0, |a, b| a + b)
    });
    for f in [sums, last, once, loose] {
        let record = recorded(&f, &[x.clone(), vector(&[0i64, 2, 3])]);
        assert!(
            record.starts_with("element 2") && record.contains(said) && record.contains("groups.rs"),
            "{record}"
        );
    }
}

#[test]
fn records_go_to_places() {
    let f = |x: VExp<Complex<f64>>, i: VExp<i64>, offsets: VExp<i64>| {
        let zero = Complex::new(0.0, 0.0);
        let sums = x.scatter_reduce(3, i, zero, |a, b| a + b);
        let products = x.segmented_reduce(offsets, Complex::new(1.0, 0.0), |a, b| a * b);
        (x.scatter(3, i, Complex::new(1.0, 2.0)), sums, products)
    };
    let f = lower(["x", "i", "offsets"], ["last", "sums", "products"], f);
    let re: Vec<f64> = (0..9).map(|i| f64::from(i) * 0.1).collect();
    let i: Vec<i64> = (0..9).map(|i| i % 2 * 2).collect();
    let found = call(&f, &[vector(&re), vector(&re), vector(&i), vector::<i64>(&[0, 2, 2, 3])]);
    assert_eq!(found[0], vector(&[re[8], 1.0, re[7]]), "the highest index of each place");
}
