//! Resident rows (`schedule/resident_rows.rs`) on a GPU: a row lies in the registers of 8, 16 or 32
//! lanes, or of the warps of a block, a tile of 2048 elements each. Each element is loaded once, by
//! vector accesses; what several stages compute of it, such as an exponential, is kept in a register
//! as well. A reduction is the tree of semantics 5.1: columns in registers, lanes by shuffles, tiles
//! through shared memory.
//!
//! The cost is that of reading the row and writing the results once. The registers bound the length:
//! longer rows take the launches that this one replaces.

mod row;
mod variants;

use super::expressions::{int32, thread, to_i64};
use super::segments::lane;
use crate::core::{COLUMNS, NodeId, TILE, linear};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Stmt, WARP};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::lower::{Lower, named as bind};
use crate::schedule::resident_rows::{ResidentRows, Stage};
use row::Row;
pub use variants::variants;

/// Threads of a block whose warps have rows of their own.
const THREADS: u32 = 128;
/// The registers of a multiprocessor, and those of a thread beside the elements: more if each element
/// has an address of its own.
const REGISTERS: i64 = 1 << 16;
const OTHER_REGISTERS: i64 = 44;
const OTHERS_OF_SINGLE_ACCESSES: i64 = 72;

/// How rows are mapped to threads.
#[derive(Clone, Copy)]
pub struct ResidentRowsParams {
    /// The lanes that have a tile of a row.
    pub lanes: u32,
    /// The rows of a tile.
    pub tile_rows: i64,
    /// The columns of a lane: 4, or 2 if two warps share a tile.
    pub columns: i64,
    /// The warps that have a row.
    pub warps: u32,
    /// The number of rows that the lanes take at once.
    pub each: i64,
    /// The vector width of accesses.
    pub v: i64,
}

impl ResidentRowsParams {
    /// Returns the elements of a row that a lane has.
    pub fn elements_per_lane(&self) -> i64 {
        self.columns * self.tile_rows
    }

    /// Returns the length of the longest row.
    pub fn longest(&self) -> u32 {
        self.lanes * self.warps * self.elements_per_lane() as u32
    }

    /// Returns the number of threads of a block.
    pub fn threads(&self) -> u32 {
        if self.warps > 1 { self.warps * WARP } else { THREADS }
    }

    /// Returns the number of rows of a block.
    pub fn rows_per_block(&self) -> u32 {
        if self.warps > 1 { 1 } else { THREADS / self.lanes * self.each as u32 }
    }

    /// Returns the number of blocks for which a multiprocessor should have registers.
    pub fn min_resident_blocks(&self, words: i64) -> u32 {
        let others = if self.v == 1 { OTHERS_OF_SINGLE_ACCESSES } else { OTHER_REGISTERS };
        let of_thread = self.elements_per_lane() * self.each * words + others;
        (REGISTERS / (of_thread * i64::from(self.threads()))).clamp(1, 16) as u32
    }
}

/// Neighbouring elements of a lane that one access takes.
pub(super) struct Group {
    /// The index of each element.
    pub indices: Vec<NodeId>,
    /// The variable of the first element's index, and its value. If the elements are absent, this is
    /// the index of a group that is present.
    pub first: (NodeId, Expr),
    /// Whether the row has these elements.
    pub is_present: Expr,
    /// The column of the first element.
    pub column: usize,
}

/// Writes the code of a thread.
pub fn main(l: &mut Lower, rows: &ResidentRows, p: &ResidentRowsParams) -> Result<Vec<Stmt>> {
    let mut out = Vec::new();
    let (n, length) = (l.launch.count(), l.launch.host(rows.length));
    let lane = lane(l, p.lanes, &mut out);
    let warp = Expr::binary(BinaryOp::Shr, thread(), int32(WARP.trailing_zeros() as i32));
    let warp = bind(l, "warp", warp, &mut out);
    let (numbers, base) = match p.warps {
        1 => (rows_of_lanes(l, p, &warp, &mut out), Expr::int(0)),
        _ => (vec![to_i64(Expr::Place(Gpu::Block))], first_of_warp(p, &warp)),
    };
    let groups = groups(l, p, (&base, &lane, &length), &mut out);
    let mut all = Vec::new();
    for number in numbers {
        all.push(Row::begin(l, rows, p, (number, &n), (&lane, &warp), &mut out)?);
    }
    for stage in 0..rows.stages.len() {
        for row in &mut all {
            row.load(l, stage, &groups, &mut out)?;
        }
        for row in &mut all {
            match &rows.stages[stage] {
                Stage::Reduce { reductions, values } => {
                    row.reduce(l, stage, (reductions, values), &groups, &mut out)?;
                }
                Stage::Store { items } => row.store(l, stage, items, &groups, &mut out)?,
            }
        }
    }
    Ok(out)
}

/// Returns the first element of a warp, given the warp's number in the row.
fn first_of_warp(p: &ResidentRowsParams, warp: &Expr) -> Expr {
    let columns = p.columns * i64::from(WARP);
    let warps_of_tile = (COLUMNS / columns) as i32;
    let tile = Expr::binary(BinaryOp::Shr, warp.clone(), int32(warps_of_tile.trailing_zeros() as i32));
    let part = Expr::binary(BinaryOp::And, warp.clone(), int32(warps_of_tile - 1));
    to_i64(tile).times(Expr::int(TILE)).plus(to_i64(part).times(Expr::int(columns)))
}

/// Returns the numbers of the rows of this lane, which may be beyond the last row.
fn rows_of_lanes(l: &mut Lower, p: &ResidentRowsParams, warp: &Expr, out: &mut Vec<Stmt>) -> Vec<Expr> {
    let per_warp = i64::from(WARP / p.lanes);
    let warps = i64::from(THREADS / WARP);
    let first_warp = to_i64(Expr::Place(Gpu::Block)).times(Expr::int(warps));
    let begin = first_warp.plus(to_i64(warp.clone())).times(Expr::int(per_warp * p.each));
    let in_warp = Expr::binary(BinaryOp::And, thread(), int32(WARP as i32 - 1));
    let group = Expr::binary(BinaryOp::Shr, in_warp, int32(p.lanes.trailing_zeros() as i32));
    let mine = bind(l, "mine", begin.plus(to_i64(group)), out);
    (0..p.each).map(|u| bind(l, "mine", mine.clone().plus(Expr::int(u * per_warp)), out)).collect()
}

/// Returns the groups of neighbours of a lane.
fn groups(
    l: &mut Lower,
    p: &ResidentRowsParams,
    (base, lane, length): (&Expr, &Expr, &Expr),
    out: &mut Vec<Stmt>,
) -> Vec<Group> {
    let (lanes, v) = (i64::from(p.lanes), p.v);
    let first = base.clone().plus(to_i64(lane.clone()).times(Expr::int(v)));
    let first = bind(l, "first", first, out);
    let last = bind(l, "last", length.clone().minus(Expr::int(v)), out);
    let mut all = Vec::new();
    // fewer lanes than a warp have one row of a tile
    let row_columns = if p.lanes == WARP { COLUMNS } else { lanes * p.columns };
    for row in 0..p.tile_rows {
        for g in 0..p.columns / v {
            let offset = row * row_columns + g * lanes * v;
            let at = bind(l, "k", first.clone().plus(Expr::int(offset)), out);
            let is_present = Expr::binary(BinaryOp::Lt, at.clone(), length.clone());
            let is_present = bind(l, "there", is_present, out);
            let at = bind(l, "k", at.min(last.clone()), out);
            l.k.kernel.in_space.push(at.clone());
            let (_, node) = l.launch.g.fresh_var(Ty::I64);
            let index = |q| {
                let offset = l.launch.g.lit(Lit::i64(q));
                linear::add(&mut l.launch.g, node, offset)
            };
            let indices = (0..v).map(index).collect();
            all.push(Group { indices, first: (node, at), is_present, column: (g * v) as usize });
        }
    }
    all
}
