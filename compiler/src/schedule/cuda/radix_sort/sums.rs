//! The sums of the counts of each digit over the tiles, with a block for each digit. In a turn of its loop, the block
//! scans [`OF_THREAD`] times as many counts as it has threads. Neighbouring threads have neighbouring tiles.

use super::block_scan::{BlockScan, THREADS};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cuda::expressions::{thread, to_i64};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::facts::radix::RadixStep;
use crate::schedule::groups::FusedGroup;

/// The number of counts of a thread in a turn.
const OF_THREAD: usize = 4;

/// Writes the code of a thread.
pub fn main(l: &mut Lower, fused: &FusedGroup, step: &RadixStep) -> Result<Vec<Stmt>> {
    let tiles = l.launch.host(step.tiles());
    let mut out = Vec::new();
    let row = bind(l, "row", to_i64(Expr::Place(Gpu::Block)).times(tiles.clone()), &mut out);
    // the first tile of the turn, and the sum of the turns before
    let [begin, before] = ["begin", "before"].map(|name| l.k.reg(name, Ty::I64));
    out.extend([begin, before].map(|reg| Stmt::Var(reg, Expr::int(0))));
    let mut body = Vec::new();
    let first = bind(l, "first", Expr::Reg(begin).plus(to_i64(thread())), &mut body);
    let mut counts = Vec::new();
    for k in 0..OF_THREAD as i64 {
        let tile = first.clone().plus(Expr::int(k * i64::from(THREADS)));
        let has_tile = Expr::binary(BinaryOp::Lt, tile.clone(), tiles.clone());
        let at = bind(l, "at", row.clone().plus(tile), &mut body);
        let count = l.k.reg("count", Ty::U32);
        body.push(Stmt::Var(count, Expr::Lit(Lit::zero(Ty::U32))));
        let (_, var) = l.launch.g.fresh_var(Ty::I64);
        let root = step.digit(&mut l.launch.g, var);
        let mut load = Vec::new();
        let values = l.in_block(|l| l.region(&[(var, at.clone())], &[root], &at, &mut load))?;
        load.extend(values.into_iter().map(|e| Stmt::Assign(count, Expr::Cast(Ty::U32, Box::new(e)))));
        body.push(Stmt::If(has_tile.clone(), load, vec![]));
        counts.push((at, has_tile, Expr::Reg(count)));
    }
    let own: [Expr; OF_THREAD] = std::array::from_fn(|k| counts[k].2.clone());
    let scan = BlockScan::new(l, own, &mut body);
    let (lower, all) = (scan.before(l, &mut body), scan.all(l, &mut body));
    let mems: Vec<_> = fused.items.iter().map(|it| l.launch.output(it)).collect();
    for (((at, has_tile, count), lower), all) in counts.into_iter().zip(lower).zip(all) {
        let end = bind(l, "end", Expr::Reg(before).plus(to_i64(lower.plus(count))), &mut body);
        let stores = mems.iter().map(|mem| Stmt::Store(*mem, at.clone(), end.clone())).collect();
        body.push(Stmt::If(has_tile, stores, vec![]));
        body.push(Stmt::Assign(before, Expr::Reg(before).plus(to_i64(all))));
    }
    body.push(Stmt::Assign(begin, Expr::Reg(begin).plus(Expr::int(i64::from(THREADS) * OF_THREAD as i64))));
    // every thread has read the warps' sums before the next turn replaces them
    body.push(Stmt::Barrier);
    out.push(Stmt::While(Expr::binary(BinaryOp::Lt, Expr::Reg(begin), tiles), body));
    Ok(out)
}
