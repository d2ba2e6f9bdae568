//! The variant of a contraction, and the shapes for which it is the fastest.

use super::find::find;
use super::params::MAX_LENGTH;
use crate::plan::gpu::Profit;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::cuda::thread_layout::ThreadLayout;
use crate::schedule::cuda::variant::{Choice, Guards, Variant, VariantGroup};
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::groups::FusedGroup;
use std::rc::Rc;

/// The minimum number of blocks. With fewer, a segmented reduction with a block for each element is as fast.
const MIN_BLOCKS: u32 = 4;

/// The minimum number of inner indices if the axis of rows stands first, as in a convolution with several results for
/// each place: windows with few elements are faster by a thread for each window.
const MIN_LENGTH: u32 = 64;

/// Returns the variant of a fused group that is a contraction.
pub fn variants(l: &mut LaunchContext, fused: &FusedGroup) -> Option<VariantGroup> {
    let params = find(l, fused)?;
    let guards = Guards { longest: Some(MAX_LENGTH), ..Guards::contiguous().narrow().noalias() };
    let min_inner_length = params.rows_first.then_some(MIN_LENGTH);
    let profit = Profit { min_blocks: Some(MIN_BLOCKS), min_inner_length, ..Profit::default() };
    let variant = Variant { suffix: "_tiled".into(), guards, profit, noalias: true };
    let layout = ThreadLayout { v: 1, threads: super::params::THREADS, ..ThreadLayout::default() };
    let inner = Rc::new(Interior::whole(fused));
    Some(VariantGroup::of((Choice::Contraction(params), Vec::new()), layout, &inner, variant))
}
