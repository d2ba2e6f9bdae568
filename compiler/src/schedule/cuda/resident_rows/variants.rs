//! The variants of a launch with resident rows, by the length of the rows.

use super::cluster;
use super::mapping::ResidentRowsParams;
use super::prefetch;
use crate::kernel::{CLUSTER_CAPABILITY, WARP};
use crate::plan::GUESSED_LENGTH;
use crate::plan::gpu::Profit;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::cuda::thread_layout::ThreadLayout;
use crate::schedule::cuda::variant::{Choice, Guards, Variant, VariantGroup};
use crate::schedule::facts::{ResidentRows, Stage};
use crate::schedule::groups::FusedGroup;
use crate::schedule::lower::LaunchContext;
use crate::schedule::reduction::Reduction;
use std::num::NonZeroU32;
use std::rc::Rc;

/// The most words of a thread that hold elements. Of the 255 registers that a thread can have, the
/// rest are accumulators, addresses and what is being computed.
const MOST_WORDS: i64 = 128;

/// The most operations of a thread, whose code is written out for each element.
const MOST_OPERATIONS: i64 = 3300;

/// Lanes of a row, rows of a tile, columns of a lane, warps of a row, and rows that lanes take at once.
const LEVELS: [(u32, i64, i64, u32, i64); 8] = [
    (8, 1, 4, 1, 2),
    (16, 1, 4, 1, 4),
    (WARP, 2, 4, 1, 2),
    (WARP, 8, 4, 1, 1),
    (WARP, 16, 2, 2, 1),
    (WARP, 16, 2, 4, 1),
    (WARP, 16, 4, 4, 1),
    (WARP, 16, 4, 16, 1),
];

/// Lanes of a row, rows of a tile, columns of a lane and warps of a row, for rows that do not begin at
/// multiples of 16 bytes.
const LEVELS_OF_SINGLE_ACCESSES: [(u32, i64, i64, u32); 7] = [
    (16, 1, 4, 1),
    (WARP, 2, 4, 1),
    (WARP, 4, 4, 1),
    (WARP, 8, 4, 1),
    (WARP, 16, 2, 2),
    (WARP, 16, 2, 4),
    (WARP, 16, 2, 8),
];

/// The words of a column beside its elements for a reduction with several accumulators: these, and what is
/// joined with one of them.
const WORDS_OF_MOMENTS: i64 = 4;

/// Returns the words of a column that a reduction with several accumulators takes, if there is one.
pub fn words_of_moments(l: &LaunchContext, rows: &ResidentRows) -> i64 {
    let reductions = rows.stages.iter().flat_map(|s| match s {
        Stage::Reduce { reductions, .. } => reductions.as_slice(),
        Stage::Store { .. } => &[],
    });
    let counted = reductions.map(|n| Reduction::nested(l, *n)).filter(Reduction::is_counted);
    counted.map(|r| WORDS_OF_MOMENTS * r.ty.size() as i64 / 4).max().unwrap_or(0)
}

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
    let cost = i64::from(l.facts.cost / GUESSED_LENGTH);
    let prefetch = prefetch::pays(l, &rows, cost);
    let v = (16 / widest).min(4);
    let of_moments = words_of_moments(l, &rows);
    let inner = Rc::new(Interior::whole(fused));
    let mut list = Vec::new();
    let mut add = |params: ResidentRowsParams, profit: Profit| {
        let elements = params.elements_per_lane();
        let operations = elements * params.each * cost;
        if elements * of_element > MOST_WORDS
            || operations > MOST_OPERATIONS
            || !params.has_room(of_element, of_moments)
        {
            return;
        }
        let longest = params.longest();
        let suffix = if params.v == 1 && v > 1 { format!("_{longest}_any") } else { format!("_{longest}") };
        // a lane beyond the row loads its last elements
        let multiple = NonZeroU32::new(params.v as u32);
        let capability = (params.blocks > 1).then_some(CLUSTER_CAPABILITY);
        let guards = Guards { capability, longest: Some(longest), multiple, ..Guards::contiguous().narrow() };
        let layout = ThreadLayout { v: params.v, threads: params.threads(), ..ThreadLayout::default() };
        let variant = Variant { suffix, guards, profit, noalias: false };
        list.push(VariantGroup::of((Choice::ResidentRows(params), Vec::new()), layout, &inner, variant));
    };
    for (lanes, tile_rows, mut columns, mut warps, mut each) in LEVELS {
        // a vector has one row: more warps take less time (1024 elements: 6 us in place of 8)
        if rows.outer.is_empty() && (lanes < WARP || (warps, tile_rows) == (1, 8)) {
            continue;
        }
        if of_element > 1 {
            each = each.min(2);
        }
        // two warps share a tile of long elements, or one warp would have too few registers
        if of_element > 1 && columns * tile_rows > 16 && columns == 4 {
            (columns, warps) = (2, 2 * warps);
        }
        let v = v.min(columns);
        let params = ResidentRowsParams { lanes, tile_rows, columns, warps, blocks: 1, each, v, prefetch };
        add(params, Profit::default());
    }
    // rows that do not begin at multiples of 16 bytes
    for (lanes, tile_rows, columns, warps) in LEVELS_OF_SINGLE_ACCESSES {
        if v > 1 && (!rows.outer.is_empty() || lanes == WARP) {
            let (blocks, each, prefetch) = (1, 1, !rows.outer.is_empty());
            let params =
                ResidentRowsParams { lanes, tile_rows, columns, warps, blocks, each, v: 1, prefetch };
            add(params, Profit::default());
        }
    }
    for params in cluster::levels(v, of_element, prefetch) {
        add(params, cluster::profit(&params));
    }
    Some(list)
}
