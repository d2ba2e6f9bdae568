//! Proves reads in the steps of an element's loop (`Op::Loop`).

use super::once::closed;
use super::{Guards, MAX_STEPS};
use crate::core::linear::Linear;
use crate::core::{Graph, Lambda, NodeId, Op, element_loops};

impl Guards<'_> {
    /// Proves reads in the steps of an element's loop. The number of a step is below their count, and the next states
    /// are computed only where the condition holds.
    pub(super) fn steps(&mut self, g: &mut Graph, step: &Lambda, count: NodeId) -> Lambda {
        let count = element_loops::end(g, count);
        let key = (step.body, count, self.known());
        if let Some(made) = self.made.steps.get(&key) {
            return made.clone();
        }
        let (outer, before) = (self.indices.len(), self.conditions.len());
        // a count that is data may be so large that sums of the step's number overflow
        let is_bounded = self.is_small(g, &self.rules.resolve(&Linear::of(g, count)), MAX_STEPS);
        let (vars, body) = self.opened(g, step, &[count]);
        vars[1..].iter().for_each(|v| g.note_value(v.0));
        if is_bounded {
            self.indices.push((vars[0].1, count, outer));
            self.small.insert(vars[0].1);
            self.made.here = None;
        }
        let (condition, next) = element_loops::parts(g, body);
        let made = self.node(g, condition);
        self.learn(g, condition, true);
        let next: Vec<NodeId> = next.into_iter().map(|n| self.node(g, n)).collect();
        self.forget(outer, before);
        let body = g.add(Op::Tuple([made].into_iter().chain(next).collect()));
        let made = closed(g, step, &vars, body);
        self.made.steps.insert(key, made.clone());
        made
    }
}
