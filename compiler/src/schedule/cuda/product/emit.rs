//! Writes the code of one variant of a product, and chooses its grid.

use super::params::{Part, ProductParams};
use super::{main, split_k_sum};
use crate::error::Result;
use crate::kernel::Stmt;
use crate::plan::gpu::Grid;
use crate::schedule::element::lower::Lower;
use crate::schedule::groups::FusedGroup;

/// Returns the body of one variant, and its grid.
pub fn emit(
    l: &mut Lower,
    fused: &FusedGroup,
    params: &ProductParams,
    strided: bool,
) -> Result<(Vec<Stmt>, Grid)> {
    let p = &*params.product;
    let tile = if strided { params.tile.for_any_strides() } else { params.tile };
    let [rows, cols] = tile.sides.map(|s| s.size as u32);
    (l.k.kernel.fetch, l.k.kernel.min_resident_blocks) = (params.l2_prefetch, params.min_resident_blocks);
    if params.part == Part::Sum {
        l.k.kernel.threads = split_k_sum::THREADS;
        return Ok((split_k_sum::main(l, fused, p, tile, strided)?, Grid::Sums { rows, columns: cols }));
    }
    l.k.kernel.threads = tile.threads() as u32;
    let is_panel = params.part == Part::Panel;
    let grid =
        if is_panel { Grid::Panels { rows, columns: cols } } else { Grid::Plane { rows, columns: cols } };
    Ok((main(l, fused, p, tile, strided, is_panel)?, grid))
}
