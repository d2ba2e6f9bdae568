//! Reductions of segments of a vector that begin at offsets which are data, each in the order of semantics
//! 5.1 from its own start.
//!
//! Segments are cut into tiles of 2048 elements. Every tile is an element of an array, so that one long
//! segment has as many of them as many short ones; the tiles of a segment are joined by an element of the
//! result.

use crate::axis::generate;
use crate::element_loop::{loop_for, looped};
use crate::handle::{SExp, VExp};
use crate::item::Item;
use crate::node;
use crate::reduce::FirstState;
use crate::results::{leafwise, nodes_of};
use crate::scalar::{cond, lit};
use crate::sort::element;
use arraygpu_compiler::core::{COLUMNS, TILE};
use arraygpu_compiler::scalar::Lit;
use std::panic::Location;

/// The levels of the tree of a tile's columns, and its result.
const LEVELS: usize = COLUMNS.ilog2() as usize + 1;

/// The operator of a reduction.
type Join<'j, T> = &'j dyn Fn(SExp<T>, SExp<T>) -> SExp<T>;

/// An element at an index that is inside of the vector wherever the value is needed, or that no loop asks for.
#[track_caller]
pub(crate) fn inside<T: Item>(x: VExp<T>, i: SExp<i64>) -> SExp<T> {
    let at = Location::caller();
    leafwise(x, |x| element(at, x, i.node()))
}

/// The first of `count` indices for which a condition holds, or their number. It holds for all behind the first one.
#[track_caller]
pub(crate) fn first_where(count: SExp<i64>, holds: impl Fn(SExp<i64>) -> SExp<bool>) -> SExp<i64> {
    let at = Location::caller();
    let [zero, most] = [0, 64].map(|n| node::constant(at, Lit::i64(n)));
    let found = looped(at, "search", most, &[zero, count.node()], |_, states| {
        let [low, high] = [states[0], states[1]].map(SExp::<i64>::of);
        let middle = (low + high) >> 1;
        let is_behind = holds(middle);
        let next = (cond(is_behind, low, middle + 1), cond(is_behind, middle, high));
        [low.lt(high).node()].into_iter().chain(nodes_of(next)).collect()
    });
    SExp::of(found[0])
}

/// At most 2048 values joined as those of a tile (semantics 5.1), or `nothing` if there are none.
fn tile<T: Item>(
    count: SExp<i64>,
    nothing: SExp<T>,
    value: impl Fn(SExp<i64>) -> SExp<T>,
    join: Join<T>,
) -> SExp<T> {
    let columns = count.min(COLUMNS);
    // the results of blocks of 1, 2, 4 .. columns that wait for the block behind them, where the number of columns so
    // far has that bit; before them the last column, so that it is needed in any case, and computed once
    let init = (nothing, [nothing; LEVELS]);
    let (last, waiting) = loop_for(columns, init, |column, (_, mut waiting)| {
        let rows = (count - column + (COLUMNS - 1)) / COLUMNS;
        let own = loop_for(rows, nothing, |row, before| {
            let next = value(row * COLUMNS + column);
            cond(row.gt(0), join(before, next), next)
        });
        let (mut block, mut goes_on) = (own, lit(true));
        for (level, below) in waiting.iter_mut().enumerate() {
            let waits = ((column >> level as i64) & 1).ne(0);
            let before = *below;
            *below = cond(goes_on & !waits, block, before);
            if level + 1 < LEVELS {
                block = cond(goes_on & waits, join(before, block), block);
            }
            goes_on &= waits;
        }
        (own, waiting)
    });
    // the states of a loop are needed in any case, as the arms of a choice are not: so one loop above computes all
    loop_for(columns.min(1), (last, waiting), |_, (last, waiting)| {
        let (mut result, mut any) = (last, lit(false));
        for (level, block) in waiting.into_iter().enumerate() {
            let waits = ((columns >> level as i64) & 1).ne(0);
            let both = cond(any, join(block, result), block);
            result = cond(waits, both, result);
            any |= waits;
        }
        (result, waiting)
    })
    .0
}

/// The number of tiles of that many elements.
fn tiles(count: SExp<i64>) -> SExp<i64> {
    (count + (TILE - 1)) / TILE
}

/// The reductions of the parts of a vector that begin at `begins` and have `lengths` elements.
#[track_caller]
pub(crate) fn reduced<T: Item>(
    values: VExp<T>,
    (begins, lengths): (VExp<i64>, VExp<i64>),
    init: SExp<T>,
    join: Join<T>,
) -> VExp<T> {
    let segments = lengths.len();
    let counts = lengths.map(tiles);
    let firsts = counts.scan_exclusive(0, |a, b| a + b).materialize();
    // all but one tile of a segment are full
    let most = cond(segments.gt(0), segments + values.len() / TILE, segments);
    let of_tiles = generate(most, |number| {
        // the last one that begins at this tile or before it
        let segment = first_where(segments, |i| inside(firsts, i).gt(number)) - 1;
        let skipped = (number - inside(firsts, segment)) * TILE;
        let begin = inside(begins, segment) + skipped;
        tile((inside(lengths, segment) - skipped).min(TILE), init, |i| inside(values, begin + i), join)
    });
    let of_tiles = of_tiles.materialize();
    generate(segments, |segment| {
        let (count, first) = (inside(counts, segment), inside(firsts, segment));
        let of_blocks = |block: SExp<i64>| {
            let skipped = block * TILE;
            // segments that overlap have left a record, and more tiles than there is room for
            let one = |i: SExp<i64>| inside(of_tiles, (first + skipped + i).min(most - 1));
            tile((count - skipped).min(TILE), init, one, join)
        };
        let all = tile(tiles(count), init, of_blocks, join);
        cond(count.gt(0), join(init, all), init)
    })
}

impl<T: Item> VExp<T> {
    /// The reduction of each segment of the vector by `f`, beginning with `init`: segment k has the elements from
    /// `offsets[k]` up to, not including, `offsets[k + 1]`, so that there is one offset more than there are segments;
    /// a matrix in CSR has such offsets of its rows. Each segment is reduced in the order of `docs/semantics.md` 5.1
    /// from its own first element, and so has the bits of [`VExp::reduce`] of its elements alone. `f` must be
    /// associative and commutative up to rounding, and is called several times. An offset below 0 or the one before
    /// it, or past the end, leaves an error record, and its segment counts as empty.
    ///
    /// Cost: a scan of the segments' numbers of tiles of 2048 elements, and two launches, of which the first
    /// goes over the tiles and the second over the segments. A tile is reduced by one thread, and the results
    /// of a segment's tiles are joined by one. A segment has at most 2^33 elements.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>, offsets: VExp<i64>| x.segmented_reduce(offsets, 0.0, |a, b| a + b);
    /// let (x, offsets) = (vector(&[1.0f32, 2.0, 4.0]), vector(&[0i64, 2, 2, 3]));
    /// assert_eq!(call(f, [x, offsets]), [vector(&[3.0f32, 0.0, 4.0])]);
    /// ```
    #[track_caller]
    pub fn segmented_reduce(
        self,
        offsets: VExp<i64>,
        init: impl FirstState<T>,
        f: impl Fn(SExp<T>, SExp<T>) -> SExp<T>,
    ) -> VExp<T> {
        let at = Location::caller();
        let init = SExp::of(init.state_at(at));
        let segments = offsets.len() - 1;
        let (begins, ends) = (offsets.slice(0, segments), offsets.slice(1, segments + 1));
        let end = self.len();
        let lengths = begins.zip_with(ends, |b, e| {
            let is_inside =
                |i: SExp<i64>, n: SExp<i64>| SExp::<bool>::of(node::within(at, i.node(), n.node()));
            cond(is_inside(b, e + 1) & is_inside(e, end + 1), e - b, 0)
        });
        reduced(self, (begins, lengths.materialize()), init, &f)
    }
}
