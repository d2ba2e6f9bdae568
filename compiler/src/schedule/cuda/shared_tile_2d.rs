//! Shared-memory tiles of matrices: the block loads what its rows and columns read around themselves into shared
//! memory once. Chosen if the author asks for tiles, for contiguous, aligned arrays; otherwise register tiling loads
//! its lines from global memory.
//!
//! ```text
//! x[row ..][column ..]  ->  patch[rows of the block + halo][columns of the block + halo]
//! barrier
//! a thread loads its lines (`register_tiling.rs`) from the tile
//! ```
//!
//! A thread's lines lie at constant offsets from one index of the tile, so their addresses cost no instructions.

use super::elements::bind_all;
use super::expressions::{int32, thread, to_i64};
use super::register_tiling::placement::{
    self, InteriorBounds, Line, PlaneTiling, Reach, ThreadPosition, lane, warp,
};
use super::register_window;
use crate::core::NodeId;
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::BinaryOp;
use crate::schedule::boundary::interior::BoundaryWidth;
use crate::schedule::element::lower::{LaunchContext, Lower, bind};
use crate::schedule::groups::FusedGroup;

/// The bytes of shared memory that a block has on every device.
const MAX_BYTES: i64 = 48 << 10;

/// The tile of one array, at these offsets along the axes before the last two.
#[derive(Clone)]
struct SharedTile {
    array: NodeId,
    outer: Vec<i64>,
    mem: Mem,
    /// The first row and column, from the block's, and the number of rows and columns.
    first: (i64, i64),
    rows: i64,
    columns: i64,
    /// The vector width of accesses.
    width: i64,
    /// The index of the thread's first element if the tile began with the block's first element.
    own: Expr,
}

/// All tiles of a block.
#[derive(Clone)]
pub struct SharedTiles(Vec<SharedTile>);

impl SharedTiles {
    /// Returns `None` if no array needs a tile, or if the tiles are too large.
    pub fn of(l: &mut LaunchContext, lines: &[Line], tiling: PlaneTiling) -> Option<SharedTiles> {
        let mut all: Vec<SharedTile> = Vec::new();
        for line in lines {
            let (row, outer) = line.at.split_last()?;
            let width = register_window::widest(l, line.array, tiling.v);
            let (start, end) = line.columns();
            let start = start.div_euclid(width) * width;
            let end = (end - tiling.v + tiling.block_columns + width - 1).div_euclid(width) * width;
            let below = row + 1 - tiling.thread_rows + tiling.block_rows;
            match all.iter_mut().find(|p| p.array == line.array && p.outer == outer) {
                Some(p) => {
                    let (rows_end, columns_end) = (p.first.0 + p.rows, p.first.1 + p.columns);
                    p.first = (p.first.0.min(*row), p.first.1.min(start));
                    p.rows = rows_end.max(below) - p.first.0;
                    p.columns = columns_end.max(end) - p.first.1;
                }
                None => all.push(SharedTile {
                    array: line.array,
                    outer: outer.to_vec(),
                    mem: Mem::Shared(0),
                    first: (*row, start),
                    rows: below - row,
                    columns: end - start,
                    width,
                    own: int32(0),
                }),
            }
        }
        // an array of which each element is read by one thread only needs no tile
        all.retain(|p| p.rows > tiling.block_rows || p.columns > tiling.block_columns);
        let bytes = |p: &SharedTile| p.rows * p.columns * l.g.ty(p.array).elem.size() as i64 + 16;
        if all.is_empty() || all.iter().map(bytes).sum::<i64>() > MAX_BYTES {
            return None;
        }
        for p in &mut all {
            let row = warp().times(int32((tiling.thread_rows * p.columns) as i32));
            p.own = row.plus(lane().times(int32(tiling.v as i32)));
        }
        Some(SharedTiles(all))
    }

    /// Declares the shared memory of the tiles.
    pub fn declared(mut self, l: &mut Lower) -> SharedTiles {
        for p in &mut self.0 {
            p.mem = l.k.share("patch", l.launch.g.ty(p.array).elem, (p.rows * p.columns) as u32);
        }
        self
    }

    /// Returns the number of elements of an array in the tiles.
    pub fn elements(&self, array: NodeId) -> i64 {
        self.0.iter().filter(|p| p.array == array).map(|p| p.rows * p.columns).sum()
    }

    /// Returns where the element at that column offset of a line lies.
    pub fn address(&self, line: &Line, column: i64) -> Option<(Mem, Expr)> {
        let (row, outer) = line.at.split_last()?;
        let p = self.0.iter().find(|p| p.array == line.array && p.outer == outer)?;
        let by = (row - p.first.0) * p.columns + column - p.first.1;
        Some((p.mem, p.own.clone().plus(int32(by as i32))))
    }

    /// Returns whether all elements of a block are in the interior, and all that the tiles hold is in bounds.
    pub fn inside(
        &self,
        l: &mut Lower,
        fused: (&FusedGroup, &[BoundaryWidth]),
        tiling: PlaneTiling,
        position: &ThreadPosition,
    ) -> Expr {
        let mut sizes = vec![1; fused.0.domain.len() - 2];
        sizes.extend([tiling.block_rows, tiling.block_columns]);
        let mut reaches = Vec::new();
        for p in &self.0 {
            let outer = p.outer.iter().map(|i| (*i, i + 1));
            let plane = [(p.first.0, p.first.0 + p.rows), (p.first.1, p.first.1 + p.columns)];
            for (axis, (first, end)) in outer.chain(plane).enumerate() {
                reaches.push(Reach { array: p.array, axis, first, end });
            }
        }
        let bounds = InteriorBounds::of(l, fused, &position.block, &sizes, &reaches);
        bounds.contains(&position.block[position.block.len() - 1], tiling.block_columns)
    }

    /// Fills the tiles, and ends with a barrier.
    pub fn fill(&self, l: &mut Lower, position: &ThreadPosition, out: &mut Vec<Stmt>) {
        let threads = i64::from(l.k.kernel.threads);
        let mut stores = Vec::new();
        for p in &self.0 {
            let mem = l.launch.input(p.array);
            let accesses_per_row = p.columns / p.width;
            let accesses = p.rows * accesses_per_row;
            for round in 0..(accesses + threads - 1) / threads {
                let mut load = Vec::new();
                let number = bind(l, "number", thread().plus(int32((round * threads) as i32)), &mut load);
                let row = Expr::binary(BinaryOp::Div, number.clone(), int32(accesses_per_row as i32));
                let row = bind(l, "down", row, &mut load);
                let column = number.clone().minus(row.clone().times(int32(accesses_per_row as i32)));
                let column = bind(l, "right", column.times(int32(p.width as i32)), &mut load);
                let mut indices: Vec<Expr> = position
                    .block
                    .iter()
                    .zip(&p.outer)
                    .map(|(b, i)| placement::plus(b.clone(), *i))
                    .collect();
                let [first_row, first_column] = [0, 1].map(|i| position.block[p.outer.len() + i].clone());
                indices.push(placement::plus(first_row, p.first.0).plus(to_i64(row)));
                let line = placement::along(l, mem, &indices);
                let at = line.plus(placement::plus(first_column, p.first.1)).plus(to_i64(column));
                let regs = bind_all(l, p.array, at, p.width, &mut load);
                // the rows of a tile have no gaps, so accesses are numbered across the ends of rows
                let to = number.times(int32(p.width as i32));
                let store = match regs.as_slice() {
                    [one] => Stmt::Store(p.mem, to, Expr::Reg(*one)),
                    all => Stmt::StoreVec(p.mem, to, all.iter().map(|r| Expr::Reg(*r)).collect()),
                };
                let rest = accesses - round * threads;
                if rest < threads {
                    load.push(store);
                    let some = Expr::binary(BinaryOp::Lt, thread(), int32(rest as i32));
                    out.push(Stmt::If(some, load, vec![]));
                } else {
                    out.append(&mut load);
                    stores.push(store);
                }
            }
        }
        out.append(&mut stores);
        out.push(Stmt::Barrier);
    }
}
