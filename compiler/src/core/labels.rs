//! The places of a function that may leave an error record, and their labels.
//!
//! A value that is stored without its records has a number beside it: 0, or the label of the place whose record
//! computing it leaves (`kept_records.rs`). Of several records of one element, the first place in the author's
//! program counts (semantics 6), and that place has the greatest label. So the label of an element is the greatest
//! one of all values that it needs, whichever launches have found them, and an array that reads others passes their
//! labels on. The order of places is found in `label_order.rs`.

use crate::loc::Loc;
use rustc_hash::FxHashMap as HashMap;
use std::sync::Arc;

/// The text of an error record.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Says {
    /// A read of a parameter is out of range, by its position.
    Param(u32),
    /// A read of a computed array is out of range.
    Read,
    /// An integer is divided by zero.
    Division,
    /// Something else, in these words.
    Words(Arc<str>),
}

/// A place: operations on one line that leave the same record share a place.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RecordPlace {
    /// The text of its record.
    pub says: Says,
    /// Its line.
    pub loc: Option<Loc>,
}

/// The labels of a function's places. Those of the author's program have labels in its order; places that passes add
/// come before them.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    places: HashMap<u32, RecordPlace>,
    labels: HashMap<RecordPlace, u32>,
    /// The greatest label.
    last: u32,
}

impl Labels {
    /// The maximum number of labels that a text may have: a set has a bit for each.
    pub const MOST: u32 = 1 << 20;

    /// Gives a place a label.
    pub fn set(&mut self, label: u32, place: RecordPlace) {
        self.last = self.last.max(label);
        self.places.insert(label, place.clone());
        self.labels.insert(place, label);
    }

    /// Returns the place with a label.
    pub fn place(&self, label: u32) -> Option<&RecordPlace> {
        self.places.get(&label)
    }

    /// Returns the label of a place, if it has one.
    pub fn label(&self, place: &RecordPlace) -> Option<u32> {
        self.labels.get(place).copied()
    }

    /// Returns the label that a further place gets.
    pub fn next(&self) -> u32 {
        self.last + 1
    }
}

/// A set of labels.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LabelSet(Arc<[u64]>);

/// The number of labels in a word of a set.
const WORD: u32 = u64::BITS;

impl LabelSet {
    /// Returns the set of one label.
    pub fn one(label: u32) -> LabelSet {
        let mut words = vec![0; (label / WORD) as usize];
        words.push(1 << (label % WORD));
        LabelSet(words.into())
    }

    /// Returns the labels that are in either set.
    pub fn union(&self, other: &LabelSet) -> LabelSet {
        let (long, short) = if self.0.len() < other.0.len() { (other, self) } else { (self, other) };
        let word = |w: usize| short.0.get(w).copied().unwrap_or_default();
        if (0..short.0.len()).all(|w| word(w) & !long.0[w] == 0) {
            return long.clone();
        }
        LabelSet(long.0.iter().zip(0..).map(|(of, w)| of | word(w)).collect())
    }

    /// Returns the labels, the greatest one first, which is that of the first place.
    pub fn labels(&self) -> impl Iterator<Item = u32> {
        let bits = |(of, w): (&u64, u32)| {
            let of = *of;
            (0..WORD).rev().filter(move |bit| of >> bit & 1 == 1).map(move |bit| w * WORD + bit)
        };
        let words = self.0.iter().zip(0..).collect::<Vec<_>>();
        words.into_iter().rev().flat_map(bits)
    }

    /// Whether there is one label.
    pub fn is_one(&self) -> bool {
        self.0.iter().map(|of| of.count_ones()).sum::<u32>() == 1
    }

    /// Returns the greatest label.
    pub fn greatest(&self) -> u32 {
        self.labels().next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::LabelSet;

    #[test]
    fn sets_of_labels() {
        let set = [3, 64, 130].map(LabelSet::one).iter().fold(LabelSet::one(1), |all, one| all.union(one));
        assert_eq!(set.labels().collect::<Vec<_>>(), [130, 64, 3, 1]);
        assert_eq!(set.greatest(), 130);
        assert_eq!(LabelSet::one(64).union(&set), set);
    }
}
