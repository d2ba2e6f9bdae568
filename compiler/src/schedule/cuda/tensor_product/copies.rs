//! Copies of operands that lie in memory in the order in which they are staged: arrays whose neighbours along the
//! staged direction are neighbours in memory.

use super::TensorBlock;
use super::layout::Piece;
use crate::core::{Graph, NodeId, Op};
use crate::error::Result;
use crate::kernel::{COPY_BYTES, Expr, Mem, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::product::address;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::facts::loop_nests::{Env, depends};
use crate::schedule::facts::products::Product;

/// The copies of one side.
pub struct Copies {
    pub(super) from: Mem,
    /// For each of the thread's pieces: the index of its first element in the first step, its place in the first
    /// stage, and its first inner index in the first step.
    pub(super) pieces: Vec<[Expr; 3]>,
    /// The distance in memory from an element of one step to that of the next.
    pub(super) step: Expr,
}

/// Returns the array that a side of a product reads, and the index of its elements, if it can be copied as it lies:
/// neighbours along the inner index, or across it, must be neighbours in memory.
pub fn plain(
    g: &Graph,
    p: &Product,
    (side, value): (usize, NodeId),
    along_k: bool,
) -> Option<(NodeId, Vec<NodeId>)> {
    let Op::Elem(x, index) = g.op(value).clone() else { return None };
    let along = if along_k { p.k } else { p.outer[side] };
    let (last, outer) = index.split_last()?;
    let moves = |n: &NodeId| *n == along || depends(g, *n, &p.variables(along, side));
    // the inner index may stand alone only, because copies advance by it from step to step
    let counts = |n: &NodeId| *n == p.k || !depends(g, *n, &p.variables(p.k, side));
    let advances = index.iter().filter(|n| **n == p.k).count() <= 1;
    (*last == along && !outer.iter().any(moves) && outer.iter().all(counts) && advances).then_some((x, index))
}

impl TensorBlock<'_> {
    /// Prepares the copies of a side's pieces, if it can be copied.
    pub fn copies(
        &self,
        l: &mut Lower,
        side: usize,
        pieces: &[Piece],
        out: &mut Vec<Stmt>,
    ) -> Result<Option<Copies>> {
        let along_k = self.sides[side].along_k;
        let found = plain(&l.launch.g, self.p, (side, self.values[side]), along_k);
        let Some((x, index)) = found else { return Ok(None) };
        let from = l.launch.input(x);
        l.k.vector(from);
        let mut places = Vec::new();
        let first = &pieces[0].k;
        for piece in pieces {
            let [own, k] = [(); 2].map(|()| l.launch.g.fresh_var(Ty::I64).1);
            let env = Env::default().with(&l.launch.g, self.p.outer[side], own);
            let env = env.with(&l.launch.g, self.p.k, k);
            let roots: Vec<NodeId> = index.iter().map(|n| env.of(&mut l.launch.g, *n)).collect();
            let mut vars = self.known();
            vars.extend([(own, piece.own.clone()), (k, piece.k.clone())]);
            let at = l.region(&vars, &roots, &Expr::int(0), out)?;
            let at = address(l, false, from, at);
            // if lines are along the inner index, a thread's pieces have the same place in their lines
            let k = if self.sides[side].along_k { first } else { &piece.k };
            places.push([bind(l, "from", at, out), piece.to.clone(), k.clone()]);
        }
        let depth = Expr::int(self.sides[side].depth());
        let step = match index.iter().position(|n| *n == self.p.k) {
            Some(axis) if axis + 1 < index.len() => depth.times(l.launch.stride(from, axis as u8)),
            Some(_) => depth,
            None => Expr::int(0),
        };
        Ok(Some(Copies { from, pieces: places, step: bind(l, "step", step, out) }))
    }

    /// Begins the copies of a side for a step (i64), into the stage that begins at this word (i32). Pieces past the
    /// last inner index are filled with zeros.
    pub fn copy(&self, l: &mut Lower, copies: &Copies, step: &Expr, stage: &Expr, out: &mut Vec<Stmt>) {
        let moved = bind(l, "moved", step.clone().times(copies.step.clone()), out);
        let before = step.clone().times(Expr::int(self.sides[0].depth()));
        let left = Expr::Cast(Ty::I32, Box::new(self.length.clone().minus(before)));
        let left = bind(l, "left", left, out);
        for [from, to, k] in &copies.pieces {
            let k = Expr::Cast(Ty::I32, Box::new(k.clone()));
            out.push(Stmt::CopyAsync {
                bytes: COPY_BYTES as u32,
                to: self.words,
                at: to.clone().plus(stage.clone()),
                from: copies.from,
                index: from.clone().plus(moved.clone()),
                given: Some(Expr::binary(BinaryOp::Lt, k, left.clone())),
            });
        }
    }
}
