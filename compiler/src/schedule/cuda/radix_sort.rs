//! The steps of a radix sort (`core/digits.rs`), with a block for each tile. One step counts the tile's elements by
//! digit, another one sums the counts (`radix_sort/sums.rs`), and the last one moves the elements (D. Merrill, A.
//! Grimshaw, "High performance and scalable radix sorting", 2011).
//!
//! A warp has 512 neighbouring elements of the tile.
//!
//! **Count.** Each lane number has a counter in shared memory for each of the 256 digits, to which its threads in all
//! warps add by atomic operations. So the lanes of a warp add in 32 different banks. The tile's counts are the sums
//! of its lanes' counters.
//!
//! **Move.** Each warp has a counter for each digit. Lanes count their elements row by row, one lane after the other
//! ([`Stmt::Count`]). The counter's old value is the element's rank: the number of elements with the same digit
//! before it in the warp. So the sort is stable. An element's place in the tile, ordered by digits:
//!
//! ```text
//! place = elements with lower digits in the tile + elements with its digit in earlier warps + its rank
//! ```
//!
//! Elements past the last one count as elements with the last digit: their places are behind all others of the tile,
//! and nothing stores them.

mod block_scan;
mod moves;
mod places;
mod sums;

use super::elements::Elements;
use super::expressions::{int32, masked, thread, to_i64, warp_number};
use super::partial_tile::PartialTile;
use super::segments::lane;
use super::thread_layout::ThreadLayout;
use super::variant::{Choice, Guards, VariantGroup};
use crate::core::NodeId;
use crate::core::digits::{DIGIT_TILE, DIGITS};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Mem, Stmt, WARP};
use crate::plan::gpu::Grid;
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::boundary::interior::Interior;
use crate::schedule::element::element;
use crate::schedule::element::lower::{LaunchContext, Lower, bind};
use crate::schedule::facts::radix::{RadixStep, Work};
use crate::schedule::groups::FusedGroup;
use block_scan::{BlockScan, THREADS, WARPS, sum};
use places::{DigitsOfPlaces, Places};
use std::rc::Rc;

/// The number of elements of a thread.
const OF_THREAD: i64 = DIGIT_TILE / THREADS as i64;
const OF_WARP: i64 = DIGIT_TILE / WARPS;
/// The number of low bits that hold an element's rank in its warp, with room to spare; its digit lies above them.
const RANK_BITS: i32 = 16;

/// Returns the variants of a step of a radix sort, or `None` if the group is not one.
pub fn variants(l: &mut LaunchContext, fused: &FusedGroup) -> Option<Vec<VariantGroup>> {
    let step = RadixStep::of(&l.g, &fused.items)?;
    let inner = Rc::new(Interior::whole(fused));
    let group = |strided: bool, list: &[(&str, Guards)]| {
        let layout = ThreadLayout { v: 1, strided, threads: THREADS, ..Default::default() };
        let mut group = VariantGroup::guarded(Choice::RadixSort(step), layout, &inner, list);
        for variant in &mut group.variants {
            // there is no other code, however few blocks there are
            variant.profit.min_busy = Some(0);
        }
        group
    };
    let contiguous = Guards::contiguous();
    let usual = ("", contiguous.narrow().noalias());
    if !l.wanted.is_general() {
        return Some(vec![group(false, &[usual, ("_wide", contiguous)])]);
    }
    let strided = Guards::strided();
    Some(vec![group(false, &[usual]), group(true, &[("_any", strided.narrow()), ("_any_wide", strided)])])
}

/// Returns the kernel body and its grid.
pub fn main(
    l: &mut Lower,
    fused: &FusedGroup,
    step: &RadixStep,
    layout: ThreadLayout,
) -> Result<(Vec<Stmt>, Grid)> {
    if step.work == Work::Sum {
        return Ok((sums::main(l, fused, step)?, Grid::Segments(1)));
    }
    // several blocks are resident on a multiprocessor, so that some rank, store or count while others load; addresses
    // with strides take more registers, so that one block fits
    l.k.kernel.min_resident_blocks = match layout.strided {
        true => 1,
        false if step.moves() => 2,
        false => 3,
    };
    let mut out = Vec::new();
    let lane = lane(l, WARP, &mut out);
    let warp = bind(l, "warp", warp_number(), &mut out);
    let n = step.length(&mut l.launch.g);
    let (n, tiles) = (l.launch.host(n), l.launch.host(step.tiles()));
    let tile = bind(l, "tile", to_i64(Expr::Place(Gpu::Block)), &mut out);
    let begin = bind(l, "begin", tile.clone().times(Expr::int(DIGIT_TILE)), &mut out);
    let in_tile = n.clone().minus(begin.clone()).min(Expr::int(DIGIT_TILE));
    let in_tile = bind(l, "inside", Expr::Cast(Ty::I32, Box::new(in_tile)), &mut out);
    let copies = if step.moves() { WARPS } else { i64::from(WARP) };
    let counters = l.k.share("counters", Ty::U32, (copies * DIGITS) as u32);
    let of_warp = bind(l, "own", warp.clone().times(int32(DIGITS as i32)), &mut out);
    let number = to_i64(own_digit()).times(tiles.clone()).plus(tile);
    let number = bind(l, "number", number, &mut out);
    let is_full = Expr::binary(BinaryOp::Eq, in_tile.clone(), int32(DIGIT_TILE as i32));
    let is_full = bind(l, "full", is_full, &mut out);
    let base = to_i64(warp.clone().times(int32(OF_WARP as i32)).plus(lane.clone()));
    let base = bind(l, "base", begin.plus(base), &mut out);
    let elements = Elements::new(l, base, (0..OF_THREAD).map(|k| k * WARP as i64).collect(), 1);
    let code = Code {
        fused,
        step,
        layout,
        elements,
        lane,
        warp,
        n,
        in_tile,
        is_full,
        counters,
        of_warp,
        tiles,
        number,
    };
    if step.moves() {
        code.clear_own(&mut out);
        let (digits, keys) = code.digits_and_keys(l, &mut out)?;
        let ranks = code.ranks(l, digits, &mut out);
        out.push(Stmt::Barrier);
        let places = code.places(l, &ranks, &mut out)?;
        code.store(l, &places, keys, &mut out)?;
    } else {
        let digits = code.load(l, &[Ty::I32], |l, i| vec![step.digit(&mut l.launch.g, i)], &mut out)?;
        code.clear(&mut out);
        out.push(Stmt::Barrier);
        code.count(digits.concat(), &mut out);
        out.push(Stmt::Barrier);
        code.store_counts(l, &mut out);
    }
    Ok((out, Grid::Segments(1)))
}

/// What the functions that write the kernel share.
struct Code<'a> {
    fused: &'a FusedGroup,
    step: &'a RadixStep,
    lane: Expr,
    warp: Expr,
    layout: ThreadLayout,
    elements: Elements,
    /// The number of all elements, the number of the tile's elements, and whether the tile is full.
    n: Expr,
    in_tile: Expr,
    is_full: Expr,
    /// The counters, and the index of the first one of the thread's warp if each warp has its own.
    counters: Mem,
    of_warp: Expr,
    /// The number of tiles, and the index of the count of the thread's digit in this tile, in the matrix of digits
    /// and tiles.
    tiles: Expr,
    number: Expr,
}

impl Code<'_> {
    /// Sets the counters of the lanes to 0.
    fn clear(&self, out: &mut Vec<Stmt>) {
        for k in 0..i64::from(WARP) * DIGITS / i64::from(THREADS) {
            let at = thread().plus(int32((k * i64::from(THREADS)) as i32));
            out.push(Stmt::Store(self.counters, at, Expr::Lit(Lit::zero(Ty::U32))));
        }
    }

    /// Sets the counters of the warp to 0. No other warp accesses them before the barrier.
    fn clear_own(&self, out: &mut Vec<Stmt>) {
        for k in 0..DIGITS / WARP as i64 {
            let at = self.of_warp.clone().plus(self.lane.clone()).plus(int32(k as i32 * WARP as i32));
            out.push(Stmt::Store(self.counters, at, Expr::Lit(Lit::zero(Ty::U32))));
        }
    }

    /// Returns the values of some nodes for each of the thread's elements. Elements past the last one get its values.
    fn load(
        &self,
        l: &mut Lower,
        types: &[Ty],
        roots: impl FnMut(&mut Lower, NodeId) -> Vec<NodeId>,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Vec<Expr>>> {
        let (elements, is_full, n) = (&self.elements, &self.is_full, &self.n);
        let tile = PartialTile { elements, is_full, n, strided: self.layout.strided };
        tile.values(l, ("x", types), &|_, _| {}, roots, out)
    }

    /// Returns whether the thread's element `k` exists.
    fn is_inside(&self, k: i32) -> Expr {
        let of_lane = self.warp.clone().times(int32(OF_WARP as i32)).plus(self.lane.clone());
        Expr::binary(BinaryOp::Lt, of_lane.plus(int32(k * WARP as i32)), self.in_tile.clone())
    }

    /// Counts the digits of the thread's elements, in any order.
    fn count(&self, digits: Vec<Expr>, out: &mut Vec<Stmt>) {
        for (digit, k) in digits.into_iter().zip(0..) {
            let index = digit.times(int32(WARP as i32)).plus(self.lane.clone());
            let one = Stmt::Update(BinaryOp::Add, self.counters, index, Expr::Lit(Lit::u32(1)));
            out.push(Stmt::If(self.is_inside(k), vec![one], vec![]));
        }
    }

    /// Counts the digits of the thread's elements. Returns for each element one value that packs its digit, above
    /// [`RANK_BITS`], and its rank: the number of elements with that digit before it in the warp.
    fn ranks(&self, l: &mut Lower, digits: Vec<Expr>, out: &mut Vec<Stmt>) -> Vec<Expr> {
        let mut ranks = Vec::new();
        for digit in digits {
            let rank = l.k.reg("rank", Ty::U32);
            let index = self.of_warp.clone().plus(digit.clone());
            out.push(Stmt::Count { old: rank, at: self.counters, index, bits: DIGITS.ilog2() });
            let high = Expr::binary(BinaryOp::Shl, digit, int32(RANK_BITS));
            let both = high.plus(Expr::Cast(Ty::I32, Box::new(Expr::Reg(rank))));
            ranks.push(bind(l, "both", both, out));
        }
        ranks
    }

    /// Returns the digits of the thread's elements; those past the last one have the last digit. If the first array
    /// has elements of at most 4 bytes, they stay in registers, too.
    fn digits_and_keys(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<(Vec<Expr>, Option<Vec<Expr>>)> {
        let keys = self.fused.items[0].node;
        let ty = l.launch.g.ty(keys).elem;
        let are_kept = ty.size() <= 4;
        let types = if are_kept { vec![Ty::I32, ty] } else { vec![Ty::I32] };
        let roots = |l: &mut Lower, i: NodeId| {
            let g = &mut l.launch.g;
            let digit = self.step.digit(g, i);
            if are_kept { vec![digit, element(g, keys, i)] } else { vec![digit] }
        };
        let values = self.load(l, &types, roots, out)?;
        let digits: Vec<Expr> = values.iter().map(|v| v[0].clone()).collect();
        let mut outside = Vec::new();
        for (digit, k) in digits.iter().zip(0..) {
            let Expr::Reg(own) = digit else { unreachable!("the elements of a tile are in registers") };
            let digit = self.is_inside(k).select(digit.clone(), int32(DIGITS as i32 - 1));
            outside.push(Stmt::Assign(*own, digit));
        }
        out.push(Stmt::If(self.is_full.clone(), vec![], outside));
        let keys = are_kept.then(|| values.into_iter().map(|mut v| v.remove(1)).collect());
        Ok((digits, keys))
    }

    /// Returns the index of a warp's counter of the thread's digit.
    fn counter(&self, w: i32) -> Expr {
        own_digit().plus(int32(w * DIGITS as i32))
    }

    /// Stores the tile's counts. A thread sums a digit's counters of all lanes, beginning at its own lane, so that
    /// those of a warp read 32 different banks.
    fn store_counts(&self, l: &mut Lower, out: &mut Vec<Stmt>) {
        let mut body = Vec::new();
        let first = bind(l, "first", thread().times(int32(WARP as i32)), &mut body);
        let counter = |k: i32| {
            let lane = masked(self.lane.clone().plus(int32(k)), WARP.into());
            Expr::load(self.counters, first.clone().plus(lane))
        };
        let total = sum((0..WARP as i32).map(counter).collect());
        let total = bind(l, "total", Expr::Cast(Ty::I32, Box::new(total)), &mut body);
        let store = |it| Stmt::Store(l.launch.output(it), self.number.clone(), total.clone());
        body.extend(self.fused.items.iter().map(store));
        out.push(of_digits(body));
    }

    /// Computes the place of each of the thread's elements in the tile, and what gives the destination of a place:
    /// `place + distances[digit of the element at the place]`. Each warp's counter of a digit is replaced by
    /// the place of the warp's first element with that digit.
    fn places(&self, l: &mut Lower, ranks: &[Expr], out: &mut Vec<Stmt>) -> Result<Places> {
        let count = |w| Expr::load(self.counters, self.counter(w));
        let total = bind(l, "total", sum((0..WARPS as i32).map(count).collect()), out);
        let (of_digit, before) = self.ends(l, out)?;
        let sums = BlockScan::new(l, [total, of_digit], out);
        let [first, of_lower] = sums.before(l, out);
        let distances = l.k.share("distances", Ty::U32, DIGITS as u32);
        // the counts are read again, because registers are few
        let (mut of_warp, mut firsts) = (first.clone(), Vec::new());
        for w in 0..WARPS as i32 {
            let next = bind(l, "first", of_warp.clone().plus(count(w)), &mut firsts);
            firsts.push(Stmt::Store(self.counters, self.counter(w), of_warp));
            of_warp = next;
        }
        out.push(of_digits(firsts));
        // of at most 2^32 elements, one with this digit stands behind fewer
        let before = Expr::Cast(Ty::U32, Box::new(before));
        let begin = bind(l, "to", of_lower.plus(before), out);
        out.push(of_digits(vec![Stmt::Store(distances, thread(), begin.minus(first))]));
        out.push(Stmt::Barrier);
        let digits = DigitsOfPlaces::of(l, self.step, self.fused.items[0].node);
        let mut own = Vec::new();
        for both in ranks {
            let digit = Expr::binary(BinaryOp::Shr, both.clone(), int32(RANK_BITS));
            let digit = bind(l, "digit", digit, out);
            let rank = Expr::binary(BinaryOp::And, both.clone(), int32((1 << RANK_BITS) - 1));
            let before = Expr::load(self.counters, self.of_warp.clone().plus(digit.clone()));
            let place = rank.plus(Expr::Cast(Ty::I32, Box::new(before)));
            let place = bind(l, "place", place, out);
            if let DigitsOfPlaces::Stored(mem) = digits {
                out.push(Stmt::Store(mem, place.clone(), Expr::Cast(Ty::U8, Box::new(digit))));
            }
            own.push(place);
        }
        Ok(Places { own, digits, distances })
    }

    /// Returns the number of elements with the thread's digit, u32, and the number of those in the tiles before.
    fn ends(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<(Expr, Expr)> {
        let one = Expr::int(1);
        let last = to_i64(own_digit()).plus(one.clone()).times(self.tiles.clone()).minus(one.clone());
        let before = Expr::binary(BinaryOp::Max, self.number.clone().minus(one), Expr::int(0));
        let mut ends = Vec::new();
        for at in [last, before] {
            let at = bind(l, "at", at, out);
            let (_, var) = l.launch.g.fresh_var(Ty::I64);
            let roots: Vec<NodeId> = self.step.end(&mut l.launch.g, var).into_iter().collect();
            let values = l.in_block(|l| l.region(&[(var, at.clone())], &roots, &at, out))?;
            ends.extend(values.into_iter().map(|e| bind(l, "end", e, out)));
        }
        let is_first = Expr::binary(BinaryOp::Eq, Expr::Place(Gpu::Block), int32(0));
        let before = is_first.select(Expr::int(0), ends.remove(1));
        Ok((Expr::Cast(Ty::U32, Box::new(ends.remove(0))), before))
    }

    /// Returns the thread's elements of an array.
    fn array(&self, l: &mut Lower, number: usize, out: &mut Vec<Stmt>) -> Result<Vec<Expr>> {
        let node = self.fused.items[number].node;
        let ty = l.launch.g.ty(node).elem;
        Ok(self.load(l, &[ty], |l, i| vec![element(&mut l.launch.g, node, i)], out)?.concat())
    }
}

/// Returns the thread's digit. Threads beyond the digits compute what others compute, and do not store it.
fn own_digit() -> Expr {
    masked(thread(), DIGITS)
}

/// Returns a statement that runs in one thread for each digit.
fn of_digits(body: Vec<Stmt>) -> Stmt {
    Stmt::If(Expr::binary(BinaryOp::Lt, thread(), int32(DIGITS as i32)), body, vec![])
}
