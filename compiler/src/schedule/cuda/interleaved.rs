//! Interleaved channels: what a thread's neighbouring elements read of a vector at a constant multiple of their index
//! is loaded by aligned vector accesses, and picked from registers. Chosen for maps of vectors whose reads are proven
//! to be in bounds; the cost is registers for the elements in between that are not read.
//!
//! ```text
//! r[i] = f(x[3 i], x[3 i + 1], x[3 i + 2]), bytes:   x[3 first ..+ 16] x[3 first + 16 ..+ 16] x[3 first + 32 ..+ 16]
//! ```
//!
//! If each element were loaded by itself, the accesses of a warp would be as far apart as its elements are, and of
//! one byte each. Blocks in which the loads would leave the array take the path of the last, partial block.

use super::access;
use super::elements::Elements;
use super::register_window::{pieces, widest};
use super::thread_layout::ThreadLayout;
use crate::core::linear::{self, Linear};
use crate::core::{NodeId, Op};
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Lit};
use crate::schedule::element::lower::{LaunchContext, Lower};
use crate::schedule::element::opened;
use crate::schedule::groups::FusedGroup;
use indexmap::IndexMap;
use std::collections::BTreeSet;

/// The most bytes that a thread loads for one group of neighbours.
const MAX_BYTES: i64 = 64;

/// What a group of neighbours reads of one array at multiples of their index.
#[derive(Clone, Debug)]
pub struct Interleaved {
    array: NodeId,
    /// The constant by which the index is multiplied.
    step: i64,
    /// The start and the number of elements of each access, counted from the first element of the array that the
    /// group may read.
    pieces: Vec<(i64, i64)>,
    /// One past the last element of the pieces that is read.
    read: i64,
}

/// Returns the interleaved reads of a map of vectors.
pub fn find(l: &mut LaunchContext, fused: &FusedGroup, layout: ThreadLayout) -> Vec<Interleaved> {
    if fused.domain.len() != 1 || layout.strided || layout.v < 2 {
        return Vec::new();
    }
    let index = l.index();
    let roots: Vec<NodeId> = fused.items.iter().map(|it| opened(&mut l.g, it.node, &[index])).collect();
    let mut taps: IndexMap<(NodeId, i64), BTreeSet<i64>> = IndexMap::new();
    for n in l.g.reachable(roots) {
        if let Op::Elem(x, at) = l.g.op(n)
            && let [at] = at[..]
        {
            let mut form = Linear::of(&l.g, at);
            let step = form.terms.remove(&index).unwrap_or(0);
            // the first element's read is in bounds, so its offset is at least 0
            if step > 1 && form.terms.is_empty() && form.constant >= 0 {
                taps.entry((*x, step)).or_default().insert(form.constant);
            }
        }
    }
    let each = taps.into_iter().filter_map(|((array, step), taps)| {
        let size = l.g.ty(array).elem.size() as i64;
        // the sets of offsets below grow with both the step and the last tap
        if step.checked_mul(layout.v * size)? > MAX_BYTES || *taps.last()? >= MAX_BYTES {
            return None;
        }
        let lanes: BTreeSet<i64> =
            taps.iter().flat_map(|t| (0..layout.v).map(move |k| t + step * k)).collect();
        let pieces = pieces(&lanes, widest(l, array, layout.v));
        let bytes: i64 = pieces.iter().map(|p| p.1 * size).sum();
        let read = lanes.last()? + 1;
        (bytes <= MAX_BYTES && pieces.len() < lanes.len()).then_some(Interleaved {
            array,
            step,
            pieces,
            read,
        })
    });
    each.collect()
}

impl Interleaved {
    /// Returns the words of registers for one group of neighbours.
    pub fn words(&self, l: &LaunchContext) -> i64 {
        let size = l.g.ty(self.array).elem.size() as i64;
        self.pieces.iter().map(|p| (p.1 * size + 3) / 4).sum()
    }

    /// Returns whether a block whose last group of neighbours begins at `last` loads nothing beyond the array's end.
    /// `None` if that always holds, because the elements themselves read in bounds.
    pub fn inside(&self, l: &mut Lower, last: &Expr) -> Option<Expr> {
        let end = self.pieces.last().map_or(0, |p| p.0 + p.1);
        (end > self.read).then(|| {
            let len = l.launch.extent(self.array, 0);
            let end = last.clone().times(Expr::int(self.step)).plus(Expr::int(end));
            Expr::binary(BinaryOp::Le, end, l.launch.host(len))
        })
    }

    /// Loads what the elements read.
    pub fn load(&self, l: &mut Lower, elements: &Elements, out: &mut Vec<Stmt>) {
        let (mem, ty) = (l.launch.input(self.array), l.launch.g.ty(self.array).elem);
        let step = l.launch.g.lit(Lit::i64(self.step));
        for first in elements.firsts() {
            let start = linear::mul(&mut l.launch.g, elements.indices[first], step);
            let at = elements.at(first).times(Expr::int(self.step));
            for (lane, count) in &self.pieces {
                let regs: Vec<_> = (0..*count).map(|_| l.k.reg("x", ty)).collect();
                for (k, r) in (*lane..).zip(&regs) {
                    let k = l.launch.g.lit(Lit::i64(k));
                    let index = linear::add(&mut l.launch.g, start, k);
                    l.note_loaded(self.array, &[], index, Expr::Reg(*r));
                }
                let at = if *lane == 0 { at.clone() } else { at.clone().plus(Expr::int(*lane)) };
                access::load(l, mem, regs, at, out);
            }
        }
    }
}
