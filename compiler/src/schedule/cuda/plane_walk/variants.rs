//! The variants of a walk through planes.

use super::{MIN_BLOCKS, PlaneWalkParams};
use crate::plan::gpu::Profit;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::cuda::plane_variants::{self, PlaneParams};
use crate::schedule::cuda::register_tiling;
use crate::schedule::cuda::thread_layout::ThreadLayout;
use crate::schedule::cuda::variant::{Choice, Guards, VariantGroup};
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::facts::stencil::Stencil;
use crate::schedule::groups::{FusedGroup, has_reduction, is_store};
use std::rc::Rc;

impl PlaneParams for PlaneWalkParams {
    const WHY: &str = "neighbouring planes are read by one block, one after another";

    /// Returns the bytes of an array that a thread loads for each element.
    fn loaded(&self, l: &LaunchContext, s: &Stencil) -> f64 {
        let lines = self.lines.iter().filter(|line| line.array == s.array);
        let elements: i64 = lines.flat_map(|line| line.pieces.iter().map(|p| p.1)).sum();
        let own = self.planes * self.tiling.thread_rows * self.tiling.v;
        l.g.ty(s.array).elem.size() as f64 * elements as f64 / own as f64
    }

    /// Returns for which extents blocks have enough elements, and there are enough blocks.
    fn profit(&self, l: &LaunchContext, fused: &FusedGroup) -> Profit {
        let of_plane = register_tiling::profit(l, fused, self.tiling).unwrap_or_default();
        Profit { min_blocks: Some(MIN_BLOCKS), ..of_plane }
    }

    fn choice(self) -> Choice {
        Choice::PlaneWalk(self)
    }
}

/// Returns the variants of a stencil of volumes.
pub fn variants(
    l: &mut LaunchContext,
    fused: &FusedGroup,
    inner: &Rc<Interior>,
    layout: ThreadLayout,
) -> Vec<VariantGroup> {
    if fused.domain.len() < 3
        || has_reduction(&l.g, fused)
        || !fused.items.iter().all(|it| is_store(&l.g, it))
    {
        return Vec::new();
    }
    let guards = Guards::contiguous().narrow();
    let unaligned = (layout.v > 1).then_some((ThreadLayout { unaligned: true, ..layout }, guards));
    plane_variants::list(l, (fused, inner), (layout, guards), unaligned, |l, stencils, layout| {
        PlaneWalkParams::of(l, (fused, inner), stencils, layout)
    })
}
