//! The state of a lowering: the function that is being built, and what each node became.

use crate::node::{Composed, Iteration, Node, NodeRef};
use crate::scope::Place;
use arraygpu_compiler::build::Builder;
use arraygpu_compiler::core::{Form, Function, NodeId};
use arraygpu_compiler::loc::{Loc, LocStack};
use std::collections::{HashMap, HashSet};

/// An iteration that was lowered: its step's number, and its arguments.
#[derive(Clone)]
pub(super) struct Lowered {
    pub(super) step: u32,
    pub(super) form: Form,
    pub(super) args: Vec<NodeId>,
}

/// The nodes that the results need beside those that are known, in the order of the program.
pub(super) fn needed(results: &[NodeRef], known: &HashSet<*const Node>) -> Vec<NodeRef> {
    let mut seen = known.clone();
    let (mut stack, mut all) = (results.to_vec(), Vec::new());
    while let Some(node) = stack.pop() {
        if seen.insert(std::ptr::from_ref(node)) {
            all.push(node);
            stack.extend(node.op.operands());
            if let Some(lambda) = node.op.lambda() {
                stack.extend(&lambda.vars);
                stack.push(lambda.body);
            }
        }
    }
    all.sort_unstable_by_key(|n| n.number);
    all
}

/// The state of a lowering.
pub(super) struct Lowering {
    pub(super) b: Builder,
    /// Whether values keep the names that the author traces them by.
    pub(super) keeps_names: bool,
    /// The node of core IR that each node became.
    pub(super) ids: HashMap<*const Node, NodeId>,
    /// The places of the author's program, each converted once.
    places: HashMap<*const std::panic::Location<'static>, LocStack>,
    /// The steps of iterations.
    pub(super) iterations: HashMap<*const Iteration, Lowered>,
    /// The values of composites.
    pub(super) composites: HashMap<*const Composed, Vec<NodeId>>,
}

impl Lowering {
    /// Begins with this function, which has no nodes yet.
    pub(super) fn of(f: Function, keeps_names: bool) -> Lowering {
        Lowering {
            b: Builder::new(f),
            keeps_names,
            ids: HashMap::new(),
            places: HashMap::new(),
            iterations: HashMap::new(),
            composites: HashMap::new(),
        }
    }

    /// The place of a node, as core IR has it.
    pub(super) fn place(&mut self, at: Place) -> LocStack {
        self.places.entry(at).or_insert_with(|| LocStack::one(Loc::caller(at))).clone()
    }

    /// What an earlier node became.
    pub(super) fn id(&self, node: NodeRef) -> NodeId {
        self.ids[&std::ptr::from_ref(node)]
    }
}
