//! Work: an estimate of the number of operations that one element of a fused group takes. It follows from the graph
//! alone and is the same for every target.
//!
//! Each node that depends on the element counts once, however many of the element's values use it. A node that does
//! not depend on the element is computed before the loop and is not counted; neither is a node that only the slow
//! path needs. The length of a nested sequence is not known here, so [`GUESSED_LENGTH`] is taken for it, as for the
//! steps of a loop unless they are a constant. The estimate decides into how many parts a launch is split for
//! threads, and how many elements a GPU thread takes at once.

use crate::core::{Graph, NodeId, Op, Var, tuples};
use crate::core::{deviations, element_loops};
use crate::plan::GUESSED_LENGTH;
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use crate::schedule::element::approximate;
use crate::schedule::element::opened;
use crate::schedule::element::unlikely::arms;
use crate::schedule::groups::{FusedGroup, is_store};
use rustc_hash::FxHashSet as HashSet;

/// Accesses of the accumulator that one element of a reduction makes: a read and a write of the
/// accumulator of its column.
const OF_ACCUMULATOR: u32 = 2;

/// Returns the approximate number of operations of one node, without its operands.
pub fn of_node(op: &Op) -> u32 {
    match op {
        // `RemSlow` is a loop
        Op::Binary(BinaryOp::RemSlow, ..) => 100,
        Op::Unary(UnaryOp::Unlikely, _) | Op::Tuple(_) => 0,
        // the node to which it expands is counted instead
        Op::Unary(op, _) if op.precise().is_some() => 0,
        Op::Binary(op, ..) if op.precise().is_some() => 0,
        Op::Unary(UnaryOp::Sqrt, _) | Op::Binary(BinaryOp::Div | BinaryOp::Rem, ..) => 4,
        _ => 1,
    }
}

/// Returns the number of operations of one element of a fused group in the interior. `arrays` are the interior forms
/// of the arrays that its items store ([`crate::schedule::boundary::interior`]).
pub fn of_element(g: &mut Graph, fused: &FusedGroup, arrays: &[NodeId]) -> u32 {
    let index: Vec<NodeId> = g.sample_index(fused.domain.len()).iter().map(|v| v.1).collect();
    let mut roots = Vec::new();
    let mut reductions: Vec<NodeId> = Vec::new();
    for (it, array) in fused.items.iter().zip(arrays) {
        if is_store(g, it) {
            roots.push(opened(g, *array, &index));
        } else if !reductions.iter().any(|n| tuples::are_components(g, *n, it.node)) {
            reductions.push(it.node);
            roots.push(joined(g, it.node, &index).0);
        }
    }
    let joins = reductions.len() as u32;
    of_roots(g, roots, &[]).0.saturating_add(joins * OF_ACCUMULATOR)
}

/// Returns the value of the accumulator of a reduction or fold after an element, and the variable
/// for the accumulator before it.
pub(in crate::schedule) fn joined(g: &mut Graph, reduction: NodeId, index: &[NodeId]) -> (NodeId, Vec<Var>) {
    if let Op::Reduce { join: step, init, src, .. } | Op::Fold { step, init, src, .. } =
        g.op(reduction).clone()
    {
        let before: Vec<(Var, NodeId)> =
            tuples::types(g, init).into_iter().map(|ty| g.fresh_var(ty)).collect();
        let element = opened(g, src, index);
        let args: Vec<NodeId> = before.iter().map(|v| v.1).chain(tuples::components(g, element)).collect();
        return (g.open(&step, &args), before.into_iter().map(|v| v.0).collect());
    }
    let (var, before) = g.fresh_var(g.ty(reduction).elem);
    let after = match g.op(reduction).clone() {
        Op::SquaredDeviations { src, .. } => {
            let element = opened(g, src, index);
            // any count will do: in loops whose operations matter, the weights that follow from it are constants
            let count = g.lit(Lit::one(g.ty(reduction).elem));
            let next = deviations::count_after(g, count);
            let [.., after] = deviations::step(g, [count, before, before], next, element);
            after
        }
        Op::Dot { a, b, .. } | Op::PanelDot { a, b, .. } => {
            let [a, b] = [a, b].map(|x| opened(g, x, index));
            g.add(Op::MulAdd(a, b, before))
        }
        op => unreachable!("{op:?} is no reduction"),
    };
    (after, vec![var])
}

/// Returns the number of operations that the values `roots` take inside a loop with the variables
/// `own`, and the nodes that depend on none of `own`, which are computed before the loop. If `own`
/// is empty, no node is returned.
pub(in crate::schedule) fn of_roots(g: &mut Graph, roots: Vec<NodeId>, own: &[Var]) -> (u32, Vec<NodeId>) {
    let (mut sum, mut before, mut seen, mut stack) = (0u32, Vec::new(), HashSet::default(), roots);
    while let Some(n) = stack.pop() {
        if g.is_closed(n) || matches!(g.op(n), Op::Var(..)) || !seen.insert(n) {
            continue;
        }
        if !own.is_empty() && !g.node(n).free.iter().any(|v| own.contains(v)) {
            before.push(n);
            continue;
        }
        if let Some((_, _, fast)) = arms(g, n) {
            stack.push(fast);
            continue;
        }
        let op = g.op(n).clone();
        sum = sum.saturating_add(of_node(&op));
        if let Some(made_of) = approximate::of_target(g, &op, false) {
            stack.push(made_of);
        } else if let Op::Loop { step, .. } = &op {
            let vars: Vec<(Var, NodeId)> = step.params.iter().map(|p| g.fresh_var(p.1)).collect();
            let (own, nodes): (Vec<Var>, Vec<NodeId>) = vars.into_iter().unzip();
            let body = g.open(step, &nodes);
            let (of_step, outside) = of_roots(g, vec![body], &own);
            sum = sum.saturating_add(of_step.saturating_mul(steps(g, &op)));
            stack.extend(outside.into_iter().chain(op.operands()));
        } else if op.is_reduction() {
            let (of_row, outside) = of_nested(g, n, &op);
            sum = sum.saturating_add(of_row.saturating_mul(GUESSED_LENGTH));
            stack.extend(outside);
        } else {
            let arrays = matches!(op, Op::At(..) | Op::Elem(..)) as usize;
            stack.extend(op.operands().skip(arrays));
        }
    }
    (sum, before)
}

/// Returns the number of steps of an element's loop: a guess, unless it is a constant and nothing else ends the loop.
fn steps(g: &Graph, op: &Op) -> u32 {
    let Op::Loop { step, count, .. } = op else { return 1 };
    let counted = g.as_lit(*count).filter(|_| element_loops::is_counted(g, step));
    counted.map_or(GUESSED_LENGTH, |n| n.as_i64().clamp(0, u32::MAX.into()) as u32)
}

/// Returns the number of operations of one step of a nested reduction, and the nodes that it needs
/// from outside its loop.
fn of_nested(g: &mut Graph, n: NodeId, op: &Op) -> (u32, Vec<NodeId>) {
    let (init, src) = match *op {
        Op::Reduce { init, src, .. } | Op::Fold { init, src, .. } | Op::SquaredDeviations { init, src } => {
            (init, src)
        }
        Op::Dot { init, a, .. } | Op::PanelDot { init, a, .. } => (init, a),
        _ => unreachable!("{op:?} is no reduction"),
    };
    let (var, index) = g.fresh_var(Ty::I64);
    let (after, accumulators) = joined(g, n, &[index]);
    let (step, mut outside) = of_roots(g, vec![after], &[vec![var], accumulators].concat());
    outside.push(init);
    if let Op::Generate(extents, _) = g.op(src) {
        outside.extend(extents);
    }
    (step, outside)
}
