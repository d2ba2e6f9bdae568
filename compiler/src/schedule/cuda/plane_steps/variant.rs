//! The variant that makes several steps of a stencil of volumes, with its guards and profit.

use super::PlaneStepsParams;
use crate::plan::gpu::Profit;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::cuda::thread_layout::ThreadLayout;
use crate::schedule::cuda::variant::{Choice, Guards, Variant, VariantGroup};
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::groups::FusedGroup;
use std::num::NonZeroU32;
use std::rc::Rc;

/// The minimum number of blocks: two for each multiprocessor of a large device.
const MIN_BLOCKS: u32 = 256;

/// Returns the variant. Rows must be aligned to 16 bytes: with an access for each element, two steps take 1.3 to 1.9
/// times as long as two single ones.
pub fn variant(l: &mut LaunchContext, fused: &FusedGroup, inner: &Rc<Interior>) -> Option<VariantGroup> {
    let size = l.repeated().and_then(|all| all.first().map(|x| l.g.ty(*x).elem.size() as i64))?;
    let layout = ThreadLayout { v: 16 / size, ..ThreadLayout::default() };
    let params = PlaneStepsParams::of(l, (fused, inner), layout)?;
    let guards = Guards {
        extent: NonZeroU32::new(params.least as u32),
        neighbours: NonZeroU32::new(layout.v as u32),
        ..Guards::contiguous().narrow().noalias()
    };
    let suffix = format!("_steps{}", params.steps);
    let profit = Profit { min_blocks: Some(MIN_BLOCKS), ..Profit::default() };
    let variant = Variant { suffix, guards, profit, noalias: true };
    Some(VariantGroup::of((Choice::PlaneSteps(params), Vec::new()), layout, inner, variant))
}
