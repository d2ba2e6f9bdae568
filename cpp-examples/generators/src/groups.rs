//! Sorts and groups: the example `groups`, and what `bench/torch_groups.py` times.

use arraygpu::prelude::*;

/// What the C++ header says of a sort alone.
pub const SORTED_KEYS_DOC: &str = "The elements in ascending order.";

/// What the C++ header says of [`sorted`].
pub const SORTED_DOC: &str = "The elements in ascending order, and the index that each had.";

/// The sorted vector and its order.
pub fn sorted<T: Elem>(x: VExp<T>) -> (VExp<T>, VExp<i64>) {
    (x.sort(), x.argsort())
}

/// What the C++ header says of [`sorted_pairs`].
pub const SORTED_PAIRS_DOC: &str = "The keys in ascending order, and the value that each had.";

/// Keys and values.
pub fn sorted_pairs(keys: VExp<u32>, values: VExp<f32>) -> (VExp<u32>, VExp<f32>) {
    keys.sort_by_key(values)
}

/// What the C++ header says of [`positive`].
pub const POSITIVE_DOC: &str = "The positive elements, then zeros, and how many positive ones there are.";

/// The elements that a condition keeps.
pub fn positive(x: VExp<f32>) -> (VExp<f32>, SExp<i64>) {
    let kept = x.filter(|v| v.gt(0.0));
    (kept.filled(0.0), kept.len())
}

/// What the C++ header says of [`positive_first`].
pub const POSITIVE_FIRST_DOC: &str =
    "The positive elements, then the others, both in their order, and how many positive ones there are.";

/// A stable partition.
pub fn positive_first(x: VExp<f32>) -> (VExp<f32>, SExp<i64>) {
    x.partition(|v| v.gt(0.0))
}

/// What the C++ header says of [`positive_sum`].
pub const POSITIVE_SUM_DOC: &str = "The sum of the positive elements, as of a vector of these alone.";

/// The reduction of what is kept.
pub fn positive_sum(x: VExp<f32>) -> SExp<f32> {
    x.filter(|v| v.gt(0.0)).reduce(0.0, |a, b| a + b)
}

/// What the C++ header says of [`run_lengths`].
pub const RUN_LENGTHS_DOC: &str =
    "The value and the length of each run of equal elements, then zeros, and the number of runs.";

/// Run-length encoding.
pub fn run_lengths(x: VExp<u8>) -> (VExp<u8>, VExp<i64>, SExp<i64>) {
    let (values, lengths) = x.run_lengths();
    (values.filled(0), lengths.filled(0), values.len())
}

/// What the C++ header says of [`group_begins`].
pub const GROUP_BEGINS_DOC: &str = "The keys that occur in an ascending vector, the index of the first element of each, and how many keys there are; behind them zeros, and the length.";

/// Where the groups of sorted keys begin.
pub fn group_begins(keys: VExp<u32>) -> (VExp<u32>, VExp<i64>, SExp<i64>) {
    let kept = keys.unique();
    (kept.filled(0), kept.indices().filled(keys.len()), kept.len())
}

/// What the C++ header says of [`weighted_positive`].
pub const WEIGHTED_POSITIVE_DOC: &str =
    "The positive elements times weights, of which there are as many: anything else is an error of the call.";

/// What is kept as a vector of a length that the host knows.
pub fn weighted_positive(x: VExp<f32>, w: VExp<f32>) -> VExp<f32> {
    x.filter(|v| v.gt(0.0)).with_len(w.len()) * w
}

/// What the C++ header says of [`histogram_256`].
pub const HISTOGRAM_256_DOC: &str = "How many elements there are of each value.";

/// The histogram of bytes.
pub fn histogram_256(x: VExp<u8>) -> VExp<i64> {
    x.cast::<i64>().histogram(256)
}

/// What the C++ header says of [`histogram_of_reals`].
pub const HISTOGRAM_OF_REALS_DOC: &str = "How many elements there are in each of 256 intervals between 0 and 1; those outside count for the next one.";

/// The histogram of what is computed from the elements.
pub fn histogram_of_reals(x: VExp<f32>) -> VExp<i64> {
    (x * 256.0).floor().cast::<i64>().clamped().histogram(256)
}

/// What the C++ header says of [`histogram_of_words`].
pub const HISTOGRAM_OF_WORDS_DOC: &str = "How many elements there are of each number below n.";

/// The histogram of as many values as the call says.
pub fn histogram_of_words(x: VExp<u32>, n: SExp<i64>) -> VExp<i64> {
    x.cast::<i64>().ignored().histogram(n)
}

/// What the C++ header says of [`group_totals`].
pub const GROUP_TOTALS_DOC: &str = "The sum of each of n groups, and its greatest element.";

/// Reductions whose order is free.
pub fn group_totals(x: VExp<i32>, group: VExp<i64>, n: SExp<i64>) -> (VExp<i32>, VExp<i32>) {
    let totals = x.scatter_reduce(n, group, 0, |a, b| a + b);
    (totals, x.scatter_reduce(n, group, i32::MIN, |a, b| a.max(b)))
}

/// What the C++ header says of [`scattered`].
pub const SCATTERED_DOC: &str = "The last element of each group, or -1.";

/// A scatter.
pub fn scattered(x: VExp<f32>, group: VExp<i64>, n: SExp<i64>) -> VExp<f32> {
    x.scatter(n, group, -1.0)
}

/// What the C++ header says of [`group_statistics`].
pub const GROUP_STATISTICS_DOC: &str =
    "The number of elements, the sum and the mean of each of n groups; the mean of no elements is NaN.";

/// Sums, means and counts by group.
pub fn group_statistics(x: VExp<f32>, group: VExp<i64>, n: SExp<i64>) -> (VExp<i64>, VExp<f32>, VExp<f32>) {
    let counts = group.histogram(n);
    let sums = x.scatter_reduce(n, group, 0.0, |a, b| a + b);
    (counts, sums, sums / counts.cast())
}

/// What the C++ header says of [`equalised`].
pub const EQUALISED_DOC: &str = "A picture whose shades of grey are spread over all shades evenly.";

/// Histogram equalisation: each shade becomes its place among all pixels.
pub fn equalised(x: VExp<u8>) -> VExp<u8> {
    let up_to = histogram_256(x).scan(0, |a, b| a + b).materialize();
    let darkest = up_to.map(|n| cond(n.gt(0), n, i64::MAX)).min();
    let others = x.len() - darkest;
    let shades = up_to.map(|n| ((n - darkest) * 255 + others / 2) / others.max(1)).materialize();
    x.map(|a| shades.at(a.cast()).cast())
}

/// What the C++ header says of [`segment_sums`].
pub const SEGMENT_SUMS_DOC: &str =
    "The sum of each segment, which begins at one offset and ends at the next.";

/// Sums by offsets.
pub fn segment_sums(x: VExp<f32>, offsets: VExp<i64>) -> VExp<f32> {
    x.segmented_reduce(offsets, 0.0, |a, b| a + b)
}

/// What the C++ header says of [`sums_by_key`].
pub const SUMS_BY_KEY_DOC: &str =
    "The key of each run of equal ones and the sum of its values, then zeros, and the number of runs.";

/// Sums of runs of keys.
pub fn sums_by_key(keys: VExp<u32>, x: VExp<f32>) -> (VExp<u32>, VExp<f32>, SExp<i64>) {
    let (keys, sums) = keys.reduce_by_key(x, 0.0, |a, b| a + b);
    (keys.filled(0), sums.filled(0.0), sums.len())
}

/// What the C++ header says of [`csr_by_vector`].
pub const CSR_BY_VECTOR_DOC: &str =
    "A matrix in CSR, of the offsets of its rows, its columns and its values, by a vector.";

/// A sparse matrix by a vector.
pub fn csr_by_vector(offsets: VExp<i64>, columns: VExp<i64>, values: VExp<f32>, x: VExp<f32>) -> VExp<f32> {
    // stored, because reads at columns may leave records, which loops around loops pay for
    let products = (values * x.gather(columns)).materialize();
    products.segmented_reduce(offsets, 0.0, |a, b| a + b)
}
