//! The K loop of warpgroups, whose products are asynchronous like copies (Hopper's `wgmma`). While a step is
//! multiplied, the products of the step before may still be running, and later steps are being copied. A step is
//! copied to the stage of the step before the last one, whose products all warpgroups have waited for at a barrier.
//!
//! ```text
//! wait for the copies of the step, and for the products of the step before the last one
//! barrier
//! begin the products of the step
//! begin the copies of a later step: as many steps ahead as there are stages, less two
//! ```

use super::TensorBlock;
use super::layout::PIECE_WORDS;
use super::pieces::Way;
use crate::error::{Error, Result};
use crate::kernel::{Expr, Stmt, WARPGROUP};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::expressions::{int32, shifted, thread};
use crate::schedule::element::lower::{Lower, bind};

/// The number of rows of a warpgroup.
const ROWS: i64 = 64;

impl TensorBlock<'_> {
    /// Adds all products to the sums. The inner indices end between pieces, and copies fill the rest of the last step
    /// with zeros.
    pub fn warpgroup_loop(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<()> {
        let Some([Way::Copies(rows), Way::Copies(columns)]) = self.ways(l, out)? else {
            return Err(Error::bug("E0499", "warpgroups multiply what is copied"));
        };
        let depth = self.sides[0].depth();
        let steps = self.length.clone().plus(Expr::int(depth - 1));
        let steps = Expr::binary(BinaryOp::Shr, steps, Expr::int(depth.ilog2().into()));
        let steps = bind(l, "steps", steps, out);
        let group = shifted(thread(), i64::from(WARPGROUP));
        let own = group.times(int32((ROWS * self.shape.depth * PIECE_WORDS) as i32));
        let own = bind(l, "own", own, out);
        let ahead = self.shape.stages - 2;
        let copies = |l: &mut Lower, step: &Expr| {
            let mut body = Vec::new();
            let stage = bind(l, "stage", self.stage_of(step), &mut body);
            self.copy(l, &rows, step, &stage, &mut body);
            self.copy(l, &columns, step, &stage, &mut body);
            let exists = Expr::binary(BinaryOp::Lt, step.clone(), steps.clone());
            [Stmt::If(exists, body, vec![]), Stmt::CopyGroup]
        };
        for step in (0..ahead).map(Expr::int) {
            out.extend(copies(l, &step));
        }
        let (step, mut body) = (l.k.reg("step", Ty::I64), Vec::new());
        body.extend([Stmt::CopyWait(ahead as u32 - 1), Stmt::MultiplyWait(1), Stmt::Barrier]);
        let stage = bind(l, "at", self.stage_of(&Expr::Reg(step)), &mut body);
        body.push(Stmt::MultiplyStaged {
            ty: self.ty,
            sums: self.sums.clone(),
            from: self.words,
            rows: stage.clone().plus(own),
            columns: stage.plus(int32(self.sides[1].begin() as i32)),
            across: !self.sides[1].along_k,
        });
        let next = bind(l, "next", Expr::Reg(step).plus(Expr::int(ahead)), &mut body);
        body.extend(copies(l, &next));
        out.push(Stmt::Seq(step, Expr::int(0), steps, body));
        // results replace the operands in shared memory, and an output may be an input
        out.extend([Stmt::MultiplyWait(0), Stmt::Barrier]);
        Ok(())
    }
}
