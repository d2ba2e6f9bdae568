//! The variants of a transposed tile.

use super::TransposedTileParams;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::cuda::thread_layout::ThreadLayout;
use crate::schedule::cuda::variant::{Choice, Guards, Variant, VariantGroup};
use crate::schedule::groups::FusedGroup;
use crate::schedule::lower::LaunchContext;
use std::rc::Rc;

/// Returns the variants of a map with transposed reads: for aligned arrays, also of so many elements
/// that indices have 64 bits, and for any alignment.
pub fn variants(
    l: &mut LaunchContext,
    fused: &FusedGroup,
    inner: &Rc<Interior>,
    layout: ThreadLayout,
) -> Vec<VariantGroup> {
    let Some(params) = TransposedTileParams::of(l, fused, inner) else { return Vec::new() };
    let profit = params.profit(l, fused).unwrap_or_default();
    let report = params.report(l);
    let guards = Guards::contiguous().noalias();
    let variant = |suffix: &str, guards| Variant { suffix: suffix.into(), guards, profit, noalias: true };
    let aligned = vec![variant("_transposed", guards.narrow()), variant("_transposed_wide", guards)];
    let unaligned = vec![variant("_transposed_unaligned", guards.narrow())];
    let group = |(is_aligned, variants): (bool, Vec<Variant>)| VariantGroup {
        layout,
        choice: Choice::TransposedTile(TransposedTileParams { is_aligned, ..params.clone() }),
        inner: inner.clone(),
        variants,
        may_be_left_out: true,
        stencils: Vec::new(),
        transposed: if is_aligned { report.clone() } else { Vec::new() },
    };
    [(true, aligned), (false, unaligned)].map(group).into()
}
