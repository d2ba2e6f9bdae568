//! Operands, of any strides, that a launch before the product's copies to scratch. There they lie in whole pieces of
//! 16 bytes, with zeros past the ends of rows, of columns and of inner indices. So each element is read, computed
//! and, if it is an f32, rounded once, and the product's blocks copy pieces without registers. Lines are aligned to
//! 128 bytes: if pieces of 64 bytes began inside of sectors, blocks would read 1.5 times as much.
//!
//! ```text
//! scratch: planes of the rows' side, planes of the columns' side
//! plane:   as many lines as the extent across them, each of the extent along them, both rounded up to 128 bytes
//! ```

use super::TensorBlock;
use super::copies::Copies;
use super::layout::{PIECE_WORDS, Piece};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Reg, Stmt};
use crate::scalar::{BinaryOp, Ty, UnaryOp};
use crate::schedule::cuda::expressions::{int32, masked, shifted, thread, to_i64};
use crate::schedule::element::lower::{Lower, bind};

/// Threads of a block that packs.
const THREADS: u32 = 256;
/// The number of blocks of a multiprocessor that leaves a thread 64 registers.
const RESIDENT: u32 = 4;

fn word_as_f32(word: Expr) -> Expr {
    Expr::Unary(UnaryOp::FromBits, Box::new(word))
}

impl TensorBlock<'_> {
    /// Returns the number of lines of a side's plane in scratch, and the number of elements of each.
    fn lines(&self, l: &mut Lower, side: usize, out: &mut Vec<Stmt>) -> [Expr; 2] {
        let s = self.sides[side];
        let (own, k) = (s.in_lines(&self.extents[side]), s.in_lines(&self.length));
        let [lines, line] = if s.along_k { [own, k] } else { [k, own] };
        [bind(l, "lines", lines, out), bind(l, "line", line, out)]
    }

    /// Prepares the copies of a side's pieces from scratch.
    pub fn copies_of_packed(
        &self,
        l: &mut Lower,
        side: usize,
        pieces: &[Piece],
        out: &mut Vec<Stmt>,
    ) -> Copies {
        let s = self.sides[side];
        let [lines, line] = self.lines(l, side, out);
        let of_plane = bind(l, "size", lines.times(line.clone()), out);
        let mut first = match &self.plane {
            Some((_, at)) => at.clone().times(of_plane),
            None => Expr::int(0),
        };
        if side == 1 {
            let [lines, line] = self.lines(l, 0, out);
            first = first.plus(self.planes.clone().times(lines.times(line)));
        }
        let first = bind(l, "first", first, out);
        let of_word = 4 / self.ty.size() as i64;
        let places = pieces.iter().map(|piece| {
            let (across, along) = if s.along_k { (&piece.own, &piece.k) } else { (&piece.k, &piece.own) };
            let k = if s.along_k { &pieces[0].k } else { &piece.k };
            let at = first.clone().plus(across.clone().times(line.clone())).plus(along.clone());
            let word = Expr::binary(BinaryOp::Shr, at, Expr::int(of_word.ilog2().into()));
            [bind(l, "from", word, out), piece.to.clone(), k.clone()]
        });
        let pieces = places.collect();
        let words = Expr::int(s.depth() / of_word);
        let step = if s.along_k { words } else { words.times(line) };
        Copies { from: l.launch.scratch(0, Ty::F32), pieces, step: bind(l, "step", step, out) }
    }
}

impl TensorBlock<'_> {
    /// Writes the code of the launch that packs the operands: each thread packs a piece.
    pub fn pack_operands(&mut self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<()> {
        (l.k.kernel.threads, l.k.kernel.min_resident_blocks) = (THREADS, RESIDENT);
        let number = Expr::Place(Gpu::Block).times(int32(THREADS as i32)).plus(thread());
        let number = bind(l, "number", number, out);
        let counts = [0, 1].map(|side| self.count(l, side, out));
        let second = number.clone().minus(counts[0].clone());
        let mut otherwise = Vec::new();
        let second = bind(l, "number", second, &mut otherwise);
        let mut code = Vec::new();
        for (side, at) in [number.clone(), second.clone()].into_iter().enumerate() {
            let mut body = Vec::new();
            self.pack(l, side, (at, number.clone()), &mut body)?;
            code.push(body);
        }
        let below = |at: Expr, side: usize| Expr::binary(BinaryOp::Lt, at, counts[side].clone());
        otherwise.push(Stmt::If(below(second, 1), code.remove(1), vec![]));
        out.push(Stmt::If(below(number, 0), code.remove(0), otherwise));
        Ok(())
    }

    /// Returns the number of pieces of a side (i32).
    fn count(&self, l: &mut Lower, side: usize, out: &mut Vec<Stmt>) -> Expr {
        let [lines, line] = self.lines(l, side, out);
        let pieces = Expr::binary(BinaryOp::Div, line, Expr::int(self.sides[side].of_piece()));
        let all = self.planes.clone().times(lines).times(pieces);
        bind(l, "count", Expr::Cast(Ty::I32, Box::new(all)), out)
    }

    /// Packs piece `at` (i32) of a side, which is piece `number` of scratch.
    fn pack(
        &mut self,
        l: &mut Lower,
        side: usize,
        (at, number): (Expr, Expr),
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let s = self.sides[side];
        let [lines, line] = self.lines(l, side, out);
        let as_i32 = |n: Expr| Expr::Cast(Ty::I32, Box::new(n));
        let div = |a: &Expr, b: Expr| Expr::binary(BinaryOp::Div, a.clone(), b);
        let of_line = Expr::binary(BinaryOp::Div, line, Expr::int(s.of_piece()));
        let of_line = bind(l, "pieces", as_i32(of_line), out);
        let (mut across, piece, number) = if s.along_k == self.p.sides[side].along_k {
            let across = bind(l, "across", div(&at, of_line.clone()), out);
            (across.clone(), at.minus(across.times(of_line)), number)
        } else {
            let [line, piece] = transposed(l, &at, &of_line, out);
            let moved = number.minus(at).plus(line.clone().times(of_line)).plus(piece.clone());
            (line, piece, bind(l, "number", moved, out))
        };
        if let Some(plane) = self.p.plane {
            let lines = bind(l, "lines", as_i32(lines), out);
            let number = bind(l, "plane", div(&across, lines.clone()), out);
            across = across.minus(number.clone().times(lines));
            self.plane = Some((plane, to_i64(number)));
        }
        let [own, k] = s.offsets([across, piece]).map(|e| bind(l, "at", to_i64(e), out));
        let mut words = self.values_of_piece(l, side, [&own, &k], out)?;
        if self.ty == Ty::F32 {
            words = words.into_iter().map(|word| rounded(l, word, out)).collect();
        }
        let words = words.into_iter().map(word_as_f32).collect();
        let to = number.times(int32(PIECE_WORDS as i32));
        let to = bind(l, "to", to, out);
        out.push(Stmt::StoreVec(self.words, to, words));
        Ok(())
    }
}

/// Returns the word of an f32, rounded to tf32.
pub fn rounded(l: &mut Lower, word: Expr, out: &mut Vec<Stmt>) -> Expr {
    let r: Reg = l.k.reg("f", Ty::U32);
    out.push(Stmt::Pack(r, vec![word_as_f32(word)]));
    Expr::Reg(r)
}

/// Returns the line and the piece that a thread packs where lines of scratch are not along those of the array. The
/// threads of a warp take two pieces of 16 neighbouring lines, so that they read and write whole sectors.
fn transposed(l: &mut Lower, at: &Expr, of_line: &Expr, out: &mut Vec<Stmt>) -> [Expr; 2] {
    let lane = |n: i64| masked(at.clone(), n);
    let warp = bind(l, "warp", shifted(at.clone(), 32), out);
    let half = bind(l, "half", shifted(of_line.clone(), 2), out);
    let lines = Expr::binary(BinaryOp::Div, warp.clone(), half.clone());
    let lines = bind(l, "lines", lines, out);
    let pieces = warp.minus(lines.clone().times(half));
    let line = lines.times(int32(16)).plus(lane(16));
    let piece = pieces.times(int32(2)).plus(shifted(lane(32), 16));
    [line, piece].map(|e| bind(l, "across", e, out))
}
