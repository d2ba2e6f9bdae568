//! The numbers by which a caller knows the nodes of a builder. A construct of several nodes has some that the caller
//! does not know, and its number is none.

use crate::abi::AgpuNode;
use crate::error::{INVALID_ARGUMENT, Result, fail};
use arraygpu_compiler::core::NodeId;
use std::fmt::Display;
use std::sync::atomic::{AtomicU32, Ordering};

/// The numbers that a caller got from a builder.
pub(super) struct Numbers {
    /// The number of the builder in this process, which is the high half of its nodes' numbers.
    pub serial: u32,
    /// For each node, whether the caller got its number.
    given: Vec<bool>,
}

impl Numbers {
    /// The numbers of a new builder.
    pub fn new() -> Numbers {
        static SERIALS: AtomicU32 = AtomicU32::new(1);
        Numbers { serial: SERIALS.fetch_add(1, Ordering::Relaxed), given: Vec::new() }
    }

    /// Returns the number of a node for the caller.
    pub fn give(&mut self, node: NodeId) -> AgpuNode {
        let at = node.0 as usize;
        self.given.resize(self.given.len().max(at + 1), false);
        self.given[at] = true;
        u64::from(self.serial) << 32 | u64::from(node.0 + 1)
    }

    /// Returns the node with the caller's number.
    pub fn node(&self, node: AgpuNode, what: impl Display) -> Result<NodeId> {
        let (serial, number) = ((node >> 32) as u32, node as u32);
        if node == 0 {
            fail!(INVALID_ARGUMENT, "{what} is no node");
        }
        if serial != self.serial {
            fail!(INVALID_ARGUMENT, "{what} is a node of another builder");
        }
        match number.checked_sub(1).filter(|n| self.given.get(*n as usize) == Some(&true)) {
            Some(n) => Ok(NodeId(n)),
            None => fail!(INVALID_ARGUMENT, "{what} is no node of this builder"),
        }
    }

    /// Forgets all nodes but the first ones, which are left.
    pub fn truncate(&mut self, left: usize) {
        self.given.truncate(left);
    }
}
