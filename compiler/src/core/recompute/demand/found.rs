//! Questions about elements that were evaluated already: what they need, and how often an array is computed.

use super::super::reuse;
use super::places::{Index, Needs, OfArray};
use super::{Demand, Places};
use crate::core::NodeId;

impl Demand {
    /// Returns the elements that an element needs, as far as that is known.
    pub(super) fn known_needs(&self, number: u32) -> &[(u32, f64)] {
        &self.needed[self.needs_of(number).elements()]
    }

    /// Returns what an element needs. If that was not found in this round, the value's `round` is 0.
    pub(super) fn needs_of(&self, number: u32) -> Needs {
        let needs = self.needs[number as usize];
        if needs.round == self.round { needs } else { Needs::default() }
    }

    /// Returns the places of an array.
    pub(super) fn places_of<'p>(
        &'p self,
        places: &'p Places,
        of: &OfArray,
    ) -> impl Iterator<Item = &'p Index> + Clone {
        places.of(of).map(|number| &self.elements[number as usize].1)
    }

    /// Returns all pairs of a reading array and an array that it reads, for the elements in `places`, which must have
    /// been found since the last array was stored.
    pub fn reads<'p>(&'p self, places: &'p Places) -> impl Iterator<Item = (NodeId, NodeId)> + 'p {
        places.numbers.iter().flat_map(move |number| {
            let reader = self.elements[*number as usize].0;
            self.known_needs(*number).iter().map(move |(n, _)| (reader, self.elements[*n as usize].0))
        })
    }

    /// Returns how many elements of an array are computed per element of the context with these places
    /// ([`reuse::factor`]).
    pub fn reuse_of(&self, array: NodeId, places: &Places) -> f64 {
        let of = places.by_array.get(&array);
        let forms = &mut self.forms.borrow_mut();
        of.map_or(0.0, |of| reuse::factor(&self.symbols, forms, self.places_of(places, of)))
    }

    /// Whether an array of two axes is needed at constant distances from a context's element only.
    pub fn is_around(&mut self, array: NodeId, places: &Places) -> bool {
        let Some(of) = places.by_array.get(&array).filter(|_| self.rank(array) == 2) else { return false };
        let own: Vec<NodeId> = (0..2).map(|axis| self.index(axis).1).collect();
        reuse::is_around(&self.symbols, &own, self.places_of(places, of))
    }
}
