//! Sums by destinations in any order: of whole numbers they are those of a loop, in bins, everywhere.

mod common;

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::core::{Function, Op};
use arraygpu_compiler::driver::{self, Targets};
use arraygpu_dsl::Elem;
use arraygpu_dsl::prelude::*;
use common::{call, everywhere, lower, vector};

fn has_sort(f: &Function) -> bool {
    f.graph.reachable(f.roots()).into_iter().any(|n| matches!(f.graph.op(n), Op::Argsort(_)))
}

macro_rules! sums {
    ($($test:ident $ty:ident;)*) => { $(
        #[test]
        fn $test() {
            let f = |x: VExp<$ty>, i: VExp<i64>, n: SExp<i64>| {
                x.scatter_reduce(n, i.ignored().unordered(), -0.0, |a, b| b + a)
            };
            let f = lower(["x", "i", "n"], "sums", f);
            assert!(!has_sort(&f));
            for (n, bins) in [(0, 3), (1, 1), (257, 300), (4097, 5), (9000, 300)] {
                let x: Vec<$ty> = (0..n).map(|i| (i * 7 % 23) as $ty - 9.0).collect();
                let i: Vec<i64> = (0..n as i64).map(|i| (i * i + i / 7 * 3) % (bins + 3) - 1).collect();
                let mut sums = vec![-0.0 as $ty; bins as usize];
                for (x, i) in x.iter().zip(&i).filter(|(_, i)| (0..bins).contains(*i)) {
                    sums[*i as usize] += *x;
                }
                let args = [vector(&x), vector(&i), Value::Scalar(bins.lit())];
                let found = if n < 1000 { everywhere(&f, &args) } else { call(&f, &args) };
                let bits = |v: &Value| common::literals(v).iter().map(|l| l.bits).collect::<Vec<_>>();
                // a destination without elements has the initial value, -0
                assert_eq!(bits(&found[0]), bits(&vector(&sums)), "{n} {bins}");
            }
            let compiled = driver::compile_for("t", vec![f], Targets { cpu: false, cuda: true }).expect("it compiles");
            let has = |what: &str| compiled.gpu_variants().any(|v| v.ptx.contains(what));
            let ty = <$ty as Elem>::TY;
            assert!(has(&format!("red.shared.add.{ty} ")) && has(&format!("red.global.add.{ty} ")));
        }
    )* };
}

sums! {
    floats f32;
    doubles f64;
}

#[test]
fn what_has_no_sums_keeps_its_order() {
    let f = |x: VExp<f32>, i: VExp<i64>| {
        let i = i.unordered();
        (
            x.scatter_reduce(4, i, 1.0, |a, b| a * b),
            x.cast::<f16>().scatter_reduce(4, i, f16::from_f32(0.0), |a, b| a + b),
        )
    };
    let g = |x: VExp<f32>, i: VExp<i64>| {
        (
            x.scatter_reduce(4, i, 1.0, |a, b| a * b),
            x.cast::<f16>().scatter_reduce(4, i, f16::from_f32(0.0), |a, b| a + b),
        )
    };
    let [f, g] = [lower(["x", "i"], ["a", "b"], f), lower(["x", "i"], ["a", "b"], g)];
    assert!(has_sort(&f));
    let x: Vec<f32> = (0..200).map(|i| 0.5 + (i % 7) as f32 * 0.1).collect();
    let i: Vec<i64> = (0..200).map(|i| i * i % 4).collect();
    assert_eq!(call(&f, &[vector(&x), vector(&i)]), call(&g, &[vector(&x), vector(&i)]));
}

#[test]
fn fields_are_added_apart() {
    let f = |re: VExp<f32>, i: VExp<i64>| {
        let z = re.map(|v| complex(v, v * 2.0));
        z.scatter_reduce(3, i.clamped().unordered(), Complex::new(0.5, 0.0), |a, b| a + b)
    };
    let f = lower(["x", "i"], "sums", f);
    assert!(!has_sort(&f));
    let found = everywhere(&f, &[vector(&[1.0f32, 2.0, 4.0, 8.0]), vector(&[0i64, 2, 5, 0])]);
    assert_eq!(found, [vector(&[9.5f32, 0.5, 6.5]), vector(&[18.0f32, 0.0, 12.0])]);
}
