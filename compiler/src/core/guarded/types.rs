//! Bounds that follow from the type of a number: a byte is at most 255, wherever it comes from.
//!
//! ```text
//! at %ends, (cast i64 %byte)    ->    elem %ends, (cast i64 %byte)    where %ends has 256 elements
//! ```

use crate::core::{Graph, NodeId, Op};
use crate::scalar::range::Range;
use crate::scalar::{BinaryOp, Lit, Ty};

/// Returns the least and the greatest value of an i64 that is cast from a type of at most 32 bits, or of which a mask
/// leaves few bits.
pub(super) fn range(g: &Graph, n: NodeId) -> Option<Range> {
    match *g.op(n) {
        Op::Cast(Ty::I64, a) => {
            let ty = g.ty(a).elem;
            (ty == Ty::Bool || ty.is_int() && ty.size() <= 4).then(|| Range::of(ty))
        }
        Op::Binary(BinaryOp::And, a, b) if g.ty(n).elem == Ty::I64 => {
            let mask = [a, b].into_iter().find_map(|m| g.as_lit(m)).map(Lit::as_i64)?;
            (0..=i64::from(u32::MAX)).contains(&mask).then(|| Range::new(0, mask))
        }
        _ => None,
    }
}
