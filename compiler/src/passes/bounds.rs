//! Makes bounds total ([`crate::core::bounds`]), where a function was written as text. So a bound is the same
//! expression wherever it stands, and `len` of an array can be replaced by the length of the array even outside
//! bounds, where a division by zero would leave an error record. What a builder makes has such bounds from the
//! beginning.

use crate::core::bounds::Bounds;
use crate::core::rewrite::rewrite_from;
use crate::core::{Function, NodeId, Op};
use crate::error::Result;

/// Runs the pass.
pub fn run(f: Function) -> Result<Function> {
    let g = &f.graph;
    let divides = |n: NodeId| matches!(g.op(n), Op::Binary(..)) && g.op(n).may_record(g) && g.is_closed(n);
    if !f.needs(divides) {
        return Ok(f);
    }
    let mut bounds = Bounds::default();
    let mut out = rewrite_from(&f, false, &mut |g, mut op, _| {
        bounds.of(g, &mut op);
        g.add(op)
    });
    for r in &mut out.requires {
        [r.a, r.b] = [r.a, r.b].map(|n| bounds.total(&mut out.graph, n));
    }
    Ok(out)
}
