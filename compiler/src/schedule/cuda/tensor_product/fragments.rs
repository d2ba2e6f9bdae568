//! Fragments: the words of operands that `MultiplyMatrices` takes, which are loaded from shared memory.
//!
//! A load of matrices gives four of them: 16 rows, or columns, by 32 bytes of inner indices. Matrices of halves may
//! be transposed on the way. Words of f32 may not: they are read one by one if the lines of shared memory are not
//! along the inner index. They are rounded to tf32 here, unless they were packed.

use super::TensorBlock;
use super::layout::{COLUMNS, PIECE_WORDS, ROWS, Staged};
use super::packed::rounded;
use super::params::Rows;
use crate::kernel::{Expr, Stmt};
use crate::scalar::Ty;
use crate::schedule::cuda::expressions::{int32, masked, shifted};
use crate::schedule::element::lower::{Lower, bind};

/// The number of parts of a step, of 32 bytes each.
const PARTS: i64 = 2;

/// Where the fragments of a side lie: for each part and tile, the word, which depends on the lane, and a constant
/// distance from it.
struct Places(Vec<Vec<(Expr, i64)>>);

/// The fragments of both sides.
pub struct Fragments([Places; 2]);

impl TensorBlock<'_> {
    /// Returns the number of tiles of 16 rows or columns of a warp.
    fn tiles(&self) -> i64 {
        self.shape.warp_tile[0] / ROWS
    }

    /// Computes where the fragments lie in the first stage.
    pub fn fragments(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Fragments {
        Fragments([0, 1].map(|side| match (self.sides[side].along_k, self.ty.size()) {
            (true, _) => self.along_k(l, self.sides[side], out),
            (false, 2) => self.across(l, self.sides[side], out),
            (false, _) => self.by_words(l, self.sides[side], out),
        }))
    }

    /// Returns the row, of 16, and the half of its 32 bytes, whose address the lane provides. The matrices of rows
    /// have another order than those of columns; if they are transposed, they have the other side's order.
    fn row_and_half(&self, swapped: bool) -> [Expr; 2] {
        let lane = || self.lane.clone();
        let eighth = |e: Expr| masked(e, 8);
        if swapped {
            let row = eighth(lane()).plus(shifted(lane(), 16).times(int32(8)));
            [row, masked(shifted(lane(), 8), 2)]
        } else {
            [masked(lane(), 16), shifted(lane(), 16)]
        }
    }

    fn along_k(&self, l: &mut Lower, s: Staged, out: &mut Vec<Stmt>) -> Places {
        let [row, half] = self.row_and_half(s.side == 1).map(|e| bind(l, "of", e, out));
        let line = self.warp_origin[s.side].clone().plus(row);
        let line = bind(l, "line", line, out);
        let part = |part: i64, l: &mut Lower, out: &mut Vec<Stmt>| {
            let word = s.word(line.clone(), half.clone().plus(int32(2 * part as i32)));
            let word = bind(l, "word", word, out);
            // the permutation has a period of 8 lines
            (0..self.tiles()).map(|i| (word.clone(), i * ROWS * s.line() * PIECE_WORDS)).collect()
        };
        Places((0..PARTS).map(|p| part(p, l, out)).collect())
    }

    fn across(&self, l: &mut Lower, s: Staged, out: &mut Vec<Stmt>) -> Places {
        let [line, half] = self.row_and_half(s.side == 0).map(|e| bind(l, "of", e, out));
        let first = shifted(self.warp_origin[s.side].clone(), s.of_piece()).plus(half);
        let first = bind(l, "first", first, out);
        let words: Vec<Expr> = (0..self.tiles())
            .map(|i| {
                let piece = first.clone().plus(int32((i * ROWS / s.of_piece()) as i32));
                bind(l, "word", s.word(line.clone(), piece), out)
            })
            .collect();
        let of_part = s.depth() / PARTS * s.line() * PIECE_WORDS;
        Places((0..PARTS).map(|p| words.iter().map(|w| (w.clone(), p * of_part)).collect()).collect())
    }

    /// Computes the places of the first word of each half tile, followed by those of the second half of the inner
    /// indices.
    fn by_words(&self, l: &mut Lower, s: Staged, out: &mut Vec<Stmt>) -> Places {
        let line = bind(l, "line", masked(self.lane.clone(), 4), out);
        let own = bind(l, "of", shifted(self.lane.clone(), 4), out);
        let first = self.warp_origin[s.side].clone().plus(own);
        let first = bind(l, "first", first, out);
        let words: Vec<Expr> = (0..2 * self.tiles())
            .map(|i| {
                let own = first.clone().plus(int32((i * 8) as i32));
                let word = s.word(line.clone(), shifted(own.clone(), s.of_piece()));
                bind(l, "word", word.plus(masked(own, s.of_piece())), out)
            })
            .collect();
        let of_part = s.depth() / PARTS * s.line() * PIECE_WORDS;
        Places((0..PARTS).map(|p| words.iter().map(|w| (w.clone(), p * of_part)).collect()).collect())
    }

    /// Loads the four words of one tile of a side.
    fn load(
        &self,
        l: &mut Lower,
        s: Staged,
        places: &[(Expr, i64)],
        tile: usize,
        stage: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Vec<Expr> {
        let at = |(word, distance): &(Expr, i64), more: i64| {
            word.clone().plus(stage.clone()).plus(int32((distance + more) as i32))
        };
        let words: Vec<Expr> = if s.along_k || self.ty.size() == 2 {
            let regs: Vec<_> = (0..4).map(|_| l.k.reg("f", Ty::U32)).collect();
            let index = at(&places[tile], 0);
            let loaded = regs.iter().map(|r| Expr::Reg(*r)).collect();
            let transposed = !s.along_k;
            out.push(Stmt::LoadMatrices { regs, from: self.words, index, transposed });
            loaded
        } else {
            let half = 4 * s.line() * PIECE_WORDS;
            // in the order of a load of matrices: for rows the rows change first, for columns the inner indices
            let order = if s.side == 0 {
                [(0, 0), (1, 0), (0, half), (1, half)]
            } else {
                [(0, 0), (0, half), (1, 0), (1, half)]
            };
            let load = |(own, more): (usize, i64)| Expr::load(self.words, at(&places[2 * tile + own], more));
            order.map(|o| bind(l, "f", load(o), out)).to_vec()
        };
        if self.ty.size() == 2 || self.rows == Rows::Packed {
            return words;
        }
        words.into_iter().map(|word| rounded(l, word, out)).collect()
    }

    /// Adds the products of one stage, which begins at this word (i32) of a side.
    pub fn multiply(&self, l: &mut Lower, f: &Fragments, stage: Expr, out: &mut Vec<Stmt>) {
        for part in 0..PARTS as usize {
            let mut load = |side: usize| -> Vec<Vec<Expr>> {
                let places = &f.0[side].0[part];
                (0..self.tiles() as usize)
                    .map(|t| self.load(l, self.sides[side], places, t, &stage, out))
                    .collect()
            };
            let (rows, columns) = (load(0), load(1));
            for (i, rows) in rows.iter().enumerate() {
                for (j, columns) in columns.iter().flat_map(|c| c.chunks(2)).enumerate() {
                    let first = 4 * (i * (self.shape.warp_tile[1] / COLUMNS) as usize + j);
                    out.push(Stmt::MultiplyMatrices {
                        ty: self.ty,
                        sums: self.sums[first..first + 4].to_vec(),
                        rows: rows.clone(),
                        columns: columns.to_vec(),
                    });
                }
            }
        }
    }
}
