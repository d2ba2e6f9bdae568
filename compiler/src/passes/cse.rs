//! Common subexpressions. The graph shares equal nodes by construction; more of them are equal once they are simple and the operands of
//! commutative operators stand in one order, which keeps bits.
//!
//! ```text
//! %2 = add %0, %1          %2 = add %0, %1
//! %3 = add %1, %0    ->    %4 = mul %2, %2
//! %4 = mul %2, %3
//! ```

use super::simplify::simplify;
use crate::core::{Graph, NodeId, Op};

/// The node that stands for an operation whose operands have been settled: the simplest that means it, with operands in order.
pub fn settle(g: &mut Graph, op: Op) -> NodeId {
    let op = match op {
        Op::Binary(o, a, b) if o.is_commutative() && is_after(g, a, b) => Op::Binary(o, b, a),
        Op::MulAdd(a, b, c) if is_after(g, a, b) => Op::MulAdd(b, a, c),
        op => op,
    };
    simplify(g, op)
}

/// Whether operands that may change places do not stand in order. Variables of finished lambdas are canonical, so equal operands of different lambdas are one
/// node: the order of nodes serves all, and constants go last.
fn is_after(g: &Graph, a: NodeId, b: NodeId) -> bool {
    (g.as_lit(a).is_some(), a) > (g.as_lit(b).is_some(), b)
}
