//! Replaces `stage` by its operand, in the general variant of a function, which is not specialised
//! for the value (`crate::stage`).
//!
//! ```text
//! %1 = stage %n            ->    (%n)
//! %2 = generate %1 (%i) ..       %2 = generate %n (%i) ..
//! ```

use crate::core::{Function, Op, rewrite::rewrite};
use crate::error::Result;

/// Runs the pass.
pub fn run(f: Function) -> Result<Function> {
    let is_stage = |n| matches!(f.graph.op(n), Op::Stage(_));
    if !f.needs(is_stage) {
        return Ok(f);
    }
    Ok(rewrite(&f, true, &mut |g, op| match op {
        Op::Stage(x) => x,
        op => g.add(op),
    }))
}
