//! The elements that some elements need.

use crate::core::{MAX_RANK, NodeId};
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use std::ops::{Deref, DerefMut};

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
    /// Returns the indices with another one at an axis, before those that follow.
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
        // equal indices are equal in all of their places
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

/// What an element needs.
#[derive(Default)]
pub struct Needs {
    /// The numbers of elements of computed arrays, each with how often it is computed again because the
    /// loops around the read have more indices than the array.
    pub elements: Vec<(u32, f64)>,
    /// The number of elements of stored arrays.
    pub loads: usize,
    /// The number of launches that must come before: those that compute what is read.
    pub ready: u32,
}

/// The elements of one array that are needed.
#[derive(Clone, Default)]
pub struct OfArray {
    /// The indices of each, in the order in which they were found.
    pub places: Vec<Index>,
    /// The number of the first of them.
    pub(super) first: u32,
    /// How often they are computed again in loops around their reads.
    pub repeated: f64,
}

/// The elements that some elements need, by array.
#[derive(Clone, Default)]
pub struct Places {
    pub(super) by_array: IndexMap<NodeId, OfArray, FxBuildHasher>,
    /// The numbers of the elements, which are theirs until an array is stored.
    pub(super) numbers: Vec<u32>,
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
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, usize)> {
        self.by_array.iter().map(|(x, of)| (*x, of.places.len()))
    }

    /// The arrays, each with how often an element is computed again in loops around its reads.
    pub fn arrays(&self) -> impl Iterator<Item = (NodeId, f64)> {
        self.by_array.iter().map(|(x, of)| (*x, of.repeated))
    }

    /// Adds an element, or another read of one that is among these already.
    pub(super) fn insert(&mut self, number: u32, place: &Place, repeated: f64, is_new: bool) {
        let of = self.by_array.entry(place.0).or_default();
        of.repeated = of.repeated.max(repeated);
        if is_new {
            if of.places.is_empty() {
                of.first = number;
            }
            of.places.push(place.1);
            self.numbers.push(number);
        }
    }
}
