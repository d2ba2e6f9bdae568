//! The epilogue: a thread stores its results, either as elements of the product or as partial results of one panel.

use super::{Panel, ProductBlock, Results, Sums, and, scratch_address};
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::expressions::{int32, to_i64};
use crate::schedule::element::canonical;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::facts::loop_nests::Env;
use crate::schedule::facts::products::Product;
use crate::schedule::groups::Item;

/// The maximum number of operations of an epilogue that is written once for each result of a thread. A longer one is
/// a loop over the results.
const MAX_UNROLLED: usize = 768;
/// The maximum number of results of a thread for which the epilogue is repeated.
const MAX_RESULTS: usize = 64;
/// The maximum bytes of shared memory for the results of a block, beside the two sides.
const MAX_RESULT_BYTES: i64 = 24 << 10;

/// Returns the index of an element in memory.
pub fn address(l: &mut Lower, strided: bool, mem: Mem, index: Vec<Expr>) -> Expr {
    let last = index.len() - 1;
    let terms = index.into_iter().enumerate().map(|(axis, e)| match axis < last || last > 0 && strided {
        true => e.times(l.launch.stride(mem, axis as u8)),
        false => e,
    });
    terms.reduce(Expr::plus).expect("an index an axis")
}

/// Computes what follows from the result of the element with these row and column variables, and stores it. If the
/// result is a sum of panels, it is joined to the initial value first.
pub fn store(
    l: &mut Lower,
    p: &Product,
    strided: bool,
    items: &[&Item],
    ([i, j], at): ([NodeId; 2], [Expr; 2]),
    known: &[(NodeId, Expr)],
    (mut value, is_sum): (Expr, bool),
    out: &mut Vec<Stmt>,
) -> Result<()> {
    let inner = &p.of.inner[0];
    let env = Env::default().with(&l.launch.g, p.outer[0], i).with(&l.launch.g, p.outer[1], j);
    let mut vars = known.to_vec();
    if is_sum {
        let init = env.of(&mut l.launch.g, inner.init);
        value = l.region(&vars, &[init], &Expr::int(0), out)?.remove(0).plus(value);
    }
    let value = bind(l, "result", value, out);
    vars.push((env.of(&mut l.launch.g, inner.node), value));
    let roots: Vec<NodeId> = p.roots.iter().map(|n| env.of(&mut l.launch.g, *n)).collect();
    let list = l.region(&vars, &roots, &Expr::int(0), out)?;
    let list: Vec<Expr> = list.into_iter().map(|e| bind(l, "value", e, out)).collect();
    for (item, e) in items.iter().zip(list) {
        let (mem, ty) = (l.launch.output(item), l.launch.g.ty(item.node));
        let plane = p.plane.and_then(|n| known.iter().find(|k| k.0 == n)).map(|k| k.1.clone());
        let index = plane.into_iter().chain(at[..usize::from(ty.rank).min(2)].iter().cloned()).collect();
        let to = address(l, strided, mem, index);
        let e = canonical(e, ty.elem, &mut l.k.kernel, out);
        out.push(Stmt::Store(mem, to, e));
    }
    Ok(())
}

impl ProductBlock<'_> {
    /// Adds the last panel to the sums, and computes and stores the elements.
    pub(super) fn epilogue(
        &self,
        l: &mut Lower,
        results: &Results,
        items: &[&Item],
        full: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        out.append(&mut self.add_to_sums(results));
        let is_sum = !matches!(results.sums, Sums::None);
        let value = |i: i64| match &results.sums {
            Sums::None => Expr::Reg(results.accumulators[i as usize]),
            Sums::Registers(sums) => Expr::Reg(sums[i as usize]),
            Sums::Shared(m) => Expr::load(*m, self.sum_at(i)),
        };
        let [rows, cols] = &self.vars;
        let count = results.accumulators.len();
        if count > MAX_RESULTS || self.operations_of_element(l) * count > MAX_UNROLLED {
            return self.epilogue_loop(l, results, items, full, out);
        }
        for (r, i) in (0..).zip(rows) {
            for (c, j) in (0..).zip(cols) {
                let at = [0, 1].map(|s| self.index(s, Expr::int(self.tile.offset(s, [r, c][s]))));
                let value = (value(r * cols.len() as i64 + c), is_sum);
                self.element(l, items, ([*i, *j], at), &self.known, value, full, out)?;
            }
        }
        Ok(())
    }

    /// Returns the number of operations that follow from a result.
    fn operations_of_element(&self, l: &Lower) -> usize {
        let g = &l.launch.g;
        let result = self.p.of.inner[0].node;
        g.reachable_until(self.p.roots.iter().copied(), |n| g.is_closed(n) || n == result).len()
    }

    /// Does the same as [`ProductBlock::epilogue`] with a loop over the results, so that long code is not repeated
    /// for each of them. The loop reads a thread's results from shared memory, where no other thread accesses them:
    /// all of them at once, or row by row if they take too many bytes.
    fn epilogue_loop(
        &self,
        l: &mut Lower,
        results: &Results,
        items: &[&Item],
        full: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let ty = self.p.of.inner[0].ty;
        let (count, threads) = (self.vars[1].len() as i64, self.tile.threads());
        let all = results.accumulators.len() as i64;
        let (registers, shared) = match &results.sums {
            Sums::None => (&results.accumulators[..], None),
            Sums::Registers(sums) => (&sums[..], None),
            Sums::Shared(m) => (&[][..], Some(*m)),
        };
        let fits = shared.is_some() || all * threads * ty.size() as i64 <= MAX_RESULT_BYTES;
        let chunk = if fits { all } else { count };
        let buffer = shared.unwrap_or_else(|| l.k.share("results", ty, (chunk * threads) as u32));
        for first in (0..all).step_by(chunk as usize) {
            for (at, value) in (0..chunk).zip(registers.iter().skip(first as usize)) {
                out.push(Stmt::Store(buffer, self.sum_at(at), Expr::Reg(*value)));
            }
            let (number, mut body) = (l.k.reg("number", Ty::I32), Vec::new());
            let at = Expr::Reg(number).times(int32(threads as i32)).plus(self.sum_at(0));
            let value = (Expr::load(buffer, at), !matches!(results.sums, Sums::None));
            let row = Expr::binary(BinaryOp::Shr, Expr::Reg(number), int32(count.ilog2() as i32));
            let column = Expr::binary(BinaryOp::And, Expr::Reg(number), int32(count as i32 - 1));
            let numbers = [row.plus(int32((first / count) as i32)), column];
            let mut known = self.known.clone();
            let places = [0, 1].map(|s| {
                let at = self.index(s, to_i64(self.tile.offset_of(s, numbers[s].clone())));
                let at = bind(l, "at", at, &mut body);
                let (_, var) = l.launch.g.fresh_var(Ty::I64);
                known.push((var, at.clone()));
                (var, at)
            });
            let [(i, at_row), (j, at_column)] = places;
            let element = ([i, j], [at_row, at_column]);
            self.element(l, items, element, &known, value, full, &mut body)?;
            out.push(Stmt::Seq(number, int32(0), int32(chunk as i32), body));
        }
        Ok(())
    }

    /// Computes and stores the element with this result, if it is in bounds.
    fn element(
        &self,
        l: &mut Lower,
        items: &[&Item],
        (vars, at): ([NodeId; 2], [Expr; 2]),
        known: &[(NodeId, Expr)],
        value: (Expr, bool),
        full: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let mut body = Vec::new();
        store(l, self.p, self.strided, items, (vars, at.clone()), known, value, &mut body)?;
        let below = |s: usize| Expr::binary(BinaryOp::Lt, at[s].clone(), self.extents[s].clone());
        let is_skinny = |s: &usize| self.tile.sides[*s].skinny;
        let inside = and((0..2).filter(|s| !is_skinny(s)).map(below)).expect("a long side");
        let inside = Expr::binary(BinaryOp::Or, full.clone(), inside);
        let inside = and((0..2).filter(is_skinny).map(below).chain([inside])).expect("one at least");
        out.push(Stmt::If(inside, body, vec![]));
        Ok(())
    }

    /// Stores the panel's results to scratch, row by row, including those out of bounds.
    pub(super) fn store_panel(&self, l: &mut Lower, panel: &Panel, results: &Results, out: &mut Vec<Stmt>) {
        let scratch = l.launch.scratch(0, self.p.of.inner[0].ty);
        let [rows, cols] = self.tile.sides;
        let base = to_i64(panel.block_tile.clone()).times(Expr::int(self.tile.area()));
        let [row, col] = self.thread_origin.clone();
        let base = base.plus(to_i64(row.times(int32(cols.size as i32)).plus(col)));
        let base = bind(l, "base", base, out);
        let group = self.tile.group(1);
        let mut groups = results.accumulators.chunks(group as usize);
        for r in 0..rows.per_thread() {
            for c in (0..cols.per_thread()).step_by(group as usize) {
                let offset = self.tile.offset(0, r) * cols.size + self.tile.offset(1, c);
                let at = base.clone().plus(Expr::int(offset));
                let at = scratch_address(at, panel.index.clone(), &panel.count);
                let values: Vec<Expr> = groups.next().into_iter().flatten().map(|r| Expr::Reg(*r)).collect();
                out.push(match &values[..] {
                    [one] => Stmt::Store(scratch, at, one.clone()),
                    _ => Stmt::StoreVec(scratch, at, values),
                });
            }
        }
    }
}
