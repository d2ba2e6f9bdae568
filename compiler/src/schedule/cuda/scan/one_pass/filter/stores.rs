//! The stores of a filter's tile, when the number of elements that are kept before it is known. The block goes through
//! them in rounds, in which neighbouring threads store neighbours: full rounds first, and then a last one in which
//! threads may have fewer elements.

use super::Blocks;
use crate::core::{NodeId, SCAN_TILE};
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::expressions::{int32, thread, to_i64};
use crate::schedule::cuda::scan::THREADS;
use crate::schedule::cuda::scan::compact::skipped;
use crate::schedule::element::canonical;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::groups::Item;

/// The number of elements of a thread in a round, and that of the block.
const OF_ROUND: i64 = 4;
const ROUND: i64 = OF_ROUND * THREADS as i64;

/// Returns the code of a round, given its number and, in the last one, the number of elements.
type OfRound<'r> = dyn FnMut(&mut Lower, Expr, Option<&Expr>) -> Result<Vec<Stmt>> + 'r;

/// What all stores of a tile's kept elements share.
struct Kept<'a> {
    /// The index of the tile's first element, and the number of elements that are kept before it.
    begin: &'a Expr,
    outer: &'a Expr,
    /// Where in shared memory the tile's numbers begin, and its staged values.
    bases: [Expr; 2],
}

impl Blocks<'_> {
    /// Returns the code that computes the present tile's prefix from published counts, and stores the tile.
    pub(super) fn complete(&self, l: &mut Lower) -> Result<Vec<Stmt>> {
        let mut out = Vec::new();
        let outer = self.prefixes.of_present(l, &mut out)?.remove(0);
        let present = Expr::Reg(self.prefixes.present);
        let begin = bind(l, "begin", present.clone().times(int32(SCAN_TILE as i32)), &mut out);
        let kept = bind(l, "kept", Expr::Reg(self.counts[0]), &mut out);
        let all = bind(l, "all", outer.clone().plus(kept.clone()), &mut out);
        let is_last = Expr::binary(BinaryOp::Eq, present.plus(int32(1)), self.prefixes.tiles.clone());
        out.push(Stmt::If(is_last, vec![Stmt::Assign(self.total, all)], vec![]));
        let bases = self.bases(l, self.slots[0], &mut out);
        let of_kept = Kept { begin: &begin, outer: &outer, bases };
        self.in_rounds(
            l,
            &kept,
            &mut |l, round, limit| self.store_kept(l, &of_kept, round, limit),
            &mut out,
        )?;
        let n = bind(l, "n", Expr::Cast(Ty::I32, Box::new(self.n.clone())), &mut out);
        let in_tile = n.clone().minus(begin.clone()).min(int32(SCAN_TILE as i32));
        let left = bind(l, "left", in_tile.minus(kept), &mut out);
        // other elements of earlier tiles = all their elements - kept ones
        let last = bind(l, "last", n.minus(int32(1)).minus(begin).plus(outer), &mut out);
        self.in_rounds(l, &left, &mut |l, round, limit| self.store_others(l, &last, round, limit), &mut out)?;
        Ok(out)
    }

    /// Writes a loop over the full rounds for `count` elements, and then the last round.
    fn in_rounds(
        &self,
        l: &mut Lower,
        count: &Expr,
        of_round: &mut OfRound,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let round = l.k.reg("round", Ty::I32);
        let rounds = Expr::binary(BinaryOp::Shr, count.clone(), int32(ROUND.ilog2() as i32));
        let rounds = bind(l, "rounds", rounds, out);
        let full = l.in_block(|l| of_round(l, Expr::Reg(round), None))?;
        out.push(Stmt::Seq(round, int32(0), rounds.clone(), full));
        let last = l.in_block(|l| of_round(l, rounds.clone(), Some(count)))?;
        let is_any = Expr::binary(BinaryOp::Lt, rounds.times(int32(ROUND as i32)), count.clone());
        out.push(Stmt::If(is_any, last, vec![]));
        Ok(())
    }

    /// Returns the numbers of the thread's elements in a round.
    fn numbers(&self, l: &mut Lower, round: Expr, out: &mut Vec<Stmt>) -> Vec<Expr> {
        let first = round.times(int32(ROUND as i32)).plus(thread());
        let first = bind(l, "number", first, out);
        (0..OF_ROUND).map(|k| first.clone().plus(int32((k * i64::from(THREADS)) as i32))).collect()
    }

    /// Returns the code of a round that stores kept elements.
    fn store_kept(&self, l: &mut Lower, tile: &Kept, round: Expr, limit: Option<&Expr>) -> Result<Vec<Stmt>> {
        let mut out = Vec::new();
        let numbers = self.numbers(l, round, &mut out);
        let first = place(l, tile.outer.clone().plus(numbers[0].clone()), &mut out);
        // all loads come before the first store, so a thread whose number is too high loads, too: the last element
        let from: Vec<Expr> = match limit {
            Some(kept) => {
                let last = kept.clone().minus(int32(1));
                (numbers.iter()).map(|n| bind(l, "from", n.clone().min(last.clone()), &mut out)).collect()
            }
            None => numbers.clone(),
        };
        let mut indices = Vec::new();
        if let Some(order) = self.order {
            for from in &from {
                let number = Expr::load(order, tile.bases[0].clone().plus(from.clone()));
                let number = bind(l, "noted", Expr::Cast(Ty::I32, Box::new(number)), &mut out);
                indices.push(place(l, tile.begin.clone().plus(number), &mut out));
            }
        }
        // a full round's distances are multiples of the gaps' in shared memory
        let staged: Vec<Expr> = match limit {
            Some(_) => from.into_iter().map(skipped).collect(),
            None => {
                let first = bind(l, "staged", skipped(numbers[0].clone()), &mut out);
                (0..OF_ROUND).map(|k| first.clone().plus(skipped_distance(k))).collect()
            }
        };
        for it in &self.filter.items {
            let values = match self.staged.iter().find(|(staged, _)| staged.node == it.node) {
                Some((_, memory)) => {
                    let load = |at: Expr| Expr::load(*memory, tile.bases[1].clone().plus(at));
                    staged.iter().map(|at| bind(l, "value", load(at.clone()), &mut out)).collect()
                }
                None => self.values(l, it, (tile, &indices, &numbers), &mut out)?,
            };
            let (mem, ty) = (l.launch.output(it), l.launch.g.ty(it.node).elem);
            let mut stores = Vec::new();
            for ((k, number), value) in (0..).zip(&numbers).zip(values) {
                let value = canonical(value, ty, &mut l.k.kernel, &mut out);
                let value = bind(l, "value", value, &mut out);
                let to = first.clone().plus(Expr::int(k * i64::from(THREADS)));
                stores.push(limited(Stmt::Store(mem, to, value), number, limit));
            }
            out.append(&mut stores);
        }
        Ok(out)
    }

    /// Computes the values of an item that is not staged, for elements at these indices with these numbers in the tile.
    fn values(
        &self,
        l: &mut Lower,
        it: &Item,
        (tile, indices, numbers): (&Kept, &[Expr], &[Expr]),
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        let [(_, index), (_, up_to)] = [(); 2].map(|()| l.launch.g.fresh_var(Ty::I64));
        let root = self.filter.value(&mut l.launch.g, it, index, up_to);
        let mut values = Vec::new();
        for (i, number) in indices.iter().zip(numbers) {
            let own = to_i64(tile.outer.clone().plus(number.clone()).plus(int32(1)));
            let known = [(index, i.clone()), (up_to, own)];
            let value = l.in_block(|l| l.region(&known, &[root], i, out))?.remove(0);
            values.push(bind(l, "value", value, out));
        }
        Ok(values)
    }

    /// Returns the code of a round that stores what stands for elements that are not kept, from the index `last`
    /// backwards.
    fn store_others(
        &self,
        l: &mut Lower,
        last: &Expr,
        round: Expr,
        limit: Option<&Expr>,
    ) -> Result<Vec<Stmt>> {
        let mut out = Vec::new();
        let numbers = self.numbers(l, round, &mut out);
        let first = place(l, last.clone().minus(numbers[0].clone()), &mut out);
        let items = &self.filter.items;
        let roots: Vec<NodeId> = items.iter().map(|it| self.filter.rest(&mut l.launch.g, it)).collect();
        let values = l.region(&[], &roots, &Expr::int(0), &mut out)?;
        for (it, value) in items.iter().zip(values) {
            let (mem, ty) = (l.launch.output(it), l.launch.g.ty(it.node).elem);
            let value = canonical(value, ty, &mut l.k.kernel, &mut out);
            let value = bind(l, "other", value, &mut out);
            for (k, number) in (0..).zip(&numbers) {
                let to = first.clone().minus(Expr::int(k * i64::from(THREADS)));
                out.push(limited(Stmt::Store(mem, to, value.clone()), number, limit));
            }
        }
        Ok(out)
    }
}

/// Returns a store that is made only if the element's number is below a limit, if there is one.
fn limited(store: Stmt, number: &Expr, limit: Option<&Expr>) -> Stmt {
    match limit {
        Some(limit) => {
            Stmt::If(Expr::binary(BinaryOp::Lt, number.clone(), limit.clone()), vec![store], vec![])
        }
        None => store,
    }
}

/// Returns the distance in shared memory of an element and the thread's `k`-th one after it in a round.
fn skipped_distance(k: i64) -> Expr {
    let distance = k * i64::from(THREADS);
    int32((distance + distance / i64::from(super::SKIP)) as i32)
}

/// Binds an index of the result, or of the elements, which is in bounds wherever it is used.
fn place(l: &mut Lower, e: Expr, out: &mut Vec<Stmt>) -> Expr {
    let e = bind(l, "to", to_i64(e), out);
    l.k.kernel.in_space.push(e.clone());
    e
}
