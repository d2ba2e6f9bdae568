//! The variants of a launch with resident rows, by the length of the rows.

use super::ResidentRowsParams;
use crate::kernel::WARP;
use crate::plan::gpu::Profit;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::cuda::thread_layout::ThreadLayout;
use crate::schedule::cuda::variant::{Choice, Guards, Variant, VariantGroup};
use crate::schedule::groups::FusedGroup;
use crate::schedule::lower::LaunchContext;
use crate::schedule::resident_rows::Stage;
use std::num::NonZeroU32;
use std::rc::Rc;

/// The most words of a thread that hold elements. Of the 255 registers that a thread can have, the
/// rest are accumulators, addresses and what is being computed.
const MOST_WORDS: i64 = 128;

/// Lanes of a row, rows of 128 columns of a tile, warps of a row, and rows that lanes take at once.
const LEVELS: [(u32, i64, u32, i64); 7] = [
    (8, 1, 1, 2),
    (16, 1, 1, 2),
    (WARP, 2, 1, 1),
    (WARP, 8, 1, 1),
    (WARP, 16, 1, 1),
    (WARP, 16, 4, 1),
    (WARP, 16, 16, 1),
];

/// Returns all variants of a launch that keeps its rows.
pub fn variants(l: &mut LaunchContext, fused: &FusedGroup) -> Option<Vec<VariantGroup>> {
    let rows = l.facts.resident_rows.clone()?;
    let stored = rows.stages.iter().flat_map(|s| match s {
        Stage::Store { items } => items.as_slice(),
        Stage::Reduce { .. } => &[],
    });
    let arrays = || l.facts.accesses.own.iter().copied();
    let size = |x| l.g.ty(x).elem.size() as i64;
    let widest = stored.map(|it| it.node).chain(arrays()).map(size).max()?;
    let of_element: i64 = arrays().map(|x| size(x).max(4) / 4).sum();
    let v = (16 / widest).min(4);
    let inner = Rc::new(Interior::whole(fused));
    let mut list = Vec::new();
    let mut add = |params: ResidentRowsParams, guards: Guards| {
        if params.elements_per_lane() * of_element > MOST_WORDS {
            return;
        }
        let longest = params.longest();
        let suffix = if params.v == v { format!("_{longest}") } else { format!("_{longest}_any") };
        // a lane beyond the row loads its last elements
        let multiple = NonZeroU32::new(params.v as u32);
        let guards = Guards { longest: Some(longest), multiple, ..guards };
        let layout = ThreadLayout { v: params.v, threads: params.threads(), ..ThreadLayout::default() };
        let variant = Variant { suffix, guards, profit: Profit::default(), noalias: false };
        list.push(VariantGroup::of((Choice::ResidentRows(params), Vec::new()), layout, &inner, variant));
    };
    for (lanes, tile_rows, warps, each) in LEVELS {
        let guards = Guards::contiguous().narrow();
        add(ResidentRowsParams { lanes, tile_rows, warps, each, v }, guards);
    }
    // rows that do not begin at multiples of 16 bytes
    for (tile_rows, warps) in [(8, 1), (16, 4)] {
        let params = ResidentRowsParams { lanes: WARP, tile_rows, warps, each: 1, v: 1 };
        if v > 1 {
            add(params, Guards::contiguous().narrow());
        }
    }
    Some(list)
}
