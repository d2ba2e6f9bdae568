//! Recognises contractions, and chooses their tiles. The values that an element computes for an inner index k are
//! sorted by what they depend on: (i, k), (j, k) or k alone, which are staged; i, j or neither, which each thread
//! computes before its loop; and both i and j, which are computed for each element and must read no arrays.

use super::params::{ContractionParams, ROWS, SIDE_THREADS, Side, THREADS};
use crate::core::records::may_record_here;
use crate::core::{Graph, NodeId, Op};
use crate::kernel::WARP;
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::element::opened;
use crate::schedule::facts::loop_nests::{self, Loop, Order};
use crate::schedule::groups::FusedGroup;
use rustc_hash::FxHashSet as HashSet;

/// The bytes of static shared memory that a block may use on every device.
const MAX_SHARED_BYTES: i64 = 48 << 10;
/// The register tiles, rows by columns, in order of preference.
const REGISTER_TILES: [[i64; 2]; 3] = [[4, 4], [2, 4], [2, 2]];
/// The maximum number of words of a thread's accumulators.
const MAX_WORDS: i64 = 16;
/// The maximum number of words of the tree columns' values that a thread joins in registers.
const MAX_JOINING_WORDS: i64 = 64;
/// The maximum number of words that a thread loads for one inner index or keeps for its rows and columns.
const MAX_OPERAND_WORDS: i64 = 32;
/// The maximum number of operations of a register tile for one inner index.
const MAX_STEP: i64 = 512;
/// The maximum number of operations of a register tile for one inner index with which more rows are unrolled.
const SHORT_STEP: i64 = 160;

/// Returns the fused group as a contraction, if it is one. The caller has made sure that the reductions of all
/// elements have the same length, and operators with an identity.
pub fn find(l: &mut LaunchContext, fused: &FusedGroup) -> Option<ContractionParams> {
    let axes = fused.domain.len();
    if l.facts.segments.is_none() || !(2..=3).contains(&axes) {
        return None;
    }
    let index: Vec<NodeId> = l.g.sample_index(axes).into_iter().map(|v| v.1).collect();
    let roots: Vec<NodeId> = fused.items.iter().map(|it| opened(&mut l.g, it.node, &index)).collect();
    let mut nest = loop_nests::find_any(l, &roots)?;
    let (k, of) = (nest.k, nest.loops.pop()?);
    if !nest.loops.is_empty() || of.order != Order::Tree {
        return None;
    }
    let may_record = may_record_here(&l.g, roots.iter().copied());
    let (index, rows_first, sides) = match sides(&l.g, &index, k, &of) {
        Some(sides) => (index, false, sides),
        None => {
            let [a, b, c] = index[..] else { return None };
            let index = vec![b, a, c];
            let sides = sides(&l.g, &index, k, &of)?;
            (index, true, sides)
        }
    };
    let (staged, unrolled) = (0, 0);
    let mut params =
        ContractionParams { index, rows_first, k, of, roots, sides, staged, unrolled, may_record };
    (choose_tiles(&l.g, &mut params) && !has_unlikely(&l.g, &params)).then_some(params)
}

/// Whether a value is read from an array, or computed from such a value.
fn reads(g: &Graph, n: NodeId) -> bool {
    g.reachable([n]).into_iter().any(|m| matches!(g.op(m), Op::Elem(..) | Op::At(..)))
}

/// Whether what is computed for each element and inner index has `unlikely` conditions: contractions have no slow
/// path.
fn has_unlikely(g: &Graph, params: &ContractionParams) -> bool {
    let ready = params.ready();
    let needed = g.reachable_until(params.of.roots(), |n| g.is_closed(n) || ready.contains(&n));
    needed.into_iter().any(|n| !ready.contains(&n) && loop_nests::is_unlikely(g, n))
}

/// Returns the values of the sides. Returns `None` if rows or columns have no staged values, or if some read depends
/// on both row and column.
fn sides(g: &Graph, index: &[NodeId], k: NodeId, of: &Loop) -> Option<[Side; 3]> {
    let (outer, own) = index.split_at(index.len() - 2);
    let mut known = HashSet::default();
    // whether a value depends on all variables of `on`, and on no others except the axis before rows and columns
    let exactly = |g: &Graph, n: NodeId, on: &[NodeId]| {
        let all: Vec<NodeId> = on.iter().chain(outer).copied().collect();
        (0..on.len()).all(|first| {
            let mut all = all.clone();
            all.swap(0, first);
            loop_nests::depends(g, n, &all)
        })
    };
    let mut parts = |on: &[NodeId]| of.parts(g, &mut known, |g, n| exactly(g, n, on) && reads(g, n));
    let of_k = [parts(&[own[0], k]), parts(&[own[1], k]), parts(&[k])];
    let kept = |g: &Graph, n: NodeId| reads(g, n) || g.ty(n).elem.is_float();
    let mut invariants = |on: &[NodeId]| of.parts(g, &mut known, |g, n| exactly(g, n, on) && kept(g, n));
    let mut others = [invariants(&own[..1]), invariants(&own[1..]), Vec::new()];
    if let [p] = outer {
        others[2] = of.parts(g, &mut known, |g, n| loop_nests::depends(g, n, &[*p]) && kept(g, n));
    }
    let rest = of.parts(g, &mut known, |g, n| matches!(g.op(n), Op::Elem(..) | Op::At(..)));
    if of_k[0].is_empty() || of_k[1].is_empty() || !rest.is_empty() {
        return None;
    }
    // whether neighbouring k are neighbours in memory
    let along_k = |parts: &[NodeId]| {
        g.reachable(parts.iter().copied()).into_iter().any(|n| match g.op(n) {
            Op::Elem(_, index) | Op::At(_, index) => {
                index.last().is_some_and(|n| *n == k || exactly(g, *n, &[k]))
            }
            _ => false,
        })
    };
    let mut sides = of_k.into_iter().zip(others).map(|(parts, invariants)| {
        let along_k = along_k(&parts);
        Side { parts, invariants, along_k, per_thread: 1, size: 1 }
    });
    Some([sides.next()?, sides.next()?, sides.next()?])
}

/// Chooses the register tile and the number of staged tree columns. Returns false if none fits.
fn choose_tiles(g: &Graph, params: &mut ContractionParams) -> bool {
    let words = |n: &NodeId| g.ty(*n).elem.size().div_ceil(4) as i64;
    let of_element: i64 = params.of.inner.iter().map(|i| words(&i.node)).sum();
    let step = operations(g, params);
    for tile in REGISTER_TILES {
        for (side, per_thread) in params.sides.iter_mut().zip(tile) {
            (side.per_thread, side.size) = (per_thread, per_thread * SIDE_THREADS);
        }
        let operands: i64 = params
            .sides
            .iter()
            .map(|s| s.per_thread * s.parts.iter().chain(&s.invariants).map(words).sum::<i64>())
            .sum();
        let elements = params.elements();
        if of_element * elements > MAX_WORDS || operands > MAX_OPERAND_WORDS || step * elements > MAX_STEP {
            continue;
        }
        params.unrolled = if step * elements <= SHORT_STEP { 5 } else { 3 };
        let widest = params.sides.iter().map(|s| s.size).max().unwrap_or(1);
        for staged in [8, 4, 2] {
            params.staged = staged;
            let joining = (1 + i64::from(staged.ilog2())) * elements * of_element;
            if joining <= MAX_JOINING_WORDS
                && staged * widest <= THREADS.into()
                && shared_bytes(g, params) <= MAX_SHARED_BYTES
            {
                return true;
            }
        }
    }
    false
}

/// Returns the bytes of shared memory of a block.
fn shared_bytes(g: &Graph, params: &ContractionParams) -> i64 {
    let bytes = |s: usize| {
        let of_slot = params.sides[s].parts.iter().map(|n| g.ty(*n).elem.size() as i64).sum::<i64>();
        // each array begins at a multiple of 16 bytes
        of_slot * params.pitch(s) * ROWS * params.staged + 16 * params.sides[s].parts.len() as i64
    };
    (0..3).map(bytes).sum()
}

/// Returns the number of operations for one element and inner index, without those of values of one side.
fn operations(g: &Graph, params: &ContractionParams) -> i64 {
    let ready = params.ready();
    let next = params.of.inner.iter().map(|i| i.next);
    let needed = g.reachable_until(next, |n| g.is_closed(n) || ready.contains(&n));
    let is_operation =
        |n: &NodeId| !g.is_closed(*n) && !ready.contains(n) && !matches!(g.op(*n), Op::Var(..));
    (needed.into_iter().filter(is_operation).count() as i64).max(1)
}

const _: () = assert!(WARP >= 8, "the padding of a slot");
