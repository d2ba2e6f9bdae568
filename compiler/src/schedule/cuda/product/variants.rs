//! Which rectangles a product's blocks have, and for which shapes.

use super::block_tile::BlockTile;
use super::params::{Part, ProductParams, staged};
use crate::plan::gpu::Profit;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::cuda::shape::Shape;
use crate::schedule::cuda::variant::{self, Guards, Variant, VariantGroup};
use crate::schedule::groups::FusedGroup;
use crate::schedule::loop_nests::Order;
use crate::schedule::lower::LaunchContext;
use crate::schedule::products::Product;
use std::rc::Rc;

/// Squares of 64 by 64 that do not keep a large device busy: panels are spread over it, if there
/// are several.
const FEW_SQUARES: u32 = 200;
const TWO_PANELS: u32 = 1024;
/// A thread a row, or a few columns, is profitable for sums from this many elements on.
const THIN_FROM: u32 = 64;
/// So few blocks of such (of few columns, of few rows) leave the device idle.
const FEW_THIN: [u32; 2] = [640, 256];
/// Up to this many rows or columns a thread has all of them.
const FEW: i64 = 4;
/// Operations of a function's products, from which on no further one has variants of its own for
/// such shapes: two megabytes of PTX.
const MANY: usize = 50_000;

/// The variants of few rows or columns, and those that split the sums (split-K), each followed by
/// what adds them.
pub fn variants(
    l: &mut LaunchContext,
    fused: &FusedGroup,
    p: &Rc<Product>,
    inner: &Rc<Interior>,
) -> Vec<VariantGroup> {
    if p.of.order != Order::Panels || *l.in_products() > MANY {
        return Vec::new();
    }
    let v = 16 / staged(l, p).0.max(4) as i64;
    let small = (v, staged(l, p).1) == (4, 2);
    let square = if small { BlockTile::by_eight(v) } else { BlockTile::square(64, v) };
    let thin = |long: usize, few: i64| {
        let depth = if long == 0 { 32 } else { 16 };
        BlockTile::thin(long, few, v, if staged(l, p).1 > 2 { depth / 2 } else { depth })
    };
    let [few_rows, few_columns] =
        [[Some(FEW as u32), None], [None, Some(FEW as u32)]].map(|[rows, columns]| Profit {
            max_rows: rows,
            max_columns: columns,
            min_inner_length: Some(THIN_FROM),
            ..Profit::default()
        });
    let any = Profit { min_inner_length: Some(THIN_FROM), ..Profit::default() };
    let list = match fused.domain.len() {
        1 => vec![("_column", thin(0, 1), FEW_THIN[0], any)],
        _ => vec![
            ("_column", thin(0, FEW), FEW_THIN[0], few_columns),
            ("_row", thin(1, FEW), FEW_THIN[1], few_rows),
            ("", square, FEW_SQUARES, Profit::default()),
        ],
    };
    let mut groups = Vec::new();
    for (suffix, tile, few, profit) in list {
        // rows are read by 64 or 128 bytes each: what follows them is on its way
        let fetch = match () {
            _ if tile.sides[1].few && p.sides[0].along_k => 256,
            _ if tile.sides[0].few || !p.sides[0].along_k => 0,
            _ => 128,
        };
        let mut add = |what: &str, part: Part, profit: Profit| {
            let fetch = if part == Part::Sum { 0 } else { fetch };
            let params = ProductParams { product: p.clone(), tile, part, fetch, blocks: 0 };
            // panels write scratch only
            let guards = Guards { noalias: part == Part::Whole, ..Guards::contiguous().narrow() };
            let (suffix, noalias) = (format!("{suffix}{what}"), part != Part::Sum);
            let variant = Variant { suffix, guards, profit, noalias };
            groups.push(VariantGroup::of(
                (variant::Choice::Product(params), Vec::new()),
                Shape::default(),
                inner,
                variant,
            ));
        };
        add(
            "_panels",
            Part::Panel,
            Profit { max_blocks: Some(few), min_inner_length: Some(TWO_PANELS), ..profit },
        );
        add("_sums", Part::Sum, Profit::default());
        if tile.sides.iter().any(|s| s.few) {
            add("", Part::Whole, profit);
        }
    }
    groups
}
