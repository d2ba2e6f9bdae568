//! The block tiles of an index space.

/// Returns the number of block tiles of `rows` by `cols` results in the last two axes. A vector is
/// one column.
pub fn squares(extents: &[u64], rows: u32, cols: u32) -> u64 {
    let [m, n] = match *extents {
        [.., m, n] => [m, n],
        [m] => [m, 1],
        [] => [0, 0],
    };
    m.div_ceil(rows.into()).saturating_mul(n.div_ceil(cols.into()))
}
