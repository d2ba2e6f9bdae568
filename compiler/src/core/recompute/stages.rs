//! Stages of chains of stencils. A *stage* is a matrix between two stencils. One launch computes the chain in tiles,
//! so that a stage is written and read in a cache or in shared memory (`schedule/alternatives/stencil_chain.rs`),
//! without a round trip through memory. A stage therefore pays as soon as computing its elements again costs more
//! than such a store and load ([`NEAR`]). If a target has no launch for the chain, the schedule computes the elements
//! again.

use super::Decide;
use crate::core::NodeId;

/// The number of operations that take as long as storing an element in a cache or in shared memory and reading it.
const NEAR: f64 = 8.0;

impl Decide {
    /// Returns an array that becomes a stage of this context's chain, if there is one. Only this context needs the
    /// array, at constant distances and in no loop, and neither the array nor the context has loops or may leave
    /// error records.
    pub(super) fn stage(&mut self, i: usize) -> Option<NodeId> {
        let ((extents, is_reduced, _), context) = self.contexts.get_index(i)?;
        if !self.may_have_stages || *is_reduced || extents.len() != 2 {
            return None;
        }
        let context = context.clone();
        let plain = |this: &mut Self, x: NodeId| {
            let of = this.demand.content(x);
            !of.records && !of.loops
        };
        if !context.roots.iter().all(|root| plain(self, *root)) {
            return None;
        }
        let mut found: Option<(f64, NodeId)> = None;
        for (x, repeated) in context.places.arrays().collect::<Vec<_>>() {
            let is_alone = self.of_array.get(&x).is_some_and(|of| of.len() == 1);
            if !is_alone
                || repeated > 0.0
                || self.kept_anyway.contains(&x)
                || !self.demand.may_be_stored(x)
                || !plain(self, x)
                || !self.demand.is_around(x, &context.places)
            {
                continue;
            }
            let more = self.demand.reuse_of(x, &context.places) - 1.0;
            let again = more * self.demand.cost_within(x, &context.places);
            // the array that costs most is the stage nearest to the context; earlier stages are found later, when
            // this stage is a context of its own
            if again > NEAR && found.is_none_or(|f| again > f.0) {
                found = Some((again, x));
            }
        }
        found.map(|f| f.1)
    }
}
