//! The variants of a product by tensor cores, and the shapes for which they are the fastest.

use super::copies::plain;
use super::find::{Operands, find};
use super::layout::Shape;
use super::params::{Rows, TensorProductParams};
use crate::kernel::WARPGROUP_CAPABILITY;
use crate::plan::gpu::Profit;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::cuda::thread_layout::ThreadLayout;
use crate::schedule::cuda::variant::{Choice, Guards, Variant, VariantGroup};
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::facts::products::Product;
use std::num::NonZeroU32;
use std::rc::Rc;

/// The minimum number of large block tiles: with fewer, some multiprocessors of a large device would have no work.
const LARGE_MIN_BLOCKS: u32 = 96;
/// The minimum number of block tiles of any size: so many have more throughput than all multiprocessors have without
/// tensor cores.
const MIN_BLOCKS: u32 = 32;
/// The minimum number of rows and of columns of a product. Tiles that reach beyond the product's edge are filled with
/// zeros, so that a narrow product wastes most of a large tile. If rows are aligned, the minimum for large tiles is
/// higher, because small tiles can take over.
const MIN_SIDE: u32 = 8;
const LARGE_MIN_SIDE: u32 = 96;
/// The minimum extents for which a launch of its own packs the operands: their elements are used often, and there are
/// many block tiles.
const PACKED_MIN_SIDE: u32 = 704;
const PACKED_MIN_LENGTH: u32 = 256;

/// The minimum share of a device, in percent, that block tiles of warpgroups keep busy to be faster than smaller ones
/// of warps.
const WARPGROUPS_MIN_BUSY: u32 = 55;
/// The halves of 128 bytes. Of lines that begin at other places, pieces of 64 bytes lie in three sectors of the
/// second cache in place of two, so that packing takes less time than copies of such pieces do (bench/NOTES.md).
const HALVES_OF_LINE: u32 = 64;

/// Returns the guards of warpgroups that copy both operands as they lie, if they can: lines begin at 128 bytes.
fn copied_by_warpgroups(l: &LaunchContext, p: &Product, operands: &Operands) -> Option<Guards> {
    let [rows, columns] = [0, 1].map(|side| p.sides[side].along_k);
    let is_plain =
        |side: usize| plain(&l.g, p, (side, operands.values[side]), p.sides[side].along_k).is_some();
    let of_line = NonZeroU32::new(HALVES_OF_LINE);
    let neighbours = if columns { None } else { of_line };
    (operands.ty.is_half() && rows && is_plain(0) && is_plain(1)).then(|| Guards {
        multiple: of_line,
        neighbours,
        ..Guards::contiguous()
    })
}

/// Returns the variants, if the author allows tensor cores and they can multiply the operands.
pub fn variants(l: &mut LaunchContext, p: &Rc<Product>, inner: &Rc<Interior>) -> Vec<VariantGroup> {
    let Some(operands) = l.has_tensor_cores().then(|| find(&l.g, p)).flatten() else { return Vec::new() };
    let profit = |min_blocks: Option<u32>, side: u32| {
        let (min_rows, min_columns) = (Some(side), Some(side));
        Profit { min_blocks, min_rows, min_columns, ..Profit::default() }
    };
    let copied = copied_by_warpgroups(l, p, &operands);
    let variant = |suffix: &str, (shape, rows): (Shape, Rows), packs: bool, profit: Profit| {
        let params = TensorProductParams { product: p.clone(), operands, shape, rows, packs };
        let strided = matches!(rows, Rows::Packed | Rows::Strided);
        let guards = if strided { Guards::strided() } else { Guards::contiguous() };
        let guards = match shape.is_by_warpgroups() {
            true => Guards {
                architecture: Some(WARPGROUP_CAPABILITY),
                ..copied.filter(|_| !strided).unwrap_or(guards)
            },
            false => guards,
        };
        let guards = guards.narrow().noalias();
        let variant = Variant { suffix: suffix.into(), guards, profit, noalias: true };
        let layout = ThreadLayout { strided, ..ThreadLayout::default() };
        VariantGroup::of((Choice::TensorProduct(params), Vec::new()), layout, inner, variant)
    };
    let (large, any) = (profit(Some(LARGE_MIN_BLOCKS), LARGE_MIN_SIDE), profit(Some(MIN_BLOCKS), MIN_SIDE));
    let packed = Profit { min_inner_length: Some(PACKED_MIN_LENGTH), ..profit(None, PACKED_MIN_SIDE) };
    let groups = Profit { min_busy: Some(WARPGROUPS_MIN_BUSY), ..profit(None, LARGE_MIN_SIDE) };
    let packed_groups = Profit { min_busy: Some(WARPGROUPS_MIN_BUSY), ..packed };
    let mut all = Vec::new();
    if copied.is_some() {
        all.push(variant("_warpgroup", (Shape::WARPGROUPS, Rows::Aligned), false, groups));
    }
    let packed_shape = (Shape::WARPGROUPS, Rows::Packed);
    all.extend([
        variant("_warpgroup_packs", packed_shape, true, packed_groups),
        variant("_warpgroup_packed", packed_shape, false, Profit::default()),
        variant("_tensor", (Shape::LARGE, Rows::Aligned), false, large),
        variant("_tensor_small", (Shape::SMALL, Rows::Aligned), false, any),
        variant("_tensor_unaligned", (Shape::LARGE, Rows::AlignedOperands), false, any),
        variant("_tensor_packs", (Shape::LARGE, Rows::Packed), true, packed),
        variant("_tensor_packed", (Shape::LARGE, Rows::Packed), false, Profit::default()),
        variant("_tensor_any", (Shape::LARGE, Rows::Strided), false, any),
    ]);
    all
}
