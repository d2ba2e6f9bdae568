//! Elements and accumulators of so many components that they have no room in a block's shared memory at once, or on a
//! thread's stack.

mod common;

use arraygpu_dsl::prelude::*;
use common::{everywhere, lower, matrix, vector};

/// Seven folds of pairs of f64 are 14 components, 56 KiB of a usual chunk; sixty are one thread's work.
#[test]
fn folds_of_many_components() {
    fn folds<const N: usize>(x: VExp<f64>, y: VExp<f64>) -> [SExp<f64>; N] {
        std::array::from_fn(|k| (x, y).fold(k as f64, |s, (a, b)| s * a + b))
    }
    let x = |n: usize| vector(&(0..n).map(|i| [0.5, -1.0, 0.25][i % 3]).collect::<Vec<f64>>());
    for n in [0, 1, 5, 700] {
        let f = lower(["x", "y"], ["r"], folds::<7>);
        everywhere(&f, &[x(n), x(n)]);
    }
}

/// The sums of a row for each of many distances: more accumulators than a batch of rows has room for.
#[test]
fn rows_with_many_sums() {
    let f = lower(["m"], ["r"], |m: MExp<f64>| {
        m.map_rows(|r| {
            let sums = (0..40).map(|k| r.map(move |x| (x - f64::from(k)).abs()).sum());
            sums.reduce(|a, b| a + b).expect("some sums")
        })
    });
    everywhere(
        &f,
        &[matrix(&[[0.0, 3.5, 7.0, -1.0, 60.0], [1.0, 2.0, 3.0, 4.0, 5.0], [-7.5, 0.25, 12.0, 9.0, 33.0]])],
    );
}
