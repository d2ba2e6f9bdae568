//! The variants of a stream of planes: one for rows that are aligned to 16 bytes, with vector accesses, and one for
//! any alignment.

use super::{MIN_BLOCKS, PlaneStreamParams};
use crate::plan::gpu::Profit;
use crate::schedule::boundary::halo::Halo;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::cuda::plane_variants::{self, PlaneParams};
use crate::schedule::cuda::register_tiling;
use crate::schedule::cuda::thread_layout::ThreadLayout;
use crate::schedule::cuda::variant::{Choice, Guards, VariantGroup};
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::facts::stencil::Stencil;
use crate::schedule::groups::FusedGroup;
use std::num::NonZeroU32;
use std::rc::Rc;

impl PlaneParams for PlaneStreamParams {
    const WHY: &str = "planes pass through registers, each loaded once by a block";

    /// Returns the bytes of an array that a thread loads for each element that it stores.
    fn loaded(&self, l: &LaunchContext, s: &Stencil) -> f64 {
        let elements: usize = self.loaded.iter().filter(|of| of.0 == s.array).map(|of| of.1).sum();
        let own = self.tiling.thread_rows * self.tiling.v;
        l.g.ty(s.array).elem.size() as f64 * elements as f64 / own as f64
    }

    /// Returns the extents for which blocks have enough elements, and there are enough blocks.
    fn profit(&self, l: &LaunchContext, fused: &FusedGroup) -> Profit {
        let of_plane = register_tiling::profit(l, fused, self.tiling).unwrap_or_default();
        Profit { min_blocks: Some(MIN_BLOCKS), ..of_plane }
    }

    fn choice(self) -> Choice {
        Choice::PlaneStream(self)
    }
}

/// Returns the variants of a stencil of volumes.
pub fn variants(
    l: &mut LaunchContext,
    fused: &FusedGroup,
    inner: &Rc<Interior>,
    layout: ThreadLayout,
) -> Vec<VariantGroup> {
    if fused.domain.len() < 3 {
        return Vec::new();
    }
    // without a common halo, elements are computed as the program has them, by its own conditions at the edges
    let inner = match Halo::of(l, fused, inner) {
        Some(_) => inner.clone(),
        None => Rc::new(Interior::whole(fused)),
    };
    let guards = Guards::contiguous().narrow();
    let whole = Guards { neighbours: NonZeroU32::new(layout.v as u32), ..guards };
    let unaligned = (ThreadLayout { unaligned: true, v: 1, ..layout }, guards);
    let mut serves = true;
    plane_variants::list(l, (fused, &inner), (layout, whole), Some(unaligned), |l, stencils, layout| {
        // if there is no variant for aligned rows, there is none for others
        let params = PlaneStreamParams::of(l, (fused, &inner), stencils, layout).filter(|_| serves);
        serves = params.is_some();
        params
    })
}
