//! Constant folding and algebra that keep every bit (semantics section 2), and lengths of array
//! expressions.
//!
//! ```text
//! %1 = add %x, -0f32          ->   %x
//! %2 = div %x, 4f32           ->   mul %x, 0.25f32          (exact; never for 3f32)
//! %3 = len (map .. over %y)   ->   len %y
//! %4 = add (sub %n, 14i64), 2i64   ->   sub %n, 12i64
//! ```
//!
//! The algebra of scalars is in `core/rules`. Each rule keeps the bits for all operands, NaN
//! payloads aside (semantics 2.4), and leaves no new error record.

use crate::core::Function;
use crate::core::rewrite::rewrite_scalars;
use crate::core::simplify::simplify;
use crate::error::Result;

/// Runs the pass.
pub fn run(f: Function) -> Result<Function> {
    Ok(rewrite_scalars(&f, true, &mut |g, op, _| simplify(g, op)))
}
