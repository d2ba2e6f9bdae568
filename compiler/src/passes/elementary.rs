//! Elementary functions become what they are made of (`arraygpu-math`): one sequence of exact
//! operations for all backends.
//!
//! ```text
//! %1 = exp %0    ->    %1 = lt %0, -104f32    %2 = select %1, -104f32, %0    %3 = mul_add %2, 1.442695f32, 12582912f32 ..
//! ```
//!
//! What the host computes before a launch stays: plans know the functions themselves, by the same
//! definition. So does what is no function of f32 or f64. As the function is rebuilt for them,
//! every operation takes its simplest form with its operands in order (`core/simplify.rs`).
//! Functions of the same argument share what they have in common (the range reduction of `sin x`
//! and `cos x`), because equal nodes are one node.

use crate::core::elementary::expand;
use crate::core::rewrite::rewrite_scalars;
use crate::core::simplify::settle;
use crate::core::{Function, Op, verify};
use crate::error::Result;

/// Runs the pass.
pub fn run(f: Function) -> Result<Function> {
    Ok(rewrite_scalars(&f, true, &mut |g, op, _| {
        let known = match op {
            Op::Unary(o, a) => o.is_elementary() && !verify::runs_on_host(g, a),
            Op::Binary(o, a, b) => {
                o.is_elementary() && !(verify::runs_on_host(g, a) && verify::runs_on_host(g, b))
            }
            _ => false,
        };
        if known { expand(g, &op).unwrap_or_else(|| g.add(op)) } else { settle(g, op) }
    }))
}
