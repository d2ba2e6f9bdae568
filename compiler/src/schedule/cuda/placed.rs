//! Elements in other places: a thread has some elements of the source, a block's width apart, so that a warp reads
//! neighbours. It computes all of them before it stores the first one where it goes.

use super::elements::Elements;
use super::expressions::{thread, to_i64};
use super::thread_layout::ThreadLayout;
use super::variant::{Choice, Guards, Variant, VariantGroup};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Stmt};
use crate::plan::gpu::{Grid, Profit};
use crate::scalar::BinaryOp;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::groups::FusedGroup;
use crate::schedule::lower::{LaunchContext, Lower, named as bind};
use crate::schedule::placed::{Placed, stores};
use std::rc::Rc;

const THREADS: u32 = 256;
/// The elements of a thread.
const EACH: u32 = 4;

/// Returns the variants; `None` if the group stores its elements in their own places.
pub fn variants(l: &LaunchContext, fused: &FusedGroup) -> Option<Vec<VariantGroup>> {
    let placed = Placed::of(&l.g, &fused.items)?;
    let inner = Rc::new(Interior::whole(fused));
    let group = |strided: bool, list: &[(&str, Guards)]| {
        let variant = |(suffix, guards): &(&str, Guards)| Variant {
            suffix: suffix.to_string(),
            guards: *guards,
            profit: Profit::default(),
            noalias: guards.noalias,
        };
        VariantGroup {
            layout: ThreadLayout { v: 1, strided, threads: THREADS, ..ThreadLayout::default() },
            choice: Choice::Placed(placed),
            inner: inner.clone(),
            variants: list.iter().map(variant).collect(),
            may_be_left_out: true,
            stencils: Vec::new(),
            transposed: Vec::new(),
        }
    };
    let [contiguous, strided] = [Guards::contiguous(), Guards::strided()];
    let mut all = vec![group(false, &[("", contiguous.narrow().noalias()), ("_wide", contiguous)])];
    if l.wanted.is_general() {
        all.push(group(true, &[("_any", strided.narrow()), ("_any_wide", strided)]));
    }
    Some(all)
}

/// Writes the code of a thread, and returns it with the grid.
pub fn main(l: &mut Lower, fused: &FusedGroup, placed: Placed) -> Result<(Vec<Stmt>, Grid)> {
    let n = l.launch.count();
    let block = THREADS * EACH;
    let mut out = Vec::new();
    let start = to_i64(Expr::Place(Gpu::Block)).times(Expr::int(block.into()));
    let start = bind(l, "start", start, &mut out);
    let at = bind(l, "at", start.clone().plus(to_i64(thread())), &mut out);
    let places = (0..EACH).map(|k| i64::from(k * THREADS)).collect();
    let elements = Elements::new(l, at, places, 1);
    let (mut full, mut part) = (Vec::new(), Vec::new());
    l.in_block(|l| {
        let all = elements.values(
            l,
            &[],
            |l, _, index| placed.of_element(&mut l.launch.g, &fused.items, index),
            &mut full,
        )?;
        let stores: Vec<_> =
            all.into_iter().map(|values| stores(l, &fused.items, values, &mut full)).collect();
        full.extend(stores.concat());
        Ok::<_, crate::error::Error>(())
    })?;
    for k in 0..EACH as usize {
        let i = bind(l, "i", elements.at(k), &mut part);
        let is_inside = Expr::binary(BinaryOp::Lt, i.clone(), n.clone());
        let mut one = Vec::new();
        l.in_block(|l| {
            let index = l.launch.index();
            let roots = placed.of_element(&mut l.launch.g, &fused.items, index);
            let values = l.region(&[(index, i.clone())], &roots, &i, &mut one)?;
            let stores = stores(l, &fused.items, values, &mut one);
            one.extend(stores);
            Ok::<_, crate::error::Error>(())
        })?;
        part.push(Stmt::If(is_inside, one, vec![]));
    }
    let is_full = Expr::binary(BinaryOp::Le, start.plus(Expr::int(block.into())), n);
    out.push(Stmt::If(is_full, full, part));
    Ok((out, Grid::Elements(block)))
}
