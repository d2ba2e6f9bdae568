//! Orders of vectors (semantics 5.19): of every type, at every edge of the runs, everywhere.

mod common;

use arraygpu_compiler::core::interp::Value;
use arraygpu_dsl::eval;
use arraygpu_dsl::prelude::*;
use common::{call, everywhere, lower, recorded, refused, rules, vector};

/// Numbers of which some are equal.
fn numbers(n: usize) -> Vec<i32> {
    (0..n as i32).map(|i| (i * 7919) % 61 - 30).collect()
}

#[test]
fn equal_elements_keep_their_order_in_both_directions() {
    let f = |x: VExp<i32>| (x.argsort(), x.argsort_descending(), x.sort());
    let lowered = lower(["x"], ["up", "down", "sorted"], f);
    for n in [0, 1, 2, 3, 4, 5, 31, 64, 65, 300] {
        let x = numbers(n);
        let (up, down, sorted) = eval(f, (&x,)).expect("it runs");
        let mut wanted: Vec<i64> = (0..n as i64).collect();
        wanted.sort_by_key(|i| x[*i as usize]);
        assert_eq!(up, wanted, "{n}");
        wanted.sort();
        wanted.sort_by_key(|i| std::cmp::Reverse(x[*i as usize]));
        assert_eq!(down, wanted, "{n}");
        assert!(sorted.is_sorted(), "{n}");
        everywhere(&lowered, &[vector(&x)]);
    }
    let same = vec![7i32; 100];
    assert_eq!(eval(f, (&same,)).expect("it runs").1, (0..100).collect::<Vec<i64>>());
}

#[test]
fn zeros_and_nans_have_places() {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let x = [0.0f32, nan, -0.0, inf, -1.5, -inf, nan, 1e-40, -1e-40];
    let f = |x: VExp<f32>| {
        (x.argsort(), x.argsort_descending(), x.cast::<f64>().sort(), x.cast::<f16>().argsort())
    };
    let (up, down, ..) = eval(f, (&x,)).expect("it runs");
    assert_eq!(up, [5, 4, 8, 2, 0, 7, 3, 1, 6]);
    assert_eq!(down, [3, 7, 0, 2, 8, 4, 5, 1, 6]);
    everywhere(&lower(["x"], ["up", "down", "wide", "half"], f), &[vector(&x)]);
}

#[test]
fn every_type_has_an_order() {
    let f = |x: VExp<i64>| {
        let small =
            (x.cast::<i8>().sort(), x.cast::<u8>().sort(), x.cast::<i16>().sort(), x.cast::<u16>().sort());
        let large = (x.cast::<u32>().sort(), x.cast::<u64>().sort(), x.sort(), (x % 2).eq(0).argsort());
        (small, large, x.cast::<bf16>().sort(), x.cast::<f64>().sort_descending())
    };
    let names: Vec<String> = (0..10).map(|i| format!("r{i}")).collect();
    let names: [&str; 10] = std::array::from_fn(|i| names[i].as_str());
    let x: Vec<i64> = (0..37).map(|i: i64| i.wrapping_mul(0x1e37_79b9_7f4a_7c15) >> (i % 60)).collect();
    everywhere(&lower(["x"], names, f), &[vector(&x)]);
    let (_, (_, unsigned, ..), ..) = eval(f, (&x,)).expect("it runs");
    assert!(unsigned.is_sorted());
}

#[test]
fn values_move_with_their_keys() {
    let f = |keys: VExp<u8>, values: VExp<Complex<f32>>| {
        let (keys, values) = keys.sort_by_key(values);
        (keys, values.re, values.im.sum())
    };
    let f = lower(["keys", "values"], ["sorted", "re", "sum"], f);
    let keys: Vec<u8> = (0..77u32).map(|i| (i * 5 % 9) as u8).collect();
    let re: Vec<f32> = (0..77).map(|i| i as f32).collect();
    everywhere(&f, &[vector(&keys), vector(&re), vector(&re)]);
    assert!(rules(&f).contains(&"same sort_by_key: keys, values_re".to_string()), "{:?}", rules(&f));
}

#[test]
fn keys_without_digits_keep_the_order_of_their_values() {
    let f = |x: VExp<i64>, v: VExp<f32>, most: SExp<i64>| {
        let (keys, values) = x.map(|i| i.min(most).max(0)).sort_by_key(v);
        (keys, values)
    };
    let f = lower(["x", "v", "most"], ["keys", "values"], f);
    let x: Vec<i64> = (0..200).map(|i| i * 7 % 11 - 2).collect();
    let v: Vec<f32> = (0..200).map(|i| i as f32).collect();
    for most in [0i64, -3, 4] {
        everywhere(&f, &[vector(&x), vector(&v), Value::Scalar(most.lit())]);
    }
}

#[test]
fn tuples_of_vectors_move_with_their_keys() {
    let f = |keys: VExp<u8>, x: VExp<f32>, z: VExp<Complex<f32>>| {
        let (keys, (x, (i, z))) = keys.sort_by_key((x, (iota(x.len()), z)));
        (keys, x, i, z.re)
    };
    let keys: Vec<u8> = (0..77u32).map(|i| (i * 5 % 9) as u8).collect();
    let x: Vec<f32> = (0..77).map(|i| i as f32 * 0.5).collect();
    let f = lower(["keys", "x", "z"], ["sorted", "moved", "i", "re"], f);
    everywhere(&f, &[vector(&keys), vector(&x), vector(&x), vector(&x)]);
    for other in ["x", "z_re"] {
        assert!(rules(&f).contains(&format!("same sort_by_key: keys, {other}")), "{:?}", rules(&f));
    }
    // the same elements as those of a vector each
    let alone = |k: VExp<u8>, x: VExp<f32>| (k.sort_by_key(x).1, k.sort_by_key((x * 2.0, x)).1.1);
    let (one, both) = eval(alone, (&keys, &x)).expect("it runs");
    assert_eq!(one, both);
    assert_eq!(one[..3], [0.0, 4.5, 9.0]);
}

#[test]
fn an_order_is_read_like_any_vector() {
    // ranks, a median, and a step of an iteration that sorts
    let f = |x: VExp<f32>| {
        let ranks = x.argsort().argsort();
        let middle = x.sort().at(x.len() / 2);
        (ranks, x - middle, x.iterate(2, |x| x.sort_descending() * 0.5))
    };
    let x: Vec<f32> = numbers(70).iter().map(|i| *i as f32 * 0.25).collect();
    everywhere(&lower(["x"], ["ranks", "centred", "halved"], f), &[vector(&x)]);
}

#[test]
fn reads_outside_of_an_order_read_nothing() {
    // the functions of these vectors read at indices that are elements, of which there are none
    let sorted = lower(["x"], "first", |x: VExp<f32>| x.sort().at(0));
    let values = lower(["x"], "first", |x: VExp<f32>| x.sort_by_key(x.map(|v| -v)).1.at(0));
    let kept = lower(["x"], "first", |x: VExp<f32>| x.filter(|v| v.gt(0.0)).filled(-1.0).at(0));
    for f in [sorted, values, kept] {
        assert!(recorded(&f, &[vector::<f32>(&[])]).contains("element 0"));
        everywhere(&f, &[vector(&[3.0f32])]);
    }
}

#[test]
fn records_and_refusals() {
    let f = lower(["x", "y"], "r", |x: VExp<i64>, y: VExp<i64>| x.zip_with(y, |a, b| a / b).argsort());
    let y: Vec<i64> = (0..50).map(|i| i64::from(i != 25 && i != 24)).collect();
    let record = recorded(&f, &[vector(&y), vector(&y)]);
    assert!(record.contains("element 24"), "{record}");
    let sorted = lower(["x", "y"], "r", |x: VExp<i64>, y: VExp<i64>| x.zip_with(y, |a, b| a / b).sort());
    assert!(recorded(&sorted, &[vector(&y), vector(&y)]).contains("element 24"));
    let empty: [Value; 2] = [vector::<i64>(&[]), vector::<i64>(&[])];
    everywhere(&f, &empty);
    let error = refused(["m"], |m: MExp<f32>| m.map_rows(|r| r.sort().at(0)));
    assert!(error.to_string().contains(" sort inside of a closure"), "{error}");
    assert!(error.to_string().contains("sorts.rs"), "{error}");
}

/// The order that a stable sort of the language's library gives.
fn ordered<K: Ord>(n: usize, key: impl Fn(usize) -> K) -> Vec<i64> {
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|i| key(*i));
    order.into_iter().map(|i| i as i64).collect()
}

#[test]
fn long_vectors_are_sorted_by_digits() {
    // numbers that are clamped to 6 have one digit; one whole tile and a part
    let f = |x: VExp<i64>| x.map(|a| a.min(6).max(0)).argsort();
    let x: Vec<i64> = (0..5300).map(|i: i64| (i * 7919) % 11 - 2).collect();
    assert_eq!(eval(f, (&x,)).expect("it runs"), ordered(x.len(), |i| x[i].clamp(0, 6)));
    everywhere(&lower(["x"], "order", f), &[vector(&x)]);
    // numbers of two bytes, over three tiles and a part, among them neighbours that are equal
    let f = lower(["x"], ["order", "sorted"], |x: VExp<i16>| (x.argsort(), x.sort()));
    let x: Vec<i16> = (0..12_400i64).map(|i| ((i / 3 * 7919) ^ (i >> 3)) as i16).collect();
    let order = ordered(x.len(), |i| x[i]);
    let sorted: Vec<i16> = order.iter().map(|i| x[*i as usize]).collect();
    assert_eq!(call(&f, &[vector(&x)]), [vector(&order), vector(&sorted)]);
    everywhere(&f, &[vector(&x)]);
}

#[test]
fn digits_of_keys_that_are_equal_or_fall_are_counted() {
    // two whole tiles and a part; of all equal keys, of falling ones, whose digits are the last ones first, and of
    // keys that are equal in the second tile alone
    let f = lower(["x"], "order", |x: VExp<u8>| x.argsort());
    let n = 8_300usize;
    let falling = (0..n).map(|i| 255 - (i / 33) as u8).collect();
    let some = (0..n).map(|i| if i / 4096 == 1 { 7 } else { ((i * 7919) >> 5) as u8 }).collect();
    for x in [vec![255u8; n], vec![0; n], falling, some] {
        let wanted = ordered(n, |i| x[i]);
        assert_eq!(call(&f, &[vector(&x)]), [vector(&wanted)]);
        everywhere(&f, &[vector(&x)]);
    }
    // the number of elements is that of whole tiles, one less and one more
    for n in [4095usize, 4096, 4097] {
        let x: Vec<u8> = (0..n).map(|i| ((i * 7919) >> 4) as u8).collect();
        assert_eq!(call(&f, &[vector(&x)]), [vector(&ordered(n, |i| x[i]))], "{n}");
        everywhere(&f, &[vector(&x)]);
    }
}

#[test]
fn digits_of_floats_have_zeros_and_nans_in_place() {
    let x: Vec<f32> = (0..8_400usize)
        .map(|i| match i % 61 {
            0 => f32::NAN,
            1 => -0.0,
            2 => 0.0,
            3 => f32::INFINITY,
            4 => -f32::INFINITY,
            5 => f32::from_bits(0xffc0_0001),
            _ => ((i * 7919) % 101) as f32 - 50.0,
        })
        .collect();
    let key = |i: usize| {
        let bits = x[i].to_bits() as i32;
        let ordered = if bits < 0 { bits ^ i32::MAX } else { bits };
        if x[i].is_nan() { i32::MAX } else { ordered }
    };
    // sorted floats are made of their keys, in both directions
    let f = |x: VExp<f32>| (x.argsort(), x.sort(), x.sort_descending(), x.cast::<f16>().sort());
    let f = lower(["x"], ["order", "sorted", "falling", "half"], f);
    let (order, nan) = (ordered(x.len(), key), x.iter().filter(|x| x.is_nan()).count());
    let one_nan = |x: f32| if x.is_nan() { f32::NAN } else { x };
    let mut wanted: Vec<f32> = order.iter().map(|i| one_nan(x[*i as usize])).collect();
    let all = call(&f, &[vector(&x)]);
    assert_eq!(all[..2], [vector(&order), vector(&wanted)]);
    wanted[..x.len() - nan].reverse();
    assert_eq!(all[2], vector(&wanted));
    everywhere(&f, &[vector(&x)]);
}

#[test]
fn eight_digits_are_sorted() {
    // 64 bits take that many steps from 2^20 elements on; of fewer elements they are merged
    let f = lower(["x"], ["order", "sorted"], |x: VExp<i64>| (x.argsort(), x.sort()));
    let x: Vec<i64> = (0..300i64).map(|i| i.wrapping_mul(0x1e37_79b9_7f4a_7c15) << (i % 9)).collect();
    let order = ordered(x.len(), |i| x[i]);
    let sorted: Vec<i64> = order.iter().map(|i| x[*i as usize]).collect();
    assert_eq!(call(&f, &[vector(&x)]), [vector(&order), vector(&sorted)]);
    everywhere(&f, &[vector(&x)]);
}
