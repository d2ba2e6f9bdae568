//! What the blocks of a scan in one pass have of one another: totals that they publish and await, and the end.

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
    /// Returns the code by which the first warp halves the rows of the next tile, and publishes its total.
    pub(super) fn publish(&self, l: &mut Lower) -> Result<Vec<Stmt>> {
        let (code, mut out) = (self.code, Vec::new());
        let total = code.halve_rows(l, (&self.rows, &self.halved), &mut out)?;
        let word = self.word(l, Expr::Reg(self.next), &mut out);
        let publish = word.into_iter().zip(total).map(|(at, value)| Stmt::Publish(at, value)).collect();
        out.push(Stmt::If(Expr::binary(BinaryOp::Eq, code.lane.clone(), int32(0)), publish, vec![]));
        Ok(out)
    }

    /// Returns the counters of a tile's words, of each component the first one.
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

    /// Returns the code of a round: each warp awaits the totals of a group up to the present tile's, of whose tiles a
    /// lane has one; then all threads join the groups before it. The first warp, which publishes, has the last group.
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

    /// Lets the block arrive. Returns the code of the last one to arrive, which clears tickets and words, and whether
    /// this one is it.
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
