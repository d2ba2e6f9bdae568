//! Which variants a segmented reduction has, by the length of its segments.

use super::job::Way;
use crate::plan::gpu::Profit;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::cuda::select_elements;
use crate::schedule::cuda::shape::Shape;
use crate::schedule::cuda::variant::{Choice, Guards, Variant, VariantGroup};
use crate::schedule::facts::Along;
use crate::schedule::groups::FusedGroup;
use crate::schedule::lower::LaunchContext;
use crate::schedule::products;
use crate::schedule::strategy::Strategy;
use std::rc::Rc;

/// The variants: suffix, guards, way.
pub fn list(along: Along) -> Vec<(&'static str, Guards, Way)> {
    let up_to = |longest: u32, guards: Guards| Guards { longest: Some(longest), ..guards };
    if along == Along::Columns {
        return vec![
            ("_short", up_to(128, Guards::contiguous().narrow().noalias()), Way::NeighboursPerThread),
            (
                "",
                up_to(
                    crate::schedule::cuda::segments::columns::LONGEST,
                    Guards::contiguous().narrow().noalias(),
                ),
                Way::Strips,
            ),
            (
                "_wide",
                up_to(crate::schedule::cuda::segments::columns::LONGEST, Guards::contiguous()),
                Way::Strips,
            ),
            (
                "_any",
                up_to(crate::schedule::cuda::segments::columns::LONGEST, Guards::strided().narrow()),
                Way::Strips,
            ),
            ("_any_wide", Guards::strided(), Way::OnePerThread),
        ];
    }
    vec![
        ("_8", up_to(32, Guards::contiguous().narrow().noalias()), Way::Warp { lanes: 8, segments: 4 }),
        ("_16", up_to(64, Guards::contiguous().narrow().noalias()), Way::Warp { lanes: 16, segments: 4 }),
        ("_short", up_to(256, Guards::contiguous().narrow().noalias()), Way::Warp { lanes: 32, segments: 4 }),
        ("_warp", up_to(2048, Guards::contiguous().narrow().noalias()), Way::Warp { lanes: 32, segments: 1 }),
        ("", Guards::contiguous().narrow().noalias(), Way::SegmentTiles),
        ("_wide", Guards::contiguous(), Way::SegmentTiles),
        ("_any_warp", up_to(2048, Guards::strided().narrow()), Way::Warp { lanes: 32, segments: 1 }),
        ("_any", Guards::strided().narrow(), Way::SegmentTiles),
        ("_any_wide", Guards::strided(), Way::SegmentTiles),
    ]
}

/// All variants of a fused group, if it is a segmented reduction.
pub fn variants(l: &mut LaunchContext, fused: &FusedGroup) -> Option<Vec<VariantGroup>> {
    let along = l.facts.segments.as_ref()?.along;
    let strategy = match along {
        Along::Rows => Strategy::SegmentedRows,
        Along::Columns => Strategy::SegmentedColumns,
    };
    let inner = Rc::new(Interior::whole(fused));
    let group = |(suffix, guards, way): (&str, Guards, Way)| {
        let (strided, threads) = (!guards.contiguous, crate::schedule::cuda::map::THREADS);
        let (shape, choice) = match way {
            Way::OnePerThread => {
                let shape = Shape { v: 1, strided, threads, ..Shape::default() };
                let product = products::find(l, fused).filter(|p| p.is_matrix).map(Rc::new);
                (shape, select_elements::choose(l, (fused, &inner), product.as_ref(), shape))
            }
            way => (Shape { strided, ..Shape::default() }, (Choice::Segmented(way, strategy), Vec::new())),
        };
        let (suffix, noalias) = (suffix.to_string(), guards.noalias);
        let variant = Variant { suffix, guards, profit: Profit::default(), noalias };
        VariantGroup::of(choice, shape, &inner, variant)
    };
    Some(list(along).into_iter().map(group).collect())
}
