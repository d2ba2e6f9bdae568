//! Bins: partial results of reductions into bins, by atomic operations, which join a value to an element of memory.
//! They may arrive in any order, because the operators are exact.
//!
//! Few bins lie in shared memory: a block goes through a part of the elements, joins them there, and stores its bins
//! as the part's row of the result. Up to 256 bins have a copy for each warp, so that fewer lanes meet at the same
//! bin. Counts have 32 bits there: a part has fewer than 2^32 elements, and processors add ones to a 32-bit word in
//! one step. More bins lie in the result itself: a first kernel fills it, and several blocks of a second one share a
//! part, each with accumulators of its own for frequent bins (`bins/frequent.rs`).
//!
//! The technique is that of V. Podlozhnyuk, "Histogram calculation in CUDA", 2007. The next launch joins the rows.

mod frequent;
pub mod place;
pub mod threads;

use super::elements::Elements;
use super::expressions::{int32, thread, to_i64, warp_number};
use super::thread_layout::ThreadLayout;
use super::variant::{Choice, Guards, Variant, VariantGroup};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Mem, Stmt, WARP};
use crate::plan::gpu::{Grid, Profit};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::boundary::interior::Interior;
use crate::schedule::element::lower::{LaunchContext, Lower, bind};
use crate::schedule::facts::bins::Bins;
use crate::schedule::facts::destinations::Tests;
use crate::schedule::facts::find::GUESSED_PART;
use crate::schedule::groups::{FusedGroup, domain};
use frequent::FrequentBins;
use place::{BinMemory, FILLED, FOR_BLOCK};
use std::rc::Rc;
use threads::{THREADS, each};

/// The maximum number of bins of which each warp has its own copy.
const OF_WARP: u32 = 256;
/// The bytes of shared memory for a block's bins: as many as a kernel may declare.
const SHARED: u32 = 48 << 10;
/// The maximum number of elements that a block goes through at once; parts are cut at multiples of it.
const CHUNK: i64 = crate::core::bins::CUT;
/// The maximum number of operations of the elements that a thread has unrolled.
pub(super) const MAX_OPERATIONS: i64 = 512;

/// Returns the variants of a reduction into bins, or `None` if the group is not one.
pub fn variants(l: &mut LaunchContext, fused: &FusedGroup) -> Option<Vec<VariantGroup>> {
    let bins = Bins::of(&l.g, &fused.items)?;
    let inner = Rc::new(Interior::whole(fused));
    let mut all = Vec::new();
    // the guard on 32-bit indices looks at arrays: if no array holds the elements, it does not bound their number
    if let Some(v) = vector_width(l) {
        let layout = ThreadLayout { v, threads: THREADS, ..ThreadLayout::default() };
        let guards = Guards::contiguous().narrow().noalias();
        list(&mut all, &bins, bins.is_count(&l.g), ("", layout, guards), &inner);
    }
    let strided = l.wanted.is_general();
    if strided || all.is_empty() {
        let layout = ThreadLayout { v: 1, threads: THREADS, strided, ..ThreadLayout::default() };
        let (suffix, guards) =
            if strided { ("_any", Guards::strided()) } else { ("_wide", Guards::contiguous()) };
        list(&mut all, &bins, false, (suffix, layout, guards), &inner);
    }
    Some(all)
}

/// Adds the variants for few bins, for more and for many.
fn list(
    all: &mut Vec<VariantGroup>,
    bins: &Bins,
    is_count: bool,
    (suffix, layout, guards): (&str, ThreadLayout, Guards),
    inner: &Rc<Interior>,
) {
    let ty = if is_count { Ty::U32 } else { bins.ty };
    let most = SHARED / ty.size() as u32;
    let places = [
        (BinMemory::Shared { bins: OF_WARP, copies: THREADS / WARP, ty }, "_few", Some(OF_WARP)),
        (BinMemory::Shared { bins: most, copies: 1, ty }, "_some", Some(most)),
        (BinMemory::Filled, "_filled", None),
        (BinMemory::Result { ty }, "", None),
    ];
    for (place, own, longest) in places {
        let variant = Variant {
            suffix: format!("{suffix}{own}"),
            guards: Guards { longest, ..guards },
            profit: Profit::default(),
            noalias: guards.noalias,
        };
        all.push(VariantGroup::of((Choice::Bins(*bins, place), Vec::new()), layout, inner, variant));
    }
}

/// Returns how many neighbours take 16 bytes of the widest array that the elements read, or fewer if their code is
/// too long to be repeated.
fn vector_width(l: &LaunchContext) -> Option<i64> {
    let widest = l.facts.accesses.pointwise().map(|x| l.g.ty(*x).elem.size()).max()?;
    let affordable = (MAX_OPERATIONS / of_element(l)).max(1);
    Some((16 / widest as i64).min(1 << affordable.ilog2()))
}

/// Returns the number of operations of an element.
fn of_element(l: &LaunchContext) -> i64 {
    i64::from(l.facts.cost / GUESSED_PART).max(1)
}

/// Writes the code of a thread, and returns it with the grid.
pub fn main(
    l: &mut Lower,
    fused: &FusedGroup,
    (bins, place): (&Bins, BinMemory),
    layout: ThreadLayout,
) -> Result<(Vec<Stmt>, Grid)> {
    let (mem, count) = (l.launch.output(&fused.items[0]), l.launch.host(bins.count));
    let tests = bins.tests(&mut l.launch.g);
    let code = Code { bins, mem, count, tests, layout };
    let body = match place {
        BinMemory::Shared { bins, copies, ty } => code.in_shared(l, (bins, copies, ty))?,
        BinMemory::Filled => code.filled(l, fused),
        BinMemory::Result { ty } => code.in_result(l, ty)?,
    };
    Ok((body, place.grid()))
}

/// What the functions that write a thread's code share.
struct Code<'a> {
    bins: &'a Bins,
    mem: Mem,
    count: Expr,
    tests: Tests,
    layout: ThreadLayout,
}

/// The elements of a block. The part's elements `begin` .. `end` are cut into chunks, of which the block takes every
/// `blocks`-th.
struct Share {
    begin: Expr,
    end: Expr,
    number: Expr,
    blocks: Expr,
}

impl Code<'_> {
    /// Joins the elements of a part in shared memory.
    fn in_shared(&self, l: &mut Lower, (bins, copies, ty): (u32, u32, Ty)) -> Result<Vec<Stmt>> {
        let mut out = Vec::new();
        let own = l.k.share("bins", ty, bins * copies);
        let part = bind(l, "part", to_i64(Expr::Place(Gpu::Block)), &mut out);
        let identity = Expr::Lit(self.identity(ty));
        let all = if copies > 1 { Expr::int((bins * copies).into()) } else { self.count.clone() };
        each(l, (to_i64(thread()), all), &mut out, |_, k, body| {
            body.push(Stmt::Store(own, k, identity.clone()));
            Ok(())
        })?;
        out.push(Stmt::Barrier);
        let share = self.share(l, &part, (Expr::int(0), Expr::int(1)), &mut out);
        let first = if copies > 1 { to_i64(warp_number().times(int32(bins as i32))) } else { Expr::int(0) };
        let first = bind(l, "first", first, &mut out);
        let op = self.bins.op;
        self.elements(l, &share, &mut out, &|_, at, value| {
            let at = if copies > 1 { first.clone().plus(at) } else { at };
            Stmt::Update(op, own, at, self.accumulated(value, ty))
        })?;
        out.push(Stmt::Barrier);
        each(l, (to_i64(thread()), self.count.clone()), &mut out, |l, k, body| {
            let copy = |c: u32| Expr::load(own, k.clone().plus(Expr::int((c * bins).into())));
            let joined =
                (1..copies).fold(Expr::load(own, k.clone()), |all, c| Expr::binary(op, all, copy(c)));
            let joined = bind(l, "joined", joined, body);
            let value = self.stored(joined, ty);
            let to = l.place_at(self.mem, &[part.clone(), k]);
            body.push(Stmt::Store(self.mem, to, value));
            Ok(())
        })?;
        Ok(out)
    }

    /// Returns the value with which accumulators of a type in shared memory begin: bins, or counts of them.
    fn identity(&self, ty: Ty) -> Lit {
        if ty == self.bins.ty { self.bins.identity() } else { Lit::zero(ty) }
    }

    /// Returns an element in the type of accumulators in shared memory.
    fn accumulated(&self, value: Expr, ty: Ty) -> Expr {
        if ty == self.bins.ty { value } else { Expr::Lit(Lit::one(ty)) }
    }

    /// Returns the value of an accumulator in the type of bins.
    fn stored(&self, value: Expr, ty: Ty) -> Expr {
        if ty == self.bins.ty { value } else { Expr::Cast(self.bins.ty, Box::new(value)) }
    }

    /// Fills the bins of the result with the operator's identity.
    fn filled(&self, l: &mut Lower, fused: &FusedGroup) -> Vec<Stmt> {
        let mut out = Vec::new();
        let extents = [domain(&l.launch.g, fused.items[0].node)[0], self.bins.count];
        let all = l.launch.count().times(self.count.clone());
        let all = bind(l, "all", all, &mut out);
        let begin = to_i64(Expr::Place(Gpu::Block)).times(Expr::int(FILLED.into())).plus(to_i64(thread()));
        let begin = bind(l, "begin", begin, &mut out);
        for k in 0..FILLED / THREADS {
            let at = begin.clone().plus(Expr::int((k * THREADS).into()));
            let to = l.place(self.mem, &extents, &at);
            let store = Stmt::Store(self.mem, to, Expr::Lit(self.bins.identity()));
            out.push(Stmt::If(Expr::binary(BinaryOp::Lt, at, all.clone()), vec![store], vec![]));
        }
        out
    }

    /// Joins a block's share of a part in the result. Frequent bins have accumulators of the given type.
    fn in_result(&self, l: &mut Lower, ty: Ty) -> Result<Vec<Stmt>> {
        let mut out = Vec::new();
        let each = Expr::int(FOR_BLOCK.into());
        let up = self.count.clone().plus(Expr::int(i64::from(FOR_BLOCK) - 1));
        let blocks = Expr::binary(BinaryOp::Max, Expr::binary(BinaryOp::Div, up, each), Expr::int(1));
        let blocks = bind(l, "blocks", blocks, &mut out);
        let block = bind(l, "block", to_i64(Expr::Place(Gpu::Block)), &mut out);
        let part = bind(l, "part", Expr::binary(BinaryOp::Div, block.clone(), blocks.clone()), &mut out);
        let number = bind(l, "number", Expr::binary(BinaryOp::Rem, block, blocks.clone()), &mut out);
        let share = self.share(l, &part, (number, blocks), &mut out);
        let (op, mem) = (self.bins.op, self.mem);
        let update = |l: &mut Lower, at: Expr, value| {
            Stmt::Update(op, mem, l.place_at(mem, &[part.clone(), at]), value)
        };
        let frequent = FrequentBins::new(l, op, self.identity(ty), &mut out);
        self.sample(l, &share, &frequent, &mut out)?;
        self.elements(l, &share, &mut out, &|l, at, value| {
            let update = update(l, at.clone(), value.clone());
            frequent.joined(&at, self.accumulated(value, ty), update)
        })?;
        frequent.flush(l, |l, at, value| update(l, at, self.stored(value, ty)), &mut out)?;
        Ok(out)
    }

    /// Gives slots to the bins of a sample of the block's elements: the first one of each thread.
    fn sample(
        &self,
        l: &mut Lower,
        share: &Share,
        frequent: &FrequentBins,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let first = share.number.clone().times(Expr::int(self.chunk(l)));
        let i = bind(l, "i", share.begin.clone().plus(first).plus(to_i64(thread())), out);
        let mut body = Vec::new();
        let (_, index) = l.launch.g.fresh_var(Ty::I64);
        let roots = [self.bins.element(&mut l.launch.g, index)[0]];
        let at = l.in_block(|l| l.region(&[(index, i.clone())], &roots, &i, &mut body))?.remove(0);
        let at = bind(l, "at", at, &mut body);
        self.tests.guarded(&at, &self.count, vec![frequent.sampled(&at)], &mut body);
        out.push(Stmt::If(Expr::binary(BinaryOp::Lt, i, share.end.clone()), body, vec![]));
        out.push(Stmt::Barrier);
        Ok(())
    }

    fn share(
        &self,
        l: &mut Lower,
        part: &Expr,
        (number, blocks): (Expr, Expr),
        out: &mut Vec<Stmt>,
    ) -> Share {
        let [n, of_part] = self.bins.lengths(&mut l.launch.g).map(|n| l.launch.host(n));
        let begin = bind(l, "begin", part.clone().times(of_part.clone()), out);
        let end = bind(l, "end", begin.clone().plus(of_part).min(n), out);
        Share { begin, end, number, blocks }
    }

    /// Writes the loops over a block's elements. In whole chunks a thread computes several elements at once; in the
    /// last chunk, which may have fewer, it computes one by one.
    fn elements(
        &self,
        l: &mut Lower,
        share: &Share,
        out: &mut Vec<Stmt>,
        update: &dyn Fn(&mut Lower, Expr, Expr) -> Stmt,
    ) -> Result<()> {
        let (v, threads) = (self.layout.v, i64::from(THREADS));
        let (groups, chunk) = (self.groups(l), self.chunk(l));
        let u = l.k.reg("u", Ty::I64);
        let first = share.number.clone().times(Expr::int(chunk));
        out.push(Stmt::Var(u, share.begin.clone().plus(first)));
        let mut full = Vec::new();
        l.in_block(|l| {
            let own = Expr::Reg(u).plus(to_i64(thread()).times(Expr::int(v)));
            let base = bind(l, "base", own, &mut full);
            let elements = Elements::new(l, base, (0..groups).map(|g| g * threads * v).collect(), v);
            if !self.layout.strided {
                elements.load(l, &[], &mut full);
            }
            let of = |l: &mut Lower, _, i| self.bins.element(&mut l.launch.g, i);
            let values = elements.values(l, &[], of, &mut full)?;
            values.into_iter().for_each(|own| self.one(l, own, update, &mut full));
            Ok::<_, crate::error::Error>(())
        })?;
        let next = Expr::Reg(u).plus(share.blocks.clone().times(Expr::int(chunk)));
        full.push(Stmt::Assign(u, next));
        let is_whole = Expr::binary(BinaryOp::Le, Expr::Reg(u).plus(Expr::int(chunk)), share.end.clone());
        out.push(Stmt::While(is_whole, full));
        let from = Expr::Reg(u).plus(to_i64(thread()));
        each(l, (from, share.end.clone()), out, |l, i, body| {
            l.k.kernel.in_space.push(i.clone());
            let (_, index) = l.launch.g.fresh_var(Ty::I64);
            let roots = self.bins.element(&mut l.launch.g, index);
            let values = l.in_block(|l| l.region(&[(index, i.clone())], &roots, &i, body))?;
            self.one(l, values, update, body);
            Ok(())
        })
    }

    /// Returns how many groups of neighbours a thread computes at once.
    fn groups(&self, l: &Lower) -> i64 {
        let most = CHUNK / (i64::from(THREADS) * self.layout.v);
        let affordable = MAX_OPERATIONS / (of_element(l.launch) * self.layout.v);
        1 << most.min(affordable).clamp(1, 4).ilog2()
    }

    /// Returns the number of elements that the block goes through at once.
    fn chunk(&self, l: &Lower) -> i64 {
        i64::from(THREADS) * self.layout.v * self.groups(l)
    }

    /// Joins an element to its bin, if it has one.
    fn one(
        &self,
        l: &mut Lower,
        values: Vec<Expr>,
        update: &dyn Fn(&mut Lower, Expr, Expr) -> Stmt,
        out: &mut Vec<Stmt>,
    ) {
        let mut values = values.into_iter();
        let at = bind(l, "at", values.next().expect("the destination"), out);
        let value = values.next().expect("the element");
        let update = update(l, at.clone(), value);
        self.tests.guarded(&at, &self.count, vec![update], out);
    }
}
