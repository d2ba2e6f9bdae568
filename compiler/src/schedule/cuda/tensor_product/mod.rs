//! Matrix products by tensor cores, where the author allows them (semantics 8): a matrix whose element (i, j) is a
//! `panel_dot` of values at (i, k) and values at (k, j). The values are f16 or bf16, or f32, which is rounded to
//! tf32. Products are exact and are added in f32, in the order of the hardware.
//!
//! A block of four warps computes a block tile of 128 x 128 results, or of 64 x 64 for smaller products. Each warp
//! has a quarter of it in registers, as tiles of 16 x 8 for `MultiplyMatrices`. A step of the K loop takes 64 bytes
//! of inner indices. The operands of some steps lie in shared memory: one step is multiplied while the others are
//! being copied from global memory, without registers. Shared memory is permuted by pieces of 16 bytes, so that
//! neither copies nor loads of matrices have bank conflicts ([`layout`]). An operand is copied in the direction in
//! which it lies; the direction changes only the loads of fragments ([`fragments`]).
//!
//! Operands that are computed pass through registers on their way to shared memory ([`pieces`]). Operands of any
//! strides do so element by element; so do those of partial steps, with zeros in place of what is out of bounds
//! ([`staging`]). Operands of large products are first copied to aligned rows, by a launch of their own ([`packed`]).
//! On devices of sm_90 two warpgroups compute a block tile of 128 x 256 results from operands in shared memory,
//! without fragments, in steps of 128 bytes ([`warpgroups`]). Results go through shared memory as well, so that what
//! follows from them is computed and stored for eight neighbours at a time ([`epilogue`]).
//!
//! Blocks go through the matrix by groups of 8 block rows, so that those that run together share operands in the
//! second-level cache; in a batch, they go through one plane after another. Chosen for products that fill a device;
//! small and skinny ones are left to `product/`.

mod copies;
mod epilogue;
mod find;
mod fragments;
mod k_loop;
mod layout;
mod packed;
mod params;
mod pieces;
mod staging;
mod variants;
mod warpgroups;

use super::expressions::{int32, masked, shifted, thread, to_i64};
use super::product::extents;
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Mem, Reg, Stmt};
use crate::plan::gpu::Grid;
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::facts::products::Product;
use crate::schedule::groups::FusedGroup;
use layout::{COLUMNS, ROWS, Shape, Staged};
use params::Rows;
pub use params::TensorProductParams;
pub use variants::variants;

/// The number of block rows that blocks go through before they go on to the next block column.
const GROUP: i64 = 8;

/// What the functions that write a block's code share.
struct TensorBlock<'a> {
    p: &'a Product,
    shape: Shape,
    rows: Rows,
    strided: bool,
    /// The type of the elements that are multiplied; f32 stands for tf32.
    ty: Ty,
    /// The operands: their values in the element's type, and how they lie in shared memory.
    values: [NodeId; 2],
    sides: [Staged; 2],
    /// Shared memory: the stages of the rows, then those of the columns; at the end the results.
    words: Mem,
    /// In a batch, the variable of the plane and the block's plane.
    plane: Option<(NodeId, Expr)>,
    /// The number of planes.
    planes: Expr,
    /// The first row and column of the block, the number of rows and of columns, and of inner indices.
    origin: [Expr; 2],
    extents: [Expr; 2],
    length: Expr,
    /// The thread's number in its warp, and the first row and column of the warp in the block tile.
    lane: Expr,
    warp_origin: [Expr; 2],
    /// The sums, four for each tile of 16 rows by 8 columns: row tile by row tile.
    sums: Vec<Reg>,
}

/// Writes the code of one variant, and returns its grid.
pub fn emit(l: &mut Lower, fused: &FusedGroup, params: &TensorProductParams) -> Result<(Vec<Stmt>, Grid)> {
    if params.packs {
        return packs(l, fused, params);
    }
    (l.k.kernel.threads, l.k.kernel.min_resident_blocks) = (params.shape.threads(), params.shape.resident);
    let (p, shape) = (&*params.product, params.shape);
    let mut out = Vec::new();
    let extents = extents(l, fused);
    let length = l.region(&[], &[p.of.extent], &Expr::int(0), &mut out)?.remove(0);
    let (plane, origin) =
        block_origin(l, [0, 1].map(|side| shape.tile(side)), &extents, p.plane.is_some(), &mut out);
    let lane = bind(l, "lane", masked(thread(), 32), &mut out);
    let warp = bind(l, "warp", shifted(thread(), 32), &mut out);
    let across = shape.warps[1];
    let warp_origin = [(shifted(warp.clone(), across), 0), (masked(warp, across), 1)]
        .map(|(at, side)| bind(l, "own", at.times(int32(shape.warp_tile[side] as i32)), &mut out));
    let ty = params.operands.ty;
    let sides = params.sides();
    let zero = Expr::Lit(Lit::no_sum(Ty::F32));
    let count = shape.warp_tile[0] / ROWS * (shape.warp_tile[1] / COLUMNS) * 4;
    let sums: Vec<Reg> = (0..count).map(|_| l.k.reg("sum", Ty::F32)).collect();
    out.extend(sums.iter().map(|r| Stmt::Var(*r, zero.clone())));
    let words = l.k.share("words", Ty::U32, shape.words() as u32);
    let values = params.operands.values;
    let rows = params.rows;
    let strided = matches!(rows, Rows::Packed | Rows::Strided);
    let planes = params.planes(l, fused);
    let b = TensorBlock {
        p,
        shape,
        rows,
        strided,
        ty,
        values,
        sides,
        words,
        plane: p.plane.zip(plane),
        planes,
        origin,
        extents,
        length,
        lane,
        warp_origin,
        sums,
    };
    if shape.is_by_warpgroups() {
        b.warpgroup_loop(l, &mut out)?;
    } else {
        b.k_loop(l, &mut out)?;
    }
    b.epilogue(l, fused, &mut out)?;
    let [rows, columns] = [0, 1].map(|side| shape.tile(side) as u32);
    let is_packed = params.rows == Rows::Packed;
    Ok((out, if is_packed { Grid::Packed { rows, columns } } else { Grid::Plane { rows, columns } }))
}

/// Writes the code of the launch that packs the operands, and returns its grid.
fn packs(l: &mut Lower, fused: &FusedGroup, params: &TensorProductParams) -> Result<(Vec<Stmt>, Grid)> {
    let (p, shape, ty) = (&*params.product, params.shape, params.operands.ty);
    let mut out = Vec::new();
    let extents = extents(l, fused);
    let length = l.region(&[], &[p.of.extent], &Expr::int(0), &mut out)?.remove(0);
    let sides = params.sides();
    let mut b = TensorBlock {
        p,
        shape,
        rows: params.rows,
        strided: true,
        ty,
        values: params.operands.values,
        sides,
        words: l.launch.scratch(0, Ty::F32),
        plane: None,
        planes: params.planes(l, fused),
        origin: [Expr::int(0), Expr::int(0)],
        extents,
        length,
        lane: int32(0),
        warp_origin: [int32(0), int32(0)],
        sums: Vec::new(),
    };
    b.pack_operands(l, &mut out)?;
    Ok((out, Grid::Packs(sides[0].of_piece() as u32)))
}

impl TensorBlock<'_> {
    /// Returns the values that are known of the block's indices: its plane, in a batch.
    fn known(&self) -> Vec<(NodeId, Expr)> {
        self.plane.iter().cloned().collect()
    }
}

/// Returns the plane of the block, in a batch, and its first row and column.
fn block_origin(
    l: &mut Lower,
    tile: [i64; 2],
    extents: &[Expr; 2],
    is_batch: bool,
    out: &mut Vec<Stmt>,
) -> (Option<Expr>, [Expr; 2]) {
    let tiles = |n: &Expr, tile: i64| {
        let rounded_up = n.clone().plus(Expr::int(tile - 1));
        let tiles = Expr::binary(BinaryOp::Shr, rounded_up, Expr::int(tile.ilog2().into()));
        Expr::Cast(Ty::I32, Box::new(tiles))
    };
    let [down, across] = [0, 1].map(|s| tiles(&extents[s], tile[s]));
    let (down, across) = (bind(l, "down", down, out), bind(l, "across", across, out));
    let div = |a: &Expr, b: &Expr| Expr::binary(BinaryOp::Div, a.clone(), b.clone());
    let (mut block, mut plane) = (Expr::Place(Gpu::Block), None);
    if is_batch {
        let of_plane = bind(l, "all", down.clone().times(across.clone()), out);
        let at = bind(l, "plane", div(&block, &of_plane), out);
        block = bind(l, "block", block.minus(at.clone().times(of_plane)), out);
        plane = Some(to_i64(at));
    }
    let of_group = bind(l, "each", across.times(int32(GROUP as i32)), out);
    let group = bind(l, "group", div(&block, &of_group), out);
    let number = block.minus(group.clone().times(of_group));
    let number = bind(l, "number", number, out);
    let first = bind(l, "first", group.times(int32(GROUP as i32)), out);
    let rows = bind(l, "rows", down.minus(first.clone()).min(int32(GROUP as i32)), out);
    let column = bind(l, "column", div(&number, &rows), out);
    let row = first.plus(number).minus(column.clone().times(rows));
    let origin = [(row, tile[0]), (column, tile[1])];
    (plane, origin.map(|(at, tile)| bind(l, "origin", to_i64(at).times(Expr::int(tile)), out)))
}
