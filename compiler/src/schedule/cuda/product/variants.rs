//! The variants of a product: skinny block tiles and split-K, and the shapes for which they are the
//! fastest.

use super::block_tile::BlockTile;
use super::params::{MAX_PRODUCT_OPERATIONS, Part, ProductParams, can_copy, staged};
use crate::plan::gpu::Profit;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::cuda::thread_layout::ThreadLayout;
use crate::schedule::cuda::variant::{self, Guards, Variant, VariantGroup};
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::facts::loop_nests::Order;
use crate::schedule::facts::products::Product;
use crate::schedule::groups::FusedGroup;
use std::num::NonZeroU32;
use std::rc::Rc;

/// The maximum number of block tiles of 64 x 64 results for which a product uses split-K: several blocks compute one
/// tile, each from a slice of the inner dimension, and their partial sums are added afterwards. With one block for
/// each of so few tiles, most multiprocessors of a large device would be idle.
const SPLIT_K_MAX_BLOCKS: u32 = 200;
/// The minimum inner length for split-K: two panels.
const SPLIT_K_MIN_LENGTH: u32 = 1024;
/// The minimum inner length for which skinny block tiles are the fastest.
const SKINNY_MIN_LENGTH: u32 = 64;
/// The minimum inner length for which copies of 512 bytes of a row are the fastest. If there are fewer steps, the
/// first one, whose latency nothing hides, counts for more.
const DEEP_MIN_LENGTH: u32 = 256;
/// The maximum number of skinny block tiles for split-K, for matrices of few columns and of few rows.
const SPLIT_K_MAX_SKINNY_BLOCKS: [u32; 2] = [640, 256];
/// The length of the short side of a skinny block tile.
const SKINNY_SIDE: i64 = 4;

/// Returns the variants with skinny block tiles and those with split-K. Each of the latter is followed by the variant
/// that adds its panels. If `strided`, they serve arrays of any strides and alignment.
pub fn variants(
    l: &mut LaunchContext,
    fused: &FusedGroup,
    p: &Rc<Product>,
    inner: &Rc<Interior>,
    strided: bool,
) -> Vec<VariantGroup> {
    if p.of.order != Order::Panels || p.plane.is_some() || l.code_size().products > MAX_PRODUCT_OPERATIONS {
        return Vec::new();
    }
    let v = 16 / staged(l, p).0.max(4) as i64;
    let has_8x8 = (v, staged(l, p).1) == (4, 2);
    let square = if has_8x8 { BlockTile::square_8x8_per_thread(v) } else { BlockTile::square(64, v) };
    let copied =
        |tile: BlockTile| !strided && p.sides[0].along_k && staged(l, p).1 <= 2 && can_copy(&l.g, p, tile, 0);
    let skinny = |long: usize, short: i64| {
        if strided {
            // neighbouring lanes load single elements, without bank conflicts
            let (v, depth) = if long == 0 { (v, 32) } else { (1, 4 * v) };
            return BlockTile::skinny(long, short, v, depth);
        }
        let tile = BlockTile::skinny_copied(short, v);
        if long == 0 && copied(tile) {
            return tile;
        }
        let depth = if long == 0 { 32 } else { 16 };
        BlockTile::skinny(long, short, v, if staged(l, p).1 > 2 { depth / 2 } else { depth })
    };
    let [few_rows, few_columns] =
        [[Some(SKINNY_SIDE as u32), None], [None, Some(SKINNY_SIDE as u32)]].map(|[rows, columns]| Profit {
            max_rows: rows,
            max_columns: columns,
            min_inner_length: Some(SKINNY_MIN_LENGTH),
            ..Profit::default()
        });
    let any = Profit { min_inner_length: Some(SKINNY_MIN_LENGTH), ..Profit::default() };
    let list = match fused.domain.len() {
        1 => vec![("_column", skinny(0, 1), SPLIT_K_MAX_SKINNY_BLOCKS[0], any)],
        _ => vec![
            ("_column", skinny(0, SKINNY_SIDE), SPLIT_K_MAX_SKINNY_BLOCKS[0], few_columns),
            ("_row", skinny(1, SKINNY_SIDE), SPLIT_K_MAX_SKINNY_BLOCKS[1], few_rows),
            ("", square, SPLIT_K_MAX_BLOCKS, Profit::default()),
        ],
    };
    let mut groups = Vec::new();
    for (suffix, tile, split_k_max_blocks, profit) in list {
        let short = tile.sides[1].size;
        let deep = Some(BlockTile::skinny_copied_by_512(short, v))
            .filter(|deep| tile == BlockTile::skinny_copied(short, v) && copied(*deep));
        let l2_prefetch = match () {
            _ if deep.is_some() => 128,
            // each load takes 64 or 128 bytes of a row: the prefetch brings what follows
            _ if tile.sides[1].skinny && p.sides[0].along_k => 256,
            _ if tile.sides[0].skinny || !p.sides[0].along_k => 0,
            _ => 128,
        };
        let mut add = |what: &str, part: Part, (tile, multiple): (BlockTile, i64), profit: Profit| {
            let l2_prefetch = if part == Part::Sum { 0 } else { l2_prefetch };
            let params =
                ProductParams { product: p.clone(), tile, part, l2_prefetch, min_resident_blocks: 0 };
            // panels are stored to scratch, which overlaps no array
            let guards = if strided { Guards::strided() } else { Guards::contiguous() };
            let multiple = NonZeroU32::new(multiple as u32);
            let guards = Guards { noalias: part == Part::Whole, multiple, ..guards.narrow() };
            let any = if strided { "_any" } else { "" };
            let (suffix, noalias) = (format!("{any}{suffix}{what}"), part != Part::Sum);
            let variant = Variant { suffix, guards, profit, noalias };
            groups.push(VariantGroup::of(
                (variant::Choice::Product(params), Vec::new()),
                ThreadLayout { strided, ..ThreadLayout::default() },
                inner,
                variant,
            ));
        };
        let of_panels = Profit {
            max_blocks: Some(split_k_max_blocks),
            min_inner_length: Some(SPLIT_K_MIN_LENGTH),
            ..profit
        };
        add("_panels", Part::Panel, (tile, 0), of_panels);
        add("_sums", Part::Sum, (tile, 0), Profit::default());
        if let Some(deep) = deep {
            let long = Profit { min_inner_length: Some(DEEP_MIN_LENGTH), ..profit };
            add("_deep", Part::Whole, (deep, deep.depth), long);
        }
        if tile.sides.iter().any(|s| s.skinny) {
            add("", Part::Whole, (tile, 0), profit);
        }
    }
    groups
}
