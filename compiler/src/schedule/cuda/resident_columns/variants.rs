//! The variants of a launch with resident columns. Each is for columns up to some length, which its registers can
//! hold; the launch policy takes the first variant that fits.

use super::mapping::ResidentColumnsParams;
use crate::kernel::CLUSTER_CAPABILITY;
use crate::plan::gpu::Profit;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::cuda::resident_segments::{self, Demand};
use crate::schedule::cuda::thread_layout::ThreadLayout;
use crate::schedule::cuda::variant::{Choice, Guards, Variant, VariantGroup};
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::facts::ResidentSegments;
use crate::schedule::groups::FusedGroup;
use std::num::NonZeroU32;
use std::rc::Rc;

/// For each level: the threads side by side, the tree columns of a thread, the elements of a tree column, the threads
/// that share a tile, the tiles of a block, and the blocks of a cluster. Of several levels for columns of one length,
/// the first counts whose registers a multiprocessor has. The more bytes of a row the threads side by side read, the
/// faster memory is: 64 bytes reach 0.84 of the speed of a copy where 32 reach 0.72.
const LEVELS: [Level; 21] = [
    (8, 8, 1, 8, 1, 1),
    (8, 4, 1, 16, 1, 1),
    (8, 8, 1, 16, 1, 1),
    (8, 4, 1, 32, 1, 1),
    (8, 8, 2, 16, 1, 1),
    (8, 4, 2, 32, 1, 1),
    (4, 2, 2, 64, 1, 1),
    (8, 4, 4, 32, 1, 1),
    (4, 2, 4, 64, 1, 1),
    (4, 2, 8, 64, 1, 1),
    (4, 1, 8, 128, 1, 1),
    (2, 1, 8, 128, 1, 1),
    (4, 1, 16, 128, 1, 1),
    (2, 1, 16, 128, 1, 1),
    (4, 1, 16, 128, 1, 2),
    (2, 1, 16, 128, 2, 1),
    (4, 1, 16, 128, 1, 4),
    (2, 1, 16, 128, 1, 4),
    (4, 1, 16, 128, 1, 8),
    (2, 1, 16, 128, 1, 8),
    (2, 1, 16, 128, 2, 8),
];

/// The levels for matrices whose rows are not aligned to 16 bytes, where each element is an access of its own. If
/// columns are short, a warp has 32 of them side by side.
const LEVELS_OF_SINGLE_ACCESSES: [Level; 6] = [
    (32, 4, 1, 16, 1, 1),
    (32, 8, 2, 16, 1, 1),
    (8, 1, 4, 128, 1, 1),
    (8, 1, 16, 128, 1, 1),
    (8, 1, 16, 128, 1, 4),
    (8, 1, 16, 128, 1, 8),
];

type Level = (u32, u32, i64, u32, u32, u32);

/// Returns why a mapping cannot keep its columns in registers; `None` if it can.
fn obstacle(demand: &Demand, p: &ResidentColumnsParams) -> Option<&'static str> {
    demand.obstacle(p.elements(), 1, p.is_in_registers(demand.words, demand.of_moments))
}

/// Returns all mappings of columns, in order of preference.
fn levels(demand: &Demand) -> impl Iterator<Item = ResidentColumnsParams> {
    let of = |v: i64| {
        move |(lanes, tree_columns, tile_rows, threads_of_tile, tiles, blocks)| ResidentColumnsParams {
            v,
            lanes,
            tree_columns,
            tile_rows,
            threads_of_tile,
            tiles,
            blocks,
        }
    };
    let single = LEVELS_OF_SINGLE_ACCESSES.into_iter().filter(|_| demand.v > 1);
    // a thread of a block with two tiles has 128 registers: too few for elements of several words in a cluster
    let fits = |level: &Level| demand.words == 1 || level.4 == 1 || level.5 == 1;
    LEVELS.into_iter().filter(fits).map(of(demand.v)).chain(single.map(of(1)))
}

fn columns(l: &LaunchContext) -> Option<Rc<ResidentSegments>> {
    l.facts.resident.clone().filter(|kept| kept.along.has_strips())
}

/// Returns all variants of a launch with resident columns.
pub fn variants(l: &mut LaunchContext, fused: &FusedGroup) -> Option<Vec<VariantGroup>> {
    let demand = Demand::of(l, &*columns(l)?)?;
    let inner = Rc::new(Interior::whole(fused));
    let mut all: Vec<ResidentColumnsParams> = Vec::new();
    for p in levels(&demand).filter(|p| obstacle(&demand, p).is_none()) {
        let serves = |other: &ResidentColumnsParams| {
            other.longest() == p.longest() && other.v == p.v && (other.blocks > 1) == (p.blocks > 1)
        };
        if !all.iter().any(serves) {
            all.push(p);
        }
    }
    // a cluster takes only columns that no single block of an earlier variant can hold
    let longest_of_block = |at: usize| {
        let of_blocks = all[..at].iter().filter(|p| p.v == all[at].v && p.blocks == 1);
        of_blocks.map(ResidentColumnsParams::longest).max().unwrap_or(0)
    };
    let mut list = Vec::new();
    for (at, params) in all.iter().enumerate() {
        let longest = params.longest();
        let guards = Guards {
            longest: Some(longest),
            // there must be a last row, because rows beyond it are clamped to it
            multiple: NonZeroU32::new(1),
            neighbours: NonZeroU32::new(params.v as u32).filter(|v| v.get() > 1),
            capability: (params.blocks > 1).then_some(CLUSTER_CAPABILITY),
            ..Guards::contiguous().narrow()
        };
        let layout = ThreadLayout { v: params.v, threads: params.threads(), ..ThreadLayout::default() };
        let cluster = if params.blocks > 1 { "_cluster" } else { "" };
        let any = if params.v == 1 && demand.v > 1 { "_any" } else { "" };
        let suffix = format!("_{longest}{cluster}{any}");
        let shortest = (params.blocks > 1).then(|| longest_of_block(at) + 1);
        let profit = Profit { min_inner_length: shortest, ..Profit::default() };
        let variant = Variant { suffix, guards, profit, noalias: false };
        list.push(VariantGroup::of((Choice::ResidentColumns(*params), Vec::new()), layout, &inner, variant));
    }
    Some(list)
}

/// Describes, for reports, which columns are too long to be resident, and why.
pub fn limit(l: &LaunchContext) -> Option<String> {
    let demand = Demand::of(l, &*columns(l)?)?;
    let levels: Vec<_> = levels(&demand).map(|p| (p.longest(), obstacle(&demand, &p))).collect();
    resident_segments::limit(&levels)
}
