//! The K loop, with double buffering: the values of the next step are loaded from global memory
//! while the values of this step are used from shared memory.

use super::{ProductBlock, Results, Sums};
use crate::core::PANEL;
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cuda::access;
use crate::schedule::cuda::expressions::{int32, to_i64};
use crate::schedule::loop_nests::Env;
use crate::schedule::lower::{Lower, named as bind};

impl ProductBlock<'_> {
    /// Writes the loop over all inner indices. `full`: the block tile is inside of the matrix.
    pub(super) fn k_loop(
        &self,
        l: &mut Lower,
        results: &Results,
        full: bool,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let depth = self.tile.depth;
        let shift = Expr::int(depth.ilog2().into());
        let steps = bind(l, "steps", Expr::binary(BinaryOp::Shr, self.k_count.clone(), shift), out);
        let any = Expr::binary(BinaryOp::Gt, steps.clone(), Expr::int(0));
        let mut first = Vec::new();
        let loads = self.load_global(l, &Expr::int(0), full, false, &mut first)?;
        self.store_shared(l, loads, int32(0), &mut first);
        first.push(Stmt::Barrier);
        let (step, mut body) = (l.k.reg("step", Ty::I64), Vec::new());
        let next = Expr::Reg(step).plus(Expr::int(1));
        // the last step loads its own values again, which nothing uses
        let last = steps.clone().minus(Expr::int(1));
        let k = bind(l, "k", next.clone().min(last).times(Expr::int(depth)), &mut body);
        let loads = self.load_global(l, &k, full, false, &mut body)?;
        let low = Expr::Cast(Ty::I32, Box::new(Expr::Reg(step)));
        let buffer_index = Expr::binary(BinaryOp::And, low, int32(1));
        let buffer_index = bind(l, "which", buffer_index, &mut body);
        let base = self.k_begin.clone().plus(Expr::Reg(step).times(Expr::int(depth)));
        if full && !self.strided {
            let addresses = self.shared_addresses(l, &buffer_index, &mut body);
            for kk in 0..depth {
                self.accumulate(l, results, &addresses, kk, base.clone().plus(Expr::int(kk)), &mut body)?;
            }
        } else {
            self.rolled_loop(l, results, &buffer_index, &base, int32(depth as i32), &mut body)?;
        }
        self.close_panel(results, &next, &mut body);
        let other = int32(1).minus(buffer_index);
        self.store_shared(l, loads, other, &mut body);
        body.push(Stmt::Barrier);
        first.push(Stmt::Seq(step, Expr::int(0), steps.clone(), body));
        out.push(Stmt::If(any, first, vec![]));
        // the last, partial step
        let done = bind(l, "done", steps.times(Expr::int(depth)), out);
        let left = self.k_count.clone().minus(done.clone());
        let left = bind(l, "left", Expr::Cast(Ty::I32, Box::new(left)), out);
        let mut rest = Vec::new();
        let loads = self.load_global(l, &done, full, true, &mut rest)?;
        self.store_shared(l, loads, int32(0), &mut rest);
        rest.push(Stmt::Barrier);
        let base = self.k_begin.clone().plus(done);
        self.rolled_loop(l, results, &int32(0), &base, left.clone(), &mut rest)?;
        out.push(Stmt::If(Expr::binary(BinaryOp::Gt, left, int32(0)), rest, vec![]));
        Ok(())
    }

    /// Adds the accumulators to the sums at the end of each panel.
    fn close_panel(&self, results: &Results, next: &Expr, out: &mut Vec<Stmt>) {
        let steps = PANEL / self.tile.depth;
        let part = Expr::binary(BinaryOp::And, next.clone(), Expr::int(steps - 1));
        let body = self.add_to_sums(results);
        if !body.is_empty() {
            out.push(Stmt::If(Expr::binary(BinaryOp::Eq, part, Expr::int(0)), body, vec![]));
        }
    }

    /// Adds the accumulators to the sums, and clears them.
    pub(super) fn add_to_sums(&self, results: &Results) -> Vec<Stmt> {
        let nothing = Expr::Lit(Lit::no_sum(self.p.of.inner[0].ty));
        let join = |(i, c): (usize, &Reg)| {
            let accumulator = Expr::Reg(*c);
            let sum = match &results.sums {
                Sums::None => return vec![],
                Sums::Registers(sums) => Stmt::Assign(sums[i], Expr::Reg(sums[i]).plus(accumulator)),
                Sums::Shared(m) => {
                    let at = self.sum_at(i as i64);
                    Stmt::Store(*m, at.clone(), Expr::load(*m, at).plus(accumulator))
                }
            };
            vec![sum, Stmt::Assign(*c, nothing.clone())]
        };
        results.accumulators.iter().enumerate().flat_map(join).collect()
    }

    /// Returns where the thread's first row and column lie in a buffer.
    fn shared_addresses(&self, l: &mut Lower, buffer_index: &Expr, out: &mut Vec<Stmt>) -> [Expr; 2] {
        [0, 1].map(|s| {
            let offset = buffer_index.clone().times(int32(self.buffer_len(s) as i32));
            bind(l, "at", offset.plus(self.thread_origin[s].clone()), out)
        })
    }

    /// Takes `count` inner indices, in a loop.
    fn rolled_loop(
        &self,
        l: &mut Lower,
        results: &Results,
        buffer_index: &Expr,
        base: &Expr,
        count: Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let (kk, mut body) = (l.k.reg("kk", Ty::I32), Vec::new());
        let addresses = self.shared_addresses(l, buffer_index, out);
        let mut sides = 0..2;
        let addresses = addresses.map(|p| {
            let pitch = self.pitch(sides.next().expect("two sides"));
            bind(l, "at", p.plus(Expr::Reg(kk).times(int32(pitch as i32))), &mut body)
        });
        self.accumulate(l, results, &addresses, 0, base.clone().plus(to_i64(Expr::Reg(kk))), &mut body)?;
        out.push(Stmt::Seq(kk, int32(0), count, body));
        Ok(())
    }

    /// Adds the products of one inner index to all accumulators of the thread. The inner index is
    /// that of the buffer's `row` behind `addresses`.
    fn accumulate(
        &self,
        l: &mut Lower,
        results: &Results,
        addresses: &[Expr; 2],
        row: i64,
        k: Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let (_, index) = l.launch.g.fresh_var(Ty::I64);
        let mut vars = self.known.clone();
        vars.push((index, k));
        let at_k = Env::default().with(&l.launch.g, self.p.k, index);
        for (side, place) in addresses.iter().enumerate() {
            for (part, m) in self.p.sides[side].parts.iter().zip(&self.shared[side]) {
                let ty = l.launch.g.ty(*part).elem;
                let v = self.tile.group(side);
                for first in (0..self.tile.sides[side].per_thread()).step_by(v as usize) {
                    let regs: Vec<Reg> = (0..v).map(|_| l.k.reg("s", ty)).collect();
                    let offset = row * self.pitch(side) + self.tile.offset(side, first);
                    let at = place.clone().plus(int32(offset as i32));
                    for (var, reg) in self.vars[side][first as usize..].iter().zip(&regs) {
                        let env = at_k.with(&l.launch.g, self.p.outer[side], *var);
                        vars.push((env.of(&mut l.launch.g, *part), Expr::Reg(*reg)));
                    }
                    access::load(l, *m, regs, at, out);
                }
            }
        }
        let inner = &self.p.of.inner[0];
        let mut roots = Vec::new();
        for (r, i) in self.vars[0].iter().enumerate() {
            let row = at_k.with(&l.launch.g, self.p.outer[0], *i);
            for (c, j) in self.vars[1].iter().enumerate() {
                let (_, before) = l.launch.g.fresh_var(inner.ty);
                vars.push((before, Expr::Reg(results.accumulators[r * self.vars[1].len() + c])));
                let env = row.with(&l.launch.g, self.p.outer[1], *j).with(&l.launch.g, inner.acc, before);
                roots.push(env.of(&mut l.launch.g, inner.next));
            }
        }
        let values = l.region(&vars, &roots, &Expr::int(0), out)?;
        out.extend(results.accumulators.iter().zip(values).map(|(r, e)| Stmt::Assign(*r, e)));
        Ok(())
    }
}
