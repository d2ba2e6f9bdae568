//! The prefixes of all tiles of a scan (`ScanPart::Before`), which one block computes from the tiles' totals. In a
//! round each warp has a group of 32 tiles, a tile for each lane:
//!
//! ```text
//! each warp:    scans the totals of its tiles by a butterfly
//! first warp:   joins the 32 groups' totals one after the other, which gives the prefix of each group
//! each lane:    prefix of its tile = prefix of the group . scan of the tiles before it in the group
//! ```

use super::{Code, THREADS_OF_GROUPS, Value, chosen, load_all, shifted, store_all};
use crate::core::{SCAN_GROUP, SCAN_TILE};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Reg, Stmt, WARP};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cuda::expressions::{int32, thread, to_i64};
use crate::schedule::element::lower::{Lower, bind};

/// The number of groups whose totals are loaded together, before they are joined one after the other.
const IN_FLIGHT: i64 = 8;

impl Code<'_> {
    /// Writes the kernel body.
    pub(super) fn before_tiles(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<()> {
        let (groups, tiles) = (i64::from(THREADS_OF_GROUPS / WARP), SCAN_GROUP / SCAN_TILE);
        let count = l.launch.count();
        let (_, index) = l.launch.g.fresh_var(Ty::I64);
        let init = self.scan.before(&mut l.launch.g, index);
        let init = l.region(&[], &init, &Expr::int(0), out)?;
        // the prefix of the round's first group
        let before: Vec<Reg> = self.scan.types.iter().map(|ty| l.k.reg("groups", *ty)).collect();
        out.extend(before.iter().zip(init).map(|(r, e)| Stmt::Var(*r, e)));
        let shared = self.share(l, "totals", groups);
        let befores = self.share(l, "befores", groups);
        let first = l.k.reg("first", Ty::I64);
        out.push(Stmt::Var(first, Expr::int(0)));
        let mut body = Vec::new();
        let i = bind(l, "i", Expr::Reg(first).plus(to_i64(thread())), &mut body);
        let roots = self.scan.elements(&mut l.launch.g, index);
        let load = |l: &mut Lower, i: Expr, out: &mut Vec<Stmt>| {
            let i = bind(l, "last", i.min(count.clone().minus(Expr::int(1))), out);
            l.in_block(|l| l.region(&[(index, i.clone())], &roots, &i, out))
        };
        // the totals of the next round are loaded while those of this round are joined
        let next: Vec<Reg> = self.scan.types.iter().map(|ty| l.k.reg("next", *ty)).collect();
        let types = next.iter().zip(&self.scan.types);
        out.extend(types.map(|(r, ty)| Stmt::Var(*r, Expr::Lit(Lit::zero(*ty)))));
        let mut begin = Vec::new();
        let total = load(l, to_i64(thread()), &mut begin)?;
        begin.extend(next.iter().zip(total).map(|(r, e)| Stmt::Assign(*r, e)));
        // without elements there is no tile to load
        out.push(Stmt::If(Expr::binary(BinaryOp::Lt, Expr::int(0), count.clone()), begin, vec![]));
        let total: Value = next.iter().map(|r| bind(l, "total", Expr::Reg(*r), &mut body)).collect();
        let later = load(l, i.clone().plus(Expr::int(groups * tiles)), &mut body)?;
        body.extend(next.iter().zip(later).map(|(r, e)| Stmt::Assign(*r, e)));
        let mut inside = [total.clone()];
        let group = self.halve(l, total, &mut inside, &mut body)?;
        let is_first = Expr::binary(BinaryOp::Eq, self.lane.clone(), int32(0));
        body.push(Stmt::If(is_first, store_all(&shared, &self.warp, &group), vec![]));
        body.push(Stmt::Barrier);
        let chain = self.chain(l, &before, (&shared, &befores))?;
        body.push(Stmt::If(Expr::binary(BinaryOp::Eq, self.warp.clone(), int32(0)), chain, vec![]));
        body.push(Stmt::Barrier);
        let own = load_all(l, &befores, &self.warp, &mut body);
        let [inside] = &inside;
        let inside = shifted(l, inside, &mut body);
        let joined = self.operator.join(l, &own, &inside, &mut body)?;
        let is_later = Expr::binary(BinaryOp::Gt, self.lane.clone(), int32(0));
        let values = chosen(l, &is_later, &joined, &own, &mut body);
        let mut stores = Vec::new();
        self.store_one(l, &values, &i, &mut stores);
        body.push(Stmt::If(Expr::binary(BinaryOp::Lt, i, count.clone()), stores, vec![]));
        body.push(Stmt::Assign(first, Expr::Reg(first).plus(Expr::int(groups * tiles))));
        out.push(Stmt::While(Expr::binary(BinaryOp::Lt, Expr::Reg(first), count), body));
        Ok(())
    }

    /// Returns the code of the first warp, which joins a round's groups in order. `before` is the prefix of the first
    /// group, and becomes that of the next round's; lane `g` keeps the prefix of group `g` and stores it to
    /// `befores`. All lanes compute the same chain. The other warps wait: computing the chain in each of them would
    /// take longer.
    fn chain(&self, l: &mut Lower, before: &[Reg], (totals, befores): (&[Mem], &[Mem])) -> Result<Vec<Stmt>> {
        let mut out = Vec::new();
        let own: Vec<Reg> = self.scan.types.iter().map(|ty| l.k.reg("own", *ty)).collect();
        out.extend(own.iter().zip(before).map(|(own, all)| Stmt::Var(*own, Expr::Reg(*all))));
        let g = l.k.reg("g", Ty::I32);
        let mut steps = Vec::new();
        let at = bind(l, "at", Expr::Reg(g).times(int32(IN_FLIGHT as i32)), &mut steps);
        let numbers: Vec<Expr> = (0..IN_FLIGHT).map(|k| at.clone().plus(int32(k as i32))).collect();
        let loaded: Vec<Value> = numbers.iter().map(|at| load_all(l, totals, at, &mut steps)).collect();
        let mut all: Value = before.iter().map(|r| Expr::Reg(*r)).collect();
        for (number, group) in numbers.into_iter().zip(loaded) {
            let is_own = Expr::binary(BinaryOp::Eq, number, self.lane.clone());
            let kept = own
                .iter()
                .zip(&all)
                .map(|(own, all)| (own, is_own.clone().select(all.clone(), Expr::Reg(*own))));
            steps.extend(kept.map(|(own, e)| Stmt::Assign(*own, e)));
            all = self.operator.join(l, &all, &group, &mut steps)?;
        }
        steps.extend(before.iter().zip(all).map(|(r, e)| Stmt::Assign(*r, e)));
        out.push(Stmt::Seq(g, int32(0), int32(WARP as i32 / IN_FLIGHT as i32), steps));
        let own: Value = own.iter().map(|r| Expr::Reg(*r)).collect();
        out.extend(store_all(befores, &self.lane, &own));
        Ok(out)
    }
}
