//! Evaluates expressions in all lanes of a warp at once.

use super::fault::Check;
use super::lanes::{Lanes, lanes};
use super::machine::Machine;
use super::warp::Warp;
use crate::kernel::{Expr, Gpu, Mem, Stmt, WARP};
use crate::scalar::{BinaryOp, Lit, Ty, eval_binary, eval_cast, eval_known_binary, eval_mul_add, eval_unary};

/// Applies a frequent operator of indices, conditions or f32 to all lanes of `a`, active or not, and
/// returns whether it is one. The operator is dispatched once for the warp, because dispatching it in
/// each lane took half of the simulation's time.
fn frequent(op: BinaryOp, a: &mut Lanes, b: &Lanes) -> bool {
    macro_rules! of {
        ($($ty:ident: $($op:ident)*;)*) => {
            match (a.ty, op) {
                $($((Ty::$ty, BinaryOp::$op) => {
                    let lit = |bits| Lit { ty: Ty::$ty, bits };
                    for (a, b) in a.bits.iter_mut().zip(&b.bits) {
                        *a = eval_known_binary(BinaryOp::$op, lit(*a), lit(*b)).0.bits;
                    }
                })*)*
                _ => return false,
            }
        };
    }
    of! {
        I32: Add Sub Mul Min Max And Or Xor Shl Shr Eq Ne Lt Le Gt Ge;
        I64: Add Sub Mul Min Max And Or Xor Shl Shr Eq Ne Lt Le Gt Ge;
        Bool: And Or Xor Eq Ne;
        F32: Add Sub Mul;
    }
    a.ty = op.result(a.ty);
    true
}

impl<'k> Machine<'k, '_> {
    /// Returns the value of an expression in the lanes of `mask`.
    pub fn eval(&mut self, w: &Warp<'k>, e: &'k Expr, mask: u32, at: &'k Stmt) -> Check<Lanes> {
        let mut out = Lanes::none(Ty::Bool);
        self.eval_to(&mut out, w, e, mask, at)?;
        Ok(out)
    }

    /// Does the same as [`Machine::eval`], into a place of the caller: the values of lanes are large, and copying
    /// them took a sixth of the time.
    pub fn eval_to(
        &mut self,
        out: &mut Lanes,
        w: &Warp<'k>,
        e: &'k Expr,
        mask: u32,
        at: &'k Stmt,
    ) -> Check<()> {
        match e {
            Expr::Lit(l) => *out = Lanes::splat(*l),
            Expr::Reg(r) => (out.ty, out.bits) = (self.k.regs[r.0 as usize].1, w.regs[r.0 as usize]),
            Expr::In(i) => *out = Lanes::splat(self.args.ins[*i as usize]),
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
                let reads = self.eval(w, c, mask, at)?.and(mask);
                self.gather(out, w, *m, reads, at)?;
                lanes(!reads).for_each(|l| out.bits[l] = 0);
            }
            Expr::Unary(op, a) => {
                self.eval_to(out, w, a, mask, at)?;
                out.update(op.result(out.ty), mask, |_, a| eval_unary(*op, a));
            }
            Expr::Binary(op, a, b) => {
                self.eval_to(out, w, a, mask, at)?;
                let b = self.eval(w, b, mask, at)?;
                if !frequent(*op, out, &b) {
                    out.update(op.result(out.ty), mask, |l, a| eval_binary(*op, a, b.at(l)).0);
                }
            }
            Expr::MulAdd(a, b, c) => {
                self.eval_to(out, w, a, mask, at)?;
                let (b, c) = (self.eval(w, b, mask, at)?, self.eval(w, c, mask, at)?);
                out.update(out.ty, mask, |l, a| eval_mul_add(a, b.at(l), c.at(l)));
            }
            Expr::Select(c, a, b) => {
                let c = self.eval(w, c, mask, at)?;
                self.eval_to(out, w, a, mask, at)?;
                let b = self.eval(w, b, mask, at)?;
                out.update(out.ty, u32::MAX, |l, a| if c.bits[l] != 0 { a } else { b.at(l) });
            }
            Expr::Cast(to, a) => {
                self.eval_to(out, w, a, mask, at)?;
                out.update(*to, mask, |_, a| eval_cast(*to, a));
            }
            Expr::Place(g) => out.update(Ty::I32, mask, |l, _| {
                let thread = self.thread(w.thread(l));
                Lit::i32(match g {
                    Gpu::Thread => thread.thread,
                    Gpu::Block => thread.block,
                    Gpu::Blocks => self.grid.blocks,
                    Gpu::Span => self.grid.span,
                } as i32)
            }),
            Expr::ShuffleDown(a, by) => {
                let from = |l: usize| if l + (*by as usize) < WARP as usize { l + *by as usize } else { l };
                self.shuffled(out, w, (a, &from), mask, at)?;
            }
            Expr::ShuffleUp(a, by) => {
                let from = |l: usize| l.checked_sub(*by as usize).unwrap_or(l);
                self.shuffled(out, w, (a, &from), mask, at)?;
            }
            Expr::ShuffleXor(a, by) => self.shuffled(out, w, (a, &|l| l ^ *by as usize), mask, at)?,
            Expr::Broadcast(a) => {
                self.shuffled(out, w, (a, &|_| 0), mask, at)?;
                // a broadcast orders memory accesses, a shuffle does not
                let first = w.thread(0) as usize;
                self.clocks.meet(first..first + WARP as usize);
            }
            Expr::TileBegin | Expr::TileEnd => unreachable!("verified: {e:?} is the CPU's"),
        }
        Ok(())
    }

    /// Each lane gets the value of the lane `from` it; all lanes take part.
    fn shuffled(
        &mut self,
        out: &mut Lanes,
        w: &Warp<'k>,
        (a, from): (&'k Expr, &dyn Fn(usize) -> usize),
        mask: u32,
        at: &'k Stmt,
    ) -> Check<()> {
        let a = self.eval(w, a, mask, at)?;
        self.whole_warp(w, mask, at)?;
        *out = Lanes::each(a.ty, mask, |l| a.at(from(l)));
        Ok(())
    }

    /// Replaces the indices of the lanes of `mask` by the elements there.
    fn gather(&mut self, out: &mut Lanes, w: &Warp<'k>, m: Mem, mask: u32, at: &'k Stmt) -> Check<()> {
        for l in lanes(mask) {
            let index = out.index(l);
            if let Mem::Local(array) = m {
                out.bits[l] = self.load_local(w.who(l, at), m, index, w.local(array, index, l))?;
                continue;
            }
            self.load(w.who(l, at), m, index, std::slice::from_mut(&mut out.bits[l]))?;
        }
        out.ty = self.k.mem(m).1;
        Ok(())
    }
}
