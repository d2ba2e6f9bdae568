//! Reductions and scans of segments of a vector that begin at offsets which are data, each in the order of semantics
//! 5.1 or 5.18 from its own start: composites of the compiler.

use crate::composite;
use crate::handle::{SExp, VExp};
use crate::item::Item;
use crate::reduce::FirstState;
use crate::results::leafwise;
use crate::sort::element;
use arraygpu_compiler::build::Composite;
use std::panic::Location;

/// An element at an index that is inside of the vector wherever the value is needed, or that no loop asks for.
#[track_caller]
pub(crate) fn inside<T: Item>(x: VExp<T>, i: SExp<i64>) -> SExp<T> {
    let at = Location::caller();
    leafwise(x, |x| element(at, x, i.node()))
}

impl<T: Item> VExp<T> {
    /// The reduction of each segment of the vector by `f`, beginning with `init`: segment k has the elements from
    /// `offsets[k]` up to, not including, `offsets[k + 1]`, so that there is one offset more than there are segments
    /// and elements of the result (no offset at all is an error of the call); a matrix in CSR has such offsets of its
    /// rows. Each segment is reduced in the order of `docs/semantics.md` 5.1 from its own first element, and so has
    /// the bits of [`VExp::reduce`] of its elements alone. `f` must be associative and commutative up to rounding. An
    /// offset below 0 or the one before it, or past the end, leaves an error record, and its segment counts as empty.
    ///
    /// Cost: a launch that stores the lengths, one that finds the tiles of 2048 elements of longer segments, one that
    /// reduces these tiles, one that joins the tiles of each segment, and one that reduces the segments of up to 2048
    /// elements. On a GPU a warp reduces a tile or a segment; where there are many segments, each lane one of up to
    /// 64 elements, which the warp has loaded side by side. Elements that may leave records, and arrays with strides,
    /// take a thread for each tile or segment. A segment has at most 2^33 elements.
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
        let (at, init) = (Location::caller(), init.state_at(Location::caller()));
        composite::joined_items(at, Composite::SegmentedReduce, (self, init), &[offsets.node()], f)
    }

    /// The partial results of each segment of the vector by itself: [`VExp::scan`] of it, to the bit. The segments
    /// are those of [`VExp::segmented_reduce`]; an element in none of them is `init`. `f` must be associative up to
    /// rounding. An offset below 0 or the one before it, or past the end, leaves an error record.
    ///
    /// Cost: that of [`MExp::scan_rows`](crate::MExp::scan_rows), and three launches before it: one checks the
    /// offsets, and two search them, one for each 128 elements and one for all, which stores where the segment of
    /// each element begins: 8 bytes that are read three times.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>, offsets: VExp<i64>| x.segmented_scan(offsets, 0.0, |a, b| a + b);
    /// let (x, offsets) = (vector(&[1.0f32, 2.0, 4.0, 8.0]), vector(&[0i64, 2, 2, 4]));
    /// assert_eq!(call(f, [x, offsets]), [vector(&[1.0f32, 3.0, 4.0, 12.0])]);
    /// ```
    #[track_caller]
    pub fn segmented_scan(
        self,
        offsets: VExp<i64>,
        init: impl FirstState<T>,
        f: impl Fn(SExp<T>, SExp<T>) -> SExp<T>,
    ) -> VExp<T> {
        let (at, init) = (Location::caller(), init.state_at(Location::caller()));
        composite::joined_items(at, Composite::SegmentedScan, (self, init), &[offsets.node()], f)
    }

    /// [`Self::segmented_scan`] without the element itself: the first element of each segment is `init`.
    ///
    /// Cost: that of [`Self::segmented_scan`].
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>, offsets: VExp<i64>| x.segmented_scan_exclusive(offsets, 0.5, |a, b| a + b);
    /// let (x, offsets) = (vector(&[1.0f32, 2.0, 4.0, 8.0]), vector(&[0i64, 2, 2, 4]));
    /// assert_eq!(call(f, [x, offsets]), [vector(&[0.5f32, 1.5, 0.5, 4.5])]);
    /// ```
    #[track_caller]
    pub fn segmented_scan_exclusive(
        self,
        offsets: VExp<i64>,
        init: impl FirstState<T>,
        f: impl Fn(SExp<T>, SExp<T>) -> SExp<T>,
    ) -> VExp<T> {
        let (at, init) = (Location::caller(), init.state_at(Location::caller()));
        composite::joined_items(at, Composite::SegmentedScanExclusive, (self, init), &[offsets.node()], f)
    }
}
