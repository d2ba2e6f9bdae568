//! CPU strategies: one loop over the elements (`map`), loops row by row (`rows`, with `windows` of neighbours), rows
//! of a few elements as straight code (`unrolled_rows`), strips of neighbouring segments (`segmented_columns`, with
//! the pairwise accumulation of `pairwise` or in any order, `strip_fold`, and `row_strips`, where the segments are
//! the elements of a row), many short rows at a time (`short_rows`), segments in index order (`in_order`), elements
//! that reduce a row of their own again and again (`thread_rows`) or a few values that all of them read
//! (`shared_steps`), several reductions and maps of a row (`resident_rows`) or a strip of columns (`resident_columns`),
//! several stencils through rolling buffers of rows (`stencil_chain`), matrix products (`product`), reductions of all
//! pairs of rows and columns in the order of the tree (`contraction`), the fixed tree (`reduce`), one loop in index
//! order (`fold`), the parts of a scan (`scan`), whole filters (`filter`), the steps of a radix sort (`radix_sort`) or
//! all of them (`whole_sort`), bins (`bins`), elements at destinations (`put`), in order where one thread computes
//! (`scatter`), and the code that runs once at the end (`finish`).
//!
//! Every kernel has up to three variants: contiguous, in place, any strides ([`CpuVariants`]). The in-place and the
//! strided variant are *staged*: the results of a unit of work go to a local buffer and are copied to the outputs
//! when the unit is done, so that an output may be an input.

mod bins;
mod boundary;
mod column_tree;
mod contraction;
mod decide;
mod element_loop;
mod few_elements;
mod filter;
mod finish;
mod fold;
mod in_order;
mod map;
pub mod nested;
mod one_part;
mod pairwise;
mod product;
mod put;
mod radix_sort;
mod ranges;
mod reduce;
pub mod resident_columns;
mod resident_rows;
mod row_strips;
mod rows;
mod scan;
mod scatter;
pub mod segmented_columns;
mod select;
mod shared_steps;
mod short_rows;
pub mod stencil_chain;
mod stores;
mod strip;
mod strip_fold;
mod strip_prefetch;
mod thread_rows;
pub mod unrolled_rows;
mod whole_rows;
mod whole_sort;
mod windows;

use super::alternatives::stored_columns;
use super::element::lower::{KernelBuilder, LaunchContext, Lower, Target};
use super::facts::ResidentSegments;
use super::facts::along::Along;
use super::groups::{FusedGroup, is_store};
use super::kernels::{CpuVariant, CpuVariants};
use super::strategy::Strategy;
use crate::error::Result;
use crate::kernel::{
    Stmt, clamps, dce, idle_divisions, lanes, lockstep, neighbour_searches, ordered_bits, quotients,
    records_apart, split_rows, unswitch, verify,
};
use crate::plan::ANY_LENGTH;
use indexmap::IndexSet;
use select::Choice;

/// Makes all variants of the kernel of one fused group. The second value lists the arrays of more than one dimension
/// that must be flat for the contiguous variants. `scalars` are the scalar results that the kernel's `finish`
/// computes.
pub fn kernels(
    c: &mut LaunchContext,
    name: &str,
    fused: &FusedGroup,
    scalars: &[u32],
) -> Result<(CpuVariants, Vec<u32>)> {
    let stores = fused.items.iter().any(|it| is_store(&c.g, it));
    // a launch that replaces others needs no variants for other arrays: for these, the replaced launches run
    let is_alternative = c.facts.resident.is_some()
        || c.facts.stored_columns.is_some()
        || c.facts.whole_scan.is_some()
        || c.facts.filter.is_some()
        || c.facts.whole_sort.is_some()
        || c.facts.scatter.is_some();
    let is_contiguous =
        is_alternative || c.facts.stencil_chain.as_ref().is_some_and(|c| !c.has_recomputing_variants);
    let staged = !fused.domain.is_empty() && !is_contiguous;
    let mut others = None;
    if staged {
        let (in_place, strategy) = build(c, &format!("{name}_in_place"), fused, true, false)?;
        let strided = format!("{name}_strided");
        // kernels compute the addresses of matrices explicitly; backends compute those of vectors
        let any = match c.signature.arrays.values().any(|a| a.ty.rank > 1) {
            true => build(c, &strided, fused, true, true)?,
            false => (in_place.clone().for_any_strides(&strided), strategy),
        };
        others = Some(((in_place, strategy), any));
    }
    let (mut contiguous, strategy) = build(c, name, fused, false, false)?;
    contiguous.begin_finish();
    let mut l = Lower::resume(c, contiguous);
    l.k.kernel.finish = finish::finish(&mut l, fused, scalars)?;
    let mut contiguous = l.k;
    // code that runs once reads arrays with any strides
    contiguous.strided = fused.domain.is_empty();
    // the signature is complete: now the kernels are finished
    let s = &c.signature;
    let dense = others.iter().flat_map(|((a, _), (b, _))| a.dense.iter().chain(&b.dense));
    let dense: IndexSet<u32> = dense.chain(&contiguous.dense).copied().collect();
    let finished = |(k, strategy): (KernelBuilder, Strategy), noalias: bool| {
        let strided = k.strided;
        let mut kernel = k.finished(s, noalias);
        unswitch::run(&mut kernel);
        if !strided {
            split_rows::run(&mut kernel);
            records_apart::run(&mut kernel);
            neighbour_searches::run(&mut kernel);
            quotients::run(&mut kernel);
            lanes::run(&mut kernel);
            lockstep::run(&mut kernel);
            clamps::run(&mut kernel);
            ordered_bits::run(&mut kernel);
            idle_divisions::run(&mut kernel);
        }
        dce::run(&mut kernel);
        CpuVariant { kernel, strategy }
    };
    // the compiler may assume that outputs overlap no inputs, except in an alternative: its variant also serves calls
    // in which an output is an input
    let contiguous = finished((contiguous, strategy), stores && !is_alternative);
    let mut variants = CpuVariants { contiguous, in_place: None, strided: None };
    if let Some((in_place, any)) = others {
        // the runtime takes this variant only if an output is an input that is read at the same index
        let overlaps = stores && c.facts.accesses.may_be_in_place();
        variants.in_place = overlaps.then(|| finished(in_place, false));
        variants.strided = Some(finished(any, false));
    }
    for variant in variants.all().into_iter().flatten() {
        verify::verify(&variant.kernel)?;
    }
    Ok((variants, dense.into_iter().collect()))
}

/// Returns the minimum and the maximum length of rows or columns for which a CPU runs a launch with resident rows or
/// columns. For other lengths the launches that it replaces are faster, if all threads compute (measured:
/// `bench/NOTES.md`, "Rows and columns of CPUs").
pub fn lengths(kept: &ResidentSegments) -> [u32; 2] {
    match kept.along {
        Along::Rows if kept.outer.is_empty() => ANY_LENGTH,
        Along::Rows => [resident_rows::SHORTEST, ANY_LENGTH[1]],
        Along::Columns | Along::Planes => [ANY_LENGTH[0], resident_columns::LONGEST],
    }
}

/// Builds one variant of the kernel, without its `finish` part. If `staged`, outputs may be inputs.
fn build(
    c: &mut LaunchContext,
    name: &str,
    fused: &FusedGroup,
    staged: bool,
    strided: bool,
) -> Result<(KernelBuilder, Strategy)> {
    let mut l = Lower::new(c, name, Target::Cpu, strided);
    if fused.domain.is_empty() {
        return Ok((l.k, Strategy::Scalars));
    }
    let choice = select::choose(l.launch, fused, staged, strided);
    let strategy = choice.strategy(l.launch);
    let mut body = emit(&mut l, fused, &choice, staged)?;
    if let Choice::Map = choice
        && !staged
        && let Some(both) = shared_steps::main(&mut l, fused, &body)?
    {
        body = both;
    }
    if let Choice::Strips(_) | Choice::Batches(_) | Choice::Map = choice
        && let Some(both) = one_part::main(&mut l, fused, staged, &body)?
    {
        body = both;
    }
    l.k.kernel.main = Some(l.k.with_prologue(body));
    Ok((l.k, strategy))
}

/// Emits the body of one variant.
fn emit(l: &mut Lower, fused: &FusedGroup, choice: &Choice, staged: bool) -> Result<Vec<Stmt>> {
    Ok(match choice {
        Choice::Bins(bins) => bins::main(l, fused, bins, staged)?,
        Choice::Scan(scan) => scan::main(l, fused, scan)?,
        Choice::Put(put) => put::main(l, fused, put)?,
        Choice::RadixSort(step) => radix_sort::main(l, fused, step)?,
        Choice::Filter(filter) => filter::main(l, filter)?,
        Choice::Scatter(scatter) => scatter::main(l, scatter)?,
        Choice::WholeSort(sort) => whole_sort::main(l, sort)?,
        Choice::SequentialFold => fold::main(l, fused)?,
        Choice::Reduction => reduce::main(l, fused, staged)?,
        Choice::Product(p) => product::main(l, fused, p)?,
        Choice::Contraction(p, others) => {
            let others = emit(l, fused, others, staged)?;
            contraction::main(l, fused, p, others)?
        }
        Choice::Strips(s) => {
            let mut out = Vec::new();
            let unserved = segmented_columns::unserved(l, s, &mut out)?;
            let strips = segmented_columns::main(l, fused, (&s.segments, None), staged)?;
            out.push(Stmt::If(unserved, map::main(l, fused, staged)?, strips));
            out
        }
        Choice::StoredColumns(s, stored) => {
            let columns = stored_columns::of_columns(&l.launch.g, fused);
            segmented_columns::main(l, &columns, (s, Some(stored)), staged)?
        }
        Choice::Batches(s) => {
            let long = short_rows::too_long(l, s);
            let short = short_rows::main(l, fused, s)?;
            vec![Stmt::If(long, map::main(l, fused, staged)?, short)]
        }
        Choice::InOrder(ordered) => in_order::main(l, fused, ordered)?,
        Choice::ThreadRows(rows) => thread_rows::main(l, fused, rows)?,
        Choice::ResidentRows(rows) => resident_rows::main(l, rows)?,
        Choice::ResidentColumns(columns) => resident_columns::main(l, columns)?,
        Choice::StencilChain(chain, buffers) => stencil_chain::main(l, chain, buffers)?,
        Choice::RowStrips(rows) => row_strips::main(l, fused, rows)?,
        Choice::UnrolledRows(rows) => unrolled_rows::main(l, fused, rows)?,
        Choice::Rows => rows::main(l, fused, staged)?,
        Choice::Map => map::main(l, fused, staged)?,
    })
}
