//! Map: every element on its own.
//!
//! A block takes `threads * v * u` elements; thread t has u groups of v neighbours, `threads * v` apart, so that each access of a warp is one line
//! of memory after another. All loads of a thread come before its first use of one; what is read around the elements, too (`window`). The block at the end, which
//! is not full, goes element by element. Where the pass before read the same array, blocks run from its end: the end is what the caches hold.

use super::elements::{Elements, single, stored, words};
use super::tile;
use super::window::{self, Window};
use super::{MAX_UNROLLED, Shape, bind, int32, thread, wide};
use crate::core::{NodeId, Strategy};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::element::element;
use crate::schedule::inside::{Inner, Margin};
use crate::schedule::items::Pass;
use crate::schedule::lower::Lower;
use crate::schedule::stencil::Stencil;

/// Of a block.
pub const THREADS: u32 = 256;
/// Words of memory that a thread keeps in flight: at full occupancy one access of 16 bytes covers the latency (measured: more is slower).
const WORDS_IN_FLIGHT: i64 = 4;
/// Elements of a thread: each lives in registers of its own, however few bytes it has.
const MOST_ELEMENTS: i64 = 16;

/// Operations of an element from which on the instructions are what takes time, not memory: then two groups of neighbours share the addresses (measured on
/// the elementary functions, 2 to 14 % less time; of cheaper ones 4 % more). Not of endless bodies.
const HEAVY: u32 = 35;
const MOST_HEAVY: u32 = 256;

/// Blocks at once on a multiprocessor, by the operations of a thread: as the assembler likes; for large bodies one, with all registers, or it saves them for
/// more threads, and spills.
pub fn blocks(cost: u32, each: i64) -> u32 {
    u32::from(i64::from(cost) * each > 700)
}

/// Groups of neighbours of a thread whose block keeps a tile: measured with 1, 2 and 4, the tile's ends count
/// for more than the turns that smaller blocks take in loading and computing.
const GROUPS_OF_A_TILE: i64 = 4;

/// How a map is done.
pub struct Plan {
    /// What is loaded around the elements.
    windows: Vec<Window>,
    /// Elements of a block.
    pub per_block: i64,
    /// What full blocks compute, and how far from the ends they are.
    arrays: Vec<NodeId>,
    margin: Margin,
}

impl Plan {
    /// For contiguous arrays, what is read around the element is kept as `strategy` says, where that is possible; else there are nothing but loads.
    pub fn of(
        l: &mut Lower,
        (pass, inner): (&Pass, &Inner),
        stencils: &[Stencil],
        strategy: Strategy,
        shape: Shape,
        cost: u32,
    ) -> Plan {
        let mut windows = Vec::new();
        let is_vector = !shape.strided && pass.domain.len() == 1;
        if is_vector && strategy != Strategy::Direct {
            windows = window::windows(l, stencils, shape.v, strategy).unwrap_or_default();
        }
        let tiled = windows.iter().any(|w| w.tile.is_some());
        let each = if tiled { GROUPS_OF_A_TILE } else { unroll(l, &windows, shape, cost) };
        let per_block = i64::from(shape.threads) * shape.v * each;
        if tiled && !tile::place(l, &mut windows, shape.v, per_block) {
            return Plan::of(l, (pass, inner), stencils, Strategy::Window, shape, cost);
        }
        // where elements are counted through rows, blocks keep no distance from the edges
        let all = Inner::everywhere(pass);
        let inner = if is_vector { inner } else { &all };
        Plan { windows, per_block, arrays: inner.arrays.clone(), margin: inner.margins[0] }
    }
}

impl Plan {
    /// Whether only a block that is not full goes element by element.
    fn is_even(&self) -> bool {
        self.windows.is_empty() && self.margin == (0, 0)
    }

    /// How a stencil is kept, and the bytes of it that a block loads for each element.
    pub fn loaded(&self, l: &Lower, s: &Stencil, shape: Shape) -> (Strategy, f64) {
        let size = l.g.ty(s.array).elem.size() as f64;
        let own = self.windows.iter().find(|w| w.array == s.array && w.shift == s.shift[0]);
        match own {
            Some(Window { tile: Some(tile), .. }) => {
                (Strategy::Tile, size * tile.len as f64 / self.per_block as f64)
            }
            Some(w) => (Strategy::Window, size * w.elements() as f64 / shape.v as f64),
            None => (Strategy::Direct, size * s.apart(shape.v) as f64 / shape.v as f64),
        }
    }
}

fn unroll(l: &Lower, windows: &[Window], shape: Shape, cost: u32) -> i64 {
    if (HEAVY..=MOST_HEAVY).contains(&cost) && shape.v > 1 && windows.is_empty() {
        return 2;
    }
    let alone = l.pointwise.iter().filter(|x| windows.iter().all(|w| w.array != **x));
    let words = words(l, alone, shape) + window::words(l, windows);
    let wanted = (WORDS_IN_FLIGHT / words.max(1)).min(MOST_ELEMENTS / shape.v).clamp(1, 4);
    let allowed = i64::from(MAX_UNROLLED) / (i64::from(cost.max(1)) * shape.v);
    1 << wanted.min(allowed.max(1)).ilog2()
}

/// The exponent of a power of two.
fn shift(power: i64) -> Expr {
    Expr::int(i64::from(power.ilog2()))
}

pub fn main(l: &mut Lower, pass: &Pass, shape: Shape, plan: &Plan) -> Result<Vec<Stmt>> {
    let items = stored(l, pass);
    let (count, per_block) = (l.count_node(), plan.per_block);
    let n = l.host(count);
    let mut out = Vec::new();
    let block = match shape.descending {
        true => Expr::Place(Gpu::Blocks).minus(int32(1)).minus(Expr::Place(Gpu::Block)),
        false => Expr::Place(Gpu::Block),
    };
    let start = wide(block.clone()).times(Expr::int(per_block));
    let start = bind(l, "start", start, &mut out);
    let mut full = Vec::new();
    let first = start.clone().plus(wide(thread()).times(Expr::int(shape.v)));
    let first = bind(l, "first", first, &mut full);
    let apart = i64::from(shape.threads) * shape.v;
    let groups = (0..per_block / apart).map(|u| u * apart).collect();
    let elements = Elements::new(l, first, groups, shape.v);
    let mut windows = plan.windows.clone();
    window::load(l, &windows, &elements, false, &mut full);
    elements.load(l, &mut full);
    tile::fill(l, &mut windows, shape.v, &start, &mut full);
    let tiled = windows.iter().any(|w| w.tile.is_some());
    let parts = if tiled {
        elements.firsts().map(|g| elements.group(g / shape.v as usize)).collect()
    } else {
        vec![elements]
    };
    for elements in parts {
        window::load(l, &windows, &elements, true, &mut full);
        let make = |l: &mut Lower, _, i| plan.arrays.iter().map(|a| element(l, *a, i)).collect();
        let values = elements.values(l, &[], make, &mut full)?;
        elements.store(l, &items, &values.iter().map(Vec::as_slice).collect::<Vec<_>>(), &mut full);
    }
    l.loaded = None;

    let i = l.k.reg("i", Ty::I64);
    let mut rest = Vec::new();
    let end = match plan.is_even() {
        true => n.clone(),
        false => bind(l, "end", n.clone().min(start.clone().plus(Expr::int(per_block))), &mut rest),
    };
    rest.push(Stmt::Var(i, start.clone().plus(wide(thread()))));
    let mut body = Vec::new();
    let at = bind(l, "at", Expr::Reg(i), &mut body);
    single(l, &items, &at, &mut body)?;
    body.push(Stmt::Assign(i, Expr::Reg(i).plus(wide(int32(shape.threads as i32)))));
    rest.push(Stmt::While(Expr::binary(BinaryOp::Lt, Expr::Reg(i), end), body));
    // a block number has 31 bits: cheaper than to compare indices
    let limit = window::limit(l, &plan.windows, shape.v, (count, plan.margin.1));
    let full_blocks = Expr::Cast(Ty::I32, Box::new(Expr::binary(BinaryOp::Shr, limit, shift(per_block))));
    let mut is_full = Expr::binary(BinaryOp::Lt, block, full_blocks);
    let tests = [
        window::inside(&plan.windows, shape.v, plan.margin.0, &start),
        tile::inside(l, &plan.windows, &start, per_block),
    ];
    for inside in tests.into_iter().flatten() {
        is_full = Expr::binary(BinaryOp::And, is_full, inside);
    }
    out.push(Stmt::If(is_full, full, rest));
    Ok(out)
}
