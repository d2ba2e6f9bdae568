//! Error records of a contraction. A block stages values for rows and columns that some elements may not need, so an
//! error in them must not leave a record: it sets a flag of the thread. If some thread of a block has set its flag,
//! the block does not store its results. Instead, its threads compute their elements one by one as the program has
//! them, which leaves the records that the program asks for.

use super::block::Block;
use super::params::THREADS;
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt, WARP};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::access;
use crate::schedule::cuda::elements::{single, stored};
use crate::schedule::cuda::expressions::{int32, masked, shifted, thread};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::groups::FusedGroup;

/// Warps of a block.
const WARPS: i64 = (THREADS / WARP) as i64;

impl Block<'_> {
    /// Emits `store`, and the code of single elements, which runs instead if any thread of the block has set its
    /// flag.
    pub fn store_or_record(
        &self,
        l: &mut Lower,
        fused: &FusedGroup,
        mut store: Vec<Stmt>,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let Some(flag) = self.flag else {
            out.append(&mut store);
            return Ok(());
        };
        let any = any_thread(l, Expr::Reg(flag), out);
        let items = stored(l.launch, fused);
        let one_by_one = self.numbered(l, &mut |l, _, at, out| {
            let at = bind(l, "at", self.number(at), out);
            single(l, &items, &at, false, out)
        })?;
        out.push(Stmt::If(any, one_by_one, store));
        Ok(())
    }
}

/// Returns whether a condition holds in any thread of the block.
fn any_thread(l: &mut Lower, condition: Expr, out: &mut Vec<Stmt>) -> Expr {
    let or = |a: Expr, b: Expr| Expr::binary(BinaryOp::Or, a, b);
    let mut any = bind(l, "any", condition.select(int32(1), int32(0)), out);
    for lanes in (0..WARP.ilog2()).rev().map(|step| 1 << step) {
        let other = Expr::ShuffleDown(Box::new(any.clone()), lanes);
        any = bind(l, "any", or(any, other), out);
    }
    let warps = l.k.share("flags", Ty::I32, WARPS as u32);
    let lane = masked(thread(), WARP.into());
    let warp = shifted(thread(), WARP.into());
    let leads = Expr::binary(BinaryOp::Eq, lane, int32(0));
    out.push(Stmt::If(leads, vec![Stmt::Store(warps, warp, any)], vec![]));
    out.push(Stmt::Barrier);
    let all: Vec<Reg> = (0..WARPS).map(|_| l.k.reg("any", Ty::I32)).collect();
    access::load(l, warps, all.clone(), int32(0), out);
    let any = all.into_iter().map(Expr::Reg).reduce(or).unwrap_or(int32(0));
    Expr::binary(BinaryOp::Ne, any, int32(0))
}
