//! Chooses the strategy of a fused group whose elements are computed one by one: a fold, a
//! reduction, a product, a cooperative nest, a stencil or a map.

use super::thread_layout::ThreadLayout;
use super::variant::Choice;
use super::{cooperative_nest, map, product, register_tiling, stencil_cost};
use crate::core::{NodeId, Op, StencilHint};
use crate::schedule::boundary::interior::Interior;
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::element::opened;
use crate::schedule::facts::products::Product;
use crate::schedule::facts::stencil::{self, Kept, Stencil};
use crate::schedule::groups::{FusedGroup, has_reduction, is_store};
use std::rc::Rc;

/// Chooses the strategy for one layout of elements in threads. Also returns what reports say of its stencils.
pub fn choose(
    l: &mut LaunchContext,
    (fused, inner): (&FusedGroup, &Interior),
    product: Option<&Rc<Product>>,
    layout: ThreadLayout,
) -> (Choice, Vec<Kept>) {
    if fused.sequential {
        return (Choice::SequentialFold, Vec::new());
    }
    if has_reduction(&l.g, fused) {
        return (Choice::Reduction, Vec::new());
    }
    if let Some(p) = product {
        return (Choice::Product(product::whole(l, p)), Vec::new());
    }
    if let Some(params) = cooperative_nest::choose(l, fused) {
        return (Choice::CooperativeNest(params), Vec::new());
    }
    let stencils = stencil::stencils(&mut l.g, &fused.domain, &inner.arrays);
    let (strategy, why) = stencil_cost::strategy(l, &stencils, inner.has_boundary());
    let tiling = register_tiling::RegisterTilingParams::of(l, (fused, inner), &stencils, strategy, layout);
    let why = if let Err(Some(why)) = tiling { why.into() } else { why };
    if let Ok(params) = tiling {
        let kept = report(l, &stencils, layout, |l, s| (params.strategy(), params.loaded(l, s)), &why);
        return (Choice::RegisterTiling(params), kept);
    }
    let layout = layout_of_map(l, fused, layout);
    let params = map::MapParams::of(l, (fused, inner), &stencils, strategy, layout);
    let kept = report(l, &stencils, layout, |l, s| params.loaded(l, s, layout), &why);
    let storages: Vec<StencilHint> =
        stencils.iter().filter(|s| s.overlaps()).map(|s| params.loaded(l, s, layout).0).collect();
    let storage = storages.iter().find(|s| **s != StencilHint::Direct).or(storages.first()).copied();
    (Choice::Map(params, storage), kept)
}

/// If an element reads at least this many elements of matrices, each by its own indices, a thread's elements are a
/// block's width apart. If they were neighbours, a warp's load would take four lines of the first-level cache in
/// place of one. The number is computed, not measured: four loads of 128 elements then take 64 cycles of the cache,
/// and memory takes 54 for them.
const MANY_READS: usize = 5;

/// Returns the layout of a map for one layout of elements in threads.
pub fn layout_of_map(l: &mut LaunchContext, fused: &FusedGroup, layout: ThreadLayout) -> ThreadLayout {
    // an element of a vector may read many rows of a matrix at its own index
    let reads_rows = fused.domain.len() == 1 && fused.items.iter().all(|it| is_store(&l.g, it));
    if !l.facts.accesses.needs_indices() && !reads_rows {
        return layout;
    }
    let index: Vec<NodeId> = l.g.sample_index(fused.domain.len()).iter().map(|v| v.1).collect();
    let roots: Vec<NodeId> = fused.items.iter().map(|it| opened(&mut l.g, it.node, &index)).collect();
    let is_read = |n: &NodeId| match l.g.op(*n) {
        Op::Elem(x, _) | Op::At(x, _) => l.g.ty(*x).rank > 1 && !l.g.is_closed(*n),
        _ => false,
    };
    match l.g.reachable(roots).iter().filter(|n| is_read(n)).count() {
        0..MANY_READS => layout,
        _ => ThreadLayout { v: 1, ..layout },
    }
}

/// Returns the map that computes a stencil of matrices element by element, in row-major order.
pub fn flat(l: &mut LaunchContext, (fused, inner): (&FusedGroup, &Interior), layout: ThreadLayout) -> Choice {
    let stencils = stencil::stencils(&mut l.g, &fused.domain, &inner.arrays);
    let direct = StencilHint::Direct;
    Choice::Map(map::MapParams::of(l, (fused, inner), &stencils, direct, layout), Some(direct))
}

/// Returns what was decided about the stencils, for reports. These have only the layout for contiguous, aligned
/// arrays.
pub fn report(
    l: &LaunchContext,
    stencils: &[Stencil],
    layout: ThreadLayout,
    storage_of: impl Fn(&LaunchContext, &Stencil) -> (StencilHint, f64),
    why: &str,
) -> Vec<Kept> {
    let kept = stencils.iter().filter(|s| s.overlaps() && !layout.strided && !layout.unaligned).map(|s| {
        let (strategy, loaded) = storage_of(l, s);
        Kept::of(&l.g, s, &l.array_name(s.array), strategy, loaded, why)
    });
    kept.collect()
}
