//! Makes bounds total ([`crate::core::bounds`]): lengths, bounds of slices and numbers of steps are rewritten so that
//! they never leave an error record of a division by zero. So `len` of an array can be replaced by the expression of
//! its length wherever it stands. Builders make such bounds from the beginning; the pass is for functions that were
//! written as text.

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
