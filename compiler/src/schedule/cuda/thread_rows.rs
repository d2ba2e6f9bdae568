//! Rows in the registers of threads (register tiling): elements that reduce a row of their own again and again
//! (`schedule/facts/thread_rows.rs`), such as the assignment of points to the nearest centre. A thread has a whole
//! row, and the loop over its elements is unrolled, so there is a variant for each of a few lengths. Two elements
//! share the loop around it (`schedule/element/unroll_and_jam.rs`), so that what both read there, such as a centre,
//! is loaded once.
//!
//! Rows are read by vectors of 16 bytes. The vectors of one row are neighbours in memory, so that later loads use the
//! cache lines that a warp's earlier loads have brought to the first-level cache. Values of a loop that all threads
//! read come from that cache as well, by loads that have one address for a warp.
//!
//! Chosen for rows of one of the lengths `thread_rows::LENGTHS`, before strategies for loops of an element. The cost
//! is that of the operations of an element, or of the bytes of its row.

use super::elements::{store_single, stored};
use super::expressions::{thread, to_i64};
use crate::core::{NodeId, Var};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::element::element;
use crate::schedule::element::lower::{LaunchContext, Lower, ShortRow, bind};
use crate::schedule::groups::FusedGroup;
use crate::schedule::{element::unroll_and_jam, facts::thread_rows};

/// The maximum length of rows of which a thread has two.
const LONGEST_OF_TWO: u32 = 16;
/// The maximum number of nodes of the unrolled code.
const MAX_NODES: usize = 2048;
/// Threads of a block. The assignment of points of 16 dimensions to 8 centres takes 0.0892 ms with 128,
/// 0.0921 with 256.
pub const THREADS: u32 = 128;
/// If a thread's rows have up to this many words, and for rows whose code has no loops, at least eight blocks are
/// resident, with 64 registers for each thread. In blocks of 256 threads the assignment above took 0.098 ms with as
/// many threads, 0.101 with three quarters and 0.102 with half of them; with a staged number of centres 0.120, 0.126
/// and 0.131.
const WORDS_OF_EIGHT: usize = 32;
const WORDS_OF_EIGHT_STRAIGHT: usize = 16;

/// The elements of a thread.
pub struct ThreadRowsParams {
    /// The rows.
    row: ShortRow,
    /// The variables of the elements' indices.
    indices: Vec<NodeId>,
    /// The values of the items of each element.
    roots: Vec<NodeId>,
    /// Whether the loops around the rows reduce by trees, which take as many registers as there are.
    has_trees: bool,
    /// Whether there are no loops around the rows: then rows are read again where registers are few.
    is_straight: bool,
}

impl ThreadRowsParams {
    fn of(l: &mut LaunchContext, fused: &FusedGroup, length: NodeId, n: u32) -> Option<ThreadRowsParams> {
        let items = stored(l, fused);
        let first: (Var, NodeId) = l.g.fresh_var(Ty::I64);
        let roots: Vec<NodeId> = items.iter().map(|it| element(&mut l.g, it.node, first.1)).collect();
        let mut roots = thread_rows::unrolled(&mut l.g, &roots, length, n.into(), MAX_NODES)?;
        let mut indices = vec![first.1];
        let nodes = l.g.reachable_until(roots.iter().copied(), |n| l.g.is_closed(n));
        let is_straight = !nodes.into_iter().any(|n| l.g.op(n).is_loop() && !l.g.is_closed(n));
        let has_trees = !is_straight && !unroll_and_jam::pays(&mut l.g, &roots, first.0);
        if n <= LONGEST_OF_TWO && !has_trees && !is_straight {
            let second = l.g.fresh_var(Ty::I64).1;
            roots = unroll_and_jam::jammed(&mut l.g, &roots, first, second);
            indices.push(second);
        }
        Some(ThreadRowsParams {
            row: ShortRow { length, elements: n.into() },
            indices,
            roots,
            has_trees,
            is_straight,
        })
    }

    fn min_resident_blocks(&self, l: &LaunchContext) -> u32 {
        let widest = l.facts.accesses.arrays().map(|x| l.g.ty(*x).elem.size()).max().unwrap_or(4);
        match self.indices.len() * self.row.elements as usize * widest.div_ceil(4) {
            _ if self.has_trees => 2,
            words if self.is_straight && words > WORDS_OF_EIGHT_STRAIGHT => 4,
            words if words <= WORDS_OF_EIGHT => 8,
            _ => 4,
        }
    }

    /// Returns the number of elements of a block.
    pub fn per_block(&self) -> u32 {
        THREADS * self.indices.len() as u32
    }
}

/// Returns the elements of a thread for each length of rows that has a variant, if elements reduce a row of their own
/// again and again.
pub fn of_lengths(l: &mut LaunchContext, fused: &FusedGroup) -> Vec<(u32, ThreadRowsParams)> {
    let Some(length) = l.facts.length_of_rows else { return Vec::new() };
    let of = |n: u32| ThreadRowsParams::of(l, fused, length, n).map(|params| (n, params));
    thread_rows::LENGTHS.into_iter().filter_map(of).collect()
}

pub fn main(l: &mut Lower, fused: &FusedGroup, params: &ThreadRowsParams) -> Result<Vec<Stmt>> {
    let items = stored(l.launch, fused);
    let count = l.launch.count();
    let mut out = Vec::new();
    l.k.kernel.min_resident_blocks = params.min_resident_blocks(l.launch);
    // what all elements need, such as every centre, is loaded where it is used, because it would take too many
    // registers
    l.k.once = true;
    let start = to_i64(Expr::Place(Gpu::Block)).times(Expr::int(params.per_block().into()));
    let start = bind(l, "start", start.plus(to_i64(thread())), &mut out);
    let (mut at, mut vars) = (Vec::new(), Vec::new());
    let last = bind(l, "last", count.clone().minus(Expr::int(1)), &mut out);
    for (index, offset) in params.indices.iter().zip((0..).step_by(THREADS as usize)) {
        let own = bind(l, "at", start.clone().plus(Expr::int(offset)), &mut out);
        // threads out of bounds compute the last element, and do not store it
        let i = bind(l, "i", own.clone().min(last.clone()), &mut out);
        l.k.kernel.in_space.push(i.clone());
        vars.push((*index, i));
        at.push(own);
    }
    let mut values =
        l.with_short_row(params.row, |l| l.region(&vars, &params.roots, &Expr::int(0), &mut out))?;
    for at in at {
        let rest = values.split_off(items.len());
        let mut stores = Vec::new();
        store_single(l, &items, values, &at, &mut stores);
        out.push(Stmt::If(Expr::binary(BinaryOp::Lt, at, count.clone()), stores, vec![]));
        values = rest;
    }
    Ok(out)
}
