//! Temporal blocking: one launch makes several steps of an iterated stencil. The states, one to three matrices (or
//! vectors) that the step changes and that may read each other, stay in registers from step to step. The tiles
//! overlap (Holewinski, Pouchet, Sadayappan 2012): blocks exchange nothing, and each computes its halo redundantly.
//! Chosen for `iterate` over stencils whose states have one shape, where more than 5/8 of a block's elements are
//! stored. The cost is one pass over memory for each launch, and the redundant elements.
//!
//! ```text
//! block: 8 warps, one below the other; a lane has 4 or 8 rows of v neighbouring columns of each state
//! load the block's part of the states once, with a halo of steps * reach rows and columns
//!
//! for each step:
//!     each warp stores to shared memory those rows of each state that the warps above and below read
//!         (in two alternating buffers, so that a step needs one barrier)
//!     lanes exchange their first and last columns by shuffles
//!     every element of every state becomes its next value;
//!         the outermost `reach` rows and columns that were valid before the step are invalid after it
//! store what is still valid
//! ```
//!
//! For vectors, a lane has neighbouring elements of each state, and each warp has a region of its own, so that
//! shuffles suffice and there is no barrier.
//!
//! Each element is loaded and stored once in a launch: by vector accesses if rows are aligned to 16 bytes, else one
//! by one. A lane's columns are neighbours even then, because shuffles reach only the columns of the adjacent lanes.
//!
//! Boundary blocks run the predicated form of the element (`schedule/boundary/predicated.rs`): elements out of bounds
//! are loaded as 0 and computed like others, but no element in bounds selects their values. On an axis that wraps
//! (periodic boundaries), the halo beyond an edge holds the elements of the other end, and they are computed like the
//! block's own.

mod body;
mod exchange;

pub use body::main;

use crate::core::{NodeId, Op};
use crate::kernel::WARP;
use crate::plan::gpu::Grid;
use crate::scalar::Ty;
use crate::schedule::boundary::interior::{BoundaryWidth, Interior};
use crate::schedule::boundary::predicated::{self, Domain};
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::element::opened;
use crate::schedule::facts::stencil::{self, Stencil};
use crate::schedule::groups::{FusedGroup, is_nested, is_store};
use std::collections::BTreeSet;

/// The warps of a block.
const WARPS: i64 = 8;
/// Threads of a block.
pub const THREADS: u32 = WARPS as u32 * WARP;
/// The maximum number of steps of a launch.
const MAX_STEPS: i64 = 8;
/// The maximum number of matrices that the steps change.
const MAX_STATES: usize = 3;
/// The maximum number of other arrays, besides the states, whose elements a lane keeps.
const MAX_OTHERS: usize = 2;
/// The maximum shared memory of a block, through which warps exchange rows.
const MAX_SHARED_BYTES: i64 = 48 << 10;

/// The number of vector accesses by which a lane loads its part of a state that is a vector.
const ACCESSES: i64 = 2;

/// A matrix or vector that the steps change.
#[derive(Clone)]
pub struct State {
    /// The array that holds the state before a step.
    array: NodeId,
    /// The number of the fused group's item that computes the state after a step.
    item: usize,
    /// The taps at which the elements of any state read this one: distances in rows and in columns. A vector is a
    /// row.
    taps: BTreeSet<[i64; 2]>,
    /// The state after a step, as a function of indices, in two forms: `inner` is right in the interior only, `edge`
    /// is predicated and right everywhere.
    inner: NodeId,
    edge: NodeId,
}

impl State {
    /// Returns the greatest distance along an axis, in either direction, at which elements read the state.
    fn reach(&self, axis: usize) -> i64 {
        self.taps.iter().map(|t| t[axis].abs()).max().unwrap_or(0)
    }

    /// Returns how many rows above its own, and how many below, an element reads.
    fn rows(&self) -> [i64; 2] {
        let most = |sign: i64| self.taps.iter().map(|t| sign * t[0]).max().unwrap_or(0).max(0);
        [most(-1), most(1)]
    }
}

/// The parameters of temporal blocking.
#[derive(Clone)]
pub struct TemporalBlockingParams {
    /// The matrices or vectors that the steps change.
    states: Vec<State>,
    /// The number of axes: 2, or 1.
    rank: usize,
    /// The arrays that the steps read but do not change; all are read at the element's own index.
    others: Vec<NodeId>,
    /// The greatest distances, in rows and in columns, at which elements read.
    reach: [i64; 2],
    /// The rows and the columns of a lane, and the columns of a vector access.
    rows: i64,
    columns: i64,
    v: i64,
    /// The boundary widths of the interior, and the minimum extent of each axis for which the predicated form is
    /// right.
    widths: Vec<BoundaryWidth>,
    least: i64,
    /// Whether reads beyond an edge of an axis wrap around to its other end (periodic boundaries).
    wrapped: [bool; 2],
    /// The numbers of steps for which there is a variant, in descending order.
    pub variants: Vec<i64>,
    /// The number of steps of this variant.
    pub steps: i64,
    /// Whether rows may begin at any address, so that memory is accessed element by element.
    pub unaligned: bool,
}

impl TemporalBlockingParams {
    /// Returns `None` if the group is not a step of an iterated stencil as the head of this file has it, or if
    /// temporal blocking would not be faster.
    pub fn of(l: &mut LaunchContext, fused: &FusedGroup, inner: &Interior) -> Option<TemporalBlockingParams> {
        let rank @ 1..=2 = fused.domain.len() else { return None };
        let Repeated { arrays, items, stencils } = repeated(l, (fused, inner), MAX_STATES)?;
        if !only_reads(l, inner, &stencils) {
            return None;
        }
        let refs: Vec<&Stencil> = stencils.iter().collect();
        let size = l.g.ty(arrays[0]).elem.size() as i64;
        let others: Vec<NodeId> = stencils.iter().map(|s| s.array).filter(|x| !arrays.contains(x)).collect();
        let simple = |s: &&Stencil| {
            arrays.contains(&s.array) || s.is_pointwise() && l.g.ty(s.array).elem.size() as i64 == size
        };
        if others.len() > MAX_OTHERS || !refs.iter().all(simple) {
            return None;
        }
        // if no element reads a state, this strategy does not serve the group
        let own: Vec<&Stencil> =
            arrays.iter().map(|x| stencils.iter().find(|s| s.array == *x)).collect::<Option<_>>()?;
        let mut reach = [0; 2];
        for (axis, reach) in reach[2 - rank..].iter_mut().enumerate() {
            let most = |s: &&Stencil| s.reach(axis).1.max(-s.reach(axis).0);
            *reach = own.iter().map(most).max().unwrap_or(0).max(0);
        }
        let v = 16 / size;
        let (rows, columns) = match rank {
            1 => (1, ACCESSES * v),
            _ => (lane_rows(arrays.len(), others.len()), v),
        };
        let hull = |x: NodeId| match arrays.contains(&x) {
            true => reach[2 - rank..].iter().map(|r| (-r, *r)).collect(),
            false => vec![(0, 0); rank],
        };
        let vars: Vec<_> = fused.domain.iter().map(|_| l.g.fresh_var(Ty::I64)).collect();
        let index: Vec<NodeId> = vars.iter().map(|v| v.1).collect();
        let binders: Vec<_> = vars.iter().map(|v| (v.0, Ty::I64)).collect();
        let (mut values, mut least, mut wrapped) = (Vec::new(), 1, [false; 2]);
        for item in &items {
            let root = opened(&mut l.g, fused.items[*item].node, &index);
            let domain = Domain { index: &index, extents: &fused.domain, reach: &hull, may_wrap: true };
            let edge = predicated::element(&mut l.g, &domain, root)?;
            least = least.max(edge.least);
            wrapped[2 - rank..].iter_mut().zip(&edge.wrapped).for_each(|(all, own)| *all |= own);
            values.push(edge.value);
        }
        // beyond an edge that wraps, an element is computed with an index outside the matrix, so its value may depend
        // on its index only through the elements that it reads
        let is_same = |axis: NodeId| values.iter().all(|x| predicated::only_reads_by(&l.g, *x, axis));
        if index.iter().zip(&wrapped[2 - rank..]).any(|(axis, wrapped)| *wrapped && !is_same(*axis)) {
            return None;
        }
        let mut edges = Vec::new();
        for value in values {
            // the value is made an array, so that it can be opened at any indices
            let lambda = l.g.close(&binders, value);
            edges.push(l.g.add(Op::Generate(fused.domain.clone(), lambda)));
        }
        // the predicated element may have other taps than the interior's
        let boundary_stencils = stencil::stencils(&mut l.g, &fused.domain, &edges);
        let taps = |x: NodeId| {
            let mine = [&stencils, &boundary_stencils].into_iter().flatten().filter(|s| s.array == x);
            mine.flat_map(|s| &s.taps).map(|t| [if rank == 1 { 0 } else { t[0] }, t[rank - 1]]).collect()
        };
        let state = |(array, (item, edge)): (&NodeId, (&usize, NodeId))| State {
            array: *array,
            item: *item,
            taps: taps(*array),
            inner: inner.arrays[*item],
            edge,
        };
        let states: Vec<State> = arrays.iter().zip(items.iter().zip(edges)).map(state).collect();
        let widths = inner.widths.clone();
        let mut params = TemporalBlockingParams {
            states,
            rank,
            others,
            reach,
            rows,
            columns,
            v,
            widths,
            least,
            wrapped,
            variants: Vec::new(),
            steps: 1,
            unaligned: false,
        };
        params.variants = params.useful_steps();
        params.steps = *params.variants.first()?;
        let shared: i64 = params.states.iter().map(|s| params.exchange_len(s) * size).sum();
        (shared <= MAX_SHARED_BYTES).then_some(params)
    }

    /// Returns the parameters of the variant with that number of steps.
    pub fn with_steps(&self, steps: i64) -> TemporalBlockingParams {
        TemporalBlockingParams { steps, ..self.clone() }
    }

    /// Returns the parameters of the variant for rows that begin at any address.
    pub fn of_any_alignment(self) -> TemporalBlockingParams {
        TemporalBlockingParams { unaligned: true, ..self }
    }

    /// Returns the number of elements of an access to memory.
    fn access(&self) -> usize {
        if self.unaligned { 1 } else { self.v as usize }
    }

    /// Returns the minimum number of resident blocks per multiprocessor: the most that leave a lane enough registers
    /// for the states and for intermediate values. Four Jacobi steps of 8192 x 8192 elements of f32 take 0.153 ms
    /// with three blocks, 0.179 ms with two.
    pub fn min_resident_blocks(&self, l: &LaunchContext) -> u32 {
        let size = l.g.ty(self.states[0].array).elem.size() as i64;
        let arrays = (self.states.len() + self.others.len()) as i64;
        let words = self.rows * self.columns * size / 4 * arrays;
        match words {
            ..=32 if self.states.iter().all(|s| s.taps.len() <= 9) => 3,
            ..=64 => 2,
            _ => 1,
        }
    }

    /// Returns the number of elements of the shared memory through which warps exchange rows of a state: two buffers,
    /// each of which has for each warp its first rows, then its last ones.
    fn exchange_len(&self, state: &State) -> i64 {
        2 * WARPS * self.exchange_len_of_warp(state)
    }

    fn exchange_len_of_warp(&self, state: &State) -> i64 {
        state.rows().iter().sum::<i64>() * self.region()[1]
    }

    /// Returns the number of rows and of columns of the halo, on each side of the elements that are stored. A lane
    /// stores all of its columns or none, so the columns are rounded up to whole lanes.
    fn halo(&self) -> [i64; 2] {
        let [rows, columns] = self.reach.map(|reach| reach * self.steps);
        [rows, (columns + self.columns - 1) / self.columns * self.columns]
    }

    /// Returns the number of rows and of columns, halo included, of the region: the elements of all lanes that
    /// exchange with one another. These are the lanes of a block or, for vectors, of a warp.
    fn region(&self) -> [i64; 2] {
        let warps = if self.rank == 1 { 1 } else { WARPS };
        [warps * self.rows, i64::from(WARP) * self.columns]
    }

    /// Returns the rows and columns of a region without the halo.
    fn stored(&self) -> [i64; 2] {
        let (region, halo) = (self.region(), self.halo());
        [region[0] - 2 * halo[0], region[1] - 2 * halo[1]]
    }

    /// Returns the grid of the blocks.
    pub fn grid(&self) -> Grid {
        let [rows, columns] = self.stored().map(|n| n as u32);
        match self.rank {
            1 => Grid::Elements(WARPS as u32 * columns),
            _ => Grid::Plane { rows, columns },
        }
    }

    /// Returns the numbers of steps per launch for which there are variants. The greatest leaves more than 5/8 of a
    /// block's elements valid (8 Jacobi steps take 0.230 ms, twice 4 steps 0.305 ms). The variant with half as many
    /// steps is for iterations, or ends of iterations, with fewer steps than that.
    fn useful_steps(&self) -> Vec<i64> {
        // a lane exchanges columns only with the lanes next to it
        if self.reach == [0, 0] || self.reach[1] > self.columns || self.reach[0] > self.rows {
            return Vec::new();
        }
        let is_useful = |steps: i64| {
            let ([rows, columns], region) = (self.with_steps(steps).stored(), self.region());
            rows > 0 && columns > 0 && 8 * rows * columns > 5 * region[0] * region[1]
        };
        let most = (2..=MAX_STEPS).rev().find(|n| is_useful(*n));
        let less = most.map(|n| n / 2).filter(|n| *n > 1);
        most.into_iter().chain(less).collect()
    }

    /// Returns the minimum extent of each axis. On an axis that wraps it is at least the halo, so that adding or
    /// subtracting the extent once brings every index into bounds.
    pub fn min_extent(&self) -> i64 {
        let halos = self.halo().into_iter().zip(self.wrapped).filter(|(_, wrapped)| *wrapped);
        halos.map(|(halo, _)| halo).fold(self.least, i64::max)
    }
}

/// A step of an iterated stencil, which may be made several times in one launch.
pub struct Repeated {
    /// The states before the step, and for each the number of the fused group's item that computes it after the step.
    pub arrays: Vec<NodeId>,
    pub items: Vec<usize>,
    /// The arrays that elements of the interior read, with the taps, all of which are constant.
    pub stencils: Vec<Stencil>,
}

/// Returns the states and stencils of a step; `None` if it has more than `max_states` states, if it stores anything
/// else, or if it may leave error records.
pub fn repeated(
    l: &mut LaunchContext,
    (fused, inner): (&FusedGroup, &Interior),
    max_states: usize,
) -> Option<Repeated> {
    let arrays = l.repeated().filter(|all| (1..=max_states).contains(&all.len()))?;
    let items = whole_states(l, fused, &arrays)?;
    let roots: Vec<NodeId> = fused.items.iter().map(|it| it.node).collect();
    // a launch computes such values once, before its first step, but they change with each step: the step's number,
    // and an element of a state at one fixed index
    let is_once = |n: NodeId| match l.g.op(n) {
        Op::Turn => true,
        Op::Elem(x, _) | Op::At(x, _) => l.g.is_closed(n) && arrays.contains(x),
        _ => false,
    };
    if l.g.reachable(roots).into_iter().any(is_once) {
        return None;
    }
    let stencils = stencil::stencils(&mut l.g, &fused.domain, &inner.arrays);
    let refs: Vec<&Stencil> = stencils.iter().collect();
    let is_static = stencils.iter().all(|s| s.is_static(&l.g));
    (is_static && !stencil::may_record(&mut l.g, &fused.domain, &inner.arrays, &refs)).then_some(Repeated {
        arrays,
        items,
        stencils,
    })
}

/// Returns the numbers of the items that compute the states after a step. Returns `None` if the group computes
/// anything else, or if a state's extents are not those of the index space or its element size is not the others'.
fn whole_states(l: &mut LaunchContext, fused: &FusedGroup, states: &[NodeId]) -> Option<Vec<usize>> {
    let size = l.g.ty(states[0]).elem.size();
    if fused.items.len() != states.len() || !matches!(size, 4 | 8) {
        return None;
    }
    let mut items = Vec::new();
    for (state, i) in states.iter().zip(0..) {
        let next = l.result(i);
        let item = fused.items.iter().position(|it| it.node == next)?;
        let is_simple = is_store(&l.g, &fused.items[item]) && !is_nested(&l.g, &fused.items[item]);
        let ty = l.g.ty(*state);
        let is_whole = l.g.ty(next) == ty
            && usize::from(ty.rank) == fused.domain.len()
            && ty.elem.size() == size
            && (0..).zip(&fused.domain).all(|(axis, extent)| l.has_extent(*state, axis, *extent));
        if !is_simple || !is_whole || items.contains(&item) {
            return None;
        }
        items.push(item);
    }
    Some(items)
}

/// Returns the number of rows of a lane, which must leave registers for intermediate values. Four steps of two states
/// of 8192 x 8192 elements of f32, each with 9 taps, take 0.482 ms on an H100 with 8 rows, 0.509 ms with 4 rows.
fn lane_rows(states: usize, others: usize) -> i64 {
    if states > 1 && states + others > 2 { 4 } else { 8 }
}

/// Whether elements read nothing beside the taps of these stencils and single elements at fixed indices.
fn only_reads(l: &mut LaunchContext, inner: &Interior, stencils: &[Stencil]) -> bool {
    let mut taps = 0;
    let reads = l.g.reachable(inner.arrays.iter().copied());
    for n in reads {
        match l.g.op(n) {
            Op::Elem(..) | Op::At(..) if !l.g.is_closed(n) => taps += 1,
            _ => {}
        }
    }
    taps == stencils.iter().map(|s| s.taps.len()).sum::<usize>()
}
