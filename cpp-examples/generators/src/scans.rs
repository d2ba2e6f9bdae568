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

/// What the C++ header says of [`sums_along_rows`] and [`sums_along_cols`].
pub const SUMS_ALONG_DOC: &str = "The sum of the elements of its row or column up to and with each.";

/// Inclusive sums of each row.
pub fn sums_along_rows(m: MExp<f32>) -> MExp<f32> {
    m.scan_rows(0.0, |a, b| a + b)
}

/// Inclusive sums of each column.
pub fn sums_along_cols(m: MExp<f32>) -> MExp<f32> {
    m.scan_cols(0.0, |a, b| a + b)
}

/// What the C++ header says of [`sums_in_segments`].
pub const SUMS_IN_SEGMENTS_DOC: &str = "The sum of the elements of its segment up to and with each.";

/// Inclusive sums of each segment.
pub fn sums_in_segments(x: VExp<f32>, offsets: VExp<i64>) -> VExp<f32> {
    x.segmented_scan(offsets, 0.0, |a, b| a + b)
}
