//! Transposed tile: maps of matrices, or of planes, that read an array with rows and columns
//! swapped. The block loads its part of that array along the array's own rows and reads it from
//! shared memory along the columns, so that all accesses of global memory are coalesced (Ruetsch,
//! Micikevicius: Optimizing Matrix Transpose in CUDA, 2009). Chosen for such maps without error
//! records, loops and stencils; its cost is that of the memory traffic.
//!
//! ```text
//! y[i][j] = f(x[j][i], ..)       block: S x S elements of y
//!
//! x[j ..][i ..]  ->  tile[j][i]  16 bytes an access; chunks swizzled (`geometry.rs`)
//! barrier
//! a group of v neighbours of a row: tile[j][i], tile[j + 1][i], ..  ->  y[i][j .. j + v], 16 bytes
//! ```
//!
//! Blocks at the last rows and columns access elements one by one, through the same tile (`edge.rs`). So do all
//! blocks of a second variant, which takes arrays of any alignment. If an extent is less than half a tile, the map
//! strategy computes the group.

mod edge;
mod geometry;
mod groups;
mod params;
mod variants;

use super::elements::stored;
use super::register_tiling::placement::{self, PlaneTiling};
use super::thread_layout::ThreadLayout;
use crate::core::{NodeId, linear};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::{BinaryOp, Lit};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::opened;
use crate::schedule::facts::transposed::AxisIndex;
use crate::schedule::groups::{FusedGroup, Item};
use params::Tile;
pub use params::TransposedTileParams;
pub use variants::variants;

/// The block whose code is written.
struct Block<'a> {
    params: &'a TransposedTileParams,
    items: &'a [&'a Item],
    /// The variables of the axes before the last two, with their values.
    outer: Vec<(NodeId, Expr)>,
    /// The first row and column (i64).
    origin: [Expr; 2],
    /// The number of rows and columns of the index space (i64).
    extents: [Expr; 2],
    /// The shared memory of each tile.
    memory: Vec<Mem>,
}

/// Writes the code of one thread.
pub fn main(
    l: &mut Lower,
    fused: &FusedGroup,
    layout: ThreadLayout,
    params: &TransposedTileParams,
) -> Result<Vec<Stmt>> {
    l.k.kernel.min_resident_blocks = params.min_resident_blocks(l.launch);
    let (side, axes) = (params.partition.side, fused.domain.len());
    let mut out = Vec::new();
    // of this position, only the part that all threads of a block share is used
    let tiling = PlaneTiling {
        thread_rows: 1,
        v: 1,
        column_stride: 1,
        block_planes: 1,
        block_rows: side,
        block_columns: side,
    };
    let position = placement::position(l, fused, layout, tiling, &mut out);
    let [top, left] = [2, 1].map(|from_last| position.block[axes - from_last].clone());
    let origin = [bind(l, "top", top, &mut out), bind(l, "left", left, &mut out)];
    let outer = params.index[..axes - 2].iter().zip(&position.vars);
    let share = |l: &mut Lower, t: &Tile| {
        let ty = l.launch.g.ty(t.of.array).elem;
        l.k.share("tile", ty, t.len(side) as u32)
    };
    let block = Block {
        params,
        items: &stored(l.launch, fused),
        outer: outer.map(|(var, at)| (*var, at.1.clone())).collect(),
        origin,
        extents: [2, 1].map(|from_last| l.launch.host(fused.domain[axes - from_last])),
        memory: params.tiles.iter().map(|t| share(l, t)).collect(),
    };
    if !params.is_aligned {
        block.one_by_one(l, &mut out)?;
        return Ok(out);
    }
    let is_full = block.is_full(l);
    let (mut full, mut edge) = (Vec::new(), Vec::new());
    block.in_groups(l, &mut full)?;
    block.one_by_one(l, &mut edge)?;
    out.push(Stmt::If(is_full, full, edge));
    Ok(out)
}

impl Block<'_> {
    /// Returns whether all elements of the block are in the index space, and all chunks that it loads
    /// in their arrays.
    fn is_full(&self, l: &mut Lower) -> Expr {
        let side = self.params.partition.side;
        let within = |at: Expr, end: Expr| Expr::binary(BinaryOp::Le, at, end);
        let and = |a, b| Expr::binary(BinaryOp::And, a, b);
        let [rows, columns] =
            [0, 1].map(|i| within(placement::plus(self.origin[i].clone(), side), self.extents[i].clone()));
        let mut all = and(rows, columns);
        for t in &self.params.tiles {
            let ([_, first], [_, columns]) = t.needed(side);
            let (start, end) = (t.first_chunk(), t.first_chunk() + t.swizzle.chunks * t.swizzle.width);
            if start < first {
                let start = placement::plus(self.origin[0].clone(), start);
                all = and(all, Expr::binary(BinaryOp::Ge, start, Expr::int(0)));
            }
            if end > first + columns {
                let extent = l.launch.extent(t.of.array, t.of.axes.len() as u8 - 1);
                let extent = l.launch.host(extent);
                all = and(all, within(placement::plus(self.origin[0].clone(), end), extent));
            }
        }
        all
    }

    /// Returns the index in memory of the first element of a tile, without its column, and the
    /// distance of the tile's rows there.
    fn first_row(&self, l: &mut Lower, t: &Tile, out: &mut Vec<Stmt>) -> Result<(Expr, Expr)> {
        let (mem, ([down, _], _)) = (l.launch.input(t.of.array), t.needed(self.params.partition.side));
        let (mut sum, mut distance): (Option<Expr>, _) = (None, Expr::int(1));
        for (axis, number) in t.of.axes[..t.of.axes.len() - 1].iter().zip(0..) {
            let stride = l.launch.stride(mem, number);
            let index = match axis {
                AxisIndex::Other(n) => l.region(&self.outer, &[*n], &Expr::int(0), out)?.remove(0),
                AxisIndex::Column | AxisIndex::Row => {
                    distance = stride.clone();
                    placement::plus(self.origin[1].clone(), down)
                }
            };
            let e = index.times(stride);
            sum = Some(sum.map_or(e.clone(), |s| s.plus(e)));
        }
        Ok((bind(l, "line", sum.unwrap_or(Expr::int(0)), out), distance))
    }

    /// Returns the indices of the element that is `by` rows and columns from the element at the variables.
    fn index(&self, l: &mut Lower, by: [i64; 2]) -> Vec<NodeId> {
        let mut index = self.params.index.clone();
        let first = index.len() - 2;
        for (i, by) in index[first..].iter_mut().zip(by) {
            let by = l.launch.g.lit(Lit::i64(by));
            *i = linear::add(&mut l.launch.g, *i, by);
        }
        index
    }

    /// Notes which register holds the value that the element at `index` reads through a tile.
    fn note_read(&self, l: &mut Lower, t: &Tile, read: [i64; 2], index: &[NodeId], e: Expr) {
        let [.., row, column] = *index else { return };
        let mut at = Vec::new();
        for axis in &t.of.axes {
            let (n, by) = match axis {
                AxisIndex::Other(n) => (*n, 0),
                AxisIndex::Column => (column, read[0]),
                AxisIndex::Row => (row, read[1]),
            };
            let by = l.launch.g.lit(Lit::i64(by));
            at.push(linear::add(&mut l.launch.g, n, by));
        }
        let last = at.pop().unwrap_or(row);
        l.note_loaded(t.of.array, &at, last, e);
    }

    /// Notes which register holds an element that is read at the element's own indices.
    fn note_own(&self, l: &mut Lower, array: NodeId, index: &[NodeId], e: Expr) {
        if let Some((last, outer)) = index.split_last() {
            l.note_loaded(array, outer, *last, e);
        }
    }

    /// Returns the items' values of the element at `index`, as nodes.
    fn roots(&self, l: &mut Lower, index: &[NodeId]) -> Vec<NodeId> {
        self.items.iter().map(|it| opened(&mut l.launch.g, it.node, index)).collect()
    }

    /// Returns the variables of an element's indices with their values.
    fn vars(&self, row: &Expr, column: &Expr) -> Vec<(NodeId, Expr)> {
        let own = self.params.index[self.outer.len()..].iter().copied();
        self.outer.iter().cloned().chain(own.zip([row.clone(), column.clone()])).collect()
    }

    /// Returns the index in memory of an element at its own indices.
    fn own_place(&self, l: &mut Lower, mem: Mem, row: Expr, column: &Expr) -> Expr {
        let before = self.outer.iter().map(|v| v.1.clone());
        let indices: Vec<Expr> = before.chain([row]).collect();
        placement::along(l, mem, &indices).plus(column.clone())
    }

    /// Returns the arrays that are read at the element's own indices.
    fn own_arrays(&self, l: &Lower) -> Vec<NodeId> {
        l.launch.facts.accesses.own.iter().copied().collect()
    }
}
