//! Pairwise accumulation for the strips of `segmented_columns` (Higham 1993). It works like a binary counter: level k
//! of a [`Pile`] holds, for every segment of the strip, the join of 2^k consecutive values. A value that is pushed
//! after n others is joined with levels 0, 1, .. as long as these bits of n are 1, like a carry, and is stored at the
//! level of the first bit that is 0. So only values of equally many elements are joined, in the order of the fixed
//! tree, and eight levels serve 128 values.

use super::strip::Strip;
use crate::core::COLUMNS;
use crate::error::Result;
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::reduction::each_accumulator;

/// The partial results of up to 128 values of every segment, by levels.
pub struct Pile {
    levels: Vec<Mem>,
}

impl Pile {
    /// Declares an empty pile.
    pub fn new(l: &mut Lower, strip: &Strip, out: &mut Vec<Stmt>) -> Pile {
        let size = (COLUMNS.trailing_zeros() + 1) * strip.most;
        Pile {
            levels: each_accumulator(strip.reductions).map(|r| l.k.local("pile", r.ty, size, out)).collect(),
        }
    }

    /// Emits the push of `values` after `number` other values have been pushed. The arrays `values`
    /// are overwritten.
    pub fn push(
        &self,
        l: &mut Lower,
        strip: &Strip,
        values: &[Mem],
        number: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let level = l.k.reg("level", Ty::I64);
        let mut body = Vec::new();
        let at = bind(l, "there", Expr::Reg(level).times(Expr::int(strip.most.into())), &mut body);
        strip.join(l, (&self.levels, at), (values, Expr::int(0)), (values, Expr::int(0)), &mut body)?;
        body.push(Stmt::Assign(level, Expr::Reg(level).plus(Expr::int(1))));
        out.push(Stmt::Var(level, Expr::int(0)));
        out.push(Stmt::While(is_set(number, Expr::Reg(level)), body));
        let at = bind(l, "there", Expr::Reg(level).times(Expr::int(strip.most.into())), out);
        strip.copy(l, (values, Expr::int(0)), (&self.levels, at), out);
        Ok(())
    }

    /// Emits the join of all `count` values that were pushed (at least one). The results are stored
    /// in the strip's block.
    pub fn total(&self, l: &mut Lower, strip: &Strip, count: &Expr, out: &mut Vec<Stmt>) -> Result<()> {
        let [level, have] = ["level", "have"].map(|name| l.k.reg(name, Ty::I64));
        let (mut body, block, zero) = (Vec::new(), &strip.block, Expr::int(0));
        let at = bind(l, "there", Expr::Reg(level).times(Expr::int(strip.most.into())), &mut body);
        let (mut first, mut later) = (Vec::new(), Vec::new());
        strip.copy(l, (&self.levels, at.clone()), (block, zero.clone()), &mut first);
        first.push(Stmt::Assign(have, Expr::int(1)));
        strip.join(l, (&self.levels, at), (block, zero.clone()), (block, zero.clone()), &mut later)?;
        body.push(Stmt::If(Expr::binary(BinaryOp::Eq, Expr::Reg(have), zero.clone()), first, later));
        let body = vec![Stmt::If(is_set(count, Expr::Reg(level)), body, vec![])];
        out.push(Stmt::Var(have, zero.clone()));
        let levels = Expr::int(i64::from(COLUMNS.trailing_zeros()) + 1);
        out.push(Stmt::Seq(level, zero, levels, body));
        Ok(())
    }
}

fn is_set(x: &Expr, bit: Expr) -> Expr {
    let moved = Expr::binary(BinaryOp::Shr, x.clone(), bit);
    let masked = Expr::binary(BinaryOp::And, moved, Expr::int(1));
    Expr::binary(BinaryOp::Ne, masked, Expr::int(0))
}
