//! Reads that the author indexes (`at`) are plain reads (`elem`) where the index is provably
//! inside: that of a `generate` plus a constant. What shape rules say of lengths counts: they are
//! checked before anything runs.
//!
//! ```text
//! generate (sub (len %x), 2i64) (%i) { at %x, (add %i, 2i64) }    ->    { elem %x, (add %i, 2i64) }
//! ```
//!
//! Fusion asks of each `generate` that it makes (`core/prove.rs`); the pass does it again for
//! indices that became constants since, with the function's rules.

use crate::core::equations::Equations;
use crate::core::prove::prove_all;
use crate::core::{Function, Op, Rule};
use crate::error::Result;

/// Runs the pass.
pub fn run(f: Function) -> Result<Function> {
    let is_total = |n| matches!(f.graph.op(n), Op::At(..));
    if !f.needs(is_total) {
        return Ok(f);
    }
    let mut equations = Equations::default();
    for r in f.requires.iter().filter(|r| r.rule == Rule::Same) {
        equations.add(&f.graph, r.a, r.b);
    }
    let mut out = f;
    prove_all(&mut out, &equations);
    Ok(out)
}
