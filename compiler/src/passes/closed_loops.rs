//! Moves loops (`Op::Loop`) that depend on no index out of elements. Such a loop would run in every thread with the
//! same result. So a launch of one thread computes it beforehand, and stores its value in an array of one element.
//! Other values that depend on no index need no such launch: reductions have launches of their own, and the host
//! computes scalars without loops.
//!
//! ```text
//!                                                %t = materialize (generate 1 { loop 0 .. by 1000 from %p { .. } })
//! generate n (%i) {                              generate n (%i) {
//!   %s = loop 0 .. by 1000 from %p { .. }    ->
//!   %x[%i] + %s                                    %x[%i] + elem %t, 0
//! }                                              }
//! ```
//!
//! If several values of one loop are needed, they become items of one fused group, which runs the loop once. A loop
//! of at most [`FEW`] operations stays where it is, and so do a loop in an array of one element and a loop whose
//! values cannot be stored.

use crate::core::rewrite::rewrite_from;
use crate::core::{Function, Graph, NodeId, Op, kept_records};
use crate::error::Result;
use crate::scalar::{Lit, Ty};
use rustc_hash::FxHashSet as HashSet;

/// The maximum number of operations of a loop, in all its steps, that every thread computes: two for each of the four
/// elements that it has.
const FEW: i64 = 8;

/// Runs the pass.
pub fn run(f: Function) -> Result<Function> {
    if !f.needs(|n| f.graph.is_closed(n) && is_long(&f.graph, n)) {
        return Ok(f);
    }
    let loops = needed_by_elements(&f);
    if loops.is_empty() {
        return Ok(f);
    }
    Ok(rewrite_from(&f, false, &mut |g, op, old| {
        let made = g.add(op);
        if loops.contains(&old) { stored(g, made).unwrap_or(made) } else { made }
    }))
}

/// Returns the long loops that elements of arrays need and that depend on no index.
pub fn needed_by_elements(f: &Function) -> HashSet<NodeId> {
    let g = &f.graph;
    let (mut stack, mut seen, mut out) = (Vec::new(), HashSet::default(), HashSet::default());
    for n in g.reachable(f.results.iter().map(|r| r.value)) {
        let is_single = |extents: &[NodeId]| {
            extents.iter().all(|n| g.as_lit(*n).and_then(Lit::as_int).is_some_and(|n| n <= 1))
        };
        match g.op(n) {
            Op::Generate(extents, _) if is_single(extents) => {}
            // values outside of the loop that its step needs are computed once
            Op::Loop { .. } => {}
            op => stack.extend(op.lambda().map(|l| l.body)),
        }
    }
    while let Some(n) = stack.pop() {
        if !seen.insert(n) {
            continue;
        }
        if g.is_closed(n) && is_long(g, n) {
            out.insert(n);
            continue;
        }
        let op = g.op(n);
        // a value that a launch computes beforehand is examined by itself
        if !(g.is_closed(n) && op.needs_launch()) {
            op.for_operands(|o| stack.push(o));
            stack.extend(op.lambda().filter(|_| !g.is_closed(n)).map(|l| l.body));
        }
    }
    out
}

/// Returns whether a node is a loop that takes more than a few operations.
pub fn is_long(g: &Graph, n: NodeId) -> bool {
    let Op::Loop { step, count, .. } = g.op(n) else { return false };
    let Some(steps) = g.as_lit(*count).map(Lit::as_i64) else { return true };
    let of_step = g.reachable([step.body]);
    let is_free = |op: &Op| matches!(op, Op::Var(..) | Op::Const(_) | Op::Param(_) | Op::Tuple(_));
    let operations = of_step.iter().filter(|n| !is_free(g.op(**n))).count() as i64;
    steps.saturating_mul(operations) > FEW || of_step.iter().any(|n| g.op(*n).is_loop())
}

/// Returns the value of a loop as the element of a stored array.
fn stored(g: &mut Graph, value: NodeId) -> Option<NodeId> {
    let before = g.set_loc(g.node(value).loc.clone());
    let one = g.lit(Lit::i64(1));
    let lambda = g.lambda(&[Ty::I64], |_, _| value);
    let array = g.add(Op::Generate(vec![one], lambda));
    let zero = g.lit(Lit::i64(0));
    let element = kept_records::stored(g, array).map(|array| kept_records::element(g, array, &[zero]));
    g.set_loc(before);
    element
}
