//! The K loop: first whole steps, whose elements come ahead of time into shared memory (by asynchronous copies, or
//! through registers where they are converted or strided); then the elements that are left, one by one. Copies fill
//! the rest with zeros, so that a last, partial step is a step like the others if all its pieces are whole.

use super::TensorBlock;
use super::fragments::Fragments;
use super::params::Rows;
use super::pieces::Way;
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cuda::expressions::int32;
use crate::schedule::element::lower::{Lower, bind};

impl TensorBlock<'_> {
    /// Returns the first word of a side's stage that has this step (i64).
    pub fn stage_of(&self, step: &Expr) -> Expr {
        // an unsigned remainder takes a third of the instructions
        let low = Expr::Cast(Ty::U32, Box::new(step.clone()));
        let stages = Expr::Lit(Lit::u32(self.shape.stages as u32));
        let stage = Expr::Cast(Ty::I32, Box::new(Expr::binary(BinaryOp::Rem, low, stages)));
        stage.times(int32(self.shape.stage_words() as i32))
    }

    /// Adds all products to the sums.
    pub fn k_loop(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<()> {
        let depth = self.sides[0].depth();
        let shift = Expr::int(depth.ilog2().into());
        let steps = |n: Expr| Expr::binary(BinaryOp::Shr, n, shift.clone());
        let fragments = self.fragments(l, out);
        let all = bind(l, "steps", steps(self.length.clone().plus(Expr::int(depth - 1))), out);
        let mut done = Expr::int(0);
        if let Some(ways) = self.ways(l, out)? {
            let mut whole = steps(self.length.clone());
            if ways.iter().all(|way| matches!(way, Way::Copies(_))) {
                whole = self.ends_behind_a_piece().select(all.clone(), whole);
            }
            let whole = match self.has_whole_pieces() {
                Some(fits) => fits.select(whole, Expr::int(0)),
                None => whole,
            };
            done = bind(l, "whole", whole, out);
            self.whole_steps(l, &ways, &done, &fragments, out)?;
        }
        if self.rows != Rows::Packed {
            self.other_steps(l, [done, all], &fragments, out)?;
        }
        // results replace the operands in shared memory, and an output may be an input
        out.push(Stmt::Barrier);
        Ok(())
    }

    /// Writes the loop over the first `count` steps, which are whole.
    fn whole_steps(
        &self,
        l: &mut Lower,
        ways: &[Way; 2],
        count: &Expr,
        fragments: &Fragments,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let stages = self.shape.stages;
        for step in (0..stages - 1).map(Expr::int) {
            let mut body = Vec::new();
            let at = bind(l, "stage", self.stage_of(&step), &mut body);
            for (side, way) in ways.iter().enumerate() {
                match way {
                    Way::Copies(copies) => self.copy(l, copies, &step, &at, &mut body),
                    Way::Registers(pieces) => {
                        let loaded = self.load_pieces(l, side, pieces, &step, &mut body)?;
                        self.store_pieces(l, side, (pieces, loaded), &at, &mut body)?;
                    }
                }
            }
            let exists = Expr::binary(BinaryOp::Gt, count.clone(), step);
            out.extend([Stmt::If(exists, body, vec![]), Stmt::CopyGroup]);
        }
        let (step, mut body) = (l.k.reg("step", Ty::I64), Vec::new());
        body.extend([Stmt::CopyWait(stages as u32 - 2), Stmt::Barrier]);
        let next = bind(l, "next", Expr::Reg(step).plus(Expr::int(stages - 1)), &mut body);
        let to = bind(l, "stage", self.stage_of(&next), &mut body);
        let (mut further, mut behind, mut on_the_way) = (Vec::new(), Vec::new(), Vec::new());
        let early = self.fit_on_the_way(l, ways);
        for (side, way) in ways.iter().enumerate() {
            match way {
                Way::Copies(copies) => self.copy(l, copies, &next, &to, &mut further),
                Way::Registers(pieces) => {
                    // past the end the last step is loaded again, and nothing uses it
                    let last = count.clone().minus(Expr::int(1));
                    let step = bind(l, "next", next.clone().min(last), &mut body);
                    let place = if early[side] { &mut body } else { &mut behind };
                    let loaded = self.load_pieces(l, side, pieces, &step, place)?;
                    on_the_way.push((side, pieces, loaded));
                }
            }
        }
        let exists = Expr::binary(BinaryOp::Lt, next, count.clone());
        if !further.is_empty() {
            body.push(Stmt::If(exists, further, vec![]));
        }
        body.push(Stmt::CopyGroup);
        let at = bind(l, "at", self.stage_of(&Expr::Reg(step)), &mut body);
        self.multiply(l, fragments, at, &mut body);
        body.append(&mut behind);
        for (side, pieces, loaded) in on_the_way {
            self.store_pieces(l, side, (pieces, loaded), &to, &mut body)?;
        }
        out.push(Stmt::Seq(step, Expr::int(0), count.clone(), body));
        Ok(())
    }

    /// Writes the loop over the other steps. The first of them uses a stage that belongs to no whole step which
    /// another thread may still be multiplying.
    fn other_steps(
        &self,
        l: &mut Lower,
        [first, end]: [Expr; 2],
        fragments: &Fragments,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let both = |l: &mut Lower, step: &Expr| -> Result<Stmt> {
            let mut body = Vec::new();
            let at = bind(l, "stage", self.stage_of(step), &mut body);
            for side in 0..2 {
                self.stage(l, side, step, &at, &mut body)?;
            }
            Ok(Stmt::If(Expr::binary(BinaryOp::Lt, step.clone(), end.clone()), body, vec![]))
        };
        out.push(both(l, &first)?);
        let (step, mut body) = (l.k.reg("step", Ty::I64), vec![Stmt::Barrier]);
        let next = bind(l, "next", Expr::Reg(step).plus(Expr::int(1)), &mut body);
        body.push(both(l, &next)?);
        let at = bind(l, "at", self.stage_of(&Expr::Reg(step)), &mut body);
        self.multiply(l, fragments, at, &mut body);
        out.push(Stmt::Seq(step, first, end.clone(), body));
        Ok(())
    }
}
