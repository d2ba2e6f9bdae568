//! What all mappings of segmented reductions share: the job (reductions, elements, vector width), loads of
//! neighbouring elements, and stores of results.

use crate::core::{Graph, NodeId, Op};
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::access;
use crate::schedule::cuda::divided_number::{DividedNumber, Walk};
use crate::schedule::element::canonical;
use crate::schedule::element::lower::{LaunchContext, Lower, Surroundings, bind};
use crate::schedule::element::reduction::Reduction;
use crate::schedule::facts::along::Along;
use crate::schedule::facts::in_order::InOrder;
use crate::schedule::facts::segments;
use crate::schedule::facts::{Segments, StoredColumns};
use crate::schedule::groups::{FusedGroup, Item};
use std::rc::Rc;

/// The number of words that a thread loads before the first use.
pub(super) const WORDS_IN_FLIGHT: i64 = 32;

/// A segmented reduction that is being lowered.
pub struct Job<'a> {
    pub(super) s: &'a Segments,
    pub(super) items: Vec<&'a Item>,
    pub(super) reductions: Vec<Reduction>,
    /// The number of neighbouring elements of a load, and, where segments are columns, of segments of a thread.
    pub(super) v: i64,
    /// The distance between the segments of a thread, where segments are columns: 1 if they are neighbours, which
    /// vectors load.
    pub(super) spacing: i64,
    /// The number of operations of an element's code.
    pub(super) operations: usize,
    /// The elements that the launch stores besides the reductions' results, if it does.
    pub(super) stored: Option<Rc<StoredColumns>>,
    /// The elements in index order, if tiles are reduced in that order.
    pub(super) in_order: Option<InOrder>,
    /// Whether elements divide 64-bit integers: an element's index in a segment is divided by the extents of its axes
    /// if a segment has several axes.
    pub(super) divides: bool,
    /// The divisions of an element's index in its segment.
    pub(super) of_element: Option<DividedNumber>,
    /// The divisions of a segment's index.
    pub(super) of_segment: Option<DividedNumber>,
    /// If some reads are tested: the condition that all of them are in bounds, and the reduction without the tests.
    pub(super) in_bounds: Option<(Expr, Box<Job<'a>>)>,
    /// If some reads are clamped, or chosen by indices: the condition, which depends on the segment, that no clamp
    /// acts and no choice fails, and the reduction of such segments.
    pub(super) interior: Option<(NodeId, Box<Job<'a>>)>,
}

/// How a variant maps segments to threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SegmentMapping {
    /// `lanes` lanes of a warp reduce `segments` segments together. A lane has `columns` tree columns of each.
    Warp { lanes: u32, columns: i64, segments: i64 },
    /// Each thread reduces several segments, which are neighbours, or those of as many neighbouring threads.
    SeveralPerThread,
    /// A warp reduces all tiles of a segment, one after another.
    TilesOfWarp,
    /// Many warps reduce one segment, a tile each.
    SegmentTiles,
    /// A block reduces tiles of a strip of neighbouring segments.
    Strips,
    /// Each thread reduces one segment.
    OnePerThread,
}

/// Loads, by one access for each array, what the roots read at neighbouring values of the index `along`. `values` are
/// the nodes of these, and `first` is the first of them.
pub fn load(
    l: &mut Lower,
    roots: &[NodeId],
    (along, values): (NodeId, &[NodeId]),
    first: &Expr,
    vars: &[(NodeId, Expr)],
    out: &mut Vec<Stmt>,
) -> Result<()> {
    for (x, outer) in segments::neighbours(l.launch, roots, along) {
        // an array that does not depend on the other index has been loaded for an earlier element
        if values.iter().all(|value| l.is_loaded(x, &outer, *value)) {
            continue;
        }
        let (mem, ty) = (l.launch.input(x), l.launch.g.ty(x).elem);
        let regs: Vec<Reg> = values.iter().map(|_| l.k.reg("x", ty)).collect();
        let place = l.element_address(mem, &outer, first.clone(), vars, out)?;
        for (value, r) in values.iter().zip(&regs) {
            l.note_loaded(x, &outer, *value, Expr::Reg(*r));
        }
        access::load(l, mem, regs, place, out);
    }
    Ok(())
}

/// The number of operations from which an element is long. Its code is written for one row of a tile at a time.
pub const LONG_ELEMENT: usize = 64;

/// Returns the number of operations of an element's code, those of slow paths included.
pub fn operations(l: &mut LaunchContext, reductions: &[Reduction]) -> usize {
    let (_, k) = l.g.fresh_var(Ty::I64);
    let roots = elements(l, reductions, k);
    l.g.reachable_until(roots, |n| l.g.is_closed(n)).len()
}

/// Returns the vector width of a thread's loads and stores: neighbouring elements of rows, or neighbouring columns.
pub fn vector_width(l: &mut LaunchContext, s: &Segments, reductions: &[Reduction]) -> i64 {
    let (_, k) = l.g.fresh_var(Ty::I64);
    let roots = elements(l, reductions, k);
    let along = if s.along == Along::Rows { k } else { s.index };
    let reads = segments::neighbours(l, &roots, along);
    let written = l.facts.stored_columns.iter().flat_map(|stored| &stored.items).map(|it| it.node);
    let widest = reads.iter().map(|(x, _)| *x).chain(written).map(|x| l.g.ty(x).elem.size()).max();
    // reads by `at` load single elements, which are coalesced only if neighbouring lanes have neighbours
    let has_total_reads = l.g.reachable(roots).into_iter().any(|n| match l.g.op(n) {
        Op::At(_, index) => index.iter().any(|i| depends_on(l, *i, along)),
        _ => false,
    });
    // the last neighbours of a long row have code of their own
    let is_long = s.along == Along::Rows && operations(l, reductions) >= LONG_ELEMENT;
    let v = widest.filter(|_| !has_total_reads && !is_long).map_or(1, |size| (16 / size as i64).min(4));
    // if segments are columns, a thread keeps all accumulators of each neighbour in registers
    let is_halved = s.along == Along::Columns && reductions.iter().any(Reduction::is_counted);
    if is_halved { (v / 2).max(1) } else { v }
}

/// Returns the nodes that are computed of element `k` of a segment: the value that begins a tree column with it, for
/// each accumulator, and what is stored.
fn elements(l: &mut LaunchContext, reductions: &[Reduction], k: NodeId) -> Vec<NodeId> {
    let mut all: Vec<NodeId> = reductions.iter().flat_map(|r| r.first(l, k)).collect();
    all.extend(stored_at(l, k));
    all
}

/// Returns the nodes that are stored of element `k` of a segment.
fn stored_at(l: &mut LaunchContext, k: NodeId) -> Vec<NodeId> {
    let Some(stored) = l.facts.stored_columns.clone() else { return Vec::new() };
    stored.values.iter().map(|n| l.replace(*n, stored.row, k)).collect()
}

/// Whether elements divide integers of 64 bits.
fn divides(l: &mut LaunchContext, reductions: &[Reduction]) -> bool {
    let (_, k) = l.g.fresh_var(Ty::I64);
    let roots = elements(l, reductions, k);
    let is_division = |n| matches!(l.g.op(n), Op::Binary(BinaryOp::Div | BinaryOp::Rem, ..));
    l.g.reachable(roots).into_iter().any(|n| l.g.ty(n).elem == Ty::I64 && is_division(n))
}

/// Returns the factors of a product; a node that is no product is its only factor.
fn factors(g: &Graph, n: NodeId) -> Vec<NodeId> {
    match *g.op(n) {
        Op::Binary(BinaryOp::Mul, a, b) => [factors(g, a), factors(g, b)].concat(),
        _ => vec![n],
    }
}

pub(super) fn depends_on(l: &LaunchContext, n: NodeId, index: NodeId) -> bool {
    matches!(l.g.op(index), Op::Var(v, _) if l.g.node(n).free.contains(v))
}

impl<'a> Job<'a> {
    /// Notes that a segment's length and the extents of its axes, by which an element's index is divided, fit into 32
    /// bits in kernels with 32-bit indices: if there are elements, no extent is greater than the length, their
    /// product.
    pub(super) fn note_extents(&self, l: &mut Lower) {
        if self.divides {
            let mut extents = factors(&l.launch.g, self.s.length);
            extents.push(self.s.length);
            let extents = l.launch.passed(&extents);
            l.k.kernel.in_space.extend(extents);
        }
    }

    /// Notes that the index of a segment or of an element is in the index space, so that kernels with 32-bit indices
    /// divide it in 32 bits. Without divisions the note would only cost registers.
    pub(super) fn note_index(&self, l: &mut Lower, index: &Expr) {
        if self.divides {
            l.k.kernel.in_space.push(index.clone());
        }
    }

    /// Returns the job. If `vectors`, elements are loaded by vectors where they can be, those whose reads are not
    /// tested only if `untested_vectors`.
    pub(super) fn new(
        l: &mut Lower,
        s: &'a Segments,
        fused: &'a FusedGroup,
        (vectors, untested_vectors): (bool, bool),
    ) -> Job<'a> {
        let reductions = Reduction::with_scratch(l.launch, &s.nested);
        let v = if vectors { vector_width(l.launch, s, &reductions) } else { 1 };
        let mut job = Job::of(l, s, fused, reductions, v);
        // arrays with any strides need registers for their addresses, which two versions of the code have not
        let in_bounds = l.launch.facts.in_bounds.clone().filter(|_| !l.k.strided && job.stored.is_none());
        job.in_bounds = in_bounds.and_then(|found| {
            let reductions = job.replaced(l, &found.roots)?;
            // the grid depends on the number of neighbouring columns of a thread
            let v = match s.along {
                Along::Rows if vectors && untested_vectors => vector_width(l.launch, s, &reductions),
                _ => v,
            };
            Some((l.launch.host(found.condition), Box::new(Job::of(l, s, fused, reductions, v))))
        });
        job
    }

    /// Returns the reductions in a form that another version of the code has. Returns `None` if some of them are
    /// equal in that form, so that they are fewer.
    pub(super) fn replaced(&self, l: &Lower, roots: &[NodeId]) -> Option<Vec<Reduction>> {
        let reductions = Reduction::all_nested(l.launch, roots);
        let types = |all: &[Reduction]| all.iter().map(|r| r.types.clone()).collect::<Vec<_>>();
        (types(&reductions) == types(&self.reductions)).then_some(reductions)
    }

    pub(super) fn of(
        l: &mut Lower,
        s: &'a Segments,
        fused: &'a FusedGroup,
        reductions: Vec<Reduction>,
        v: i64,
    ) -> Job<'a> {
        let stored = l.launch.facts.stored_columns.clone();
        let in_order = match &reductions[..] {
            [only] => InOrder::of(l.launch, s, only),
            _ => None,
        };
        let items = fused.items.iter().collect();
        let divides = divides(l.launch, &reductions);
        let operations = operations(l.launch, &reductions);
        let (_, k) = l.launch.g.fresh_var(Ty::I64);
        let (roots, count) = (elements(l.launch, &reductions, k), l.launch.count_node());
        let of_element = DividedNumber::find(l, &roots, k, s.length);
        let of_segment = DividedNumber::find(l, &roots, s.index, count);
        let (in_bounds, interior) = (None, None);
        Job {
            s,
            items,
            reductions,
            v,
            spacing: 1,
            operations,
            stored,
            in_order,
            divides,
            of_element,
            of_segment,
            in_bounds,
            interior,
        }
    }

    /// Returns a walk through elements of a segment that are a constant distance apart.
    pub(super) fn walk(&self, l: &mut Lower, distance: i64, out: &mut Vec<Stmt>) -> Walk<'_> {
        Walk::new(l, self.of_element.as_ref(), distance, out)
    }

    /// Returns the parts of a segment's divided index, with their values.
    pub(super) fn segment(&self, l: &mut Lower, segment: &Expr, out: &mut Vec<Stmt>) -> Vec<(NodeId, Expr)> {
        let walk = Walk::new(l, self.of_segment.as_ref(), 1, out);
        let indices = walk.first(l, segment, out);
        walk.known(l, self.s.index, &indices)
    }

    /// Returns `count` segments, from `first` on, that are `apart` from each other, with the parts of their divided
    /// indices. In place of a segment that is beyond the last one, another one is taken, whose results are not
    /// stored.
    pub(super) fn segments_apart(
        &self,
        l: &mut Lower,
        (first, last): (&Expr, &Expr),
        (count, apart): (i64, i64),
        out: &mut Vec<Stmt>,
    ) -> (Vec<Expr>, Vec<Vec<(NodeId, Expr)>>) {
        let walk = Walk::new(l, self.of_segment.as_ref(), apart, out);
        let segments = self.walked(l, &walk, (first, last), (count, apart), out);
        let parts = |(row, indices): (Expr, Vec<Expr>)| (row, walk.known(l, self.s.index, &indices));
        segments.into_iter().map(parts).unzip()
    }

    /// Returns the segments of [`Self::segments_apart`], which `walk` goes to, with their divided indices.
    pub(super) fn walked(
        &self,
        l: &mut Lower,
        walk: &Walk,
        (first, last): (&Expr, &Expr),
        (count, apart): (i64, i64),
        out: &mut Vec<Stmt>,
    ) -> Vec<(Expr, Vec<Expr>)> {
        let (mut segments, mut indices): (Vec<(Expr, Vec<Expr>)>, _) = (Vec::new(), Vec::new());
        for u in 0..count {
            let own = first.clone().plus(Expr::int(u * apart));
            let row = match segments.last().filter(|_| self.of_segment.is_some()) {
                Some((before, _)) => {
                    let exists = Expr::binary(BinaryOp::Le, own.clone(), last.clone());
                    let exists = bind(l, "exists", exists, out);
                    walk.next(l, &mut indices, Some(&exists), out);
                    exists.select(own, before.clone())
                }
                None => own.min(last.clone()),
            };
            let row = bind(l, "row", row, out);
            self.note_index(l, &row);
            if u == 0 {
                indices = walk.first(l, &row, out);
            }
            segments.push((row, indices.clone()));
        }
        segments
    }

    /// Returns the nodes that are computed of element `k` of a segment.
    pub(super) fn elements(&self, l: &mut Lower, k: NodeId) -> Vec<NodeId> {
        elements(l.launch, &self.reductions, k)
    }

    /// Returns the nodes that are stored of element `k` of a segment.
    pub(super) fn stored_at(&self, l: &mut Lower, k: NodeId) -> Vec<NodeId> {
        stored_at(l.launch, k)
    }

    /// Stores the values of element `k` of neighbouring segments, from segment `first` on. `elements` has them by
    /// segment and item.
    pub(super) fn store_elements(
        &self,
        l: &mut Lower,
        (k, first): (&Expr, &Expr),
        elements: Vec<Vec<Expr>>,
        out: &mut Vec<Stmt>,
    ) {
        let Some(stored) = &self.stored else { return };
        for (item, it) in stored.items.iter().enumerate() {
            let (mem, ty) = (l.launch.output(it), l.launch.g.ty(it.node).elem);
            let canonical = |of: &Vec<Expr>| canonical(of[item].clone(), ty, &mut l.k.kernel, out);
            let values = elements.iter().map(canonical).collect();
            let at = l.place_at(mem, &[k.clone(), first.clone()]);
            access::store(l, mem, values, at, out);
        }
    }

    /// Computes the results of segment `row` from the totals of its reductions, and stores them.
    pub(super) fn store(
        &self,
        l: &mut Lower,
        row: &Expr,
        totals: &[Vec<Expr>],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let length = l.launch.host(self.s.length);
        self.store_of_length(l, (row, &length), totals, out)
    }

    /// Does what [`Self::store`] does, for a segment of length `length`.
    pub(super) fn store_of_length(
        &self,
        l: &mut Lower,
        (row, length): (&Expr, &Expr),
        totals: &[Vec<Expr>],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let place = Surroundings { vars: &[(self.s.index, row.clone())], at: row };
        let values = self.s.values(l, &self.reductions, &place, totals, length, out)?;
        crate::schedule::cuda::elements::store_single(l, &self.items, values, row, out);
        Ok(())
    }
}
