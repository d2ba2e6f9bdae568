//! Scans: what `bench/torch_scans.py` times.

use arraygpu::prelude::*;

/// What the C++ header says of [`prefix_sums`].
pub const PREFIX_SUMS_DOC: &str = "The sum of the elements up to and with each.";

/// Inclusive sums.
pub fn prefix_sums<T: Num>(x: VExp<T>) -> VExp<T> {
    x.scan(lit(0i32).cast(), |a, b| a + b)
}

/// What the C++ header says of [`map_scan_map`].
pub const MAP_SCAN_MAP_DOC: &str =
    "Half the sum of the partial sums of the squares, in a vector of one element.";

/// A scan between maps, whose result is reduced: nothing of the vector's length is stored but what the scan needs.
pub fn map_scan_map(x: VExp<f32>) -> VExp<f32> {
    let sums = (x * x).scan(0.0, |a, b| a + b);
    fill(lit(1i64), (sums * 0.5).sum())
}

/// What the C++ header says of [`recurrence`].
pub const RECURRENCE_DOC: &str = "The recurrence y[i] = a[i] y[i - 1] + b[i] that begins with 1.";

/// A scan of pairs.
pub fn recurrence(a: VExp<f32>, b: VExp<f32>) -> VExp<f32> {
    let (scale, rest) = (a, b).scan((1.0, 0.0), |(a, b), (c, d)| (a * c, b * c + d));
    scale + rest
}
