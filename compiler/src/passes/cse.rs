//! Common subexpressions. The graph shares equal nodes by construction; this pass makes more nodes equal by putting the operands of
//! commutative operators into one order, which keeps bits.
//!
//! ```text
//! %2 = add %0, %1          %2 = add %0, %1
//! %3 = add %1, %0    ->    %4 = mul %2, %2
//! %4 = mul %2, %3
//! ```

use crate::core::{Function, Graph, NodeId, Op, rewrite::rewrite_scalars};
use crate::error::Result;

/// Runs the pass.
pub fn run(f: Function) -> Result<Function> {
    let g = &f.graph;
    let roots = f.results.iter().map(|r| r.value).chain(f.requires.iter().flat_map(|r| [r.a, r.b]));
    if !g.reachable(roots).into_iter().any(|n| is_turned(g, n)) {
        return Ok(f);
    }
    Ok(rewrite_scalars(&f, true, &mut |g, op, old| {
        let swap = is_turned(&f.graph, old);
        g.add(match op {
            Op::Binary(o, a, b) if swap => Op::Binary(o, b, a),
            Op::MulAdd(a, b, c) if swap => Op::MulAdd(b, a, c),
            op => op,
        })
    }))
}

/// Whether operands that may change places do not stand in order. Variables of finished lambdas are canonical, so equal operands of different lambdas are one
/// node: the order of nodes serves all, and constants go last.
fn is_turned(g: &Graph, n: NodeId) -> bool {
    let order = |a: NodeId, b: NodeId| (g.as_lit(a).is_some(), a) > (g.as_lit(b).is_some(), b);
    match *g.op(n) {
        Op::Binary(o, a, b) => o.is_commutative() && order(a, b),
        Op::MulAdd(a, b, _) => order(a, b),
        _ => false,
    }
}
