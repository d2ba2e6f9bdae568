//! Evaluates expressions in all lanes of a warp at once.

use super::fault::Check;
use super::lanes::{Bits, Lanes, lanes};
use super::machine::Machine;
use super::warp::Warp;
use crate::kernel::{Expr, Gpu, Mem, Stmt, WARP};
use crate::scalar::{BinaryOp, Lit, Ty, eval_binary, eval_cast, eval_known_binary, eval_mul_add, eval_unary};

/// Evaluates a frequent operator of indices, conditions or f32 in all lanes, active or not. The
/// operator is dispatched once for the warp, because dispatching it in each lane took half of the
/// simulation's time.
fn frequent(op: BinaryOp, a: &Lanes, b: &Lanes) -> Option<Bits> {
    macro_rules! of {
        ($($ty:ident: $($op:ident)*;)*) => {
            match (a.ty, op) {
                $($((Ty::$ty, BinaryOp::$op) => {
                    let lit = |bits| Lit { ty: Ty::$ty, bits };
                    let one = |l: usize| eval_known_binary(BinaryOp::$op, lit(a.bits[l]), lit(b.bits[l])).0.bits;
                    Some(std::array::from_fn(one))
                })*)*
                _ => None,
            }
        };
    }
    of! {
        I32: Add Sub Mul Min Max And Or Xor Shl Shr Eq Ne Lt Le Gt Ge;
        I64: Add Sub Mul Min Max And Or Xor Shl Shr Eq Ne Lt Le Gt Ge;
        Bool: And Or Xor Eq Ne;
        F32: Add Sub Mul;
    }
}

impl<'k> Machine<'k, '_> {
    /// Returns the value of an expression in the lanes of `mask`.
    pub fn eval(&mut self, w: &Warp<'k>, e: &'k Expr, mask: u32, at: &'k Stmt) -> Check<Lanes> {
        Ok(match e {
            Expr::Lit(l) => Lanes::splat(*l),
            Expr::Reg(r) => Lanes { ty: self.k.regs[r.0 as usize].1, bits: w.regs[r.0 as usize] },
            Expr::In(i) => Lanes::splat(self.args.ins[*i as usize]),
            Expr::Slot(i) => {
                let mut out = Lanes::none(self.k.slots[*i as usize].ty);
                for l in lanes(mask) {
                    out.bits[l] = self.load_slot(w.who(l, at), *i)?;
                }
                out
            }
            Expr::Load(m, i) => {
                let index = self.eval(w, i, mask, at)?;
                self.gather(w, *m, &index, mask, at)?
            }
            Expr::LoadIf(m, i, c) => {
                let index = self.eval(w, i, mask, at)?;
                let reads = self.eval(w, c, mask, at)?.and(mask);
                self.gather(w, *m, &index, reads, at)?
            }
            Expr::Unary(op, a) => {
                let a = self.eval(w, a, mask, at)?;
                Lanes::each(op.result(a.ty), mask, |l| eval_unary(*op, a.at(l)))
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.eval(w, a, mask, at)?, self.eval(w, b, mask, at)?);
                match frequent(*op, &a, &b) {
                    Some(bits) => Lanes { ty: op.result(a.ty), bits },
                    None => Lanes::each(op.result(a.ty), mask, |l| eval_binary(*op, a.at(l), b.at(l)).0),
                }
            }
            Expr::MulAdd(a, b, c) => {
                let (a, b) = (self.eval(w, a, mask, at)?, self.eval(w, b, mask, at)?);
                let c = self.eval(w, c, mask, at)?;
                Lanes::each(a.ty, mask, |l| eval_mul_add(a.at(l), b.at(l), c.at(l)))
            }
            Expr::Select(c, a, b) => {
                let c = self.eval(w, c, mask, at)?;
                let (a, b) = (self.eval(w, a, mask, at)?, self.eval(w, b, mask, at)?);
                let bits = std::array::from_fn(|l| if c.bits[l] != 0 { a.bits[l] } else { b.bits[l] });
                Lanes { ty: a.ty, bits }
            }
            Expr::Cast(to, a) => {
                let a = self.eval(w, a, mask, at)?;
                Lanes::each(*to, mask, |l| eval_cast(*to, a.at(l)))
            }
            Expr::Place(g) => Lanes::each(Ty::I32, mask, |l| {
                let thread = self.thread(w.thread(l));
                Lit::i32(match g {
                    Gpu::Thread => thread.thread,
                    Gpu::Block => thread.block,
                    Gpu::Blocks => self.grid.blocks,
                    Gpu::Span => self.grid.span,
                } as i32)
            }),
            Expr::ShuffleDown(a, by) => {
                let a = self.eval(w, a, mask, at)?;
                self.whole_warp(w, mask, at)?;
                let from = |l: usize| if l + (*by as usize) < WARP as usize { l + *by as usize } else { l };
                Lanes::each(a.ty, mask, |l| a.at(from(l)))
            }
            Expr::ShuffleUp(a, by) => {
                let a = self.eval(w, a, mask, at)?;
                self.whole_warp(w, mask, at)?;
                Lanes::each(a.ty, mask, |l| a.at(l.checked_sub(*by as usize).unwrap_or(l)))
            }
            Expr::ShuffleXor(a, by) => {
                let a = self.eval(w, a, mask, at)?;
                self.whole_warp(w, mask, at)?;
                Lanes::each(a.ty, mask, |l| a.at(l ^ *by as usize))
            }
            Expr::Broadcast(a) => {
                let a = self.eval(w, a, mask, at)?;
                self.whole_warp(w, mask, at)?;
                // a broadcast orders memory accesses, a shuffle does not
                let first = w.thread(0) as usize;
                self.clocks.meet(first..first + WARP as usize);
                Lanes::splat(a.at(0))
            }
            Expr::TileBegin | Expr::TileEnd => unreachable!("verified: {e:?} is the CPU's"),
        })
    }

    fn gather(&mut self, w: &Warp<'k>, m: Mem, index: &Lanes, mask: u32, at: &'k Stmt) -> Check<Lanes> {
        let mut out = Lanes::none(self.k.mem(m).1);
        for l in lanes(mask) {
            if let Mem::Local(array) = m {
                out.bits[l] =
                    self.load_local(w.who(l, at), m, index.index(l), w.local(array, index.index(l), l))?;
                continue;
            }
            self.load(w.who(l, at), m, index.index(l), std::slice::from_mut(&mut out.bits[l]))?;
        }
        Ok(out)
    }
}
