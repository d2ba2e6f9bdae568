//! The variants of a segmented reduction: which mapping of segments to threads serves which lengths, strides and
//! index widths. The launch policy takes the first variant whose guards and profit hold.

use super::columns::MAX_SEGMENT_LENGTH;
use super::job::{LONG_ELEMENT, SegmentMapping, operations, vector_width};
use super::warp::COLUMNS_PER_LANE;
use crate::core::{NodeId, TILE};
use crate::kernel::WARP;
use crate::plan::gpu::Profit;
use crate::scalar::Ty;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::cuda::select_elements;
use crate::schedule::cuda::thread_layout::ThreadLayout;
use crate::schedule::cuda::variant::{Choice, Guards, Variant, VariantGroup};
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::element::reduction::{Reduction, each_accumulator};
use crate::schedule::facts::along::Along;
use crate::schedule::facts::products;
use crate::schedule::facts::segments;
use crate::schedule::groups::FusedGroup;
use crate::schedule::strategy::Strategy;
use std::rc::Rc;

/// The maximum number of accumulators of a reduction in strips: each takes up to 4 KiB of the 48 KiB of shared
/// memory.
const MAX_STRIP_ACCUMULATORS: usize = 11;

/// The maximum number of words of a lane's accumulators where it reduces several segments together; if they would
/// take more, it reduces fewer. For example, eight sums of four segments would take 128 registers, and a lane has 64.
const MAX_ACCUMULATOR_WORDS: usize = 48;

/// The minimum share of the device, in percent, that a launch must keep busy in which each warp takes all tiles of a
/// segment.
const MIN_BUSY_OF_TILES: u32 = 75;

/// The minimum share of the device, in percent, that strips with several columns for each thread must keep busy. If
/// there are few columns, lanes are idle, or there are few strips, and the number of blocks that can share a strip's
/// rows is limited (`plan/policy/spread.rs`). Then strips with one column for each thread keep twice as much busy.
const MIN_BUSY_OF_STRIPS: u32 = 51;

/// The number of segments that lanes with eight columns reduce together.
const SEGMENTS_OF_EIGHT_COLUMNS: i64 = 1;

/// The maximum length of segments for which a thread reduces neighbouring segments by itself.
const SHORT: u32 = 128;

/// Returns the suffix, the guards and the mapping of each variant, in order of preference.
pub fn list(along: Along) -> Vec<(&'static str, Guards, SegmentMapping)> {
    let up_to = |longest: u32, guards: Guards| Guards { longest: Some(longest), ..guards };
    let warp = |lanes, segments| SegmentMapping::Warp { lanes, columns: COLUMNS_PER_LANE, segments };
    if along.has_strips() {
        return vec![
            (
                "_short",
                up_to(SHORT, Guards::contiguous().narrow().noalias()),
                SegmentMapping::SeveralPerThread,
            ),
            ("", up_to(MAX_SEGMENT_LENGTH, Guards::contiguous().narrow().noalias()), SegmentMapping::Strips),
            ("_wide", up_to(MAX_SEGMENT_LENGTH, Guards::contiguous()), SegmentMapping::Strips),
            ("_any", up_to(MAX_SEGMENT_LENGTH, Guards::strided().narrow()), SegmentMapping::Strips),
            ("_any_wide", Guards::strided(), SegmentMapping::OnePerThread),
        ];
    }
    vec![
        ("_8", up_to(32, Guards::contiguous().narrow().noalias()), warp(8, 4)),
        ("_16", up_to(64, Guards::contiguous().narrow().noalias()), warp(16, 4)),
        ("_short", up_to(256, Guards::contiguous().narrow().noalias()), warp(32, 4)),
        ("_warp", up_to(2048, Guards::contiguous().narrow().noalias()), warp(32, 1)),
        (
            "_tiles",
            up_to(TILE as u32 * WARP, Guards::contiguous().narrow().noalias()),
            SegmentMapping::TilesOfWarp,
        ),
        ("", Guards::contiguous().narrow().noalias(), SegmentMapping::SegmentTiles),
        ("_wide_warp", up_to(2048, Guards::contiguous()), warp(32, 1)),
        ("_wide", Guards::contiguous(), SegmentMapping::SegmentTiles),
        ("_any_warp", up_to(2048, Guards::strided().narrow()), warp(32, 1)),
        ("_any", Guards::strided().narrow(), SegmentMapping::SegmentTiles),
        ("_any_wide", Guards::strided(), SegmentMapping::SegmentTiles),
    ]
}

/// Does what [`list`] does, for rows whose elements have long code. The time is that of operations, so loads that are
/// not coalesced cost little where a thread takes a row of any strides.
fn list_of_long_elements() -> Vec<(&'static str, Guards, SegmentMapping)> {
    let guards = Guards::contiguous().narrow();
    let warp = SegmentMapping::Warp { lanes: WARP, columns: COLUMNS_PER_LANE, segments: 1 };
    vec![
        ("_warp", Guards { longest: Some(2048), ..guards }, warp),
        ("", guards, SegmentMapping::SegmentTiles),
        ("_any_wide", Guards::strided(), SegmentMapping::OnePerThread),
    ]
}

/// Does what [`list`] does, for segments that are parts of a vector: most are long, and each read loads one element.
/// Calls that these do not serve run a loop in each thread, which has less code.
fn list_of_parts() -> Vec<(&'static str, Guards, SegmentMapping)> {
    vec![
        ("", Guards::contiguous().narrow().noalias(), SegmentMapping::SegmentTiles),
        ("_wide", Guards::contiguous(), SegmentMapping::SegmentTiles),
        ("_any_wide", Guards::strided(), SegmentMapping::OnePerThread),
    ]
}

/// Does what [`list`] does, for a launch that also stores elements of columns. For calls that these do not serve,
/// separate launches reduce and store.
fn list_of_stored(in_place: bool) -> Vec<(&'static str, Guards, SegmentMapping)> {
    let longest = |n: u32, guards: Guards| Guards { longest: Some(n), ..guards };
    let (any, contiguous) = (Guards::strided().narrow(), Guards::contiguous());
    let short = SegmentMapping::SeveralPerThread;
    let mut all = vec![
        ("_short", longest(SHORT, contiguous.narrow().noalias()), short),
        ("_short_in_place", longest(SHORT, contiguous.narrow()), short),
    ];
    let others = [
        ("", contiguous.narrow().noalias()),
        ("_in_place", contiguous.narrow()),
        ("_wide", contiguous),
        ("_any", any),
    ];
    let strips = |(suffix, guards)| (suffix, longest(MAX_SEGMENT_LENGTH, guards), SegmentMapping::Strips);
    all.extend(others.map(strips));
    all.retain(|(suffix, ..)| in_place || !suffix.ends_with("_in_place"));
    all
}

/// The minimum number of ragged segments for which each lane has one.
const MIN_SEGMENTS_OF_LANES: u32 = 512 * super::rows::THREADS;

/// Returns all variants of a fused group if it is a reduction of ragged segments. For calls that these do not serve,
/// the last variant runs a loop in each thread.
pub fn ragged_variants(l: &mut LaunchContext, fused: &FusedGroup) -> Option<Vec<VariantGroup>> {
    let s = l.facts.ragged.clone()?;
    let inner = Rc::new(Interior::whole(fused));
    let usual = Guards::contiguous().narrow().noalias();
    let many = MIN_SEGMENTS_OF_LANES / super::ragged::segments_of_block(l, &s);
    let many = Profit { min_blocks: Some(many), ..Profit::default() };
    let list = [
        ("_lanes", usual, many, true),
        ("", usual, Profit::default(), false),
        ("_wide", Guards::contiguous(), Profit::default(), false),
    ];
    let mut all: Vec<VariantGroup> = Vec::new();
    for (suffix, guards, profit, by_lanes) in list {
        let variant = Variant { suffix: suffix.into(), guards, profit, noalias: guards.noalias };
        let choice = (Choice::Ragged { by_lanes }, Vec::new());
        all.push(VariantGroup::of(choice, ThreadLayout::default(), &inner, variant));
    }
    let threads = crate::schedule::cuda::map::THREADS;
    let layout = ThreadLayout { v: 1, strided: true, threads, ..ThreadLayout::default() };
    let guards = Guards::strided();
    let variant = Variant { suffix: "_any_wide".into(), guards, profit: Profit::default(), noalias: false };
    let choice = select_elements::choose(l, (fused, &inner), None, layout);
    all.push(VariantGroup::of(choice, layout, &inner, variant));
    Some(all)
}

/// The maximum number of elements for each multiprocessor for which blocks share the loops of elements. With more, a
/// thread for each element keeps the device busy, and shares what it reads through shared memory.
const MAX_FEW: u32 = 256;
/// The minimum length of such loops.
const MIN_LENGTH_OF_FEW: u32 = 256;

/// Returns the variants for loops whose reads follow no axis, where these lose: a thread reduces a short segment by
/// itself, and blocks share the long loops of a few elements, as they share the segments of a segmented reduction.
/// Other calls run a loop in each thread.
pub fn variants_of_loops(l: &mut LaunchContext, fused: &FusedGroup) -> Vec<VariantGroup> {
    let Some(s) = l.facts.long_loops.clone() else { return Vec::new() };
    let reductions: Vec<Reduction> = Reduction::all_nested(l, &s.nested);
    if each_accumulator(&reductions).count() > MAX_STRIP_ACCUMULATORS {
        return Vec::new();
    }
    let inner = Rc::new(Interior::whole(fused));
    let guards = Guards::contiguous().narrow().noalias();
    let profit = Profit {
        max_elements: Some(MAX_FEW),
        min_inner_length: Some(MIN_LENGTH_OF_FEW),
        ..Profit::default()
    };
    let up_to = |longest: u32| Guards { longest: Some(longest), ..guards };
    let list = [
        ("_short", up_to(SHORT), Profit::default(), SegmentMapping::SeveralPerThread),
        ("_few", up_to(MAX_SEGMENT_LENGTH), profit, SegmentMapping::Strips),
        ("_few_long", guards, profit, SegmentMapping::SegmentTiles),
    ];
    let group = |(suffix, guards, profit, mapping): (&str, Guards, Profit, SegmentMapping)| {
        let variant = Variant { suffix: suffix.into(), guards, profit, noalias: true };
        let strategy = match mapping {
            SegmentMapping::SegmentTiles => Strategy::SegmentedRows,
            _ => Strategy::SegmentedColumns,
        };
        let choice = (Choice::Segmented(mapping, strategy), Vec::new());
        let group = VariantGroup::of(choice, ThreadLayout::default(), &inner, variant);
        VariantGroup { may_be_left_out: true, ..group }
    };
    // a loop in each thread has fewer joins than the pairs of a short segment, and joins of tuples take long
    let is_of_tuple = reductions.iter().any(Reduction::is_of_tuple);
    let list = list.into_iter().filter(|(.., mapping)| match mapping {
        SegmentMapping::SeveralPerThread => !is_of_tuple,
        _ => true,
    });
    list.map(group).collect()
}

/// Returns all variants of a fused group if it is a segmented reduction.
pub fn variants(l: &mut LaunchContext, fused: &FusedGroup) -> Option<Vec<VariantGroup>> {
    let s = l.facts.segments.clone()?;
    let along = s.along;
    let (_, k) = l.g.fresh_var(Ty::I64);
    let roots: Vec<NodeId> = s.nested.iter().flat_map(|n| Reduction::nested(l, *n).first(l, k)).collect();
    // rows of several arrays, each with addresses of its own
    let several = fused.domain.len() > 1 && segments::neighbours(l, &roots, k).len() > 1;
    let is_scattered = several || segments::scattered(l, &roots, k) > 0;
    let strategy = match along {
        Along::Rows => Strategy::SegmentedRows,
        Along::Columns | Along::Planes => Strategy::SegmentedColumns,
    };
    let reductions: Vec<Reduction> = Reduction::all_nested(l, &s.nested);
    let is_counted = reductions.iter().any(Reduction::is_counted);
    // a lane has the accumulators of four columns of each segment
    let words: usize = each_accumulator(&reductions).map(|r| r.ty.size().div_ceil(4) * 4).sum();
    let is_of_tuple = reductions.iter().any(Reduction::is_of_tuple);
    let fits = !is_counted || each_accumulator(&reductions).count() <= MAX_STRIP_ACCUMULATORS;
    let inner = Rc::new(Interior::whole(fused));
    // whether there are strips with one column for each thread, too: launches that also store elements lack them
    let has_narrow_strips = l.facts.stored_columns.is_none() && vector_width(l, &s, &reductions) > 1;
    let is_long = operations(l, &reductions) >= LONG_ELEMENT;
    let all = match l.facts.stored_columns {
        Some(_) => list_of_stored(l.facts.accesses.may_be_in_place()),
        None if s.are_parts => list_of_parts(),
        None if along == Along::Rows && is_long => list_of_long_elements(),
        None => list(along),
    };
    // if segments are short, most tree columns of a strip have no elements
    let min_inner_length = l.facts.stored_columns.as_ref().map(|_| SHORT + 1);
    let group = |(suffix, guards, mapping): (&str, Guards, SegmentMapping)| {
        let mapping = match mapping {
            SegmentMapping::Warp { mut lanes, mut columns, mut segments } => {
                // joins of tuples take long, so half as many lanes reduce a segment, each with twice as many columns
                if is_of_tuple && lanes == 16 {
                    (lanes, columns, segments) = (8, 2 * columns, SEGMENTS_OF_EIGHT_COLUMNS);
                }
                // scattered addresses or many accumulators of several segments would not fit into registers
                let most = match () {
                    _ if is_scattered => 1,
                    _ if is_counted && lanes == WARP => 2,
                    _ if is_counted => segments,
                    _ => 1 << (MAX_ACCUMULATOR_WORDS / words.max(1)).clamp(1, segments as usize).ilog2(),
                };
                SegmentMapping::Warp { lanes, columns, segments: segments.min(most) }
            }
            mapping => mapping,
        };
        let (strided, threads) = (!guards.contiguous, crate::schedule::cuda::map::THREADS);
        let (layout, choice) = match mapping {
            SegmentMapping::OnePerThread => {
                let layout = ThreadLayout { v: 1, strided, threads, ..ThreadLayout::default() };
                let product = products::find(l, fused).filter(|p| p.is_matrix).map(Rc::new);
                (layout, select_elements::choose(l, (fused, &inner), product.as_ref(), layout))
            }
            mapping => (
                ThreadLayout { strided, ..ThreadLayout::default() },
                (Choice::Segmented(mapping, strategy), Vec::new()),
            ),
        };
        let (suffix, noalias) = (suffix.to_string(), guards.noalias);
        let min_inner_length = min_inner_length.filter(|_| mapping == SegmentMapping::Strips);
        let min_busy = match mapping {
            SegmentMapping::TilesOfWarp => Some(MIN_BUSY_OF_TILES),
            SegmentMapping::Strips if !strided && has_narrow_strips => Some(MIN_BUSY_OF_STRIPS),
            _ => None,
        };
        let profit = Profit { min_inner_length, min_busy, ..Profit::default() };
        let variant = Variant { suffix, guards, profit, noalias };
        VariantGroup::of(choice, layout, &inner, variant)
    };
    let list = all.into_iter().filter(|(.., mapping)| match mapping {
        SegmentMapping::Strips => fits,
        // without counts, `SegmentTiles` has enough loads in flight
        SegmentMapping::TilesOfWarp => is_counted,
        _ => true,
    });
    Some(list.map(group).collect())
}
