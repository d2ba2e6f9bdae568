//! Tiled contraction: elements (i, j), or (p, i, j), that each reduce over k a function of values at (i, k) and
//! values at (j, k). Examples are matrix products that are written by hand, the distances of all pairs of points, and
//! products over other semirings. They are tiled for shared memory and registers as matrix products are (`product/`;
//! Volkov, Demmel 2008). Chosen for segmented reductions whose elements have values of both kinds (`find.rs`); the
//! cost is that of the pairs' operations.
//!
//! ```text
//!                       columns j
//!                   +--------------+
//!          k        | 1 slot of k  |  staged: values at (j, k)
//!                   +--------------+
//!         +---+     +--------------+
//!  rows   | s |     |  [4 x 4] ..  |  16 x 16 threads, each with a register tile
//!  i      | l |     |  ..          |
//!         | o |     |              |
//!         | t |     |              |
//!         +---+     +--------------+
//!   staged: values at (i, k)
//! ```
//!
//! The order of each reduction is that of semantics 5.1: tiles of 2048 inner indices, in which 128 columns fold 16
//! rows each and then join as a binary tree. (These columns are those of k; they have nothing to do with the columns
//! of the result.) A block stages some neighbouring columns with all of their rows at once (`staging.rs`). Each
//! thread folds one column after another for its register tile, and joins a few of them in registers. A pairwise
//! accumulator in local memory (`schedule/element/counter.rs`) takes these joins, and another one the tiles: each is
//! touched only once in several columns.
//!
//! Threads load one value at a time, so that arrays may have any alignment. Where k is the contiguous
//! index of an array, neighbouring threads load neighbouring columns of k.

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

/// Writes the code of one thread.
pub fn main(l: &mut Lower, fused: &FusedGroup, params: &ContractionParams) -> Result<Vec<Stmt>> {
    l.k.kernel.threads = THREADS;
    // without a bound a block has a multiprocessor for itself, which idles at the block's barriers
    l.k.kernel.min_resident_blocks = 2;
    let mut out = Vec::new();
    let block = Block::new(l, fused, params, &mut out)?;
    let totals = block.reduce(l, &mut out)?;
    let mut store = Vec::new();
    block.store(l, fused, &totals, &mut store)?;
    block.store_or_record(l, fused, store, &mut out)?;
    Ok(out)
}
