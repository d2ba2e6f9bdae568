//! The variants of a stream of planes.

use super::PlaneStreamParams;
use crate::core::StencilHint;
use crate::schedule::boundary::halo::Halo;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::cuda::select_elements::report;
use crate::schedule::cuda::thread_layout::ThreadLayout;
use crate::schedule::cuda::variant::{Choice, Guards, Variant, VariantGroup};
use crate::schedule::groups::FusedGroup;
use crate::schedule::lower::LaunchContext;
use crate::schedule::stencil;
use std::num::NonZeroU32;
use std::rc::Rc;

/// Returns the variants of a stencil of volumes: for aligned arrays, for an output that is an input, and for
/// rows of any alignment.
pub fn variants(
    l: &mut LaunchContext,
    fused: &FusedGroup,
    inner: &Rc<Interior>,
    layout: ThreadLayout,
) -> Vec<VariantGroup> {
    if fused.domain.len() < 3 {
        return Vec::new();
    }
    // elements at the edges that are computed in another way are so by conditions of the program's own elements
    let inner = match Halo::of(l, fused, inner) {
        Some(_) => inner.clone(),
        None => Rc::new(Interior::whole(fused)),
    };
    let stencils = stencil::stencils(&mut l.g, &fused.domain, &inner.arrays);
    let guards = Guards::contiguous().narrow();
    let whole = Guards { neighbours: NonZeroU32::new(layout.v as u32), ..guards };
    let mut aligned = vec![("_planes", whole.noalias())];
    if l.facts.accesses.may_be_in_place() {
        aligned.push(("_planes_in_place", whole));
    }
    let apart = ThreadLayout { unaligned: true, v: 1, ..layout };
    let mut groups = Vec::new();
    for (layout, list) in [(layout, aligned), (apart, vec![("_planes_unaligned", guards.noalias())])] {
        // what does not serve aligned arrays is no better for others
        let Some(params) = PlaneStreamParams::of(l, (fused, &inner), &stencils, layout) else { break };
        let profit = params.profit(l, fused);
        let why = "planes pass through registers, each loaded once by a block";
        let kept = report(l, &stencils, layout, |l, s| (StencilHint::Planes, params.loaded(l, s)), why);
        let variant = |(suffix, guards): (&str, Guards)| Variant {
            suffix: suffix.into(),
            guards,
            profit,
            noalias: guards.noalias,
        };
        groups.push(VariantGroup {
            layout,
            choice: Choice::PlaneStream(params),
            inner: inner.clone(),
            variants: list.into_iter().map(variant).collect(),
            may_be_left_out: true,
            stencils: kept,
            transposed: Vec::new(),
        });
    }
    groups
}
