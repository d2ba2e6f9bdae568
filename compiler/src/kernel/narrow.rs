//! Computes indices in 32 bits, in kernels whose launch promises that every index, times its
//! array's stride, fits in 31 bits and a sign.
//!
//! ```text
//! let %i: i64 = add(mul(cast i64(block), 1024), cast i64(thread))
//! let %a: f32 = x[sub(%i, n_x)]
//!   ->
//! let %i_32: i32 = add(mul(block, 1024i32), thread)
//! let %a: f32 = x[sub(%i_32, cast i32(n_x))]
//! ```
//!
//! An index in bounds fits in 31 bits, so its low 32 bits are enough. The low bits of sums,
//! differences and products depend only on the low bits of the operands. So the pass starts at the
//! index and pushes the truncation down to operands that are not such operations. (gpucc, section
//! 3: 64-bit index arithmetic costs two to four instructions for one.)
//!
//! Values that are known to fit in 32 bits (`narrow/bounds.rs`) are not only truncated: their divisions (if they are
//! not negative), minima and maxima, comparisons and conversions to floats are done in 32 bits, too. A 64-bit
//! division takes about seventy instructions, a 32-bit one about twenty, and one by a constant a few; a clamped index
//! takes two instructions instead of eight.

mod bounds;
mod sides;
mod sums;

use super::{Expr, Kernel, Reg, Stmt};
use crate::scalar::range::Range;
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use bounds::Bounds;
use sums::Sums;

/// Runs the pass on `main`.
pub fn run(k: &mut Kernel) {
    k.narrow = true;
    k.rewrite_main(|k, body| {
        let (low, lets) = (vec![None; k.regs.len()], vec![false; k.regs.len()]);
        let bounds = Bounds::of(k);
        // such kernels have few registers left, and the assembler computes the upper halves of 32-bit counters again
        // at each 64-bit use: sums over all pairs by tiles took 1.23 times as long (one H200)
        let counts = !k.stages_tiles() && !k.arrays.iter().any(|a| a.strided);
        let mut pass = Narrow { k, low, lets, bounds, counts, sums: Sums::default() };
        pass.collect(body);
        pass.block(body);
    });
}

struct Narrow<'a> {
    k: &'a mut Kernel,
    /// The i32 register of the low half of each i64 register that has one.
    low: Vec<Option<Reg>>,
    /// For each register, whether a `let` defines it by ring operations of i64. Only such a register is worth another
    /// one for its low half.
    lets: Vec<bool>,
    /// The ranges of values.
    bounds: Bounds,
    /// Whether loops count in 32 bits where their bounds fit.
    counts: bool,
    /// Registers that are sums beyond 32 bits.
    sums: Sums,
}

impl Narrow<'_> {
    /// Finds the i64 registers whose low half can be computed separately.
    fn collect(&mut self, body: &[Stmt]) {
        for s in body {
            match s {
                Stmt::Let(r, e, _) if self.k.regs[r.0 as usize].1 == Ty::I64 => {
                    self.lets[r.0 as usize] = self.is_ring(e);
                }
                Stmt::Var(r, _) => self.sums.changes(*r),
                _ => {}
            }
            s.blocks().into_iter().for_each(|b| self.collect(b));
        }
    }

    /// Returns whether an expression is a ring operation: its low half depends only on the low halves of its
    /// operands.
    fn is_ring(&self, e: &Expr) -> bool {
        use BinaryOp::{Add, Mul, Sub};
        match e {
            Expr::Binary(Add | Sub | Mul, ..) | Expr::Unary(UnaryOp::Neg, _) | Expr::Reg(_) => true,
            Expr::Cast(Ty::I64, a) => self.k.ty(a) == Ty::I32,
            _ => false,
        }
    }

    fn block(&mut self, body: &mut Vec<Stmt>) {
        let mut out = Vec::with_capacity(body.len());
        for mut s in std::mem::take(body) {
            match &mut s {
                Stmt::Let(r, e, loc) => {
                    self.indices(e);
                    self.sums.define(*r);
                    self.note_sum(*r, e);
                    if let Some(range) = self.bounds.of_let(self.k, *r, e)
                        && self.k.regs[r.0 as usize].1 == Ty::I64
                    {
                        let low = self.low(e);
                        let half = self.half(*r);
                        self.low[r.0 as usize] = Some(half);
                        self.bounds.set(half, range);
                        let loc = loc.clone();
                        *e = Expr::Cast(Ty::I64, Box::new(Expr::Reg(half)));
                        out.extend([Stmt::Let(half, low, loc), s]);
                        continue;
                    }
                    if self.lets[r.0 as usize] {
                        let low = self.low(e);
                        let half = self.half(*r);
                        self.low[r.0 as usize] = Some(half);
                        let loc = loc.clone();
                        out.extend([s, Stmt::Let(half, low, loc)]);
                        continue;
                    }
                }
                Stmt::Var(_, e) | Stmt::Assign(_, e) | Stmt::StoreSlot(_, e) => self.indices(e),
                Stmt::Store(_, i, e) | Stmt::Update(_, _, i, e) => {
                    self.indices(e);
                    self.index(i);
                }
                Stmt::StoreTo(_, i, rank, e) => {
                    self.indices(e);
                    self.index(i);
                    self.index(rank);
                }
                Stmt::LoadVec(_, _, i) | Stmt::LoadMatrices { index: i, .. } => self.index(i),
                Stmt::CopyAsync { at, index, given, .. } => {
                    given.iter_mut().for_each(|e| self.indices(e));
                    self.index(at);
                    self.index(index);
                }
                Stmt::Count { index, .. } => self.indices(index),
                Stmt::Pack(_, values) => values.iter_mut().for_each(|e| self.indices(e)),
                Stmt::MultiplyMatrices { rows, columns, .. } => {
                    rows.iter_mut().chain(columns).for_each(|e| self.indices(e));
                }
                Stmt::MultiplyStaged { rows, columns, .. } => {
                    self.index(rows);
                    self.index(columns);
                }
                Stmt::StoreVec(_, i, values) => {
                    values.iter_mut().for_each(|e| self.indices(e));
                    self.index(i);
                }
                Stmt::Ticket(_, at) | Stmt::Clear(at) => self.indices(at),
                Stmt::Record(_, a, b)
                | Stmt::Arrive(_, a, b)
                | Stmt::Publish(a, b)
                | Stmt::Await(_, a, b) => {
                    self.indices(a);
                    self.indices(b);
                }
                Stmt::For(r, a, b, body) | Stmt::Seq(r, a, b, body) => {
                    self.indices(a);
                    self.indices(b);
                    let wide = self.counter(r, a, b);
                    self.sums.enter();
                    self.sums.define(*r);
                    if let Some(Stmt::Let(wide, ..)) = &wide {
                        self.sums.define(*wide);
                    }
                    self.block(body);
                    self.sums.leave();
                    body.splice(0..0, wide);
                }
                Stmt::While(c, body) => {
                    self.indices(c);
                    self.sums.enter();
                    self.block(body);
                    self.sums.leave();
                }
                Stmt::If(c, a, b) => {
                    self.indices(c);
                    self.block(a);
                    self.block(b);
                }
                Stmt::Local(_)
                | Stmt::Note(_)
                | Stmt::Barrier
                | Stmt::ClusterBarrier { .. }
                | Stmt::CopyGroup
                | Stmt::CopyWait(_)
                | Stmt::MultiplyWait(_)
                | Stmt::Prefetch { .. } => {}
            }
            out.push(s);
        }
        *body = out;
    }

    /// Counts a loop in 32 bits if its bounds fit in these. Returns the definition of the 64-bit counter.
    fn counter(&mut self, r: &mut Reg, begin: &mut Expr, end: &mut Expr) -> Option<Stmt> {
        let (first, last) = (self.range(begin)?, self.range(end)?);
        let range = Range::new(first.least, last.most.saturating_sub(1).max(first.least));
        if !self.counts || self.k.regs[r.0 as usize].1 != Ty::I64 {
            self.bounds.set(*r, range);
            return None;
        }
        (*begin, *end) = (self.low(begin), self.low(end));
        let half = self.half(*r);
        self.low[r.0 as usize] = Some(half);
        [*r, half].into_iter().for_each(|r| self.bounds.set(r, range));
        let wide = std::mem::replace(r, half);
        Some(Stmt::Let(wide, Expr::Cast(Ty::I64, Box::new(Expr::Reg(half))), Default::default()))
    }

    /// Makes a register for the low half of another.
    fn half(&mut self, r: Reg) -> Reg {
        let name = &self.k.regs[r.0 as usize].0;
        let low = name.low();
        if name.was_read() && self.k.regs.iter().any(|r| r.0 == low) {
            return self.k.reg("low", Ty::I32);
        }
        self.k.regs.push((low, Ty::I32));
        Reg(self.k.regs.len() as u32 - 1)
    }

    /// Narrows the indices of the loads in an expression, and operations on bounded values.
    fn indices(&mut self, e: &mut Expr) {
        match e {
            Expr::Load(_, i) => self.index(i),
            Expr::LoadIf(_, i, c) => {
                self.indices(c);
                self.index(i);
            }
            _ => e.children_mut(|child| self.indices(child)),
        }
        self.bounded(e);
    }

    /// Computes an operation of bounded values in 32 bits.
    fn bounded(&mut self, e: &mut Expr) {
        use BinaryOp::{And, Div, Eq, Ge, Gt, Le, Lt, Max, Min, Ne, Or, Rem};
        let is_bounded = |e: &Expr| self.k.ty(e) == Ty::I64 && self.range(e).is_some();
        *e = match &*e {
            Expr::Binary(Div | Rem, a, b) if is_bounded(e) && is_bounded(a) && is_bounded(b) => {
                Expr::Cast(Ty::I64, Box::new(self.low(e)))
            }
            Expr::Binary(op @ (Eq | Ne | Lt | Le | Gt | Ge), a, b) if self.k.ty(a) == Ty::I64 => {
                match self.known(a).zip(self.known(b)).and_then(|(a, b)| a.compare(*op, b)) {
                    Some(holds) => Expr::Lit(Lit::bool(holds)),
                    None if is_bounded(a) && is_bounded(b) => Expr::binary(*op, self.low(a), self.low(b)),
                    None => {
                        let Some(compared) = self.compared(*op, a, b) else { return };
                        compared
                    }
                }
            }
            Expr::Binary(op @ (Min | Max), a, b) if self.k.ty(a) == Ty::I64 => {
                let is_less = if *op == Min { Le } else { Ge };
                match self.known(a).zip(self.known(b)).and_then(|(a, b)| a.compare(is_less, b)) {
                    Some(holds) => if holds { a } else { b }.as_ref().clone(),
                    None => return,
                }
            }
            // the bounds may have turned a comparison into a constant, which simplifies the condition
            Expr::Binary(op @ (And | Or), a, b) if self.k.ty(a) == Ty::Bool => match (&**a, &**b) {
                (Expr::Lit(l), other) | (other, Expr::Lit(l)) if l.as_bool() == (*op == And) => other.clone(),
                _ => return,
            },
            Expr::Select(c, a, b) => match &**c {
                Expr::Lit(l) => if l.as_bool() { a } else { b }.as_ref().clone(),
                _ => return,
            },
            Expr::Cast(ty @ (Ty::F32 | Ty::F64), a) if is_bounded(a) => {
                Expr::Cast(*ty, Box::new(self.low(a)))
            }
            _ => return,
        };
    }

    /// Returns the range of an integer, if one is known that fits in 32 bits.
    fn range(&self, e: &Expr) -> Option<Range> {
        self.bounds.range(self.k, e)
    }

    /// Returns the range of an integer, if one is known.
    fn known(&self, e: &Expr) -> Option<Range> {
        self.bounds.known(self.k, e)
    }

    fn index(&mut self, i: &mut Expr) {
        self.indices(i);
        if self.k.ty(i) == Ty::I64 {
            *i = self.low(i);
        }
    }

    /// Returns the low 32 bits of an i64 expression, as i32.
    fn low(&mut self, e: &Expr) -> Expr {
        use BinaryOp::{And, Div, Max, Min, Rem, Shr};
        let fit = |a: &Expr, b: &Expr| self.range(a).is_some() && self.range(b).is_some();
        match e {
            // the low halves of operands that fit are their values
            Expr::Binary(op @ (Div | Rem), a, b) if fit(a, b) && self.range(e).is_some() => match power(b) {
                Some(shift) if *op == Div => Expr::binary(Shr, self.low(a), Expr::Lit(Lit::i32(shift))),
                Some(shift) => Expr::binary(And, self.low(a), Expr::Lit(Lit::i32((1 << shift) - 1))),
                None => {
                    let [a, b] = [a, b].map(|e| match self.low(e) {
                        Expr::Lit(l) => Expr::Lit(Lit::u32(l.as_i32() as u32)),
                        low => Expr::Cast(Ty::U32, Box::new(low)),
                    });
                    Expr::Cast(Ty::I32, Box::new(Expr::binary(*op, a, b)))
                }
            },
            Expr::Binary(op @ (Min | Max | And), a, b) if fit(a, b) => {
                Expr::binary(*op, self.low(a), self.low(b))
            }
            Expr::Binary(op @ (Min | Max), a, b) => self.least_or_most(*op, a, b).unwrap_or_else(|| cut(e)),
            // a bounded shift is by less than 31 bits; larger ones would differ in 32 bits
            Expr::Binary(Shr, a, b) if fit(a, b) && self.range(e).is_some() => {
                Expr::binary(Shr, self.low(a), self.low(b))
            }
            Expr::Lit(l) => Expr::Lit(Lit::i32(l.as_i64() as i32)),
            Expr::Reg(r) => match self.low.get(r.0 as usize) {
                Some(Some(half)) => Expr::Reg(*half),
                _ => cut(e),
            },
            Expr::Unary(UnaryOp::Neg, a) => Expr::Unary(UnaryOp::Neg, Box::new(self.low(a))),
            Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul), a, b) => {
                Expr::binary(*op, self.low(a), self.low(b))
            }
            Expr::Select(c, a, b) => Expr::Select(c.clone(), Box::new(self.low(a)), Box::new(self.low(b))),
            Expr::Cast(Ty::I64, a) if self.k.ty(a) == Ty::I32 => (**a).clone(),
            e => cut(e),
        }
    }
}

/// Returns k of the constant 2^k, which fits in 31 bits.
fn power(e: &Expr) -> Option<i32> {
    let Expr::Lit(l) = e else { return None };
    let n = u32::try_from(l.as_int()?).ok()?;
    (n.is_power_of_two() && n < 1 << 31).then(|| n.trailing_zeros() as i32)
}

fn cut(e: &Expr) -> Expr {
    Expr::Cast(Ty::I32, Box::new(e.clone()))
}
