//! The upper levels of the fixed tree, in the same launch as the tiles (semantics 5.1, step 4). A group is 2048
//! neighbouring tiles.
//!
//! ```text
//! the last block of a group to arrive:      reduces the results of the group's tiles
//! the last group to arrive (that block):    reduces the results of the groups, and computes the scalars that follow
//! ```
//!
//! No block waits for another: each block arrives once at the counter of its group, and each group once at a counter
//! of all groups. If a single last block joined the results of all tiles instead, 2^26 elements would take 10 us
//! more.

use super::expressions::{int32, thread, to_i64, warp_number};
use super::tree::{Column, StoredValues, join_warps, variables, width_of};
use crate::core::{COLUMNS, NodeId, TILE};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use crate::schedule::element::lower::{Lower, Surroundings, bind};
use crate::schedule::element::nested_loop::read;
use crate::schedule::element::reduction::{Reduction, by_reduction, tiles, totals_of};
use crate::schedule::element::scalars as values;

/// A block of a reduction: its position among the blocks and tiles, as values that its threads have computed.
pub struct ReductionBlock {
    /// The column of this thread.
    pub column: Column,
    /// The number of tiles.
    pub count: Expr,
    /// The block's group, and the group's first tile (both i64).
    pub group: Expr,
    pub base: Expr,
    /// The block's number in its group, and the number of blocks of a full group (both i32).
    pub index_in_group: Expr,
    pub blocks_per_group: Expr,
    /// Shared memory for a value of each warp, for each accumulator.
    pub shared: Vec<Mem>,
    /// Registers of thread 0 for the results of all tiles, for each accumulator.
    pub totals: Vec<Reg>,
}

impl ReductionBlock {
    /// Whether there are several tiles, whose results must be joined. The result of a single tile is the total.
    fn joins(&self) -> Expr {
        Expr::binary(BinaryOp::Gt, self.count.clone(), Expr::int(1))
    }

    /// Returns the statement by which a thread stores the results of tile `t`: in scratch, or, if it is the only
    /// tile, in the registers `totals` of thread 0.
    pub fn keep(&self, reductions: &[Reduction], t: &Expr, values: Vec<Expr>) -> Stmt {
        let scratch = reductions.iter().flat_map(|r| &r.scratch);
        let store = scratch.zip(&values).map(|(m, e)| Stmt::Store(*m, t.clone(), e.clone())).collect();
        let assign = self.totals.iter().zip(values).map(|(total, e)| Stmt::Assign(*total, e)).collect();
        Stmt::If(self.joins(), store, assign)
    }

    /// Returns the tile (i64) that team number `side` of the block takes in its pass number `step` (both i32).
    pub fn tile(&self, step: Expr, side: Expr) -> Expr {
        let pair = self.index_in_group.clone().plus(step.times(self.blocks_per_group.clone()));
        self.base.clone().plus(to_i64(pair.times(int32(TEAMS as i32)).plus(side)))
    }
}

/// `x == 0`
pub fn is_zero(x: &Expr) -> Expr {
    Expr::binary(BinaryOp::Eq, x.clone(), int32(0))
}

/// Writes the whole kernel around `work`, which computes this block's tiles and stores their results by
/// [`ReductionBlock::keep`].
pub fn complete(
    l: &mut Lower,
    reductions: &[Reduction],
    scalars: &[u32],
    b: ReductionBlock,
    work: Vec<Stmt>,
    out: &mut Vec<Stmt>,
) -> Result<()> {
    let done = l.k.reg("done", Ty::Bool);
    let none = Expr::binary(BinaryOp::Eq, b.count.clone(), Expr::int(0));
    let leader = is_zero(&Expr::Place(Gpu::Block));
    out.push(Stmt::Var(done, Expr::binary(BinaryOp::And, none, leader)));
    let totals = &b.totals;
    let flag = l.k.share("last", Ty::Bool, 2);

    let mut body = Vec::new();
    let group = b.group.clone();
    let groups = bind(l, "groups", tiles(b.count.clone()), &mut body);
    let base = b.base.clone();
    let end = bind(l, "end", base.clone().plus(Expr::int(TILE)).min(b.count.clone()), &mut body);
    let members = Expr::Cast(Ty::I32, Box::new(end.clone().minus(base.clone())));
    let pairs = members.plus(int32(TEAMS as i32 - 1));
    let pairs = Expr::binary(BinaryOp::Shr, pairs, int32(TEAMS.trailing_zeros() as i32));
    let blocks = pairs.min(b.blocks_per_group.clone());
    // after this barrier the stores of all threads are visible to thread 0, which arrives for the block
    body.push(Stmt::Barrier);
    let is_alone = Expr::binary(BinaryOp::Eq, blocks.clone(), int32(1));
    let last = arrive(l, (flag, 0), (group.clone(), blocks), Some(is_alone), &mut body);

    let reduce = UpperLevels { reductions, column: &b.column, shared: &b.shared, totals };
    let mut upper = reduce.tile(l, &base, &end)?;
    let finished = Stmt::Assign(done, Expr::Lit(Lit::bool(true)));
    let mut several = Vec::new();
    // in scratch, the results of groups lie behind those of tiles
    let aligned = Expr::binary(BinaryOp::And, b.count.clone().plus(Expr::int(3)), Expr::int(!3));
    let behind = bind(l, "behind", aligned, &mut several);
    several.push(reduce.store(behind.clone().plus(group)));
    let last_group = arrive(l, (flag, 1), (groups.clone(), groups.clone()), None, &mut several);
    let mut top = reduce.levels(l, &behind, &groups)?;
    top.push(finished.clone());
    several.push(Stmt::If(last_group, top, vec![]));
    let one = Expr::binary(BinaryOp::Eq, groups, Expr::int(1));
    upper.push(Stmt::If(one, vec![finished.clone()], several));
    body.push(Stmt::If(last, upper, vec![]));
    let mut all = work;
    all.push(Stmt::If(b.joins(), body, vec![finished]));
    let some = Expr::binary(BinaryOp::Lt, b.tile(int32(0), int32(0)), b.count.clone());
    out.push(Stmt::If(some, all, vec![]));

    l.k.once = true;
    let mut epilogue = Vec::new();
    let mut known: Vec<(NodeId, Expr)> = Vec::new();
    for (r, totals) in reductions.iter().zip(totals_of(reductions, &read(totals))) {
        let some = Expr::binary(BinaryOp::Gt, b.count.clone(), Expr::int(0));
        known.append(&mut values::join_initial(l, r, &Surroundings::NONE, some, totals, &mut epilogue)?);
    }
    values::store(l, &known, scalars, &mut epilogue)?;
    let mine = Expr::binary(BinaryOp::And, Expr::Reg(done), is_zero(&thread()));
    out.push(Stmt::If(mine, epilogue, vec![]));
    Ok(())
}

/// Lets thread 0 arrive at a counter for its block, unless `is_alone` says that there is no other block. Returns the
/// condition that the block is the last of `of` blocks to arrive, which all threads read from shared memory.
pub fn arrive(
    l: &mut Lower,
    (flag, at): (Mem, i32),
    (counter, of): (Expr, Expr),
    is_alone: Option<Expr>,
    out: &mut Vec<Stmt>,
) -> Expr {
    let here = l.k.reg("here", Ty::Bool);
    let mut arrival = vec![Stmt::Arrive(here, counter, of)];
    let mut is_last = here;
    if let Some(is_alone) = is_alone {
        is_last = l.k.reg("last", Ty::Bool);
        arrival.push(Stmt::Assign(is_last, Expr::Reg(here)));
        let other = Expr::Unary(UnaryOp::Not, Box::new(is_alone));
        arrival = vec![Stmt::Var(is_last, Expr::Lit(Lit::bool(true))), Stmt::If(other, arrival, vec![])];
    }
    arrival.push(Stmt::Store(flag, int32(at), Expr::Reg(is_last)));
    out.push(Stmt::If(is_zero(&thread()), arrival, vec![]));
    out.push(Stmt::Barrier);
    bind(l, "complete", Expr::load(flag, int32(at)), out)
}

/// The reduction of upper levels by one block.
pub struct UpperLevels<'a> {
    pub reductions: &'a [Reduction],
    pub column: &'a Column,
    /// Shared memory for the values of four warps, for each accumulator.
    pub shared: &'a [Mem],
    /// The registers of thread 0 for the results, for each accumulator.
    pub totals: &'a [Reg],
}

impl UpperLevels<'_> {
    /// Reduces the values `base .. end` of scratch, at most 2048, into thread 0's `totals`.
    fn tile(&self, l: &mut Lower, base: &Expr, end: &Expr) -> Result<Vec<Stmt>> {
        let (mut out, mut columns, mut joins) = (Vec::new(), Vec::new(), Vec::new());
        let c = self.column;
        let width = bind(l, "width", end.clone().minus(base.clone()), &mut out);
        let warp = warp_number();
        let each = by_reduction(self.reductions, self.shared).zip(by_reduction(self.reductions, self.totals));
        for ((r, shared), (_, totals)) in each {
            let width = width_of(l, r, &width);
            let acc = variables(l, r, &mut columns);
            StoredValues { memory: &r.scratch, base, end }.column(l, r, c, &acc, &mut columns)?;
            let values = c.join_warp(l, r, read(&acc), width.as_ref(), &mut columns)?;
            let store = shared.iter().zip(values).map(|(m, e)| Stmt::Store(*m, warp.clone(), e)).collect();
            columns.push(Stmt::If(is_zero(&c.lane), store, vec![]));
            let values = join_warps(l, r, shared, &int32(0), width.as_ref(), &mut joins)?;
            joins.extend(totals.iter().zip(values).map(|(total, e)| Stmt::Assign(*total, e)));
        }
        let is_present = Expr::binary(BinaryOp::Lt, thread(), int32(COLUMNS as i32));
        out.push(Stmt::If(is_present, columns, vec![]));
        out.push(Stmt::Barrier);
        out.push(Stmt::If(is_zero(&thread()), joins, vec![]));
        Ok(out)
    }

    /// Returns the statement by which thread 0 stores its totals.
    fn store(&self, at: Expr) -> Stmt {
        let each = self.reductions.iter().flat_map(|r| &r.scratch).zip(self.totals);
        let store = each.map(|(m, v)| Stmt::Store(*m, at.clone(), Expr::Reg(*v))).collect();
        Stmt::If(is_zero(&thread()), store, vec![])
    }

    /// Reduces `m` values of scratch from `behind` on into `totals`, level by level, in place: the result of tile t
    /// overwrites value t, which no later tile reads. One level suffices up to 2^33 elements.
    pub fn levels(&self, l: &mut Lower, behind: &Expr, m: &Expr) -> Result<Vec<Stmt>> {
        let left = l.k.reg("left", Ty::I64);
        let t = l.k.reg("t", Ty::I64);
        let mut level = Vec::new();
        let next_count = bind(l, "up", tiles(Expr::Reg(left)), &mut level);
        let mut tile = Vec::new();
        let base = bind(l, "base", behind.clone().plus(Expr::Reg(t).times(Expr::int(TILE))), &mut tile);
        let end = base.clone().plus(Expr::int(TILE)).min(behind.clone().plus(Expr::Reg(left)));
        let end = bind(l, "end", end, &mut tile);
        tile.append(&mut self.tile(l, &base, &end)?);
        tile.push(self.store(behind.clone().plus(Expr::Reg(t))));
        // after this barrier all threads see thread 0's store, and the warps' shared memory may be written again
        tile.push(Stmt::Barrier);
        level.push(Stmt::Seq(t, Expr::int(0), next_count.clone(), tile));
        level.push(Stmt::Assign(left, next_count));
        let more = Expr::binary(BinaryOp::Gt, Expr::Reg(left), Expr::int(1));
        Ok(vec![Stmt::Var(left, m.clone()), Stmt::While(more, level)])
    }
}

/// Threads of a block: two teams.
pub const THREADS: u32 = 256;

pub const TEAMS: i64 = THREADS as i64 / COLUMNS;
