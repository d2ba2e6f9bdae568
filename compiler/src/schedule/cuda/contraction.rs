//! Tiled contraction: elements (i, j), (p, i, j) or (i, p, j) that each reduce over k a function of values at (i, k)
//! and values at (j, k), both of which may depend on p. Examples are matrix products that are written by hand, the
//! distances of all pairs of points, products over other semirings, and convolutions of channels (i is the channel of
//! the result, p the row of its place, and k goes through the channels and neighbours). They are tiled for shared
//! memory and registers as matrix products are (`product/`; Volkov, Demmel 2008). Chosen for segmented reductions
//! whose elements read values of both kinds (`find.rs`). The cost is that of the operations for all (i, j, k).
//!
//! ```text
//!                       columns j
//!                   +--------------+
//!          k        | some k       |  staged: values at (j, k)
//!                   +--------------+
//!         +---+     +--------------+
//!  rows   | s |     |  [4 x 4] ..  |  16 x 16 threads, each with a register tile
//!  i      | o |     |  ..          |
//!         | m |     |              |
//!         | e |     |              |
//!         | k |     |              |
//!         +---+     +--------------+
//!   staged: values at (i, k)
//! ```
//!
//! Each reduction follows the fixed tree of semantics 5.1: tiles of 2048 inner indices k, in which 128 tree columns
//! fold 16 rows each and then join as a binary tree. (A tree column is a set of inner indices, unlike the columns j
//! of the result.) A block stages some neighbouring tree columns at once, with all 16 rows (`staging.rs`). Each
//! thread folds one tree column after another for its register tile, and joins a few of them in registers. Pairwise
//! accumulators in local memory (`schedule/element/counter.rs`), one for these joins and one for tiles, take the
//! results: they are accessed only once for several tree columns.
//!
//! Threads load one value at a time, so arrays may have any alignment. Where k is the contiguous index of an array,
//! neighbouring threads load neighbouring k, so that loads are coalesced.

mod block;
mod find;
mod params;
mod records;
mod register_tile;
mod staging;
mod tree;
mod variants;

use crate::error::Result;
use crate::kernel::Stmt;
use crate::schedule::element::lower::Lower;
use crate::schedule::groups::FusedGroup;
use block::Block;
pub use params::{ContractionParams, THREADS};
pub use variants::variants;

/// Writes the kernel body.
pub fn main(l: &mut Lower, fused: &FusedGroup, params: &ContractionParams) -> Result<Vec<Stmt>> {
    l.k.kernel.threads = THREADS;
    // with only one resident block, a multiprocessor would idle at the block's barriers
    l.k.kernel.min_resident_blocks = 2;
    let mut out = Vec::new();
    let block = Block::new(l, fused, params, &mut out)?;
    let totals = block.reduce(l, &mut out)?;
    let mut store = Vec::new();
    block.store(l, fused, &totals, &mut store)?;
    block.store_or_record(l, fused, store, &mut out)?;
    Ok(out)
}
