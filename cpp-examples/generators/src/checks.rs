//! Small functions that make it easy to do something wrong, or odd, from C++: the bad-input tests call them.

use arraygpu::prelude::*;

/// A window of x whose ends the caller gives: negative, reversed or too large ones must be refused.
pub fn window(x: VExp<f32>, start: SExp<i64>, stop: SExp<i64>) -> VExp<f32> {
    x.slice(start, stop)
}

/// `x + y` where only the lengths can be wrong.
pub fn add(x: VExp<f32>, y: VExp<f32>) -> VExp<f32> {
    x + y
}

/// Every reduction of one vector: sum, product, least, greatest.
pub fn reductions(x: VExp<f32>) -> (SExp<f32>, SExp<f32>, SExp<f32>, SExp<f32>) {
    (x.sum(), x.product(), x.min(), x.max())
}

/// Sum in index order, as a C++ loop would do it.
pub fn in_order(x: VExp<f32>) -> SExp<f32> {
    x.sum_in_order()
}

/// Reads each element at its own index: may be done in place.
pub fn twice(x: VExp<f32>) -> VExp<f32> {
    x.map(|x| x + x)
}

/// Reads other elements than it writes: in place only through a temporary.
pub fn reversed(x: VExp<f32>) -> VExp<f32> {
    x.reverse()
}

/// Two vectors: outputs that could overlap each other.
pub fn sum_and_difference(x: VExp<f32>, y: VExp<f32>) -> (VExp<f32>, VExp<f32>) {
    (x + y, x - y)
}

/// Reads where the caller says: outside of x it is 0, and an error record.
pub fn pick(x: VExp<f32>, indices: VExp<i64>) -> VExp<f32> {
    x.gather(indices)
}

/// Integer division: by zero it is 0, and an error record.
pub fn quotient(x: VExp<i32>, y: VExp<i32>) -> VExp<i32> {
    x / y
}

/// One function for each element type: shows the types of the generated headers.
pub fn count_above(x: VExp<f64>, limit: SExp<f64>) -> (SExp<i64>, SExp<bool>) {
    let above = x.map(|x| x.gt(limit));
    (above.cast::<i64>().sum(), above.any())
}

/// Halves, as vectors and scalars.
pub fn scaled_half(x: VExp<f16>, a: SExp<f16>) -> (VExp<f16>, SExp<f16>) {
    (x * a, x.sum())
}

/// One function for the other kind of halves.
pub fn scaled_bfloat16(x: VExp<bf16>, a: SExp<bf16>) -> (VExp<bf16>, SExp<bf16>) {
    (x * a, x.sum())
}

/// A result of each type.
type Wrapped = (VExp<i8>, VExp<u16>, VExp<i16>, VExp<u64>, SExp<u64>);

/// Integers of every width, wrapping.
pub fn wrapped(a: VExp<i8>, b: VExp<u16>, c: VExp<i16>, d: VExp<u64>) -> Wrapped {
    (a + 1, b + 1, c - 1, d - 1, d.sum())
}

/// A part of m whose ends the caller gives.
pub fn block(m: MExp<f32>, r0: SExp<i64>, r1: SExp<i64>, c0: SExp<i64>, c1: SExp<i64>) -> MExp<f32> {
    m.slice(r0, r1, c0, c1)
}

/// `a + b` where only the shapes can be wrong.
pub fn add_matrices(a: MExp<f32>, b: MExp<f32>) -> MExp<f32> {
    a + b
}

/// A row and a column whose numbers the caller gives.
pub fn row_and_column(m: MExp<f32>, i: SExp<i64>, j: SExp<i64>) -> (VExp<f32>, VExp<f32>) {
    (m.row(i), m.col(j))
}

/// Margins wider than most vectors: mirrored, they may not be wider than the vector; clamped, they may.
pub fn margins(x: VExp<f32>) -> (VExp<f32>, VExp<f32>) {
    (x.padded(3, 2, Boundary::Mirror), x.padded(3, 2, Boundary::Clamp))
}

/// The greatest element of each row: of rows without elements minus infinity.
pub fn row_maxima(m: MExp<f32>) -> VExp<f32> {
    m.map_rows(VExp::max)
}

/// Exact in any order of additions: sums by rows and by columns of integers.
pub fn integer_sums(m: MExp<i64>) -> (VExp<i64>, VExp<i64>) {
    (m.sum_rows(), m.sum_cols())
}

/// The sum of the four neighbours on a torus: exact, too.
pub fn integer_neighbours(m: MExp<i32>) -> MExp<i32> {
    let m = m.padded([1, 1], [1, 1], Boundary::Wrap);
    m.weighted_sum2(&[[0, 1, 0], [1, 0, 1], [0, 1, 0]])
}
