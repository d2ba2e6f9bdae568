//! How operands lie in shared memory. A stage of a side has the 64 bytes of inner indices of one step for its 64 or
//! 128 rows or columns, in the direction in which the array has them: either a line of 4 pieces of 16 bytes for each
//! row or column, or a line of 8 to 32 pieces for each inner index. The pieces of a line are permuted by the number
//! of the line. What a warpgroup multiplies has 128 bytes of inner indices in a step, as lines of 8 pieces
//! (`Stmt::MultiplyStaged`); a stage of its columns lies behind that of its rows.

use crate::kernel::{Expr, WARP};
use crate::plan::gpu::PIECES_OF_LINE;
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::expressions::{int32, masked, shifted, thread};

/// The number of rows and of columns of `MultiplyMatrices`.
pub const ROWS: i64 = 16;
pub const COLUMNS: i64 = 8;
/// The number of words of a piece.
pub const PIECE_WORDS: i64 = 4;

/// If lines lie across the inner index and warpgroups multiply: the number of columns of a chunk, and of its lines.
const CHUNK: i64 = 64;

/// The shape of a block tile.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Rows and columns of a warp's part.
    pub warp_tile: [i64; 2],
    /// The number of warps down and across.
    pub warps: [i64; 2],
    /// The number of pieces of inner indices of a step.
    pub depth: i64,
    /// The number of steps in shared memory.
    pub stages: i64,
    /// The minimum number of resident blocks of a multiprocessor.
    pub resident: u32,
}

impl Shape {
    /// For products that keep a large device busy: this has the most products for each byte from shared memory.
    pub const LARGE: Shape = Shape { warp_tile: [64; 2], warps: [2; 2], depth: 4, stages: 3, resident: 2 };
    /// For smaller products.
    pub const SMALL: Shape = Shape { warp_tile: [32; 2], warps: [2; 2], depth: 4, stages: 4, resident: 3 };
    /// For two warpgroups, which have 64 rows each.
    pub const WARPGROUPS: Shape =
        Shape { warp_tile: [16, 256], warps: [8, 1], depth: 8, stages: 4, resident: 1 };

    /// Whether warpgroups multiply, not single warps.
    pub fn is_by_warpgroups(self) -> bool {
        self.depth == 8
    }

    /// Returns the rows (0) or columns (1) of the block tile.
    pub fn tile(self, side: usize) -> i64 {
        self.warps[side] * self.warp_tile[side]
    }

    /// Returns the number of threads of a block.
    pub fn threads(self) -> u32 {
        WARP * (self.warps[0] * self.warps[1]) as u32
    }

    /// Returns the number of words of a stage of one side.
    fn side_words(self, side: usize) -> i64 {
        PIECE_WORDS * self.depth * self.tile(side)
    }

    /// Returns the number of words from a stage to the next one.
    pub fn stage_words(self) -> i64 {
        self.side_words(0) + if self.is_by_warpgroups() { self.side_words(1) } else { 0 }
    }

    /// Returns the number of words of all stages.
    pub fn words(self) -> i64 {
        self.stages * (self.side_words(0) + self.side_words(1))
    }

    /// Returns the number of pieces of a stage of one side that a thread brings to shared memory.
    pub fn pieces(self, side: usize) -> i64 {
        self.side_words(side) / PIECE_WORDS / i64::from(self.threads())
    }
}

/// One piece.
pub struct Piece {
    /// The row or column, and the inner index in the first step, of its first element.
    pub own: Expr,
    pub k: Expr,
    /// The number of its first word in the first stage (i32).
    pub to: Expr,
}

/// One side in shared memory.
#[derive(Clone, Copy)]
pub struct Staged {
    /// Whether it is that of the rows (0) or of the columns (1).
    pub side: usize,
    /// Whether lines are along the inner index.
    pub along_k: bool,
    pub ty: Ty,
    pub shape: Shape,
}

impl Staged {
    /// Returns the number of elements of a piece.
    pub fn of_piece(self) -> i64 {
        16 / self.ty.size() as i64
    }

    /// Returns the number of inner indices of a step.
    pub fn depth(self) -> i64 {
        self.shape.depth * self.of_piece()
    }

    /// Returns an extent rounded up to 128 bytes.
    pub fn in_lines(self, n: &Expr) -> Expr {
        let of_line = PIECES_OF_LINE as i64 * self.of_piece();
        let rounded_up = n.clone().plus(Expr::int(of_line - 1));
        Expr::binary(BinaryOp::And, rounded_up, Expr::int(-of_line))
    }

    /// Returns the number of pieces of a line.
    pub fn line(self) -> i64 {
        if self.along_k { self.shape.depth } else { self.shape.tile(self.side) / self.of_piece() }
    }

    /// Returns the number that is combined with the number of a piece by exclusive or, for a line (i32).
    pub fn permutation(self, line: Expr) -> Expr {
        match (self.along_k, self.ty.size()) {
            (true, _) => masked(shifted(line, 2), 4),
            (false, 2) => masked(line, 8),
            // fragments of f32 are read by words, from four lines at once
            (false, _) => masked(line, 4).times(int32(2)),
        }
    }

    /// Returns the number of the first word of a piece, in the side's first stage.
    pub fn word(self, line: Expr, piece: Expr) -> Expr {
        if self.shape.is_by_warpgroups() {
            return self.word_of_warpgroup(line, piece);
        }
        let piece = Expr::binary(BinaryOp::Xor, piece, self.permutation(line.clone()));
        let number = line.times(int32(self.line() as i32)).plus(piece);
        number.times(int32(PIECE_WORDS as i32)).plus(int32(self.begin() as i32))
    }

    fn word_of_warpgroup(self, mut line: Expr, mut piece: Expr) -> Expr {
        if !self.along_k {
            let chunk = shifted(piece.clone(), CHUNK / self.of_piece());
            piece = masked(piece, CHUNK / self.of_piece());
            line = chunk.times(int32(CHUNK as i32)).plus(line);
        }
        let place = Expr::binary(BinaryOp::Xor, piece, masked(line.clone(), 8));
        let number = line.times(int32(self.shape.depth as i32)).plus(place);
        number.times(int32(PIECE_WORDS as i32)).plus(int32(self.begin() as i32))
    }

    /// Returns the first word of the side in the first stage.
    pub fn begin(self) -> i64 {
        let stages = if self.shape.is_by_warpgroups() { 1 } else { self.shape.stages };
        self.side as i64 * stages * self.shape.side_words(0)
    }

    /// Returns the line, and the piece in it, of the thread's piece `u` (i32).
    pub fn piece(self, u: Expr) -> [Expr; 2] {
        let number = thread().plus(u.times(int32(self.shape.threads() as i32)));
        [shifted(number.clone(), self.line()), masked(number, self.line())]
    }

    /// Returns the offsets of a piece's first element among the side's rows or columns, and among the
    /// inner indices of a step.
    pub fn offsets(self, [line, piece]: [Expr; 2]) -> [Expr; 2] {
        let along = piece.times(int32(self.of_piece() as i32));
        if self.along_k { [line, along] } else { [along, line] }
    }
}
