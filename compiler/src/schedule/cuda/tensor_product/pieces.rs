//! The pieces of 16 bytes of a stage that a thread brings to shared memory, and the ways by which it does in whole steps:
//! copies, or registers. A value on its way through registers is loaded before the products of another step and
//! stored behind them.

use super::TensorBlock;
use super::copies::Copies;
use super::layout::Piece;
use crate::core::{NodeId, Op, linear};
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use crate::schedule::cuda::expressions::{int32, to_i64};
use crate::schedule::cuda::product::load_vectors;
use crate::schedule::loop_nests::Env;
use crate::schedule::lower::{Lower, named as bind};

/// The maximum number of operations of an operand whose code is repeated for each of a thread's elements.
const MAX_OPERATIONS: usize = 24;

/// The maximum number of registers of values that are on their way while another step is multiplied, next to
/// the sums and the fragments.
const MAX_ON_THE_WAY: i64 = 64;

/// How whole steps of a side come to shared memory.
pub enum Way {
    Copies(Copies),
    Registers(Vec<Piece>),
}

/// The elements of a piece that are on their way: known values, and for each element its indices.
pub struct Loaded {
    vars: Vec<(NodeId, Expr)>,
    envs: Vec<Env>,
}

impl TensorBlock<'_> {
    /// Returns the ways of both sides; `None` if the code of an operand is too long to be repeated.
    pub fn ways(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<Option<[Way; 2]>> {
        let operations = |n: NodeId| l.launch.g.reachable_until([n], |m| l.launch.g.is_closed(m)).len();
        if self.strided || self.values.iter().any(|n| operations(*n) > MAX_OPERATIONS) {
            return Ok(None);
        }
        Ok(Some([self.way(l, 0, out)?, self.way(l, 1, out)?]))
    }

    fn way(&self, l: &mut Lower, side: usize, out: &mut Vec<Stmt>) -> Result<Way> {
        let staged = self.sides[side];
        let width = if staged.along_k { 1 } else { staged.of_piece() };
        let last = self.extents[side].clone().minus(Expr::int(width));
        let mut pieces = Vec::new();
        for u in 0..self.shape.pieces() {
            let place = staged.piece(int32(u as i32)).map(|e| bind(l, "piece", e, out));
            let to = bind(l, "to", staged.word(place[0].clone(), place[1].clone()), out);
            let [own, k] = staged.offsets(place).map(to_i64);
            // out of bounds are the last rows or columns once more, whose results nobody stores
            let own = bind(l, "own", self.origin[side].clone().plus(own).min(last.clone()), out);
            pieces.push(Piece { own, k, to });
        }
        let copies = self.copies(l, side, &pieces, out)?;
        Ok(copies.map_or(Way::Registers(pieces), Way::Copies))
    }

    /// Returns when all pieces are within the matrix or outside of it; `None` if they always are.
    pub fn has_whole_pieces(&self) -> Option<Expr> {
        let sides = self.sides.iter().zip(&self.extents).filter(|(s, _)| !s.along_k);
        let whole = sides.map(|(s, n)| {
            let rest = Expr::binary(BinaryOp::And, n.clone(), Expr::int(s.of_piece() - 1));
            Expr::binary(BinaryOp::Eq, rest, Expr::int(0))
        });
        whole.reduce(|a, b| Expr::binary(BinaryOp::And, a, b))
    }

    /// Whether the registers of a thread hold what is on its way while another step is multiplied.
    pub fn fit_on_the_way(&self, l: &Lower, ways: &[Way; 2]) -> bool {
        let g = &l.launch.g;
        let reads = |side: usize| {
            let all = g.reachable([self.values[side]]);
            let words = all.iter().filter(|n| matches!(g.op(**n), Op::Elem(..)) && !g.is_closed(**n));
            words.map(|n| g.ty(*n).elem.size().div_ceil(4) as i64 * self.sides[side].of_piece()).sum::<i64>()
        };
        let on_the_way = ways.iter().enumerate().filter(|w| matches!(w.1, Way::Registers(_)));
        self.shape.pieces() * on_the_way.map(|(side, _)| reads(side)).sum::<i64>() <= MAX_ON_THE_WAY
    }

    /// Loads what neighbours read side by side, for the pieces of a step (i64).
    pub fn load_pieces(
        &self,
        l: &mut Lower,
        side: usize,
        pieces: &[Piece],
        step: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Loaded>> {
        let moved = bind(l, "moved", step.clone().times(Expr::int(self.sides[side].depth())), out);
        let mut all = Vec::new();
        for piece in pieces {
            let k = bind(l, "k", moved.clone().plus(piece.k.clone()), out);
            let (mut vars, envs) = self.elements(l, side, [&piece.own, &k]);
            self.load_neighbours(l, side, &envs, &mut vars, out)?;
            all.push(Loaded { vars, envs });
        }
        Ok(all)
    }

    /// Computes the elements of pieces, and stores them to the stage that begins at that word (i32).
    pub fn store_pieces(
        &self,
        l: &mut Lower,
        side: usize,
        (pieces, loaded): (&[Piece], Vec<Loaded>),
        stage: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        for (piece, Loaded { vars, envs }) in pieces.iter().zip(loaded) {
            let value = self.values[side];
            let roots: Vec<NodeId> = envs.iter().map(|env| env.of(&mut l.launch.g, value)).collect();
            let values = l.region(&vars, &roots, &Expr::int(0), out)?;
            let words = values.chunks(4 / self.ty.size()).map(|v| word(l, v, out)).collect();
            out.push(Stmt::StoreVec(self.words, piece.to.clone().plus(stage.clone()), words));
        }
        Ok(())
    }

    /// Makes variables for the indices of a piece's first element. Returns their values, and for each
    /// element the environment of its indices.
    pub fn elements(
        &self,
        l: &mut Lower,
        side: usize,
        [own_at, k_at]: [&Expr; 2],
    ) -> (Vec<(NodeId, Expr)>, Vec<Env>) {
        let [own, k] = [(); 2].map(|()| l.launch.g.fresh_var(Ty::I64).1);
        let staged = self.sides[side];
        let env = |u: i64| {
            let offset = l.launch.g.lit(Lit::i64(u));
            let (mut own, mut k) = (own, k);
            let moved = if staged.along_k { &mut k } else { &mut own };
            *moved = linear::add(&mut l.launch.g, *moved, offset);
            Env::default().with(&l.launch.g, self.p.outer[side], own).with(&l.launch.g, self.p.k, k)
        };
        let envs = (0..staged.of_piece()).map(env).collect();
        (vec![(own, own_at.clone()), (k, k_at.clone())], envs)
    }

    /// Loads by vector accesses what the elements of a piece read side by side.
    pub fn load_neighbours(
        &self,
        l: &mut Lower,
        side: usize,
        envs: &[Env],
        vars: &mut Vec<(NodeId, Expr)>,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let along = if self.sides[side].along_k { self.p.k } else { self.p.outer[side] };
        let nodes = l.launch.g.reachable([self.values[side]]);
        load_vectors(l, nodes, &self.p.variables(along, side), envs, vars, out)
    }
}

/// Returns the word of one or two elements.
pub fn word(l: &mut Lower, elements: &[Expr], out: &mut Vec<Stmt>) -> Expr {
    if let [one] = elements {
        return Expr::Unary(UnaryOp::ToBits, Box::new(one.clone()));
    }
    let r: Reg = l.k.reg("word", Ty::U32);
    out.push(Stmt::Pack(r, elements.to_vec()));
    Expr::Reg(r)
}
