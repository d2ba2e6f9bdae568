//! Rewrites inner products by panels that are not part of an element, such as one element of a
//! matrix product, as sums of panels.
//!
//! ```text
//! panel_dot from %init over %a, %b
//!   ->  add %init, (fold (+) over (generate (panels of %a) (%p) { panel_dot over the 512 elements of panel %p }))
//! ```
//!
//! Fusion does this for the inner products that the author wrote outside of closures. This pass
//! does it for those that no longer depend on any variable.

use crate::core::panels::sum;
use crate::core::rewrite::rewrite;
use crate::core::{Function, Op};
use crate::error::Result;

/// Runs the pass.
pub fn run(f: Function) -> Result<Function> {
    let g = &f.graph;
    if !f.needs(|n| matches!(g.op(n), Op::PanelDot { .. }) && g.is_closed(n)) {
        return Ok(f);
    }
    Ok(rewrite(&f, false, &mut |g, op| match op {
        Op::PanelDot { init, a, b } if [init, a, b].iter().all(|n| g.is_closed(*n)) => sum(g, init, a, b),
        op => g.add(op),
    }))
}
