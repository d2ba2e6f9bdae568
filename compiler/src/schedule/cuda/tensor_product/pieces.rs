//! The pieces of 16 bytes of a stage that a thread brings to shared memory in whole steps, and the two ways to do so:
//! by copies, or through registers. A value that goes through registers is loaded before the products of another
//! step, and stored after them.

use super::TensorBlock;
use super::copies::Copies;
use super::layout::Piece;
use super::params::Rows;
use crate::core::{NodeId, Op, linear};
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use crate::schedule::cuda::expressions::{int32, to_i64};
use crate::schedule::cuda::product::load_vectors;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::facts::loop_nests::Env;

/// The maximum number of operations of an operand whose code is written once for each of a thread's elements.
const MAX_OPERATIONS: usize = 24;

/// The maximum number of registers for values that are loaded while another step is multiplied, besides the sums and
/// the fragments.
const MAX_ON_THE_WAY: i64 = 64;

/// How whole steps of a side are brought to shared memory.
pub enum Way {
    Copies(Copies),
    Registers(Vec<Piece>),
}

/// The elements of a piece after their loads: known values, and for each element its indices.
pub struct Loaded {
    vars: Vec<(NodeId, Expr)>,
    envs: Vec<Env>,
}

impl TensorBlock<'_> {
    /// Returns the ways of both sides; `None` if the code of an operand is too long to be repeated.
    pub fn ways(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<Option<[Way; 2]>> {
        let operations = |n: NodeId| l.launch.g.reachable_until([n], |m| l.launch.g.is_closed(m)).len();
        let is_long = |n: &NodeId| operations(*n) > MAX_OPERATIONS;
        if self.rows != Rows::Packed && self.values.iter().any(is_long) {
            return Ok(None);
        }
        Ok(Some([self.way(l, 0, out)?, self.way(l, 1, out)?]))
    }

    fn way(&self, l: &mut Lower, side: usize, out: &mut Vec<Stmt>) -> Result<Way> {
        let staged = self.sides[side];
        let is_packed = self.rows == Rows::Packed;
        let by_pieces = !staged.along_k && (!self.strided || is_packed);
        let width = if by_pieces { staged.of_piece() } else { 1 };
        let end = if is_packed { staged.in_lines(&self.extents[side]) } else { self.extents[side].clone() };
        let last = end.minus(Expr::int(width));
        let mut pieces = Vec::new();
        for u in 0..self.shape.pieces(side) {
            let place = staged.piece(int32(u as i32)).map(|e| bind(l, "piece", e, out));
            let to = bind(l, "to", staged.word(place[0].clone(), place[1].clone()), out);
            let [own, k] = staged.offsets(place).map(to_i64);
            let own = self.origin[side].clone().plus(own);
            let own = if self.clamps_each(side) { own } else { own.min(last.clone()) };
            let own = bind(l, "own", own, out);
            pieces.push(Piece { own, k, to });
        }
        if is_packed {
            return Ok(Way::Copies(self.copies_of_packed(l, side, &pieces, out)));
        }
        let copies = if self.strided { None } else { self.copies(l, side, &pieces, out)? };
        Ok(copies.map_or(Way::Registers(pieces), Way::Copies))
    }

    /// Whether the index of each element of a piece is clamped, rather than that of the whole piece. In place of what
    /// is out of bounds, the last rows or columns are loaded once more; nobody stores the results of these.
    fn clamps_each(&self, side: usize) -> bool {
        self.rows == Rows::Strided && !self.sides[side].along_k
    }

    /// Returns the condition that the inner indices end between pieces, not inside of one.
    pub fn ends_behind_a_piece(&self) -> Expr {
        if self.rows == Rows::Packed || self.sides.iter().all(|s| !s.along_k) {
            return Expr::Lit(Lit::bool(true));
        }
        let rest = Expr::binary(BinaryOp::And, self.length.clone(), Expr::int(self.sides[0].of_piece() - 1));
        Expr::binary(BinaryOp::Eq, rest, Expr::int(0))
    }

    /// Returns the condition that each piece is entirely inside of the matrix or outside of it; `None` if that always
    /// holds.
    pub fn has_whole_pieces(&self) -> Option<Expr> {
        let sides = self.sides.iter().zip(&self.extents).filter(|(s, _)| !s.along_k && !self.strided);
        let whole = sides.map(|(s, n)| {
            let rest = Expr::binary(BinaryOp::And, n.clone(), Expr::int(s.of_piece() - 1));
            Expr::binary(BinaryOp::Eq, rest, Expr::int(0))
        });
        whole.reduce(|a, b| Expr::binary(BinaryOp::And, a, b))
    }

    /// Returns for each side whether a thread has registers for the values that are loaded while another step is
    /// multiplied.
    pub fn fit_on_the_way(&self, l: &Lower, ways: &[Way; 2]) -> [bool; 2] {
        let g = &l.launch.g;
        let reads = |side: usize| {
            let all = g.reachable([self.values[side]]);
            let words = all.iter().filter(|n| matches!(g.op(**n), Op::Elem(..)) && !g.is_closed(**n));
            words.map(|n| g.ty(*n).elem.size().div_ceil(4) as i64 * self.sides[side].of_piece()).sum::<i64>()
        };
        // addresses of any strides take registers, too
        let mut left = if self.strided { MAX_ON_THE_WAY / 4 } else { MAX_ON_THE_WAY };
        [0, 1].map(|side| {
            let needed = match ways[side] {
                Way::Registers(_) => self.shape.pieces(side) * reads(side),
                Way::Copies(_) => 0,
            };
            let fits = needed <= left;
            left -= if fits { needed } else { 0 };
            fits
        })
    }

    /// Loads what the elements of the pieces of a step (i64) read.
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
            let (mut vars, mut envs) = self.elements(l, side, [&piece.own, &k]);
            if self.clamps_each(side) {
                let last = self.extents[side].clone().minus(Expr::int(1));
                for (env, u) in envs.iter_mut().zip(0..) {
                    let (_, own) = l.launch.g.fresh_var(Ty::I64);
                    vars.push((
                        own,
                        bind(l, "own", piece.own.clone().plus(Expr::int(u)).min(last.clone()), out),
                    ));
                    *env = env.with(&l.launch.g, self.p.outer[side], own);
                }
            }
            match self.strided {
                true => self.load_each(l, side, &envs, &mut vars, out)?,
                false => self.load_neighbours(l, side, &envs, &mut vars, out)?,
            }
            all.push(Loaded { vars, envs });
        }
        Ok(all)
    }

    /// Computes the elements of pieces, and stores them to the stage that begins at this word (i32).
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

    /// Makes variables for the indices of a piece's first element. Returns them with their values, and for each
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
        let mut vars = self.known();
        vars.extend([(own, own_at.clone()), (k, k_at.clone())]);
        (vars, envs)
    }

    /// Loads what the elements of a piece read, one by one.
    fn load_each(
        &self,
        l: &mut Lower,
        side: usize,
        envs: &[Env],
        vars: &mut Vec<(NodeId, Expr)>,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        for n in l.launch.g.reachable([self.values[side]]) {
            if !matches!(l.launch.g.op(n), Op::Elem(..)) || l.launch.g.is_closed(n) {
                continue;
            }
            let mut reads: Vec<NodeId> = envs.iter().map(|env| env.of(&mut l.launch.g, n)).collect();
            reads.dedup();
            let values = l.region(vars, &reads, &Expr::int(0), out)?;
            let values = values.into_iter().map(|e| bind(l, "x", e, out)).collect::<Vec<_>>();
            vars.extend(reads.into_iter().zip(values));
        }
        Ok(())
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

/// Returns the word that consists of one or two elements.
pub fn word(l: &mut Lower, elements: &[Expr], out: &mut Vec<Stmt>) -> Expr {
    if let [one] = elements {
        return Expr::Unary(UnaryOp::ToBits, Box::new(one.clone()));
    }
    let r: Reg = l.k.reg("word", Ty::U32);
    out.push(Stmt::Pack(r, elements.to_vec()));
    Expr::Reg(r)
}
