//! The approximate operations of `fast_math` on each target: on a CPU each becomes the precise operation, on a GPU it
//! becomes instructions of the hardware.

use crate::core::elementary;
use crate::core::{Graph, NodeId, Op};
use crate::scalar::{BinaryOp, Lit, UnaryOp};
use std::f32::consts::{LN_2, LOG2_E, LOG10_2};

/// Returns the expansion of an operation on the target. Returns `None` if the target has the
/// operation itself.
pub fn of_target(g: &mut Graph, op: &Op, gpu: bool) -> Option<NodeId> {
    match *op {
        Op::Unary(op, x) if gpu => instructions(g, op, x),
        _ if gpu => None,
        Op::Unary(op, x) => Some(precise(g, Op::Unary(op.precise()?, x))),
        Op::Binary(op, a, b) => Some(precise(g, Op::Binary(op.precise()?, a, b))),
        _ => None,
    }
}

fn precise(g: &mut Graph, op: Op) -> NodeId {
    elementary::expand(g, &op).unwrap_or_else(|| g.add(op))
}

/// Returns the expansion of an approximate operation for which a GPU has no instruction: the hardware has only powers
/// of 2 and logarithms to base 2, and no tangent.
fn instructions(g: &mut Graph, op: UnaryOp, x: NodeId) -> Option<NodeId> {
    let times = |g: &mut Graph, n: NodeId, c: f32| {
        let c = g.lit(Lit::f32(c));
        g.add(Op::Binary(BinaryOp::ApproxMul, n, c))
    };
    Some(match op {
        UnaryOp::ApproxExp => {
            let scaled = times(g, x, LOG2_E);
            g.add(Op::Unary(UnaryOp::ApproxExp2, scaled))
        }
        UnaryOp::ApproxLog | UnaryOp::ApproxLog10 => {
            let log2 = g.add(Op::Unary(UnaryOp::ApproxLog2, x));
            times(g, log2, if op == UnaryOp::ApproxLog { LN_2 } else { LOG10_2 })
        }
        UnaryOp::ApproxTan => {
            let [sin, cos] = [UnaryOp::ApproxSin, UnaryOp::ApproxCos].map(|op| g.add(Op::Unary(op, x)));
            g.add(Op::Binary(BinaryOp::ApproxDiv, sin, cos))
        }
        _ => return None,
    })
}
