//! The variants of launches with resident rows, and of launches for rows and columns. Each variant is for rows up to
//! some length, which its registers or shared memory can hold; the launch policy takes the first variant that fits.

use super::cluster;
use super::cluster::TILE_ROWS;
use super::columns::{self, ColumnsParams};
use super::mapping::ResidentRowsParams;
use super::parts;
use super::prefetch;
use super::staged::{self, StagedRowsParams};
use crate::core::TILE;
use crate::kernel::{CLUSTER_CAPABILITY, WARP};
use crate::plan::gpu::Profit;
use crate::scalar::Ty;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::cuda::resident_segments::{self, Demand};
use crate::schedule::cuda::thread_layout::ThreadLayout;
use crate::schedule::cuda::variant::{Choice, Guards, Variant, VariantGroup};
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::facts::ResidentSegments;
use crate::schedule::facts::along::Along;
use crate::schedule::groups::FusedGroup;
use std::num::NonZeroU32;
use std::rc::Rc;

/// For each level: the lanes that share a row, the rows of a tile, the columns of a lane, the warps that share a row,
/// and the rows that the same lanes process together (measured: `bench/NOTES.md`, "Rows of 64 and 256").
const LEVELS: [(u32, i64, i64, u32, i64); 9] = [
    (8, 1, 4, 1, 2),
    (16, 1, 4, 1, 4),
    (WARP, 2, 4, 1, 1),
    (WARP, 8, 4, 1, 1),
    (WARP, 16, 2, 2, 1),
    (WARP, 16, 2, 4, 1),
    (WARP, 16, 4, 4, 1),
    (WARP, 16, 4, 8, 1),
    (WARP, 16, 4, 16, 1),
];

/// The levels for rows that are not aligned to 16 bytes: the lanes that share a row, the rows of a tile, the columns
/// of a lane, and the warps that share a row.
const LEVELS_OF_SINGLE_ACCESSES: [(u32, i64, i64, u32); 7] = [
    (16, 1, 4, 1),
    (WARP, 2, 4, 1),
    (WARP, 4, 4, 1),
    (WARP, 8, 4, 1),
    (WARP, 16, 2, 2),
    (WARP, 16, 2, 4),
    (WARP, 16, 2, 8),
];

/// The minimum number of operations of an element for which lanes process several rows together to hide latency (a
/// softmax of f32 has 69). For shorter elements, more warps hide it better.
const LONG_ELEMENTS: i64 = 50;

/// Returns why rows cannot be kept in registers, if they cannot.
fn obstacle(demand: &Demand, p: &ResidentRowsParams) -> Option<&'static str> {
    let is_in_registers = p.is_in_registers(demand.words, demand.of_moments);
    demand.obstacle(p.elements_per_lane(), p.each, is_in_registers)
}

/// Returns all mappings of rows, in order of preference, with their profits. `is_vector` says that there is only one
/// row; `operations` is the number of operations of an element.
fn levels(demand: &Demand, is_vector: bool, operations: i64) -> Vec<(ResidentRowsParams, Profit)> {
    let mut all = Vec::new();
    for (lanes, tile_rows, mut columns, mut warps, mut each) in LEVELS {
        // a vector is a single row, for which more warps take less time (1024 elements: 6 us in place of 8)
        if is_vector && (lanes < WARP || (warps, tile_rows) == (1, 8)) {
            continue;
        }
        if demand.words > 1 || operations < LONG_ELEMENTS {
            each = each.min(2);
        }
        // if elements have several words, two warps share a tile: a single warp would have too few registers
        if demand.words > 1 && columns * tile_rows > 16 && columns == 4 {
            (columns, warps) = (2, 2 * warps);
        }
        let v = demand.v.min(columns);
        let of_warps = ResidentRowsParams::of_warps(tile_rows, columns, warps);
        all.push(ResidentRowsParams { lanes, each, v, ..of_warps });
    }
    for (lanes, tile_rows, columns, warps) in LEVELS_OF_SINGLE_ACCESSES {
        if demand.v > 1 && !(is_vector && lanes < WARP) {
            let of_warps = ResidentRowsParams::of_warps(tile_rows, columns, warps);
            all.push(ResidentRowsParams { lanes, v: 1, ..of_warps });
        }
    }
    let longest = |single: bool| {
        let blocks = all.iter().filter(|p| (p.v == 1) == single && obstacle(demand, p).is_none());
        blocks.map(ResidentRowsParams::longest).max().unwrap_or(0)
    };
    let of_clusters = |v: i64| {
        let of_block = longest(v == 1);
        let levels = cluster::levels(v, demand.words).filter(move |p| p.longest() > of_block);
        levels.map(move |p| (p, cluster::profit(of_block)))
    };
    let (aligned, single) = (of_clusters(demand.v), of_clusters(1));
    let of_blocks = all.iter().map(|p| (*p, Profit::default()));
    of_blocks.chain(aligned).chain(single).collect()
}

/// Returns the length of the longest row that a block keeps in registers whatever the row's alignment.
fn longest_anywhere(demand: &Demand, levels: &[(ResidentRowsParams, Profit)]) -> u32 {
    let of_block = |p: &&ResidentRowsParams| p.blocks == 1 && p.v == 1 && obstacle(demand, p).is_none();
    levels.iter().map(|level| &level.0).filter(of_block).map(ResidentRowsParams::longest).max().unwrap_or(0)
}

/// Returns the variants whose rows lie in shared memory. They serve rows of more than `of_registers` elements, which
/// is the longest row that a block keeps in registers whatever its alignment.
fn staged(
    l: &mut LaunchContext,
    rows: &ResidentSegments,
    demand: &Demand,
    of_registers: u32,
    inner: &Rc<Interior>,
) -> Vec<VariantGroup> {
    let arrays = staged::staged_arrays(l, rows);
    let mut list = Vec::new();
    if arrays.is_empty() || demand.obstacle(TILE_ROWS, 1, true).is_some() {
        return list;
    }
    let of_element: i64 = arrays.iter().map(|(x, _)| l.g.ty(*x).elem.size() as i64).sum();
    let of_cluster = cluster::levels(1, demand.words).map(|p| p.longest()).min().unwrap_or(0);
    for params in StagedRowsParams::levels(of_element, staged::bytes_of_accumulators(l, rows)) {
        let longest = params.longest();
        if longest <= of_registers {
            continue;
        }
        // a block that is alone on its multiprocessor takes longer than the blocks of a full cluster
        let shortest = if longest > of_cluster { of_cluster } else { of_registers };
        let guards = Guards { longest: Some(longest), ..Guards::contiguous().narrow() };
        let profit = Profit { min_inner_length: Some(shortest + 1), ..Profit::default() };
        let layout = ThreadLayout { threads: params.threads(), ..ThreadLayout::default() };
        let variant = Variant { suffix: format!("_{longest}_staged"), guards, profit, noalias: false };
        list.push(VariantGroup::of((Choice::StagedRows(params), Vec::new()), layout, inner, variant));
    }
    list
}

/// Returns all variants of a launch with resident rows: one block per row or less, rows in shared memory, clusters.
pub fn variants(l: &mut LaunchContext, fused: &FusedGroup) -> Option<Vec<VariantGroup>> {
    let rows = l.facts.resident.clone().filter(|kept| kept.along == Along::Rows)?;
    let (demand, is_costly) = (Demand::of(l, &rows)?, prefetch::is_costly(l));
    let inner = Rc::new(Interior::whole(fused));
    let mut list = Vec::new();
    let is_vector = rows.outer.is_empty();
    let levels = levels(&demand, is_vector, prefetch::operations(l));
    let (of_blocks, of_clusters) = levels.iter().partition::<Vec<_>, _>(|level| level.0.blocks == 1);
    let register = |list: &mut Vec<VariantGroup>, (mut params, profit): (ResidentRowsParams, Profit)| {
        params.prefetch = !is_vector && prefetch::pays(&params, demand.words, is_costly);
        let longest = params.longest();
        let cluster = if params.blocks > 1 { "_cluster" } else { "" };
        let any = if params.v == 1 && demand.v > 1 { "_any" } else { "" };
        // a lane beyond the row loads the row's last group, so the length must be a multiple of a group's
        let multiple = NonZeroU32::new(params.v as u32);
        let capability = (params.blocks > 1).then_some(CLUSTER_CAPABILITY);
        let guards = Guards { capability, longest: Some(longest), multiple, ..Guards::contiguous().narrow() };
        let layout = ThreadLayout { v: params.v, threads: params.threads(), ..ThreadLayout::default() };
        let variant = Variant { suffix: format!("_{longest}{cluster}{any}"), guards, profit, noalias: false };
        list.push(VariantGroup::of((Choice::ResidentRows(params), Vec::new()), layout, &inner, variant));
    };
    let fits = |level: &&&(ResidentRowsParams, Profit)| obstacle(&demand, &level.0).is_none();
    of_blocks.iter().filter(fits).for_each(|level| register(&mut list, **level));
    if !is_vector {
        let of_registers = longest_anywhere(&demand, &levels);
        list.append(&mut staged(l, &rows, &demand, of_registers, &inner));
    }
    of_clusters.iter().filter(fits).for_each(|level| register(&mut list, **level));
    Some(list)
}

/// Describes, for reports, which rows are too long to be resident, and why.
pub fn limit(l: &LaunchContext) -> Option<String> {
    let rows = l.facts.resident.clone().filter(|kept| kept.along == Along::Rows)?;
    let demand = Demand::of(l, &rows)?;
    let levels = levels(&demand, rows.outer.is_empty(), prefetch::operations(l));
    let levels = levels.iter().map(|level| (level.0.longest(), obstacle(&demand, &level.0)));
    resident_segments::limit(&levels.collect::<Vec<_>>())
}

/// The maximum number of words of a thread for its rows' elements and the accumulators of its columns together.
const MAX_WORDS_OF_COLUMNS: i64 = 64;
/// The maximum bytes of shared memory for the columns of a block.
const MAX_SHARED: u32 = 40 << 10;

/// The levels of rows and columns: the rows of a tile, the columns of a lane, the warps that share a row, the rows
/// that these load together so that more loads are in flight, and the tree columns that they take one after another.
const LEVELS_OF_COLUMNS: [(i64, i64, u32, i64, u32); 6] =
    [(2, 4, 1, 4, 1), (4, 4, 1, 2, 1), (8, 4, 1, 1, 1), (16, 2, 2, 1, 1), (16, 2, 4, 1, 1), (16, 2, 8, 1, 2)];

/// The minimum length of rows: in shorter ones most lanes have no elements, and two passes take no longer.
const SHORTEST: u32 = 96;

/// The minimum number of blocks. With fewer, most multiprocessors of a large device would have no rows, and two
/// passes over a small matrix take less time.
const MIN_BLOCKS: u32 = 128;

/// Returns the variants of a launch that reduces rows and columns, each followed by the kernel that joins its parts.
pub fn variants_of_columns(l: &mut LaunchContext, fused: &FusedGroup) -> Option<Vec<VariantGroup>> {
    let facts = l.facts.rows_and_columns.clone()?;
    let size = |ty: Ty| (ty.size() as i64).max(4) / 4;
    let of_row: i64 = l.facts.accesses.own.iter().map(|x| size(l.g.ty(*x).elem)).sum();
    let widest = l.facts.accesses.own.iter().map(|x| l.g.ty(*x).elem.size() as i64).max()?;
    let of_columns = facts.columns.nested.iter().map(|n| l.g.ty(*n).elem.size() as i64);
    let (of_columns, bytes) =
        (of_columns.clone().map(|n| n.max(4) / 4).sum::<i64>(), of_columns.sum::<i64>());
    let inner = Rc::new(Interior::whole(fused));
    let mut list = Vec::new();
    for (tile_rows, columns, warps, at_once, each) in LEVELS_OF_COLUMNS {
        let v = (16 / widest).min(columns);
        let at_once = (at_once / of_row.max(1)).max(1);
        let of_warps = ResidentRowsParams::of_warps(tile_rows, columns, warps);
        let row = ResidentRowsParams { each: at_once, v, ..of_warps };
        let elements = row.elements_per_lane();
        let shared = u32::try_from(i64::from(columns::THREADS) * elements * bytes).unwrap_or(u32::MAX);
        let (words, min_inner_length) = (elements * (at_once * of_row + of_columns), Some(SHORTEST));
        if words > MAX_WORDS_OF_COLUMNS || shared > MAX_SHARED {
            continue;
        }
        let params = ColumnsParams { row, each, is_wide: of_row > 1, words };
        let longest = row.longest();
        let guards = Guards {
            longest: Some(longest),
            multiple: NonZeroU32::new(v as u32),
            ..Guards::contiguous().narrow().noalias()
        };
        // the second kernel joins tiles by one further level of the tree, so there may be at most 2048 of them
        let max_blocks = Some(TILE as u32 * params.parts() as u32);
        for (choice, threads, suffix, profit) in [
            (
                Choice::RowsAndColumns(params),
                columns::THREADS,
                format!("_{longest}"),
                Profit { min_blocks: Some(MIN_BLOCKS), max_blocks, min_inner_length, ..Profit::default() },
            ),
            (Choice::JoinedParts(params), parts::THREADS, format!("_{longest}_join"), Profit::default()),
        ] {
            let layout = ThreadLayout { v, threads, ..ThreadLayout::default() };
            let variant = Variant { suffix, guards, profit, noalias: true };
            list.push(VariantGroup::of((choice, Vec::new()), layout, &inner, variant));
        }
    }
    Some(list)
}
