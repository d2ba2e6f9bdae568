//! Evaluates expressions in all lanes of a warp at once.

use super::fault::Check;
use super::lanes::{Lanes, lanes};
use super::machine::Machine;
use super::operators;
use super::warp::Warp;
use crate::kernel::{Expr, Gpu, Mem, Stmt, WARP};
use crate::scalar::{Lit, Ty};

/// Returns the values of an expression as a reference. A register's values are used where they are, because copying
/// the values of lanes took a quarter of the simulation's time; other values are computed into `$room`, a variable
/// without a value.
macro_rules! operand {
    ($m:ident, $room:ident, $w:ident, $e:expr, $mask:ident, $at:ident) => {
        match $e {
            $crate::kernel::Expr::Reg(r) => $w.regs.get(*r),
            e => {
                $room = $crate::kernel::interp::lanes::Lanes::none($crate::scalar::Ty::Bool);
                $m.eval_to(&mut $room, $w, e, $mask, $at)?;
                &$room
            }
        }
    };
}
pub(super) use operand;

impl<'k> Machine<'k, '_> {
    /// Returns the value of an expression in the lanes of `mask`.
    pub fn eval(&mut self, w: &Warp<'k>, e: &'k Expr, mask: u32, at: &'k Stmt) -> Check<Lanes> {
        let mut out = Lanes::none(Ty::Bool);
        self.eval_to(&mut out, w, e, mask, at)?;
        Ok(out)
    }

    /// Does what [`Machine::eval`] does, with a buffer of the caller's for the result.
    pub fn eval_to(
        &mut self,
        out: &mut Lanes,
        w: &Warp<'k>,
        e: &'k Expr,
        mask: u32,
        at: &'k Stmt,
    ) -> Check<()> {
        match e {
            Expr::Lit(l) => out.splat(*l),
            Expr::Reg(r) => *out = *w.regs.get(*r),
            Expr::In(i) => out.splat(self.args.ins[*i as usize]),
            Expr::Slot(i) => {
                out.ty = self.k.slots[*i as usize].ty;
                for l in lanes(mask) {
                    out.bits[l] = self.load_slot(w.who(l, at), *i)?;
                }
            }
            Expr::Load(m, i) => {
                self.eval_to(out, w, i, mask, at)?;
                self.gather(out, w, *m, mask, at)?;
            }
            Expr::LoadIf(m, i, c) => {
                self.eval_to(out, w, i, mask, at)?;
                let mut room;
                let reads = operand!(self, room, w, &**c, mask, at).and(mask);
                self.gather(out, w, *m, reads, at)?;
                lanes(!reads).for_each(|l| out.bits[l] = 0);
            }
            Expr::Unary(op, a) => {
                let mut room;
                let a = operand!(self, room, w, &**a, mask, at);
                operators::unary(out, *op, a, mask);
            }
            Expr::Binary(op, a, b) => {
                let (mut of_a, mut of_b);
                let a = operand!(self, of_a, w, &**a, mask, at);
                let b = operand!(self, of_b, w, &**b, mask, at);
                operators::binary(out, *op, a, b, mask);
            }
            Expr::MulAdd(a, b, c) => {
                let (mut of_a, mut of_b, mut of_c);
                let a = operand!(self, of_a, w, &**a, mask, at);
                let b = operand!(self, of_b, w, &**b, mask, at);
                let c = operand!(self, of_c, w, &**c, mask, at);
                operators::mul_add(out, [a, b, c], mask);
            }
            Expr::Select(c, a, b) => {
                let (mut of_a, mut of_b, mut of_c);
                let c = operand!(self, of_c, w, &**c, mask, at);
                let a = operand!(self, of_a, w, &**a, mask, at);
                let b = operand!(self, of_b, w, &**b, mask, at);
                operators::select(out, c, a, b);
            }
            Expr::Cast(to, a) => {
                let mut room;
                let a = operand!(self, room, w, &**a, mask, at);
                operators::cast(out, *to, a, mask);
            }
            Expr::Place(g) => {
                // the threads of a warp belong to one block
                let first = self.thread(w.thread(0));
                out.splat(Lit::i32(match g {
                    Gpu::Thread => first.thread,
                    Gpu::Block => first.block,
                    Gpu::Blocks => self.grid.blocks,
                    Gpu::Span => self.grid.span,
                } as i32));
                if *g == Gpu::Thread {
                    (0..).zip(&mut out.bits).for_each(|(l, bits)| *bits += l);
                }
            }
            Expr::ShuffleDown(a, by) => {
                let from = |l: usize| if l + (*by as usize) < WARP as usize { l + *by as usize } else { l };
                self.shuffled(out, w, (a, from), mask, at)?;
            }
            Expr::ShuffleUp(a, by) => {
                let from = |l: usize| l.checked_sub(*by as usize).unwrap_or(l);
                self.shuffled(out, w, (a, from), mask, at)?;
            }
            Expr::ShuffleXor(a, by) => self.shuffled(out, w, (a, |l| l ^ *by as usize), mask, at)?,
            Expr::Broadcast(a) => {
                self.shuffled(out, w, (a, |_| 0), mask, at)?;
                // a broadcast orders memory accesses, a shuffle does not
                let first = w.thread(0) as usize;
                self.clocks.meet(first..first + WARP as usize);
            }
            Expr::TileBegin | Expr::TileEnd => unreachable!("verified: {e:?} is the CPU's"),
        }
        Ok(())
    }

    /// Gives each lane the value of lane `from` it; all lanes take part.
    fn shuffled(
        &mut self,
        out: &mut Lanes,
        w: &Warp<'k>,
        (a, from): (&'k Expr, impl Fn(usize) -> usize),
        mask: u32,
        at: &'k Stmt,
    ) -> Check<()> {
        let mut room;
        let a = operand!(self, room, w, a, mask, at);
        self.whole_warp(w, mask, at)?;
        out.ty = a.ty;
        for (l, bits) in out.bits.iter_mut().enumerate() {
            *bits = a.bits[from(l)];
        }
        Ok(())
    }

    /// Replaces the indices in the lanes of `mask` by the elements at these indices.
    fn gather(&mut self, out: &mut Lanes, w: &Warp<'k>, m: Mem, mask: u32, at: &'k Stmt) -> Check<()> {
        if let Mem::Local(array) = m {
            for l in lanes(mask) {
                let index = out.index(l);
                out.bits[l] = self.load_local(w.who(l, at), m, index, w.local(array, index, l))?;
            }
        } else {
            self.load_lanes(w, m, out, mask, at)?;
        }
        out.ty = self.k.mem(m).1;
        Ok(())
    }
}
