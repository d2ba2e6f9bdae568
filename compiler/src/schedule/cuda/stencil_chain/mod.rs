//! Chains of stencils: several stencils of matrices, each of which reads the results of earlier ones, in one launch.
//! Only the last stage's results are stored in global memory; those of the other stages lie in shared-memory tiles.
//! The tiles of neighbouring blocks overlap (Ragan-Kelley et al. 2013, "compute at" a tile): each block computes its
//! halo redundantly, so blocks do not wait for each other. Chosen where the saved traffic would take longer than the
//! redundant elements (`stencil_cost.rs`).
//!
//! ```text
//! for each stage but the last:
//!     tile[the block's rows and columns, with a halo as wide as later stages read] = the stage's elements
//!     barrier
//! the last stage as in register tiling, with its lines loaded from the tiles
//!
//! two 3x3 stages:   +-----------+   the first stage's tile: the block's elements and a halo of one row and column
//!                   | +-------+ |
//!                   | | block | |   the last stage computes these
//!                   | +-------+ |
//!                   +-----------+
//! ```
//!
//! A tile is cut into parts, each a few rows of `v` neighbouring columns, which the threads take round-robin. A part
//! in the interior is computed line by line as in register tiling. The elements of other parts are computed one by
//! one, from arrays in global memory alone. Where a tile extends beyond the edges of its stage's matrix, it holds the
//! values that the readers' boundary conditions ask for, so the last stage needs no code for edges.

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
    // the suffix tells this variant from those that compute every stage again where it is read
    let suffix = if chain.has_recomputing_variants { "_tiles" } else { "" };
    let variant = Variant { suffix: suffix.into(), guards, profit, noalias: true };
    let layout = ThreadLayout { v: tiles.tiling.v, threads: THREADS, ..ThreadLayout::default() };
    let inner = Rc::new(chain.stages.last().map(|s| s.inner.clone())?);
    Some(vec![VariantGroup::of((Choice::StencilChain(tiles), Vec::new()), layout, &inner, variant)])
}

/// Describes, for reports, the tiles that a block has in shared memory: their names, sizes and redundancy.
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
