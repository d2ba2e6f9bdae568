//! The block tiles of an index space, and the pieces of a product's operands.

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

/// The extents of packed operands are multiples of this many pieces, which are 128 bytes.
pub const PIECES_OF_LINE: u64 = 8;

/// Returns the number of pieces of both packed operands of the products of an index space, of `length` inner indices.
pub fn pieces(extents: &[u64], length: u64, piece: u64) -> u64 {
    let [ref planes @ .., m, n] = *extents else { return 0 };
    let of_line = PIECES_OF_LINE * piece;
    let [inner, rows, columns] = [length, m, n].map(|n| n.div_ceil(of_line).saturating_mul(of_line));
    let planes = planes.iter().copied().fold(1, u64::saturating_mul);
    rows.saturating_add(columns).saturating_mul(inner / piece).saturating_mul(planes)
}
