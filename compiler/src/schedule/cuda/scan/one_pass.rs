//! A whole scan in one launch, which reads each element once. Resident blocks take tiles by ticket, that is, in order
//! from a shared counter. So all tiles before a given one were taken by blocks that are running, and waiting for them
//! cannot deadlock. A block publishes the total of its tile in a word of memory, and awaits the totals of the tiles
//! since its previous one.
//!
//! This differs from D. Merrill, M. Garland, "Single-pass parallel prefix scan with decoupled look-back", 2016:
//! blocks publish totals but no prefixes. Each block joins the totals of all groups in order by itself. So no
//! dependence chain goes through memory, and results do not depend on timing.
//!
//! ```text
//! a turn of a block's loop (software pipeline):
//!     later tile:     begin its asynchronous copies; take the ticket of the tile after it
//!     next tile:      load its elements, scan within rows, publish its total
//!     present tile:   await earlier totals, compute its prefix, store its partial results
//!     then next becomes present, and later becomes next
//! ```
//!
//! The total of the next tile is published before the block waits for the present tile's prefix, so the totals that a
//! block awaits are normally there already. From turn to turn, elements stay in shared memory, where each thread has
//! its own, to save registers. If elements are those of arrays, one for each component, they are copied there
//! asynchronously. The last block to arrive clears the words.
//!
//! With values of 8 bytes, one block fills shared memory, and has twice as many threads. All warps of the
//! multiprocessor then wait at the same barriers, so such a scan alone is slower than the parts; with reductions of
//! its results it is faster.
//!
//! Chosen for long vectors. The cost is 8 bytes of memory a tile for each 4 bytes of a total, which one block clears.

pub mod filter;
mod memory;
mod prefixes;
mod reductions;

use super::{Code, ROWS, THREADS, Value, chosen, store_all};
use crate::core::{SCAN_CHUNK, SCAN_TILE};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Reg, Stmt};
use crate::plan::gpu::{Grid, Profit};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::boundary::interior::Interior;
use crate::schedule::cuda::elements::Elements;
use crate::schedule::cuda::expressions::{int32, thread, to_i64};
use crate::schedule::cuda::levels;
use crate::schedule::cuda::partial_tile::assigned;
use crate::schedule::cuda::thread_layout::ThreadLayout;
use crate::schedule::cuda::variant::{Choice, Guards, VariantGroup};
use crate::schedule::element::lower::{LaunchContext, Lower, bind};
use crate::schedule::facts::scans::Scan;
use crate::schedule::groups::{FusedGroup, is_store};
use memory::{TileMemory, row_of};
use prefixes::{Prefixes, number};
use reductions::Reductions;
use std::rc::Rc;

/// The minimum number of tiles for which one pass is faster than a launch for each part, and the same for scans with
/// reductions of their results.
const MIN_TILES: u32 = 512;
const MIN_REDUCED: u32 = 128;
/// The number of resident blocks of a multiprocessor for values of 4 bytes.
const RESIDENT: u32 = 2;

/// Returns the number of resident blocks of a multiprocessor. It has the same number of threads for all values.
fn resident_blocks(scan: &Scan) -> u32 {
    RESIDENT * 4 / scan.bytes().max(4) as u32
}

/// Returns the variants of a whole scan.
pub fn variants(l: &LaunchContext, fused: &FusedGroup, scan: &Scan) -> Vec<VariantGroup> {
    let reduces = l.facts.scan_reductions.is_some();
    if !scan.is_one_pass(reduces) {
        return Vec::new();
    }
    let threads = THREADS * RESIDENT / resident_blocks(scan);
    let layout = ThreadLayout { v: SCAN_CHUNK, threads, ..Default::default() };
    let contiguous = Guards::contiguous();
    let all =
        [("", contiguous.narrow().noalias()), ("_in_place", contiguous.narrow()), ("_wide", contiguous)];
    let stores = fused.items.iter().any(|it| is_store(&l.g, it));
    let is_wanted = |(suffix, guards): &(&str, Guards)| {
        (stores || *suffix != "_in_place") && (guards.narrow || l.wanted.is_general())
    };
    let all: Vec<(&str, Guards)> = all.into_iter().filter(is_wanted).collect();
    let choice = Choice::WholeScan(scan.clone());
    let mut group = VariantGroup::guarded(choice, layout, &Rc::new(Interior::whole(fused)), &all);
    let min_tiles = if reduces { MIN_REDUCED } else { MIN_TILES };
    for variant in &mut group.variants {
        // no minimum share of the device: blocks take tiles as long as there are some
        variant.profit = Profit { min_blocks: Some(min_tiles), min_busy: Some(0), ..Profit::default() };
    }
    vec![group]
}

/// Returns the kernel body and its grid.
pub fn main(
    l: &mut Lower,
    fused: &FusedGroup,
    (scan, scalars): (&Scan, &[u32]),
    layout: ThreadLayout,
) -> Result<(Vec<Stmt>, Grid)> {
    l.k.kernel.min_resident_blocks = resident_blocks(scan);
    let mut out = Vec::new();
    let stored = fused.items.iter().filter(|it| is_store(&l.launch.g, it)).cloned().collect();
    let stored = FusedGroup { items: stored, ..fused.clone() };
    let items = Scan::items(&l.launch.g, &stored.items);
    let code = Code::new(l, (scan, &items), &stored, layout, &mut out);
    let blocks = Blocks::new(l, &code, &mut out)?;
    blocks.tiles(l, &mut out)?;
    let mut last = blocks.prefixes.clear(l, &mut out);
    if let Some(reductions) = &blocks.reductions {
        reductions.finish(l, scalars, &mut last.0)?;
    }
    out.push(Stmt::If(last.1, last.0, vec![]));
    let words = scan.types.iter().map(|ty| ty.size() as u32 / 4).sum();
    Ok((out, Grid::Tickets { resident: resident_blocks(scan), words }))
}

/// What a block keeps from turn to turn of its loop over tiles.
struct Blocks<'a> {
    code: &'a Code<'a>,
    /// The number of elements.
    n: Expr,
    /// The next and the present tile, and their prefixes.
    prefixes: Prefixes<'a>,
    /// The tile after the next one.
    later: Reg,
    /// Shared memory for the elements of tiles, and the slots in it of the present, the next and the later tile.
    memory: TileMemory,
    slots: [Reg; 3],
    /// The reductions of the scan's results. They read the present tile's slot until the next turn's barrier.
    reductions: Option<Reductions<'a>>,
    /// The prefix, within the present tile, of each of the thread's chunks.
    inner: Vec<Vec<Reg>>,
    /// Shared memory: the totals of rows, and their scan.
    rows: Vec<Mem>,
    halved: Vec<Mem>,
}

impl<'a> Blocks<'a> {
    fn new(l: &mut Lower, code: &'a Code<'a>, out: &mut Vec<Stmt>) -> Result<Blocks<'a>> {
        let n = code.scan.length(&mut l.launch.g);
        let n = l.launch.host(n);
        let reductions = Reductions::new(l, code, &n, out);
        let prefixes = Prefixes::new(l, code, out)?;
        let later = number(l, "later", 0, out);
        // with two slots, the third register is not used
        let slots = [0, 1, 2].map(|at| number(l, "slot", at * SCAN_TILE as i32, out));
        let inner = (0..code.of_warp()).map(|_| code.zeros(l, "inner", out)).collect();
        let rows = code.share(l, "rows", ROWS);
        let halved = code.share(l, "halved", ROWS);
        let memory = TileMemory::new(l, code, reductions.is_some(), out);
        Ok(Blocks { code, n, prefixes, later, memory, slots, reductions, inner, rows, halved })
    }

    /// Writes the loop over the tiles of a block, as the head of this file has it.
    fn tiles(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<()> {
        let code = self.code;
        let is_leader = levels::is_zero(&thread());
        let ticket = |at| Expr::load(self.prefixes.ticket, int32(at));
        let mut first = Vec::new();
        for at in 0..2 {
            let taken = l.k.reg("taken", Ty::I32);
            first.extend([
                Prefixes::take(taken),
                Stmt::Store(self.prefixes.ticket, int32(at), Expr::Reg(taken)),
            ]);
        }
        out.extend([Stmt::If(is_leader.clone(), first, vec![]), Stmt::Barrier]);
        out.extend([Stmt::Assign(self.prefixes.next, ticket(0)), Stmt::Assign(self.later, ticket(1))]);
        let (next, present, later) =
            (Expr::Reg(self.prefixes.next), Expr::Reg(self.prefixes.present), Expr::Reg(self.later));
        self.copy(l, (self.prefixes.next, self.slots[1]), out);
        let mut body = Vec::new();
        let is_tile = |e: &Expr| Expr::binary(BinaryOp::Lt, e.clone(), self.prefixes.tiles.clone());
        let has_next = bind(l, "more", is_tile(&next), &mut body);
        let has_later = bind(l, "more", is_tile(&later), &mut body);
        // the ticket arrives while the next tile is scanned
        let (newest, taken) = (l.k.reg("newest", Ty::I32), l.k.reg("taken", Ty::I32));
        body.push(Stmt::Var(newest, int32(0)));
        let take = vec![Prefixes::take(taken), Stmt::Assign(newest, Expr::Reg(taken))];
        let takes = Expr::binary(BinaryOp::And, is_leader.clone(), has_later.clone());
        body.push(Stmt::If(takes, take, vec![]));
        let is_late = self.reductions.is_some();
        if !is_late {
            self.copy(l, (self.later, self.slots[2]), &mut body);
        }
        if self.memory.has_copies() {
            body.push(Stmt::CopyWait(u32::from(!is_late)));
        }
        let chunks: Vec<Vec<Reg>> = (0..code.of_warp()).map(|_| code.zeros(l, "chunk", &mut body)).collect();
        let begin = l.in_block(|l| self.begin(l, &chunks))?;
        body.extend([Stmt::If(has_next.clone(), begin, vec![]), Stmt::Barrier]);
        body.push(Stmt::If(
            is_leader,
            vec![Stmt::Store(self.prefixes.ticket, int32(0), Expr::Reg(newest))],
            vec![],
        ));
        let is_first = Expr::binary(BinaryOp::Eq, code.warp.clone(), int32(0));
        let publishes = Expr::binary(BinaryOp::And, is_first, has_next.clone());
        let publish = l.in_block(|l| self.publish(l))?;
        body.push(Stmt::If(publishes, publish, vec![]));
        if let Some(reductions) = &self.reductions {
            // the reductions have read the slot of the tile before the present one, so it is free now
            self.copy(l, (self.later, self.slots[2]), &mut body);
            body.push(l.in_block(|l| reductions.join(l))?);
            body.push(Stmt::Assign(reductions.waiting, present.clone()));
        }
        let complete = l.in_block(|l| self.complete(l))?;
        let has_present = Expr::binary(BinaryOp::Ge, present.clone(), int32(0));
        body.push(Stmt::If(has_present.clone(), complete, vec![Stmt::Barrier]));
        let advance = l.in_block(|l| self.advance(l, &chunks))?;
        body.push(Stmt::If(has_next.clone(), advance, vec![]));
        body.push(Stmt::Assign(self.prefixes.present, has_next.select(next.clone(), int32(-1))));
        body.push(Stmt::Assign(self.prefixes.next, later.clone()));
        body.push(Stmt::Assign(self.later, has_later.select(ticket(0), later)));
        let first = l.k.reg("first", Ty::I32);
        let [a, b, c] = self.slots;
        body.push(Stmt::Let(first, Expr::Reg(a), Default::default()));
        let of_next = if self.memory.slots == 2 { first } else { c };
        let turned = [(a, b), (b, of_next), (c, first)];
        body.extend(turned.map(|(to, from)| Stmt::Assign(to, Expr::Reg(from))));
        let mut goes_on = Expr::binary(BinaryOp::Or, is_tile(&next), has_present);
        if let Some(reductions) = &self.reductions {
            let waits = Expr::binary(BinaryOp::Ge, Expr::Reg(reductions.waiting), int32(0));
            goes_on = Expr::binary(BinaryOp::Or, goes_on, waits);
        }
        out.push(Stmt::While(goes_on, body));
        Ok(())
    }

    /// Begins to copy a tile's elements to a slot, if elements are copied.
    fn copy(&self, l: &mut Lower, to: (Reg, Reg), out: &mut Vec<Stmt>) {
        self.memory.copy(l, self.code, to, (&self.n, &self.prefixes.tiles), out);
    }

    /// Returns the code by which the first warp scans the totals of the next tile's rows, and publishes the tile's
    /// total.
    fn publish(&self, l: &mut Lower) -> Result<Vec<Stmt>> {
        let (code, mut out) = (self.code, Vec::new());
        let total = code.halve_rows(l, (&self.rows, &self.halved), &mut out)?;
        let publish = self.prefixes.publish(l, total, &mut out);
        out.push(Stmt::If(Expr::binary(BinaryOp::Eq, code.lane.clone(), int32(0)), publish, vec![]));
        Ok(out)
    }

    /// Returns the thread's elements of a tile, and whether all elements of the tile exist.
    fn elements(&self, l: &mut Lower, tile: Reg, out: &mut Vec<Stmt>) -> (Elements, Expr) {
        let (elements, _, is_full) = self.code.elements_of_tile(l, to_i64(Expr::Reg(tile)), &self.n, out);
        (elements, is_full)
    }

    /// Returns the code that loads the next tile, stores its elements in its slot, and scans within its rows.
    fn begin(&self, l: &mut Lower, chunks: &[Vec<Reg>]) -> Result<Vec<Stmt>> {
        let (code, mut out) = (self.code, Vec::new());
        let (elements, is_full) = self.elements(l, self.prefixes.next, &mut out);
        let slot = bind(l, "own", self.memory.place.clone().plus(Expr::Reg(self.slots[1])), &mut out);
        let copies = |l: &mut Lower, out: &mut Vec<Stmt>| self.memory.load_copies(l, &elements, &slot, out);
        let x = code.load_after(l, &elements, (&is_full, &self.n), &copies, &mut out)?;
        let mut keep = Vec::new();
        for (x, row) in x.chunks(SCAN_CHUNK as usize).zip(0..) {
            self.memory.put(l, x, row_of(&slot, row), &mut keep);
        }
        match self.memory.has_elements() {
            true => out.push(Stmt::If(is_full, vec![], keep)),
            false => out.append(&mut keep),
        }
        for (row, x) in x.chunks(SCAN_CHUNK as usize).enumerate() {
            let (_, all) = code.total_of_chunk(l, x, &mut out)?;
            let mut inside = [all.clone()];
            let total = code.halve(l, all, &mut inside, &mut out)?;
            out.extend(assigned(&chunks[row], &inside[0]));
            let is_first = Expr::binary(BinaryOp::Eq, code.lane.clone(), int32(0));
            out.push(Stmt::If(is_first, store_all(&self.rows, &code.row(row as i64), &total), vec![]));
        }
        Ok(out)
    }

    /// Returns the code that computes the present tile's prefix from published totals, reduces its results, and
    /// stores its elements.
    fn complete(&self, l: &mut Lower) -> Result<Vec<Stmt>> {
        let (code, mut out) = (self.code, Vec::new());
        let outer = self.prefixes.of_present(l, &mut out)?;
        let has_chunk = Expr::binary(BinaryOp::Gt, code.lane.clone(), int32(0));
        let (mut before, mut own) = (Vec::new(), Vec::new());
        let slot = bind(l, "own", self.memory.place.clone().plus(Expr::Reg(self.slots[0])), &mut out);
        for (row, inner) in self.inner.iter().enumerate() {
            let x = self.memory.get(l, code, row_of(&slot, row as i32), &mut out);
            own.push(code.chunk(l, &x, &mut out)?);
            let inner: Value = inner.iter().map(|r| Expr::Reg(*r)).collect();
            let both = code.operator.join(l, &outer, &inner, &mut out)?;
            let has_rows = Expr::binary(BinaryOp::Gt, code.row(row as i64), int32(0));
            let is_any = Expr::binary(BinaryOp::Or, has_rows, has_chunk.clone());
            before.push(chosen(l, &is_any, &both, &outer, &mut out));
        }
        let mut of_reductions = Vec::new();
        if let Some(reductions) = &self.reductions {
            let (_, results) = code.partial_results(l, (&before, &own), &mut out)?;
            of_reductions =
                reductions.reduce(l, &self.memory, (self.prefixes.present, self.slots[0]), &results)?;
        }
        if !code.fused.items.is_empty() {
            let (elements, is_full) = self.elements(l, self.prefixes.present, &mut out);
            code.store(l, &elements, (before, own), (is_full, &self.n), &mut out)?;
        }
        out.append(&mut of_reductions);
        Ok(out)
    }

    /// Returns the code that computes the prefixes of the next tile's chunks within the tile, before it becomes the
    /// present one.
    fn advance(&self, l: &mut Lower, chunks: &[Vec<Reg>]) -> Result<Vec<Stmt>> {
        let (code, mut out) = (self.code, Vec::new());
        let chunks: Vec<Value> =
            chunks.iter().map(|row| row.iter().map(|r| Expr::Reg(*r)).collect()).collect();
        let has_chunk = Expr::binary(BinaryOp::Gt, code.lane.clone(), int32(0));
        for (row, chunk) in chunks.iter().enumerate() {
            let (inner, _) = code.inner(l, (&self.halved, &has_chunk), (row as i64, chunk), &mut out)?;
            out.extend(assigned(&self.inner[row], &inner));
        }
        Ok(out)
    }
}

impl Code<'_> {
    /// Declares registers for the components of a value.
    fn zeros(&self, l: &mut Lower, name: &'static str, out: &mut Vec<Stmt>) -> Vec<Reg> {
        let regs = self.types().map(|ty| {
            let r = l.k.reg(name, ty);
            out.push(Stmt::Var(r, Expr::Lit(Lit::zero(ty))));
            r
        });
        regs.collect()
    }
}
