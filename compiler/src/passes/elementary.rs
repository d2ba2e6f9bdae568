//! Elementary functions become what they are made of (`arraygpu-math`): one sequence of exact operations for all backends.
//!
//! ```text
//! %1 = exp %0    ->    %1 = lt %0, -104f32    %2 = select %1, -104f32, %0    %3 = mul_add %2, 1.442695f32, 12582912f32 ..
//! ```
//!
//! What the host computes before a launch stays: plans know the functions themselves, by the same definition. So does what is no function of f32 or f64.
//! Functions of the same argument share what they have in common (the range reduction of `sin x` and `cos x`), because equal nodes are one node.

use crate::core::rewrite::rewrite_scalars;
use crate::core::term::Term;
use crate::core::{Function, Graph, NodeId, Op, verify};
use crate::error::Result;
use crate::scalar::{Ty, elementary};
use std::cell::RefCell;

/// Runs the pass.
pub fn run(f: Function) -> Result<Function> {
    Ok(rewrite_scalars(&f, false, &mut |g, op, _| {
        let known = match op {
            Op::Unary(o, a) => o.is_elementary() && !verify::runs_on_host(g, a),
            Op::Binary(o, a, b) => {
                o.is_elementary() && !(verify::runs_on_host(g, a) && verify::runs_on_host(g, b))
            }
            _ => false,
        };
        if known { expand(g, &op).unwrap_or_else(|| g.add(op)) } else { g.add(op) }
    }))
}

/// The node that an elementary function is. None: the operation is none.
pub fn expand(g: &mut Graph, op: &Op) -> Option<NodeId> {
    let double = op.operands().any(|n| g.ty(n).elem == Ty::F64);
    let graph = RefCell::new(g);
    macro_rules! term {
        ($f:ty) => {{
            let of = |n: NodeId| Term::<$f>::new(&graph, n);
            match *op {
                Op::Unary(op, a) => elementary::unary(op, of(a)),
                Op::Binary(op, a, b) => elementary::binary(op, of(a), of(b)),
                _ => None,
            }
            .map(|t| t.node)
        }};
    }
    if double { term!(f64) } else { term!(f32) }
}
