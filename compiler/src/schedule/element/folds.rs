//! The parts of a fold, for every target (semantics 5.5): its initial values, its elements, and the
//! accumulators after a further element. The accumulator may be a tuple, of which several components
//! may be needed; one loop computes them all.

use super::element;
use crate::core::{Graph, Lambda, NodeId, Op, tuples};
use crate::scalar::Ty;
use crate::schedule::facts::order_free;

/// One fold.
pub struct Fold {
    /// The fold's nodes: several if more than one component of a tuple is needed.
    pub nodes: Vec<NodeId>,
    /// Types of the accumulators.
    pub types: Vec<Ty>,
    step: Lambda,
    init: NodeId,
    src: NodeId,
}

impl Fold {
    /// Returns the folds among some nodes, where the components of one tuple are one fold.
    pub fn all(g: &Graph, nodes: impl IntoIterator<Item = NodeId>) -> Vec<Fold> {
        let mut out: Vec<Fold> = Vec::new();
        for node in nodes {
            match out.iter_mut().find(|f| tuples::are_components(g, f.nodes[0], node)) {
                Some(f) => f.nodes.push(node),
                None => out.extend(Fold::of(g, node)),
            }
        }
        out
    }

    /// Returns a node as a fold, or `None` if it is none.
    pub fn of(g: &Graph, node: NodeId) -> Option<Fold> {
        let Op::Fold { step, init, src, .. } = g.op(node).clone() else { return None };
        Some(Fold { nodes: vec![node], types: tuples::types(g, init), step, init, src })
    }

    /// Returns a reduction as a fold, which it is if its order is free ([`crate::schedule::facts::order_free`]).
    pub fn of_reduction(g: &mut Graph, node: NodeId) -> Option<Fold> {
        let Op::Reduce { init, src, .. } = *g.op(node) else { return None };
        let step = order_free::in_order(g, node)?;
        Some(Fold { nodes: vec![node], types: tuples::types(g, init), step, init, src })
    }

    /// Returns the initial values of the accumulators.
    pub fn init(&self, g: &Graph) -> Vec<NodeId> {
        tuples::components(g, self.init)
    }

    /// Returns the components of the element at an index.
    pub fn elements(&self, g: &mut Graph, index: NodeId) -> Vec<NodeId> {
        let element = element(g, self.src, index);
        tuples::components(g, element)
    }

    /// Returns the types of the components of an element.
    pub fn types_of_elements(&self, g: &Graph) -> Vec<Ty> {
        tuples::types_of_elements(g, self.src)
    }

    /// Returns the accumulators after a further element.
    pub fn step(&self, g: &mut Graph, acc: &[NodeId], element: &[NodeId]) -> Vec<NodeId> {
        let next = g.open(&self.step, &[acc, element].concat());
        tuples::components(g, next)
    }

    /// Returns the fold's nodes, each with what belongs to its accumulator.
    pub fn values<T: Clone>(&self, g: &Graph, of_accumulators: &[T]) -> Vec<(NodeId, T)> {
        self.nodes.iter().map(|n| (*n, of_accumulators[tuples::which(g, *n)].clone())).collect()
    }
}
