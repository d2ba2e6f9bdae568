//! Sets of elements, which are the answers of [`Demand`](super::Demand): an element is an array with indices.

use crate::core::{MAX_RANK, NodeId, Var};
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use std::ops::{Deref, DerefMut, Range};

/// The indices of an element, one for each axis of its array.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Index {
    of: [NodeId; MAX_RANK],
    rank: usize,
}

impl From<&[NodeId]> for Index {
    fn from(index: &[NodeId]) -> Index {
        let mut of = [NodeId(0); MAX_RANK];
        of[..index.len()].copy_from_slice(index);
        Index { of, rank: index.len() }
    }
}

impl Index {
    /// Returns the indices with another one inserted at an axis.
    pub(super) fn with(mut self, axis: usize, index: NodeId) -> Index {
        self.of.copy_within(axis..self.rank, axis + 1);
        self.of[axis] = index;
        self.rank += 1;
        self
    }

    /// Returns the indices without that of an axis.
    pub(super) fn without(mut self, axis: usize) -> Index {
        self.of.copy_within(axis + 1..self.rank, axis);
        self.rank -= 1;
        // unused entries are 0, so that equal indices compare equal
        self.of[self.rank] = NodeId(0);
        self
    }
}

impl DerefMut for Index {
    fn deref_mut(&mut self) -> &mut [NodeId] {
        &mut self.of[..self.rank]
    }
}

impl Deref for Index {
    type Target = [NodeId];

    fn deref(&self) -> &[NodeId] {
        &self.of[..self.rank]
    }
}

/// One element of an array: the array and its indices.
pub type Place = (NodeId, Index);

/// The variables of loops, each with the number of its values if that is a constant.
pub type Scope = Vec<(Var, Option<i64>)>;

/// What an element needs.
#[derive(Clone, Copy, Default)]
pub struct Needs {
    /// The round in which this was found; 0 if it is not known.
    pub round: u32,
    /// The elements of computed arrays: where their list begins and ends in `Demand::needed`.
    pub first: u32,
    pub end: u32,
    /// The number of elements of stored arrays.
    pub loads: u32,
    /// The number of launches that must run before, because they compute what the element reads.
    pub ready: u32,
}

impl Needs {
    /// The positions in `Demand::needed` of the elements of computed arrays.
    pub fn elements(self) -> Range<usize> {
        self.first as usize..self.end as usize
    }
}

/// The elements of one array that are needed.
#[derive(Clone, Copy, Default)]
pub struct OfArray {
    /// The number of these elements.
    pub count: u32,
    /// The positions of the first and the last one in [`Places::numbers`].
    first: u32,
    last: u32,
    /// How often they are computed again in loops around their reads.
    pub repeated: f64,
}

/// A set of elements, by array. The elements of one array are a linked list (`next`) through `numbers`, so that
/// adding an element takes constant time and `numbers` keeps the order in which elements were found.
#[derive(Clone, Default)]
pub struct Places {
    pub(super) by_array: IndexMap<NodeId, OfArray, FxBuildHasher>,
    /// The numbers of the elements.
    pub(super) numbers: Vec<u32>,
    /// For each element, the position of the next element of the same array.
    next: Vec<u32>,
    /// The number of elements of stored arrays.
    pub(super) loads: usize,
    /// The number of launches that must come before these elements can be computed.
    pub ready: u32,
}

impl Places {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether an element of an array is needed.
    pub fn has(&self, array: NodeId) -> bool {
        self.by_array.contains_key(&array)
    }

    /// The arrays, each with the number of its elements.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, u32)> {
        self.by_array.iter().map(|(x, of)| (*x, of.count))
    }

    /// The arrays, each with how often an element is computed again in loops around its reads.
    pub fn arrays(&self) -> impl Iterator<Item = (NodeId, f64)> {
        self.by_array.iter().map(|(x, of)| (*x, of.repeated))
    }

    /// The number of the first of an array's elements.
    pub(super) fn first(&self, of: &OfArray) -> Option<u32> {
        (of.count > 0).then(|| self.numbers[of.first as usize])
    }

    /// The numbers of an array's elements, in the order in which they were found.
    pub(super) fn of(&self, of: &OfArray) -> impl Iterator<Item = u32> + Clone {
        let first = (of.count > 0).then_some(of.first);
        let last = of.last;
        let all = std::iter::successors(first, move |at| (*at != last).then(|| self.next[*at as usize]));
        all.map(|at| self.numbers[at as usize])
    }

    /// Adds an element or, if not `is_new`, another read of an element that has been added.
    pub(super) fn insert(&mut self, number: u32, array: NodeId, repeated: f64, is_new: bool) {
        let of = self.by_array.entry(array).or_default();
        of.repeated = of.repeated.max(repeated);
        if is_new {
            let at = self.numbers.len() as u32;
            match of.count {
                0 => of.first = at,
                _ => self.next[of.last as usize] = at,
            }
            (of.last, of.count) = (at, of.count + 1);
            self.numbers.push(number);
            self.next.push(at);
        }
    }
}
