//! Which variants a kernel has on a GPU: an ordered list, each with its strategy, with what must
//! hold for its code to be right (its guards) and with what must hold for it to be the fastest of
//! those that are right (its profit). The first whose conditions hold runs (`plan/launch.rs`).
//! Nothing is lowered here.
//!
//! A new strategy is a file beside this one, an arm of [`Choice`] with its `strategy`, its `emit`,
//! and the place in [`variants`] where it belongs.

use super::temporal_blocking;
use super::{
    MAX_UNROLLED, cooperative_nest, fold, map, product, reduce, register_tiling, segments, small_map,
    stencil_cost,
};
use crate::core::StencilHint;
use crate::plan::gpu::Profit;
use crate::schedule::Scope;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::groups::{FusedGroup, has_reduction, is_store};
use crate::schedule::lower::LaunchContext;
use crate::schedule::products::{self, Product};
use crate::schedule::stencil::{self, Kept, Stencil};
use crate::schedule::strategy::Strategy;
use std::rc::Rc;

/// What the code of a variant is, with all that was decided about it.
pub enum Choice {
    /// One thread computes scalars.
    Scalars,
    /// Several steps of an iteration in one launch.
    TemporalBlocking(temporal_blocking::TemporalBlockingParams),
    /// Reductions of neighbouring sequences.
    Segmented(segments::Way, Strategy),
    /// A matrix product, or one of the two launches of a split-K product.
    Product(product::ProductParams),
    /// One block in index order.
    SequentialFold,
    /// A map of few elements, one a thread.
    SmallMap,
    /// The fixed tree.
    Reduction,
    /// Loops of a block's elements through shared memory.
    CooperativeNest(cooperative_nest::Tiled),
    /// A stencil of two dimensions or more: rows in registers, or a tile of shared memory.
    RegisterTiling(register_tiling::RegisterTilingParams),
    /// A map or a stencil of vectors. The stencil's storage, if there is one.
    Map(map::MapParams, Option<StencilHint>),
}

/// How the elements of a fused group lie in a thread's registers.
#[derive(Clone, Copy, Default)]
pub struct Shape {
    /// Neighbours of each thread, accessed at once.
    pub v: i64,
    /// In planes, a thread's columns are as far apart as a warp is wide, so that a warp's accesses
    /// are one line of memory at any alignment.
    pub unaligned: bool,
    /// Strided arrays, else contiguous.
    pub strided: bool,
    /// Threads of a block.
    pub threads: u32,
    /// Blocks count from the end of the index space.
    pub descending: bool,
}

/// What must hold for a variant's code to be right. (Which arrays are aligned and without gaps
/// between rows follows from the code.)
#[derive(Clone, Copy, Default)]
pub struct Guards {
    /// Strides are 1.
    pub contiguous: bool,
    /// Indices fit into 31 bits.
    pub narrow: bool,
    /// Outputs do not overlap other arrays.
    pub noalias: bool,
    /// The greatest length of a segment.
    pub longest: Option<u32>,
    /// The least length of an axis; 0: any.
    pub extent: u32,
}

/// One variant of a kernel.
pub struct Variant {
    /// Follows the kernel's name in its own.
    pub suffix: String,
    pub guards: Guards,
    pub profit: Profit,
    /// What the code may assume of the arrays: no output overlaps another array.
    pub noalias: bool,
}

/// Variants with one body: they differ in what may be assumed of it.
pub struct VariantGroup {
    pub shape: Shape,
    pub plan: Choice,
    /// What full blocks compute.
    pub inner: Rc<Interior>,
    pub variants: Vec<Variant>,
    /// Whether variants are left out where a function has too much code already.
    pub may_be_left_out: bool,
    /// What was decided of its stencils.
    pub stencils: Vec<Kept>,
}

impl Choice {
    /// The strategy, in the words of reports.
    pub fn strategy(&self, fused: &FusedGroup, nested: bool) -> Strategy {
        match self {
            Choice::Scalars => Strategy::Scalars,
            Choice::TemporalBlocking(_) => Strategy::TemporalBlocking,
            Choice::Segmented(_, strategy) => *strategy,
            Choice::Product(_) => Strategy::Product,
            Choice::SequentialFold => Strategy::SequentialFold,
            Choice::SmallMap => Strategy::Map,
            Choice::Reduction => Strategy::Reduction,
            Choice::CooperativeNest(_) => Strategy::CooperativeNest,
            Choice::RegisterTiling(plan) => Strategy::Stencil(plan.strategy(), fused.domain.len() as u8),
            Choice::Map(_, Some(storage)) => Strategy::Stencil(*storage, fused.domain.len() as u8),
            Choice::Map(_, None) if nested => Strategy::ElementLoops,
            Choice::Map(_, None) => Strategy::Map,
        }
    }
}

impl Guards {
    /// Unit strides, of 64-bit indices.
    pub fn contiguous() -> Guards {
        Guards { contiguous: true, ..Guards::default() }
    }

    /// Any strides, and 64-bit indices.
    pub fn strided() -> Guards {
        Guards::default()
    }

    /// And 32-bit indices.
    pub fn narrow(self) -> Guards {
        Guards { narrow: true, ..self }
    }

    /// And outputs that do not overlap other arrays.
    pub fn noalias(self) -> Guards {
        Guards { noalias: true, ..self }
    }
}

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
    let product = products::plan(l, fused).map(Rc::new);
    if let Some(p) = &product {
        groups.extend(product::variants(l, fused, p, &inner));
    }
    let product = product.filter(|p| p.is_matrix);
    groups.extend(elements(l, fused, &inner, product));
    groups
}

impl VariantGroup {
    /// A group of one variant, which is never left out.
    pub fn of(
        (plan, stencils): (Choice, Vec<Kept>),
        shape: Shape,
        inner: &Rc<Interior>,
        variant: Variant,
    ) -> VariantGroup {
        let (inner, variants) = (inner.clone(), vec![variant]);
        VariantGroup { shape, plan, inner, variants, may_be_left_out: false, stencils }
    }
}

/// Variants that make several steps of an iteration at once, the most first.
fn temporal_blocking(l: &mut LaunchContext, fused: &FusedGroup, inner: &Rc<Interior>) -> Vec<VariantGroup> {
    let Some(plan) = temporal_blocking::TemporalBlockingParams::of(l, fused, inner) else {
        return Vec::new();
    };
    let group = |n: i64| {
        let guards = Guards { extent: plan.least() as u32, ..Guards::contiguous().narrow().noalias() };
        let suffix = format!("_steps{n}");
        let variant = Variant { suffix, guards, profit: Profit::default(), noalias: true };
        VariantGroup::of(
            (Choice::TemporalBlocking(plan.with(n)), Vec::new()),
            Shape::default(),
            inner,
            variant,
        )
    };
    plan.variants.iter().map(|n| group(*n)).collect()
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
        false if has_reduction(&l.g, fused) => reduce::THREADS,
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
    let group = |(plan, stencils): (Choice, Vec<Kept>), shape: Shape, variants: Vec<Variant>| VariantGroup {
        shape,
        plan,
        inner: inner.clone(),
        variants,
        may_be_left_out: true,
        stencils,
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
        let plan = plan(l, (fused, inner), product.as_ref(), shape);
        groups.push(group(plan, shape, list(&contiguous, Profit::default())));
        let unaligned = Shape { unaligned: true, ..shape };
        if v > 1 && product.is_none() && is_register_tiled(l, fused, inner, unaligned) {
            let plan = self::plan(l, (fused, inner), product.as_ref(), unaligned);
            let variants = list(
                &[("_unaligned", Guards { noalias: writes, ..Guards::contiguous().narrow() })],
                Profit::default(),
            );
            groups.push(group(plan, unaligned, variants));
        }
    }
    if !only_contiguous || groups.is_empty() {
        let strided = Shape { strided: true, ..scattered };
        let plan = plan(l, (fused, inner), product.as_ref(), strided);
        let variants = list(
            &[("_any", Guards::strided().narrow()), ("_any_wide", Guards::strided())],
            Profit::default(),
        );
        groups.push(group(plan, strided, variants));
    }
    groups
}

/// How elements are computed that lie in registers so.
pub fn plan(
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
    if let Some(tiled) = cooperative_nest::plan(l, fused) {
        return (Choice::CooperativeNest(tiled), Vec::new());
    }
    let stencils = stencil::stencils(&mut l.g, &fused.domain, &inner.arrays);
    let (strategy, why) = stencil_cost::strategy(l, &stencils, inner.has_boundary());
    let tiling = register_tiling::RegisterTilingParams::of(l, (fused, inner), &stencils, strategy, shape);
    let why = if let Err(Some(why)) = tiling { why.into() } else { why };
    if let Ok(plan) = tiling {
        let kept = keep(l, &stencils, shape, |l, s| (plan.strategy(), plan.loaded(l, s)), &why);
        return (Choice::RegisterTiling(plan), kept);
    }
    let plan = map::MapParams::of(l, (fused, inner), &stencils, strategy, shape);
    let kept = keep(l, &stencils, shape, |l, s| plan.loaded(l, s, shape), &why);
    let ways: Vec<StencilHint> =
        stencils.iter().filter(|s| s.overlaps()).map(|s| plan.loaded(l, s, shape).0).collect();
    let storage = ways.iter().find(|s| **s != StencilHint::Direct).or(ways.first()).copied();
    (Choice::Map(plan, storage), kept)
}

/// Whether a map goes by rows in registers where arrays lie as they may.
fn is_register_tiled(l: &mut LaunchContext, fused: &FusedGroup, inner: &Interior, shape: Shape) -> bool {
    if fused.domain.len() < 2 || has_reduction(&l.g, fused) || cooperative_nest::plan(l, fused).is_some() {
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

/// What was decided of the stencils of contiguous arrays that lie well.
fn keep(
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
