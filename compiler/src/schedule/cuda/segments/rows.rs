//! Segmented reduction of rows: segments whose elements are neighbours in memory. The cost is one pass over memory.
//!
//! | segments | mapping |
//! |---|---|
//! | up to 64 elements | 8 or 16 lanes reduce a segment |
//! | up to 256 | a warp reduces four together, to have enough loads in flight; lane u stores the u-th result |
//! | up to 2048 | a warp reduces a segment |
//! | longer | a warp reduces a tile of 2048 elements; a block takes 8 `span` tiles of one segment |
//! | up to 32 tiles, with counts | a warp reduces all tiles of a segment, and lane t keeps the result of tile t |
//!
//! In the fourth mapping, if a segment has up to 8 tiles, one block has all of them and joins their results through
//! shared memory. Else results are stored to scratch, and the last block of the segment to arrive joins them. The
//! last mapping is for reductions that count elements (semantics 5.12), if there are many segments: it keeps loads of
//! more segments in flight.

use super::job::{Job, SegmentMapping};
use super::lanes::{Exchange, join_lanes, lane, pairs};
use super::warp::{COLUMNS_PER_LANE, Tile};
use crate::core::{COLUMNS, TILE};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Mem, Reg, Stmt, WARP};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cuda::expressions::{int32, thread, to_i64, warp_number};
use crate::schedule::cuda::levels::{UpperLevels, arrive, is_zero};
use crate::schedule::cuda::tree::Column;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::nested_loop::read;
use crate::schedule::element::reduction::{by_reduction, each_accumulator, tiles, totals_of};

/// Threads of a block.
pub const THREADS: u32 = 256;
/// Warps of a block.
pub const WARPS: u32 = THREADS / WARP;
/// The maximum number of tiles of a long segment that a warp takes.
pub const MAX_SPAN: u32 = 8;

pub(super) fn main(l: &mut Lower, job: &Job, mapping: SegmentMapping) -> Result<Vec<Stmt>> {
    let length = l.launch.host(job.s.length);
    let mut out = Vec::new();
    let warp = bind(l, "warp", warp_number(), &mut out);
    match mapping {
        SegmentMapping::Warp { lanes, columns, segments } => {
            whole_segments(l, job, (lanes, columns), segments, &mut out)?;
        }
        SegmentMapping::TilesOfWarp => tiles_of_warp(l, job, length, warp, &mut out)?,
        _ => segment_tiles(l, job, length, warp, &mut out)?,
    }
    Ok(out)
}

/// Writes the kernel body in which `lanes` lanes reduce `per_lanes` whole segments together. The segments of a warp
/// are neighbours.
fn whole_segments(
    l: &mut Lower,
    job: &Job,
    (lanes, columns): (u32, i64),
    per_lanes: i64,
    out: &mut Vec<Stmt>,
) -> Result<()> {
    let (n, length) = (l.launch.count(), l.launch.host(job.s.length));
    let groups_per_warp = i64::from(WARP / lanes);
    let lane = lane(l, lanes, out);
    let in_warp = Expr::binary(BinaryOp::And, thread(), int32(WARP as i32 - 1));
    let in_warp = bind(l, "mine", in_warp, out);
    let warp = warp_number();
    let first_warp = to_i64(Expr::Place(Gpu::Block)).times(Expr::int(i64::from(WARPS)));
    let begin =
        bind(l, "begin", first_warp.plus(to_i64(warp)).times(Expr::int(per_lanes * groups_per_warp)), out);
    let group = Expr::binary(BinaryOp::Shr, in_warp.clone(), int32(lanes.trailing_zeros() as i32));
    let mine = bind(l, "segment", begin.clone().plus(to_i64(group)), out);
    let last = n.clone().minus(Expr::int(1));
    let (segments, parts) = job.segments_apart(l, (&mine, &last), (per_lanes, groups_per_warp), out);
    let base = Expr::int(0);
    let tile = Tile {
        job,
        segments: &segments,
        known: &[],
        parts: &parts,
        base,
        count: length,
        lanes,
        columns,
        lane: lane.clone(),
        is_of_long_segment: false,
    };
    let values = tile.reduce(l, out)?;
    if lanes < WARP {
        for (u, totals) in (0..per_lanes).zip(&values) {
            let row = bind(l, "mine", mine.clone().plus(Expr::int(u * groups_per_warp)), out);
            let mut body = Vec::new();
            let totals: Vec<Vec<Expr>> =
                job.reductions.iter().zip(totals).map(|(r, of)| r.totals(of)).collect();
            job.store(l, &row, &totals, &mut body)?;
            let is_present = Expr::binary(BinaryOp::Lt, row, n.clone());
            out.push(Stmt::If(Expr::binary(BinaryOp::And, is_zero(&lane), is_present), body, vec![]));
        }
        return Ok(());
    }
    // lane u computes and stores the results of segment u
    let mut totals: Vec<Vec<Expr>> = Vec::new();
    for (at, r) in job.reductions.iter().enumerate() {
        let mut total: Option<Vec<Expr>> = None;
        for (u, per_reduction) in values.iter().enumerate() {
            let values = r.totals(&per_reduction[at]).into_iter();
            let values: Vec<Expr> =
                values.map(|e| bind(l, "value", Expr::Broadcast(Box::new(e)), out)).collect();
            let Some(before) = total else {
                total = Some(values);
                continue;
            };
            let mine = Expr::binary(BinaryOp::Eq, lane.clone(), int32(u as i32));
            let choose = |(value, before)| bind(l, "value", mine.clone().select(value, before), out);
            total = Some(values.into_iter().zip(before).map(choose).collect());
        }
        totals.extend(total);
    }
    let row = bind(l, "mine", begin.plus(to_i64(lane.clone())), out);
    let mut body = Vec::new();
    job.store(l, &row, &totals, &mut body)?;
    let leads = Expr::binary(BinaryOp::Lt, lane, int32(per_lanes as i32));
    let is_present = Expr::binary(BinaryOp::Lt, row, n);
    out.push(Stmt::If(Expr::binary(BinaryOp::And, leads, is_present), body, vec![]));
    Ok(())
}

/// Writes the kernel body in which each warp reduces all tiles of one segment, of which there are at most 32.
fn tiles_of_warp(l: &mut Lower, job: &Job, length: Expr, warp: Expr, out: &mut Vec<Stmt>) -> Result<()> {
    let lane = lane(l, WARP, out);
    let count = bind(l, "tiles", tiles(length.clone()), out);
    let first = to_i64(Expr::Place(Gpu::Block)).times(Expr::int(WARPS.into()));
    let segment = bind(l, "segment", first.plus(to_i64(warp)), out);
    let mut own: Vec<Vec<Reg>> = Vec::new();
    for r in &job.reductions {
        let (regs, absent) = (r.registers(l, "own"), r.absent(l.launch));
        out.extend(regs.iter().zip(absent).map(|(reg, absent)| Stmt::Var(*reg, absent)));
        own.push(regs);
    }
    let t = l.k.reg("t", Ty::I64);
    let mut body = Vec::new();
    let base = bind(l, "base", Expr::Reg(t).times(Expr::int(TILE)), &mut body);
    let rest = bind(l, "rest", length.minus(base.clone()).min(Expr::int(TILE)), &mut body);
    let segments = [segment.clone()];
    let parts = [job.segment(l, &segment, out)];
    let is_of_long_segment = true;
    let tile = Tile {
        job,
        segments: &segments,
        known: &[],
        parts: &parts,
        base,
        count: rest,
        lanes: WARP,
        columns: COLUMNS_PER_LANE,
        lane: lane.clone(),
        is_of_long_segment,
    };
    let values = tile.reduce(l, &mut body)?.remove(0).concat();
    let is_mine = Expr::binary(BinaryOp::Eq, to_i64(lane.clone()), Expr::Reg(t));
    let is_mine = bind(l, "mine", is_mine, &mut body);
    for (reg, value) in own.iter().flatten().zip(values) {
        let value = bind(l, "tile", Expr::Broadcast(Box::new(value)), &mut body);
        body.push(Stmt::Assign(*reg, is_mine.clone().select(value, Expr::Reg(*reg))));
    }
    let mut work = vec![Stmt::Seq(t, Expr::int(0), count, body)];
    let mut totals = Vec::new();
    for (r, own) in job.reductions.iter().zip(&own) {
        let joined = join_lanes(l, r, vec![read(own)], (1, WARP), &Exchange::Down, &mut work)?.remove(0);
        totals.push(r.totals(&joined));
    }
    let mut store = Vec::new();
    job.store(l, &segment, &totals, &mut store)?;
    work.push(Stmt::If(is_zero(&lane), store, vec![]));
    out.push(Stmt::If(Expr::binary(BinaryOp::Lt, segment, l.launch.count()), work, vec![]));
    Ok(())
}

/// Writes the kernel body in which each block reduces some tiles of one segment.
fn segment_tiles(l: &mut Lower, job: &Job, length: Expr, warp: Expr, out: &mut Vec<Stmt>) -> Result<()> {
    let lane = lane(l, WARP, out);
    let count = bind(l, "tiles", tiles(length.clone()), out);
    let tiles_per_block = bind(l, "share", Expr::Place(Gpu::Span).times(int32(WARPS as i32)), out);
    let count32 = Expr::Cast(Ty::I32, Box::new(count.clone()));
    let rounded_up = count32.plus(tiles_per_block.clone()).minus(int32(1));
    let blocks = Expr::binary(BinaryOp::Div, rounded_up, tiles_per_block.clone());
    let blocks = bind(l, "blocks", Expr::binary(BinaryOp::Max, blocks, int32(1)), out);
    let row = bind(l, "row", Expr::binary(BinaryOp::Div, Expr::Place(Gpu::Block), blocks.clone()), out);
    let chunk = Expr::Place(Gpu::Block).minus(row.clone().times(blocks.clone()));
    let begin = bind(l, "begin", chunk.times(tiles_per_block).plus(warp.clone()), out);
    let segment = bind(l, "segment", to_i64(row), out);
    let results = bind(l, "results", segment.clone().times(count.clone()), out);
    let parts = [job.segment(l, &segment, out)];
    // a segment of at most 8 tiles has a single block, each of whose warps has at most one tile
    let few = Expr::binary(BinaryOp::Le, count.clone(), Expr::int(WARPS.into()));
    let few = bind(l, "few", few, out);
    let totals: Vec<Mem> =
        each_accumulator(&job.reductions).map(|r| l.k.share("tiles", r.ty, WARPS)).collect();
    let mine = bind(l, "mine", to_i64(warp.clone()), out);
    let absent = totals.iter().zip(each_accumulator(&job.reductions));
    let absent = absent.map(|(m, r)| Stmt::Store(*m, mine.clone(), r.absent(l.launch))).collect();
    out.push(Stmt::If(is_zero(&lane), absent, vec![]));
    let s = l.k.reg("s", Ty::I32);
    let mut body = Vec::new();
    let t = begin.plus(Expr::Reg(s).times(int32(WARPS as i32)));
    let t = bind(l, "t", to_i64(t), &mut body);
    let mut work = Vec::new();
    let base = bind(l, "base", t.clone().times(Expr::int(TILE)), &mut work);
    let rest = bind(l, "rest", length.minus(base.clone()).min(Expr::int(TILE)), &mut work);
    let segments = [segment.clone()];
    let tile = Tile {
        job,
        segments: &segments,
        known: &[],
        parts: &parts,
        base,
        count: rest,
        lanes: WARP,
        columns: COLUMNS_PER_LANE,
        lane: lane.clone(),
        is_of_long_segment: true,
    };
    let values = tile.reduce(l, &mut work)?.remove(0).concat();
    let share = totals.iter().zip(&values).map(|(m, v)| Stmt::Store(*m, mine.clone(), v.clone())).collect();
    let scratch = job.reductions.iter().flat_map(|r| &r.scratch);
    let store = scratch.zip(values);
    let store = store.map(|(m, v)| Stmt::Store(*m, results.clone().plus(t.clone()), v)).collect();
    work.push(Stmt::If(is_zero(&lane), vec![Stmt::If(few.clone(), share, store)], vec![]));
    body.push(Stmt::If(Expr::binary(BinaryOp::Lt, t, count.clone()), work, vec![]));
    out.push(Stmt::Seq(s, int32(0), Expr::Place(Gpu::Span), body));
    out.push(Stmt::Barrier);
    let mut joined = Vec::new();
    let mut of_few = Vec::new();
    for (r, of) in by_reduction(&job.reductions, &totals) {
        let mut tiles = Vec::new();
        for w in 0..WARPS {
            let load = |m: &Mem| bind(l, "tile", Expr::load(*m, Expr::int(w.into())), &mut joined);
            tiles.push(of.iter().map(load).collect());
        }
        of_few.push(r.totals(&pairs(l, r, tiles, &mut joined)?));
    }
    job.store(l, &segment, &of_few, &mut joined)?;
    let mut several = Vec::new();
    all_tiles(l, job, (&segment, &results), (&count, to_i64(blocks)), &mut several)?;
    out.push(Stmt::If(few, vec![Stmt::If(is_zero(&thread()), joined, vec![])], several));
    Ok(())
}

/// Lets the last block of a segment to arrive join the results of all its tiles, which lie in scratch, and store the
/// segment's results. This is for segments with more tiles than a block has warps.
fn all_tiles(
    l: &mut Lower,
    job: &Job,
    (segment, results): (&Expr, &Expr),
    (count, blocks): (&Expr, Expr),
    out: &mut Vec<Stmt>,
) -> Result<()> {
    // the barrier before makes the stores of all threads visible to the thread that arrives
    let flag = l.k.share("last", Ty::Bool, 1);
    let last = arrive(l, (flag, 0), (segment.clone(), blocks), None, out);
    let mut epilogue = Vec::new();
    let column = Column::new(l, &mut epilogue);
    let shared: Vec<Mem> =
        each_accumulator(&job.reductions).map(|r| l.k.share("warps", r.ty, COLUMNS as u32 / WARP)).collect();
    let totals: Vec<Reg> = each_accumulator(&job.reductions).map(|r| l.k.reg("total", r.ty)).collect();
    let zeros = totals.iter().zip(each_accumulator(&job.reductions));
    epilogue.extend(zeros.map(|(v, r)| Stmt::Var(*v, Expr::Lit(Lit::zero(r.ty)))));
    let upper =
        UpperLevels { reductions: &job.reductions, column: &column, shared: &shared, totals: &totals };
    epilogue.extend(upper.levels(l, results, count)?);
    let mut store = Vec::new();
    let totals = totals_of(&job.reductions, &read(&totals));
    job.store(l, segment, &totals, &mut store)?;
    epilogue.push(Stmt::If(is_zero(&thread()), store, vec![]));
    out.push(Stmt::If(last, epilogue, vec![]));
    Ok(())
}
