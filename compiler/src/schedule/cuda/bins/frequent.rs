//! Frequent bins: a block has accumulators in shared memory for the bins of a sample of its elements. Without them,
//! atomic operations of many elements of few bins would wait for each other in global memory.
//!
//! ```text
//! the sample has bin 5 * SLOTS + 3:    tags[3] = 5, accumulators[3]
//! an element of bin 5 * SLOTS + 3:     tags[3] is 5, so it is joined to accumulators[3]
//! an element of bin 8 * SLOTS + 3:     tags[3] is not 8, so it is joined to the result
//! ```
//!
//! Tags do not change after the sample, of one element a thread. A bin that has one element in 256 or fewer may have
//! no accumulator, but it has too few elements to wait long. At the end, the accumulators are joined to the result.
//! Operators are exact, or the author allows any order, so the result does not depend on which bins were sampled.

use super::threads::{THREADS, each};
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cuda::expressions::{int32, thread, to_i64};
use crate::schedule::element::lower::{Lower, bind};

/// The number of accumulators of a block, a power of two.
const SLOTS: u32 = 1024;
/// The tag of a slot without a bin.
const NONE: i32 = -1;

/// The accumulators of a block.
#[derive(Clone, Copy)]
pub struct FrequentBins {
    op: BinaryOp,
    tags: Mem,
    accumulators: Mem,
}

/// Returns the slot of a bin, and its tag there.
fn slot(bin: &Expr) -> (Expr, Expr) {
    let slot = Expr::binary(BinaryOp::And, bin.clone(), Expr::int(i64::from(SLOTS) - 1));
    let tag = Expr::binary(BinaryOp::Shr, bin.clone(), Expr::int(SLOTS.ilog2().into()));
    (slot, Expr::Cast(Ty::I32, Box::new(tag)))
}

impl FrequentBins {
    /// Writes the declaration of the accumulators, which begin with the operator's identity and belong to no bins.
    pub fn new(l: &mut Lower, op: BinaryOp, identity: Lit, out: &mut Vec<Stmt>) -> FrequentBins {
        let tags = l.k.share("tags", Ty::I32, SLOTS);
        let accumulators = l.k.share("accumulators", identity.ty, SLOTS);
        for k in (0..SLOTS).step_by(THREADS as usize) {
            let at = thread().plus(int32(k as i32));
            out.push(Stmt::Store(tags, at.clone(), int32(NONE)));
            out.push(Stmt::Store(accumulators, at, Expr::Lit(identity)));
        }
        out.push(Stmt::Barrier);
        FrequentBins { op, tags, accumulators }
    }

    /// Returns the statement that gives a slot to the bin of an element of the sample. If several bins have the same
    /// slot, the one with the greatest tag gets it.
    pub fn sampled(&self, bin: &Expr) -> Stmt {
        let (slot, tag) = slot(bin);
        Stmt::Update(BinaryOp::Max, self.tags, slot, tag)
    }

    /// Returns the statement that joins an element to its bin's accumulator, if the bin has one. Otherwise `update`
    /// is what joins it to the result.
    pub fn joined(&self, bin: &Expr, value: Expr, update: Stmt) -> Stmt {
        let (slot, tag) = slot(bin);
        let is_frequent = Expr::binary(BinaryOp::Eq, Expr::load(self.tags, slot.clone()), tag);
        Stmt::If(is_frequent, vec![Stmt::Update(self.op, self.accumulators, slot, value)], vec![update])
    }

    /// Writes the joins of the accumulators to the result. `update` returns what joins a value to a bin.
    pub fn flush(
        &self,
        l: &mut Lower,
        update: impl FnOnce(&mut Lower, Expr, Expr) -> Stmt,
        out: &mut Vec<Stmt>,
    ) -> crate::error::Result<()> {
        out.push(Stmt::Barrier);
        each(l, (to_i64(thread()), Expr::int(SLOTS.into())), out, |l, k, body| {
            let tag = bind(l, "tag", Expr::load(self.tags, k.clone()), body);
            let bin = to_i64(tag.clone()).times(Expr::int(SLOTS.into())).plus(k.clone());
            let update = update(l, bin, Expr::load(self.accumulators, k));
            body.push(Stmt::If(Expr::binary(BinaryOp::Ne, tag, int32(NONE)), vec![update], vec![]));
            Ok(())
        })
    }
}
