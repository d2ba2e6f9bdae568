//! Rows and columns of one matrix in one pass over it (`schedule/alternatives/rows_and_columns.rs`), first kernel. In
//! the fixed tree of semantics 5.1 a reduction of columns cuts the matrix into tiles of 2048 rows, and tree column
//! `c` of a tile is its 16 rows `c`, `c + 128`, ..., `c + 15 * 128`. A block computes some tree columns of a tile. A
//! row is loaded into the registers of a group of 1, 2, 4 or 8 warps, which reduces it and folds its elements into
//! accumulators for the matrix columns. These are in registers, too.
//!
//! ```text
//! for each tree column of these warps:
//!   load the elements that all rows read, such as those of a vector
//!   for its 16 rows:   load the row;  t = its reductions;  column[j] = step(column[j], element (row, j))
//! join the tree columns of the block in shared memory  ->  scratch  ->  the second kernel (`parts.rs`)
//! ```
//!
//! The cost is one pass over the matrix; between 1/128 and 1/32 of its size is written to scratch and read again.

use super::mapping::{Group, ResidentRowsParams};
use super::row::{Common, Repeated, Row};
use super::{first_of_warp, groups};
use crate::core::{COLUMNS, TILE};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Mem, Reg, Stmt, WARP};
use crate::plan::gpu::Grid;
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::expressions::{int32, thread, to_i64};
use crate::schedule::cuda::segments::{lane, pairs};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::reduction::{Reduction, each_accumulator};
use crate::schedule::facts::{RowsAndColumns, Stage};

/// Threads of a block.
pub(super) const THREADS: u32 = 256;
/// The registers of a thread if two blocks are resident on a multiprocessor.
const MAX_REGISTERS: i64 = 128;
/// The registers of a thread besides elements and accumulators, for elements of one word and of several.
const OTHER_REGISTERS: i64 = 32;
const OTHER_REGISTERS_OF_WORDS: i64 = 44;

/// How rows and columns are mapped to a block.
#[derive(Clone, Copy)]
pub struct ColumnsParams {
    /// How a row is mapped to warps.
    pub row: ResidentRowsParams,
    /// The number of tree columns that a group of warps takes one after another: 1, or 2 where all warps share one
    /// row.
    pub each: u32,
    /// Whether an element of a row takes several words.
    pub is_wide: bool,
    /// The words of registers that a thread uses for its rows' elements and for the accumulators of its columns.
    pub words: i64,
}

impl ColumnsParams {
    /// Returns the number of rows that the block processes concurrently: one for each group of warps.
    fn rows(&self) -> u32 {
        THREADS / WARP / self.row.warps
    }

    /// Returns the number of tree columns of a block.
    fn tree_columns(&self) -> u32 {
        self.rows() * self.each
    }

    /// Returns the number of blocks that share a tile.
    pub fn parts(&self) -> i64 {
        COLUMNS / i64::from(self.tree_columns())
    }

    /// Returns how blocks are laid over the rows.
    pub fn grid(&self) -> Grid {
        Grid::Parts(self.tree_columns())
    }

    /// Returns the minimum number of resident blocks per multiprocessor, which bounds the registers of a thread.
    pub fn min_resident_blocks(&self) -> u32 {
        let of_words = if self.row.elements_per_lane() > 8 { 2 } else { 4 };
        if self.is_wide { of_words / 2 } else { of_words }
    }

    /// Returns how many words of registers a thread has left for elements that all rows read, if at least two blocks
    /// are to be resident.
    fn words_left(&self) -> i64 {
        let of_thread = MAX_REGISTERS * 2 / i64::from(self.min_resident_blocks().max(2));
        let others = if self.is_wide { OTHER_REGISTERS_OF_WORDS } else { OTHER_REGISTERS };
        of_thread - others - self.words
    }
}

/// A block's parameters, and the position of a thread in it.
struct Block<'a> {
    facts: &'a RowsAndColumns,
    p: &'a ColumnsParams,
    reductions: Vec<Reduction>,
    groups: Vec<Group>,
    lane: Expr,
    /// The number of the thread's group of warps in the block, and of its warp in the group (both i32).
    row: Expr,
    warp: Expr,
    /// The number of rows and the length of a row.
    n: Expr,
    length: Expr,
    /// The number of the first row of the block's first tree column (i64).
    start: Expr,
    /// Shared memory for the column accumulators of every group of warps, for each reduction.
    shared: Vec<Mem>,
}

/// Writes the kernel body.
pub fn main(l: &mut Lower, facts: &RowsAndColumns, p: &ColumnsParams) -> Result<Vec<Stmt>> {
    l.k.kernel.min_resident_blocks = p.min_resident_blocks();
    let mut out = Vec::new();
    let (n, length) = (l.launch.count(), l.launch.host(facts.rows.length));
    let lane = lane(l, WARP, &mut out);
    let shr = |e: Expr, by: u32| Expr::binary(BinaryOp::Shr, e, int32(by.trailing_zeros() as i32));
    let and = |e: Expr, with: u32| Expr::binary(BinaryOp::And, e, int32(with as i32 - 1));
    let warp = bind(l, "warp", shr(thread(), WARP), &mut out);
    let row = bind(l, "slot", shr(warp.clone(), p.row.warps), &mut out);
    let warp = bind(l, "warp", and(warp, p.row.warps), &mut out);
    let base = if p.row.warps == 1 { Expr::int(0) } else { first_of_warp(&p.row, &warp) };
    let groups = groups(l, &p.row, (&base, &lane, &length), &mut out);
    let parts = p.parts() as u32;
    let tile = to_i64(shr(Expr::Place(Gpu::Block), parts)).times(Expr::int(TILE));
    let part = and(Expr::Place(Gpu::Block), parts).times(int32(p.tree_columns() as i32));
    let start = bind(l, "start", tile.plus(to_i64(part)), &mut out);
    let reductions = Reduction::with_scratch(l.launch, &facts.columns.nested);
    let words = THREADS * p.row.elements_per_lane() as u32;
    let shared = each_accumulator(&reductions).map(|r| l.k.share("columns", r.ty, words)).collect();
    let b = Block { facts, p, reductions, groups, lane, row, warp, n, length, start, shared };
    if p.each == 1 {
        let columns = b.tree_column(l, b.start.clone(), &mut out)?;
        b.keep(l, &columns, &mut out);
        b.join(l, &mut out)?;
    } else {
        let s = l.k.reg("s", Ty::I64);
        let mut body = Vec::new();
        let start = bind(l, "start", b.start.clone().plus(Expr::Reg(s)), &mut body);
        let columns = b.tree_column(l, start, &mut body)?;
        let (mut first, mut second) = (Vec::new(), Vec::new());
        b.keep(l, &columns, &mut first);
        b.join_kept(l, &columns, &mut second)?;
        body.push(Stmt::If(Expr::binary(BinaryOp::Eq, Expr::Reg(s), Expr::int(0)), first, second));
        out.push(Stmt::Seq(s, Expr::int(0), Expr::int(p.each.into()), body));
    }
    Ok(out)
}

impl Block<'_> {
    /// Goes through the rows of one tree column per group of warps; group `g` has the one that begins at row
    /// `start + g`. Returns the column accumulators of this lane's elements, for each reduction.
    fn tree_column(&self, l: &mut Lower, start: Expr, out: &mut Vec<Stmt>) -> Result<Vec<Vec<Reg>>> {
        let count = self.p.row.elements_per_lane();
        let mut columns = Vec::new();
        for r in each_accumulator(&self.reductions) {
            let absent = r.absent(l.launch);
            let accs: Vec<Reg> = (0..count).map(|_| l.k.reg("column", r.ty)).collect();
            out.extend(accs.iter().map(|a| Stmt::Var(*a, absent.clone())));
            columns.push(accs);
        }
        // a pass may have barriers, so all warps make as many as the first one, whose tree column has the most rows
        let left = self.n.clone().minus(start.clone()).plus(Expr::int(COLUMNS - 1));
        let left = Expr::binary(BinaryOp::Shr, left, Expr::int(COLUMNS.trailing_zeros().into()));
        let left = bind(l, "rows", left.min(Expr::int(TILE / COLUMNS)), out);
        let at_once = self.p.row.each;
        let passes = left.plus(Expr::int(at_once - 1));
        let passes = Expr::binary(BinaryOp::Shr, passes, Expr::int(at_once.trailing_zeros().into()));
        let facts = &self.facts.rows;
        let of_columns = self.reductions.iter().flat_map(|r| r.elements(l.launch, facts.segment)).collect();
        let common = Common::load(l, facts, of_columns, &self.groups, self.p.words_left(), out)?;
        let k = l.k.reg("k", Ty::I64);
        let mut body = Vec::new();
        let number = start.plus(to_i64(self.row.clone()));
        let number = number.plus(Expr::Reg(k).times(Expr::int(at_once * COLUMNS)));
        let number = bind(l, "number", number, &mut body);
        let first_warp = self.row.clone().times(int32(self.p.row.warps as i32));
        let repeated = Repeated { first_warp, warps: THREADS / WARP };
        let mut rows = Vec::new();
        for u in 0..at_once {
            let number = number.clone().plus(Expr::int(u * COLUMNS));
            let at = (&self.lane, &self.warp);
            let row = Row::begin(l, facts, &self.p.row, (number, &self.n), at, &mut body)?;
            rows.push(row.repeated(repeated.clone()).with_common(common.clone()));
        }
        for (stage, of) in facts.stages.iter().enumerate() {
            for row in &mut rows {
                row.load(l, stage, &self.groups, &mut body)?;
            }
            let Stage::Reduce { reductions, values } = of else { continue };
            for row in &mut rows {
                row.reduce(l, stage, (reductions, values), &self.groups, &mut body)?;
            }
        }
        for row in &mut rows {
            row.add_to_columns(l, &self.reductions, &columns, &self.groups, &mut body)?;
        }
        out.push(Stmt::Seq(k, Expr::int(0), passes, body));
        Ok(columns)
    }

    /// Returns, for each group of neighbours of this lane, the index in the row of its first element (i32). It may be
    /// beyond the row.
    fn places(&self) -> Vec<Expr> {
        let (p, v) = (&self.p.row, self.p.row.v);
        let base =
            if p.warps == 1 { int32(0) } else { Expr::Cast(Ty::I32, Box::new(first_of_warp(p, &self.warp))) };
        let first = base.plus(self.lane.clone().times(int32(v as i32)));
        let offsets = (0..p.tile_rows)
            .flat_map(|row| (0..p.columns / v).map(move |g| row * COLUMNS + g * i64::from(WARP) * v));
        offsets.map(|offset| first.clone().plus(int32(offset as i32))).collect()
    }

    /// Stores this lane's column accumulators in shared memory.
    fn keep(&self, l: &mut Lower, columns: &[Vec<Reg>], out: &mut Vec<Stmt>) {
        let of_row = self.row.clone().times(int32(self.p.row.longest() as i32));
        let of_row = bind(l, "kept", of_row, out);
        let v = self.p.row.v as usize;
        for (place, first) in self.places().into_iter().zip((0..).step_by(v)) {
            let at = bind(l, "at", of_row.clone().plus(place), out);
            for (m, accs) in self.shared.iter().zip(columns) {
                for q in 0..v {
                    out.push(Stmt::Store(*m, at.clone().plus(int32(q as i32)), Expr::Reg(accs[first + q])));
                }
            }
        }
    }

    /// Joins the column accumulators of all groups of warps, and stores the results to scratch.
    fn join(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<()> {
        let longest = self.p.row.longest();
        out.push(Stmt::Barrier);
        for first in (0..longest).step_by(THREADS as usize) {
            let at = bind(l, "at", thread().plus(int32(first as i32)), out);
            let j = bind(l, "j", to_i64(at.clone()), out);
            let mut body = Vec::new();
            for (r, m) in self.reductions.iter().zip(&self.shared) {
                let mut value = |row: u32| {
                    let at = at.clone().plus(int32((row * longest) as i32));
                    vec![bind(l, "row", Expr::load(*m, at), &mut body)]
                };
                let list: Vec<Vec<Expr>> = (0..self.p.rows()).map(&mut value).collect();
                let joined = pairs(l, r, list, &mut body)?;
                self.leave(r, &j, joined, &mut body);
            }
            let is_present = Expr::binary(BinaryOp::Lt, j, self.length.clone());
            out.push(Stmt::If(is_present, body, vec![]));
        }
        Ok(())
    }

    /// Joins this lane's column accumulators in shared memory, those of its first tree column, with `columns`, those
    /// of its second one, and stores the results to scratch.
    fn join_kept(&self, l: &mut Lower, columns: &[Vec<Reg>], out: &mut Vec<Stmt>) -> Result<()> {
        let v = self.p.row.v as usize;
        for (place, first) in self.places().into_iter().zip((0..).step_by(v)) {
            let at = bind(l, "at", place, out);
            let mut body = Vec::new();
            for ((r, m), accs) in self.reductions.iter().zip(&self.shared).zip(columns) {
                for q in 0..v {
                    let at = at.clone().plus(int32(q as i32));
                    let low = bind(l, "low", Expr::load(*m, at.clone()), &mut body);
                    let joined = pairs(l, r, vec![vec![low], vec![Expr::Reg(accs[first + q])]], &mut body)?;
                    let j = bind(l, "j", to_i64(at), &mut body);
                    self.leave(r, &j, joined, &mut body);
                }
            }
            let is_present = Expr::binary(BinaryOp::Lt, to_i64(at), self.length.clone());
            out.push(Stmt::If(is_present, body, vec![]));
        }
        Ok(())
    }

    /// Stores the result of column `j` to scratch.
    fn leave(&self, r: &Reduction, j: &Expr, values: Vec<Expr>, out: &mut Vec<Stmt>) {
        let at = to_i64(Expr::Place(Gpu::Block)).times(self.length.clone()).plus(j.clone());
        let stores = r.scratch.iter().zip(values);
        out.extend(stores.map(|(m, e)| Stmt::Store(*m, at.clone(), e)));
    }
}
