//! Copies of operands that lie in memory as they are needed: arrays whose neighbours along the staged
//! direction are neighbours in memory.

use super::TensorBlock;
use super::layout::{PIECE_WORDS, PIECES, STAGE_WORDS};
use crate::core::{NodeId, Op};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::expressions::{int32, to_i64};
use crate::schedule::cuda::product::address;
use crate::schedule::loop_nests::{Env, depends};
use crate::schedule::lower::{Lower, named as bind};

/// The copies of one side.
pub struct Copies {
    from: Mem,
    /// Of each of the thread's pieces, the index of its first element in the first step, and where it goes in
    /// the first stage.
    pieces: Vec<[Expr; 2]>,
    /// The distance between the elements of neighbouring steps.
    step: Expr,
}

impl TensorBlock<'_> {
    /// Returns the array that a side is, and the index of its elements, if it can be copied.
    fn plain(&self, l: &Lower, side: usize) -> Option<(NodeId, Vec<NodeId>)> {
        let g = &l.launch.g;
        let Op::Elem(x, index) = g.op(self.values[side]).clone() else { return None };
        let own = self.p.outer[side];
        let along = if self.sides[side].along_k { self.p.k } else { own };
        let (last, outer) = index.split_last()?;
        let moves = |n: &NodeId| *n == along || depends(g, *n, &[along, own, self.p.k]);
        // an inner index counts steps, so it is no part of another expression
        let counts = |n: &NodeId| *n == self.p.k || !depends(g, *n, &[self.p.k, own]);
        (!self.strided && *last == along && !outer.iter().any(moves) && outer.iter().all(counts))
            .then_some((x, index))
    }

    /// Whether both sides can be copied.
    pub fn are_plain(&self, l: &Lower) -> bool {
        (0..2).all(|side| self.plain(l, side).is_some())
    }

    /// Returns when the pieces of a side end where its rows or columns end; `None` if they always do.
    pub fn ends_with_a_piece(&self, side: usize) -> Option<Expr> {
        let rest = Expr::int(self.sides[side].of_piece() - 1);
        let rest = Expr::binary(BinaryOp::And, self.extents[side].clone(), rest);
        (!self.sides[side].along_k).then(|| Expr::binary(BinaryOp::Eq, rest, Expr::int(0)))
    }

    /// Prepares the copies of a side. What is out of bounds is replaced by the last rows or columns, whose
    /// results nobody stores.
    pub fn prepare(&self, l: &mut Lower, side: usize, out: &mut Vec<Stmt>) -> Result<Copies> {
        let (x, index) = self.plain(l, side).expect("a plain side");
        let staged = self.sides[side];
        let from = l.launch.input(x);
        l.k.vector(from);
        let width = if staged.along_k { 1 } else { staged.of_piece() };
        let last = self.extents[side].clone().minus(Expr::int(width));
        let mut pieces = Vec::new();
        for u in 0..PIECES {
            let place = staged.piece(int32(u as i32)).map(|e| bind(l, "piece", e, out));
            let to = bind(l, "to", staged.word(place[0].clone(), place[1].clone()), out);
            let [own, k] = staged.offsets(place).map(to_i64);
            let own = bind(l, "own", self.origin[side].clone().plus(own).min(last.clone()), out);
            let at = self.index_of(l, side, from, &index, [own, k], out)?;
            pieces.push([bind(l, "from", at, out), to]);
        }
        let zero = Expr::int(0);
        let depth = Expr::int(staged.depth());
        let step = match index.iter().position(|n| *n == self.p.k) {
            Some(axis) if axis + 1 < index.len() => depth.times(l.launch.stride(from, axis as u8)),
            Some(_) => depth,
            None => zero,
        };
        Ok(Copies { from, pieces, step: bind(l, "step", step, out) })
    }

    /// Returns the index in memory of the element at these indices.
    fn index_of(
        &self,
        l: &mut Lower,
        side: usize,
        from: Mem,
        index: &[NodeId],
        [own, k]: [Expr; 2],
        out: &mut Vec<Stmt>,
    ) -> Result<Expr> {
        let [at_own, at_k] = [(); 2].map(|()| l.launch.g.fresh_var(Ty::I64).1);
        let env =
            Env::default().with(&l.launch.g, self.p.outer[side], at_own).with(&l.launch.g, self.p.k, at_k);
        let roots: Vec<NodeId> = index.iter().map(|n| env.of(&mut l.launch.g, *n)).collect();
        let at = l.region(&[(at_own, own), (at_k, k)], &roots, &Expr::int(0), out)?;
        Ok(address(l, false, from, at))
    }

    /// Begins the copies of a step (i64) into a stage (i32), as one group.
    pub fn copy(&self, copies: &[Copies; 2], step: &Expr, stage: Expr, l: &mut Lower, out: &mut Vec<Stmt>) {
        let stage = bind(l, "stage", stage.times(int32(STAGE_WORDS as i32)), out);
        for side in copies {
            let moved = bind(l, "moved", step.clone().times(side.step.clone()), out);
            for [from, to] in &side.pieces {
                out.push(Stmt::CopyAsync {
                    to: self.words,
                    at: to.clone().plus(stage.clone()),
                    from: side.from,
                    index: from.clone().plus(moved.clone()),
                });
            }
        }
    }
}

const _: () = assert!(PIECE_WORDS == 4, "a copy has 16 bytes");
