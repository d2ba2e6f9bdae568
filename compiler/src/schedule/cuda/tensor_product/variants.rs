//! The variants, and the shapes for which they are the fastest.

use super::find::find;
use super::params::TensorProductParams;
use crate::plan::gpu::Profit;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::cuda::thread_layout::ThreadLayout;
use crate::schedule::cuda::variant::{Choice, Guards, Variant, VariantGroup};
use crate::schedule::lower::LaunchContext;
use crate::schedule::products::Product;
use std::rc::Rc;

/// The minimum number of block tiles: so many have more throughput than all multiprocessors have without
/// tensor cores.
const MIN_BLOCKS: u32 = 24;
/// The minimum number of rows and columns: of a block tile, as much as that is in the matrix.
const MIN_SIDE: u32 = 32;

/// Returns the variants, if the author allows tensor cores and they can multiply the operands.
pub fn variants(l: &mut LaunchContext, p: &Rc<Product>, inner: &Rc<Interior>) -> Vec<VariantGroup> {
    let Some(operands) = l.has_tensor_cores().then(|| find(&l.g, p)).flatten() else { return Vec::new() };
    let profit = Profit {
        min_blocks: Some(MIN_BLOCKS),
        min_rows: Some(MIN_SIDE),
        min_columns: Some(MIN_SIDE),
        ..Profit::default()
    };
    let group = |suffix: &str, guards: Guards, strided: bool| {
        let params = TensorProductParams { product: p.clone(), operands, strided };
        let guards = guards.narrow().noalias();
        let variant = Variant { suffix: suffix.into(), guards, profit, noalias: true };
        let layout = ThreadLayout { strided, ..ThreadLayout::default() };
        VariantGroup::of((Choice::TensorProduct(params), Vec::new()), layout, inner, variant)
    };
    vec![group("_tensor", Guards::contiguous(), false), group("_tensor_any", Guards::strided(), true)]
}
