//! A whole filter in one launch, which reads each element once from memory. The other launches of a filter read all
//! elements to count them, and then again to store them.
//!
//! ```text
//! a turn of a block's loop (software pipeline):
//!     next tile:      load its elements, count those that are kept, note their numbers in shared memory in order,
//!                     publish the count
//!     present tile:   await earlier counts, compute the values of kept elements, store them
//!     then next becomes present
//! ```
//!
//! The kept elements of a tile go to neighbouring places behind those of earlier tiles. The number of all kept elements
//! is known only at the end, so the other places are filled from the last one on: each tile fills as many as it has
//! other elements ([`Filter`]). Values are computed by the thread that stores them, from arrays that the block has read
//! a turn before, so they are in a cache; and elements may have any types and number of arrays.

use super::{MIN_TILES, Prefixes, RESIDENT, number};
use crate::core::{SCAN_CHUNK, SCAN_ROW, SCAN_TILE};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Mem, Reg, Stmt};
use crate::plan::gpu::{Grid, Profit};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::boundary::interior::Interior;
use crate::schedule::cuda::expressions::{int32, thread, to_i64};
use crate::schedule::cuda::levels::is_zero;
use crate::schedule::cuda::scan::compact::{OF_THREAD, clear_outside};
use crate::schedule::cuda::scan::{Code, OF_WARP, THREADS};
use crate::schedule::cuda::thread_layout::ThreadLayout;
use crate::schedule::cuda::variant::{Choice, Guards, VariantGroup};
use crate::schedule::element::lower::{LaunchContext, Lower, bind};
use crate::schedule::element::{canonical, scalars};
use crate::schedule::facts::filter::Filter;
use crate::schedule::groups::{FusedGroup, Item};
use std::rc::Rc;

/// Returns the variants of a whole filter.
pub fn variants(_: &LaunchContext, fused: &FusedGroup, filter: &Rc<Filter>) -> Vec<VariantGroup> {
    let layout = ThreadLayout { v: SCAN_CHUNK, threads: THREADS, ..Default::default() };
    let guards = Guards::contiguous().narrow().noalias();
    let choice = Choice::Filter(filter.clone());
    let mut group = VariantGroup::guarded(choice, layout, &Rc::new(Interior::whole(fused)), &[("", guards)]);
    for variant in &mut group.variants {
        // no minimum share of the device: blocks take tiles as long as there are some
        variant.profit = Profit { min_blocks: Some(MIN_TILES), min_busy: Some(0), ..Profit::default() };
    }
    vec![group]
}

/// Returns the kernel body and its grid.
pub fn main(
    l: &mut Lower,
    fused: &FusedGroup,
    (filter, scalars): (&Filter, &[u32]),
    layout: ThreadLayout,
) -> Result<(Vec<Stmt>, Grid)> {
    l.k.kernel.min_resident_blocks = RESIDENT;
    let mut out = Vec::new();
    let stored = FusedGroup { items: filter.items.clone(), ..fused.clone() };
    let code = Code::new(l, (&filter.scan, &[]), &stored, layout, &mut out);
    let blocks = Blocks::new(l, (&code, filter), &mut out)?;
    blocks.tiles(l, &mut out)?;
    let (clear, is_last) = blocks.prefixes.clear(l, &mut out);
    out.push(Stmt::If(is_last, clear, vec![]));
    blocks.finish(l, scalars, &mut out)?;
    Ok((out, Grid::Tickets { resident: RESIDENT, words: 1 }))
}

/// What a block keeps from turn to turn of its loop over tiles.
struct Blocks<'a> {
    code: &'a Code<'a>,
    filter: &'a Filter,
    /// The number of elements.
    n: Expr,
    prefixes: Prefixes<'a>,
    /// Shared memory for the numbers of the kept elements of two tiles, and where those of the present and of the next
    /// tile begin.
    order: Mem,
    slots: [Reg; 2],
    /// How many elements of the present and of the next tile are kept.
    counts: [Reg; 2],
    /// The number of all kept elements, if this block has completed the last tile or there is none, else -1.
    total: Reg,
}

impl<'a> Blocks<'a> {
    fn new(
        l: &mut Lower,
        (code, filter): (&'a Code<'a>, &'a Filter),
        out: &mut Vec<Stmt>,
    ) -> Result<Blocks<'a>> {
        let n = filter.scan.length(&mut l.launch.g);
        let n = l.launch.host(n);
        let prefixes = Prefixes::new(l, code, out)?;
        let order = l.k.share("order", Ty::U16, 2 * SCAN_TILE as u32);
        let slots = [0, 1].map(|at| number(l, "slot", at * SCAN_TILE as i32, out));
        let counts = [0, 1].map(|_| number(l, "kept", 0, out));
        let total = number(l, "total", -1, out);
        // without a tile no block completes the last one
        let is_empty = is_zero(&prefixes.tiles);
        let is_empty = Expr::binary(BinaryOp::And, is_empty, is_zero(&Expr::Place(Gpu::Block)));
        out.push(Stmt::If(is_empty, vec![Stmt::Assign(total, int32(0))], vec![]));
        Ok(Blocks { code, filter, n, prefixes, order, slots, counts, total })
    }

    /// Writes the loop over the tiles of a block, as the head of this file has it.
    fn tiles(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<()> {
        let prefixes = &self.prefixes;
        let is_leader = is_zero(&thread());
        let ticket = Expr::load(prefixes.ticket, int32(0));
        let taken = l.k.reg("taken", Ty::I32);
        let first = vec![Prefixes::take(taken), Stmt::Store(prefixes.ticket, int32(0), Expr::Reg(taken))];
        out.extend([Stmt::If(is_leader.clone(), first, vec![]), Stmt::Barrier]);
        out.push(Stmt::Assign(prefixes.next, ticket.clone()));
        let (next, present) = (Expr::Reg(prefixes.next), Expr::Reg(prefixes.present));
        let is_next = Expr::binary(BinaryOp::Lt, next.clone(), prefixes.tiles.clone());
        let mut body = Vec::new();
        let has_next = bind(l, "more", is_next.clone(), &mut body);
        // the ticket arrives while the next tile is counted
        let (newest, taken) = (number(l, "newest", 0, &mut body), l.k.reg("taken", Ty::I32));
        let take = vec![Prefixes::take(taken), Stmt::Assign(newest, Expr::Reg(taken))];
        let takes = Expr::binary(BinaryOp::And, is_leader.clone(), has_next.clone());
        body.push(Stmt::If(takes, take, vec![]));
        let begin = l.in_block(|l| self.begin(l, &is_leader))?;
        body.extend([Stmt::If(has_next.clone(), begin, vec![]), Stmt::Barrier]);
        let store = Stmt::Store(prefixes.ticket, int32(0), Expr::Reg(newest));
        body.push(Stmt::If(is_leader, vec![store], vec![]));
        let complete = l.in_block(|l| self.complete(l))?;
        let has_present = Expr::binary(BinaryOp::Ge, present.clone(), int32(0));
        body.push(Stmt::If(has_present.clone(), complete, vec![Stmt::Barrier]));
        body.push(Stmt::Assign(prefixes.present, has_next.clone().select(next.clone(), int32(-1))));
        body.push(Stmt::Assign(prefixes.next, has_next.select(ticket, next)));
        body.push(Stmt::Assign(self.counts[0], Expr::Reg(self.counts[1])));
        let slot = bind(l, "first", Expr::Reg(self.slots[0]), &mut body);
        body.push(Stmt::Assign(self.slots[0], Expr::Reg(self.slots[1])));
        body.push(Stmt::Assign(self.slots[1], slot));
        out.push(Stmt::While(Expr::binary(BinaryOp::Or, is_next, has_present), body));
        Ok(())
    }

    /// Returns the code that counts the elements of the next tile that are kept, notes their numbers, and publishes
    /// the count.
    fn begin(&self, l: &mut Lower, is_leader: &Expr) -> Result<Vec<Stmt>> {
        let (code, mut out) = (self.code, Vec::new());
        let tile = to_i64(Expr::Reg(self.prefixes.next));
        let (elements, begin, is_full) = code.elements_of_tile(l, tile, &self.n, &mut out);
        let bits = code.load(l, &elements, (&is_full, &self.n), &mut out)?.concat();
        let of_lane = code.warp.clone().times(int32((OF_WARP * SCAN_ROW) as i32));
        let of_lane = of_lane.plus(code.lane.clone().times(int32(SCAN_CHUNK as i32)));
        let of_lane = bind(l, "first", of_lane, &mut out);
        let numbers: Vec<Expr> =
            (0..bits.len()).map(|k| of_lane.clone().plus(int32(elements.offset(k) as i32))).collect();
        let in_tile = self.n.clone().minus(begin).min(Expr::int(SCAN_TILE));
        let in_tile = bind(l, "inside", Expr::Cast(Ty::I32, Box::new(in_tile)), &mut out);
        clear_outside(&bits, &numbers, (&is_full, &in_tile), &mut out);
        let (before, count) = code.count(l, &bits, &mut out);
        let slot = Expr::Reg(self.slots[1]);
        for ((bit, number), before) in bits.iter().zip(&numbers).zip(before) {
            let number = Expr::Cast(Ty::U16, Box::new(number.clone()));
            let note = Stmt::Store(self.order, slot.clone().plus(before), number);
            out.push(Stmt::If(Expr::binary(BinaryOp::Ne, bit.clone(), int32(0)), vec![note], vec![]));
        }
        let mut publish = Vec::new();
        let word = self.prefixes.publish(l, vec![count.clone()], &mut publish);
        publish.extend(word);
        out.push(Stmt::If(is_leader.clone(), publish, vec![]));
        out.push(Stmt::Assign(self.counts[1], count));
        Ok(out)
    }

    /// Returns the code that computes the present tile's prefix from published counts, and stores the tile.
    fn complete(&self, l: &mut Lower) -> Result<Vec<Stmt>> {
        let mut out = Vec::new();
        let outer = self.prefixes.of_present(l, &mut out)?.remove(0);
        let present = Expr::Reg(self.prefixes.present);
        let begin = bind(l, "begin", present.clone().times(int32(SCAN_TILE as i32)), &mut out);
        let count = Expr::Reg(self.counts[0]);
        let up_to = bind(l, "all", outer.clone().plus(count.clone()), &mut out);
        let is_last = Expr::binary(BinaryOp::Eq, present.plus(int32(1)), self.prefixes.tiles.clone());
        out.push(Stmt::If(is_last, vec![Stmt::Assign(self.total, up_to.clone())], vec![]));
        let n = bind(l, "n", Expr::Cast(Ty::I32, Box::new(self.n.clone())), &mut out);
        let in_tile = n.clone().minus(begin.clone()).min(int32(SCAN_TILE as i32));
        let in_tile = bind(l, "inside", in_tile, &mut out);
        // other elements of this and earlier tiles = all elements - kept ones; the tile's own have numbers from
        // `count` on
        let others = n.minus(int32(1)).minus(begin.clone()).plus(up_to);
        let others = bind(l, "others", others, &mut out);
        let numbers: Vec<Expr> = (0..OF_THREAD)
            .map(|k| bind(l, "number", thread().plus(int32((k * i64::from(THREADS)) as i32)), &mut out))
            .collect();
        let is_kept: Vec<Expr> = (numbers.iter())
            .map(|number| {
                bind(l, "kept", Expr::binary(BinaryOp::Lt, number.clone(), count.clone()), &mut out)
            })
            .collect();
        let places: Vec<Expr> = (numbers.iter().zip(&is_kept))
            .map(|(number, is_kept)| {
                let kept = outer.clone().plus(number.clone());
                let to = is_kept.clone().select(kept, others.clone().minus(number.clone()));
                let to = bind(l, "to", to_i64(to), &mut out);
                // these places are indices of the result, so they are in bounds
                l.k.kernel.in_space.push(to.clone());
                to
            })
            .collect();
        for it in &self.filter.items {
            let values = self.values(l, it, (&begin, &outer), (&numbers, &is_kept), &mut out)?;
            let mem = l.launch.output(it);
            for ((to, value), number) in places.iter().zip(values).zip(&numbers) {
                let is_inside = Expr::binary(BinaryOp::Lt, number.clone(), in_tile.clone());
                out.push(Stmt::If(is_inside, vec![Stmt::Store(mem, to.clone(), value)], vec![]));
            }
        }
        Ok(out)
    }

    /// Returns the values of an item that the thread stores, given their numbers in the tile and which of them are of
    /// kept elements. The tile begins at index `begin`, and `outer` elements are kept before it.
    fn values(
        &self,
        l: &mut Lower,
        it: &Item,
        (begin, outer): (&Expr, &Expr),
        (numbers, is_kept): (&[Expr], &[Expr]),
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        let ty = l.launch.g.ty(it.node).elem;
        let rest = self.filter.rest(&mut l.launch.g, it);
        let rest = l.region(&[], &[rest], &Expr::int(0), out)?.remove(0);
        let rest = canonical(rest, ty, &mut l.k.kernel, out);
        let rest = bind(l, "rest", rest, out);
        let [(_, index), (_, up_to)] = [(); 2].map(|()| l.launch.g.fresh_var(Ty::I64));
        let root = self.filter.value(&mut l.launch.g, it, index, up_to);
        let slot = Expr::Reg(self.slots[0]);
        let mut values = Vec::new();
        for (number, is_kept) in numbers.iter().zip(is_kept) {
            // the first element stands for those that are not kept
            let at = self::number(l, "at", 0, out);
            let noted = Expr::load(self.order, slot.clone().plus(number.clone()));
            let noted = Expr::Cast(Ty::I32, Box::new(noted));
            out.push(Stmt::If(is_kept.clone(), vec![Stmt::Assign(at, noted)], vec![]));
            let i = bind(l, "i", to_i64(begin.clone().plus(Expr::Reg(at))), out);
            l.k.kernel.in_space.push(i.clone());
            let known =
                [(index, i.clone()), (up_to, to_i64(outer.clone().plus(number.clone()).plus(int32(1))))];
            let value = l.in_block(|l| l.region(&known, &[root], &i, out))?.remove(0);
            let value = canonical(value, ty, &mut l.k.kernel, out);
            values.push(bind(l, "value", is_kept.clone().select(value, rest.clone()), out));
        }
        Ok(values)
    }

    /// Writes the code of the block that knows the number of all kept elements. It stores the number, and the scalars
    /// that follow from it.
    fn finish(&self, l: &mut Lower, scalars: &[u32], out: &mut Vec<Stmt>) -> Result<()> {
        let Some(count) = self.filter.count else { return Ok(()) };
        l.k.once = true;
        let mut body = Vec::new();
        let known = [(count, to_i64(Expr::Reg(self.total)))];
        scalars::store(l, &known, scalars, &mut body)?;
        let is_known = Expr::binary(BinaryOp::Ge, Expr::Reg(self.total), int32(0));
        out.push(Stmt::If(Expr::binary(BinaryOp::And, is_zero(&thread()), is_known), body, vec![]));
        Ok(())
    }
}
