//! `fast_math`: what the hardware approximates, in functions whose author allowed it. f32 only.
//!
//! ```text
//! %2 = div %0, %1    ->    %2 = approx_div %0, %1
//! %3 = exp %2        ->    %3 = mul %2, 1.442695f32    %4 = approx_exp2 %3
//! ```
//!
//! What has no approximation here (`pow`, `erf`, ..) stays as it is: `elementary` expands it. What the host computes stays precise.

use crate::core::rewrite::rewrite;
use crate::core::{Function, Graph, NodeId, Op, verify};
use crate::error::Result;
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use std::f32::consts::{LN_2, LOG2_E, LOG10_2};

/// Runs the pass; it does nothing to a function without `fast_math`.
pub fn run(f: &Function) -> Result<Function> {
    if !f.fast {
        return Ok(f.clone());
    }
    Ok(rewrite(f, false, &mut |g, op| {
        let on_host = op.operands().all(|n| verify::runs_on_host(g, n));
        let single = op.operands().next().is_some_and(|n| g.ty(n).elem == Ty::F32);
        let fast = if single && !on_host { approximation(g, &op) } else { None };
        fast.unwrap_or_else(|| g.add(op))
    }))
}

fn approximation(g: &mut Graph, op: &Op) -> Option<NodeId> {
    let times = |g: &mut Graph, n: NodeId, c: f32| {
        let c = g.lit(Lit::f32(c));
        g.add(Op::Binary(BinaryOp::Mul, n, c))
    };
    let (op, x) = match *op {
        Op::Binary(BinaryOp::Div, a, b) => return Some(g.add(Op::Binary(BinaryOp::ApproxDiv, a, b))),
        Op::Unary(op, x) => (op, x),
        _ => return None,
    };
    let mut apply = |op| g.add(Op::Unary(op, x));
    Some(match op {
        UnaryOp::Sqrt => apply(UnaryOp::ApproxSqrt),
        UnaryOp::Rsqrt => apply(UnaryOp::ApproxRsqrt),
        UnaryOp::Exp2 => apply(UnaryOp::ApproxExp2),
        UnaryOp::Log2 => apply(UnaryOp::ApproxLog2),
        UnaryOp::Sin => apply(UnaryOp::ApproxSin),
        UnaryOp::Cos => apply(UnaryOp::ApproxCos),
        UnaryOp::Exp => {
            let scaled = times(g, x, LOG2_E);
            g.add(Op::Unary(UnaryOp::ApproxExp2, scaled))
        }
        UnaryOp::Log | UnaryOp::Log10 => {
            let log2 = apply(UnaryOp::ApproxLog2);
            times(g, log2, if op == UnaryOp::Log { LN_2 } else { LOG10_2 })
        }
        UnaryOp::Tan => {
            let (sin, cos) = (apply(UnaryOp::ApproxSin), apply(UnaryOp::ApproxCos));
            g.add(Op::Binary(BinaryOp::ApproxDiv, sin, cos))
        }
        _ => return None,
    })
}
