//! Expands elementary functions to the operations of `arraygpu-math`: one sequence of exact
//! operations for all backends.
//!
//! ```text
//! %1 = exp %0    ->    %1 = lt %0, -104f32    %2 = select %1, -104f32, %0
//!                      %3 = mul_add %2, 1.442695f32, 12582912f32 ..
//! ```
//!
//! Scalars that the host computes before a launch are not expanded: plans evaluate the functions themselves, by the
//! same definition. Operations on types other than f32 and f64 are not expanded either. The pass rebuilds the whole
//! function, so every operation takes its simplest form, with its operands in order (`core/simplify.rs`). Functions
//! of the same argument share common parts, such as the range reduction of `sin x` and `cos x`, because equal nodes
//! are one node.

use crate::core::elementary::expand;
use crate::core::host::HostScalars;
use crate::core::rewrite::rewrite_scalars;
use crate::core::simplify::settle;
use crate::core::{Function, Op};
use crate::error::Result;

/// Runs the pass.
pub fn run(f: Function) -> Result<Function> {
    let mut hosts = HostScalars::default();
    Ok(rewrite_scalars(&f, true, &mut |g, op, _| {
        let known = match op {
            Op::Unary(o, a) => o.is_elementary() && !hosts.runs_on_host(g, a),
            Op::Binary(o, a, b) => {
                o.is_elementary() && !(hosts.runs_on_host(g, a) && hosts.runs_on_host(g, b))
            }
            _ => false,
        };
        if known { expand(g, &op).unwrap_or_else(|| g.add(op)) } else { settle(g, op) }
    }))
}
