//! The terms of a linear form.

use crate::core::NodeId;
use std::fmt;
use std::hash::{Hash, Hasher};

/// The number of terms that need no allocation. Most indices and lengths have one or two.
const FEW: usize = 3;

/// The coefficients of terms, in ascending order of the terms.
#[derive(Clone)]
pub struct Terms {
    /// The terms, if there are few: the first `count` of these.
    few: [(NodeId, i64); FEW],
    count: u32,
    /// The terms, if there are more.
    many: Vec<(NodeId, i64)>,
}

impl Terms {
    fn as_slice(&self) -> &[(NodeId, i64)] {
        if self.many.is_empty() { &self.few[..self.count as usize] } else { &self.many }
    }

    /// Returns where a term is, or else where it would be inserted.
    fn find(&self, term: NodeId) -> Result<usize, usize> {
        let all = self.as_slice();
        let at = all.iter().take_while(|t| t.0 < term).count();
        if all.get(at).is_some_and(|t| t.0 == term) { Ok(at) } else { Err(at) }
    }

    /// The coefficient of a term, if there is one.
    pub fn get(&self, term: &NodeId) -> Option<&i64> {
        self.find(*term).ok().map(|at| &self.as_slice()[at].1)
    }

    /// Whether there is such a term.
    pub fn contains_key(&self, term: &NodeId) -> bool {
        self.find(*term).is_ok()
    }

    /// Adds a term, or replaces its coefficient.
    pub fn insert(&mut self, term: NodeId, coefficient: i64) {
        let count = self.count as usize;
        match self.find(term) {
            Ok(at) if self.many.is_empty() => self.few[at].1 = coefficient,
            Ok(at) => self.many[at].1 = coefficient,
            Err(at) if self.many.is_empty() && count < FEW => {
                self.few.copy_within(at..count, at + 1);
                self.few[at] = (term, coefficient);
                self.count += 1;
            }
            Err(at) => {
                if self.many.is_empty() {
                    self.many.extend_from_slice(&self.few[..count]);
                }
                self.many.insert(at, (term, coefficient));
            }
        }
    }

    /// Sets the coefficient of a term; a coefficient of 0 removes it.
    pub fn set(&mut self, term: NodeId, coefficient: i64) {
        if coefficient == 0 {
            self.remove(&term);
        } else {
            self.insert(term, coefficient);
        }
    }

    /// Removes a term, and returns its coefficient.
    pub fn remove(&mut self, term: &NodeId) -> Option<i64> {
        let at = self.find(*term).ok()?;
        if self.many.is_empty() {
            let removed = self.few[at].1;
            self.few.copy_within(at + 1..self.count as usize, at);
            self.count -= 1;
            return Some(removed);
        }
        let removed = self.many.remove(at).1;
        if self.many.is_empty() {
            self.count = 0;
        }
        Some(removed)
    }

    /// The number of terms.
    pub fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The terms with their coefficients.
    pub fn iter(&self) -> impl Iterator<Item = (&NodeId, &i64)> {
        self.as_slice().iter().map(|(t, k)| (t, k))
    }

    /// The terms.
    pub fn keys(&self) -> impl Iterator<Item = &NodeId> {
        self.as_slice().iter().map(|t| &t.0)
    }

    /// The coefficients.
    pub fn values(&self) -> impl Iterator<Item = &i64> {
        self.as_slice().iter().map(|t| &t.1)
    }
}

impl Default for Terms {
    fn default() -> Terms {
        Terms { few: [(NodeId(0), 0); FEW], count: 0, many: Vec::new() }
    }
}

impl PartialEq for Terms {
    fn eq(&self, other: &Terms) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Terms {}

impl Hash for Terms {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl fmt::Debug for Terms {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl FromIterator<(NodeId, i64)> for Terms {
    fn from_iter<I: IntoIterator<Item = (NodeId, i64)>>(terms: I) -> Terms {
        let mut out = Terms::default();
        terms.into_iter().for_each(|(t, k)| out.insert(t, k));
        out
    }
}

impl<const N: usize> From<[(NodeId, i64); N]> for Terms {
    fn from(terms: [(NodeId, i64); N]) -> Terms {
        terms.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Terms;
    use crate::core::NodeId;
    use std::collections::BTreeMap;

    /// Insertions and removals of few and of many terms, with the same from a map beside them.
    #[test]
    fn terms_are_a_map_in_order() {
        let (mut terms, mut map, mut x) = (Terms::default(), BTreeMap::new(), 1u32);
        for step in 0..3000 {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let term = NodeId(x >> 8 & 7);
            // ascents to more terms than are few, and descents to none
            if (x >> 16) % 8 < if step / 40 % 2 == 0 { 6 } else { 2 } {
                terms.insert(term, i64::from(step));
                map.insert(term, i64::from(step));
            } else {
                assert_eq!(terms.remove(&term), map.remove(&term));
            }
            assert!(terms.iter().eq(map.iter()) && terms.len() == map.len(), "{terms:?} {map:?}");
            assert_eq!(terms.get(&term), map.get(&term));
            assert_eq!(terms, map.iter().map(|(t, k)| (*t, *k)).collect());
        }
    }
}
