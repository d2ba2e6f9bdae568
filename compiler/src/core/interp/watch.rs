//! What a caller sees of a call besides its results: values that the author named, and the place of the first error
//! record.

use super::values::Value;
use crate::loc::LocStack;
use std::cell::RefCell;

/// Gets a value and the author's name for it.
type Show = dyn Fn(&str, &Value);

/// Watches a call.
pub struct Watch {
    pub(super) show: Box<Show>,
    pub(super) recorded: RefCell<Option<(LocStack, String)>>,
}

impl Watch {
    /// Calls `show` with each value that the graph has a name for, when it is computed: once for each binding of the
    /// variables that it depends on.
    pub fn new(show: impl Fn(&str, &Value) + 'static) -> Watch {
        Watch { show: Box::new(show), recorded: RefCell::default() }
    }

    /// Returns the place that left the first error record, in the order in which the interpreter computes, and its
    /// text.
    pub fn recorded(&self) -> Option<(LocStack, String)> {
        self.recorded.borrow().clone()
    }
}
