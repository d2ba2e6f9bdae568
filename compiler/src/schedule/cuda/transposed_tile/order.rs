//! The order of blocks: neighbours in time are neighbours along the rows and along the columns.
//!
//! ```text
//! blocks of 8 rows of blocks, column by column:    0  8 16 ..
//!                                                  1  9 17 ..
//!                                                  .. .. ..
//! ```
//!
//! A tile's rows are short in memory: 128 bytes of narrow elements. Blocks that run at the same time
//! have the lines beside these, in the array that is read as well as in that which is stored.

use crate::core::NodeId;
use crate::kernel::{Expr, Gpu, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::expressions::{int32, to_i64};
use crate::schedule::cuda::thread_layout::ThreadLayout;
use crate::schedule::groups::FusedGroup;
use crate::schedule::lower::{Lower, named as bind};

/// The rows of blocks that are gone through together.
const ROWS: i32 = 8;

/// The position of a block.
pub struct Position {
    /// The index along each axis before the last two (i64).
    pub outer: Vec<Expr>,
    /// The first row and column (i64).
    pub origin: [Expr; 2],
}

/// Computes the position of the block, whose tile has `side` rows and columns.
pub fn position(
    l: &mut Lower,
    fused: &FusedGroup,
    layout: ThreadLayout,
    side: i64,
    out: &mut Vec<Stmt>,
) -> Position {
    let mut number = Expr::Place(Gpu::Block);
    if layout.descending {
        number = Expr::Place(Gpu::Blocks).minus(int32(1)).minus(number);
    }
    let (before, plane) = fused.domain.split_at(fused.domain.len() - 2);
    let [down, across] = [0, 1].map(|axis| tiles(l, plane[axis], side, out));
    let mut outer = Vec::new();
    if !before.is_empty() {
        let of_plane = bind(l, "plane", down.clone().times(across.clone()), out);
        let (mut rest, own) = divided(l, number, of_plane, out);
        number = own;
        for n in before[1..].iter().rev() {
            let extent = Expr::Cast(Ty::I32, Box::new(l.launch.host(*n)));
            let (next, index) = divided(l, rest, extent, out);
            outer.push(to_i64(index));
            rest = next;
        }
        outer.push(to_i64(rest));
        outer.reverse();
    }
    let of_rows = bind(l, "strip", across.times(int32(ROWS)), out);
    let (strip, own) = divided(l, number, of_rows, out);
    let first = bind(l, "first", strip.times(int32(ROWS)), out);
    let height = bind(l, "height", down.clone().minus(first.clone()).min(int32(ROWS)), out);
    let (column, row) = divided(l, own, height, out);
    // the last rows come first, so that the launch does not end with boundary blocks, which take
    // longer
    let row = bind(l, "own", first.plus(row), out);
    let is_first = Expr::binary(BinaryOp::Eq, row.clone(), int32(0));
    let row = bind(l, "turned", is_first.select(down, row).minus(int32(1)), out);
    let mut first_of = |name, at: Expr| bind(l, name, to_i64(at).times(Expr::int(side)), out);
    let origin = [first_of("top", row), first_of("left", column)];
    Position { outer, origin }
}

/// Returns the number of tiles along an axis (i32).
fn tiles(l: &mut Lower, extent: NodeId, side: i64, out: &mut Vec<Stmt>) -> Expr {
    let rounded_up = l.launch.host(extent).plus(Expr::int(side - 1));
    let count = Expr::binary(BinaryOp::Shr, rounded_up, Expr::int(side.ilog2().into()));
    bind(l, "blocks", Expr::Cast(Ty::I32, Box::new(count)), out)
}

/// Returns the quotient and the remainder of numbers that are not negative (i32).
fn divided(l: &mut Lower, a: Expr, b: Expr, out: &mut Vec<Stmt>) -> (Expr, Expr) {
    let unsigned = |e: &Expr| Expr::Cast(Ty::U32, Box::new(e.clone()));
    let quotient = Expr::binary(BinaryOp::Div, unsigned(&a), unsigned(&b));
    let quotient = bind(l, "before", Expr::Cast(Ty::I32, Box::new(quotient)), out);
    let rest = bind(l, "own", a.minus(quotient.clone().times(b)), out);
    (quotient, rest)
}
