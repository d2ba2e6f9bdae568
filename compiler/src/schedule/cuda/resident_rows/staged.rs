//! Rows in shared memory: a block copies its row there by asynchronous copies of 16 bytes, whatever the row's
//! alignment. Its warps take one *unit* of the row after another: 32 neighbouring columns of a tile of 2048 elements
//! (semantics 5.1), one for each lane. A lane has 16 elements of a unit in registers at a time.
//!
//! ```text
//! memory   . . . r r r r | r r r r | .. | r r . .        shared   - - - r r r r | r r r r | .. | r r - -
//!                by element  by 16 bytes   by element              the same distance from a multiple of 16 bytes
//! for each stage:  for each unit of this warp: its elements -> columns -> lanes -> the unit's total
//!                  every warp joins the units' totals
//! ```
//!
//! A value that a stage computes of each element, and later stages need, overwrites elements that these do not read.
//! The cost is one pass over the row and over the results. This serves rows that are not aligned to 16 bytes, and
//! rows that are too long for the registers of a block, which must hold accumulators and addresses as well.

use super::cluster::TILE_ROWS;
use super::groups;
use super::mapping::{Group, ResidentRowsParams};
use super::row::Row;
use super::span::{Place, Span, StagedArray};
use crate::core::{COLUMNS, NodeId, TILE};
use crate::error::Result;
use crate::kernel::{COPY_BYTES, Expr, Gpu, Mem, Reg, Stmt, WARP};
use crate::plan::gpu::Grid;
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cuda::access;
use crate::schedule::cuda::expressions::{int32, offset, shifted, thread, to_i64};
use crate::schedule::cuda::levels::is_zero;
use crate::schedule::cuda::resident_segments;
use crate::schedule::cuda::segments::{Exchange, join_columns, lane};
use crate::schedule::element::lower::{LaunchContext, Lower, bind};
use crate::schedule::element::reduction::Reduction;
use crate::schedule::facts::segments::neighbours;
use crate::schedule::facts::{ResidentSegments, RowArray, RowValue, Stage};

/// The units of a tile.
const UNITS_OF_TILE: i64 = COLUMNS / WARP as i64;
/// The bytes of shared memory of a multiprocessor that the levels assume, and the bytes that the hardware reserves
/// for each block. On devices with less, fewer blocks are resident, and the levels for long rows do not run.
const SHARED: i64 = 228 << 10;
const RESERVED: i64 = 1 << 10;
/// The number of resident warps of a multiprocessor. With more, a thread would have too few registers for a unit.
const WARPS: i64 = 24;
/// The maximum number of resident blocks of a multiprocessor.
const MAX_BLOCKS: i64 = 5;
/// The bytes of shared memory that a block needs before and after its rows, because they keep the alignment that they
/// have in their arrays.
const MARGIN: i64 = 256;

/// How a row in shared memory is mapped to a block.
#[derive(Clone, Copy)]
pub struct StagedRowsParams {
    /// The number of tiles of the longest row that fits.
    pub tiles: i64,
    /// The warps of a block.
    pub warps: u32,
    /// The number of resident blocks of a multiprocessor.
    pub resident_blocks: u32,
}

impl StagedRowsParams {
    /// Returns the mappings of rows, those for the shortest rows first. `of_element` are the bytes of an element in
    /// all arrays in shared memory, `of_unit` those of the accumulators of a unit.
    pub fn levels(of_element: i64, of_unit: i64) -> impl Iterator<Item = StagedRowsParams> {
        let with_tiles = move |resident_blocks: i64, tiles: i64| {
            let units = tiles * UNITS_OF_TILE;
            let rounds = (units - 1) / (WARPS / resident_blocks) + 1;
            let warps = ((units + rounds - 1) / rounds) as u32;
            StagedRowsParams { tiles, warps, resident_blocks: resident_blocks as u32 }
        };
        (1..=MAX_BLOCKS).rev().filter_map(move |blocks| {
            let all = (1..).map(|tiles| with_tiles(blocks, tiles));
            all.take_while(|p| p.shared(of_element, of_unit) <= SHARED / blocks - RESERVED).last()
        })
    }

    /// Returns an upper bound of a block's bytes of shared memory.
    fn shared(&self, of_element: i64, of_unit: i64) -> i64 {
        let units = self.units_of_lane() * i64::from(WARP);
        self.tiles * TILE * of_element + units * of_unit + MARGIN
    }

    /// Returns the length of the longest row that fits.
    pub fn longest(&self) -> u32 {
        (self.tiles * TILE) as u32
    }

    /// Returns the number of threads of a block.
    pub fn threads(&self) -> u32 {
        self.warps * WARP
    }

    /// Returns the grid: a row for each block.
    pub fn grid(&self) -> Grid {
        Grid::Segments(1)
    }

    /// Returns how the elements of a unit are mapped to lanes.
    fn of_unit(&self) -> ResidentRowsParams {
        ResidentRowsParams::of_warps(TILE_ROWS, 1, self.warps)
    }

    fn units(&self) -> i64 {
        self.tiles * UNITS_OF_TILE
    }

    /// Returns the number of units' totals that a lane joins, when a warp joins those of all units.
    fn units_of_lane(&self) -> i64 {
        (self.units() as u64).div_ceil(WARP.into()).next_power_of_two() as i64
    }
}

/// Returns the arrays whose rows lie in shared memory, each with the row's indices: those whose rows differ.
pub fn staged_arrays(l: &mut LaunchContext, rows: &ResidentSegments) -> Vec<(NodeId, Vec<NodeId>)> {
    let stages = 0..rows.stages.len();
    let roots: Vec<NodeId> = stages.flat_map(|stage| resident_segments::roots(l, rows, stage)).collect();
    let mut all = neighbours(l, &roots, rows.element);
    all.retain(|(_, outer)| outer.iter().any(|n| !l.g.is_closed(*n)));
    all
}

/// Returns the bytes that the accumulators of all reductions take for one unit.
pub fn bytes_of_accumulators(l: &LaunchContext, rows: &ResidentSegments) -> i64 {
    let reductions = rows.stages.iter().flat_map(|s| match s {
        Stage::Reduce { reductions, .. } => reductions.as_slice(),
        Stage::Store { .. } => &[],
    });
    let nodes: Vec<NodeId> = reductions.copied().collect();
    let all = Reduction::all_nested(l, &nodes);
    all.iter().flat_map(|r| &r.types).map(|ty| ty.size() as i64).sum()
}

/// Notes which values have replaced elements in shared memory.
fn keep(staged: &mut [StagedArray], replaced: Vec<(usize, NodeId)>) {
    for (at, node) in replaced {
        staged[at].kept = Some(node);
    }
}

/// A block's parameters, and the position of a thread in it.
struct Block<'a> {
    p: &'a StagedRowsParams,
    of_unit: &'a ResidentRowsParams,
    lane: Expr,
    warp: Expr,
    /// The number of stages.
    stages: usize,
    /// The length of a row, and its number of units.
    length: Expr,
    units: Expr,
}

/// Writes the kernel body: copies of the row into shared memory, then one stage after another.
pub fn main(l: &mut Lower, rows: &ResidentSegments, p: &StagedRowsParams) -> Result<Vec<Stmt>> {
    l.k.kernel.min_resident_blocks = p.resident_blocks;
    let (mut out, of_unit) = (Vec::new(), p.of_unit());
    let (n, length) = (l.launch.count(), l.launch.host(rows.length));
    let lane = lane(l, WARP, &mut out);
    let warp = bind(l, "warp", shifted(thread(), WARP.into()), &mut out);
    let number = to_i64(Expr::Place(Gpu::Block));
    let mut row = Row::begin(l, rows, &of_unit, (number, &n), (&lane, &warp), &mut out)?.existing();
    let tiles =
        Expr::binary(BinaryOp::Shr, length.clone().plus(Expr::int(TILE - 1)), Expr::int(TILE.ilog2().into()));
    let units = bind(l, "units", tiles.times(Expr::int(UNITS_OF_TILE)), &mut out);
    let b = Block { p, of_unit: &of_unit, stages: rows.stages.len(), lane, warp, length, units };
    let mut staged = Vec::new();
    for (x, outer) in staged_arrays(l.launch, rows) {
        staged.push(b.copy(l, &row, x, outer, &mut out)?);
    }
    out.extend([Stmt::CopyGroup, Stmt::CopyWait(0), Stmt::Barrier]);
    for stage in 0..rows.stages.len() {
        match &rows.stages[stage] {
            Stage::Reduce { reductions, values } => {
                b.reduce(l, &mut row, stage, (reductions, values), &mut staged, &mut out)?;
            }
            Stage::Store { arrays } => b.store(l, &mut row, stage, arrays, &mut staged, &mut out)?,
        }
    }
    Ok(out)
}

impl Block<'_> {
    /// Copies the block's row of an array into shared memory.
    fn copy(
        &self,
        l: &mut Lower,
        row: &Row,
        x: NodeId,
        outer: Vec<NodeId>,
        out: &mut Vec<Stmt>,
    ) -> Result<StagedArray> {
        let (from, ty) = (l.launch.input(x), l.launch.g.ty(x).elem);
        // rows are contiguous, so the array's alignment determines that of each row
        if let Mem::Array(array) = from {
            l.k.dense.insert(array);
        }
        l.k.vector(from);
        let start = row.address(l, from, &outer, Expr::int(0), out)?;
        let span = Span::of(l, ty, start, &self.length, out);
        let shared = l.k.share("row", ty, (self.p.tiles * TILE + span.chunk) as u32);
        span.each_chunk(l, self.p.threads(), out, |_, at, index, out| {
            out.push(Stmt::CopyAsync { bytes: COPY_BYTES as u32, to: shared, at, from, index, given: None });
        });
        span.each_other(l, out, |at, index| Stmt::Store(shared, at, Expr::load(from, index)));
        Ok(StagedArray { x, outer, shared, span, kept: None })
    }

    /// Computes and stores the arrays of a stage. In the last stage, a row of results first overwrites a row of its
    /// type in shared memory, if one is left, and is then copied to its array by chunks of 16 bytes.
    fn store(
        &self,
        l: &mut Lower,
        row: &mut Row,
        stage: usize,
        arrays: &[RowArray],
        staged: &mut [StagedArray],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let is_last = stage + 1 == self.stages;
        let ty = |l: &Lower, n: NodeId| l.launch.g.ty(n).elem;
        let mut places: Vec<Place> = Vec::new();
        for array in arrays {
            let is_free = |a: &&StagedArray| {
                let is_taken = places.iter().flatten().any(|(shared, _)| *shared == a.shared);
                is_last && !is_taken && ty(l, a.x) == ty(l, array.computed)
            };
            places.push(staged.iter().find(is_free).map(|a| (a.shared, a.span.clone())));
        }
        let replaced = row.replaced(l, stage, staged);
        self.units(l, out, |l, _, groups, out| {
            row.in_unit(l, stage, groups, (&*staged, &replaced), out, |row, l, out| {
                row.store(l, stage, arrays, (groups, &places), out)
            })
        })?;
        keep(staged, replaced);
        if places.iter().any(Option::is_some) {
            out.push(Stmt::Barrier);
        }
        for (array, place) in arrays.iter().zip(places) {
            if let Some((shared, span)) = place {
                self.copy_back(l, row, array, (shared, &span), out);
            }
        }
        Ok(())
    }

    /// Copies a row of results from shared memory to its array: by chunks if both are aligned alike, else by element.
    fn copy_back(
        &self,
        l: &mut Lower,
        row: &Row,
        array: &RowArray,
        (shared, span): (Mem, &Span),
        out: &mut Vec<Stmt>,
    ) {
        let (to, ty) = (l.launch.output(&array.item), l.launch.g.ty(array.computed).elem);
        if let Mem::Array(array) = to {
            l.k.dense.insert(array);
        }
        l.k.vector(to);
        let start = l.place_at(to, &row.first());
        let stored = Span::of(l, ty, start, &self.length, out);
        let (mut alike, mut apart, threads) = (Vec::new(), Vec::new(), self.p.threads());
        stored.each_chunk(l, threads, &mut alike, |l, at, index, out| {
            let regs: Vec<Reg> = (0..span.chunk).map(|_| l.k.reg("r", ty)).collect();
            access::load(l, shared, regs.clone(), at, out);
            access::store(l, to, regs.into_iter().map(Expr::Reg).collect(), index, out);
        });
        stored.each_other(l, &mut alike, |at, index| Stmt::Store(to, index, Expr::load(shared, at)));
        let one = |at, index| Stmt::Store(to, index, Expr::load(shared, at));
        stored.each_element(l, (threads, span), &mut apart, one);
        out.push(Stmt::If(stored.is_like(span), alike, apart));
    }

    /// Writes a loop over the units of this warp. `code` writes its body, given the unit's number and elements. It is
    /// called twice: for units of whole tiles, where no element has to be tested, and for units of the last, partial
    /// tile.
    fn units(
        &self,
        l: &mut Lower,
        out: &mut Vec<Stmt>,
        mut code: impl FnMut(&mut Lower, &Expr, &[Group], &mut Vec<Stmt>) -> Result<()>,
    ) -> Result<()> {
        let rounds = (self.p.units() as u64).div_ceil(self.p.warps.into());
        let i = l.k.reg("i", Ty::I64);
        let mut body = Vec::new();
        let unit = to_i64(self.warp.clone()).plus(Expr::Reg(i).times(Expr::int(self.p.warps.into())));
        let unit = bind(l, "unit", unit, &mut body);
        let is_present = Expr::binary(BinaryOp::Lt, unit.clone(), self.units.clone());
        let mut of_unit = Vec::new();
        let shift = Expr::int(UNITS_OF_TILE.ilog2().into());
        let tile = Expr::binary(BinaryOp::Shr, unit.clone(), shift).times(Expr::int(TILE));
        let tile = bind(l, "tile", tile, &mut of_unit);
        let part = Expr::binary(BinaryOp::And, unit.clone(), Expr::int(UNITS_OF_TILE - 1));
        let base = tile.clone().plus(part.times(Expr::int(WARP.into())));
        let (mut whole, mut some) = (Vec::new(), Vec::new());
        let groups_of_whole = self.whole(l, &base, &mut whole);
        code(l, &unit, &groups_of_whole, &mut whole)?;
        let groups = groups(l, self.of_unit, (&base, &self.lane, &self.length), &mut some);
        code(l, &unit, &groups, &mut some)?;
        let is_whole = Expr::binary(BinaryOp::Le, tile.plus(Expr::int(TILE)), self.length.clone());
        of_unit.push(Stmt::If(is_whole, whole, some));
        // the condition is uniform in a warp, because all its lanes have the same unit
        body.push(Stmt::If(is_present, of_unit, vec![]));
        out.push(Stmt::Seq(i, Expr::int(0), Expr::int(rounds as i64), body));
        Ok(())
    }

    /// Returns this lane's elements in a unit of a whole tile, whose first element has the index `base` in the row.
    fn whole(&self, l: &mut Lower, base: &Expr, out: &mut Vec<Stmt>) -> Vec<Group> {
        let start = bind(l, "first", base.clone().plus(to_i64(self.lane.clone())), out);
        l.k.kernel.in_space.push(start.clone());
        let group = |row: i64| {
            let offset = row * COLUMNS;
            let at = bind(l, "k", start.clone().plus(Expr::int(offset)), out);
            let (_, node) = l.launch.g.fresh_var(Ty::I64);
            let is_present = Expr::Lit(Lit::bool(true));
            Group {
                indices: vec![node],
                start: start.clone(),
                offset,
                first: (node, at),
                is_present,
                column: 0,
            }
        };
        (0..TILE_ROWS).map(group).collect()
    }

    /// Computes the reductions of a stage, and the values that follow from them: warps store the totals of units in
    /// shared memory, and after a barrier every warp joins all of them.
    fn reduce(
        &self,
        l: &mut Lower,
        row: &mut Row,
        stage: usize,
        (nodes, values): (&[NodeId], &[RowValue]),
        staged: &mut [StagedArray],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let reductions = Reduction::all_nested(l.launch, nodes);
        let of_lane = self.p.units_of_lane();
        let words = of_lane as u32 * WARP;
        let totals: Vec<Vec<Mem>> =
            reductions.iter().map(|r| r.each().map(|r| l.k.share("totals", r.ty, words)).collect()).collect();
        self.absent(l, &reductions, &totals, out);
        let replaced = row.replaced(l, stage, staged);
        self.units(l, out, |l, unit, groups, out| {
            row.in_unit(l, stage, groups, (&*staged, &replaced), out, |row, l, out| {
                let columns = row.columns_of(l, stage, &reductions, groups, out)?;
                for ((r, columns), totals) in reductions.iter().zip(&columns).zip(&totals) {
                    let layout = (1, WARP);
                    let all = join_columns(l, r, (&[columns], None), layout, Exchange::Down, out)?.remove(0);
                    let stores = totals.iter().zip(all).map(|(m, e)| Stmt::Store(*m, unit.clone(), e));
                    out.push(Stmt::If(is_zero(&self.lane), stores.collect(), vec![]));
                }
                Ok(())
            })
        })?;
        keep(staged, replaced);
        out.push(Stmt::Barrier);
        let first = bind(l, "first", self.lane.clone().times(int32(of_lane as i32)), out);
        for (r, totals) in reductions.iter().zip(&totals) {
            let mut load = |m: &Mem| -> Vec<Reg> {
                let regs: Vec<Reg> = (0..of_lane).map(|_| l.k.reg("total", l.k.kernel.mem(*m).1)).collect();
                for (q, reg) in (0..).zip(&regs) {
                    let value = Expr::load(*m, offset(first.clone(), q));
                    out.push(Stmt::Let(*reg, value, Default::default()));
                }
                regs
            };
            let units: Vec<Vec<Reg>> = totals.iter().map(&mut load).collect();
            let layout = (of_lane, WARP);
            let exchange = Exchange::Pairs(&self.lane);
            let total = join_columns(l, r, (&[&units], None), layout, exchange, out)?.remove(0);
            row.join_initial(l, r, r.totals(&total), out)?;
        }
        row.values(l, values, out)
    }

    /// Fills the totals of units beyond the row with the identity values of the reductions.
    fn absent(&self, l: &Lower, reductions: &[Reduction], totals: &[Vec<Mem>], out: &mut Vec<Stmt>) {
        let units = self.p.units_of_lane() * i64::from(WARP);
        let threads = i64::from(self.p.threads());
        for first in (0..units).step_by(threads as usize) {
            let at = offset(thread(), first);
            let mut stores = Vec::new();
            for (r, totals) in reductions.iter().zip(totals) {
                let values = totals.iter().zip(r.absent(l.launch));
                stores.extend(values.map(|(m, e)| Stmt::Store(*m, at.clone(), e)));
            }
            let is_absent = Expr::binary(BinaryOp::Ge, to_i64(at.clone()), self.units.clone());
            let is_there = Expr::binary(BinaryOp::Lt, at, int32(units as i32));
            out.push(Stmt::If(Expr::binary(BinaryOp::And, is_absent, is_there), stores, vec![]));
        }
    }
}
