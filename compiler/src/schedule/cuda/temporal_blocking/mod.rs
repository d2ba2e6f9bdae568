//! Several steps of an iteration at once: a stencil of one matrix whose values stay in the
//! registers of a block from step to step.
//!
//! ```text
//! block: 8 warps below each other; a lane has 8 rows of v neighbouring columns. It loads its part of the matrix once, and so many rows and columns around what it
//! stores that each step may spoil a ring of them.
//!
//! for each step:
//!     each warp shows its first and last rows to the warps above and below (shared memory, two areas in turn: one barrier a step)
//!     lanes exchange their first and last columns (shuffles)
//!     every element becomes its next value
//! store what is not spoiled
//! ```
//!
//! Overlapped tiles: rows and columns at a block's edge are computed by its neighbours, too,
//! instead of being exchanged with them. Blocks at the edges of the matrix do the same with an
//! element that is right there (`everywhere`); what lies outside is loaded as 0, computed, and
//! never selected.

mod body;

pub use body::main;

use crate::core::{NodeId, Op};
use crate::kernel::WARP;
use crate::scalar::Ty;
use crate::schedule::boundary::interior::{BoundaryWidth, Interior};
use crate::schedule::boundary::predicated::{self, Domain, Predicated};
use crate::schedule::element::opened;
use crate::schedule::groups::{FusedGroup, is_nested, is_store};
use crate::schedule::lower::LaunchContext;
use crate::schedule::stencil::{self, Stencil};
use std::collections::BTreeSet;

/// Rows of a lane.
const ROWS: i64 = 8;
/// Warps of a block.
const WARPS: i64 = 8;
/// Threads of a block.
pub const THREADS: u32 = WARPS as u32 * WARP;
/// Steps of a launch at most.
const MAX_STEPS: i64 = 8;
/// Arrays beside the state whose elements a lane keeps at most.
const MAX_OTHERS: usize = 2;

/// How an iteration is done.
#[derive(Clone)]
pub struct TemporalBlockingParams {
    /// The matrix that the steps change.
    state: NodeId,
    /// Others, of which an element reads its own one.
    others: Vec<NodeId>,
    /// What an element reads of the state: distances of rows and columns.
    taps: BTreeSet<[i64; 2]>,
    /// How far that reaches: rows, columns.
    reach: [i64; 2],
    /// Neighbours of a lane.
    v: i64,
    /// An element right within boundary widths, and one that is right everywhere.
    inner: NodeId,
    widths: Vec<BoundaryWidth>,
    edge: Predicated,
    /// How many steps at once, at most: a variant each, the most first.
    pub variants: Vec<i64>,
    /// Steps of the variant that is written.
    pub steps: i64,
}

impl TemporalBlockingParams {
    /// None: it is no such stencil, or it would not pay.
    pub fn of(l: &mut LaunchContext, fused: &FusedGroup, inner: &Interior) -> Option<TemporalBlockingParams> {
        let ([item], [rows, columns]) = (&fused.items[..], &fused.domain[..]) else { return None };
        let state = l.repeated()?;
        let [whole_rows, whole_columns] = [0, 1].map(|axis| l.g.add(Op::Len(state, axis)));
        let ty = l.g.ty(state);
        let is_whole_state = (*rows, *columns) == (whole_rows, whole_columns) && l.g.ty(item.node) == ty;
        if !is_whole_state
            || !is_store(&l.g, item)
            || is_nested(&l.g, item)
            || !matches!(ty.elem.size(), 4 | 8)
        {
            return None;
        }
        let stencils = stencil::stencils(&mut l.g, &fused.domain, &inner.arrays);
        if stencils.iter().any(|s| !s.is_static(&l.g)) {
            return None;
        }
        let refs: Vec<&Stencil> = stencils.iter().collect();
        if stencil::may_record(&mut l.g, &fused.domain, &inner.arrays, &refs)
            || !only_reads(l, inner, &stencils)
        {
            return None;
        }
        let own = stencils.iter().find(|s| s.array == state)?;
        let others: Vec<NodeId> = stencils.iter().map(|s| s.array).filter(|x| *x != state).collect();
        let simple = |s: &&Stencil| {
            s.array == state || s.is_pointwise() && l.g.ty(s.array).elem.size() == ty.elem.size()
        };
        if others.len() > MAX_OTHERS || !refs.iter().all(simple) {
            return None;
        }
        let reach = [0, 1].map(|axis| {
            let (first, last) = own.reach(axis);
            (-first).max(last).max(0)
        });
        let v = 16 / ty.elem.size() as i64;
        let variants = steps(reach, v);
        let steps = *variants.first()?;
        let hull = move |x: NodeId| match x == state {
            true => reach.map(|r| (-r, r)).to_vec(),
            false => vec![(0, 0); 2],
        };
        let vars: Vec<_> = fused.domain.iter().map(|_| l.g.fresh_var(Ty::I64)).collect();
        let index: Vec<NodeId> = vars.iter().map(|v| v.1).collect();
        let root = opened(&mut l.g, item.node, &index);
        let domain = Domain { index: &index, extents: &fused.domain, reach: &hull };
        let edge = predicated::element(&mut l.g, &domain, root)?;
        // as an array, so that it can be opened at any indices
        let binders: Vec<_> = vars.iter().map(|v| (v.0, Ty::I64)).collect();
        let lambda = l.g.close(&binders, edge.value);
        let edge = Predicated { value: l.g.add(Op::Generate(fused.domain.clone(), lambda)), ..edge };
        // at the edges there may be other distances
        let boundary_stencils = stencil::stencils(&mut l.g, &fused.domain, &[edge.value]);
        let of_state = [&stencils, &boundary_stencils].into_iter().flatten().filter(|s| s.array == state);
        let taps = of_state.flat_map(|s| &s.taps).map(|t| [t[0], t[1]]).collect();
        let (inner, widths) = (inner.arrays[0], inner.widths.clone());
        Some(TemporalBlockingParams { state, others, taps, reach, v, inner, widths, edge, variants, steps })
    }

    /// For a variant of so many steps.
    pub fn with_steps(&self, steps: i64) -> TemporalBlockingParams {
        TemporalBlockingParams { steps, ..self.clone() }
    }

    /// Blocks on a multiprocessor: what a lane keeps, and what it needs beside it, has registers
    /// then. Four Jacobi steps of 8192 x 8192 elements of f32 take 0.153 ms with three blocks,
    /// 0.179 with two.
    pub fn min_resident_blocks(&self, l: &LaunchContext) -> u32 {
        let words =
            ROWS * self.v * l.g.ty(self.state).elem.size() as i64 / 4 * (1 + self.others.len() as i64);
        match words {
            ..=32 if self.taps.len() <= 9 => 3,
            ..=64 => 2,
            _ => 1,
        }
    }

    /// Rows and columns around what is stored.
    fn halo(&self) -> [i64; 2] {
        halo(self.reach, self.v, self.steps)
    }

    /// Rows and columns of a block with the halo.
    fn region(&self) -> [i64; 2] {
        [WARPS * ROWS, i64::from(WARP) * self.v]
    }

    /// Rows and columns that a block stores.
    pub fn block(&self) -> [i64; 2] {
        let (region, halo) = (self.region(), self.halo());
        [region[0] - 2 * halo[0], region[1] - 2 * halo[1]]
    }

    /// The least length of an axis.
    pub fn min_extent(&self) -> i64 {
        self.edge.least
    }
}

fn halo(reach: [i64; 2], v: i64, steps: i64) -> [i64; 2] {
    [reach[0] * steps, (reach[1] * steps + v - 1) / v * v]
}

/// How many steps are made at once: where there are many, as many as a third of a block's elements
/// are spoiled by (8 steps of Jacobi take 0.230 ms, 0.029 a step, twice 4 steps 0.305); and half as
/// many, for iterations that have no more.
fn steps(reach: [i64; 2], v: i64) -> Vec<i64> {
    // a lane exchanges columns with its neighbours only
    if reach == [0, 0] || reach[1] > v || reach[0] > ROWS {
        return Vec::new();
    }
    let is_stored = |steps: i64| {
        let halo = halo(reach, v, steps);
        let [rows, columns] = [WARPS * ROWS - 2 * halo[0], i64::from(WARP) * v - 2 * halo[1]];
        let all = WARPS * ROWS * i64::from(WARP) * v;
        rows > 0 && columns > 0 && 8 * rows * columns > 5 * all
    };
    let most = (2..=MAX_STEPS).rev().find(|n| is_stored(*n));
    let less = most.map(|n| n / 2).filter(|n| *n > 1);
    most.into_iter().chain(less).collect()
}

/// Whether an element reads these arrays at these places, and nothing else.
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
