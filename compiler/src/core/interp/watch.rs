//! What a caller sees of a call beside its results: values that the author named, and the place of the first error
//! record.

use super::Value;
use super::machine::{Env, Machine};
use super::values::Val;
use crate::core::NodeId;
use crate::loc::LocStack;
use std::cell::RefCell;

/// Who looks at a call.
pub struct Watch {
    show: Box<dyn Fn(&str, &Value)>,
    recorded: RefCell<Option<LocStack>>,
}

impl Watch {
    /// Calls `show` with each value that the graph has a name for, when it is computed: once for each binding of the
    /// variables that it depends on.
    pub fn new(show: impl Fn(&str, &Value) + 'static) -> Watch {
        Watch { show: Box::new(show), recorded: RefCell::default() }
    }

    /// The place that left the first error record, in the order in which the interpreter computes.
    pub fn recorded(&self) -> Option<LocStack> {
        self.recorded.borrow().clone()
    }
}

impl Machine<'_> {
    /// Leaves an error record at a node, if the condition holds.
    pub(super) fn leave(&mut self, n: NodeId, condition: bool) {
        self.recorded |= condition;
        if let (Some(watch), true, false) = (self.watch, condition, self.in_bound) {
            watch.recorded.borrow_mut().get_or_insert_with(|| self.g.node(n).loc.clone());
        }
    }

    /// Shows a value that has names, unless it was shown for these bindings.
    pub(super) fn show(&self, n: NodeId, value: &Val, env: &Env) {
        let (Some(watch), names) = (self.watch, self.g.names(n)) else { return };
        if names.is_empty() {
            return;
        }
        let free = &self.g.node(n).free;
        let mut of = env;
        while let (false, Some(outer)) = (of.params.iter().any(|p| free.contains(&p.0)), of.outer) {
            of = outer;
        }
        if !of.shown.borrow().contains(&n) {
            of.shown.borrow_mut().push(n);
            let value = super::value(value.clone().canonical());
            names.iter().for_each(|name| (watch.show)(name, &value));
        }
    }
}
