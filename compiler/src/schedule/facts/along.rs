//! The direction of a segmented reduction: rows, columns or planes.

use crate::core::MAX_RANK;

/// Which elements of a segmented reduction are contiguous in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Along {
    /// Neighbouring elements of one segment: sums of rows.
    Rows,
    /// The elements of neighbouring segments at one position: sums of columns.
    Columns,
    /// The elements of neighbouring segments at one position, in an array of three dimensions whose segments go
    /// through the planes: sums over the first axis. Most code treats these as columns, because only the distance
    /// between the elements of a segment differs.
    Planes,
}

impl Along {
    /// Returns the number of the axis of elements, given the number of the other axes.
    pub fn axis(self, others: usize) -> usize {
        match self {
            Along::Rows => others,
            Along::Columns => others - 1,
            Along::Planes => others - 2,
        }
    }

    /// Whether neighbouring segments are contiguous, so that strips of them are computed together.
    pub fn has_strips(self) -> bool {
        self != Along::Rows
    }

    /// Returns the minimum and the maximum number of the other axes of such segments.
    pub fn others(self) -> std::ops::RangeInclusive<usize> {
        match self {
            Along::Rows | Along::Columns => 1..=MAX_RANK - 1,
            Along::Planes => 2..=MAX_RANK - 1,
        }
    }

    /// Returns the indices of an element, given those of its row or column and its own one.
    pub fn index<T: Clone>(self, outer: &[T], element: T) -> Vec<T> {
        let mut index = outer.to_vec();
        index.insert(self.axis(outer.len()), element);
        index
    }
}
