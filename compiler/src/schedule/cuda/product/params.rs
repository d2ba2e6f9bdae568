//! The parameters of one variant of a product.

use super::block_tile::BlockTile;
use crate::core::{Graph, NodeId, Op};
use crate::kernel::COPY_BYTES;
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::facts::loop_nests;
use crate::schedule::facts::products::Product;
use std::num::NonZeroU32;
use std::rc::Rc;

/// If a function's products have more operations than this, further products get only the usual variants. This many
/// operations are two megabytes of PTX.
pub const MAX_PRODUCT_OPERATIONS: usize = 50_000;

/// Returns the size of the widest element of a product in bytes, and the number of values that are
/// staged in shared memory for a pair of indices.
pub fn staged(l: &LaunchContext, p: &Product) -> (usize, usize) {
    let size = |n: &NodeId| l.g.ty(*n).elem.size();
    let parts = p.sides.iter().flat_map(|s| &s.parts).map(size);
    let widest = parts.chain([size(&p.of.inner[0].node)]).max().unwrap_or(4);
    (widest, p.sides.iter().map(|s| s.parts.len()).sum())
}

/// Returns the square block tiles that suit the product, the largest thread tile first.
pub fn block_tiles(l: &LaunchContext, p: &Product) -> Vec<BlockTile> {
    match staged(l, p) {
        (8, _) => vec![BlockTile::square(64, 2)],
        (_, 2) => vec![BlockTile::square_8x8_per_thread(4), BlockTile::square(64, 4)],
        _ => vec![BlockTile::square(64, 4)],
    }
}

/// The part of a product that a launch computes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The whole product.
    Whole,
    /// Split-K: each block computes one panel of its block tile, into scratch.
    Panel,
    /// Split-K: adds the panels in order.
    Sum,
}

/// The parameters of one variant of a product.
pub struct ProductParams {
    pub(super) product: Rc<Product>,
    /// The block tile.
    pub(super) tile: BlockTile,
    pub part: Part,
    /// The size of the L2 prefetch of the loads of rows, in bytes; 0 for none.
    pub(super) l2_prefetch: u32,
    /// The minimum number of resident blocks per multiprocessor; 0 for no bound.
    pub(super) min_resident_blocks: u32,
}

impl ProductParams {
    /// Returns a number of which the number of columns must be a multiple: the vector width, if columns are loaded by
    /// vectors without tests at the edge.
    pub fn neighbours(&self) -> Option<NonZeroU32> {
        let by_vectors = self.tile.clamped && !self.product.sides[1].along_k;
        NonZeroU32::new(self.tile.v as u32).filter(|_| by_vectors)
    }
}

/// Returns the parameters with the block tile that suits every shape.
pub fn whole(l: &LaunchContext, p: &Rc<Product>) -> ProductParams {
    let tile = *block_tiles(l, p).last().expect("a square");
    with_tile(p, tile)
}

/// Returns the parameters with the largest thread tile, if there are two kinds of block tiles.
pub fn large(l: &LaunchContext, p: &Rc<Product>) -> Option<ProductParams> {
    let block_tiles = block_tiles(l, p);
    (block_tiles.len() > 1).then(|| clamped(p, block_tiles[0]))
}

/// Returns the parameters with this block tile, clamped at the edges if the rows of the left operand can be loaded
/// one by one.
fn clamped(p: &Rc<Product>, tile: BlockTile) -> ProductParams {
    with_tile(p, BlockTile { clamped: p.sides[0].along_k, ..tile })
}

/// Returns the parameters with the largest block tile, for elements of up to 4 bytes, unless the function has much
/// code already. Launches of this variant must ask the driver for more shared memory.
pub fn largest(l: &mut LaunchContext, p: &Rc<Product>) -> Option<ProductParams> {
    let fits = staged(l, p) == (4, 2) && l.code_size().products <= MAX_PRODUCT_OPERATIONS;
    fits.then(|| ProductParams { min_resident_blocks: 2, ..clamped(p, BlockTile::square_16x8_per_thread(4)) })
}

pub fn with_tile(p: &Rc<Product>, tile: BlockTile) -> ProductParams {
    let min_resident_blocks = if tile.sums_shared { 0 } else { 2 };
    ProductParams { product: p.clone(), tile, part: Part::Whole, l2_prefetch: 0, min_resident_blocks }
}

/// Returns whether the values of a side can be copied asynchronously: they are elements of arrays, and each copy
/// takes either a thread's vector, if that has 16 bytes which are neighbours in shared memory as well, or one element
/// of a suitable size. Rows stay rows in shared memory if there are few columns; else they are transposed, which only
/// copies of one element can do.
pub fn can_copy(g: &Graph, p: &Product, tile: BlockTile, s: usize) -> bool {
    let side = &p.sides[s];
    let along = if side.along_k { p.k } else { p.outer[s] };
    let stays = !side.along_k || tile.group(s) == 1 || tile.any_strides;
    let indices = p.variables(along, s);
    let is_plain = |n: &NodeId| {
        let Op::Elem(x, index) = g.op(*n) else { return false };
        let (last, outer) = index.split_last().expect("an index an axis");
        let moves = |n: &NodeId| *n == along || loop_nests::depends(g, *n, &indices);
        let bytes = g.ty(*x).elem.size() * tile.vector(s) as usize;
        // loads of a short side check bounds, which a copy cannot do
        let by_element = tile.any_strides && !tile.sides[s].skinny;
        let has_size = bytes == COPY_BYTES || by_element && matches!(bytes, 4 | 8);
        *last == along && !outer.iter().any(moves) && has_size
    };
    stays && side.parts.iter().all(is_plain)
}
