//! A whole filter in one launch, which reads each element once from memory. The other launches of a filter read all
//! elements to count them, and then again to store them.
//!
//! ```text
//! a turn of a block's loop (software pipeline):
//!     next tile:      load its elements, count those that are kept, publish the count, put these elements into shared
//!                     memory, in order; take the ticket of the tile after it
//!     present tile:   await earlier counts, store the kept elements
//!     then next becomes present
//! ```
//!
//! The kept elements of a tile go to neighbouring places behind those of earlier tiles. The number of all kept elements
//! is known only at the end, so the other places are filled from the last one on: each tile fills as many as it has
//! other elements ([`Filter`]). Small values are computed with the conditions and wait in shared memory. Of other
//! values the thread that stores them finds the element's number there, and computes them.

mod stores;

use super::{Prefixes, RESIDENT, number};
use crate::core::{NodeId, Op, SCAN_CHUNK, SCAN_TILE};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Mem, Reg, Stmt};
use crate::plan::gpu::{Grid, Profit};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::boundary::interior::Interior;
use crate::schedule::cuda::expressions::{int32, thread, to_i64};
use crate::schedule::cuda::levels::is_zero;
use crate::schedule::cuda::partial_tile::PartialTile;
use crate::schedule::cuda::scan::compact::{SKIP, SLOTS, clear_outside, skipped};
use crate::schedule::cuda::scan::{Code, THREADS};
use crate::schedule::cuda::thread_layout::ThreadLayout;
use crate::schedule::cuda::variant::{Choice, Guards, VariantGroup};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::scalars;
use crate::schedule::facts::filter::Filter;
use crate::schedule::facts::work;
use crate::schedule::groups::{FusedGroup, Item};
use std::rc::Rc;

/// The maximum number of bytes of an element's values in shared memory, which then has room for two blocks. And the
/// maximum number of operations of such a value, which is computed whether or not the element is kept.
const MAX_STAGED: usize = 4;
const MAX_STAGED_COST: u32 = 16;

/// Returns the variants of a whole filter.
pub fn variants(fused: &FusedGroup, filter: &Rc<Filter>) -> Vec<VariantGroup> {
    let layout = ThreadLayout { v: SCAN_CHUNK, threads: THREADS, ..Default::default() };
    let guards = Guards::contiguous().narrow().noalias();
    let choice = Choice::Filter(filter.clone());
    let mut group = VariantGroup::guarded(choice, layout, &Rc::new(Interior::whole(fused)), &[("", guards)]);
    for variant in &mut group.variants {
        // no minimum share of the device: blocks take tiles as long as there are some, and the other launches of a
        // filter take longer for short vectors, too
        variant.profit = Profit { min_busy: Some(0), ..Profit::default() };
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
    /// Shared memory for kept elements in order, of two tiles and then a place for each thread: the values of some
    /// items, and the numbers of elements, if other items need them.
    staged: Vec<(Item, Mem)>,
    order: Option<Mem>,
    /// Which of the two (0 or 1) the present and the next tile have.
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
        let items = staged_items(l, filter);
        let is_all = items.len() == filter.items.len();
        let staged = items.into_iter().map(|it| {
            let ty = l.launch.g.ty(it.node).elem;
            let memory = l.k.share("staged", ty, (2 * SLOTS) as u32 + THREADS);
            (it, memory)
        });
        let staged = staged.collect();
        let order = (!is_all).then(|| l.k.share("order", Ty::U16, 2 * SCAN_TILE as u32 + THREADS));
        let slots = [0, 1].map(|at| number(l, "slot", at, out));
        let counts = [0, 1].map(|_| number(l, "kept", 0, out));
        let total = number(l, "total", -1, out);
        // without a tile no block completes the last one
        let is_empty = is_zero(&prefixes.tiles);
        let is_empty = Expr::binary(BinaryOp::And, is_empty, is_zero(&Expr::Place(Gpu::Block)));
        out.push(Stmt::If(is_empty, vec![Stmt::Assign(total, int32(0))], vec![]));
        Ok(Blocks { code, filter, n, prefixes, staged, order, slots, counts, total })
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

    /// Returns the code that counts the elements of the next tile that are kept, publishes the count, and puts these
    /// elements into shared memory.
    fn begin(&self, l: &mut Lower, is_leader: &Expr) -> Result<Vec<Stmt>> {
        let (code, mut out) = (self.code, Vec::new());
        let tile = to_i64(Expr::Reg(self.prefixes.next));
        let (elements, begin, is_full) = code.elements_of_tile(l, tile, &self.n, &mut out);
        // of each element: whether it is kept (0 or 1), and the values of staged items
        let types: Vec<Ty> =
            code.types().chain(self.staged.iter().map(|(it, _)| l.launch.g.ty(it.node).elem)).collect();
        let load = |l: &mut Lower, out: &mut Vec<Stmt>| elements.load(l, &[], out);
        let roots = |l: &mut Lower, i: NodeId| {
            let (_, unused) = l.launch.g.fresh_var(Ty::I64);
            let g = &mut l.launch.g;
            let mut roots = self.filter.scan.elements(g, i);
            roots.extend(self.staged.iter().map(|(it, _)| self.filter.value(g, it, i, unused)));
            roots
        };
        let tile = PartialTile { elements: &elements, is_full: &is_full, n: &self.n, strided: false };
        let values = tile.values(l, ("own", &types), &load, roots, &mut out)?;
        let bits: Vec<Expr> = values.iter().map(|of_element| of_element[0].clone()).collect();
        let numbers = code.numbers(l, &elements, &mut out);
        let in_tile = self.n.clone().minus(begin).min(Expr::int(SCAN_TILE));
        let in_tile = bind(l, "inside", Expr::Cast(Ty::I32, Box::new(in_tile)), &mut out);
        clear_outside(&bits, &numbers, (&is_full, &in_tile), &mut out);
        let (before, count) = code.count(l, &bits, &mut out);
        let mut publish = Vec::new();
        let word = self.prefixes.publish(l, vec![count.clone()], &mut publish);
        publish.extend(word);
        out.push(Stmt::If(is_leader.clone(), publish, vec![]));
        out.push(Stmt::Assign(self.counts[1], count));
        self.stage(l, (&values, &numbers), before, &mut out);
        Ok(out)
    }

    /// Stores kept elements of the next tile in shared memory, in order: the values of staged items, and the elements'
    /// numbers. `before` has, for each chunk of the thread, how many of the tile are kept before it. What is not kept
    /// is stored where nothing reads it: a store on a condition would take longer.
    fn stage(
        &self,
        l: &mut Lower,
        (values, numbers): (&[Vec<Expr>], &[Expr]),
        before: Vec<Expr>,
        out: &mut Vec<Stmt>,
    ) {
        let [of_order, of_staged] = self.bases(l, self.slots[1], out);
        let [spare_order, spare_staged] =
            [SCAN_TILE, SLOTS].map(|first| bind(l, "spare", thread().plus(int32(2 * first as i32)), out));
        let chunk = SCAN_CHUNK as usize;
        for ((values, numbers), first) in values.chunks(chunk).zip(numbers.chunks(chunk)).zip(before) {
            let mut at = first;
            for (values, number) in values.iter().zip(numbers) {
                let bit = &values[0];
                let is_kept = Expr::binary(BinaryOp::Ne, bit.clone(), int32(0));
                let is_kept = bind(l, "kept", is_kept, out);
                if let Some(order) = self.order {
                    let to = is_kept.clone().select(of_order.clone().plus(at.clone()), spare_order.clone());
                    let number = Expr::Cast(Ty::U16, Box::new(number.clone()));
                    out.push(Stmt::Store(order, to, number));
                }
                if !self.staged.is_empty() {
                    let to = of_staged.clone().plus(skipped(at.clone()));
                    let to = bind(l, "to", is_kept.select(to, spare_staged.clone()), out);
                    let stores = self.staged.iter().zip(&values[1..]);
                    out.extend(stores.map(|((_, m), value)| Stmt::Store(*m, to.clone(), value.clone())));
                }
                at = bind(l, "at", at.plus(bit.clone()), out);
            }
        }
    }

    /// Returns where in shared memory the numbers of a tile begin, and its staged values.
    fn bases(&self, l: &mut Lower, slot: Reg, out: &mut Vec<Stmt>) -> [Expr; 2] {
        [SCAN_TILE, SLOTS].map(|size| bind(l, "base", Expr::Reg(slot).times(int32(size as i32)), out))
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

/// Returns the items whose values wait in shared memory: small values that are read from arrays and take few
/// operations.
fn staged_items(l: &mut Lower, filter: &Filter) -> Vec<Item> {
    let (mut bytes, mut staged) = (0, Vec::new());
    for it in &filter.items {
        let size = l.launch.g.ty(it.node).elem.size();
        let [(_, index), (_, up_to)] = [(); 2].map(|()| l.launch.g.fresh_var(Ty::I64));
        let value = filter.value(&mut l.launch.g, it, index, up_to);
        let read = l.launch.g.reachable([value]);
        let is_read = read.iter().any(|n| matches!(l.launch.g.op(*n), Op::Elem(..)));
        let is_cheap = work::of_roots(&mut l.launch.g, vec![value], &[]).0 <= MAX_STAGED_COST;
        if bytes + size <= MAX_STAGED && is_read && is_cheap && !read.contains(&up_to) {
            bytes += size;
            staged.push(it.clone());
        }
    }
    staged
}
