//! Product: a matrix whose element (i, j) is a fold over k of values that depend on (i, k) and values that depend on
//! (k, j), such as a matrix product or the distances of all pairs of points (`schedule/facts/products.rs`). It is
//! tiled for shared memory and registers (block tiles and thread tiles; Volkov, Demmel 2008). Chosen for all such
//! groups. The cost is that of the multiplications, if there are enough block tiles to keep all multiprocessors busy.
//!
//! A block computes a block tile. In each step of the K loop its threads load values of rows and columns from global
//! memory, while they compute with those of the step before, which lie in shared memory (in two buffers, or four
//! where rows are copied). Rows are transposed there, so that a thread reads four neighbours of either side by one
//! access. What needs no transposition is copied there without registers ([`copies`]). A thread tile has 8 x 8
//! results in registers (4 x 4 for elements of 8 bytes and in small block tiles), in groups of four. A transposed
//! operand only changes the direction of the loads. Sums are cut into panels of 512 inner indices (semantics 5.7).
//!
//! If the results are too few to keep a device busy, each block computes one panel and stores its results to scratch;
//! a second launch, [`split_k_sum`], adds the panels in order (split-K). Arrays of any strides and alignment have the
//! same tiles, but threads copy single elements; in place of what lies beyond an edge, blocks load the last row and
//! column once more. If there are few rows or few columns, or if one operand is a vector, a thread computes a row or
//! a column of the long side with all of the short side (skinny block tiles).

mod block_tile;
mod copies;
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
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::facts::loop_nests::{Env, Order};
use crate::schedule::facts::products::Product;
use crate::schedule::groups::FusedGroup;
use block_tile::BlockTile;
pub use emit::emit;
pub use epilogue::{address, store};
pub use params::{ProductParams, large, largest, whole};
pub use staging_loads::load_vectors;
pub use variants::variants;

/// What the functions that write a block's code share.
struct ProductBlock<'a> {
    p: &'a Product,
    tile: BlockTile,
    strided: bool,
    /// For each side, whether blocks in the interior copy its values from global to shared memory without registers
    /// (`copies.rs`).
    copied: [bool; 2],
    /// The panel that the block computes, whose results go to scratch (split-K). `None` if it
    /// computes all panels.
    panel: Option<Panel>,
    /// The shared memory of each part of each side, with all buffers.
    shared: [Vec<Mem>; 2],
    /// The first row and column of the block.
    origin: [Expr; 2],
    /// The number of rows and of columns of the result.
    extents: [Expr; 2],
    /// The block's first inner index, and the number of its inner indices.
    k_begin: Expr,
    k_count: Expr,
    /// The offset of the thread's first row and column in the block tile.
    thread_origin: [Expr; 2],
    /// The variables of the thread's rows and columns, and the values that are known.
    vars: [Vec<NodeId>; 2],
    known: Vec<(NodeId, Expr)>,
}

/// The panel of a block.
struct Panel {
    /// Its number, and the number of panels.
    index: Expr,
    count: Expr,
    /// The number of the block tile.
    block_tile: Expr,
}

/// The number of results of one panel that lie side by side in scratch. The same results of the
/// next panel follow.
const CHUNK: i64 = 16;

/// Returns the index in scratch of a panel's result.
fn scratch_address(number: Expr, panel: Expr, panels: &Expr) -> Expr {
    let chunk = Expr::binary(BinaryOp::Shr, number.clone(), Expr::int(CHUNK.ilog2().into()));
    let line = chunk.times(panels.clone()).plus(panel);
    line.times(Expr::int(CHUNK)).plus(Expr::binary(BinaryOp::And, number, Expr::int(CHUNK - 1)))
}

/// Returns ceil(length / 512).
fn panels(l: &mut Lower, length: Expr, out: &mut Vec<Stmt>) -> Expr {
    let rounded_up = length.plus(Expr::int(PANEL - 1));
    bind(l, "panels", Expr::binary(BinaryOp::Shr, rounded_up, Expr::int(PANEL.ilog2().into())), out)
}

/// The results of a thread: the accumulators of the current panel, and the sums of the panels
/// before.
struct Results {
    accumulators: Vec<Reg>,
    sums: Sums,
}

/// Where the sums of the panels are.
enum Sums {
    /// There are no sums: in folds, and in blocks that compute one panel.
    None,
    Registers(Vec<Reg>),
    /// In shared memory: the sums are needed only once in 512 inner indices, and so leave registers
    /// for a larger thread tile.
    Shared(Mem),
}

/// Returns the number of rows and of columns. A vector is one column.
pub fn extents(l: &mut Lower, fused: &FusedGroup) -> [Expr; 2] {
    let matrix = &fused.domain[fused.domain.len().saturating_sub(2)..];
    let mut extents = matrix.iter().map(|n| l.launch.host(*n)).collect::<Vec<_>>().into_iter();
    [0, 1].map(|_| extents.next().unwrap_or(Expr::int(1)))
}

/// Returns ceil(n / power) as i32, for a power of two.
fn ceil_div(n: Expr, power: i64) -> Expr {
    let rounded_up = n.plus(Expr::int(power - 1));
    Expr::Cast(Ty::I32, Box::new(Expr::binary(BinaryOp::Shr, rounded_up, Expr::int(power.ilog2().into()))))
}

/// Returns the first row and column of the block tile with that number (i32).
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

/// Returns the number of block tiles (i32).
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
        let panel_index = Expr::binary(BinaryOp::Div, Expr::Place(Gpu::Block), all.clone());
        let panel_index = bind(l, "panel", panel_index, &mut out);
        let number = Expr::Place(Gpu::Block).minus(panel_index.clone().times(all));
        let number = bind(l, "rectangle", number, &mut out);
        let from = bind(l, "from", to_i64(panel_index.clone()).times(Expr::int(PANEL)), &mut out);
        let length = length(l, &mut out)?;
        let count = panels(l, length.clone(), &mut out);
        let left = length.minus(from.clone()).min(Expr::int(PANEL));
        let panel = Panel { index: to_i64(panel_index), count, block_tile: number.clone() };
        (number, from, bind(l, "count", left, &mut out), Some(panel))
    } else {
        (Expr::Place(Gpu::Block), Expr::int(0), length(l, &mut out)?, None)
    };
    let mut known = Vec::new();
    let number = match p.plane {
        Some(plane) => {
            let all = block_tile_count(l, tile, &extents, &mut out);
            let at = Expr::binary(BinaryOp::Div, number.clone(), all.clone());
            let at = bind(l, "plane", at, &mut out);
            known.push((plane, to_i64(at.clone())));
            bind(l, "rectangle", number.minus(at.times(all)), &mut out)
        }
        None => number,
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
    let mut b = ProductBlock {
        p,
        tile,
        strided,
        copied: [0, 1].map(|s| params::can_copy(&l.launch.g, p, tile, s)),
        panel,
        shared: [Vec::new(), Vec::new()],
        origin: first,
        extents,
        k_begin: from,
        k_count: count,
        thread_origin: place,
        vars: [Vec::new(), Vec::new()],
        known,
    };
    b.shared = [b.buffers(l, 0), b.buffers(l, 1)];
    b.declare_indices(l, &mut out)?;
    let results = b.declare_results(l, &mut out)?;
    let full = (0..2).filter(|s| !tile.sides[*s].skinny).map(|s| {
        let end = b.origin[s].clone().plus(Expr::int(tile.sides[s].size));
        Expr::binary(BinaryOp::Le, end, b.extents[s].clone())
    });
    let full = and(full).expect("a long side");
    let full = bind(l, "full", full, &mut out);
    b.k_loops(l, &results, &full, &mut out)?;
    if let Some(panel) = &b.panel {
        b.store_panel(l, panel, &results, &mut out);
        return Ok(out);
    }
    // an output may be an input: all threads must have read before any of them stores
    out.push(Stmt::Barrier);
    b.epilogue(l, &results, &items, &full, &mut out)?;
    Ok(out)
}

fn and(list: impl Iterator<Item = Expr>) -> Option<Expr> {
    list.reduce(|a, b| Expr::binary(BinaryOp::And, a, b))
}

impl ProductBlock<'_> {
    /// Returns the index of the row (side 0) or column (side 1) that has this offset from the thread's
    /// first.
    fn index(&self, side: usize, offset: Expr) -> Expr {
        self.origin[side].clone().plus(to_i64(self.thread_origin[side].clone())).plus(offset)
    }

    /// Writes the loop over all inner indices: either one loop for blocks inside of the matrix and one for those at
    /// its edges, or one for all blocks, with indices clamped at the edges. Skinny tiles that copy rows have two
    /// loops and clamp at the edges: the loads are all that they wait for, and clamped addresses take registers and
    /// instructions. Panels have one loop, to have less code.
    fn k_loops(&mut self, l: &mut Lower, results: &Results, full: &Expr, out: &mut Vec<Stmt>) -> Result<()> {
        let clamped = self.tile.clamped;
        let is_skinny = self.tile.sides.iter().any(|s| s.skinny);
        if clamped && (self.panel.is_some() || self.tile.any_strides || !is_skinny) {
            return self.k_loop(l, results, true, out);
        }
        let (mut inside, mut edge) = (Vec::new(), Vec::new());
        self.tile.clamped = false;
        self.k_loop(l, results, true, &mut inside)?;
        self.tile.clamped = clamped;
        self.k_loop(l, results, clamped, &mut edge)?;
        out.push(Stmt::If(full.clone(), inside, edge));
        Ok(())
    }

    /// Returns the shared memory of each part of a side, with all buffers.
    fn buffers(&self, l: &mut Lower, side: usize) -> Vec<Mem> {
        let len = (self.tile.stages * self.buffer_len(side)) as u32;
        let types = self.p.sides[side].parts.iter().map(|n| l.launch.g.ty(*n).elem).collect::<Vec<Ty>>();
        types.into_iter().map(|ty| l.k.share("side", ty, len)).collect()
    }

    /// Returns the plane's variable with its value, if the product has planes.
    fn plane(&self) -> Vec<(NodeId, Expr)> {
        self.known.iter().filter(|(n, _)| Some(*n) == self.p.plane).cloned().collect()
    }

    /// Makes variables for the thread's rows and columns, and computes what depends on one of them
    /// only.
    fn declare_indices(&mut self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<()> {
        for side in 0..2 {
            for r in 0..self.tile.sides[side].per_thread() {
                let (_, var) = l.launch.g.fresh_var(Ty::I64);
                let last = self.extents[side].clone().minus(Expr::int(1));
                let at = self.index(side, Expr::int(self.tile.offset(side, r)));
                self.known.push((var, at.clone()));
                self.vars[side].push(var);
                let env = Env::default().with(&l.launch.g, self.p.outer[side], var);
                let parts = &self.p.sides[side].invariants;
                if !parts.is_empty() {
                    let nodes: Vec<NodeId> = parts.iter().map(|n| env.of(&mut l.launch.g, *n)).collect();
                    // rows and columns out of bounds compute the value of the last one, which nothing uses
                    let at = bind(l, "inner", at.min(last), out);
                    let mut vars = self.plane();
                    vars.push((var, at));
                    let values = l.region(&vars, &nodes, &Expr::int(0), out)?;
                    for (n, e) in nodes.into_iter().zip(values) {
                        let e = bind(l, "own", e, out);
                        self.known.push((n, e));
                    }
                }
            }
        }
        Ok(())
    }

    /// Declares the registers and the shared memory of the results.
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

    /// Returns the index of the thread's `i`-th sum in shared memory. Only this thread reads it.
    fn sum_at(&self, i: i64) -> Expr {
        thread().plus(int32((i * self.tile.threads()) as i32))
    }
}
