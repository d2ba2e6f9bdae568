//! The prefix of a part, from the totals of the parts before it. As in a binary counter, level k has the total of an
//! aligned block of 2^k parts, and is in use if bit k of the part's number is 1:
//!
//! ```text
//! part 6 = 110b:    level 2: total of parts 0 .. 3    level 1: total of parts 4 and 5    prefix = level 2 + level 1
//! ```

use crate::error::Result;
use crate::kernel::{Expr, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::scan_operator::Operator;
use crate::schedule::facts::scans::Scan;

/// The totals of the aligned blocks of parts that come before a part, one for each bit of its number.
pub(super) struct Counter {
    blocks: Vec<Mem>,
    types: Vec<Ty>,
    bits: i64,
}

impl Counter {
    /// Makes an empty counter for up to `parts` parts.
    pub(super) fn new(l: &mut Lower, scan: &Scan, parts: i64, out: &mut Vec<Stmt>) -> Counter {
        let bits = i64::from(parts.ilog2());
        let local = |ty: &Ty| l.k.local("blocks", *ty, bits as u32 + 1, out);
        let blocks: Vec<Mem> = scan.types.iter().map(local).collect();
        let b = l.k.reg("b", Ty::I64);
        let zeros = blocks.iter().zip(&scan.types);
        let zeros = zeros.map(|(m, ty)| Stmt::Store(*m, Expr::Reg(b), Expr::Lit(Lit::zero(*ty)))).collect();
        out.push(Stmt::For(b, Expr::int(0), Expr::int(bits + 1), zeros));
        Counter { blocks, types: scan.types.clone(), bits }
    }

    /// Writes the join of all parts before the part of this number. Returns whether there are some, and the value.
    pub(super) fn before(
        &self,
        l: &mut Lower,
        operator: &Operator,
        number: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<(Expr, Vec<Expr>)> {
        let regs: Vec<Reg> = self.types.iter().map(|ty| l.k.reg("before", *ty)).collect();
        out.extend(regs.iter().zip(&self.types).map(|(r, ty)| Stmt::Var(*r, Expr::Lit(Lit::zero(*ty)))));
        let [b, found] = [("b", Ty::I64), ("found", Ty::Bool)].map(|(name, ty)| l.k.reg(name, ty));
        out.push(Stmt::Var(found, Expr::Lit(Lit::bool(false))));
        let mut body = Vec::new();
        let block = get(l, &self.blocks, &Expr::Reg(b), &mut body);
        let joined = operator.join(l, &block, &read(&regs), &mut body)?;
        let joined = chosen(l, &Expr::Reg(found), &joined, &block, &mut body);
        body.extend(regs.iter().zip(joined).map(|(r, e)| Stmt::Assign(*r, e)));
        body.push(Stmt::Assign(found, Expr::Lit(Lit::bool(true))));
        let is_set = vec![Stmt::If(has_bit(number, Expr::Reg(b)), body, vec![])];
        out.push(Stmt::Seq(b, Expr::int(0), Expr::int(self.bits), is_set));
        Ok((Expr::Reg(found), read(&regs)))
    }

    /// Adds the total of the part of this number.
    pub(super) fn push(
        &self,
        l: &mut Lower,
        operator: &Operator,
        (number, total): (&Expr, &[Expr]),
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let regs: Vec<Reg> = self.types.iter().map(|ty| l.k.reg("total", *ty)).collect();
        out.extend(regs.iter().zip(total).map(|(r, e)| Stmt::Var(*r, e.clone())));
        let b = l.k.reg("b", Ty::I64);
        out.push(Stmt::Var(b, Expr::int(0)));
        let mut body = Vec::new();
        let block = get(l, &self.blocks, &Expr::Reg(b), &mut body);
        let joined = operator.join(l, &block, &read(&regs), &mut body)?;
        body.extend(regs.iter().zip(joined).map(|(r, e)| Stmt::Assign(*r, e)));
        body.push(Stmt::Assign(b, Expr::Reg(b).plus(Expr::int(1))));
        out.push(Stmt::While(has_bit(number, Expr::Reg(b)), body));
        out.extend(set(&self.blocks, &Expr::Reg(b), &read(&regs)));
        Ok(())
    }

    /// Returns the total of all parts, once the last one has been added.
    pub(super) fn total(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Vec<Expr> {
        get(l, &self.blocks, &Expr::int(self.bits), out)
    }
}

fn has_bit(number: &Expr, bit: Expr) -> Expr {
    let shifted = Expr::binary(BinaryOp::Shr, number.clone(), bit);
    let own = Expr::binary(BinaryOp::And, shifted, Expr::int(1));
    Expr::binary(BinaryOp::Ne, own, Expr::int(0))
}

/// Returns the values of registers.
pub(super) fn read(regs: &[Reg]) -> Vec<Expr> {
    regs.iter().map(|r| Expr::Reg(*r)).collect()
}

/// Loads a value from the arrays of its components.
pub(super) fn get(l: &mut Lower, from: &[Mem], at: &Expr, out: &mut Vec<Stmt>) -> Vec<Expr> {
    from.iter().map(|m| bind(l, "v", Expr::load(*m, at.clone()), out)).collect()
}

/// Returns the stores of a value to the arrays of its components.
pub(super) fn set<'a>(to: &'a [Mem], at: &'a Expr, values: &'a [Expr]) -> impl Iterator<Item = Stmt> {
    to.iter().zip(values).map(|(m, e)| Stmt::Store(*m, at.clone(), e.clone()))
}

fn chosen(l: &mut Lower, first: &Expr, a: &[Expr], b: &[Expr], out: &mut Vec<Stmt>) -> Vec<Expr> {
    let both = a.iter().zip(b).map(|(a, b)| first.clone().select(a.clone(), b.clone()));
    both.map(|e| bind(l, "chosen", e, out)).collect()
}
