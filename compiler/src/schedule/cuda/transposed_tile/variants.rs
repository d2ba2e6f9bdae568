//! The variants of a transposed tile.

use super::TransposedTileParams;
use crate::plan::gpu::Profit;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::cuda::thread_layout::ThreadLayout;
use crate::schedule::cuda::variant::{Choice, Guards, Variant, VariantGroup};
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::groups::FusedGroup;
use std::rc::Rc;

/// The minimum number of large tiles. A multiprocessor holds up to seven, and would be idle if there were fewer.
const MIN_LARGE: u32 = 1024;

/// Returns the variants of a map with transposed reads: for aligned arrays, with large tiles and small ones, and with
/// 64-bit indices for very many elements; and for any alignment.
pub fn variants(
    l: &mut LaunchContext,
    fused: &FusedGroup,
    inner: &Rc<Interior>,
    layout: ThreadLayout,
) -> Vec<VariantGroup> {
    let Some(params) = TransposedTileParams::of(l, fused, inner, false) else { return Vec::new() };
    let large = TransposedTileParams::of(l, fused, inner, true);
    let large = large.filter(|large| large.partition.side > params.partition.side);
    let unaligned = TransposedTileParams { is_aligned: false, ..params.clone() };
    let (guards, narrow) = (Guards::contiguous().noalias(), Guards::contiguous().noalias().narrow());
    let all = [
        large.map(|large| (large, Some(MIN_LARGE), vec![("_transposed_large", narrow)])),
        Some((params, None, vec![("_transposed", narrow), ("_transposed_wide", guards)])),
        Some((unaligned, None, vec![("_transposed_unaligned", narrow)])),
    ];
    let mut group =
        |(params, min_blocks, names): (TransposedTileParams, Option<u32>, Vec<(&str, Guards)>)| {
            let profit = Profit { min_blocks, ..params.profit(l, fused).unwrap_or_default() };
            let variant = |(suffix, guards): (&str, Guards)| Variant {
                suffix: suffix.into(),
                guards,
                profit,
                noalias: true,
            };
            VariantGroup {
                layout,
                inner: inner.clone(),
                variants: names.into_iter().map(variant).collect(),
                may_be_left_out: true,
                stencils: Vec::new(),
                transposed: if params.is_aligned { params.report(l) } else { Vec::new() },
                choice: Choice::TransposedTile(params),
            }
        };
    all.into_iter().flatten().map(&mut group).collect()
}
