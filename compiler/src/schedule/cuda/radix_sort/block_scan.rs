//! Sums over the threads of a block, each of which has some values of u32.

use crate::core::digits::DIGITS;
use crate::kernel::{Expr, Mem, Stmt, WARP};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cuda::expressions::{int32, masked, thread, warp_number};
use crate::schedule::element::lower::{Lower, bind};

/// The threads of a block, of which those of the digits sum the warps' counters.
pub const THREADS: u32 = 2 * DIGITS as u32;
/// The warps of a block.
pub const WARPS: i64 = (THREADS / WARP) as i64;

/// The sums of each of `N` values.
pub struct BlockScan<const N: usize> {
    /// The values of the thread, and those up to it in its warp.
    values: [Expr; N],
    up_to: [Expr; N],
    /// The sums of the warps.
    of_warps: [Mem; N],
}

impl<const N: usize> BlockScan<N> {
    /// Writes the sums within warps, and a barrier.
    pub fn new(l: &mut Lower, values: [Expr; N], out: &mut Vec<Stmt>) -> BlockScan<N> {
        let lane = masked(thread(), WARP.into());
        let up_to = values.clone().map(|value| scan_warp(l, &lane, value, out));
        let of_warps = [(); N].map(|()| l.k.share("sums", Ty::U32, WARPS as u32));
        let is_last = Expr::binary(BinaryOp::Eq, lane, int32(WARP as i32 - 1));
        let store = |(mem, sum): (&Mem, &Expr)| Stmt::Store(*mem, warp_number(), sum.clone());
        let stores = of_warps.iter().zip(&up_to).map(store).collect();
        out.push(Stmt::If(is_last, stores, vec![]));
        out.push(Stmt::Barrier);
        BlockScan { values, up_to, of_warps }
    }

    /// Returns the sums over all threads before this one.
    pub fn before(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> [Expr; N] {
        std::array::from_fn(|k| {
            let mut before = self.up_to[k].clone().minus(self.values[k].clone());
            for w in 0..WARPS as i32 - 1 {
                let is_before = Expr::binary(BinaryOp::Lt, int32(w), warp_number());
                let sum = Expr::load(self.of_warps[k], int32(w));
                before = before.plus(is_before.select(sum, Expr::Lit(Lit::zero(Ty::U32))));
            }
            bind(l, "before", before, out)
        })
    }

    /// Returns the sums over all threads.
    pub fn all(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> [Expr; N] {
        self.of_warps.map(|mem| {
            let sums = (0..WARPS as i32).map(|w| Expr::load(mem, int32(w))).collect();
            bind(l, "all", sum(sums), out)
        })
    }
}

/// Returns the sums of values of u32 over the lanes of a warp up to each lane.
fn scan_warp(l: &mut Lower, lane: &Expr, value: Expr, out: &mut Vec<Stmt>) -> Expr {
    let (mut sum, mut distance) = (value, 1);
    while distance < WARP {
        let lower = bind(l, "lower", Expr::ShuffleUp(Box::new(sum.clone()), distance), out);
        let has_lower = Expr::binary(BinaryOp::Ge, lane.clone(), int32(distance as i32));
        sum = bind(l, "sum", sum.plus(has_lower.select(lower, Expr::Lit(Lit::zero(Ty::U32)))), out);
        distance *= 2;
    }
    sum
}

/// Returns the sum of at least one value.
pub fn sum(all: Vec<Expr>) -> Expr {
    all.into_iter().reduce(Expr::plus).expect("at least one value")
}
