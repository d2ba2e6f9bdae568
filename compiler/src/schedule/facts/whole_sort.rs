//! An iteration whose steps order by one digit of the keys each ([`crate::core::digits`]), as one launch that orders
//! by all of these digits. One thread of a CPU runs it instead of the iteration: it needs no tiles, and chooses
//! digits of its own.

use crate::core::digits::digit;
use crate::core::{Form, Function, Graph, NodeId, Op, Var};
use crate::plan::Place;
use crate::scalar::Ty;

/// An array that the sort orders.
#[derive(Clone, Copy)]
pub struct Sorted {
    /// The array in its order before the sort.
    pub from: NodeId,
    /// Where it lies in its order after the sort.
    pub to: Place,
    /// Memory for the orders between two digits.
    pub spare: Place,
}

/// A sort by all digits.
#[derive(Clone)]
pub struct WholeSort {
    /// The keys, and then what moves with them.
    pub arrays: Vec<Sorted>,
    /// The number of digits of 8 bits by which the keys are ordered, from the lowest one on, as a node of the host.
    /// `None` if they are ordered by all of their bits.
    pub digits: Option<NodeId>,
}

/// Whether an iteration is a sort by digits: whether its step, in fused form, moves every state to the places that
/// digit number `turn` of the first state gives.
pub fn is_sort(step: &Function, form: Form) -> bool {
    let (g, states) = (&step.graph, step.results.len());
    let moved = |which: usize| {
        let Op::Materialize(x) = *g.op(step.results[which].value) else { return None };
        let Op::ByDigit { digits, ends, src, .. } = *g.op(x) else { return None };
        is_state(g, src, which as u32).then_some((digits, ends))
    };
    let Some(first) = matches!(form, Form::Last | Form::Or(_)).then(|| moved(0)).flatten() else {
        return false;
    };
    (1..states).all(|which| moved(which) == Some(first)) && is_digit(step, first.0)
}

/// Returns the element of a vector at its own index, and the variable of the index.
fn element(g: &Graph, x: NodeId) -> Option<(NodeId, Var)> {
    match g.op(x) {
        Op::Generate(extents, lambda) if extents.len() == 1 => Some((lambda.body, lambda.params[0].0)),
        _ => None,
    }
}

/// Whether a vector has the elements of a state.
fn is_state(g: &Graph, x: NodeId, which: u32) -> bool {
    *g.op(x) == Op::Param(which)
        || element(g, x).is_some_and(|(body, index)| is_element(g, body, (which, index)))
}

/// Whether a value is the element of a state at an index.
fn is_element(g: &Graph, n: NodeId, (state, index): (u32, Var)) -> bool {
    let Op::Elem(x, at) = g.op(n) else { return false };
    let is_index = |n: &NodeId| matches!(*g.op(*n), Op::Var(var, _) if var == index);
    *g.op(*x) == Op::Param(state) && at.len() == 1 && is_index(&at[0])
}

/// Whether the elements of a vector are digits of the first state.
fn is_digit(step: &Function, digits: NodeId) -> bool {
    let Some((body, index)) = element(&step.graph, digits) else { return false };
    let mut g = step.graph.clone();
    let index = g.add(Op::Var(index, Ty::I64));
    let keys = g.add(Op::Param(0));
    let key = g.add(Op::Elem(keys, vec![index]));
    digit(&mut g, key) == body
}
