//! What the counts are made of: sizes, edges between nodes, weights of operations.

use crate::core::{NodeId, Op};
use crate::scalar::{BinaryOp, Lit, UnaryOp};

/// The steps of an element's loop whose number only its data know: those of a loop that a condition ends, and
/// of one whose count is data. Both sides of a comparison take it.
pub const ASSUMED_STEPS: f64 = 64.0;

/// The operations of a step of a search in a merge; arithmetic of indices does not count.
pub const SEARCH_STEP: f64 = 7.0;
/// The operations that an element of a merge takes beside its search.
pub const MERGED: f64 = 2.0;
/// The operations for each element by which it is counted and moved by a digit of its key.
pub const MOVED_BY_DIGIT: f64 = 13.0;
/// The operations that are more of a digit of a float, whose bits are put in order each time.
pub const ORDERED_FLOAT: f64 = 9.0;

/// What is counted.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Counts {
    /// Scalar operations.
    pub operations: f64,
    /// Elements that are read of parameters and of stored arrays.
    pub loads: f64,
    /// Bytes of the parameters' elements that are read at all, each once, of the results, and of
    /// the arrays that the author stores (written and read once).
    pub bytes: f64,
}

impl Counts {
    /// Adds the counts of what runs that often.
    pub(super) fn add(&mut self, other: Counts, times: f64) {
        self.operations += other.operations * times;
        self.loads += other.loads * times;
        self.bytes += other.bytes * times;
    }
}

/// The size of a parameter.
#[derive(Clone, PartialEq, Debug)]
pub enum Size {
    /// The extents of an array, outermost first.
    Extents(Vec<i64>),
    /// The value of a scalar, if it is known.
    Value(Option<Lit>),
}

/// A value that a node needs.
pub struct Edge {
    pub to: NodeId,
    /// How often it is needed for one value of the node.
    pub times: f64,
    pub kind: Kind,
}

/// What a value is needed for.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    /// An operand.
    Value,
    /// An index, whose arithmetic does not count.
    Index,
    /// The element of an array, or an array that is read: the operations of its elements count,
    /// even if the node is part of an index.
    Element,
    /// The same, where another launch reads the elements of a stored array.
    Apart,
    /// An array that an iteration begins with. A parameter's bytes are counted with the step.
    Begin,
}

/// Returns whether an operation is unlikely to be needed: the condition of a rare branch.
pub fn is_rare(op: &Op) -> bool {
    matches!(op, Op::Unary(UnaryOp::Unlikely, _))
}

/// Returns the weight of an operation.
pub fn weight(op: &Op) -> f64 {
    match op {
        Op::MulAdd(..) => 2.0,
        op if is_rare(op) => 0.0,
        // a loop
        Op::Binary(BinaryOp::RemSlow, ..) => 100.0,
        Op::Unary(..) | Op::Binary(..) | Op::Select(..) | Op::Cast(..) => 1.0,
        _ => 0.0,
    }
}
