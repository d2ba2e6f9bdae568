//! Open variables that stand for values, such as the elements of a mapped array, and not for indices. Whoever leaves
//! out such a variable asks whether that loses an error record (`core/records.rs`).

use super::Graph;
use crate::core::{NodeId, Op, Var};

impl Graph {
    /// Notes that an open variable stands for a value: computing that may leave an error record, which would be lost
    /// if nothing needed the variable.
    pub fn note_value(&mut self, var: Var) {
        self.of_values.insert(var);
    }

    /// Does the same for nodes of open variables.
    pub fn note_values(&mut self, nodes: &[NodeId]) {
        for n in nodes {
            if let Op::Var(var, _) = *self.op(*n) {
                self.note_value(var);
            }
        }
    }

    /// Removes such a note, when the variable is bound.
    pub fn forget_value(&mut self, var: Var) {
        self.of_values.remove(&var);
    }

    /// Returns whether an open variable stands for a value and not for an index.
    pub fn is_of_value(&self, var: Var) -> bool {
        self.of_values.contains(&var)
    }
}
