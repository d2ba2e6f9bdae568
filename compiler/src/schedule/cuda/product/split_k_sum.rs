//! The second launch of a split-K product: it adds the panels' results in order.
//!
//! If there are few panels, one thread adds all panels of a result. Else `span` threads of a block load a result's
//! panels into shared memory, and one of them adds them, while the next panels are loaded (two buffers). An absent
//! panel counts as the sum of no elements.

use super::epilogue::store;
use super::{and, bind, int32, thread, to_i64};
use super::{extents, panels, scratch_address, tile_origin};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cuda::elements::stored;
use crate::schedule::cuda::levels::is_zero;
use crate::schedule::element::lower::Lower;
use crate::schedule::facts::products::Product;
use crate::schedule::groups::FusedGroup;

use super::block_tile::BlockTile;

/// Threads of a block.
pub const THREADS: u32 = 256;
/// The bytes that a thread has in flight.
const IN_FLIGHT: usize = 64;

/// What a thread knows of the result that it adds.
struct PanelSum {
    scratch: Mem,
    shared: Mem,
    ty: Ty,
    /// The number of panels that the thread has in flight.
    in_flight: i64,
    span: Expr,
    /// The thread's number among the threads of its result, and the result's number in the block.
    rank: Expr,
    lane: Expr,
    width: Expr,
    /// The number of the result, counted through all block tiles.
    at: Expr,
    /// Whether the result is in bounds.
    inside: Expr,
    panels: Expr,
}

pub fn main(
    l: &mut Lower,
    fused: &FusedGroup,
    p: &Product,
    tile: BlockTile,
    strided: bool,
) -> Result<Vec<Stmt>> {
    let items = stored(l.launch, fused);
    let mut out = Vec::new();
    let ty = p.of.inner[0].ty;
    let extents = extents(l, fused);
    let div = |a: Expr, b: Expr| Expr::binary(BinaryOp::Div, a, b);
    let span = bind(l, "threads", Expr::Place(Gpu::Span), &mut out);
    let width = bind(l, "width", div(int32(THREADS as i32), span.clone()), &mut out);
    let rank = bind(l, "rank", div(thread(), width.clone()), &mut out);
    let lane = bind(l, "lane", thread().minus(rank.clone().times(width.clone())), &mut out);
    let area = Expr::int(tile.area());
    let at = to_i64(Expr::Place(Gpu::Block)).times(to_i64(width.clone())).plus(to_i64(lane.clone()));
    let at = bind(l, "at", at, &mut out);
    let to_i32 = |e: Expr| Expr::Cast(Ty::I32, Box::new(e));
    let number = Expr::binary(BinaryOp::Shr, at.clone(), Expr::int(tile.area().ilog2().into()));
    let number = bind(l, "rectangle", to_i32(number), &mut out);
    let own = Expr::binary(BinaryOp::And, at.clone(), area.minus(Expr::int(1)));
    let own = bind(l, "own", to_i32(own), &mut out);
    let [row, col] = tile_origin(l, tile, number, &extents, &mut out);
    let across = tile.sides[1].size as i32;
    let down = Expr::binary(BinaryOp::Shr, own.clone(), int32(across.ilog2() as i32));
    let row = bind(l, "row", row.plus(to_i64(down)), &mut out);
    let right = Expr::binary(BinaryOp::And, own, int32(across - 1));
    let col = bind(l, "column", col.plus(to_i64(right)), &mut out);
    let index = [row, col];
    // this is false past the last block tile, too
    let inside = index.iter().zip(&extents);
    let inside = inside.map(|(i, n)| Expr::binary(BinaryOp::Lt, i.clone(), n.clone()));
    let inside = bind(l, "inside", and(inside).expect("two sides"), &mut out);
    let length = l.region(&[], &[p.of.extent], &Expr::int(0), &mut out)?.remove(0);
    let panels = panels(l, length, &mut out);
    let in_flight = (IN_FLIGHT / ty.size().max(4)) as i64;
    let shared = l.k.share("panel", ty, 2 * in_flight as u32 * THREADS);
    let scratch = l.launch.scratch(0, ty);
    let a = PanelSum { scratch, shared, ty, in_flight, span, rank, lane, width, at, inside, panels };
    let sum = l.k.reg("sum", ty);
    out.push(Stmt::Var(sum, Expr::Lit(Lit::no_sum(ty))));
    let (mut one_thread, mut several_threads) = (Vec::new(), Vec::new());
    a.by_one_thread(l, sum, &mut one_thread);
    a.by_several_threads(l, sum, &mut several_threads);
    let is_one_thread = Expr::binary(BinaryOp::Eq, a.span.clone(), int32(1));
    out.push(Stmt::If(is_one_thread, one_thread, several_threads));
    let (vars, known) = {
        let vars = [0, 1].map(|_| l.launch.g.fresh_var(Ty::I64).1);
        (vars, vars.into_iter().zip(index.clone()).collect::<Vec<_>>())
    };
    let mut body = Vec::new();
    store(l, p, strided, &items, (vars, index), &known, (Expr::Reg(sum), true), &mut body)?;
    let mine = Expr::binary(BinaryOp::And, is_zero(&a.rank), a.inside.clone());
    out.push(Stmt::If(mine, body, vec![]));
    Ok(out)
}

impl PanelSum {
    /// One thread adds all panels of its result.
    fn by_one_thread(&self, l: &mut Lower, sum: Reg, out: &mut Vec<Stmt>) {
        let (panel, mut body) = (l.k.reg("panel", Ty::I64), Vec::new());
        let at = scratch_address(self.at.clone(), Expr::Reg(panel), &self.panels);
        let value = bind(l, "value", Expr::load(self.scratch, at), &mut body);
        body.push(Stmt::Assign(sum, Expr::Reg(sum).plus(value)));
        let all = vec![Stmt::Seq(panel, Expr::int(0), self.panels.clone(), body)];
        out.push(Stmt::If(self.inside.clone(), all, vec![]));
    }

    /// Several threads load the panels of a result in batches; the thread of rank 0 adds them.
    fn by_several_threads(&self, l: &mut Lower, sum: Reg, out: &mut Vec<Stmt>) {
        let nothing = Expr::Lit(Lit::no_sum(self.ty));
        let per_batch = to_i64(self.span.clone()).times(Expr::int(self.in_flight));
        let per_batch = bind(l, "batched", per_batch, out);
        let rounded_up = self.panels.clone().plus(per_batch.clone()).minus(Expr::int(1));
        let batches = bind(l, "batches", Expr::binary(BinaryOp::Div, rounded_up, per_batch.clone()), out);
        let mut values = Vec::new();
        for (at, is_present) in self.panel_addresses(l, to_i64(self.rank.clone()), out) {
            let value = l.k.reg("value", self.ty);
            out.push(Stmt::Var(value, Expr::LoadIf(self.scratch, Box::new(at), Box::new(is_present))));
            values.push(value);
        }
        let (batch, mut body) = (l.k.reg("batch", Ty::I64), Vec::new());
        let low = Expr::Cast(Ty::I32, Box::new(Expr::Reg(batch)));
        let buffer_index = Expr::binary(BinaryOp::And, low, int32(1));
        let len = self.in_flight * i64::from(THREADS);
        let buffer =
            bind(l, "buffer", buffer_index.times(int32(len as i32)).plus(self.lane.clone()), &mut body);
        let begin = Expr::Reg(batch).times(per_batch.clone()).plus(to_i64(self.rank.clone()));
        let begin = bind(l, "begin", begin, &mut body);
        let stride = bind(l, "apart", self.span.clone().times(self.width.clone()), &mut body);
        for ((u, value), (_, is_present)) in
            (0..).zip(&values).zip(self.panel_addresses(l, begin.clone(), &mut body))
        {
            let e =
                Expr::Select(Box::new(is_present), Box::new(Expr::Reg(*value)), Box::new(nothing.clone()));
            let own = self.rank.clone().times(self.width.clone()).plus(stride.clone().times(int32(u)));
            body.push(Stmt::Store(self.shared, buffer.clone().plus(own), e));
        }
        body.push(Stmt::Barrier);
        for (value, (at, is_present)) in
            values.iter().zip(self.panel_addresses(l, begin.plus(per_batch), &mut body))
        {
            body.push(Stmt::Assign(*value, Expr::LoadIf(self.scratch, Box::new(at), Box::new(is_present))));
        }
        let mut add = Vec::new();
        self.add(l, sum, buffer, &mut add);
        body.push(Stmt::If(is_zero(&self.rank), add, vec![]));
        out.push(Stmt::Seq(batch, Expr::int(0), batches, body));
    }

    /// Adds the panels of a batch, in groups; the next group is loaded meanwhile.
    fn add(&self, l: &mut Lower, sum: Reg, buffer: Expr, out: &mut Vec<Stmt>) {
        let panel = |from: Expr, u: i32| {
            let stride = self.width.clone().times(int32(u));
            Expr::load(self.shared, buffer.clone().plus(from.times(self.width.clone())).plus(stride))
        };
        let values: Vec<Reg> = (0..self.in_flight).map(|_| l.k.reg("panel", self.ty)).collect();
        out.extend((0..).zip(&values).map(|(u, r)| Stmt::Var(*r, panel(int32(0), u))));
        let (i, mut body) = (l.k.reg("i", Ty::I32), Vec::new());
        // at the end the last group is loaded again, and nothing uses it
        let next = Expr::Reg(i).plus(int32(1)).min(self.span.clone().minus(int32(1)));
        let next = bind(l, "next", next.times(int32(self.in_flight as i32)), &mut body);
        let list: Vec<Expr> =
            (0..self.in_flight as i32).map(|u| bind(l, "later", panel(next.clone(), u), &mut body)).collect();
        body.extend(values.iter().map(|r| Stmt::Assign(sum, Expr::Reg(sum).plus(Expr::Reg(*r)))));
        body.extend(values.iter().zip(list).map(|(r, e)| Stmt::Assign(*r, e)));
        out.push(Stmt::Seq(i, int32(0), self.span.clone(), body));
    }

    /// Returns the index in scratch of each of this thread's panels from `begin` on, and whether
    /// the panel exists.
    fn panel_addresses(&self, l: &mut Lower, begin: Expr, out: &mut Vec<Stmt>) -> Vec<(Expr, Expr)> {
        let mut list = Vec::new();
        for u in 0..self.in_flight {
            let stride = to_i64(self.span.clone()).times(Expr::int(u));
            let panel = bind(l, "p", begin.clone().plus(stride), out);
            let is_present = Expr::binary(BinaryOp::Lt, panel.clone(), self.panels.clone());
            let is_present =
                bind(l, "there", Expr::binary(BinaryOp::And, is_present, self.inside.clone()), out);
            list.push((scratch_address(self.at.clone(), panel, &self.panels), is_present));
        }
        list
    }
}
