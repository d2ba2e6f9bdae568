//! Rows that are longer than the registers of a block can hold. The blocks of a cluster share such a row: each keeps
//! a power of two of neighbouring tiles of it. For a reduction, each block joins its tiles and writes the result into
//! the shared memory of all blocks of the cluster; then every block joins all results. Since a block's tiles are a
//! subtree, this is the fixed tree of semantics 5.1.
//!
//! ```text
//! block 0: tiles 0..8  -> p0          every block: parts = p0 p1 p2 p3
//! block 1: tiles 8..16 -> p1    ->                 join (join p0 p1) (join p2 p3)
//! ..
//! ```
//!
//! Shared memory of another block may be written only while that block runs. So a block writes only after all blocks
//! of the cluster have begun (a first cluster barrier), and ends only after all have written (the barrier after the
//! writes). Clusters need sm_90 or later; other devices run the separate launches that this one replaces.

use super::mapping::ResidentRowsParams;
use crate::core::{COLUMNS, TILE};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Mem, Stmt};
use crate::plan::gpu::Profit;
use crate::scalar::BinaryOp;
use crate::schedule::cuda::expressions::{int32, thread, to_i64};
use crate::schedule::cuda::segments::pairs;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::reduction::Reduction;

/// For each level, the number of warps of a block and of blocks of a cluster. With eight warps, two blocks are
/// resident on a multiprocessor, and one loads or stores while the other computes.
const LEVELS: [(u32, u32); 3] = [(8, 4), (8, 8), (16, 8)];

/// The number of rows of a tile. A lane has all rows of its columns.
pub(super) const TILE_ROWS: i64 = TILE / COLUMNS;

/// Returns all mappings of rows to clusters, those for the shortest rows first, given the vector width of accesses
/// and the words of an element.
pub(super) fn levels(v: i64, words: i64) -> impl Iterator<Item = ResidentRowsParams> {
    // two warps share a tile if elements have several words, or if each has an address of its own
    let columns = if words > 1 || v == 1 { 2 } else { 4 };
    LEVELS.into_iter().map(move |(warps, blocks)| {
        let of_block = ResidentRowsParams::of_warps(TILE_ROWS, columns, warps);
        ResidentRowsParams { blocks, v: v.min(columns), ..of_block }
    })
}

/// Returns the rows for which clusters are the fastest: those longer than a single block keeps.
pub(super) fn profit(longest_of_block: u32) -> Profit {
    Profit { min_inner_length: Some(longest_of_block + 1), ..Profit::default() }
}

/// Returns this block's number in its cluster.
pub(super) fn rank(p: &ResidentRowsParams) -> Expr {
    Expr::binary(BinaryOp::And, Expr::Place(Gpu::Block), int32(p.blocks as i32 - 1))
}

/// Returns the number of the row of this block's cluster.
pub(super) fn row(p: &ResidentRowsParams) -> Expr {
    let by = int32(p.blocks.trailing_zeros() as i32);
    to_i64(Expr::binary(BinaryOp::Shr, Expr::Place(Gpu::Block), by))
}

/// Joins the accumulators of the blocks of a cluster. `of_block` are this block's accumulators, which every thread
/// has. Thread `b` sends them to block `b`.
pub(super) fn join(
    l: &mut Lower,
    r: &Reduction,
    p: &ResidentRowsParams,
    of_block: Vec<Expr>,
    out: &mut Vec<Stmt>,
) -> Result<Vec<Expr>> {
    let parts: Vec<Mem> = r.each().map(|r| l.k.share("parts", r.ty, p.blocks)).collect();
    let of_block: Vec<Expr> = of_block.into_iter().map(|e| bind(l, "part", e, out)).collect();
    let (at, to) = (to_i64(rank(p)), thread());
    let stores = parts.iter().zip(of_block).map(|(m, e)| Stmt::StoreTo(*m, at.clone(), to.clone(), e));
    let stores = stores.collect();
    let has_receiver = Expr::binary(BinaryOp::Lt, to, int32(p.blocks as i32));
    out.push(Stmt::If(has_receiver, stores, vec![]));
    out.push(Stmt::ClusterBarrier { relaxed: false });
    let mut load = |block: u32| -> Vec<Expr> {
        let load = |m: &Mem| bind(l, "part", Expr::load(*m, Expr::int(block.into())), out);
        parts.iter().map(load).collect()
    };
    let all = (0..p.blocks).map(&mut load).collect();
    pairs(l, r, all, out)
}
