//! Map: each element is computed by itself, with vector accesses and loop unrolling; stencils of vectors are maps,
//! too. Chosen for maps and one-dimensional stencils that no other strategy takes. Its cost is that of the memory
//! traffic, unless the body is long (`stencil_cost.rs` has the times of stencils).
//!
//! A block computes `threads * v * u` elements. A thread has `u` groups of `v` neighbouring elements each, and its
//! groups are `threads * v` elements apart, so that each access of a warp is coalesced. All loads of a thread come
//! before the first use of one, including what stencils read around the elements (`register_window.rs`). The partial
//! block at the end either computes element by element, or runs the code of full blocks on a tile that holds the halo
//! (`boundary_blocks.rs`). If the launch before read the same array, the blocks start from the array's end, because
//! that is what the caches hold.

use super::boundary_blocks::BoundaryBlock;
use super::elements::{Elements, MAX_UNROLLED, single, stored, words};
use super::expressions::{int32, thread, to_i64};
use super::interleaved::{self, Interleaved};
use super::register_window::{self, Window};
use super::shared_tile_1d;
use super::thread_layout::ThreadLayout;
use crate::core::{NodeId, StencilHint};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use crate::schedule::boundary::halo::Halo;
use crate::schedule::boundary::interior::{BoundaryWidth, Interior};
use crate::schedule::element::element;
use crate::schedule::element::lower::{LaunchContext, Lower, bind};
use crate::schedule::facts::stencil::Stencil;
use crate::schedule::groups::{FusedGroup, Item};

/// Threads of a block.
pub const THREADS: u32 = 256;
/// Words of memory that a thread keeps in flight: at full occupancy, one access of 16 bytes covers
/// the latency (measured: more is slower).
const WORDS_IN_FLIGHT: i64 = 4;
/// If an element reads this many words or more of different arrays, a thread computes one element. Measured on a D2Q9
/// step with nine arrays: 0.615 ms with 32 registers, in place of 0.624 ms with two elements and 48 registers.
const MANY_WORDS: i64 = 8;
/// The maximum number of elements of a thread. Each element takes registers of its own, however few
/// bytes it has.
const MAX_ELEMENTS: i64 = 16;

/// From this cost of an element on, instructions take longer than memory. Then the unroll factor is 2, because two
/// groups of neighbours share the computation of addresses: measured on the elementary functions, this takes 2 to 14
/// % less time, and 4 % more for cheaper functions. It is not done for elements of more than `MAX_COMPUTE_BOUND_COST`
/// operations: 8 elements of a Black-Scholes formula need 87 registers and take 0.667 ms, 4 need 54 registers and
/// take 0.502 ms.
pub const COMPUTE_BOUND_COST: u32 = 35;
const MAX_COMPUTE_BOUND_COST: u32 = 128;

/// Returns the minimum number of resident blocks per multiprocessor (`.minnctapersm`), by the
/// operations of a thread; 0 leaves it to ptxas. For large bodies it is 1, so that a thread may use
/// all registers; else ptxas limits the registers for the sake of more threads, and spills.
pub fn min_resident_blocks(cost: u32, elements_per_thread: i64) -> u32 {
    u32::from(i64::from(cost) * elements_per_thread > 700)
}

/// The minimum number of resident blocks for a large body without branches. Such a body makes no calls across which
/// registers would be saved. Black-Scholes by `erfc` takes 0.591 ms with this bound, in place of 0.684 ms with all
/// registers and 0.656 ms with branches.
const BRANCH_FREE_RESIDENT_BLOCKS: u32 = 5;
/// The maximum number of words that a thread loads for `BRANCH_FREE_RESIDENT_BLOCKS` to apply: with more words, the
/// loads alone take most of the registers.
const MAX_WORDS_LOADED: i64 = 16;

/// The unroll factor with a shared-memory tile. Measured with 1, 2 and 4: large blocks are faster,
/// because they load fewer elements of the halo, although small blocks overlap loading with
/// computing better.
const UNROLL_WITH_TILE: i64 = 4;

/// The maximum number of words of a thread's windows for which boundary blocks run the code of full
/// blocks. Then 15 taps take the same time with every kind of halo: 0.132 ms for 2^26 elements, in
/// place of 0.144 ms with separate code and a mirrored halo. Wider windows would take more
/// registers: 31 taps take 0.165 ms in place of 0.136 ms.
const MAX_BOUNDARY_BLOCK_WORDS: i64 = 20;

/// The parameters of a map.
pub struct MapParams {
    /// The windows that are loaded for the stencils.
    windows: Vec<Window>,
    /// What is read at multiples of the index. Empty if there are windows or a boundary.
    interleaved: Vec<Interleaved>,
    /// The number of elements of a block.
    pub per_block: i64,
    /// The elements that full blocks compute, with their boundary widths.
    inner: Interior,
}

impl MapParams {
    /// Chooses the parameters. For contiguous vectors, the values of stencils are kept as `strategy` says, if that is
    /// possible; else every read is a load.
    pub fn of(
        l: &mut LaunchContext,
        (fused, inner): (&FusedGroup, &Interior),
        stencils: &[Stencil],
        strategy: StencilHint,
        layout: ThreadLayout,
    ) -> MapParams {
        let mut windows = Vec::new();
        let is_vector = !layout.strided && fused.domain.len() == 1;
        if is_vector && strategy != StencilHint::Direct {
            windows = register_window::windows(l, stencils, layout.v, strategy).unwrap_or_default();
        }
        let tiled = windows.iter().any(|w| w.tile.is_some());
        // if elements are numbered through the rows of a matrix, blocks have no boundary
        let all = Interior::whole(fused);
        let inner = if is_vector { inner.clone() } else { all };
        let mut interleaved = Vec::new();
        if windows.is_empty() && !inner.has_boundary() {
            interleaved = interleaved::find(l, fused, layout);
        }
        let unroll = if tiled { UNROLL_WITH_TILE } else { unroll(l, &windows, &interleaved, layout) };
        let per_block = i64::from(layout.threads) * layout.v * unroll;
        if tiled && !shared_tile_1d::assign_tiles(l, &mut windows, layout.v, per_block) {
            return MapParams::of(l, (fused, &inner), stencils, StencilHint::Window, layout);
        }
        MapParams { windows, interleaved, per_block, inner }
    }
}

impl MapParams {
    /// Returns the parameters without accesses to interleaved channels, which need them to be
    /// aligned; `None` if there are none.
    pub fn without_interleaved(&self) -> Option<MapParams> {
        let MapParams { windows, per_block, inner, .. } = self;
        let (windows, inner) = (windows.clone(), inner.clone());
        let others = MapParams { windows, interleaved: Vec::new(), per_block: *per_block, inner };
        (!self.interleaved.is_empty()).then_some(others)
    }

    /// Whether the windows of a thread are small enough for boundary blocks to run the code of full
    /// blocks.
    fn windows_fit_boundary_blocks(&self, l: &LaunchContext) -> bool {
        let own: Vec<Window> = self.windows.iter().filter(|w| w.tile.is_none()).cloned().collect();
        register_window::words(l, &own) <= MAX_BOUNDARY_BLOCK_WORDS
    }

    fn boundary_width(&self) -> BoundaryWidth {
        self.inner.widths[0]
    }

    /// Whether only the last, partial block differs from full blocks.
    fn has_no_boundary(&self) -> bool {
        self.windows.is_empty() && self.boundary_width() == (0, 0)
    }

    /// Returns where a stencil's values are kept, and the bytes that a block loads for each
    /// element.
    pub fn loaded(&self, l: &LaunchContext, s: &Stencil, layout: ThreadLayout) -> (StencilHint, f64) {
        let size = l.g.ty(s.array).elem.size() as f64;
        let own = self.windows.iter().find(|w| w.array == s.array && w.shift == s.shift[0]);
        match own {
            Some(Window { tile: Some(tile), .. }) => {
                (StencilHint::Tile, size * tile.len as f64 / self.per_block as f64)
            }
            Some(w) => (StencilHint::Window, size * w.elements() as f64 / layout.v as f64),
            None => (StencilHint::Direct, size * s.apart(layout.v) as f64 / layout.v as f64),
        }
    }
}

fn unroll(l: &LaunchContext, windows: &[Window], interleaved: &[Interleaved], layout: ThreadLayout) -> i64 {
    let cost = l.facts.cost;
    let accesses = &l.facts.accesses;
    let is_compute_bound = (COMPUTE_BOUND_COST..=MAX_COMPUTE_BOUND_COST).contains(&cost);
    // groups of neighbours share nothing if each needs its own indices
    if is_compute_bound && layout.v > 1 && windows.is_empty() && !accesses.needs_indices() {
        return 2;
    }
    // elements that need their indices read each array one by one, mostly from the caches
    let (loaded, fewest): (Vec<&NodeId>, i64) = match accesses.needs_indices() {
        true => (accesses.arrays().collect(), WORDS_IN_FLIGHT / layout.v),
        false => (accesses.pointwise().collect(), 1),
    };
    let others = loaded.into_iter().filter(|x| windows.iter().all(|w| w.array != **x));
    let of_channels: i64 = interleaved.iter().map(|x| x.words(l)).sum();
    let words = words(l, others, layout) + register_window::words(l, windows) + of_channels;
    let fewest = if words >= MANY_WORDS { 1 } else { fewest };
    let wanted = (WORDS_IN_FLIGHT / words.max(1)).min(MAX_ELEMENTS / layout.v).clamp(1, 4).max(fewest);
    let allowed = i64::from(MAX_UNROLLED) / (i64::from(cost.max(1)) * layout.v);
    1 << wanted.min(allowed.max(1)).ilog2()
}

/// Returns log2 of a power of two.
fn shift(power: i64) -> Expr {
    Expr::int(i64::from(power.ilog2()))
}

pub fn main(
    l: &mut Lower,
    fused: &FusedGroup,
    layout: ThreadLayout,
    params: &MapParams,
) -> Result<Vec<Stmt>> {
    let of_thread = params.per_block / i64::from(layout.threads);
    l.k.kernel.min_resident_blocks = min_resident_blocks(l.launch.facts.cost, of_thread);
    let items = stored(l.launch, fused);
    let count = l.launch.count_node();
    let n = l.launch.host(count);
    let mut out = Vec::new();
    let block = match layout.descending {
        true => Expr::Place(Gpu::Blocks).minus(int32(1)).minus(Expr::Place(Gpu::Block)),
        false => Expr::Place(Gpu::Block),
    };
    let start = to_i64(block.clone()).times(Expr::int(params.per_block));
    let start = bind(l, "start", start, &mut out);
    let mut block_elements = BlockElements { items: &items, layout, params, start, end: n, halo: None };
    let shifted = params.windows.iter().any(|w| w.is_shifted(l.launch));
    let same_code = !params.windows.is_empty() && !shifted && params.windows_fit_boundary_blocks(l.launch);
    let halo = if same_code { Halo::of(l.launch, fused, &params.inner) } else { None };
    block_elements.halo = halo.as_ref();
    let is_full = block_elements.is_full(l, block, count);
    if block_elements.halo.is_some() {
        let is_full = bind(l, "full", is_full, &mut out);
        block_elements.elements(l, Some(is_full), &mut out)?;
        return Ok(out);
    }
    if params.has_no_boundary() {
        block_elements.fast_then_slow(l, is_full, &mut out)?;
        return Ok(out);
    }
    let (mut full, mut partial) = (Vec::new(), Vec::new());
    block_elements.elements(l, None, &mut full)?;
    block_elements.one_by_one(l, &mut partial)?;
    out.push(Stmt::If(is_full, full, partial));
    Ok(out)
}

/// The elements of a block, while their code is written.
struct BlockElements<'a> {
    items: &'a [&'a Item],
    layout: ThreadLayout,
    params: &'a MapParams,
    start: Expr,
    end: Expr,
    /// The halo that boundary blocks read. `None` if they compute element by element.
    halo: Option<&'a Halo>,
}

impl BlockElements<'_> {
    /// Whether all elements of the block are in the interior, and all that it loads is in bounds.
    fn is_full(&self, l: &mut Lower, block: Expr, count: NodeId) -> Expr {
        let &BlockElements { params, layout, .. } = self;
        // a block's number has 31 bits: comparing it is cheaper than comparing indices
        let limit =
            register_window::limit(l.launch, &params.windows, layout.v, (count, params.boundary_width().1));
        let full_blocks = Expr::binary(BinaryOp::Shr, limit, shift(params.per_block));
        let mut is_full = Expr::binary(BinaryOp::Lt, block, Expr::Cast(Ty::I32, Box::new(full_blocks)));
        let tests = [
            register_window::inside(&params.windows, layout.v, params.boundary_width().0, &self.start),
            shared_tile_1d::inside(l, &params.windows, &self.start, params.per_block),
        ];
        let last = self.start.clone().plus(Expr::int(params.per_block - layout.v));
        let of_channels: Vec<Expr> = params.interleaved.iter().filter_map(|x| x.inside(l, &last)).collect();
        for inside in tests.into_iter().flatten().chain(of_channels) {
            is_full = Expr::binary(BinaryOp::And, is_full, inside);
        }
        is_full
    }

    /// Computes the thread's elements together on the fast path. If a thread needs the slow path
    /// for one of them, or if one leaves an error record, which names the element, or if the block
    /// is partial, a loop computes all its elements one by one, so that the code of the slow path
    /// is there once.
    fn fast_then_slow(&self, l: &mut Lower, is_full: Expr, out: &mut Vec<Stmt>) -> Result<()> {
        let &BlockElements { items, layout, params, .. } = self;
        let group_stride = i64::from(layout.threads) * layout.v;
        let first = self.start.clone().plus(to_i64(thread()).times(Expr::int(layout.v)));
        let first = bind(l, "first", first, out);
        let groups: Vec<i64> = (0..params.per_block / group_stride).map(|u| u * group_stride).collect();
        let per_thread = groups.len() as i64 * layout.v;
        let elements = Elements::new(l, first.clone(), groups, layout.v);
        let (mut full, mut stores) = (Vec::new(), Vec::new());
        elements.load(l, &[], &mut full);
        params.interleaved.iter().for_each(|x| x.load(l, &elements, &mut full));
        let make =
            |l: &mut Lower, i| params.inner.arrays.iter().map(|a| element(&mut l.launch.g, *a, i)).collect();
        let (values, reasons) = elements.fast_path(l, make, &mut full)?;
        let values: Vec<&[Expr]> = values.iter().map(Vec::as_slice).collect();
        elements.store(l, items, &values, None, &mut stores);
        l.scope.loaded = None;
        let has_slow_path = reasons[0].is_some() && elements.divide_without_branches();
        let any = |a, b| Expr::binary(BinaryOp::Or, a, b);
        let Some(needs_again) = reasons.into_iter().flatten().reduce(any) else {
            full.append(&mut stores);
            let mut partial = Vec::new();
            self.one_by_one(l, &mut partial)?;
            out.push(Stmt::If(is_full, full, partial));
            return Ok(());
        };
        let fits = words(l.launch, l.launch.facts.accesses.pointwise(), layout) <= MAX_WORDS_LOADED;
        if has_slow_path && l.k.kernel.min_resident_blocks > 0 && fits {
            l.k.kernel.min_resident_blocks = BRANCH_FREE_RESIDENT_BLOCKS;
        }
        let recompute = l.k.reg("again", Ty::Bool);
        let not_full = Expr::Unary(UnaryOp::Not, Box::new(is_full.clone()));
        out.push(Stmt::Var(recompute, not_full));
        let set_recompute = vec![Stmt::Assign(recompute, Expr::Lit(Lit::bool(true)))];
        full.push(Stmt::If(needs_again, set_recompute, stores));
        out.push(Stmt::If(is_full, full, vec![]));
        // the loop over the thread's elements, by their number k
        let k = l.k.reg("k", Ty::I32);
        let group = Expr::binary(BinaryOp::Shr, Expr::Reg(k), int32(layout.v.ilog2() as i32));
        let in_group = Expr::binary(BinaryOp::And, Expr::Reg(k), int32(layout.v as i32 - 1));
        let mut body = Vec::new();
        let at = first.plus(to_i64(group.times(int32(group_stride as i32)).plus(in_group)));
        let at = bind(l, "at", at, &mut body);
        let mut inside = Vec::new();
        single(l, items, &at, has_slow_path, &mut inside)?;
        body.push(Stmt::If(Expr::binary(BinaryOp::Lt, at, self.end.clone()), inside, vec![]));
        body.push(Stmt::Assign(k, Expr::Reg(k).plus(int32(1))));
        let more = Expr::binary(BinaryOp::Lt, Expr::Reg(k), int32(per_thread as i32));
        let all = vec![Stmt::Var(k, int32(0)), Stmt::While(more, body)];
        out.push(Stmt::If(Expr::Reg(recompute), all, vec![]));
        Ok(())
    }

    /// Computes the thread's elements together. `is_full` is given if the block may be a boundary
    /// block: such a block takes what it reads from the halo's tile, and stores only elements in
    /// bounds.
    fn elements(&self, l: &mut Lower, is_full: Option<Expr>, out: &mut Vec<Stmt>) -> Result<()> {
        let &BlockElements { items, layout, params, .. } = self;
        let first = self.start.clone().plus(to_i64(thread()).times(Expr::int(layout.v)));
        let first = bind(l, "first", first, out);
        let group_stride = i64::from(layout.threads) * layout.v;
        let groups = (0..params.per_block / group_stride).map(|u| u * group_stride).collect();
        let elements = Elements::new(l, first, groups, layout.v);
        let mut windows = params.windows.clone();
        shared_tile_1d::declare(l, &mut windows, layout.v, out);
        let mut full = Vec::new();
        register_window::load(l, &windows, &elements, false, &mut full);
        let tiles = windows.iter().filter(|w| w.tile.is_some() && !w.is_shifted(l.launch));
        let tiles: Vec<NodeId> = tiles.map(|w| w.array).collect();
        elements.load(l, &tiles, &mut full);
        shared_tile_1d::fill(l, &windows, &self.start, &mut full);
        match (&is_full, self.halo) {
            (Some(is_full), Some(halo)) => {
                let mut boundary = Vec::new();
                let boundary_block = BoundaryBlock {
                    windows: &windows,
                    elements: &elements,
                    halo,
                    start: &self.start,
                    layout,
                    per_block: params.per_block,
                };
                boundary_block.load(l, (&mut full, &mut boundary), out)?;
                out.push(Stmt::If(is_full.clone(), full, boundary));
            }
            _ => out.append(&mut full),
        }
        let parts = if windows.iter().any(|w| w.tile.is_some()) {
            out.push(Stmt::Barrier);
            elements.firsts().map(|g| elements.group(g / layout.v as usize)).collect()
        } else {
            vec![elements]
        };
        for elements in parts {
            register_window::load(l, &windows, &elements, true, out);
            let make = |l: &mut Lower, _, i| {
                params.inner.arrays.iter().map(|a| element(&mut l.launch.g, *a, i)).collect()
            };
            let values = elements.values(l, &[], make, out)?;
            let values: Vec<&[Expr]> = values.iter().map(Vec::as_slice).collect();
            match &is_full {
                Some(is_full) => {
                    let (mut full, mut some) = (Vec::new(), Vec::new());
                    elements.store(l, items, &values, None, &mut full);
                    elements.store(l, items, &values, Some(&self.end), &mut some);
                    out.push(Stmt::If(is_full.clone(), full, some));
                }
                None => elements.store(l, items, &values, None, out),
            }
        }
        l.scope.loaded = None;
        Ok(())
    }

    /// Computes the block's elements one by one.
    fn one_by_one(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<()> {
        let &BlockElements { items, layout, params, .. } = self;
        let i = l.k.reg("i", Ty::I64);
        let end = match params.has_no_boundary() {
            true => self.end.clone(),
            false => {
                let end = self.end.clone().min(self.start.clone().plus(Expr::int(params.per_block)));
                bind(l, "end", end, out)
            }
        };
        out.push(Stmt::Var(i, self.start.clone().plus(to_i64(thread()))));
        let mut body = Vec::new();
        let at = bind(l, "at", Expr::Reg(i), &mut body);
        single(l, items, &at, false, &mut body)?;
        body.push(Stmt::Assign(i, Expr::Reg(i).plus(to_i64(int32(layout.threads as i32)))));
        out.push(Stmt::While(Expr::binary(BinaryOp::Lt, Expr::Reg(i), end), body));
        Ok(())
    }
}
