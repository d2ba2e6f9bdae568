//! An iteration whose steps order by one digit of the keys each ([`crate::core::digits`]), as one launch that orders
//! by all of these digits. One thread of a CPU runs it instead of the iteration: it needs no tiles, and chooses
//! digits of its own.

use crate::core::digits::{BITS, DIGITS, sign, word};
use crate::core::{Form, Function, Graph, NodeId, Op, Var};
use crate::plan::Place;
use crate::scalar::{BinaryOp, Lit, Ty};

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

/// Whether the elements of a vector are digits of the first state: `((key - least key) >> (8 turn)) & 255`.
fn is_digit(step: &Function, digits: NodeId) -> bool {
    let g = &step.graph;
    let key = step.params[0].ty.elem;
    let wide = word(key);
    let literal = |n: NodeId, bits: u64| g.as_lit(n) == Some(Lit::from_word(wide, bits));
    let binary = |n: NodeId, wanted: BinaryOp| match *g.op(n) {
        Op::Binary(op, a, b) if op == wanted => Some((a, b)),
        _ => None,
    };
    // the operands of an operation one of which is a literal
    let with_literal = |n: NodeId, op: BinaryOp, bits: u64| {
        let (a, b) = binary(n, op)?;
        if literal(b, bits) { Some(a) } else { literal(a, bits).then_some(b) }
    };
    let cast = |n: NodeId, ty: Ty| match *g.op(n) {
        Op::Cast(to, x) if to == ty => Some(x),
        _ => None,
    };
    let is_shift = |n: NodeId| {
        let by = binary(cast(n, wide)?, BinaryOp::Mul)?;
        let is_turn = |a: NodeId, b: NodeId| *g.op(a) == Op::Turn && g.as_lit(b) == Some(Lit::i64(BITS));
        (is_turn(by.0, by.1) || is_turn(by.1, by.0)).then_some(())
    };
    let found = || {
        let (body, index) = element(g, digits)?;
        let digit = with_literal(cast(body, Ty::I32)?, BinaryOp::And, DIGITS as u64 - 1)?;
        let (bits, shift) = binary(digit, BinaryOp::Shr)?;
        is_shift(shift)?;
        let own = match sign(key) {
            0 => bits,
            sign => with_literal(bits, BinaryOp::Xor, sign)?,
        };
        let own = if key == wide { own } else { cast(own, wide)? };
        is_element(g, own, (0, index)).then_some(())
    };
    found().is_some()
}
