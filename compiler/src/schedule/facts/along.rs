//! The direction of a segmented reduction: rows, columns or planes.

use crate::core::MAX_RANK;

/// Which elements of a segmented reduction are contiguous in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Along {
    /// Neighbouring elements of one segment: sums of rows.
    Rows,
    /// The elements of neighbouring segments at one position: sums of columns.
    Columns,
    /// The elements of neighbouring segments at one position, in an array of three dimensions: segments go through
    /// its planes. Code to which the distance of a segment's elements does not matter treats them as columns.
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

    /// Returns how many axes the others of such segments may be, at least and at most.
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
