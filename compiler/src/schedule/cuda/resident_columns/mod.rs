//! Resident columns (`schedule/alternatives/resident_segments.rs`) on a GPU: one launch for several stages that go
//! over the columns of a matrix, such as a softmax along columns. A block has a strip of neighbouring columns, whose
//! elements stay in the registers of its threads from stage to stage. Each element is loaded once, by vector
//! accesses. A value that several stages need of an element stays in a register, too.
//!
//! ```text
//! thread (c, x) of a tile:   rows c t + s + 128 r  for s < t and r < 16,   columns x v .. x v + v
//! ```
//!
//! So a thread has t neighbouring tree columns, of the 128 of a tile of 2048 rows (semantics 5.1), for `v`
//! neighbouring columns of the matrix. For a reduction, a thread folds the elements of each of its tree columns and
//! joins the tree columns in registers; shuffles join those of a warp, and shared memory those of several warps. All
//! loads of a thread come before the first use. The shorter the columns, the more tree columns a thread has and the
//! more threads are side by side: memory is faster where a block reads longer pieces of a row.
//!
//! The cost is one pass over the columns and over the results. The registers limit a column's length. Columns that
//! are longer than a block can hold are shared by the blocks of a cluster, each of which has a power of two of tiles
//! and writes the totals of its part into the shared memory of all others. Even longer columns run as separate
//! launches, one for each stage.

mod mapping;
mod prefetch;
mod reduce;
mod strip;
mod variants;

use super::resident_segments::Demand;
use crate::error::Result;
use crate::kernel::Stmt;
use crate::schedule::element::lower::Lower;
use crate::schedule::facts::{ResidentSegments, Stage};
pub use mapping::ResidentColumnsParams;
use strip::Strip;
pub use variants::{limit, variants};

/// Writes the kernel body: for each stage, loads of elements not loaded yet, then its reductions or stores.
pub fn main(l: &mut Lower, kept: &ResidentSegments, p: &ResidentColumnsParams) -> Result<Vec<Stmt>> {
    let demand = Demand::of(l.launch, kept).expect("an array is read");
    l.k.kernel.min_resident_blocks = p.min_resident_blocks(demand.words, demand.of_moments);
    let mut out = Vec::new();
    let mut strip = Strip::begin(l, kept, p, &mut out);
    for (number, stage) in kept.stages.iter().enumerate() {
        strip.load(l, number, &mut out)?;
        if number == 0 && p.blocks > 1 {
            out.push(Stmt::Note("all blocks of the cluster have begun".into()));
            out.push(Stmt::ClusterBarrier { relaxed: true });
        }
        match stage {
            Stage::Reduce { reductions, values } => {
                strip.reduce(l, number, (reductions, values), &mut out)?;
            }
            Stage::Store { arrays } => strip.store(l, number, arrays, &mut out)?,
        }
    }
    Ok(out)
}
