//! What the builder of an iteration's step was begun for.

use arraygpu_compiler::core::NodeId;

/// The iteration to which a step belongs.
pub(super) struct Begun {
    /// The serial number of the builder whose iteration it is.
    pub outer: u32,
    /// The arguments of the step, the first of which are the states.
    pub args: Vec<NodeId>,
    /// How many states there are.
    pub states: usize,
}
