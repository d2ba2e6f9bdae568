//! Common subexpressions. The graph shares equal nodes by construction; this pass makes more nodes equal by putting the operands of
//! commutative operators into one order, which keeps bits.
//!
//! ```text
//! %2 = add %0, %1          %2 = add %0, %1
//! %3 = add %1, %0    ->    %4 = mul %2, %2
//! %4 = mul %2, %3
//! ```

use crate::core::{Function, Op, rewrite::rewrite};
use crate::error::Result;

/// Runs the pass.
pub fn run(f: &Function) -> Result<Function> {
    Ok(rewrite(f, true, &mut |g, op| {
        let swapped = match op {
            Op::Binary(o, a, b) if o.is_commutative() => Op::Binary(o, b, a),
            Op::MulAdd(a, b, c) => Op::MulAdd(b, a, c),
            _ => return g.add(op),
        };
        // the order that the author wrote first stays: the text keeps its look
        g.find(&swapped).unwrap_or_else(|| g.add(op))
    }))
}
