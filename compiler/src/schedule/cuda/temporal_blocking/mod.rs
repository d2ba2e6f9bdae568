//! Temporal blocking: several steps of an iterated stencil of one matrix in one launch, with the
//! values in registers from step to step. Overlapped tiles (Holewinski, Pouchet, Sadayappan 2012):
//! blocks do not exchange the rows and columns at their edges; neighbouring blocks compute them,
//! too. Chosen for `iterate` over a stencil of one matrix, where a block's useful part is more than
//! 5/8 of it; the cost is one pass over memory per launch, and the redundant elements.
//!
//! ```text
//! block: 8 warps below each other; a lane has 8 rows of v neighbouring columns
//! load the block's part of the matrix once, with a halo: each step makes a ring of it invalid
//!
//! for each step:
//!     each warp stores its first and last rows to shared memory for the warps above and below
//!         (two buffers in turn, so that a step has one barrier)
//!     lanes exchange their first and last columns by shuffles
//!     every element becomes its next value
//! store what is still valid
//! ```
//!
//! Blocks at the edges of the matrix run the predicated element
//! (`schedule/boundary/predicated.rs`): what lies out of bounds is loaded as 0, computed, and never
//! selected.

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

/// The rows of a lane.
const ROWS: i64 = 8;
/// The warps of a block.
const WARPS: i64 = 8;
/// Threads of a block.
pub const THREADS: u32 = WARPS as u32 * WARP;
/// The maximum number of steps of a launch.
const MAX_STEPS: i64 = 8;
/// The maximum number of arrays beside the state whose elements a lane keeps.
const MAX_OTHERS: usize = 2;

/// The parameters of temporal blocking.
#[derive(Clone)]
pub struct TemporalBlockingParams {
    /// The matrix that the steps change: the state.
    state: NodeId,
    /// The other arrays, which are read at the element's own index.
    others: Vec<NodeId>,
    /// The taps of the state: distances of rows and columns.
    taps: BTreeSet<[i64; 2]>,
    /// The greatest distances: rows, columns.
    reach: [i64; 2],
    /// The vector width: the columns of a lane.
    v: i64,
    /// An array whose elements are right in the interior, its boundary widths, and the predicated
    /// element, which is right everywhere.
    inner: NodeId,
    widths: Vec<BoundaryWidth>,
    edge: Predicated,
    /// The numbers of steps for which there is a variant, in descending order.
    pub variants: Vec<i64>,
    /// The number of steps of this variant.
    pub steps: i64,
}

impl TemporalBlockingParams {
    /// Returns `None` if the group is no such stencil, or if temporal blocking would not be faster.
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
        // made an array, so that it can be opened at any indices
        let binders: Vec<_> = vars.iter().map(|v| (v.0, Ty::I64)).collect();
        let lambda = l.g.close(&binders, edge.value);
        let edge = Predicated { value: l.g.add(Op::Generate(fused.domain.clone(), lambda)), ..edge };
        // the predicated element may have other taps
        let boundary_stencils = stencil::stencils(&mut l.g, &fused.domain, &[edge.value]);
        let state_stencils =
            [&stencils, &boundary_stencils].into_iter().flatten().filter(|s| s.array == state);
        let taps = state_stencils.flat_map(|s| &s.taps).map(|t| [t[0], t[1]]).collect();
        let (inner, widths) = (inner.arrays[0], inner.widths.clone());
        Some(TemporalBlockingParams { state, others, taps, reach, v, inner, widths, edge, variants, steps })
    }

    /// Returns the parameters of the variant with that number of steps.
    pub fn with_steps(&self, steps: i64) -> TemporalBlockingParams {
        TemporalBlockingParams { steps, ..self.clone() }
    }

    /// Returns the minimum number of resident blocks per multiprocessor: as many as leave registers
    /// for what a lane keeps and computes. Four Jacobi steps of 8192 x 8192 elements of f32 take
    /// 0.153 ms with three blocks, 0.179 ms with two.
    pub fn min_resident_blocks(&self, l: &LaunchContext) -> u32 {
        let words =
            ROWS * self.v * l.g.ty(self.state).elem.size() as i64 / 4 * (1 + self.others.len() as i64);
        match words {
            ..=32 if self.taps.len() <= 9 => 3,
            ..=64 => 2,
            _ => 1,
        }
    }

    /// Returns the halo: rows and columns around what is stored.
    fn halo(&self) -> [i64; 2] {
        halo(self.reach, self.v, self.steps)
    }

    /// Returns the rows and columns of a block with the halo.
    fn region(&self) -> [i64; 2] {
        [WARPS * ROWS, i64::from(WARP) * self.v]
    }

    /// Returns the rows and columns that a block stores.
    pub fn block(&self) -> [i64; 2] {
        let (region, halo) = (self.region(), self.halo());
        [region[0] - 2 * halo[0], region[1] - 2 * halo[1]]
    }

    /// Returns the minimum length of an axis.
    pub fn min_extent(&self) -> i64 {
        self.edge.least
    }
}

fn halo(reach: [i64; 2], v: i64, steps: i64) -> [i64; 2] {
    [reach[0] * steps, (reach[1] * steps + v - 1) / v * v]
}

/// Returns the numbers of steps for which there is a variant. The greatest makes about a third of a
/// block's elements invalid (8 Jacobi steps take 0.230 ms, twice 4 steps 0.305 ms); half as many
/// steps serve iterations that have fewer.
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

/// Whether an element reads the taps of these stencils, and nothing else.
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
