//! Which rectangles a product's blocks have, and for which shapes.

use super::block_tile::BlockTile;
use super::params::{Part, ProductParams, staged};
use crate::plan::gpu::Profit;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::cuda::thread_layout::ThreadLayout;
use crate::schedule::cuda::variant::{self, Guards, Variant, VariantGroup};
use crate::schedule::groups::FusedGroup;
use crate::schedule::loop_nests::Order;
use crate::schedule::lower::LaunchContext;
use crate::schedule::products::Product;
use std::rc::Rc;

/// Squares of 64 by 64 that do not keep a large device busy: panels are spread over it, if there
/// are several.
const SPLIT_K_MAX_BLOCKS: u32 = 200;
const SPLIT_K_MIN_LENGTH: u32 = 1024;
/// A thread a row, or a few columns, is profitable for sums from this many elements on.
const SKINNY_MIN_LENGTH: u32 = 64;
/// So few blocks of such (of few columns, of few rows) leave the device idle.
const SPLIT_K_MAX_SKINNY_BLOCKS: [u32; 2] = [640, 256];
/// Up to this many rows or columns a thread has all of them.
const SKINNY_SIDE: i64 = 4;
/// Operations of a function's products, from which on no further one has variants of its own for
/// such shapes: two megabytes of PTX.
const MAX_PRODUCT_OPERATIONS: usize = 50_000;

/// The variants of few rows or columns, and those that split the sums (split-K), each followed by
/// what adds them.
pub fn variants(
    l: &mut LaunchContext,
    fused: &FusedGroup,
    p: &Rc<Product>,
    inner: &Rc<Interior>,
) -> Vec<VariantGroup> {
    if p.of.order != Order::Panels || *l.in_products() > MAX_PRODUCT_OPERATIONS {
        return Vec::new();
    }
    let v = 16 / staged(l, p).0.max(4) as i64;
    let has_8x8 = (v, staged(l, p).1) == (4, 2);
    let square = if has_8x8 { BlockTile::square_8x8_per_thread(v) } else { BlockTile::square(64, v) };
    let skinny = |long: usize, few: i64| {
        let depth = if long == 0 { 32 } else { 16 };
        BlockTile::skinny(long, few, v, if staged(l, p).1 > 2 { depth / 2 } else { depth })
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
    for (suffix, tile, few, profit) in list {
        // rows are read by 64 or 128 bytes each: what follows them is on its way
        let l2_prefetch = match () {
            _ if tile.sides[1].skinny && p.sides[0].along_k => 256,
            _ if tile.sides[0].skinny || !p.sides[0].along_k => 0,
            _ => 128,
        };
        let mut add = |what: &str, part: Part, profit: Profit| {
            let l2_prefetch = if part == Part::Sum { 0 } else { l2_prefetch };
            let params =
                ProductParams { product: p.clone(), tile, part, l2_prefetch, min_resident_blocks: 0 };
            // panels write scratch only
            let guards = Guards { noalias: part == Part::Whole, ..Guards::contiguous().narrow() };
            let (suffix, noalias) = (format!("{suffix}{what}"), part != Part::Sum);
            let variant = Variant { suffix, guards, profit, noalias };
            groups.push(VariantGroup::of(
                (variant::Choice::Product(params), Vec::new()),
                ThreadLayout::default(),
                inner,
                variant,
            ));
        };
        add(
            "_panels",
            Part::Panel,
            Profit { max_blocks: Some(few), min_inner_length: Some(SPLIT_K_MIN_LENGTH), ..profit },
        );
        add("_sums", Part::Sum, Profit::default());
        if tile.sides.iter().any(|s| s.skinny) {
            add("", Part::Whole, profit);
        }
    }
    groups
}
