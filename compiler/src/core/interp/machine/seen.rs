//! What a caller who watches a call sees of it.

use super::Machine;
use crate::core::NodeId;
use crate::core::interp::env::Env;
use crate::core::interp::values::{Val, Value};
use crate::core::records::words_of;

impl Machine<'_> {
    /// Leaves an error record at a node, if the condition holds.
    pub(in crate::core::interp) fn leave(&mut self, n: NodeId, condition: bool) {
        self.recorded |= condition;
        if let (Some(watch), true, false) = (self.watch, condition, self.in_bound) {
            watch
                .recorded
                .borrow_mut()
                .get_or_insert_with(|| (self.g.node(n).loc.clone(), words_of(self.g, n)));
        }
    }

    /// Shows a value that has names, unless it was shown for these bindings.
    pub(in crate::core::interp) fn show(&self, n: NodeId, value: &Val, env: &Env) {
        let Some(watch) = self.watch else { return };
        let (names, of) = (self.g.names(n), env.of(&self.g.node(n).free));
        if names.is_empty() {
            return;
        }
        if !of.shown.borrow().contains(&n) {
            of.shown.borrow_mut().push(n);
            let value = Value::of(value.clone().canonical());
            names.iter().for_each(|name| (watch.show)(name, &value));
        }
    }
}
