//! The kernel body: a loop whose turns take one input plane each. In a turn, each step of the iteration (a *level*)
//! reads its newest plane: level 0 the input plane, level `k` the plane that level `k - 1` completed in the turn
//! before.

use super::plane_buffers::{Copies, PlaneBuffers, other_end, own_place};
use super::{PlaneStepsParams, RING};
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::boundary::halo::Halo;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::cuda::access;
use crate::schedule::cuda::expressions::{int32, offset, to_i64};
use crate::schedule::cuda::plane_stream::{self, Arrival, Known, Loads, Sources, Stages, StreamPlan, Tile};
use crate::schedule::cuda::register_tiling::placement::{
    self, PlaneTiling, ThreadPosition, lane, plus, warp,
};
use crate::schedule::cuda::thread_layout::ThreadLayout;
use crate::schedule::element::canonical;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::groups::FusedGroup;

/// What all levels have in common.
struct Walk<'a> {
    fused: &'a FusedGroup,
    params: &'a PlaneStepsParams,
    plan: &'a StreamPlan,
    place: &'a ThreadPlace,
    /// The first plane that the block stores, and one past its last.
    own: [Expr; 2],
    levels: Vec<Level<'a>>,
    turn: Reg,
}

/// One step of the iteration.
struct Level<'a> {
    loads: Loads,
    stages: Stages<'a>,
    from: PlaneBuffers,
}

/// The place of a thread in its block and in the volume.
struct ThreadPlace {
    /// The thread's first plane, row and column in the volume. The row may be beyond an edge, the column is not.
    position: ThreadPosition,
    /// The position by which tiles in shared memory are addressed. On an axis that wraps the column may be beyond an
    /// edge, because tiles hold the columns there.
    in_tile: ThreadPosition,
    /// The first row and column of the block, halo included.
    first: [Expr; 2],
    /// The thread's row and column before clamping and wrapping.
    at: [Expr; 2],
}

/// Writes the kernel body.
pub fn main(
    l: &mut Lower,
    fused: &FusedGroup,
    inner: &Interior,
    layout: ThreadLayout,
    params: &PlaneStepsParams,
) -> Result<Vec<Stmt>> {
    (l.k.kernel.threads, l.k.kernel.is_multi_step) = (params.threads(), true);
    l.k.kernel.min_resident_blocks = params.min_resident_blocks();
    let mut out = Vec::new();
    let halo = Halo::of(l.launch, fused, inner).expect("found when the strategy was chosen");
    let [rows, columns] = params.stored();
    let stored = PlaneTiling { block_rows: rows, block_columns: columns, ..params.tiling };
    let parts = plane_stream::parts(l, fused, stored, &mut out);
    let share = parts.planes.clone();
    let around = placement::position_of(l, fused, layout, stored, Some(parts), &mut out);
    let place = place(l, (fused, params), around, &mut out);
    let vars = place.position.vars.clone();
    let index: Vec<NodeId> = vars.iter().map(|v| v.0).collect();
    let plan = StreamPlan::of(l.launch, (&inner.arrays, &index), params.tiling, Arrival::AtOnce)
        .expect("found when the strategy was chosen");
    let first = vars[0].1.clone();
    let end = l.launch.host(fused.domain[0]).min(first.clone().plus(share));
    let end = bind(l, "end", end, &mut out);

    let mut levels = Vec::new();
    for level in 0..params.steps {
        let depth = if level == 0 { RING } else { 2 };
        let from = PlaneBuffers::of(l, params, depth, &mut out);
        let sources = sources(params, &place, &from);
        let elements = (plan.loads(), &sources);
        let loads = Loads::of(l, (fused, &halo), &place.in_tile, params.tiling, elements, &mut out)?;
        let stages = Stages::of(l, &plan, &vars, &mut out);
        levels.push(Level { loads, stages, from });
    }
    let before = plus(first.clone(), params.steps * plan.first);
    let far = params.steps * plan.stages.len() as i64 - 1;
    let count = plus(end.clone().minus(first.clone()), far);
    let count = bind(l, "count", Expr::Cast(Ty::I32, Box::new(count)), &mut out);
    let copies = Copies::of(l, (fused, params), &place.position, &mut out);
    for d in 0..RING - 1 {
        let to = (&plus(before.clone(), d), &int32((d * params.plane_len()) as i32));
        copies.copy(l, &levels[0].from, to, params.tiling, &mut out);
        out.push(Stmt::CopyGroup);
    }
    let turn = l.k.reg("turn", Ty::I32);
    let walk = Walk { fused, params, plan: &plan, place: &place, own: [first, end], levels, turn };
    let mut body = Vec::new();
    let now = bind(l, "plane", before.plus(to_i64(Expr::Reg(turn))), &mut body);
    walk.turn(l, &copies, &now, &mut body)?;
    out.push(Stmt::Seq(turn, int32(0), count, body));
    Ok(out)
}

/// Computes the place of a thread. `around` is the position that it would have if blocks had no halo.
fn place(
    l: &mut Lower,
    (fused, params): (&FusedGroup, &PlaneStepsParams),
    around: ThreadPosition,
    out: &mut Vec<Stmt>,
) -> ThreadPlace {
    let mut shifted = |l: &mut Lower, e: &Expr, axis: usize, name: &'static str| {
        bind(l, name, e.clone().minus(Expr::int(params.halo[axis])), out)
    };
    let first = [(1, "top"), (2, "left")].map(|(a, name)| shifted(l, &around.block[a], a - 1, name));
    let at = [(1, "row"), (2, "column")].map(|(a, name)| shifted(l, &around.vars[a].1, a - 1, name));
    let columns = l.launch.host(fused.domain[2]);
    let column = match params.wrapped[2] {
        true => other_end(at[1].clone(), &columns),
        false => at[1].clone(),
    };
    // the column is clamped such that the thread's whole vector is in bounds
    let last = columns.minus(Expr::int(params.tiling.v));
    let column = Expr::binary(BinaryOp::Max, column.min(last), Expr::int(0));
    let column = bind(l, "there", column, out);
    let with = |row: Expr, column: Expr| {
        let mut vars = around.vars.clone();
        (vars[1].1, vars[2].1) = (row, column);
        ThreadPosition { vars, block: Vec::new() }
    };
    let in_tile = if params.wrapped[2] { at[1].clone() } else { column.clone() };
    ThreadPlace { position: with(at[0].clone(), column), in_tile: with(at[0].clone(), in_tile), first, at }
}

/// Returns where a level loads the states from: its planes in shared memory.
fn sources(params: &PlaneStepsParams, place: &ThreadPlace, from: &PlaneBuffers) -> Sources {
    let extents = [params.tiling.block_rows, params.tiling.block_columns];
    let tile = |((array, _), area): (&(NodeId, usize), &Mem)| {
        let base = Expr::Reg(from.newest);
        (*array, Tile { area: *area, base, first: place.first.clone(), extents })
    };
    let tiles = params.states.iter().zip(&from.buffers).map(tile).collect();
    Sources { wrapped: params.wrapped, tiles }
}

impl Walk<'_> {
    /// Writes one turn, in which input plane `now` is the newest. The last level comes first: each level must read
    /// the plane that the level before completed in the previous turn, before that level overwrites it.
    fn turn(&self, l: &mut Lower, copies: &Copies, now: &Expr, out: &mut Vec<Stmt>) -> Result<()> {
        out.extend([Stmt::CopyWait(RING as u32 - 2), Stmt::Barrier]);
        let ring = &self.levels[0].from;
        let len = self.params.plane_len();
        let slot = |by: i64| {
            let next = offset(Expr::Reg(ring.newest), by * len);
            let is_behind = Expr::binary(BinaryOp::Ge, next.clone(), int32((RING * len) as i32));
            let back = next.clone().minus(int32((RING * len) as i32));
            Expr::Select(Box::new(is_behind), Box::new(back), Box::new(next))
        };
        let behind = self.params.steps * (self.plan.first + self.plan.stages.len() as i64 - 1);
        let mut body = Vec::new();
        let ahead = plus(now.clone(), RING - 1);
        copies.copy(l, ring, (&ahead, &slot(RING - 1)), self.params.tiling, &mut body);
        let is_needed = Expr::binary(BinaryOp::Lt, ahead, plus(self.own[1].clone(), behind));
        out.extend([Stmt::If(is_needed, body, vec![]), Stmt::CopyGroup]);
        for number in (1..self.levels.len()).rev() {
            let done = (self.plan.first + self.plan.stages.len() as i64) * number as i64;
            let done = bind(l, "arrived", plus(now.clone(), -done), out);
            self.later(l, number, &done, out)?;
        }
        self.level(l, 0, now, out)?;
        out.push(Stmt::Assign(ring.newest, slot(1)));
        Ok(())
    }

    /// Writes a level other than the first, if the launch has that many steps. `now` is its newest plane. Clamped
    /// planes before the first one are equal to it, so the first plane is processed once for each of them as well.
    fn later(&self, l: &mut Lower, number: usize, now: &Expr, out: &mut Vec<Stmt>) -> Result<()> {
        let mut body = Vec::new();
        let is_step = Expr::binary(BinaryOp::Gt, Expr::Place(Gpu::Span), int32(number as i32));
        let has_arrived = Expr::binary(BinaryOp::Ge, Expr::Reg(self.turn), int32(number as i32));
        let mut runs = and(is_step, has_arrived);
        // without wrapping, no plane before the first one is processed by itself
        let before = -self.plan.first;
        if !self.params.wrapped[0] {
            runs = and(runs, Expr::binary(BinaryOp::Ge, now.clone(), Expr::int(0)));
        }
        if self.params.wrapped[0] || before == 0 {
            self.level(l, number, now, &mut body)?;
        } else {
            let is_first = Expr::binary(BinaryOp::Eq, now.clone(), Expr::int(0));
            let again = Expr::Select(Box::new(is_first), Box::new(int32(before as i32)), Box::new(int32(0)));
            let again = bind(l, "again", again, &mut body);
            let (time, mut inside) = (l.k.reg("time", Ty::I32), Vec::new());
            let plane = now.clone().minus(to_i64(again.clone())).plus(to_i64(Expr::Reg(time)));
            let plane = bind(l, "plane", plane, &mut inside);
            self.level(l, number, &plane, &mut inside)?;
            body.push(Stmt::Seq(time, int32(0), offset(again, 1), inside));
        }
        out.push(Stmt::If(runs, body, vec![]));
        Ok(())
    }

    /// Writes what a level does with its input plane `now`. The plane that this completes is stored to memory in the
    /// last step of the launch, and else written to shared memory for the next level.
    fn level(&self, l: &mut Lower, number: usize, now: &Expr, out: &mut Vec<Stmt>) -> Result<()> {
        let level = &self.levels[number];
        let loaded = level.loads.emit(l, (0, now), &|_| true, out)?;
        let stages = self.plan.stages.len();
        let mut known: Vec<Known> = (0..stages).map(|s| level.stages.known(s, now, &loaded)).collect();
        level.stages.compute(l, 0..stages, &mut known, out)?;
        let mut values = Vec::new();
        for e in l.region(&known[stages - 1], &self.plan.roots, &Expr::int(0), out)? {
            values.push(bind(l, "done", e, out));
        }
        let done = plus(now.clone(), -(self.plan.first + stages as i64 - 1));
        let done = bind(l, "done", done, out);
        let mut store = Vec::new();
        self.store(l, &done, &values, &mut store);
        match self.levels.get(number + 1) {
            None => out.append(&mut store),
            Some(next) => {
                let mut write = Vec::new();
                self.write(l, &next.from, &done, &values, &mut write);
                let steps = Expr::Place(Gpu::Span);
                let is_last = Expr::binary(BinaryOp::Eq, steps, int32(number as i32 + 1));
                out.push(Stmt::If(is_last, store, write));
            }
        }
        level.stages.advance(&loaded, &known, out);
        Ok(())
    }

    /// Writes a completed plane to the other buffer of the next level. Behind the volume's last plane nothing is
    /// written, unless planes wrap: the next level then reads the last plane again, as clamping asks.
    fn write(&self, l: &mut Lower, to: &PlaneBuffers, done: &Expr, values: &[Expr], out: &mut Vec<Stmt>) {
        let (tiling, mut body) = (self.params.tiling, Vec::new());
        let other = int32(self.params.plane_len() as i32).minus(Expr::Reg(to.newest));
        body.push(Stmt::Assign(to.newest, other));
        let at = bind(l, "to", Expr::Reg(to.newest).plus(own_place(tiling)), &mut body);
        for (area, (_, item)) in to.buffers.iter().zip(&self.params.states) {
            for (r, list) in (0..).zip(self.rows_of(*item, values)) {
                access::store(l, *area, list, offset(at.clone(), r * tiling.block_columns), &mut body);
            }
        }
        if self.params.wrapped[0] {
            out.append(&mut body);
            return;
        }
        let planes = l.launch.host(self.fused.domain[0]);
        out.push(Stmt::If(within(done, Expr::int(0), planes), body, vec![]));
    }

    /// Returns the thread's values of an item, row by row.
    fn rows_of(&self, item: usize, values: &[Expr]) -> Vec<Vec<Expr>> {
        let each = self.fused.items.len();
        let of_row = self.params.tiling.v as usize * each;
        let row = |values: &[Expr]| values.iter().skip(item).step_by(each).cloned().collect();
        values.chunks(of_row).map(row).collect()
    }

    /// Stores the thread's elements of the completed plane `done` to memory: those outside the halo and in bounds, if
    /// the plane is one of those that the block stores.
    fn store(&self, l: &mut Lower, done: &Expr, values: &[Expr], out: &mut Vec<Stmt>) {
        let PlaneStepsParams { tiling, halo, .. } = self.params;
        let [row, column] = self.place.at.clone();
        let inside = |first: Expr, axis: usize, extent: i64| {
            let [low, high] = [halo[axis], extent - halo[axis]].map(|n| int32(n as i32));
            within(&first, low, high)
        };
        let mut body = Vec::new();
        let columns = l.launch.host(self.fused.domain[2]);
        let mut position = self.place.position.vars.clone();
        (position[0].1, position[1].1, position[2].1) = (done.clone(), row.clone(), column.clone());
        let position = ThreadPosition { vars: position, block: Vec::new() };
        let share = warp().times(int32(tiling.thread_rows as i32));
        for r in 0..tiling.thread_rows {
            let mut stores = Vec::new();
            for (i, item) in self.fused.items.iter().enumerate() {
                let (mem, ty) = (l.launch.output(item), l.launch.g.ty(item.node).elem);
                let line = position.line(l, mem, &[0, r]);
                let list = self.rows_of(i, values).swap_remove(r as usize);
                let list = list.into_iter().map(|e| canonical(e, ty, &mut l.k.kernel, &mut stores)).collect();
                let to = position.column(l, mem, &line, 0);
                access::store(l, mem, list, to, &mut stores);
            }
            let rows = l.launch.host(self.fused.domain[1]);
            let is_there = Expr::binary(BinaryOp::Lt, plus(row.clone(), r), rows);
            let is_own = inside(offset(share.clone(), r), 0, tiling.block_rows);
            body.push(Stmt::If(and(is_there, is_own), stores, vec![]));
        }
        let is_there = Expr::binary(BinaryOp::Lt, column, columns);
        let is_own = inside(lane().times(int32(tiling.v as i32)), 1, tiling.block_columns);
        let [first, end] = self.own.clone();
        out.push(Stmt::If(and(within(done, first, end), and(is_there, is_own)), body, vec![]));
    }
}

fn and(a: Expr, b: Expr) -> Expr {
    Expr::binary(BinaryOp::And, a, b)
}

/// first <= i < end
fn within(i: &Expr, first: Expr, end: Expr) -> Expr {
    let is_behind = Expr::binary(BinaryOp::Ge, i.clone(), first);
    and(is_behind, Expr::binary(BinaryOp::Lt, i.clone(), end))
}
