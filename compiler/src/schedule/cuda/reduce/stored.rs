//! Reductions of few long elements, by two kernels. A tile of the tree has 128 columns of 16 elements (semantics
//! 5.1), which one thread computes one after another: 65536 elements keep 32 multiprocessors busy. So the first
//! kernel computes the elements, one a thread, into scratch, and the second one reduces what is there, as the upper
//! levels of the tree reduce the results of tiles.

use super::{ThreadOfReduction, begin, of_warp, results};
use crate::core::TILE;
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Mem, Reg, Stmt, WARP};
use crate::plan::gpu::{Grid, Profit};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::elements::Elements;
use crate::schedule::cuda::expressions::{int32, thread, to_i64};
use crate::schedule::cuda::levels::{self, THREADS};
use crate::schedule::cuda::thread_layout::ThreadLayout;
use crate::schedule::cuda::tree::{StoredValues, variables, width_of};
use crate::schedule::element::lower::{LaunchContext, Lower, bind};
use crate::schedule::element::nested_loop::read;
use crate::schedule::element::reduction::{Reduction, by_reduction, each_accumulator};
use crate::schedule::groups::{FusedGroup, is_store};

/// The threads of a block that computes elements: a few hundred elements are spread over all multiprocessors.
const COMPUTING: u32 = 64;
/// The minimum number of operations of a long element. Sixteen shorter ones take less time than another launch.
const LONG: u32 = 256;
/// The maximum number of elements for each multiprocessor. The columns of more elements keep half of its threads
/// busy.
const FEW: u32 = 1 << 14;

/// One of the two kernels.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum StoredKernel {
    /// Computes the elements.
    Elements,
    /// Reduces them.
    Tiles,
}

impl StoredKernel {
    /// Whether it is launched after the other one.
    pub fn follows(self) -> bool {
        self == StoredKernel::Tiles
    }

    /// Returns the number of threads of a block.
    pub fn threads(self) -> u32 {
        match self {
            StoredKernel::Elements => COMPUTING,
            StoredKernel::Tiles => THREADS,
        }
    }
}

/// Returns the two kernels, with the suffixes of their names and the shapes for which they pay; none if elements are
/// short, or if they are stored anyway.
pub fn stored_kernels(
    l: &mut LaunchContext,
    fused: &FusedGroup,
) -> impl IntoIterator<Item = (StoredKernel, &'static str, Profit)> + use<> {
    let reductions = Reduction::all(l, fused);
    let serves = l.facts.cost >= LONG
        && !reductions.is_empty()
        && reductions.iter().all(|r| r.steps_are_joins(l))
        && !fused.items.iter().any(|it| is_store(&l.g, it));
    let few = Profit { max_elements: Some(FEW), ..Profit::default() };
    let both =
        [(StoredKernel::Elements, "_stores", few), (StoredKernel::Tiles, "_stored", Profit::default())];
    both.into_iter().filter(move |_| serves)
}

pub fn main(
    l: &mut Lower,
    fused: &FusedGroup,
    scalars: &[u32],
    kernel: StoredKernel,
    layout: ThreadLayout,
) -> Result<(Vec<Stmt>, Grid)> {
    let reductions = Reduction::all(l.launch, fused);
    let accumulators = each_accumulator(&reductions).count();
    // behind the results of tiles
    let types: Vec<Ty> = each_accumulator(&reductions).map(|acc| acc.ty).collect();
    let elements: Vec<Mem> = (accumulators..).zip(types).map(|(at, ty)| l.launch.scratch(at, ty)).collect();
    Ok(match kernel {
        StoredKernel::Elements => (compute(l, &reductions, &elements, layout)?, Grid::Stores(COMPUTING)),
        StoredKernel::Tiles => (reduce(l, &reductions, &elements, scalars)?, Grid::Stored),
    })
}

/// Computes an element a thread. It is stored as the value of a column that has no other element.
fn compute(
    l: &mut Lower,
    reductions: &[Reduction],
    elements: &[Mem],
    layout: ThreadLayout,
) -> Result<Vec<Stmt>> {
    let (n, mut out) = (l.launch.count(), Vec::new());
    let first = Expr::Place(Gpu::Block).times(int32(layout.threads as i32)).plus(thread());
    let first = bind(l, "first", to_i64(first), &mut out);
    let own = Elements::new(l, first.clone(), vec![0], 1);
    let mut body = Vec::new();
    own.load(l, &[], &mut body);
    let make = |l: &mut Lower, _, i| reductions.iter().flat_map(|r| r.first(l.launch, i)).collect();
    let values = own.values(l, &[], make, &mut body)?.remove(0);
    l.scope.loaded = None;
    body.extend(elements.iter().zip(values).map(|(m, e)| Stmt::Store(*m, first.clone(), e)));
    out.push(Stmt::If(Expr::binary(BinaryOp::Lt, first, n), body, vec![]));
    Ok(out)
}

/// Reduces the elements, a tile a team.
fn reduce(l: &mut Lower, reductions: &[Reduction], elements: &[Mem], scalars: &[u32]) -> Result<Vec<Stmt>> {
    let (n, mut out) = (l.launch.count(), Vec::new());
    let ThreadOfReduction { block, warp, side } = begin(l, reductions, THREADS / WARP, &mut out);
    let t = bind(l, "t", block.tile(int32(0), side), &mut out);
    let mut work = Vec::new();
    let base = bind(l, "base", t.clone().times(Expr::int(TILE)), &mut work);
    let end = bind(l, "end", base.clone().plus(Expr::int(TILE)).min(n.clone()), &mut work);
    let width = bind(l, "width", n.clone().minus(base.clone()), &mut work);
    let of_reductions = by_reduction(reductions, elements).zip(by_reduction(reductions, &block.shared));
    for ((r, memory), (_, shared)) in of_reductions {
        let accs: Vec<Reg> = variables(l, r, &mut work);
        StoredValues { memory, base: &base, end: &end }.column(l, r, &block.column, &accs, &mut work)?;
        let width = width_of(l, r, &width);
        let values = block.column.join_warp(l, r, read(&accs), width.as_ref(), &mut work)?;
        work.push(of_warp(&block.column, shared, &warp, values));
    }
    let is_present = Expr::binary(BinaryOp::Lt, t, block.count.clone());
    let mut all = vec![Stmt::If(is_present, work, vec![]), Stmt::Barrier];
    results(l, reductions, &block, &n, &mut all)?;
    levels::complete(l, reductions, scalars, block, all, &mut out)?;
    Ok(out)
}
