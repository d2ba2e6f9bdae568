//! The communication among the blocks of a scan in one pass: totals that they publish and await in words of memory,
//! and the clearing of these words at the end. A word holds 4 bytes of a value and a mark that they are there.

use super::{ARRIVALS, Blocks, GROUP};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Stmt};
use crate::plan::gpu::TICKET_COUNTERS;
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::expressions::{int32, thread};
use crate::schedule::cuda::levels;
use crate::schedule::cuda::partial_tile::assigned;
use crate::schedule::cuda::scan::{Value, load_all, store_all};
use crate::schedule::element::lower::{Lower, bind};

impl Blocks<'_> {
    /// Returns the code by which the first warp scans the totals of the next tile's rows, and publishes the tile's
    /// total.
    pub(super) fn publish(&self, l: &mut Lower) -> Result<Vec<Stmt>> {
        let (code, mut out) = (self.code, Vec::new());
        let total = code.halve_rows(l, (&self.rows, &self.halved), &mut out)?;
        let word = self.word(l, Expr::Reg(self.next), &mut out);
        let publish = word.into_iter().zip(total).map(|(at, value)| Stmt::Publish(at, value)).collect();
        out.push(Stmt::If(Expr::binary(BinaryOp::Eq, code.lane.clone(), int32(0)), publish, vec![]));
        Ok(out)
    }

    /// Returns the place of a tile's first word for each component, as the number of a counter of 4 bytes. A word is
    /// two counters.
    fn word(&self, l: &mut Lower, tile: Expr, out: &mut Vec<Stmt>) -> Vec<Expr> {
        let counters: Vec<i32> = self.code.types().map(|ty| ty.size() as i32 / 2).collect();
        let first = tile.times(int32(counters.iter().sum())).plus(int32(TICKET_COUNTERS as i32));
        let first = bind(l, "word", first, out);
        let offsets = counters.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum - count)
        });
        offsets.map(|offset| first.clone().plus(int32(offset))).collect()
    }

    /// Returns the code of a round, in which each warp has one of the groups from `self.group` on, up to the present
    /// tile's group. Each lane awaits the total of one tile that is before the present one, and the warp scans them.
    /// Then all threads join the totals of the groups before the present tile's. The first warp has published just
    /// before, so it gets the last group of the round.
    pub(super) fn round(&self, l: &mut Lower, group: &Expr, place: &Expr) -> Result<Vec<Stmt>> {
        let (code, mut out) = (self.code, Vec::new());
        let warps = code.warps();
        let slot = code.warp.clone().plus(int32(warps - 1));
        let slot = bind(l, "slot", Expr::binary(BinaryOp::And, slot, int32(warps - 1)), &mut out);
        let awaited = bind(l, "awaited", Expr::Reg(self.group).plus(slot.clone()), &mut out);
        let mut of_warp = Vec::new();
        l.in_block(|l| {
            let out = &mut of_warp;
            let tile = bind(l, "tile", awaited.clone().times(int32(GROUP)).plus(code.lane.clone()), out);
            let given = Expr::binary(BinaryOp::Lt, tile.clone(), Expr::Reg(self.present));
            let given = bind(l, "given", given, out);
            let mut total = Value::new();
            for (at, ty) in self.word(l, tile, out).into_iter().zip(code.types()) {
                let to = l.k.reg("total", ty);
                out.push(Stmt::Await(to, at, given.clone()));
                total.push(Expr::Reg(to));
            }
            let mut inside = [total.clone()];
            let total = code.halve(l, total, &mut inside, out)?;
            let at = slot.clone().plus(Expr::Reg(self.half));
            let is_first = Expr::binary(BinaryOp::Eq, code.lane.clone(), int32(0));
            out.push(Stmt::If(is_first, store_all(&self.groups, &at, &total), vec![]));
            let is_own = Expr::binary(BinaryOp::Eq, awaited.clone(), group.clone());
            let is_last = Expr::binary(BinaryOp::Eq, code.lane.clone(), place.clone().minus(int32(1)));
            let is_last = Expr::binary(BinaryOp::And, is_own, is_last);
            out.push(Stmt::If(is_last, store_all(&self.inside, &int32(0), &inside[0]), vec![]));
            Ok::<_, crate::error::Error>(())
        })?;
        out.push(Stmt::If(Expr::binary(BinaryOp::Le, awaited, group.clone()), of_warp, vec![]));
        out.push(Stmt::Barrier);
        let count = group.clone().minus(Expr::Reg(self.group)).min(int32(warps));
        let count = bind(l, "count", count, &mut out);
        let i = l.k.reg("i", Ty::I32);
        let mut join = Vec::new();
        l.in_block(|l| {
            let total = load_all(l, &self.groups, &Expr::Reg(i).plus(Expr::Reg(self.half)), &mut join);
            let groups: Value = self.before.iter().map(|r| Expr::Reg(*r)).collect();
            let joined = code.operator.join(l, &groups, &total, &mut join)?;
            join.extend(assigned(&self.before, &joined));
            Ok::<_, crate::error::Error>(())
        })?;
        out.push(Stmt::Seq(i, int32(0), count, join));
        Ok(out)
    }

    /// Lets the block arrive at the end. Returns the code of the last block to arrive, which clears tickets and
    /// words, and the condition that this block is the last.
    pub(super) fn clear(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> (Vec<Stmt>, Expr) {
        let flag = l.k.share("last", Ty::Bool, 1);
        out.push(Stmt::Barrier);
        let is_last = levels::arrive(l, (flag, 0), (int32(ARRIVALS), Expr::Place(Gpu::Blocks)), None, out);
        let i = l.k.reg("i", Ty::I32);
        let counters: i32 = self.code.types().map(|ty| ty.size() as i32 / 2).sum();
        let all = self.tiles.clone().times(int32(counters)).plus(int32(TICKET_COUNTERS as i32));
        let mut clear = vec![Stmt::Var(i, thread().times(int32(4)))];
        let step = int32(4 * self.code.layout.threads as i32);
        let body = vec![Stmt::Clear(Expr::Reg(i)), Stmt::Assign(i, Expr::Reg(i).plus(step))];
        clear.push(Stmt::While(Expr::binary(BinaryOp::Lt, Expr::Reg(i), all), body));
        (clear, is_last)
    }
}
