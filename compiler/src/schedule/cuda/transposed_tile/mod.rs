//! Transposed tile: maps of matrices, or of planes, that read an array with rows and columns
//! swapped. The block loads its part of that array along the array's own rows and reads it from
//! shared memory along the columns, so that all accesses of global memory are coalesced (Ruetsch,
//! Micikevicius: Optimizing Matrix Transpose in CUDA, 2009). Chosen for such maps without error
//! records, loops and stencils; its cost is that of the memory traffic. Rows and columns may be read from their ends
//! on, as rotations by 90 degrees do, and from any index on that does not depend on the element.
//!
//! ```text
//! y[i][j] = f(x[j][i], ..)       block: S x S elements of y
//!
//! x[j ..][i ..]  ->  tile[j][i]  16 bytes an access; chunks swizzled (`geometry.rs`)
//! barrier
//! a group of v neighbours of a row: tile[j][i], tile[j + 1][i], ..  ->  y[i][j .. j + v], 16 bytes
//! ```
//!
//! If the index of a row of `x` falls as j grows, its rows are loaded from the last to the first, so `tile` is the
//! same. If the index in a row falls as i grows, a full tile has the row as it is in memory and is read from its end
//! on, because chunks are not reversed; where elements are accessed one by one, neighbouring threads load downwards.
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
use crate::schedule::facts::transposed::{Affine, AxisIndex};
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
    tiles: Vec<BlockTile<'a>>,
}

/// The tile of a block.
struct BlockTile<'a> {
    of: &'a Tile,
    /// The array.
    array: Mem,
    /// Its shared memory.
    memory: Mem,
    /// How the array's indices follow the columns and the rows of the index space.
    along: [Along; 2],
}

/// How an array's index along one axis follows an index of the block's elements (`facts::transposed::Affine`).
struct Along {
    /// The base (i64); `None` is 0.
    base: Option<Expr>,
    is_mirrored: bool,
}

impl Along {
    /// Returns the array's index for index `e + by` of the elements.
    fn at(&self, e: Expr, by: i64) -> Expr {
        match (&self.base, self.is_mirrored) {
            (None, false) => placement::plus(e, by),
            (Some(base), false) => base.clone().plus(placement::plus(e, by)),
            (base, true) => base.clone().unwrap_or(Expr::int(0)).minus(placement::plus(e, by + 1)),
        }
    }

    /// Returns the number of the array's indices for index `e + by` of the elements and all after it: up to the last
    /// index, or down to 0.
    fn rest(&self, e: Expr, by: i64, extent: Expr) -> Expr {
        match self.is_mirrored {
            true => self.at(e, by - 1),
            false => extent.minus(self.at(e, by)),
        }
    }
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
    let outer: Vec<(NodeId, Expr)> = outer.map(|(var, at)| (*var, at.1.clone())).collect();
    let extents = [2, 1].map(|from_last| l.launch.host(fused.domain[axes - from_last]));
    let tiles = params.tiles.iter().map(|t| BlockTile::of(l, t, (side, &outer), &mut out));
    let tiles = tiles.collect::<Result<_>>()?;
    let block = Block { params, items: &stored(l.launch, fused), outer, origin, extents, tiles };
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

impl BlockTile<'_> {
    /// Returns the tile of a block with these indices along the outer axes.
    fn of<'a>(
        l: &mut Lower,
        of: &'a Tile,
        (side, outer): (i64, &[(NodeId, Expr)]),
        out: &mut Vec<Stmt>,
    ) -> Result<BlockTile<'a>> {
        let array = of.of.array;
        let ty = l.launch.g.ty(array).elem;
        let memory = l.k.share("tile", ty, of.len(side) as u32);
        let mut along = |affine: Affine| -> Result<Along> {
            let base = l.region(outer, affine.base.as_slice(), &Expr::int(0), out)?.pop();
            let base = base.map(|base| bind(l, "base", base, out));
            Ok(Along { base, is_mirrored: affine.is_mirrored })
        };
        let [column, row] = of.of.affine();
        let along = [along(column)?, along(row)?];
        Ok(BlockTile { of, array: l.launch.input(array), memory, along })
    }

    /// Returns where in the array's rows the elements begin that are loaded in chunks, and where they end.
    fn chunks(&self, top: &Expr) -> [Expr; 2] {
        let (first, end) = (self.of.first_chunk(), self.of.first_chunk() + self.of.chunked());
        let [_, along] = &self.along;
        // of mirrored rows the last one in the elements' order is the first in memory
        let ends = if along.is_mirrored { [end - 1, first - 1] } else { [first, end] };
        ends.map(|by| along.at(top.clone(), by))
    }
}

impl Block<'_> {
    /// Returns whether all elements of the block are in the index space, and all chunks that it loads
    /// in their arrays and aligned.
    fn is_full(&self, l: &mut Lower) -> Expr {
        let side = self.params.partition.side;
        let within = |at: Expr, end: Expr| Expr::binary(BinaryOp::Le, at, end);
        let and = |a, b| Expr::binary(BinaryOp::And, a, b);
        let [rows, columns] =
            [0, 1].map(|i| within(placement::plus(self.origin[i].clone(), side), self.extents[i].clone()));
        let mut all = and(rows, columns);
        for tile in &self.tiles {
            let (t, [_, along]) = (tile.of, &tile.along);
            let ([_, first], [_, columns]) = t.needed(side);
            // what is loaded before and after the elements that are needed, in the order of memory
            let mut beyond = [first - t.first_chunk(), t.first_chunk() + t.chunked() - first - columns];
            if along.is_mirrored {
                beyond.reverse();
            }
            let [start, end] = tile.chunks(&self.origin[0]);
            if let Some(base) = &along.base {
                let rest = Expr::binary(BinaryOp::And, base.clone(), Expr::int(t.swizzle.width - 1));
                all = and(all, Expr::binary(BinaryOp::Eq, rest, Expr::int(0)));
            }
            if beyond[0] > 0 {
                all = and(all, Expr::binary(BinaryOp::Ge, start, Expr::int(0)));
            }
            if beyond[1] > 0 {
                let extent = l.launch.extent(t.of.array, t.of.axes.len() as u8 - 1);
                let extent = l.launch.host(extent);
                all = and(all, within(end, extent));
            }
        }
        all
    }

    /// Returns the index in memory of the first element of a tile, without its column, and the
    /// distance of the tile's rows there.
    fn first_row(&self, l: &mut Lower, tile: &BlockTile, out: &mut Vec<Stmt>) -> Result<(Expr, Expr)> {
        let (t, mem, [along, _]) = (tile.of, tile.array, &tile.along);
        let ([down, _], _) = t.needed(self.params.partition.side);
        let (mut sum, mut distance): (Option<Expr>, _) = (None, Expr::int(1));
        for (axis, number) in t.of.axes[..t.of.axes.len() - 1].iter().zip(0..) {
            let stride = l.launch.stride(mem, number);
            let index = match axis {
                AxisIndex::Other(n) => l.region(&self.outer, &[*n], &Expr::int(0), out)?.remove(0),
                AxisIndex::Column(_) | AxisIndex::Row(_) => {
                    distance = stride.clone();
                    if along.is_mirrored {
                        distance = bind(l, "distance", Expr::int(0).minus(distance), out);
                    }
                    along.at(self.origin[1].clone(), down)
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
            let g = &mut l.launch.g;
            let (of, n, by) = match axis {
                AxisIndex::Other(n) => {
                    at.push(*n);
                    continue;
                }
                AxisIndex::Column(affine) => (affine, column, read[0]),
                AxisIndex::Row(affine) => (affine, row, read[1]),
            };
            let base = of.base.unwrap_or_else(|| g.lit(Lit::i64(0)));
            let by = g.lit(Lit::i64(if of.is_mirrored { by + 1 } else { by }));
            let n = linear::add(g, n, by);
            at.push(if of.is_mirrored { linear::sub(g, base, n) } else { linear::add(g, base, n) });
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
