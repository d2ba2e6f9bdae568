//! Shared-memory tiles of vectors: the block loads what its elements read around themselves into shared memory once,
//! by 16-byte accesses. Chosen by the cost model for stencils of many taps (`stencil_cost.rs`), and where the
//! distance of the taps is known only at the call. The cost is a barrier, and a load from shared memory for each tap.
//!
//! ```text
//! x[start + first ..+ len]  ->  tile[0 ..+ len]
//! barrier
//! a thread loads its windows (`register_window.rs`) from the tile
//! ```
//!
//! If an array is read with a shift that is known only at the call, the loads begin at the last aligned index before
//! it. The elements are stored one by one, so that the tile begins where it would without a shift, and windows are
//! loaded from it by the same accesses.

use super::elements::bind_all;
use super::expressions::{int32, thread, to_i64};
use super::register_window::{self, Tile, Window};
use crate::core::{NodeId, linear};
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::boundary::halo::Halo;
use crate::schedule::element::lower::{LaunchContext, Lower, bind};

/// The bytes of shared memory that a block has on every device.
const MAX_BYTES: i64 = 48 << 10;

/// Assigns tiles to the windows that want one, for blocks of `per_block` elements. Returns false if the tiles are too
/// large.
pub fn assign_tiles(l: &mut LaunchContext, windows: &mut [Window], v: i64, per_block: i64) -> bool {
    let mut bytes = 0;
    for w in windows.iter_mut().filter(|w| w.tile.is_some()) {
        let width = register_window::widest(l, w.array, v);
        let (first, end) = w.reach();
        let first = first.div_euclid(width) * width;
        let end = (end + per_block - v + width - 1).div_euclid(width) * width;
        let pad = if w.is_shifted(l) { width } else { 0 };
        let beyond = end - per_block;
        let tile = Tile { mem: None, first, beyond, len: end - first, pad, width, own: None };
        bytes += tile.size() * l.g.ty(w.array).elem.size() as i64 + 16;
        w.tile = Some(tile);
    }
    bytes <= MAX_BYTES
}

/// Declares the shared memory of the tiles.
pub fn declare(l: &mut Lower, windows: &mut [Window], v: i64, out: &mut Vec<Stmt>) {
    for w in windows.iter_mut() {
        let Some(tile) = &mut w.tile else { continue };
        let mem = l.k.share("tile", l.launch.g.ty(w.array).elem, tile.size() as u32);
        let own = bind(l, "own", thread().times(int32(v as i32)), out);
        (tile.mem, tile.own) = (Some(mem), Some(own));
    }
}

/// Fills the tiles of a block whose first element is `start`. The caller adds the barrier.
pub fn fill(l: &mut Lower, windows: &[Window], start: &Expr, out: &mut Vec<Stmt>) {
    let threads = i64::from(l.k.kernel.threads);
    let mut stores = Vec::new();
    for w in windows {
        let is_shifted = w.is_shifted(l.launch);
        let Some((tile, mem)) = w.tile.as_ref().and_then(|t| Some((t, t.mem?))) else { continue };
        let (from, skipped) = match is_shifted {
            true => shifted(l, w.shift, tile, out),
            false => (Expr::int(tile.first), None),
        };
        let from = bind(l, "from", start.clone().plus(from), out);
        let accesses = tile.len / tile.width + i64::from(is_shifted);
        for round in 0..(accesses + threads - 1) / threads {
            let mut load = Vec::new();
            let number = thread().plus(int32((round * threads) as i32));
            let at = bind(l, "at", number.clone().times(int32(tile.width as i32)), &mut load);
            let source = from.clone().plus(to_i64(at.clone()));
            let regs = bind_all(l, w.array, source, tile.width, &mut load);
            let to = match &skipped {
                None => at,
                Some(skipped) => at.plus(int32(tile.pad as i32)).minus(skipped.clone()),
            };
            let list = regs.into_iter().map(Expr::Reg);
            let mut store: Vec<Stmt> = match is_shifted || tile.width == 1 {
                false => vec![Stmt::StoreVec(mem, to, list.collect())],
                true => list.zip(0..).map(|(e, k)| Stmt::Store(mem, to.clone().plus(int32(k)), e)).collect(),
            };
            let rest = accesses - round * threads;
            if rest < threads {
                load.append(&mut store);
                let some = Expr::binary(BinaryOp::Lt, thread(), int32(rest as i32));
                out.push(Stmt::If(some, load, vec![]));
            } else {
                out.append(&mut load);
                stores.append(&mut store);
            }
        }
    }
    out.append(&mut stores);
}

/// Fills the tiles of a boundary block element by element, with the halo.
pub fn fill_boundary(
    l: &mut Lower,
    windows: &[Window],
    halo: &Halo,
    start: &Expr,
    out: &mut Vec<Stmt>,
) -> Result<()> {
    for w in windows {
        let Some((tile, mem)) = w.tile.as_ref().and_then(|t| Some((t, t.mem?))) else { continue };
        let number = l.k.reg("number", Ty::I32);
        out.push(Stmt::Var(number, thread()));
        let mut body = Vec::new();
        let index = Expr::Reg(number);
        let at = start.clone().plus(Expr::int(tile.first)).plus(to_i64(index.clone()));
        let at = bind(l, "at", at, &mut body);
        let e = read_halo(l, w.array, halo, &at, &mut body)?;
        body.push(Stmt::Store(mem, index, e));
        body.push(Stmt::Assign(number, Expr::Reg(number).plus(int32(l.k.kernel.threads as i32))));
        out.push(Stmt::While(Expr::binary(BinaryOp::Lt, Expr::Reg(number), int32(tile.len as i32)), body));
    }
    Ok(())
}

/// Returns what is read at an index that may be out of bounds.
pub fn read_halo(l: &mut Lower, array: NodeId, halo: &Halo, at: &Expr, out: &mut Vec<Stmt>) -> Result<Expr> {
    let (_, index) = l.launch.g.fresh_var(Ty::I64);
    if let Some(node) = halo.value(l.launch, array, &[index]) {
        return Ok(l.region(&[(index, at.clone())], &[node], &Expr::int(0), out)?.remove(0));
    }
    let (mem, n) = (l.launch.input(array), l.launch.extent(array, 0));
    let low = Expr::binary(BinaryOp::Ge, at.clone(), Expr::int(0));
    let inside = Expr::binary(BinaryOp::And, low, Expr::binary(BinaryOp::Lt, at.clone(), l.launch.host(n)));
    Ok(Expr::LoadIf(mem, Box::new(at.clone()), Box::new(inside)))
}

/// Returns where the loads of a shifted array begin, counted from the block's first element, and by how many elements
/// that is too early (i32).
fn shifted(l: &mut Lower, shift: NodeId, tile: &Tile, out: &mut Vec<Stmt>) -> (Expr, Option<Expr>) {
    let first = l.launch.g.lit(Lit::i64(tile.first));
    let begin = linear::add(&mut l.launch.g, shift, first);
    let begin = l.launch.host(begin);
    let early = Expr::binary(BinaryOp::And, begin.clone(), Expr::int(tile.width - 1));
    let early = bind(l, "early", early, out);
    let from = begin.minus(early.clone());
    let early = bind(l, "skipped", Expr::Cast(Ty::I32, Box::new(early)), out);
    (from, Some(early))
}

/// Returns whether all loads into the tiles of shifted arrays are in bounds, for the block whose first element is
/// `start`. `None` if there are no such arrays.
pub fn inside(l: &mut Lower, windows: &[Window], start: &Expr, per_block: i64) -> Option<Expr> {
    let mut all: Option<Expr> = None;
    for w in windows {
        let (true, Some(tile)) = (w.is_shifted(l.launch), &w.tile) else { continue };
        let (before, after) = (tile.first - tile.width, tile.beyond + tile.width);
        let (shift, len) = (l.launch.host(w.shift), l.launch.extent(w.array, 0));
        let at = start.clone().plus(shift);
        let low = Expr::binary(BinaryOp::Ge, at.clone(), Expr::int(-before));
        let high = Expr::binary(BinaryOp::Le, at, l.launch.host(len).minus(Expr::int(per_block + after)));
        let in_range = Expr::binary(BinaryOp::And, low, high);
        all = Some(all.map_or(in_range.clone(), |all| Expr::binary(BinaryOp::And, all, in_range)));
    }
    all
}
