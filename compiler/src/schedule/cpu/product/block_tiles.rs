//! The block tiles of a product, and which of them belong to a call's units of work.

use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::facts::products::Product;
use crate::schedule::groups::FusedGroup;

/// Number of rows, and of columns, of a block tile.
pub const SIZE: i64 = 64;

/// A block tile: its first row and column, and how many rows and columns of it are in the matrix.
pub struct BlockTile {
    /// The number of the plane, in a batch of products.
    pub plane: Option<Expr>,
    pub first: [Expr; 2],
    pub counts: [Expr; 2],
}

/// Emits the code of one block tile.
pub type Work<'a> = dyn FnMut(&mut Lower, BlockTile, &mut Vec<Stmt>) -> Result<()> + 'a;

/// Emits a loop over the block tiles that belong to the units of work of the call.
pub fn block_tiles(l: &mut Lower, fused: &FusedGroup, p: &Product, work: &mut Work) -> Result<Vec<Stmt>> {
    let (matrix, planes) = p.axes();
    let planes = planes.map(|axis| l.launch.host(fused.domain[axis]));
    let [rows, cols] = matrix.map(|axis| l.launch.host(fused.domain[axis]));
    let n = l.launch.count();
    let mut out = Vec::new();
    let across = bind(l, "across", up(&cols, SIZE), &mut out);
    let of_plane = bind(l, "squares", up(&rows, SIZE).times(across.clone()), &mut out);
    let squares = match &planes {
        Some(planes) => bind(l, "squares", planes.clone().times(of_plane.clone()), &mut out),
        None => of_plane.clone(),
    };
    let units = bind(l, "units", up(&n, l.launch.facts.grain.into()), &mut out);
    let share = |e: Expr| Expr::binary(BinaryOp::Div, e.times(squares.clone()), units.clone());
    let [from, to] = [share(Expr::TileBegin), share(Expr::TileEnd)].map(|e| bind(l, "share", e, &mut out));
    let t = l.k.reg("t", Ty::I64);
    let mut body = Vec::new();
    let plane = planes.map(|_| Expr::binary(BinaryOp::Div, Expr::Reg(t), of_plane.clone()));
    let plane = plane.map(|e| bind(l, "plane", e, &mut body));
    let number = match &plane {
        Some(plane) => bind(l, "square", Expr::Reg(t).minus(plane.clone().times(of_plane)), &mut body),
        None => Expr::Reg(t),
    };
    let down = Expr::binary(BinaryOp::Div, number.clone(), across.clone());
    let down = bind(l, "down", down, &mut body);
    let right = number.minus(down.clone().times(across));
    let first = [down, right].map(|e| bind(l, "first", e.times(Expr::int(SIZE)), &mut body));
    let counts = [0, 1].map(|s| {
        let left = [&rows, &cols][s].clone().minus(first[s].clone());
        bind(l, "count", left.min(Expr::int(SIZE)), &mut body)
    });
    work(l, BlockTile { plane, first, counts }, &mut body)?;
    out.push(Stmt::Seq(t, from, to, body));
    Ok(out)
}

impl BlockTile {
    /// Returns the plane's variable with its value, if the product has planes.
    pub fn known(&self, p: &Product) -> Vec<(NodeId, Expr)> {
        p.plane.into_iter().zip(self.plane.clone()).collect()
    }

    /// Returns the indices of the element in this row and column, axis by axis.
    pub fn index(&self, p: &Product, at: [Expr; 2]) -> Vec<Expr> {
        let mut index: Vec<Expr> = self.plane.iter().cloned().chain(at).collect();
        if p.rows_first {
            index.swap(0, 1);
        }
        index
    }
}

/// Returns ceil(n / by).
pub fn up(n: &Expr, by: i64) -> Expr {
    Expr::binary(BinaryOp::Div, n.clone().plus(Expr::int(by - 1)), Expr::int(by))
}
