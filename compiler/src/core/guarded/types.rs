//! Bounds that follow from the type of a number: a byte is at most 255, wherever it comes from.
//!
//! ```text
//! at %ends, (cast i64 %byte)    ->    elem %ends, (cast i64 %byte)    where %ends has 256 elements
//! ```

use super::Guards;
use crate::core::linear::Linear;
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

impl Guards<'_> {
    /// Whether a form is not negative because of the type of one of its terms.
    pub(super) fn follows_by_type(
        &self,
        g: &Graph,
        (form, term): (&Linear, NodeId),
        index: &[NodeId],
        conditions: &[&Linear],
        steps: u32,
    ) -> bool {
        let Some(range) = range(g, term) else { return false };
        let mut rest = form.clone();
        let k = rest.terms.remove(&term).unwrap_or(0);
        let constant = if k > 0 { range.least } else { range.most };
        let bound = Linear { constant, ..Linear::default() };
        self.follows(g, &rest.minus(&bound.scaled(-k)), index, conditions, steps)
    }
}
