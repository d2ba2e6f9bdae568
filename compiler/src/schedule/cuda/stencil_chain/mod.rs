//! Chains of stencils: several stencils of matrices one after another in one launch, which keeps the results of all
//! but the last in shared-memory tiles. The tiles overlap (Ragan-Kelley et al. 2013, "compute at" a tile): each block
//! computes by itself what it shares with its neighbours. Chosen where the traffic that this saves takes longer than
//! the redundant elements (`stencil_cost.rs`).
//!
//! ```text
//! for each stage but the last:
//!     tile[rows and columns of the block, and as far around as later stages read] = the stage's elements
//!     barrier
//! the last stage as in register tiling, with its lines taken from the tiles
//! ```
//!
//! The parts of a tile (rows of neighbouring columns) are dealt to the threads by turns. A part in the interior is
//! computed line by line as in register tiling. Other parts are computed element by element, from arrays in memory
//! alone: beyond the edges of a stage's matrix the tile holds what its readers take there, so the last stage has no
//! edges.

mod code;
mod fill;
mod part;
mod tiles;

pub use code::main;
pub use tiles::ChainTiles;

use super::thread_layout::ThreadLayout;
use super::variant::{Choice, Guards, Variant, VariantGroup};
use crate::plan::gpu::Profit;
use crate::schedule::element::lower::LaunchContext;
use std::num::NonZeroU32;
use std::rc::Rc;
use tiles::THREADS;

/// Returns the variants of a launch that computes a chain of stencils.
pub fn variants(l: &mut LaunchContext) -> Option<Vec<VariantGroup>> {
    let chain = l.facts.stencil_chain.clone().filter(|chain| chain.has_faster_gpu_tiles)?;
    let tiles = ChainTiles::of(l, &chain)?;
    let [min_rows, min_columns] = tiles.tiling.least().map(Some);
    let extent = if chain.least > 1 { NonZeroU32::new(u32::try_from(chain.least).ok()?) } else { None };
    let guards = Guards { extent, ..Guards::contiguous().narrow().noalias() };
    let profit = Profit { min_rows, min_columns, ..Profit::default() };
    // the other variants compute every stage again where it is read
    let suffix = if chain.has_recomputing_variants { "_tiles" } else { "" };
    let variant = Variant { suffix: suffix.into(), guards, profit, noalias: true };
    let layout = ThreadLayout { v: tiles.tiling.v, threads: THREADS, ..ThreadLayout::default() };
    let inner = Rc::new(chain.stages.last().map(|s| s.inner.clone())?);
    Some(vec![VariantGroup::of((Choice::StencilChain(tiles), Vec::new()), layout, &inner, variant)])
}

/// Returns a description, for reports, of what a chain of stencils keeps in shared memory.
pub fn described(l: &mut LaunchContext) -> Option<String> {
    let chain = l.facts.stencil_chain.clone().filter(|chain| chain.has_faster_gpu_tiles)?;
    let tiles = ChainTiles::of(l, &chain)?;
    let own = tiles.tiling.block_rows * tiles.tiling.block_columns;
    let before = chain.stages.iter().zip(&tiles.tiles).take(chain.stages.len() - 1);
    let of_stage = before.map(|(stage, tile)| {
        let names: Vec<String> = stage.fused.items.iter().map(|it| l.array_name(it.node)).collect();
        let [rows, columns] = tile.size;
        let each = (rows * columns) as f64 / own as f64;
        format!(
            "{}, {rows} rows by {columns} columns, {each:.2} elements for each that is stored",
            names.join(" ")
        )
    });
    Some(format!("in shared memory, for each block: {}", of_stage.collect::<Vec<_>>().join("; ")))
}
