//! Which variants a kernel has on a GPU: an ordered list, each with its strategy, with what must
//! hold for its code to be right (its guards) and with what must hold for it to be the fastest of
//! those that are right (its profit). The first whose conditions hold runs (`plan/policy.rs`).
//! Nothing is lowered here.
//!
//! A new strategy is a file beside this one, an arm of [`Choice`] with its `strategy`, its `emit`,
//! and the place in [`variants`] where it belongs.

use super::elements::MAX_UNROLLED;
use super::segments;
use super::select_elements;
use super::shape::Shape;
use super::variant::{Choice, Guards, Variant, VariantGroup};
use super::{
    cooperative_nest, fold, levels, map, product, register_tiling, small_map, stencil_cost, temporal_blocking,
};
use crate::plan::gpu::Profit;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::groups::{FusedGroup, has_reduction, is_store};
use crate::schedule::lower::LaunchContext;
use crate::schedule::products::{self, Product};
use crate::schedule::scheduler::Scope;
use crate::schedule::stencil::{self, Kept};
use std::num::NonZeroU32;
use std::rc::Rc;

/// Blocks whose threads have the most results only where they keep all multiprocessors of a large
/// device busy.
const MANY_BLOCKS: u32 = 256;

/// All variants, in order of preference.
pub fn variants(l: &mut LaunchContext, fused: &FusedGroup) -> Vec<VariantGroup> {
    if fused.domain.is_empty() {
        let variant = Variant {
            suffix: String::new(),
            guards: Guards::strided(),
            profit: Profit::default(),
            noalias: false,
        };
        return vec![VariantGroup::of(
            (Choice::Scalars, Vec::new()),
            Shape::default(),
            &Rc::new(Interior::whole(fused)),
            variant,
        )];
    }
    if let Some(groups) = segments::variants(l, fused) {
        return groups;
    }
    let inner = Rc::new(interior(l, fused));
    let mut groups = temporal_blocking(l, fused, &inner);
    let product = products::find(l, fused).map(Rc::new);
    if let Some(p) = &product {
        groups.extend(product::variants(l, fused, p, &inner));
    }
    let product = product.filter(|p| p.is_matrix);
    groups.extend(elements(l, fused, &inner, product));
    groups
}

/// Variants that make several steps of an iteration at once, the most first.
fn temporal_blocking(l: &mut LaunchContext, fused: &FusedGroup, inner: &Rc<Interior>) -> Vec<VariantGroup> {
    let Some(params) = temporal_blocking::TemporalBlockingParams::of(l, fused, inner) else {
        return Vec::new();
    };
    let group = |n: i64| {
        let guards = Guards {
            extent: NonZeroU32::new(params.least() as u32),
            ..Guards::contiguous().narrow().noalias()
        };
        let suffix = format!("_steps{n}");
        let variant = Variant { suffix, guards, profit: Profit::default(), noalias: true };
        VariantGroup::of(
            (Choice::TemporalBlocking(params.with(n)), Vec::new()),
            Shape::default(),
            inner,
            variant,
        )
    };
    params.variants.iter().map(|n| group(*n)).collect()
}

/// Variants that compute element by element, whatever the shape of the arrays.
fn elements(
    l: &mut LaunchContext,
    fused: &FusedGroup,
    inner: &Rc<Interior>,
    product: Option<Rc<Product>>,
) -> Vec<VariantGroup> {
    let writes = fused.items.iter().any(|it| is_store(&l.g, it));
    let v = vector_width(l, fused);
    let threads = match fused.sequential {
        true => fold::THREADS,
        false if has_reduction(&l.g, fused) => levels::THREADS,
        false => map::THREADS,
    };
    let shape = Shape { v, threads, descending: l.facts.follows, ..Shape::default() };
    let scattered = Shape { v: 1, ..shape };
    let list = |list: &[(&str, Guards)], profit: Profit| {
        let variant = |(suffix, guards): &(&str, Guards)| {
            let noalias = !writes || guards.noalias;
            Variant { suffix: suffix.to_string(), guards: *guards, profit, noalias }
        };
        list.iter().map(variant).collect::<Vec<_>>()
    };
    let group = |(choice, stencils): (Choice, Vec<Kept>), shape: Shape, variants: Vec<Variant>| {
        VariantGroup { shape, choice, inner: inner.clone(), variants, may_be_left_out: true, stencils }
    };
    let mut groups = Vec::new();
    let small = v > 1 && small_map::serves(l, fused, inner);
    let only_contiguous = matches!(l.wanted, Scope::ContiguousGpu | Scope::ShortGpu);
    if small && l.wanted != Scope::ContiguousGpu {
        groups.push(group(
            (Choice::SmallMap, Vec::new()),
            scattered,
            list(&[("_short", Guards::contiguous().narrow())], small_map::profit()),
        ));
        if l.wanted == Scope::ShortGpu {
            return groups;
        }
    }
    if !fused.sequential {
        if let Some(large) = product.as_ref().and_then(|p| product::large(l, p)) {
            let profit = Profit { min_blocks: Some(MANY_BLOCKS), ..Profit::default() };
            groups.push(group(
                (Choice::Product(large), Vec::new()),
                shape,
                list(&[("_large", Guards { noalias: writes, ..Guards::contiguous().narrow() })], profit),
            ));
        }
        let mut contiguous = vec![("", Guards { noalias: writes, ..Guards::contiguous().narrow() })];
        // only what is read at the element's own index may be an output, too
        if writes && product.is_none() && l.facts.accesses.may_be_in_place() {
            contiguous.push(("_in_place", Guards::contiguous().narrow()));
        }
        contiguous.push(("_wide", Guards::contiguous()));
        let choice = select_elements::choose(l, (fused, inner), product.as_ref(), shape);
        groups.push(group(choice, shape, list(&contiguous, Profit::default())));
        let unaligned = Shape { unaligned: true, ..shape };
        if v > 1 && product.is_none() && is_register_tiled(l, fused, inner, unaligned) {
            let choice = select_elements::choose(l, (fused, inner), product.as_ref(), unaligned);
            let variants = list(
                &[("_unaligned", Guards { noalias: writes, ..Guards::contiguous().narrow() })],
                Profit::default(),
            );
            groups.push(group(choice, unaligned, variants));
        }
    }
    if !only_contiguous || groups.is_empty() {
        let strided = Shape { strided: true, ..scattered };
        let choice = select_elements::choose(l, (fused, inner), product.as_ref(), strided);
        let variants = list(
            &[("_any", Guards::strided().narrow()), ("_any_wide", Guards::strided())],
            Profit::default(),
        );
        groups.push(group(choice, strided, variants));
    }
    groups
}

/// Whether a map goes by rows in registers where arrays lie as they may.
fn is_register_tiled(l: &mut LaunchContext, fused: &FusedGroup, inner: &Interior, shape: Shape) -> bool {
    if fused.domain.len() < 2 || has_reduction(&l.g, fused) || cooperative_nest::choose(l, fused).is_some() {
        return false;
    }
    let stencils = stencil::stencils(&mut l.g, &fused.domain, &inner.arrays);
    let strategy = stencil_cost::strategy(l, &stencils, false).0;
    register_tiling::RegisterTilingParams::of(l, (fused, inner), &stencils, strategy, shape).is_ok()
}

/// What of a map's elements full blocks compute: away from the edges, where that shows what
/// neighbours share. Else there is nothing to gain by it.
fn interior(l: &mut LaunchContext, fused: &FusedGroup) -> Interior {
    let inner = Interior::of(&mut l.g, fused);
    if inner.is_whole(fused) {
        return inner;
    }
    let stencils = stencil::stencils(&mut l.g, &fused.domain, &inner.arrays);
    if stencils.iter().any(|s| !s.is_pointwise()) { inner } else { Interior::whole(fused) }
}

/// How many neighbours a thread of a map takes: the widest array's share is 16 bytes, unless the
/// body is too large to be repeated.
fn vector_width(l: &LaunchContext, fused: &FusedGroup) -> i64 {
    if fused.sequential || has_reduction(&l.g, fused) {
        return 1;
    }
    let reads = l.facts.accesses.pointwise().map(|x| l.g.ty(*x).elem.size());
    let widest = reads.chain(fused.items.iter().map(|it| l.g.ty(it.node).elem.size())).max().unwrap_or(4);
    let affordable = (4 * MAX_UNROLLED / l.facts.cost.max(1)).max(1);
    (16 / widest as i64).min(1 << affordable.ilog2())
}
