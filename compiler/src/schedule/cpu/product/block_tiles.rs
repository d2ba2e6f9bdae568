//! The block tiles of a product, and which of them belong to a call's units of work.

use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::groups::FusedGroup;
use crate::schedule::lower::{Lower, named};

/// Number of rows, and of columns, of a block tile.
pub const SIZE: i64 = 64;

/// A block tile: the first row and column, and the numbers of rows and columns in the matrix.
pub struct BlockTile {
    pub first: [Expr; 2],
    pub counts: [Expr; 2],
}

/// Emits the code of one block tile.
pub type Work<'a> = dyn FnMut(&mut Lower, BlockTile, &mut Vec<Stmt>) -> Result<()> + 'a;

/// Emits a loop over the block tiles that belong to the units of work of the call.
pub fn block_tiles(l: &mut Lower, fused: &FusedGroup, work: &mut Work) -> Result<Vec<Stmt>> {
    let [rows, cols] = [fused.domain[0], fused.domain[1]].map(|n| l.launch.host(n));
    let n = l.launch.count();
    let mut out = Vec::new();
    let across = named(l, "across", up(&cols, SIZE), &mut out);
    let squares = named(l, "squares", up(&rows, SIZE).times(across.clone()), &mut out);
    let units = named(l, "units", up(&n, l.launch.facts.grain.into()), &mut out);
    let share = |e: Expr| Expr::binary(BinaryOp::Div, e.times(squares.clone()), units.clone());
    let [from, to] = [share(Expr::TileBegin), share(Expr::TileEnd)].map(|e| named(l, "share", e, &mut out));
    let t = l.k.reg("t", Ty::I64);
    let mut body = Vec::new();
    let down = Expr::binary(BinaryOp::Div, Expr::Reg(t), across.clone());
    let down = named(l, "down", down, &mut body);
    let right = Expr::Reg(t).minus(down.clone().times(across));
    let first = [down, right].map(|e| named(l, "first", e.times(Expr::int(SIZE)), &mut body));
    let counts = [0, 1].map(|s| {
        let left = [&rows, &cols][s].clone().minus(first[s].clone());
        named(l, "count", left.min(Expr::int(SIZE)), &mut body)
    });
    work(l, BlockTile { first, counts }, &mut body)?;
    out.push(Stmt::Seq(t, from, to, body));
    Ok(out)
}

/// Returns ceil(n / by).
pub fn up(n: &Expr, by: i64) -> Expr {
    Expr::binary(BinaryOp::Div, n.clone().plus(Expr::int(by - 1)), Expr::int(by))
}
