//! Asynchronous copies from global to shared memory, for values that need no transposition and no computation. They
//! pass through no registers, which leaves these to the accumulators, and keep more bytes on their way.

use super::ProductBlock;
use super::block_tile::Layout;
use super::epilogue::address;
use crate::core::{NodeId, Op};
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::schedule::cuda::expressions::to_i64;
use crate::schedule::element::lower::{Lower, bind};

impl ProductBlock<'_> {
    /// Returns whether the K loop copies anything asynchronously.
    pub(super) fn copies(&self, full: bool) -> bool {
        full && self.copied.iter().any(|c| *c)
    }

    /// Returns which values of a side are neighbours in shared memory.
    pub(super) fn layout(&self, side: usize) -> Layout {
        let stays = self.copied[side] && self.p.sides[side].along_k && self.tile.vector(side) > 1;
        if stays { Layout::AlongK } else { Layout::AlongSide }
    }

    /// Begins to copy the thread's share of the step at the block's inner index `base` to a buffer.
    pub(super) fn copy_global(
        &self,
        l: &mut Lower,
        base: &Expr,
        buffer_index: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        for s in (0..2).filter(|s| self.copied[*s]) {
            let mut body = Vec::new();
            self.each_vector(l, s, &mut body, &mut |l, at, out| {
                self.copy(l, s, at, (base, buffer_index), out)
            })?;
            match self.takes_part(s) {
                Some(some) => out.push(Stmt::If(some, body, vec![])),
                None => out.append(&mut body),
            }
        }
        Ok(())
    }

    /// Begins to copy the vector of a side at this row (or column) and this inner index of the step.
    fn copy(
        &self,
        l: &mut Lower,
        s: usize,
        [own, k]: [Expr; 2],
        (base, buffer_index): (&Expr, &Expr),
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let to = bind(l, "to", self.place(s, buffer_index, own.clone(), k.clone()), out);
        let own = self.side_index(l, s, own, out);
        let k = bind(l, "k", base.clone().plus(to_i64(k)), out);
        let (vars, envs) = self.neighbours(l, s, [own, self.k_begin.clone().plus(k)]);
        for (n, m) in self.p.sides[s].parts.iter().zip(&self.shared[s]) {
            let Op::Elem(x, index) = l.launch.g.op(*n).clone() else { continue };
            let from = l.launch.input(x);
            let index: Vec<NodeId> = index.iter().map(|n| envs[0].of(&mut l.launch.g, *n)).collect();
            let index = l.region(&vars, &index, &Expr::int(0), out)?;
            let index = address(l, self.strided, from, index);
            let index = bind(l, "from", index, out);
            let vector = self.tile.vector(s);
            if vector > 1 {
                l.k.vector(from);
            }
            let bytes = (vector as usize * l.launch.g.ty(x).elem.size()) as u32;
            out.push(Stmt::CopyAsync { bytes, to: *m, at: to.clone(), from, index, given: None });
        }
        Ok(())
    }
}
