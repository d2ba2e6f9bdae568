//! Functions that run on this machine's device, with the results of the reference interpreter.

use arraygpu::prelude::*;
use arraygpu::{Matrix, Volume, eval, run};

#[test]
fn the_device_computes_what_the_interpreter_does() {
    let m = Matrix::from_fn([67, 70], |[i, j]| ((i * 31 + j * 17) % 101) as f32 * 0.37 - 18.0);
    let x: Vec<f32> = (0..70).map(|i| 1.0 / (i as f32 + 1.0)).collect();
    let f = |m: MExp<f32>, x: VExp<f32>, k: SExp<i64>| {
        let product = m.map_rows(|r| r.dot(x));
        (m.softmax_rows(), (product, product.slice(0, k)), m.max())
    };
    assert_eq!(run(f, (&m, &x, 5)).expect("it runs"), eval(f, (&m, &x, 5)).expect("it runs"));
    let all = |a: SExp<u8>, b: VExp<bool>, h: VExp<f16>, t: TExp<i64>| {
        (a + 1, !b, h * h, t.permute([2, 0, 1]).plane(0))
    };
    let h = [1.5, -2.0].map(f16::from_f32);
    let t = Volume::from_fn([2, 3, 4], |[k, i, j]| (k * 100 + i * 10 + j) as i64);
    assert_eq!(
        run(all, (255, [true], h, &t)).expect("it runs"),
        eval(all, (255, [true], h, &t)).expect("it runs")
    );
    let nothing = |x: VExp<f64>| (x * 2, x.sum());
    assert_eq!(run(nothing, (Vec::new(),)).expect("it runs"), (vec![], 0.0));
}

#[test]
fn errors_of_a_device_are_values() {
    let sum = |x: VExp<f32>, y: VExp<f32>| x + y;
    let error = run(sum, ([1.0, 2.0], [1.0])).expect_err("two lengths").to_string();
    assert!(error.contains("the lengths 2 and 1 differ"), "{error}");
    let line = line!() + 1;
    let read = |x: VExp<f32>, i: VExp<i64>| i.map(|i| x.at(i));
    let error = run(read, ([1.0], [0, 3])).expect_err("out of range").to_string();
    assert!(error.contains("element 1") && error.contains(&format!("run.rs:{line}")), "{error}");
}
