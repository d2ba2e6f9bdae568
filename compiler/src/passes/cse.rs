//! Common subexpressions. The graph shares equal nodes by construction; this pass makes more nodes equal by putting the operands of
//! commutative operators into one order, which keeps bits.
//!
//! ```text
//! %2 = add %0, %1          %2 = add %0, %1
//! %3 = add %1, %0    ->    %4 = mul %2, %2
//! %4 = mul %2, %3
//! ```

use crate::core::{Function, NodeId, Op, rewrite::rewrite_scalars};
use crate::error::Result;

/// Runs the pass.
pub fn run(f: Function) -> Result<Function> {
    // variables of finished lambdas are canonical, so equal operands of different lambdas are one node of the old graph: its order serves all
    // and constants go last
    let order = |a: NodeId, b: NodeId| (f.graph.as_lit(a).is_some(), a) > (f.graph.as_lit(b).is_some(), b);
    Ok(rewrite_scalars(&f, true, &mut |g, op, old| {
        let swap = match *f.graph.op(old) {
            Op::Binary(o, a, b) => o.is_commutative() && order(a, b),
            Op::MulAdd(a, b, _) => order(a, b),
            _ => false,
        };
        g.add(match op {
            Op::Binary(o, a, b) if swap => Op::Binary(o, b, a),
            Op::MulAdd(a, b, c) if swap => Op::MulAdd(b, a, c),
            op => op,
        })
    }))
}
