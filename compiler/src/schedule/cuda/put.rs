//! Elements that are stored at their destinations. A thread has several groups of neighbours. It loads their
//! destinations and values by vector accesses, and then stores each element by itself. The last block has fewer
//! elements, and its threads go through them one by one.

use super::bins::MAX_OPERATIONS;
use super::bins::threads::each;
use super::elements::Elements;
use super::expressions::{thread, to_i64};
use super::thread_layout::ThreadLayout;
use super::variant::{Choice, Guards, Variant, VariantGroup};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Stmt};
use crate::plan::gpu::{Grid, Profit};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::boundary::interior::Interior;
use crate::schedule::element::lower::{LaunchContext, Lower, bind};
use crate::schedule::element::put_stores::stores;
use crate::schedule::facts::put::Put;
use crate::schedule::groups::FusedGroup;
use std::rc::Rc;

/// Threads of a block.
const THREADS: u32 = 256;
/// The maximum number of elements of a thread.
const MAX_ELEMENTS: i64 = 4;

/// Returns the variants, or `None` if the group's elements have no destinations.
pub fn variants(l: &mut LaunchContext, fused: &FusedGroup) -> Option<Vec<VariantGroup>> {
    let put = Put::of(&l.g, &fused.items)?;
    let inner = Rc::new(Interior::whole(fused));
    let layout = ThreadLayout { v: 1, threads: THREADS, ..ThreadLayout::default() };
    let group = |layout: ThreadLayout, suffix: &str, guards: Guards| {
        let noalias = guards.noalias;
        let variant = Variant { suffix: suffix.into(), guards, profit: Profit::default(), noalias };
        VariantGroup::of((Choice::Put(put), Vec::new()), layout, &inner, variant)
    };
    let mut all = Vec::new();
    // the guard on 32-bit indices looks at arrays: if no array holds the elements, it does not bound their number
    if let Some(v) = vector_width(l) {
        all.push(group(ThreadLayout { v, ..layout }, "", Guards::contiguous().narrow().noalias()));
    }
    all.push(match l.wanted.is_general() {
        true => group(ThreadLayout { strided: true, ..layout }, "_any", Guards::strided()),
        false => group(layout, "_wide", Guards::contiguous()),
    });
    Some(all)
}

/// Returns for how many elements of a thread the code is short enough to be repeated.
fn affordable(l: &LaunchContext) -> i64 {
    1 << (MAX_OPERATIONS / i64::from(l.facts.cost).max(1)).max(1).ilog2()
}

/// Returns how many neighbours take 16 bytes of the widest array that the elements read, or fewer if their code is
/// long. `None` if there is no such array.
fn vector_width(l: &LaunchContext) -> Option<i64> {
    let widest = l.facts.accesses.pointwise().map(|x| l.g.ty(*x).elem.size()).max()?;
    Some((16 / widest as i64).min(affordable(l)))
}

/// Writes the code of a thread, and returns it with the grid.
pub fn main(l: &mut Lower, fused: &FusedGroup, put: &Put, layout: ThreadLayout) -> Result<(Vec<Stmt>, Grid)> {
    let (v, threads) = (layout.v, i64::from(THREADS));
    let groups = (affordable(l.launch).min(MAX_ELEMENTS) / v).max(1);
    let per_block = threads * v * groups;
    let n = l.launch.count();
    let mut out = Vec::new();
    let begin = to_i64(Expr::Place(Gpu::Block)).times(Expr::int(per_block));
    let begin = bind(l, "begin", begin, &mut out);
    let mut full = Vec::new();
    l.in_block(|l| {
        let own = begin.clone().plus(to_i64(thread()).times(Expr::int(v)));
        let base = bind(l, "base", own, &mut full);
        let elements = Elements::new(l, base, (0..groups).map(|g| g * threads * v).collect(), v);
        if !layout.strided {
            elements.load(l, &[], &mut full);
        }
        let of = |l: &mut Lower, _, i| put.element(&mut l.launch.g, &fused.items, i);
        let values = elements.values(l, &[], of, &mut full)?;
        values.into_iter().for_each(|own| stores(l, *put, &fused.items, own, &mut full));
        Ok::<_, crate::error::Error>(())
    })?;
    let end = bind(l, "end", begin.clone().plus(Expr::int(per_block)), &mut out);
    let mut last = Vec::new();
    let from = begin.plus(to_i64(thread()));
    each(l, (from, n.clone()), &mut last, |l, i, body| {
        l.k.kernel.in_space.push(i.clone());
        let (_, index) = l.launch.g.fresh_var(Ty::I64);
        let roots = put.element(&mut l.launch.g, &fused.items, index);
        let values = l.in_block(|l| l.region(&[(index, i.clone())], &roots, &i, body))?;
        stores(l, *put, &fused.items, values, body);
        Ok(())
    })?;
    out.push(Stmt::If(Expr::binary(BinaryOp::Le, end, n), full, last));
    Ok((out, Grid::Elements(per_block as u32)))
}
