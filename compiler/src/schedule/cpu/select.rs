//! Chooses the strategy of each variant of a kernel on a CPU. The order of the tests is the order of preference:
//! parts of scans, bins, puts and steps of sorts have one strategy each; launches that replace others come next; then
//! reductions over the whole index space, products, and at last elements. Only the contiguous variant (neither staged
//! nor strided) has the faster strategies for elements.

use super::in_order::{self, OrderedSegments};
use super::row_strips::{self, RowStrips};
use super::short_rows;
use super::stencil_chain::Buffers;
use super::thread_rows::{self, ThreadRows};
use super::unrolled_rows::{self, UnrolledRows};
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::facts::accesses::needs_indices;
use crate::schedule::facts::along::Along;
use crate::schedule::facts::bins::Bins;
use crate::schedule::facts::filter::Filter;
use crate::schedule::facts::products::{self, Product};
use crate::schedule::facts::put::Put;
use crate::schedule::facts::radix::RadixStep;
use crate::schedule::facts::scans::Scan;
use crate::schedule::facts::scatter::Scatter;
use crate::schedule::facts::whole_sort::WholeSort;
use crate::schedule::facts::{ResidentSegments, Segments, StencilChain, StoredColumns, Strips};
use crate::schedule::groups::{FusedGroup, is_store};
use crate::schedule::strategy::Strategy;
use std::rc::Rc;

/// The chosen strategy of a variant, with everything that was decided about it.
pub enum Choice {
    /// A reduction into bins. Each part of the elements has bins of its own, so that threads share none.
    Bins(Bins),
    /// Elements that are stored at their destinations.
    Put(Put),
    /// A part of a scan.
    Scan(Scan),
    /// A step of a radix sort.
    RadixSort(RadixStep),
    /// All steps of a radix sort.
    WholeSort(Rc<WholeSort>),
    /// A whole filter, on one thread.
    Filter(Rc<Filter>),
    /// A whole scatter, on one thread.
    Scatter(Rc<Scatter>),
    /// A fold: one loop in index order.
    SequentialFold,
    /// The fixed tree over all elements, with any number of stored arrays.
    Reduction,
    /// A matrix product.
    Product(Product),
    /// A tiled contraction in the order of the fixed tree, and the strategy for calls whose extents it does not
    /// serve.
    Contraction(Product, Box<Choice>),
    /// A segmented reduction of columns, by strips of neighbouring segments.
    Strips(Rc<Strips>),
    /// Reductions of the elements of a row, by strips of the row.
    RowStrips(RowStrips),
    /// A segmented reduction of rows, many short rows at a time.
    Batches(Rc<Segments>),
    /// Segments whose tiles combine neighbouring elements first, because the operator is not commutative.
    InOrder(OrderedSegments),
    /// Elements each of which reduces its own row many times, such as distances to many centres; several elements are
    /// computed in lockstep, one in each lane of a vector.
    ThreadRows(ThreadRows),
    /// Several stencils one after another, through rolling buffers of rows.
    StencilChain(Rc<StencilChain>, Buffers),
    /// Several reductions and maps of rows: all of them for one row, while it is in a cache, and then for the next.
    ResidentRows(Rc<ResidentSegments>),
    /// The same for columns, by strips of neighbouring columns.
    ResidentColumns(Rc<ResidentSegments>),
    /// A segmented reduction of columns, by strips, that also stores the matrices whose elements it reduces.
    StoredColumns(Rc<Segments>, Rc<StoredColumns>),
    /// A map over rows of a few elements, with unrolled code for each row.
    UnrolledRows(UnrolledRows),
    /// A map over several dimensions, row by row.
    Rows,
    /// A map as one loop over the elements.
    Map,
}

/// Chooses the strategy of one variant. If `staged`, an output may be an input, so results of a unit of work go
/// through a buffer. If `strided`, arrays have any strides.
pub fn choose(l: &mut LaunchContext, fused: &FusedGroup, staged: bool, strided: bool) -> Choice {
    if let Some(filter) = l.facts.filter.clone() {
        return Choice::Filter(filter);
    }
    if let Some(scan) = l.facts.whole_scan.clone().or_else(|| Scan::of(&l.g, &fused.items)) {
        return Choice::Scan(scan);
    }
    if let Some(sort) = l.facts.whole_sort.clone() {
        return Choice::WholeSort(sort);
    }
    if let Some(scatter) = l.facts.scatter.clone() {
        return Choice::Scatter(scatter);
    }
    if let Some(bins) = Bins::of(&l.g, &fused.items) {
        return Choice::Bins(bins);
    }
    if let Some(put) = Put::of(&l.g, &fused.items) {
        return Choice::Put(put);
    }
    if let Some(step) = RadixStep::of(&l.g, &fused.items) {
        return Choice::RadixSort(step);
    }
    if let Some(kept) = &l.facts.resident {
        return match kept.along {
            Along::Rows => Choice::ResidentRows(kept.clone()),
            Along::Columns | Along::Planes => Choice::ResidentColumns(kept.clone()),
        };
    }
    if let Some(chain) = l.facts.stencil_chain.as_ref().filter(|_| !staged && !strided)
        && let Some(buffers) = Buffers::of(l, chain)
    {
        return Choice::StencilChain(chain.clone(), buffers);
    }
    if let Some(stored) = &l.facts.stored_columns
        && let Some(strips) = &l.facts.strips
    {
        return Choice::StoredColumns(strips.segments.clone(), stored.clone());
    }
    if fused.sequential {
        return Choice::SequentialFold;
    }
    if !fused.items.iter().all(|it| is_store(&l.g, it)) {
        return Choice::Reduction;
    }
    // a product stores results before all of its operands are read, so no output may be an input
    if let Some(p) = products::find(l, fused).filter(|p| p.is_matrix && (!staged || strided)) {
        return Choice::Product(p);
    }
    let others = elements(l, fused, staged, strided);
    match products::find_tree(l, fused) {
        Some(p) => Choice::Contraction(p, Box::new(others)),
        None => others,
    }
}

/// Chooses the strategy of stored elements that are not matrix products.
fn elements(l: &mut LaunchContext, fused: &FusedGroup, staged: bool, strided: bool) -> Choice {
    if let Some(rows) = (!staged && !strided).then(|| row_strips::of(l, fused)).flatten() {
        return Choice::RowStrips(rows);
    }
    if !staged && !strided {
        if let Some(ordered) = in_order::of(l, fused) {
            return Choice::InOrder(ordered);
        }
        if let Some(rows) = thread_rows::of(l, fused) {
            return Choice::ThreadRows(rows);
        }
    }
    if let Some(strips) = &l.facts.strips {
        return Choice::Strips(strips.clone());
    }
    if let Some(rows) = (!staged && !strided).then(|| unrolled_rows::of(l, fused)).flatten() {
        return Choice::UnrolledRows(rows);
    }
    match l.facts.segments.clone() {
        Some(s) if !staged && !strided && short_rows::fits(l, fused, &s) => Choice::Batches(s),
        _ if fused.domain.len() > 1 && (strided || needs_indices(l, fused)) => Choice::Rows,
        _ => Choice::Map,
    }
}

impl Choice {
    /// Returns the strategy's name for reports.
    pub fn strategy(&self, l: &LaunchContext) -> Strategy {
        match self {
            Choice::Bins(_) => Strategy::Bins,
            Choice::Put(_) | Choice::Scatter(_) => Strategy::Put,
            Choice::Scan(_) => Strategy::Scan,
            Choice::RadixSort(_) => Strategy::RadixSort,
            Choice::WholeSort(_) => Strategy::WholeSort,
            Choice::Filter(_) => Strategy::OnePassFilter,
            Choice::SequentialFold => Strategy::SequentialFold,
            Choice::Reduction => Strategy::Reduction,
            Choice::Product(_) => Strategy::Product,
            Choice::Contraction(..) => Strategy::Contraction,
            Choice::ResidentRows(_) => Strategy::ResidentRows,
            Choice::ResidentColumns(_) => Strategy::ResidentColumns,
            Choice::StencilChain(..) => Strategy::StencilChain,
            Choice::RowStrips(_) | Choice::StoredColumns(..) => Strategy::SegmentedColumns,
            Choice::ThreadRows(_) => Strategy::ThreadRows,
            Choice::InOrder(_)
            | Choice::Strips(_)
            | Choice::Batches(_)
            | Choice::UnrolledRows(_)
            | Choice::Rows
            | Choice::Map => l.strategy_of_elements(),
        }
    }
}
