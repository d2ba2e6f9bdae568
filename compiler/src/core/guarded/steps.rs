//! Reads in the steps of an element's loop.

use super::{Guards, MOST_STEPS};
use crate::core::linear::Linear;
use crate::core::{Graph, Lambda, NodeId, Op, element_loops};
use crate::scalar::Ty;
use rustc_hash::FxHashMap as HashMap;

impl Guards<'_> {
    /// Proves reads in the steps of an element's loop. The number of a step is below their count, and the next
    /// states are computed only where the condition holds.
    pub(super) fn steps(&mut self, g: &mut Graph, step: &Lambda, count: NodeId) -> Lambda {
        let key = (step.clone(), count, self.indices.len(), self.conditions.clone());
        if let Some((known, made)) = &self.steps
            && *known == key
        {
            return made.clone();
        }
        let (outer, before) = (self.indices.len(), self.conditions.len());
        let types: Vec<Ty> = step.params.iter().map(|p| p.1).collect();
        // a count that is data may be so large that sums wrap
        let is_bounded = self.is_small(g, &self.rules.resolve(&Linear::of(g, count)), MOST_STEPS);
        let made = g.lambda(&types, |g, v| {
            if is_bounded {
                self.indices.push((v[0], count, outer));
            }
            let body = g.open(step, v);
            self.lead(g, body);
            let (condition, next) = element_loops::parts(g, body);
            let made = self.node(g, condition, &mut HashMap::default());
            self.learn(g, condition, true);
            let mut memo = HashMap::default();
            let next: Vec<NodeId> = next.into_iter().map(|n| self.node(g, n, &mut memo)).collect();
            g.add(Op::Tuple([made].into_iter().chain(next).collect()))
        });
        self.indices.truncate(outer);
        self.conditions.truncate(before);
        self.steps = Some((key, made.clone()));
        made
    }
}
