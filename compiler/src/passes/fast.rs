//! `fast_math`: marks the operations that a GPU may approximate, in functions whose author allowed
//! it. This concerns f32 only, which includes the f32 operations in which halves are computed.
//!
//! ```text
//! %2 = div %0, %1    ->    %2 = approx_div %0, %1
//! %3 = exp %2        ->    %3 = approx_exp %2
//! %4 = mul %3, %0    ->    %4 = approx_mul %3, %0
//! %5 = add %4, %1    ->    %5 = approx_add %4, %1
//! ```
//!
//! Each approximation stays one operation, so that CPUs can still compute the precise operation
//! (`schedule/element/approximate.rs`). Functions without an approximation (`pow`, `erf`, ..) stay as they are, and
//! so do multiply-adds, which no earlier pass makes of sums: `elementary` expands both later, to exact operations
//! that no backend may contract. Scalars that the host computes stay precise.

use crate::core::host::HostScalars;
use crate::core::rewrite::rewrite_scalars;
use crate::core::simplify::simplify;
use crate::core::{Function, Op};
use crate::error::Result;
use crate::scalar::Ty;

/// Runs the pass; it does nothing to a function without `fast_math`.
pub fn run(mut f: Function) -> Result<Function> {
    if !f.fast {
        return Ok(f);
    }
    // from here on, a multiply-add may be rewritten as an exact sum
    f.graph.approximates = false;
    let mut hosts = HostScalars::default();
    Ok(rewrite_scalars(&f, false, &mut |g, op, _| {
        let on_host = op.operands().all(|n| hosts.runs_on_host(g, n));
        let single = op.operands().next().is_some_and(|n| g.ty(n).elem == Ty::F32);
        let fast = if single && !on_host { approximation(&op) } else { None };
        match fast.unwrap_or(op) {
            op @ Op::MulAdd(..) => simplify(g, op),
            op => g.add(op),
        }
    }))
}

fn approximation(op: &Op) -> Option<Op> {
    Some(match *op {
        Op::Unary(op, x) => Op::Unary(op.approximate()?, x),
        Op::Binary(op, a, b) => Op::Binary(op.approximate()?, a, b),
        _ => return None,
    })
}
