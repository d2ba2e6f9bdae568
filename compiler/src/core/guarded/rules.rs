//! What the rules of a function say, which are checked before anything runs: which scalars are natural numbers, and
//! how large they are.

use super::{Guards, MAX_STEPS};
use crate::core::linear::Linear;
use crate::core::{Function, Graph, NodeId, Rule};

impl Guards<'_> {
    /// Learns from the rules of a function which scalars are not negative, which of them are small, and which other
    /// forms are not negative.
    ///
    /// ```text
    /// 0 <= k,  0 <= len(x) - k + 1    ->    k is at most len(x) + 1, so sums of indices below k cannot overflow
    /// ```
    pub(super) fn learn_rules(&mut self, f: &Function) {
        let g = &f.graph;
        let ordered: Vec<[NodeId; 2]> =
            f.requires.iter().filter(|r| r.rule != Rule::Same).map(|r| [r.a, r.b]).collect();
        for [least, n] in &ordered {
            let is_natural = Linear::of(g, *least).as_constant().is_some_and(|c| c >= 0);
            if is_natural && Linear::of(g, *n) == (Linear { constant: 0, terms: [(*n, 1)].into() }) {
                self.naturals.insert(*n);
            }
        }
        for [a, b] in ordered {
            let difference = self.exact(g, [b, a]).map(|[b, a]| b.minus(&a));
            self.facts.extend(difference.filter(|form| self.is_exact(g, form, MAX_STEPS)));
        }
        self.facts.retain(|form| !form.at_least(g, 0));
        while let Some(n) = self.bounded_natural(g) {
            self.small.insert(n);
        }
    }

    /// Returns a natural number that is not known to be small, and at most a small sum.
    fn bounded_natural(&self, g: &Graph) -> Option<NodeId> {
        let is_open = |n: &&NodeId| !self.small.contains(*n);
        let is_at_most_small = |form: &Linear, n: NodeId| {
            let counts = |(t, k): &(&NodeId, &i64)| **k > 0 || !self.naturals.contains(*t);
            let terms = form.terms.iter().filter(counts).map(|(t, k)| (*t, *k)).collect();
            let most = Linear { constant: form.constant, terms };
            form.terms.get(&n).is_some_and(|k| *k < 0) && self.is_small(g, &most, MAX_STEPS)
        };
        let mut open = self.naturals.iter().filter(is_open).copied();
        open.find(|n| self.facts.iter().any(|form| is_at_most_small(form, *n)))
    }
}
