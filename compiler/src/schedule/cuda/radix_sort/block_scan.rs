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

/// The sums of each of `N` values, which is even, so that whole warps scan the sums of warps.
pub struct BlockScan<const N: usize> {
    /// The values of the thread, and those up to it in its warp.
    values: [Expr; N],
    up_to: [Expr; N],
    /// The sums over earlier warps for each value and warp, and over all warps for each value.
    before: Mem,
    all: Mem,
}

impl<const N: usize> BlockScan<N> {
    /// Writes the sums within warps, and those of warps. Two barriers make them known to all threads.
    pub fn new(l: &mut Lower, values: [Expr; N], out: &mut Vec<Stmt>) -> BlockScan<N> {
        const { assert!(N.is_multiple_of(2)) };
        let pairs = N as u32 * WARPS as u32;
        let of_warps = l.k.share("sums", Ty::U32, pairs);
        let before = l.k.share("before", Ty::U32, pairs);
        let all = l.k.share("all", Ty::U32, N as u32);
        let lane = masked(thread(), WARP.into());
        let up_to = values.clone().map(|value| scan(l, (&lane, WARP), value, out));
        let is_last = Expr::binary(BinaryOp::Eq, lane, int32(WARP as i32 - 1));
        let store = |(k, sum): (i32, &Expr)| {
            Stmt::Store(of_warps, warp_number().plus(int32(k * WARPS as i32)), sum.clone())
        };
        out.push(Stmt::If(is_last, (0..).zip(&up_to).map(store).collect(), vec![]));
        out.push(Stmt::Barrier);
        // one thread for each value and warp
        let mut of_pair = Vec::new();
        let own = bind(l, "own", Expr::load(of_warps, thread()), &mut of_pair);
        let warp = masked(thread(), WARPS);
        let sum = scan(l, (&warp, WARPS as u32), own.clone(), &mut of_pair);
        of_pair.push(Stmt::Store(before, thread(), sum.clone().minus(own)));
        let is_last = Expr::binary(BinaryOp::Eq, warp, int32(WARPS as i32 - 1));
        let value = Expr::binary(BinaryOp::Shr, thread(), int32(WARPS.ilog2() as i32));
        of_pair.push(Stmt::If(is_last, vec![Stmt::Store(all, value, sum)], vec![]));
        out.push(Stmt::If(Expr::binary(BinaryOp::Lt, thread(), int32(pairs as i32)), of_pair, vec![]));
        out.push(Stmt::Barrier);
        BlockScan { values, up_to, before, all }
    }

    /// Returns the sums over all threads before this one.
    pub fn before(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> [Expr; N] {
        std::array::from_fn(|k| {
            let of_warp = self.up_to[k].clone().minus(self.values[k].clone());
            let at = warp_number().plus(int32(k as i32 * WARPS as i32));
            bind(l, "before", of_warp.plus(Expr::load(self.before, at)), out)
        })
    }

    /// Returns the sums over all threads.
    pub fn all(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> [Expr; N] {
        std::array::from_fn(|k| bind(l, "all", Expr::load(self.all, int32(k as i32)), out))
    }
}

/// Returns the sums of values of u32 over the lanes of a group up to each lane. `lane` is the lane's number in its
/// group of `width` neighbours.
fn scan(l: &mut Lower, (lane, width): (&Expr, u32), value: Expr, out: &mut Vec<Stmt>) -> Expr {
    let (mut sum, mut distance) = (value, 1);
    while distance < width {
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
