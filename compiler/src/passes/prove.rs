//! Replaces reads that the author indexes (`at`) by plain reads (`elem`) if the index is provably
//! inside: an index of a `generate` plus a constant. The proof may use the shape rules, because
//! they are checked before any launch.
//!
//! ```text
//! generate (sub (len %x), 2i64) (%i) { at %x, (add %i, 2i64) }    ->    { elem %x, (add %i, 2i64) }
//! ```
//!
//! Fusion does this for each `generate` that it makes (`core/prove.rs`). This pass does it again with the function's
//! shape rules, and for indices that have become constants since. After that it proves clamped indices, and reads
//! that conditions keep in bounds (`core/guarded.rs`).

use crate::core::Function;
use crate::core::equations::Equations;
use crate::core::guarded::{is_wanted, prove_guarded};
use crate::core::prove::prove_all;
use crate::error::Result;

/// Runs the pass.
pub fn run(f: Function) -> Result<Function> {
    if !f.needs(|n| is_wanted(&f.graph, f.graph.op(n))) {
        return Ok(f);
    }
    let equations = Equations::of(&f);
    let mut out = f;
    prove_all(&mut out, &equations);
    prove_guarded(&mut out, &equations);
    Ok(out)
}
