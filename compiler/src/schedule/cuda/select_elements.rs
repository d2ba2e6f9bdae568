//! Chooses the strategy of a fused group whose elements are computed one by one: a fold, a reduction,
//! a product, a cooperative loop nest, a stencil or a map.

use super::shape::Shape;
use super::variant::Choice;
use super::{cooperative_nest, map, product, register_tiling, stencil_cost};
use crate::core::StencilHint;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::groups::{FusedGroup, has_reduction};
use crate::schedule::lower::LaunchContext;
use crate::schedule::products::Product;
use crate::schedule::stencil::{self, Kept, Stencil};
use std::rc::Rc;

/// How elements are computed that lie in registers so.
pub fn choose(
    l: &mut LaunchContext,
    (fused, inner): (&FusedGroup, &Interior),
    product: Option<&Rc<Product>>,
    shape: Shape,
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
    if let Some(tiled) = cooperative_nest::choose(l, fused) {
        return (Choice::CooperativeNest(tiled), Vec::new());
    }
    let stencils = stencil::stencils(&mut l.g, &fused.domain, &inner.arrays);
    let (strategy, why) = stencil_cost::strategy(l, &stencils, inner.has_boundary());
    let tiling = register_tiling::RegisterTilingParams::of(l, (fused, inner), &stencils, strategy, shape);
    let why = if let Err(Some(why)) = tiling { why.into() } else { why };
    if let Ok(params) = tiling {
        let kept = keep(l, &stencils, shape, |l, s| (params.strategy(), params.loaded(l, s)), &why);
        return (Choice::RegisterTiling(params), kept);
    }
    let params = map::MapParams::of(l, (fused, inner), &stencils, strategy, shape);
    let kept = keep(l, &stencils, shape, |l, s| params.loaded(l, s, shape), &why);
    let ways: Vec<StencilHint> =
        stencils.iter().filter(|s| s.overlaps()).map(|s| params.loaded(l, s, shape).0).collect();
    let storage = ways.iter().find(|s| **s != StencilHint::Direct).or(ways.first()).copied();
    (Choice::Map(params, storage), kept)
}

/// What was decided of the stencils of contiguous arrays that lie well.
pub fn keep(
    l: &LaunchContext,
    stencils: &[Stencil],
    shape: Shape,
    how: impl Fn(&LaunchContext, &Stencil) -> (StencilHint, f64),
    why: &str,
) -> Vec<Kept> {
    let kept = stencils.iter().filter(|s| s.overlaps() && !shape.strided && !shape.unaligned).map(|s| {
        let (strategy, loaded) = how(l, s);
        Kept::of(&l.g, s, &l.array_name(s.array), strategy, loaded, why)
    });
    kept.collect()
}
