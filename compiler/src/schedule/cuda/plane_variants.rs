//! The variants that `plane_stream/` and `plane_walk/` both have: for aligned arrays, for an output that is also an
//! input, and for rows of any alignment.

use super::select_elements::report;
use super::thread_layout::ThreadLayout;
use super::variant::{Choice, Guards, Variant, VariantGroup};
use crate::core::StencilHint;
use crate::plan::gpu::Profit;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::facts::stencil::{self, Stencil};
use crate::schedule::groups::FusedGroup;
use std::rc::Rc;

/// The parameters of a strategy of volumes.
pub trait PlaneParams {
    /// The reason that reports give for the choice.
    const WHY: &str;

    /// Returns the extents for which the strategy is the fastest.
    fn profit(&self, l: &LaunchContext, fused: &FusedGroup) -> Profit;

    /// Returns the bytes of an array that a thread loads for each element.
    fn loaded(&self, l: &LaunchContext, s: &Stencil) -> f64;

    fn choice(self) -> Choice;
}

/// Returns the variants of a stencil of volumes. `aligned` and `unaligned` are layouts of threads with the guards of
/// their code; `of` returns the parameters for a layout, if the strategy can use it.
pub fn list<P: PlaneParams>(
    l: &mut LaunchContext,
    (fused, inner): (&FusedGroup, &Rc<Interior>),
    aligned: (ThreadLayout, Guards),
    unaligned: Option<(ThreadLayout, Guards)>,
    mut of: impl FnMut(&mut LaunchContext, &[Stencil], ThreadLayout) -> Option<P>,
) -> Vec<VariantGroup> {
    let stencils = stencil::stencils(&mut l.g, &fused.domain, &inner.arrays);
    let mut whole = vec![("_planes", aligned.1.noalias())];
    if l.facts.accesses.may_be_in_place() {
        whole.push(("_planes_in_place", aligned.1));
    }
    let any = unaligned.map(|(layout, guards)| (layout, vec![("_planes_unaligned", guards.noalias())]));
    let mut groups = Vec::new();
    for (layout, list) in [(aligned.0, whole)].into_iter().chain(any) {
        let Some(params) = of(l, &stencils, layout) else { continue };
        let profit = params.profit(l, fused);
        let stencils =
            report(l, &stencils, layout, |l, s| (StencilHint::Planes, params.loaded(l, s)), P::WHY);
        let variant = |(suffix, guards): (&str, Guards)| Variant {
            suffix: suffix.into(),
            guards,
            profit,
            noalias: guards.noalias,
        };
        groups.push(VariantGroup {
            layout,
            choice: params.choice(),
            inner: inner.clone(),
            variants: list.into_iter().map(variant).collect(),
            may_be_left_out: true,
            stencils,
            transposed: Vec::new(),
        });
    }
    groups
}
