//! How often an array's elements are computed per element that reads them. Neighbouring elements read overlapping
//! neighbourhoods, and a thread computes several neighbours, so a value that 9 of them need is not computed 9 times:
//!
//! ```text
//! x[i - 1], x[i], x[i + 1] of a vector:     a thread computes 8 elements and needs 8 + 2 of x: 10 / 8 = 1.25
//! 3 x 3 neighbours of a matrix:             4 x 4 elements need 6 x 6:                         36 / 16 = 2.25
//! x[i], x[k[i]]:                            the distance is not constant, so nothing is shared: 2
//! ```

use super::demand::Index;
use crate::core::linear::{Linear, Terms};
use crate::core::{Graph, MAX_RANK, NodeId, Op};
use crate::scalar::BinaryOp;
use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap as HashMap};

/// The number of neighbours that a thread of a GPU computes, along the only axis of a vector (`OF_VECTOR`) and along
/// each of the last two axes of other arrays (`OF_AXIS`). They share what they need.
const OF_VECTOR: f64 = 8.0;
const OF_AXIS: f64 = 4.0;

/// The maximum number of iterations of a loop inside of an element that is unrolled.
pub const UNROLLED: i64 = 16;
/// How often an element counts as computed again if the number of iterations is unknown. With this factor an
/// elementary function (20 operations) costs more than storing, but a division (8) does not: the loop's loads hide
/// it.
pub const REPEATED: f64 = 5.0;
/// The same factor for an operand of a matrix product, whose tiles share elements.
pub const OF_PRODUCT: f64 = 4.0;

/// Returns how often an element counts as computed again in loops on whose indices it does not depend, given the
/// loops' numbers of iterations; `None` stands for an unknown number.
pub fn repeated(loops: impl Iterator<Item = Option<i64>>) -> f64 {
    let short = |times: Option<i64>| match times {
        Some(n) if n <= UNROLLED => (n - 1).max(0) as f64 / OF_VECTOR,
        _ => REPEATED,
    };
    loops.map(short).sum::<f64>().min(REPEATED)
}

/// A cache of the linear forms of indices, without their clamps: i + 2 j + 3 has the terms i + 2 j and the constant
/// 3.
#[derive(Default)]
pub struct Forms {
    /// For each index, the number that `terms` gives to its terms, and its constant.
    of: HashMap<NodeId, (u32, i64)>,
    /// A number for each sum of terms. Indices with the same number are at a constant distance from each other.
    terms: HashMap<Terms, u32>,
}

impl Forms {
    fn of(&mut self, g: &Graph, index: NodeId) -> (u32, i64) {
        if let Some(known) = self.of.get(&index) {
            return *known;
        }
        let Linear { constant, terms } = unclamped(g, index);
        let next = self.terms.len() as u32;
        let form = (*self.terms.entry(terms).or_insert(next), constant);
        self.of.insert(index, form);
        form
    }
}

/// Returns how many elements of an array are computed per element of its reader, if the reader needs the array at
/// these places. Places at constant distances from each other share a halo: a thread computes the 4 by 4 elements (8
/// elements of a vector) and the halo around them once. Places at other distances, such as those of a gather, share
/// nothing, so their numbers add up.
pub fn factor<'p>(g: &Graph, forms: &mut Forms, places: impl Iterator<Item = &'p Index> + Clone) -> f64 {
    let mut others = places.clone();
    let (Some(place), has_others) = (others.next(), others.next().is_some()) else { return 0.0 };
    if !has_others {
        return 1.0;
    }
    let rank = place.len();
    let mut form = |place: &Index| {
        let (mut terms, mut distances) = ([0; MAX_RANK], [0; MAX_RANK]);
        for (axis, i) in place.iter().enumerate() {
            (terms[axis], distances[axis]) = forms.of(g, *i);
        }
        (terms, distances)
    };
    // `one` has the places at constant distances from the first place, which are nearly always all of them; `near`
    // has the other ones
    let (first, mut one) = (form(place).0, Neighbours::default());
    let mut near: IndexMap<[u32; MAX_RANK], Neighbours, FxBuildHasher> = IndexMap::default();
    for place in places {
        let (terms, distances) = form(place);
        if terms == first { &mut one } else { near.entry(terms).or_default() }.add(distances);
    }
    near.values().fold(one.together(rank), |sum, of| sum + of.together(rank))
}

/// Whether all places are at constant distances from the element's own indices `own`. Clamps at the edges of arrays
/// are ignored.
pub fn is_around<'p>(g: &Graph, own: &[NodeId], mut places: impl Iterator<Item = &'p Index>) -> bool {
    let is_near = |(i, own): (&NodeId, &NodeId)| {
        let form = unclamped(g, *i);
        form.terms.len() == 1 && form.terms.get(own) == Some(&1)
    };
    places.all(|place| place.iter().zip(own).all(is_near))
}

/// Returns how much work an element may take, relative to computing every value once (the law of work): 4 times if
/// places share a halo, whose values are computed again on purpose, and else twice.
pub fn most_again<'p>(g: &Graph, forms: &mut Forms, places: impl Iterator<Item = &'p Index> + Clone) -> f64 {
    let is_halo = factor(g, forms, places.clone()) < places.count() as f64;
    if is_halo { 4.0 } else { 2.0 }
}

/// Returns an index without the minima and maxima that keep it inside of an array: in the interior they change
/// nothing.
fn unclamped(g: &Graph, index: NodeId) -> Linear {
    if let Op::Binary(BinaryOp::Max | BinaryOp::Min, a, b) = *g.op(index) {
        match (g.is_closed(a), g.is_closed(b)) {
            (false, true) => return unclamped(g, a),
            (true, false) => return unclamped(g, b),
            _ => {}
        }
    }
    let form = Linear::of(g, index);
    let mut out = Linear { constant: form.constant, ..Linear::default() };
    for (&term, &k) in form.terms.iter() {
        let own = Linear { constant: 0, terms: [(term, 1)].into() };
        let of = if term == index { own } else { unclamped(g, term) };
        out = out.minus(&of.scaled(k.wrapping_neg()));
    }
    out
}

/// Places at constant distances from each other.
#[derive(Default)]
struct Neighbours {
    count: usize,
    /// The minimum and the maximum distance along each axis.
    first: [i64; MAX_RANK],
    last: [i64; MAX_RANK],
}

impl Neighbours {
    fn add(&mut self, distances: [i64; MAX_RANK]) {
        if self.count == 0 {
            (self.first, self.last) = (distances, distances);
        }
        self.count += 1;
        for (axis, distance) in distances.into_iter().enumerate() {
            self.first[axis] = self.first[axis].min(distance);
            self.last[axis] = self.last[axis].max(distance);
        }
    }

    /// Returns the number of elements of a thread's square with its halo, divided by those of the square alone, but
    /// no more than the number of places.
    fn together(&self, rank: usize) -> f64 {
        let mut together = 1.0;
        for axis in 0..rank {
            let halo = self.last[axis].saturating_sub(self.first[axis]) as f64;
            together *= match rank - axis {
                1 if rank == 1 => (OF_VECTOR + halo) / OF_VECTOR,
                1 | 2 => (OF_AXIS + halo) / OF_AXIS,
                // planes are computed one after the other, so they share nothing
                _ => 1.0 + halo,
            };
        }
        together.min(self.count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::Neighbours;

    fn of_neighbours(distances: &[Vec<i64>]) -> f64 {
        let mut all = Neighbours::default();
        for of in distances {
            let mut padded = [0; 3];
            padded[..of.len()].copy_from_slice(of);
            all.add(padded);
        }
        all.together(distances[0].len())
    }

    fn square(side: i64) -> Vec<Vec<i64>> {
        (0..side * side).map(|k| vec![k / side, k % side]).collect()
    }

    #[test]
    fn more_places_cost_more() {
        assert_eq!(of_neighbours(&[vec![3]]), 1.0);
        assert_eq!(of_neighbours(&square(1)), 1.0);
        assert_eq!(of_neighbours(&(0..9).map(|d| vec![d]).collect::<Vec<_>>()), 2.0);
        assert_eq!(of_neighbours(&square(5)), 4.0);
        let cross = [[0, 1], [1, 0], [1, 1], [1, 2], [2, 1]].map(Vec::from);
        assert_eq!(of_neighbours(&cross), of_neighbours(&square(3)));
    }

    #[test]
    fn places_far_apart_share_nothing() {
        assert_eq!(of_neighbours(&[vec![0], vec![1 << 20]]), 2.0);
    }
}
