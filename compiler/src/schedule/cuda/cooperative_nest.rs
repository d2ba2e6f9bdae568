//! Cooperative nest: elements that all loop over the same arrays, such as the forces on each body from all bodies
//! (Nyland, Harris, Prins 2007). Each thread computes one element. The threads of a block cooperate in loading what
//! the loop needs into shared memory, tile by tile, by 16-byte accesses; then each thread loops over the tile.
//!
//! ```text
//! for each tile of the inner indices k:
//!     all threads:   stage the values that depend on k alone;   barrier
//!     each thread:   for k in the tile: acc = step(acc, element i of the thread, staged values of k);   barrier
//! ```
//!
//! Chosen for groups with such loops whose staged values fit into shared memory. The cost is that of the operations
//! of all pairs (i, k).
//!
//! A fold takes the elements of the tile in order. A reduction follows the fixed tree of semantics 5.1, with as many
//! of its columns at once as a 16-byte access of shared memory holds; a pairwise accumulator joins the columns
//! (`schedule/element/counter.rs`). All reductions and folds over one extent share a loop. With two or four elements
//! for each thread, loads from shared memory would be shared, but there would be too few threads (measured: 35.3
//! TFLOP/s of n-body with one element, 34.6 with two, 17.0 with four).

mod tile;

use super::elements::{store_single, stored};
use super::expressions::{int32, thread, to_i64};
use crate::core::{COLUMNS, NodeId, Op, TILE};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::element::element;
use crate::schedule::element::lower::{LaunchContext, Lower, bind};
use crate::schedule::element::nested_loop::{self, Lanes, Needed, assign, read};
use crate::schedule::facts::loop_nests::{self, Env, Loop, Nest, Order};
use crate::schedule::facts::needed_range;
use crate::schedule::groups::FusedGroup;
use rustc_hash::FxHashSet as HashSet;

/// Threads of a block.
pub const THREADS: u32 = 256;
/// The bytes of static shared memory that a block may use on every device.
const MAX_SHARED_BYTES: i64 = 48 << 10;
const ROWS: i64 = TILE / COLUMNS;
/// The number of rows of a column by which the loop over rows is unrolled. The first row is outside the loop.
const UNROLLED_ROWS: i64 = 3;
/// The maximum number of operations, and below it of elements, of an unrolled loop body.
const MAX_BODY: usize = 512;
const MAX_UNROLLED: i64 = 16;
/// The maximum number of words of accumulators. A tree takes 24 registers for each of them.
const MAX_WORDS: usize = 8;

/// A fused group as a cooperative nest.
pub struct CooperativeNestParams {
    /// The variable of the element's index.
    index: NodeId,
    /// The values of the items' elements.
    roots: Vec<NodeId>,
    nest: Nest,
    /// What is staged in shared memory for each loop.
    staged: Vec<Staged>,
}

/// What a loop stages for each inner index, and how it is cut into tiles.
struct Staged {
    /// The values that are staged: they read arrays and depend on the inner index only.
    parts: Vec<NodeId>,
    /// Values that depend on the element only, and are computed before the loop.
    invariants: Vec<NodeId>,
    /// The vector width of accesses to shared memory.
    v: i64,
    /// The number of inner indices that are in shared memory at once.
    len: i64,
    /// The number of elements by which the loop is unrolled.
    unrolled: i64,
}

/// Returns the fused group as a cooperative nest, if it is one.
pub fn choose(l: &mut LaunchContext, fused: &FusedGroup) -> Option<CooperativeNestParams> {
    let items = stored(l, fused);
    if !l.facts.nested || items.len() < fused.items.len() {
        return None;
    }
    let (_, index) = l.g.fresh_var(Ty::I64);
    let roots: Vec<NodeId> = items.iter().map(|it| element(&mut l.g, it.node, index)).collect();
    let nest = loop_nests::find(l, &roots)?;
    let budget = MAX_SHARED_BYTES / nest.loops.len() as i64;
    let staged =
        nest.loops.iter().map(|of| staging_of(l, &nest, of, index, budget)).collect::<Option<Vec<_>>>()?;
    Some(CooperativeNestParams { index, roots, nest, staged })
}

fn staging_of(l: &LaunchContext, nest: &Nest, of: &Loop, index: NodeId, budget: i64) -> Option<Staged> {
    let (g, k) = (&l.g, nest.k);
    let mut known = HashSet::default();
    let parts = of.parts(g, &mut known, |g, n| loop_nests::depends(g, n, &[k]) && loop_nests::reads(g, n));
    let invariants = of.parts(g, &mut known, |g, n| loop_nests::depends(g, n, &[index]));
    // what remains is computed for each pair of an element and an inner index, and must read no arrays
    let reads = of.parts(g, &mut known, |g, n| matches!(g.op(n), Op::Elem(..)));
    let words: usize = of.inner.iter().map(|i| i.ty.size().div_ceil(4)).sum();
    if parts.is_empty() || of.order == Order::Panels || !reads.is_empty() || words > MAX_WORDS {
        return None;
    }
    let sizes = parts.iter().map(|n| l.g.ty(*n).elem.size() as i64);
    let v = sizes.clone().max().map_or(1, |size| 16 / size).min(4);
    let bytes: i64 = sizes.sum();
    let mut len = if of.order == Order::Tree { TILE } else { i64::from(THREADS) * v };
    while len * bytes > budget {
        len /= 2;
    }
    let body = g.reachable(of.roots()).into_iter().filter(|n| !g.is_closed(*n)).count();
    let unrolled = (1i64 << (MAX_BODY / body.max(1)).max(1).ilog2()).clamp(v, MAX_UNROLLED);
    (len >= ROWS * v.max(8)).then_some(Staged { parts, invariants, v, len, unrolled })
}

/// The element of a thread.
struct Element {
    /// The nodes that replace variables.
    env: Env,
    /// The known values of nodes.
    known: Vec<(NodeId, Expr)>,
}

pub fn main(
    l: &mut Lower,
    fused: &FusedGroup,
    params: &CooperativeNestParams,
    strided: bool,
) -> Result<Vec<Stmt>> {
    l.k.kernel.threads = THREADS;
    // without a bound ptxas limits itself to 32 registers, and the operations of an element's pairs do not overlap:
    // n-body gets 31.6 TFLOP/s in place of 37.2 with 74 registers
    l.k.kernel.min_resident_blocks = 2;
    let items = stored(l.launch, fused);
    let n = l.launch.count();
    let mut out = Vec::new();
    let at = to_i64(Expr::Place(Gpu::Block)).times(Expr::int(THREADS.into())).plus(to_i64(thread()));
    let at = bind(l, "at", at, &mut out);
    // threads out of bounds must load and reach barriers; they compute the last element again, and store nothing
    let i = bind(l, "i", at.clone().min(n.clone().minus(Expr::int(1))), &mut out);
    l.k.kernel.in_space.push(i.clone());
    let mut element = Element { env: Env::default(), known: vec![(params.index, i.clone())] };
    for (of, staged) in params.nest.loops.iter().zip(&params.staged) {
        let inits: Vec<NodeId> = of.inner.iter().map(|i| i.init).collect();
        let roots: Vec<NodeId> = staged.invariants.iter().chain(&inits).copied().collect();
        let values = l.region(&element.known, &roots, &i, &mut out)?;
        let values: Vec<Expr> = values.into_iter().map(|e| bind(l, "own", e, &mut out)).collect();
        element.known.extend(staged.invariants.iter().copied().zip(values.iter().cloned()));
        let needed = needed(l, of, &element, &i, &mut out)?;
        let mut tiled_loop = TiledLoop {
            of,
            staged,
            k: params.nest.k,
            element: &element,
            needed,
            shared: Vec::new(),
            strided,
        };
        tiled_loop.declare_shared(l);
        let results = match of.order {
            Order::Sequence => tiled_loop.sequence(l, &values[staged.invariants.len()..], &mut out)?,
            _ => tiled_loop.tree(l, &values[staged.invariants.len()..], &mut out)?,
        };
        element.known.extend(of.inner.iter().map(|i| i.node).zip(results));
    }
    // an output may be an input: all threads must have read the last tile before one stores
    out.push(Stmt::Barrier);
    let mut epilogue = Vec::new();
    let values = l.region(&element.known, &params.roots, &i, &mut epilogue)?;
    store_single(l, &items, values, &at, &mut epilogue);
    out.push(Stmt::If(Expr::binary(BinaryOp::Lt, at, n), epilogue, vec![]));
    Ok(out)
}

/// Returns the inner indices that an element needs in a loop with one reduction, if a condition bounds them.
fn needed(
    l: &mut Lower,
    of: &Loop,
    element: &Element,
    at: &Expr,
    out: &mut Vec<Stmt>,
) -> Result<Option<Needed>> {
    let [inner] = &of.inner[..] else { return Ok(None) };
    let Some(range) = needed_range::of(&mut l.launch.g, inner.node) else { return Ok(None) };
    let bound = |n| {
        let value = l.region(&element.known, &[n], at, out)?.remove(0);
        Ok(bind(l, "bound", value, out))
    };
    Needed::of(&range, bound).map(Some)
}

/// A loop of the nest that is being lowered.
struct TiledLoop<'a> {
    of: &'a Loop,
    staged: &'a Staged,
    k: NodeId,
    element: &'a Element,
    /// The inner indices that the element needs, if not all.
    needed: Option<Needed>,
    /// The shared memory of each staged part.
    shared: Vec<Mem>,
    strided: bool,
}

impl TiledLoop<'_> {
    fn declare_shared(&mut self, l: &mut Lower) {
        let types: Vec<Ty> = self.staged.parts.iter().map(|n| l.launch.g.ty(*n).elem).collect();
        self.shared = types.into_iter().map(|ty| l.k.share("tile", ty, self.staged.len as u32)).collect();
    }

    fn types(&self) -> Vec<Ty> {
        self.of.inner.iter().map(|i| i.ty).collect()
    }

    /// Writes the loop of folds, in index order: whole tiles, then the last, partial one. Returns the results.
    fn sequence(&self, l: &mut Lower, inits: &[Expr], out: &mut Vec<Stmt>) -> Result<Vec<Expr>> {
        let (v, len, unrolled) = (self.staged.v, self.staged.len, self.staged.unrolled);
        let count = l.region(&[], &[self.of.extent], &Expr::int(0), out)?.remove(0);
        let acc: Vec<Reg> = self.types().into_iter().map(|ty| l.k.reg("acc", ty)).collect();
        out.extend(acc.iter().zip(inits).map(|(r, e)| Stmt::Var(*r, e.clone())));
        let base = l.k.reg("base", Ty::I64);
        out.push(Stmt::Var(base, Expr::int(0)));
        let mut body = Vec::new();
        let is_needed = self.is_needed(l, &Expr::Reg(base), &Expr::int(len), &mut body);
        self.fill(l, &Expr::Reg(base), None, &|s| s, &mut body)?;
        let (j, mut inner) = (l.k.reg("j", Ty::I32), Vec::new());
        let first = bind(l, "first", Expr::Reg(j).times(int32(unrolled as i32)), &mut inner);
        let mut values = read(&acc);
        for group in 0..unrolled / v {
            let loaded = self.load(l, first.clone().plus(int32((group * v) as i32)), &mut inner);
            for (u, parts) in loaded.into_iter().enumerate() {
                let at = first.clone().plus(int32((group * v) as i32 + u as i32));
                let k = Expr::Reg(base).plus(to_i64(at));
                values = self.step(l, parts, k, Some(&values), &mut inner)?;
            }
        }
        assign(l, &acc, values, &mut inner);
        let steps = Stmt::Seq(j, int32(0), int32((len / unrolled) as i32), inner);
        body.push(only_if(is_needed, steps));
        body.push(Stmt::Assign(base, Expr::Reg(base).plus(Expr::int(len))));
        let next = Expr::Reg(base).plus(Expr::int(len));
        out.push(Stmt::While(Expr::binary(BinaryOp::Le, next, count.clone()), body));
        // the last, partial tile
        let mut rest = Vec::new();
        self.fill(l, &Expr::Reg(base), Some(&count), &|s| s, &mut rest)?;
        let left = Expr::Cast(Ty::I32, Box::new(count.clone().minus(Expr::Reg(base))));
        let left = bind(l, "left", left, &mut rest);
        let (j, mut inner) = (l.k.reg("j", Ty::I32), Vec::new());
        let k = Expr::Reg(base).plus(to_i64(Expr::Reg(j)));
        let parts = self.shared.iter().map(|m| Expr::load(*m, Expr::Reg(j))).collect();
        let values = self.step(l, parts, k, Some(&read(&acc)), &mut inner)?;
        assign(l, &acc, values, &mut inner);
        rest.push(Stmt::Seq(j, int32(0), left, inner));
        out.push(Stmt::If(Expr::binary(BinaryOp::Lt, Expr::Reg(base), count), rest, vec![]));
        Ok(read(&acc))
    }

    /// Writes the loop of reductions, by the fixed tree of semantics 5.1. Returns the results.
    fn tree(&self, l: &mut Lower, inits: &[Expr], out: &mut Vec<Stmt>) -> Result<Vec<Expr>> {
        let count = l.region(&[], &[self.of.extent], &Expr::int(0), out)?.remove(0);
        let count = bind(l, "count", count, out);
        let result: Vec<Reg> = self.types().into_iter().map(|ty| l.k.reg("reduced", ty)).collect();
        out.extend(result.iter().zip(inits).map(|(r, e)| Stmt::Var(*r, e.clone())));
        let join = &mut |l: &mut Lower, lane: usize, a: &[Expr], b: &[Expr], out: &mut Vec<Stmt>| {
            let Some((_, pair, joined)) = self.of.inner[lane].tree else { unreachable!("a tree") };
            let [x, y] = [(); 2].map(|()| l.launch.g.fresh_var(self.of.inner[lane].ty).1);
            let env = self.element.env.with(&l.launch.g, pair[0], x).with(&l.launch.g, pair[1], y);
            let root = env.of(&mut l.launch.g, joined);
            let mut vars = self.element.known.clone();
            vars.extend([(x, a[0].clone()), (y, b[0].clone())]);
            l.region(&vars, &[root], &Expr::int(0), out)
        };
        let general = self.of.inner.iter().any(|o| o.is_general(&l.launch.g));
        let mut lanes = Lanes { types: self.types(), accumulators: 1, join, general };
        let mut body = Vec::new();
        let values =
            nested_loop::tree(l, &mut lanes, &count, &mut body, &mut |l, lanes, base, left, out| {
                let value = lanes.variables(l, "whole", out);
                let (mut full, mut short) = (Vec::new(), Vec::new());
                let is_needed = self.is_needed(l, &base, &Expr::int(TILE), &mut full);
                let mut values = self.tile(l, lanes, &base, is_needed.clone(), &mut full)?;
                if let (Some(is_needed), Some(needed)) = (is_needed, &self.needed) {
                    let otherwise =
                        |value: Expr| is_needed.clone().select(value, Expr::Lit(needed.otherwise));
                    values = values.into_iter().map(otherwise).collect();
                }
                assign(l, &value, values, &mut full);
                let values = self.short_tile(l, lanes, &base, &left, &mut short)?;
                assign(l, &value, values, &mut short);
                out.push(Stmt::If(Expr::binary(BinaryOp::Eq, left, Expr::int(TILE)), full, short));
                Ok(read(&value))
            })?;
        let joined = lanes.join(l, &read(&result), &values, &mut body)?;
        assign(l, &result, joined, &mut body);
        out.push(Stmt::If(Expr::binary(BinaryOp::Gt, count, Expr::int(0)), body, vec![]));
        Ok(read(&result))
    }

    /// Returns whether the element needs inner indices among the `count` ones from `base` on, if not always. The block
    /// stages them in any case, because other elements may need them.
    fn is_needed(&self, l: &mut Lower, base: &Expr, count: &Expr, out: &mut Vec<Stmt>) -> Option<Expr> {
        let needed = self.needed.as_ref()?;
        Some(bind(l, "some", needed.has_some(base, count), out))
    }

    /// Returns the number of columns of a tile that are in shared memory at once (a group of columns).
    fn columns(&self) -> i64 {
        self.staged.len / ROWS
    }

    /// Returns the number in the tile of the element that lies at index `s` of shared memory, while that holds the
    /// tile's group of columns with the number `group`.
    fn tile_element(&self, group: &Expr, s: Expr) -> Expr {
        let columns = self.columns();
        if columns == COLUMNS {
            return s;
        }
        let row = Expr::binary(BinaryOp::Shr, s.clone(), int32(columns.ilog2() as i32));
        let column = Expr::binary(BinaryOp::And, s, int32(columns as i32 - 1));
        row.times(int32(COLUMNS as i32)).plus(group.clone().times(int32(columns as i32))).plus(column)
    }
}

/// Returns a statement that runs on a condition, if there is one.
fn only_if(condition: Option<Expr>, s: Stmt) -> Stmt {
    match condition {
        Some(condition) => Stmt::If(condition, vec![s], vec![]),
        None => s,
    }
}
