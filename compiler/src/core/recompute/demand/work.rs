//! The work of an element: the operations and loads of everything that is computed for it.

use super::super::reuse;
use super::places::{OfArray, Place};
use super::{Demand, Places};
use crate::core::NodeId;

impl Demand {
    /// Returns the number of operations and loads of an element of an array, with those of all elements that are
    /// computed for it.
    pub fn cost(&mut self, array: NodeId) -> f64 {
        if let Some(known) = self.costs.get(&array) {
            return *known;
        }
        let place = self.own_place(array);
        self.cost_at(place)
    }

    /// Returns the same as [`Demand::cost`] for an array that has elements in `places`. It takes one of these
    /// elements, because what they need is known already, whereas an element at other indices would have to be
    /// evaluated.
    pub fn cost_within(&mut self, array: NodeId, places: &Places) -> f64 {
        if let Some(known) = self.costs.get(&array) {
            return *known;
        }
        let first = places.by_array.get(&array).and_then(|of| places.first(of));
        first.map_or(0.0, |number| self.cost_at(self.elements[number as usize]))
    }

    fn cost_at(&mut self, place: Place) -> f64 {
        let array = place.0;
        let places = self.places_from(&[place], None);
        let cost = self.cost_of(&places, None);
        self.costs.insert(array, cost);
        cost
    }

    /// Returns the number of operations and loads of one element of each of these arrays if the array `stored` were
    /// stored, so that its elements are loads.
    pub fn cost_until(&mut self, roots: &[NodeId], stored: Option<NodeId>) -> f64 {
        let roots: Vec<Place> = roots.iter().map(|root| self.own_place(*root)).collect();
        let places = self.places_from(&roots, stored);
        self.cost_of(&places, stored)
    }

    /// Adds up the operations and loads of these places. Each element of `stored` is one load.
    fn cost_of(&mut self, places: &Places, stored: Option<NodeId>) -> f64 {
        let mut cost = places.loads as f64;
        for (x, count) in places.iter() {
            cost += match stored == Some(x) {
                true => f64::from(count),
                false => self.body(x).cost * f64::from(count),
            };
        }
        cost
    }

    /// Returns whether one element of `root` takes more work than the law of work allows. `places` are the elements
    /// that it needs.
    pub fn is_too_much(&mut self, root: NodeId, places: &Places) -> bool {
        let several = places.by_array.values().filter(|of| of.count > 1);
        let most_again = |of: &OfArray| {
            let forms = &mut self.forms.borrow_mut();
            reuse::most_again(&self.symbols, forms, self.places_of(places, of))
        };
        let most = several.map(most_again).reduce(f64::min);
        let Some(most) = most else { return false };
        let cost = match self.costs.get(&root) {
            Some(known) => *known,
            None => self.cost_of(places, None),
        };
        self.costs.insert(root, cost);
        cost > most * self.cost_once(places)
    }

    /// Returns the work if every value were computed once: the operations and loads of one element of each array in
    /// `places`, as if all of these arrays were stored.
    fn cost_once(&self, places: &Places) -> f64 {
        let mut cost = 0.0;
        for (x, of) in &places.by_array {
            let Some(first) = places.first(of) else { continue };
            let needs = self.needs_of(first);
            cost += (needs.loads as usize + needs.elements().len()) as f64;
            cost += self.bodies.get(x).map_or(0.0, |body| body.cost);
        }
        cost
    }
}
