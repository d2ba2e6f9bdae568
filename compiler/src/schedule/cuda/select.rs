//! Selects the variants of a kernel on a GPU. The result is an ordered list of variants, each with
//! its strategy, its guards (what must hold for its code to be right) and its profit (what must
//! hold for it to be the fastest of those that are right). The launch policy (`plan/policy.rs`)
//! runs the first variant whose guards and profit hold. Nothing is lowered here.
//!
//! A new strategy is a file in this folder with its `mod` line and its row of the table in `mod.rs`,
//! an arm of [`Choice`] (`variant.rs`) with its `Strategy` (`schedule/strategy.rs`), an arm of `emit`
//! in `mod.rs`, and its place in the order: in [`variants`] or [`elements`] here, or, if it computes
//! element by element, in `select_elements::choose`. `ARCHITECTURE.md` has the whole list.

use super::elements::MAX_UNROLLED;
use super::segments;
use super::select_elements;
use super::thread_layout::ThreadLayout;
use super::variant::{Choice, Guards, Variant, VariantGroup};
use super::{
    bins, contraction, cooperative_nest, fold, levels, map, packed_reduction, plane_steps, plane_stream,
    plane_walk, product, put, radix_sort, reduce, register_tiling, resident_columns, resident_rows,
    row_folds, scan, small_map, stencil_chain, stencil_cost, temporal_blocking, tensor_product, thread_rows,
    transposed_tile,
};
use crate::plan::gpu::Profit;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::facts::products::{self, Product};
use crate::schedule::facts::stencil::{self, Kept};
use crate::schedule::groups::{FusedGroup, has_reduction, is_store};
use crate::schedule::scheduler::Scope;
use std::num::NonZeroU32;
use std::rc::Rc;

/// The minimum number of blocks for the product variant with the largest thread tiles: with fewer blocks, some
/// multiprocessors of a large device would have no work.
const LARGE_TILE_MIN_BLOCKS: u32 = 256;

/// The minimum inner length for the variant with the largest block tiles. With fewer steps, what a block does before
/// the first step and after the last one counts for more (11 % at length 64, 6 % at 256).
const LARGEST_TILE_MIN_LENGTH: u32 = 512;

/// Returns all variants in order of preference.
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
            ThreadLayout::default(),
            &Rc::new(Interior::whole(fused)),
            variant,
        )];
    }
    if l.facts.whole_sort.is_some() || l.facts.scatter.is_some() {
        return Vec::new();
    }
    if let Some(step) = radix_sort::variants(l, fused) {
        return step;
    }
    if let Some(whole) = &l.facts.whole_scan {
        return if l.facts.is_for_cpus { Vec::new() } else { scan::one_pass::variants(l, fused, whole) };
    }
    if let Some(filter) = &l.facts.filter {
        return scan::one_pass::filter::variants(fused, filter);
    }
    if let Some(scan) = scan::variants(l, fused) {
        return scan;
    }
    if let Some(put) = put::variants(l, fused) {
        return put;
    }
    if let Some(bins) = bins::variants(l, fused) {
        return bins;
    }
    if let Some(resident) = resident_rows::variants(l, fused) {
        return resident;
    }
    if let Some(resident) = resident_columns::variants(l, fused) {
        return resident;
    }
    if let Some(both) = resident_rows::variants_of_columns(l, fused) {
        return both;
    }
    let mut chain = Vec::new();
    if let Some(facts) = l.facts.stencil_chain.clone() {
        chain = stencil_chain::variants(l).unwrap_or_default();
        // a call that none of these variants serves runs the launches that this one replaces
        if !facts.has_recomputing_variants {
            return chain;
        }
    }
    if let Some(others) = segments::variants(l, fused) {
        if l.facts.stored_columns.is_some() {
            return others;
        }
        let mut all = thread_rows(l, fused);
        all.extend(contraction::variants(l, fused));
        all.extend(others);
        return all;
    }
    if let Some(any_lengths) = segments::ragged_variants(l, fused) {
        return any_lengths;
    }
    let inner = Rc::new(interior(l, fused));
    let mut groups = chain;
    groups.extend(temporal_blocking(l, fused, &inner));
    groups.extend(plane_steps::variant(l, fused, &inner));
    let product = products::find(l, fused).map(Rc::new);
    if let Some(p) = &product {
        groups.extend(tensor_product::variants(l, p, &inner));
        groups.extend(product::variants(l, fused, p, &inner, false));
    }
    let product = product.filter(|p| p.is_matrix);
    groups.extend(thread_rows(l, fused));
    groups.extend(row_folds(l, fused));
    groups.extend(segments::variants_of_loops(l, fused));
    groups.extend(elements(l, fused, &inner, product));
    groups
}

/// Returns the variants that do several steps of an iteration in one launch, those with most steps
/// first.
fn temporal_blocking(l: &mut LaunchContext, fused: &FusedGroup, inner: &Rc<Interior>) -> Vec<VariantGroup> {
    let Some(params) = temporal_blocking::TemporalBlockingParams::of(l, fused, inner) else {
        return Vec::new();
    };
    let group = |(n, unaligned): (i64, bool)| {
        let guards = Guards {
            extent: NonZeroU32::new(params.min_extent() as u32),
            ..Guards::contiguous().narrow().noalias()
        };
        let (params, suffix) = match unaligned {
            false => (params.with_steps(n), format!("_steps{n}")),
            true => (params.with_steps(n).of_any_alignment(), format!("_steps{n}_unaligned")),
        };
        let variant = Variant { suffix, guards, profit: Profit::default(), noalias: true };
        VariantGroup::of(
            (Choice::TemporalBlocking(params), Vec::new()),
            ThreadLayout::default(),
            inner,
            variant,
        )
    };
    let each = params.variants.iter().flat_map(|n| [(*n, false), (*n, true)]);
    each.map(group).collect()
}

/// Returns a variant for each length of rows that a thread may have in its registers.
fn thread_rows(l: &mut LaunchContext, fused: &FusedGroup) -> Vec<VariantGroup> {
    let inner = Rc::new(Interior::whole(fused));
    let layout = ThreadLayout { v: 1, threads: thread_rows::THREADS, ..ThreadLayout::default() };
    let group = |(n, params)| {
        let exactly = Guards { longest: Some(n), multiple: NonZeroU32::new(n), ..Guards::contiguous() };
        let (suffix, guards) = (format!("_rows{n}"), exactly.narrow().noalias());
        let variant = Variant { suffix, guards, profit: Profit::default(), noalias: true };
        let choice = (Choice::ThreadRows(params), Vec::new());
        VariantGroup { may_be_left_out: true, ..VariantGroup::of(choice, layout, &inner, variant) }
    };
    thread_rows::of_lengths(l, fused).into_iter().map(group).collect()
}

/// Returns the variant for long rows that elements fold.
fn row_folds(l: &mut LaunchContext, fused: &FusedGroup) -> Option<VariantGroup> {
    let params = row_folds::params(l)?;
    let inner = Rc::new(Interior::whole(fused));
    let layout = ThreadLayout { v: 1, threads: fold::THREADS, ..ThreadLayout::default() };
    let profit = Profit { min_inner_length: Some(row_folds::SHORTEST), ..Profit::default() };
    let guards = Guards::contiguous().narrow().noalias();
    let variant = Variant { suffix: "_folds".into(), guards, profit, noalias: true };
    let group = VariantGroup::of((Choice::RowFolds(params), Vec::new()), layout, &inner, variant);
    Some(VariantGroup { may_be_left_out: true, ..group })
}

/// Returns the variants that compute element by element, for contiguous arrays first, then for
/// arrays with any strides.
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
    let layout =
        ThreadLayout { v, threads, descending: l.facts.reuses_previous_arrays, ..ThreadLayout::default() };
    let scalar_layout = ThreadLayout { v: 1, ..layout };
    let list = |list: &[(&str, Guards)], profit: Profit| {
        let variant = |(suffix, guards): &(&str, Guards)| {
            let noalias = !writes || guards.noalias;
            Variant { suffix: suffix.to_string(), guards: *guards, profit, noalias }
        };
        list.iter().map(variant).collect::<Vec<_>>()
    };
    let of_map = select_elements::layout_of_map(l, fused, layout);
    let group = |(choice, stencils): (Choice, Vec<Kept>), layout: ThreadLayout, variants: Vec<Variant>| {
        let is_map = matches!(choice, Choice::Map(..)) && !layout.strided;
        let layout = if is_map { of_map } else { layout };
        let (inner, transposed) = (inner.clone(), Vec::new());
        VariantGroup { layout, choice, inner, variants, may_be_left_out: true, stencils, transposed }
    };
    let mut groups = Vec::new();
    let small = v > 1 && small_map::serves(l, fused, inner);
    let only_contiguous = !l.wanted.is_general();
    if small && l.wanted != Scope::ContiguousGpu {
        groups.push(group(
            (Choice::SmallMap, Vec::new()),
            scalar_layout,
            list(&[("_short", Guards::contiguous().narrow())], small_map::profit()),
        ));
        if l.wanted == Scope::ShortGpu {
            // it is the only one
            groups.iter_mut().for_each(|g| g.may_be_left_out = false);
            return groups;
        }
    }
    if !fused.sequential {
        for (params, suffix, profit) in product.iter().flat_map(|p| large_tiles(l, p)) {
            let neighbours = params.neighbours();
            let guards = Guards { noalias: writes, neighbours, ..Guards::contiguous().narrow() };
            groups.push(group((Choice::Product(params), vec![]), layout, list(&[(suffix, guards)], profit)));
        }
        if let Some(batch) = packed_reduction::batch(l, fused).filter(|_| has_reduction(&l.g, fused)) {
            let guards = Guards::contiguous();
            groups.push(group(
                (Choice::PackedReduction { batch }, Vec::new()),
                layout,
                list(&[("_packed", guards.narrow()), ("_packed_wide", guards)], Profit::default()),
            ));
        }
        for (kernel, suffix, profit) in reduce::stored_kernels(l, fused) {
            let layout = ThreadLayout { threads: kernel.threads(), ..layout };
            let variants = list(&[(suffix, Guards::contiguous().narrow())], profit);
            let both = group((Choice::StoredReduction(kernel), Vec::new()), layout, variants);
            groups.push(VariantGroup { may_be_left_out: !kernel.follows(), ..both });
        }
        if product.is_none() {
            groups.extend(transposed_tile::variants(l, fused, inner, layout));
            let streams = plane_stream::variants(l, fused, inner, layout);
            if streams.is_empty() {
                groups.extend(plane_walk::variants(l, fused, inner, layout));
            }
            groups.extend(streams);
        }
        let mut contiguous = vec![("", Guards { noalias: writes, ..Guards::contiguous().narrow() })];
        // an output may be an input only if that array is read at the element's own index alone
        if writes && product.is_none() && l.facts.accesses.may_be_in_place() {
            contiguous.push(("_in_place", Guards::contiguous().narrow()));
        }
        contiguous.push(("_wide", Guards::contiguous()));
        let choice = select_elements::choose(l, (fused, inner), product.as_ref(), layout);
        let profit = profit(l, fused, &choice.0);
        let unaligned = match &choice.0 {
            Choice::Map(params, storage) => params.without_interleaved().map(|p| Choice::Map(p, *storage)),
            _ => None,
        };
        groups.push(group(choice, layout, list(&contiguous, profit)));
        if let Some(choice) = unaligned {
            let guards = Guards { noalias: writes, ..Guards::contiguous().narrow() };
            groups.push(group((choice, vec![]), layout, list(&[("_unaligned", guards)], profit)));
        }
        let unaligned = ThreadLayout { unaligned: true, ..layout };
        if v > 1 && product.is_none() && is_register_tiled(l, fused, inner, unaligned) {
            let choice = select_elements::choose(l, (fused, inner), product.as_ref(), unaligned);
            let guards = Guards { noalias: writes, ..Guards::contiguous().narrow() };
            let variants = list(&[("_unaligned", guards)], self::profit(l, fused, &choice.0));
            groups.push(group(choice, unaligned, variants));
            if profit.min_rows.is_some() || profit.min_columns.is_some() {
                groups.extend(few_blocks(l, fused, inner, scalar_layout, writes));
                // this is for few rows or columns only, because rows of any alignment have a variant before
                let flat = select_elements::flat(l, (fused, inner), of_map);
                let variants = list(&[("_flat", guards)], Profit::default());
                groups.push(group((flat, Vec::new()), layout, variants));
            }
        }
    }
    if !only_contiguous || groups.is_empty() {
        let strided = ThreadLayout { strided: true, ..scalar_layout };
        if let Some(p) = product.as_ref().filter(|_| !only_contiguous && !fused.sequential) {
            groups.extend(product::variants(l, fused, p, inner, true));
            for (params, suffix, profit) in large_tiles(l, p) {
                let guards = Guards { noalias: writes, ..Guards::strided().narrow() };
                let variants = list(&[(&format!("_any{suffix}"), guards)], profit);
                groups.push(group((Choice::Product(params), vec![]), strided, variants));
            }
        }
        let choice = select_elements::choose(l, (fused, inner), product.as_ref(), strided);
        let variants = list(
            &[("_any", Guards::strided().narrow()), ("_any_wide", Guards::strided())],
            Profit::default(),
        );
        groups.push(group(choice, strided, variants));
    }
    groups
}

/// Returns the variant of a stencil for calls with few blocks: the one for any strides, whose blocks are the
/// smallest.
fn few_blocks(
    l: &mut LaunchContext,
    fused: &FusedGroup,
    inner: &Rc<Interior>,
    layout: ThreadLayout,
    writes: bool,
) -> Option<VariantGroup> {
    let layout = ThreadLayout { strided: true, ..layout };
    let (choice, stencils) = select_elements::choose(l, (fused, inner), None, layout);
    let Choice::RegisterTiling(params) = &choice else { return None };
    let profit = Profit { min_busy: None, ..params.profit(l, fused) };
    let guards = Guards { noalias: writes, ..Guards::strided().narrow() };
    let variant = Variant { suffix: "_few".into(), guards, profit, noalias: true };
    let group = VariantGroup::of((choice, stencils), layout, inner, variant);
    Some(VariantGroup { may_be_left_out: true, ..group })
}

/// Returns the variants of a product with the largest tiles first, with their names and the shapes for which they
/// pay. The launch policy takes the largest tiles only if their blocks fill the device.
fn large_tiles(
    l: &mut LaunchContext,
    p: &Rc<Product>,
) -> Vec<(product::ProductParams, &'static str, Profit)> {
    let some_blocks = Profit { min_blocks: Some(LARGE_TILE_MIN_BLOCKS), ..Profit::default() };
    let long = Profit { min_inner_length: Some(LARGEST_TILE_MIN_LENGTH), ..Profit::default() };
    let largest = product::largest(l, p).map(|p| (p, "_largest", long));
    let large = product::large(l, p).map(|p| (p, "_large", some_blocks));
    largest.into_iter().chain(large).collect()
}

/// Returns for which extents the blocks of a choice have enough elements. If there are no variants for any strides,
/// which would serve all other extents, there is no condition.
fn profit(l: &LaunchContext, fused: &FusedGroup, choice: &Choice) -> Profit {
    match choice {
        Choice::RegisterTiling(params) if l.wanted.is_general() => params.profit(l, fused),
        _ => Profit::default(),
    }
}

/// Whether a map keeps rows in registers even where arrays may have any alignment.
fn is_register_tiled(
    l: &mut LaunchContext,
    fused: &FusedGroup,
    inner: &Interior,
    layout: ThreadLayout,
) -> bool {
    if fused.domain.len() < 2 || has_reduction(&l.g, fused) || cooperative_nest::choose(l, fused).is_some() {
        return false;
    }
    let stencils = stencil::stencils(&mut l.g, &fused.domain, &inner.arrays);
    let strategy = stencil_cost::strategy(l, &stencils, false).0;
    register_tiling::RegisterTilingParams::of(l, (fused, inner), &stencils, strategy, layout).is_ok()
}

/// Returns the interior of a map, if its elements read neighbours there. Otherwise returns the whole index space,
/// because separate code for the interior would gain nothing.
fn interior(l: &mut LaunchContext, fused: &FusedGroup) -> Interior {
    let inner = l.interior(fused);
    if inner.is_whole(fused) {
        return inner;
    }
    let stencils = stencil::stencils(&mut l.g, &fused.domain, &inner.arrays);
    if stencils.iter().any(|s| !s.is_pointwise()) { inner } else { Interior::whole(fused) }
}

/// Returns the vector width of a map: as many neighbours as take 16 bytes in the widest array, or fewer if the body
/// is too large to be repeated.
fn vector_width(l: &LaunchContext, fused: &FusedGroup) -> i64 {
    if fused.sequential || has_reduction(&l.g, fused) {
        return 1;
    }
    let reads = l.facts.accesses.pointwise().map(|x| l.g.ty(*x).elem.size());
    let widest = reads.chain(fused.items.iter().map(|it| l.g.ty(it.node).elem.size())).max().unwrap_or(4);
    let affordable = (4 * MAX_UNROLLED / l.facts.cost.max(1)).max(1);
    (16 / widest as i64).min(1 << affordable.ilog2())
}
