//! The elements that some elements need.

use crate::core::NodeId;
use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashSet as HashSet};

/// One element of an array: the array and its indices.
pub type Place = (NodeId, Box<[NodeId]>);

/// What an element needs.
#[derive(Default)]
pub struct Needs {
    /// Elements of computed arrays, each with how often it is computed again because the loops
    /// around the read have more indices than the array.
    pub elements: Vec<(Place, f64)>,
    /// The number of elements of stored arrays.
    pub loads: usize,
    /// The number of launches that must come before: those that compute what is read.
    pub ready: u32,
}

/// The indices of the elements of one array that are needed, and how often they are computed again
/// in loops around their reads.
type OfArray = (HashSet<Box<[NodeId]>>, f64);

/// The elements that some elements need, by array.
#[derive(Clone, Default)]
pub struct Places {
    pub(super) by_array: IndexMap<NodeId, OfArray, FxBuildHasher>,
    count: usize,
    /// The number of elements of stored arrays.
    pub(super) loads: usize,
    /// The number of launches that must come before these elements can be computed.
    pub ready: u32,
}

impl Places {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.count
    }

    /// The arrays, each with the number of its elements.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, usize)> {
        self.by_array.iter().map(|(x, of)| (*x, of.0.len()))
    }

    /// The arrays, each with how often an element is computed again in loops around its reads.
    pub fn arrays(&self) -> impl Iterator<Item = (NodeId, f64)> {
        self.by_array.iter().map(|(x, of)| (*x, of.1))
    }

    /// Returns whether the element is new.
    pub(super) fn insert(&mut self, place: &Place, repeated: f64) -> bool {
        let of = self.by_array.entry(place.0).or_default();
        of.1 = of.1.max(repeated);
        let is_new = of.0.insert(place.1.clone());
        self.count += usize::from(is_new);
        is_new
    }
}
