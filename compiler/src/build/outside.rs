//! How the step of an iteration gets values from outside.

use crate::core::linear::Linear;
use crate::core::{Graph, NodeId, Op};
use crate::scalar::Lit;

/// How a step gets a value from outside.
#[derive(Clone, Debug)]
pub enum Outside {
    /// It is a parameter.
    Param(u32),
    /// It is the only element of a parameter, because only the device knows it.
    First(u32),
    /// It is computed from lengths of parameters, so that the step knows which indices are inside: a constant, and
    /// each parameter and axis with its factor.
    Lengths(i64, Vec<(u32, u8, i64)>),
}

impl Outside {
    /// Adds the value to a step.
    pub fn node(self, step: &mut Graph) -> NodeId {
        match self {
            Outside::Param(i) => NodeId(i),
            Outside::Lengths(constant, of) => {
                let terms =
                    of.into_iter().map(|(i, axis, k)| (step.add(Op::Len(NodeId(i), axis)), k)).collect();
                Linear { constant, terms }.node(step)
            }
            Outside::First(i) => {
                let zero = step.lit(Lit::i64(0));
                step.add(Op::Elem(NodeId(i), vec![zero]))
            }
        }
    }
}

/// What the last step was begun with.
#[derive(Debug)]
pub(super) struct Begun {
    pub inits: Vec<NodeId>,
    pub outside: Vec<NodeId>,
    /// The arguments, and how the step gets each value from outside.
    pub made: (Vec<NodeId>, Vec<Outside>),
}
