//! Product: a matrix whose element (i, j) goes through values of (i, k) and values of (k, j):
//! matrix products, distances of all pairs of points.
//!
//! A block has a rectangle of results. Step by step of the inner index its threads read the rows'
//! and the columns' values into shared memory, the next step's while they compute with this one's
//! (two buffers); rows lie there by columns, so that a thread reads four neighbours of both at
//! once. Each thread has 8 x 8 results in registers (4 x 4 of 8-byte elements and in small
//! squares), in groups of four. Which operand is transposed only changes the direction in which it
//! is read. Panels (semantics 5.7) are summed up every 512 indices.
//!
//! Few results do not occupy a device, so blocks may take one panel each and leave its results in
//! scratch; [`split_k_sum`], a launch of its own, adds them in order. Of few rows or columns, a
//! vector among them, a thread has one long side's row or column and all of the other's.

mod block_tile;
mod emit;
mod epilogue;
mod k_loop;
mod params;
mod split_k_sum;
mod staging_loads;
mod variants;

use super::elements::stored;
use super::expressions::{int32, thread, to_i64};
use crate::core::{NodeId, PANEL};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::groups::FusedGroup;
use crate::schedule::loop_nests::{Env, Order};
use crate::schedule::lower::{Lower, named, named as bind};
use crate::schedule::products::{Product, Side};
use block_tile::BlockTile;
pub use emit::emit;
pub use params::{ProductParams, large, whole};
pub use variants::variants;

/// What the code of a block is made of.
struct Block<'a> {
    p: &'a Product,
    tile: BlockTile,
    strided: bool,
    /// The one panel that is computed, where results go to scratch (split-K).
    panel: Option<Panel>,
    /// Two buffers for each part of each side.
    shared: [Vec<Mem>; 2],
    /// First row and column of the block.
    origin: [Expr; 2],
    /// How many rows and columns there are.
    extents: [Expr; 2],
    /// The block's first inner index, and how many it has.
    k_begin: Expr,
    k_count: Expr,
    /// The thread's place in the block's rectangle: of rows and columns.
    thread_origin: [Expr; 2],
    /// The variables of the thread's rows and columns, and known values.
    vars: [Vec<NodeId>; 2],
    known: Vec<(NodeId, Expr)>,
}

/// What a block knows of its panel.
struct Panel {
    /// Its number, and how many there are.
    index: Expr,
    count: Expr,
    /// The rectangle's number.
    block_tile: Expr,
}

/// Results of a panel that lie side by side in scratch; then come the same ones of the next panel.
const CHUNK: i64 = 16;

/// Where a panel's result lies in scratch.
fn scratch_address(number: Expr, panel: Expr, panels: &Expr) -> Expr {
    let chunk = Expr::binary(BinaryOp::Shr, number.clone(), Expr::int(CHUNK.ilog2().into()));
    let line = chunk.times(panels.clone()).plus(panel);
    line.times(Expr::int(CHUNK)).plus(Expr::binary(BinaryOp::And, number, Expr::int(CHUNK - 1)))
}

/// ceil(length / 512)
fn panels(l: &mut Lower, length: Expr, out: &mut Vec<Stmt>) -> Expr {
    let rounded_up = length.plus(Expr::int(PANEL - 1));
    bind(l, "panels", Expr::binary(BinaryOp::Shr, rounded_up, Expr::int(PANEL.ilog2().into())), out)
}

/// A thread's results: the chains that are being computed, and the sums of those before.
struct Results {
    accumulators: Vec<Reg>,
    sums: Sums,
}

/// Where the sums of panels are.
enum Sums {
    /// There are none: folds, and blocks of one panel.
    None,
    Registers(Vec<Reg>),
    /// Needed once every 512 steps: in shared memory, so that there are registers for more results.
    Shared(Mem),
}

/// How many rows and columns there are: a vector is one column.
fn extents(l: &mut Lower, fused: &FusedGroup) -> [Expr; 2] {
    let mut extents = fused.domain.iter().map(|n| l.launch.host(*n)).collect::<Vec<_>>().into_iter();
    [0, 1].map(|_| extents.next().unwrap_or(Expr::int(1)))
}

/// ceil(n / 2^k) as i32
fn ceil_div(n: Expr, power: i64) -> Expr {
    let rounded_up = n.plus(Expr::int(power - 1));
    Expr::Cast(Ty::I32, Box::new(Expr::binary(BinaryOp::Shr, rounded_up, Expr::int(power.ilog2().into()))))
}

/// Where a rectangle lies, by its number (i32): its first row and column.
fn tile_origin(
    l: &mut Lower,
    tile: BlockTile,
    number: Expr,
    extents: &[Expr; 2],
    out: &mut Vec<Stmt>,
) -> [Expr; 2] {
    let across = bind(l, "across", ceil_div(extents[1].clone(), tile.sides[1].size), out);
    let down = bind(l, "down", Expr::binary(BinaryOp::Div, number.clone(), across.clone()), out);
    let right = number.minus(down.clone().times(across));
    let sizes = tile.sides.map(|s| Expr::int(s.size));
    let [a, b] = sizes;
    [(down, a), (right, b)].map(|(at, size)| bind(l, "first", to_i64(at).times(size), out))
}

/// How many rectangles there are (i32).
fn block_tile_count(l: &mut Lower, tile: BlockTile, extents: &[Expr; 2], out: &mut Vec<Stmt>) -> Expr {
    let [a, b] = [0, 1].map(|s| ceil_div(extents[s].clone(), tile.sides[s].size));
    bind(l, "rectangles", a.times(b), out)
}

pub fn main(
    l: &mut Lower,
    fused: &FusedGroup,
    p: &Product,
    tile: BlockTile,
    strided: bool,
    panel: bool,
) -> Result<Vec<Stmt>> {
    let items = stored(l.launch, fused);
    let mut out = Vec::new();
    let extents = extents(l, fused);
    let length = |l: &mut Lower, out: &mut Vec<Stmt>| -> Result<Expr> {
        Ok(l.region(&[], &[p.of.extent], &Expr::int(0), out)?.remove(0))
    };
    let (number, from, count, panel) = if panel {
        let all = block_tile_count(l, tile, &extents, &mut out);
        let which = Expr::binary(BinaryOp::Div, Expr::Place(Gpu::Block), all.clone());
        let which = bind(l, "panel", which, &mut out);
        let number = Expr::Place(Gpu::Block).minus(which.clone().times(all));
        let number = bind(l, "rectangle", number, &mut out);
        let from = bind(l, "from", to_i64(which.clone()).times(Expr::int(PANEL)), &mut out);
        let length = length(l, &mut out)?;
        let count = panels(l, length.clone(), &mut out);
        let left = length.minus(from.clone()).min(Expr::int(PANEL));
        let panel = Panel { index: to_i64(which), count, block_tile: number.clone() };
        (number, from, bind(l, "count", left, &mut out), Some(panel))
    } else {
        (Expr::Place(Gpu::Block), Expr::int(0), length(l, &mut out)?, None)
    };
    let first = tile_origin(l, tile, number, &extents, &mut out);
    let place = [0, 1].map(|s| {
        let across = tile.sides[1].threads as i32;
        let at = match s {
            0 => Expr::binary(BinaryOp::Shr, thread(), int32(across.ilog2() as i32)),
            _ => Expr::binary(BinaryOp::And, thread(), int32(across - 1)),
        };
        bind(l, "place", at.times(int32(tile.group(s) as i32)), &mut out)
    });
    let buffers = |l: &mut Lower, s: usize, side: &Side| {
        let types: Vec<Ty> = side.parts.iter().map(|n| l.launch.g.ty(*n).elem).collect();
        let len = (2 * tile.depth * tile.pitch(s, side.along_k)) as u32;
        types.into_iter().map(|ty| l.k.share("side", ty, len)).collect::<Vec<Mem>>()
    };
    let shared = [buffers(l, 0, &p.sides[0]), buffers(l, 1, &p.sides[1])];
    let mut b = Block {
        p,
        tile,
        strided,
        panel,
        shared,
        origin: first,
        extents,
        k_begin: from,
        k_count: count,
        thread_origin: place,
        vars: [Vec::new(), Vec::new()],
        known: Vec::new(),
    };
    b.declare_indices(l, &mut out)?;
    let results = b.declare_results(l, &mut out)?;
    let full = (0..2).filter(|s| !tile.sides[*s].skinny).map(|s| {
        let end = b.origin[s].clone().plus(Expr::int(tile.sides[s].size));
        Expr::binary(BinaryOp::Le, end, b.extents[s].clone())
    });
    let full = and(full).expect("a long side");
    let full = bind(l, "full", full, &mut out);
    let (mut inside, mut border) = (Vec::new(), Vec::new());
    b.k_loop(l, &results, true, &mut inside)?;
    b.k_loop(l, &results, false, &mut border)?;
    out.push(Stmt::If(full.clone(), inside, border));
    if let Some(panel) = &b.panel {
        b.store_panel(l, panel, &results, &mut out);
        return Ok(out);
    }
    // in place: all have read before any stores
    out.push(Stmt::Barrier);
    b.epilogue(l, &results, &items, &full, &mut out)?;
    Ok(out)
}

fn and(list: impl Iterator<Item = Expr>) -> Option<Expr> {
    list.reduce(|a, b| Expr::binary(BinaryOp::And, a, b))
}

impl Block<'_> {
    /// The index of the thread's `r`-th row (side 0) or column.
    fn index(&self, side: usize, r: i64) -> Expr {
        let offset = Expr::int(self.tile.offset(side, r));
        self.origin[side].clone().plus(to_i64(self.thread_origin[side].clone())).plus(offset)
    }

    /// Variables of the thread's rows and columns; what depends on them only.
    fn declare_indices(&mut self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<()> {
        for side in 0..2 {
            for r in 0..self.tile.sides[side].per_thread() {
                let (_, var) = l.launch.g.fresh_var(Ty::I64);
                let last = self.extents[side].clone().minus(Expr::int(1));
                let at = self.index(side, r);
                self.known.push((var, at.clone()));
                self.vars[side].push(var);
                let env = Env::default().with(&l.launch.g, self.p.outer[side], var);
                let parts = &self.p.sides[side].invariants;
                if !parts.is_empty() {
                    let nodes: Vec<NodeId> = parts.iter().map(|n| env.of(&mut l.launch.g, *n)).collect();
                    // behind the border: the last one's, in vain
                    let at = named(l, "inner", at.min(last), out);
                    let values = l.region(&[(var, at)], &nodes, &Expr::int(0), out)?;
                    for (n, e) in nodes.into_iter().zip(values) {
                        let e = named(l, "own", e, out);
                        self.known.push((n, e));
                    }
                }
            }
        }
        Ok(())
    }

    /// Declares the results.
    fn declare_results(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<Results> {
        let inner = &self.p.of.inner[0];
        let panels = self.p.of.order == Order::Panels;
        let start = match panels {
            true => Expr::Lit(Lit::no_sum(inner.ty)),
            false => l.region(&[], &[inner.init], &Expr::int(0), out)?.remove(0),
        };
        let count = self.tile.area() / self.tile.threads();
        let mut declare = |name: &'static str| -> Vec<Reg> {
            let regs: Vec<Reg> = (0..count).map(|_| l.k.reg(name, inner.ty)).collect();
            out.extend(regs.iter().map(|r| Stmt::Var(*r, start.clone())));
            regs
        };
        let accumulators = declare("chain");
        let sums = match () {
            _ if !panels || self.panel.is_some() => Sums::None,
            _ if !self.tile.sums_shared => Sums::Registers(declare("sum")),
            _ => Sums::Shared(l.k.share("sums", inner.ty, self.tile.area() as u32)),
        };
        let results = Results { accumulators, sums };
        if let Sums::Shared(m) = results.sums {
            out.extend((0..count).map(|i| Stmt::Store(m, self.sum_at(i), start.clone())));
        }
        Ok(results)
    }

    /// Where the thread's `i`-th sum lies in shared memory: no other thread reads it.
    fn sum_at(&self, i: i64) -> Expr {
        thread().plus(int32((i * self.tile.threads()) as i32))
    }
}
