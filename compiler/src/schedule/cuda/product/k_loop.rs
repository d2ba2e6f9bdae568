//! The K loop, with several buffers: while a step computes with values from shared memory, the values of later steps
//! are loaded from global memory.

use super::block_tile::Layout;
use super::staging_loads::GlobalLoads;
use super::{ProductBlock, Results, Sums};
use crate::core::{NodeId, PANEL};
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cuda::access;
use crate::schedule::cuda::expressions::{int32, to_i64};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::facts::loop_nests::Env;
use std::ops::Range;

/// The maximum number of inner indices whose code is unrolled where threads load them by vectors.
const MAX_UNROLLED: i64 = 16;

/// A step of the K loop that is loaded ahead.
struct Step {
    number: Expr,
    /// Its buffer, an i32.
    buffer: Expr,
}

impl ProductBlock<'_> {
    /// Writes the loop over all inner indices. `full`: the block tile is inside of the matrix, or clamped to it.
    pub(super) fn k_loop(
        &self,
        l: &mut Lower,
        results: &Results,
        full: bool,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let (depth, stages) = (self.tile.depth, self.tile.stages);
        let shift = Expr::int(depth.ilog2().into());
        let steps = bind(l, "steps", Expr::binary(BinaryOp::Shr, self.k_count.clone(), shift), out);
        let any = Expr::binary(BinaryOp::Gt, steps.clone(), Expr::int(0));
        let mut first = Vec::new();
        for stage in 0..stages - 1 {
            let to = Step { number: Expr::int(stage), buffer: int32(stage as i32) };
            let loads = self.load_step(l, &to, &steps, full, &mut first)?;
            self.store_step(l, loads, &to, full, &mut first);
        }
        let (step, mut body) = (l.k.reg("step", Ty::I64), Vec::new());
        if self.copies(full) {
            body.push(Stmt::CopyWait(stages as u32 - 2));
        }
        body.push(Stmt::Barrier);
        let number = Expr::Reg(step).plus(Expr::int(stages - 1));
        let buffer_of = |l: &mut Lower, step: &Expr, out: &mut Vec<Stmt>| {
            let low = Expr::Cast(Ty::I32, Box::new(step.clone()));
            bind(l, "which", Expr::binary(BinaryOp::And, low, int32(stages as i32 - 1)), out)
        };
        let next = Step { buffer: buffer_of(l, &number, &mut body), number };
        let loads = self.load_step(l, &next, &steps, full, &mut body)?;
        let buffer_index = buffer_of(l, &Expr::Reg(step), &mut body);
        let base = self.k_begin.clone().plus(Expr::Reg(step).times(Expr::int(depth)));
        if full {
            self.whole_step(l, results, &buffer_index, &base, &mut body)?;
        } else {
            self.rolled_loop(l, results, &buffer_index, &base, int32(depth as i32), &mut body)?;
        }
        self.close_panel(results, &Expr::Reg(step).plus(Expr::int(1)), &mut body);
        self.store_step(l, loads, &next, full, &mut body);
        first.push(Stmt::Seq(step, Expr::int(0), steps.clone(), body));
        out.push(Stmt::If(any, first, vec![]));
        // the last, partial step
        let done = bind(l, "done", steps.times(Expr::int(depth)), out);
        let left = self.k_count.clone().minus(done.clone());
        let left = bind(l, "left", Expr::Cast(Ty::I32, Box::new(left)), out);
        let mut rest = Vec::new();
        if self.is_direct() {
            // the barrier says that all threads have computed the last whole step
            rest.push(Stmt::Barrier);
            self.load_directly(l, (&done, &int32(0)), full, true, &mut rest)?;
        } else {
            let loads = self.load_global(l, &done, full, true, &mut rest)?;
            rest.push(Stmt::Barrier);
            self.store_shared(l, loads, int32(0), &mut rest);
        }
        rest.push(Stmt::Barrier);
        let base = self.k_begin.clone().plus(done);
        self.rolled_loop(l, results, &int32(0), &base, left.clone(), &mut rest)?;
        out.push(Stmt::If(Expr::binary(BinaryOp::Gt, left, int32(0)), rest, vec![]));
        Ok(())
    }

    /// Begins to load the values of a step. Copies go to its buffer at once, if there is such a step. Loads through
    /// registers load the last step again if there is none, and nothing uses these values.
    fn load_step(
        &self,
        l: &mut Lower,
        to: &Step,
        steps: &Expr,
        full: bool,
        out: &mut Vec<Stmt>,
    ) -> Result<GlobalLoads> {
        let depth = Expr::int(self.tile.depth);
        if self.copies(full) {
            let mut body = Vec::new();
            self.copy_global(l, &to.number.clone().times(depth.clone()), &to.buffer, &mut body)?;
            let exists = Expr::binary(BinaryOp::Lt, to.number.clone(), steps.clone());
            out.push(Stmt::If(exists, body, vec![]));
        }
        let last = steps.clone().minus(Expr::int(1));
        let k = bind(l, "k", to.number.clone().min(last).times(depth), out);
        if !full && self.is_direct() {
            self.load_directly(l, (&k, &to.buffer), full, false, out)?;
            return Ok(GlobalLoads::default());
        }
        self.load_global(l, &k, full, false, out)
    }

    /// Stores what a step has loaded into its buffer, and ends the group of its copies.
    fn store_step(&self, l: &mut Lower, loads: GlobalLoads, to: &Step, full: bool, out: &mut Vec<Stmt>) {
        self.store_shared(l, loads, to.buffer.clone(), out);
        if self.copies(full) {
            out.push(Stmt::CopyGroup);
        }
    }

    /// Whether values that are not copied are stored as soon as they are loaded, because those of one step would take
    /// too many of a thread's registers.
    fn is_direct(&self) -> bool {
        self.inner_group() > 1
    }

    /// Returns the number of inner indices whose values a thread loads from shared memory at once.
    fn inner_group(&self) -> i64 {
        let along_k = (0..2).any(|s| self.layout(s) == Layout::AlongK);
        if along_k { self.tile.v } else { 1 }
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
            let pitch = self.pitches(s)[0];
            let own = self.thread_origin[s].clone();
            let own = if pitch == 1 { own } else { own.times(int32(pitch as i32)) };
            bind(l, "at", offset.plus(own), out)
        })
    }

    /// Computes all inner indices of a step: unrolled, or in turns of a loop if there are many.
    fn whole_step(
        &self,
        l: &mut Lower,
        results: &Results,
        buffer_index: &Expr,
        base: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let (depth, group) = (self.tile.depth, self.inner_group());
        let mut addresses = self.shared_addresses(l, buffer_index, out);
        // without vectors along the inner index a step has few inner indices
        let unrolled = if group > 1 { depth.min(MAX_UNROLLED) } else { depth };
        let (turn, mut body) = (l.k.reg("turn", Ty::I32), Vec::new());
        let mut base = base.clone();
        if unrolled < depth {
            for (s, at) in addresses.iter_mut().enumerate() {
                let distance = int32((unrolled * self.pitches(s)[1]) as i32);
                *at = bind(l, "at", at.clone().plus(Expr::Reg(turn).times(distance)), &mut body);
            }
            base = base.plus(to_i64(Expr::Reg(turn)).times(Expr::int(unrolled)));
        }
        for kk in (0..unrolled).step_by(group as usize) {
            let k = base.clone().plus(Expr::int(kk));
            self.accumulate(l, results, &addresses, kk..kk + group, k, &mut body)?;
        }
        match unrolled < depth {
            true => out.push(Stmt::Seq(turn, int32(0), int32((depth / unrolled) as i32), body)),
            false => out.append(&mut body),
        }
        Ok(())
    }

    /// Computes `count` inner indices in a loop.
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
            let [_, pitch] = self.pitches(sides.next().expect("two sides"));
            let row = Expr::Reg(kk);
            let row = if pitch == 1 { row } else { row.times(int32(pitch as i32)) };
            bind(l, "at", p.plus(row), &mut body)
        });
        self.accumulate(l, results, &addresses, 0..1, base.clone().plus(to_i64(Expr::Reg(kk))), &mut body)?;
        out.push(Stmt::Seq(kk, int32(0), count, body));
        Ok(())
    }

    /// Adds the products of some neighbouring inner indices to all accumulators of the thread. `rows` are their
    /// numbers in the buffer, counted from `addresses`; the first of them is inner index `k`.
    fn accumulate(
        &self,
        l: &mut Lower,
        results: &Results,
        addresses: &[Expr; 2],
        rows: Range<i64>,
        k: Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let along_k = [0, 1].map(|s| match self.layout(s) {
            Layout::AlongK => self.load_along_k(l, s, &addresses[s], &rows, out),
            Layout::AlongSide => Vec::new(),
        });
        for row in rows.clone() {
            let number = row - rows.start;
            let (_, index) = l.launch.g.fresh_var(Ty::I64);
            let mut vars = self.known.clone();
            vars.push((index, if number == 0 { k.clone() } else { k.clone().plus(Expr::int(number)) }));
            let at_k = Env::default().with(&l.launch.g, self.p.k, index);
            for s in 0..2 {
                let loaded = match self.layout(s) {
                    Layout::AlongK => along_k[s].iter().map(|part| part[number as usize].clone()).collect(),
                    Layout::AlongSide => self.load_row(l, s, &addresses[s], row, out),
                };
                for (part, regs) in self.p.sides[s].parts.iter().zip(loaded) {
                    for (var, reg) in self.vars[s].iter().zip(regs) {
                        let env = at_k.with(&l.launch.g, self.p.outer[s], *var);
                        vars.push((env.of(&mut l.launch.g, *part), Expr::Reg(reg)));
                    }
                }
            }
            self.multiply(l, results, &at_k, vars, out)?;
        }
        Ok(())
    }

    /// Loads the values of one inner index for the thread's rows (or columns), for each part.
    fn load_row(&self, l: &mut Lower, s: usize, at: &Expr, row: i64, out: &mut Vec<Stmt>) -> Vec<Vec<Reg>> {
        let (v, [_, pitch]) = (self.tile.group(s), self.pitches(s));
        let mut parts = Vec::new();
        for (part, m) in self.p.sides[s].parts.iter().zip(&self.shared[s]) {
            let (ty, mut all) = (l.launch.g.ty(*part).elem, Vec::new());
            for first in (0..self.tile.sides[s].per_thread()).step_by(v as usize) {
                let regs: Vec<Reg> = (0..v).map(|_| l.k.reg("s", ty)).collect();
                all.extend(regs.iter().copied());
                let offset = row * pitch + self.tile.offset(s, first);
                access::load(l, *m, regs, at.clone().plus(int32(offset as i32)), out);
            }
            parts.push(all);
        }
        parts
    }

    /// Loads the values of neighbouring inner indices for the thread's rows (or columns), for each part and inner
    /// index.
    fn load_along_k(
        &self,
        l: &mut Lower,
        s: usize,
        at: &Expr,
        rows: &Range<i64>,
        out: &mut Vec<Stmt>,
    ) -> Vec<Vec<Vec<Reg>>> {
        let [pitch, _] = self.pitches(s);
        let mut parts = Vec::new();
        for (part, m) in self.p.sides[s].parts.iter().zip(&self.shared[s]) {
            let ty = l.launch.g.ty(*part).elem;
            let mut all = vec![Vec::new(); rows.clone().count()];
            for r in 0..self.tile.sides[s].per_thread() {
                let regs: Vec<Reg> = rows.clone().map(|_| l.k.reg("s", ty)).collect();
                all.iter_mut().zip(&regs).for_each(|(of_index, r)| of_index.push(*r));
                let offset = rows.start + self.tile.offset(s, r) * pitch;
                access::load(l, *m, regs, at.clone().plus(int32(offset as i32)), out);
            }
            parts.push(all);
        }
        parts
    }

    /// Adds the products of the inner index in `at_k`, whose values are among `vars`, to all
    /// accumulators.
    fn multiply(
        &self,
        l: &mut Lower,
        results: &Results,
        at_k: &Env,
        mut vars: Vec<(NodeId, Expr)>,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
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
