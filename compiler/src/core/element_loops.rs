//! Loops of one element (`Op::Loop`, semantics 5.16).
//!
//! ```text
//! %s = loop 0 (%i: i64, %x: f32, %k: i64) by %n from 1f32, 0i64 {
//!     %c = lt %x, 4f32  ..  %t = tuple %c, %next, %more  yield %t }
//! ```
//!
//! A loop has a value for each state, and a last one, the number of its steps. They are separate nodes with the same
//! operands.

use super::{Graph, Lambda, NodeId, Op};
use crate::scalar::{BinaryOp, Lit, Ty};

/// Returns the values of a loop: the states, and the number of steps. `step` returns the condition and the next
/// states.
pub fn looped(
    g: &mut Graph,
    count: NodeId,
    init: &[NodeId],
    step: impl FnOnce(&mut Graph, NodeId, &[NodeId]) -> (NodeId, Vec<NodeId>),
) -> Vec<NodeId> {
    let states = init.iter().map(|x| g.ty(*x).elem);
    let types: Vec<Ty> = [Ty::I64].into_iter().chain(states).collect();
    let step = g.lambda(&types, |g, v| {
        let (condition, next) = step(g, v[0], &v[1..]);
        g.add(Op::Tuple([vec![condition], next].concat()))
    });
    let value = |which| g.add(Op::Loop { step: step.clone(), which, count, init: init.to_vec() });
    (0..types.len() as u32).map(value).collect()
}

/// Returns another value of a loop.
pub fn value(op: &Op, of: u32) -> Op {
    let mut op = op.clone();
    if let Op::Loop { which, .. } = &mut op {
        *which = of;
    }
    op
}

/// Returns the first value of a loop, which stands for all of them.
pub fn first(g: &mut Graph, n: NodeId) -> NodeId {
    let op = value(g.op(n), 0);
    g.add(op)
}

/// Returns the condition and the next states of a step.
pub fn parts(g: &Graph, body: NodeId) -> (NodeId, Vec<NodeId>) {
    let Op::Tuple(parts) = g.op(body) else { unreachable!("verified: a tuple") };
    (parts[0], parts[1..].to_vec())
}

/// Returns a number that those of the steps are below where there are any: that of a loop that has none unless a
/// condition holds.
pub fn end(g: &Graph, mut count: NodeId) -> NodeId {
    while let Op::Select(_, n, none) = *g.op(count)
        && g.as_lit(none) == Some(Lit::i64(0))
    {
        count = n;
    }
    count
}

/// Whether a loop ends by its number of steps alone.
pub fn is_counted(g: &Graph, step: &Lambda) -> bool {
    g.as_lit(parts(g, step.body).0).is_some_and(Lit::as_bool)
}

/// Returns a number of steps that a loop cannot exceed, because its condition ends it: a state that begins with a
/// constant grows by a constant in each step, and must stay below a constant.
pub fn most_steps(g: &Graph, step: &Lambda, init: &[NodeId]) -> Option<i64> {
    let (condition, next) = parts(g, step.body);
    let mut all = vec![condition];
    let mut least: Option<i64> = None;
    while let Some(n) = all.pop() {
        let (state, end) = match *g.op(n) {
            Op::Binary(BinaryOp::And, a, b) if g.ty(a).elem == Ty::Bool => {
                all.extend([a, b]);
                continue;
            }
            Op::Binary(BinaryOp::Lt, a, b) => (a, b),
            Op::Binary(BinaryOp::Gt, a, b) => (b, a),
            _ => continue,
        };
        let Op::Var(var, ty @ (Ty::I32 | Ty::I64)) = *g.op(state) else { continue };
        let Some(at) = step.params[1..].iter().position(|p| p.0 == var) else { continue };
        let Op::Binary(BinaryOp::Add, a, b) = *g.op(next[at]) else { continue };
        let by = if a == state { b } else { a };
        if a != state && b != state {
            continue;
        }
        let known = [init[at], by, end].map(|n| Some(i128::from(g.as_lit(n)?.as_int()?)));
        let [Some(start), Some(by), Some(end)] = known else { continue };
        let greatest = if ty == Ty::I32 { i128::from(i32::MAX) } else { i128::from(i64::MAX) };
        if by >= 1 && end + by <= greatest {
            let steps = ((end - start).max(0) + by - 1) / by;
            least = least.into_iter().chain(i64::try_from(steps)).min();
        }
    }
    least
}
