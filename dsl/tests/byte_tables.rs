//! Costly functions of a byte, which are tables of 256 values (`passes/tables.rs`): in maps, beside other values, in
//! reductions and iterations, and where a byte that does not occur would leave an error record.

mod common;

use arraygpu_dsl::eval;
use arraygpu_dsl::prelude::*;
use common::{call, everywhere, lower, matrix, recorded, scalar, vector};

fn bytes(n: usize) -> Vec<u8> {
    (0..n).map(|i| (i * 7919 % 256) as u8).collect()
}

/// The number of tables in the compiled program: stored vectors of 256 elements.
fn tables(f: &arraygpu_compiler::core::Function) -> usize {
    let fused = arraygpu_compiler::passes::pipeline::run(f, &mut |_, _| ()).expect("the passes work");
    fused.to_string().matches("generate 256i64").count()
}

#[test]
fn curves_of_unsigned_and_signed_bytes() {
    let f = |x: VExp<u8>, y: VExp<i8>, gain: SExp<f32>| {
        let curve = x.map(|p| ((p.cast::<f32>() / 255.0).powf(gain) * 255.0).round().cast::<u8>());
        let both = x.zip_with(y, |p, q| p.cast::<f32>().log2() + q.cast::<f32>().exp() * gain);
        (curve, both)
    };
    let lowered = lower(["x", "y", "gain"], ["curve", "both"], f);
    assert_eq!(tables(&lowered), 3);
    for n in [0, 1, 255, 4096, 5003] {
        let (x, gain) = (bytes(n), 2.25f32);
        let y: Vec<i8> = x.iter().rev().map(|p| *p as i8).collect();
        let (curve, _) = eval(f, (&x, &y, gain)).expect("it runs");
        for (p, found) in x.iter().zip(curve) {
            let wanted = ((f64::from(*p) / 255.0).powf(2.25) * 255.0).round();
            assert!((f64::from(found) - wanted).abs() <= 1.0, "{p}: {found}, not {wanted}");
        }
        everywhere(&lowered, &[vector(&x), vector(&y), scalar(gain)]);
    }
}

#[test]
fn equalised_histograms_divide_once_for_each_byte() {
    let f = |image: VExp<u8>| {
        let ends = image.map(|p| p.cast::<i64>()).histogram(256).scan(0, |a, b| a + b);
        let n = image.len();
        image.map(|p| (ends.at(p.cast::<i64>()) * 255 / n).cast::<u8>())
    };
    let lowered = lower(["image"], "result", f);
    let fused = arraygpu_compiler::passes::pipeline::run(&lowered, &mut |_, _| ()).expect("the passes work");
    let text = fused.to_string();
    let (_, pixel) = text.rsplit_once("generate").expect("the result is a map");
    assert!(!pixel.contains("div") && pixel.contains("elem"), "{text}");
    for n in [0, 1, 700] {
        let image = bytes(n);
        let not_brighter = |p: u8| image.iter().filter(|q| **q <= p).count();
        let wanted: Vec<u8> = image.iter().map(|p| (not_brighter(*p) * 255 / n) as u8).collect();
        assert_eq!(everywhere(&lowered, &[vector(&image)])[0], vector(&wanted), "{n}");
    }
}

#[test]
fn sums_rows_and_steps_read_tables() {
    let f = |x: MExp<u8>, y: VExp<u8>| {
        let linear = x.map(|p| (p.cast::<f32>() / 255.0).powf(2.2));
        let dimmed = y.iterate(3, |y| y.map(|p| (p.cast::<f32>() + 1.0).sqrt().exp().cast::<u8>()));
        (linear.sum(), linear.sum_rows(), dimmed)
    };
    let lowered = lower(["x", "y"], ["sum", "rows", "dimmed"], f);
    for n in [0, 1, 300] {
        everywhere(&lowered, &[matrix::<u8, 7>(&[]), vector(&bytes(n))]);
        everywhere(&lowered, &[matrix(&[[3u8; 131], [255; 131], [77; 131]]), vector(&bytes(n))]);
    }
}

#[test]
fn a_byte_that_does_not_occur_leaves_no_record() {
    // 255 - p is zero for one byte only, and n for all of them
    let f = lower(["x", "n"], "quotient", |x: VExp<u8>, n: SExp<i64>| x.map(|p| n / (255 - p.cast::<i64>())));
    assert_eq!(everywhere(&f, &[vector(&[0u8, 254, 200]), scalar(1000i64)])[0], vector(&[3i64, 1000, 18]));
    assert!(recorded(&f, &[vector(&[0u8, 3, 255, 255]), scalar(1000i64)]).starts_with("element 2"));
    let f = lower(["x", "n"], "quotient", |x: VExp<u8>, n: SExp<i64>| x.map(|p| p.cast::<i64>() / n));
    assert_eq!(call(&f, &[vector::<u8>(&[]), scalar(0i64)])[0], vector::<i64>(&[]));
    assert!(recorded(&f, &[vector(&[1u8, 2]), scalar(0i64)]).starts_with("element 0"));
}

#[test]
fn a_read_at_a_byte_is_in_bounds_of_256_elements() {
    let f = lower(["x", "y"], "r", |x: VExp<u8>, y: VExp<f32>| {
        let table = generate(256, |i| y.at(i.min(y.len() - 1).max(0))).materialize();
        x.map(|p| table.at(p.cast::<i64>()) + table.at(p.cast::<i64>() & 15))
    });
    let fused = arraygpu_compiler::passes::pipeline::run(&f, &mut |_, _| ()).expect("the passes work");
    let text = fused.to_string();
    let (_, element) = text.rsplit_once("generate").expect("the result is a map");
    assert!(!element.contains(" at "), "{text}");
    everywhere(&f, &[vector(&bytes(300)), vector(&[1.5f32, 2.5, -1.0])]);
}
