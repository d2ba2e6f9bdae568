//! How one variant computes a product: the parameters of its kernel.

use super::block_tile::BlockTile;
use crate::core::NodeId;
use crate::schedule::lower::LaunchContext;
use crate::schedule::products::Product;
use std::rc::Rc;

/// The widest element of a product, and how many values of a pair of indices are staged.
pub fn staged(l: &LaunchContext, p: &Product) -> (usize, usize) {
    let size = |n: &NodeId| l.g.ty(*n).elem.size();
    let parts = p.sides.iter().flat_map(|s| &s.parts).map(size);
    let widest = parts.chain([size(&p.of.inner[0].node)]).max().unwrap_or(4);
    (widest, p.sides.iter().map(|s| s.parts.len()).sum())
}

/// The squares that blocks may have, the largest first.
pub fn block_tiles(l: &LaunchContext, p: &Product) -> Vec<BlockTile> {
    match staged(l, p) {
        (8, _) => vec![BlockTile::square(64, 2)],
        (_, 2) => vec![BlockTile::square_8x8_per_thread(4), BlockTile::square(64, 4)],
        _ => vec![BlockTile::square(64, 4)],
    }
}

/// What a launch does for a product.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// Split-K: one panel of each result, into scratch.
    Panel,
    /// Split-K: adds the panels in order.
    Sum,
}

/// How one variant computes a product.
pub struct ProductParams {
    pub(super) product: Rc<Product>,
    /// What a block computes.
    pub(super) tile: BlockTile,
    pub part: Part,
    /// Bytes that a load of rows brings into the cache with its own.
    pub(super) l2_prefetch: u32,
    /// Blocks at once on a multiprocessor; 0: as many as fit.
    pub(super) min_resident_blocks: u32,
}

/// By squares that suit every shape.
pub fn whole(l: &LaunchContext, p: &Rc<Product>) -> ProductParams {
    let tile = *block_tiles(l, p).last().expect("a square");
    with_tile(p, tile)
}

/// By the largest squares, if there are two kinds.
pub fn large(l: &LaunchContext, p: &Rc<Product>) -> Option<ProductParams> {
    let block_tiles = block_tiles(l, p);
    (block_tiles.len() > 1).then(|| with_tile(p, block_tiles[0]))
}

pub fn with_tile(p: &Rc<Product>, tile: BlockTile) -> ProductParams {
    let min_resident_blocks = if tile.sums_shared { 0 } else { 2 };
    ProductParams { product: p.clone(), tile, part: Part::Whole, l2_prefetch: 0, min_resident_blocks }
}
