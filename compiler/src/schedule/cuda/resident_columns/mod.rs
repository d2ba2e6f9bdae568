//! Resident columns (`schedule/alternatives/resident_segments.rs`) on a GPU: a block has a strip of neighbouring
//! columns, whose elements lie in the registers of its threads. Each element is loaded once, by vector accesses; a
//! value of it that several stages need is kept in a register as well.
//!
//! ```text
//! thread (c, x) of the block:   elements (c t + s + 128 r, x v .. x v + v)  for s < t, and the 16 rows r of a tile
//! ```
//!
//! So a thread has t neighbours of the 128 tree columns of a tile (semantics 5.1), for `v` neighbouring columns of
//! the matrix. For a reduction, a thread folds the rows of its tree columns and joins these in registers; shuffles
//! join those of a warp, and shared memory those of several warps. All loads of a thread come before the first use.
//! The fewer rows there are, the more tree columns a thread has, and the more threads are side by side: memory is
//! faster where a block reads more of a row.
//!
//! The cost is that of reading the columns and writing the results once. The number of registers limits the length.
//! Columns that are longer than a block can hold are shared by the blocks of a cluster, each of which has a power of
//! two of tiles and writes the totals of its part into the shared memory of all others. Even longer columns take the
//! launches that this one replaces.

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

/// Writes the code of a thread.
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
