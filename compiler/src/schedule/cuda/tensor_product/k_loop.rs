//! The K loop.

use super::TensorBlock;
use super::layout::{STAGE_WORDS, STAGES};
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::expressions::int32;
use crate::schedule::lower::{Lower, named as bind};

impl TensorBlock<'_> {
    /// Adds all products to the sums: whole steps by copies, if both sides can be copied, the others through
    /// registers.
    pub fn k_loop(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<()> {
        let depth = self.sides[0].depth();
        let shift = Expr::int(depth.ilog2().into());
        let steps = |n: Expr| Expr::binary(BinaryOp::Shr, n, shift.clone());
        let fragments = self.fragments(l, out);
        let mut done = Expr::int(0);
        if self.are_plain(l) {
            let whole = bind(l, "whole", steps(self.length.clone()), out);
            let end = [0, 1].map(|side| self.ends_with_a_piece(side)).into_iter().flatten();
            let end = end.reduce(|a, b| Expr::binary(BinaryOp::And, a, b));
            let whole = match end {
                Some(fits) => bind(l, "whole", fits.select(whole, Expr::int(0)), out),
                None => whole,
            };
            let copies = [self.prepare(l, 0, out)?, self.prepare(l, 1, out)?];
            for stage in 0..STAGES - 1 {
                let mut body = Vec::new();
                self.copy(&copies, &Expr::int(stage), int32(stage as i32), l, &mut body);
                let exists = Expr::binary(BinaryOp::Gt, whole.clone(), Expr::int(stage));
                out.extend([Stmt::If(exists, body, vec![]), Stmt::CopyGroup]);
            }
            let (step, mut body) = (l.k.reg("step", Ty::I64), Vec::new());
            body.extend([Stmt::CopyWait(STAGES as u32 - 2), Stmt::Barrier]);
            let low = |e: Expr| Expr::Cast(Ty::I32, Box::new(e));
            let stage = |e: Expr| Expr::binary(BinaryOp::Rem, low(e), int32(STAGES as i32));
            let next = bind(l, "next", Expr::Reg(step).plus(Expr::int(STAGES - 1)), &mut body);
            let mut further = Vec::new();
            self.copy(&copies, &next, stage(next.clone()), l, &mut further);
            let exists = Expr::binary(BinaryOp::Lt, next, whole.clone());
            body.extend([Stmt::If(exists, further, vec![]), Stmt::CopyGroup]);
            let at = stage(Expr::Reg(step)).times(int32(STAGE_WORDS as i32));
            let at = bind(l, "at", at, &mut body);
            self.multiply(l, &fragments, at, &mut body);
            out.push(Stmt::Seq(step, Expr::int(0), whole.clone(), body));
            done = whole;
        }
        let all = bind(l, "steps", steps(self.length.clone().plus(Expr::int(depth - 1))), out);
        let (step, mut body) = (l.k.reg("step", Ty::I64), Vec::new());
        let base = bind(l, "base", Expr::Reg(step).times(Expr::int(depth)), &mut body);
        body.push(Stmt::Barrier);
        for side in 0..2 {
            self.stage(l, side, &base, &mut body)?;
        }
        body.push(Stmt::Barrier);
        self.multiply(l, &fragments, int32(0), &mut body);
        out.push(Stmt::Seq(step, done, all, body));
        // results take the place of the operands, and an output may be an input
        out.push(Stmt::Barrier);
        Ok(())
    }
}
