//! The variants of a walk through planes.

use super::PlaneWalkParams;
use crate::core::StencilHint;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::cuda::select_elements::report;
use crate::schedule::cuda::thread_layout::ThreadLayout;
use crate::schedule::cuda::variant::{Choice, Guards, Variant, VariantGroup};
use crate::schedule::groups::{FusedGroup, has_reduction, is_store};
use crate::schedule::lower::LaunchContext;
use crate::schedule::stencil;
use std::rc::Rc;

/// Returns the variants of a stencil of volumes: for aligned arrays, for an output that is an input, and for
/// rows of any alignment.
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
    let stencils = stencil::stencils(&mut l.g, &fused.domain, &inner.arrays);
    let guards = Guards::contiguous().narrow();
    let mut aligned = vec![("_planes", guards.noalias())];
    if l.facts.accesses.may_be_in_place() {
        aligned.push(("_planes_in_place", guards));
    }
    let unaligned =
        (ThreadLayout { unaligned: true, ..layout }, vec![("_planes_unaligned", guards.noalias())]);
    let mut groups = Vec::new();
    for (layout, list) in [(layout, aligned), unaligned] {
        if layout.unaligned && layout.v == 1 {
            continue;
        }
        let Some(params) = PlaneWalkParams::of(l, (fused, inner), &stencils, layout) else { continue };
        let profit = params.profit(l, fused);
        let why = "neighbouring planes are read by one block, one after another";
        let kept = report(l, &stencils, layout, |l, s| (StencilHint::Planes, params.loaded(l, s)), why);
        let variant = |(suffix, guards): (&str, Guards)| Variant {
            suffix: suffix.into(),
            guards,
            profit,
            noalias: guards.noalias,
        };
        groups.push(VariantGroup {
            layout,
            choice: Choice::PlaneWalk(params),
            inner: inner.clone(),
            variants: list.into_iter().map(variant).collect(),
            may_be_left_out: true,
            stencils: kept,
            transposed: Vec::new(),
        });
    }
    groups
}
