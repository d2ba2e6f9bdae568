//! The direction of a segmented reduction: rows or columns.

/// Which elements of a segmented reduction are contiguous in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Along {
    /// Neighbouring elements of one segment: sums of rows.
    Rows,
    /// The elements of neighbouring segments at one position: sums of columns.
    Columns,
}

impl Along {
    /// Returns the number of the axis of elements, given the number of the other axes.
    pub fn axis(self, others: usize) -> usize {
        match self {
            Along::Rows => others,
            Along::Columns => others - 1,
        }
    }

    /// Returns the indices of an element, given those of its row or column and its own one.
    pub fn index<T: Clone>(self, outer: &[T], element: T) -> Vec<T> {
        let mut index = outer.to_vec();
        index.insert(self.axis(outer.len()), element);
        index
    }
}
