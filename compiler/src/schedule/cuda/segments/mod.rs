//! Segmented reductions (`schedule/segments.rs`) on a GPU, by the length of the segments.
//!
//! - [`rows`]: a warp a segment, several segments at a time while they are short; from 2048
//!   elements on a warp a tile, and the last block of a segment joins its tiles.
//! - [`columns`]: lanes side by side over neighbouring segments; a thread a segment where these are
//!   longer than 2^22.
//!
//! The order is the tree of semantics 5.1 in all of them.

mod columns;
mod rows;
mod warp;

use super::access;
use super::select::{self, Choice, Guards, Shape, Variant, VariantGroup};
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::plan::gpu::{Grid, Profit};
use crate::schedule::boundary::interior::Interior;
use crate::schedule::groups::{FusedGroup, Item};
use crate::schedule::lower::{LaunchContext, Lower};
use crate::schedule::products;
use crate::schedule::reduction::Reduction;
use crate::schedule::segments::{self, Along, Segments};
use crate::schedule::strategy::Strategy;
use std::rc::Rc;

/// A segmented reduction being lowered.
struct Job<'a> {
    s: &'a Segments,
    items: Vec<&'a Item>,
    reductions: Vec<Reduction>,
    /// Neighbours that are read at once.
    v: i64,
}

/// Blocks at once on a multiprocessor: 64 registers a thread, 85 where a segment has many warps
/// (with 64, eight rows in flight spill).
fn blocks(way: Way) -> u32 {
    if way == Way::SegmentTiles { 3 } else { 4 }
}

/// How one variant works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// That many lanes take that many segments together.
    Warp { lanes: u32, segments: i64 },
    /// A thread takes neighbouring segments, side by side with others.
    NeighboursPerThread,
    /// Many warps a segment.
    SegmentTiles,
    /// Strips of neighbouring segments.
    Strips,
    /// A thread a segment.
    OnePerThread,
}

/// The variants: suffix, guards, way.
fn list(along: Along) -> Vec<(&'static str, Guards, Way)> {
    let up_to = |longest: u32, guards: Guards| Guards { longest: Some(longest), ..guards };
    if along == Along::Columns {
        return vec![
            ("_short", up_to(128, Guards::contiguous().narrow().noalias()), Way::NeighboursPerThread),
            ("", up_to(columns::LONGEST, Guards::contiguous().narrow().noalias()), Way::Strips),
            ("_wide", up_to(columns::LONGEST, Guards::contiguous()), Way::Strips),
            ("_any", up_to(columns::LONGEST, Guards::strided().narrow()), Way::Strips),
            ("_any_wide", Guards::strided(), Way::OnePerThread),
        ];
    }
    vec![
        ("_8", up_to(32, Guards::contiguous().narrow().noalias()), Way::Warp { lanes: 8, segments: 4 }),
        ("_16", up_to(64, Guards::contiguous().narrow().noalias()), Way::Warp { lanes: 16, segments: 4 }),
        ("_short", up_to(256, Guards::contiguous().narrow().noalias()), Way::Warp { lanes: 32, segments: 4 }),
        ("_warp", up_to(2048, Guards::contiguous().narrow().noalias()), Way::Warp { lanes: 32, segments: 1 }),
        ("", Guards::contiguous().narrow().noalias(), Way::SegmentTiles),
        ("_wide", Guards::contiguous(), Way::SegmentTiles),
        ("_any_warp", up_to(2048, Guards::strided().narrow()), Way::Warp { lanes: 32, segments: 1 }),
        ("_any", Guards::strided().narrow(), Way::SegmentTiles),
        ("_any_wide", Guards::strided(), Way::SegmentTiles),
    ]
}

/// All variants of a fused group, if it is a segmented reduction.
pub fn variants(l: &mut LaunchContext, fused: &FusedGroup) -> Option<Vec<VariantGroup>> {
    let along = l.facts.segments.as_ref()?.along;
    let strategy = match along {
        Along::Rows => Strategy::SegmentedRows,
        Along::Columns => Strategy::SegmentedColumns,
    };
    let inner = Rc::new(Interior::whole(fused));
    let group = |(suffix, guards, way): (&str, Guards, Way)| {
        let (strided, threads) = (!guards.contiguous, super::map::THREADS);
        let (shape, plan) = match way {
            Way::OnePerThread => {
                let shape = Shape { v: 1, strided, threads, ..Shape::default() };
                let product = products::plan(l, fused).filter(|p| p.is_matrix).map(Rc::new);
                (shape, select::plan(l, (fused, &inner), product.as_ref(), shape))
            }
            way => (Shape { strided, ..Shape::default() }, (Choice::Segmented(way, strategy), Vec::new())),
        };
        let (suffix, noalias) = (suffix.to_string(), guards.noalias);
        let variant = Variant { suffix, guards, profit: Profit::default(), noalias };
        VariantGroup::of(plan, shape, &inner, variant)
    };
    Some(list(along).into_iter().map(group).collect())
}

/// The body of one variant, and its grid.
pub fn main(l: &mut Lower, fused: &FusedGroup, way: Way, strided: bool) -> Result<(Vec<Stmt>, Grid)> {
    let s = l.launch.facts.segments.clone().expect("a segmented reduction");
    l.k.kernel.threads = rows::THREADS;
    l.k.kernel.min_resident_blocks = blocks(way);
    let job = Job::new(l, &s, fused, !strided);
    let body = match way {
        Way::Strips => columns::main(l, &job)?,
        Way::NeighboursPerThread => columns::own(l, &job)?,
        _ => rows::main(l, &job, way)?,
    };
    let grid = match way {
        Way::Warp { lanes, segments } => Grid::Segments(rows::THREADS / lanes * segments as u32),
        Way::NeighboursPerThread => Grid::Segments(columns::THREADS * job.v as u32),
        Way::SegmentTiles => Grid::SegmentTiles { min_span: 1, max_span: rows::MOST_SPAN },
        _ => Grid::Strips { columns: 32 * job.v as u32, min_span: 1, max_span: columns::MOST_SPAN },
    };
    Ok((body, grid))
}

/// Loads what the roots read side by side along an index, at neighbouring values of it, of which
/// `first` is the first.
fn load(
    l: &mut Lower,
    roots: &[NodeId],
    (along, values): (NodeId, &[NodeId]),
    first: &Expr,
    vars: &[(NodeId, Expr)],
    out: &mut Vec<Stmt>,
) -> Result<()> {
    for (x, outer) in segments::neighbours(l.launch, roots, along) {
        let (mem, ty) = (l.launch.input(x), l.launch.g.ty(x).elem);
        let regs: Vec<Reg> = values.iter().map(|_| l.k.reg("x", ty)).collect();
        let place = l.element_address(mem, &outer, first.clone(), vars, out)?;
        for (value, r) in values.iter().zip(&regs) {
            l.note_loaded(x, &outer, *value, Expr::Reg(*r));
        }
        access::load(l, mem, regs, place, out);
    }
    Ok(())
}

impl<'a> Job<'a> {
    fn new(l: &mut Lower, s: &'a Segments, fused: &'a FusedGroup, vectors: bool) -> Job<'a> {
        let reductions: Vec<Reduction> =
            s.nested.iter().enumerate().map(|(at, n)| Reduction::segmented(l.launch, *n, at)).collect();
        let mut job = Job { s, items: fused.items.iter().collect(), reductions, v: 1 };
        if vectors {
            let (_, k) = l.launch.g.fresh_var(crate::scalar::Ty::I64);
            let roots: Vec<NodeId> = job.reductions.iter().map(|r| r.first(l.launch, k)).collect();
            let along = if s.along == Along::Rows { k } else { s.index };
            let reads = segments::neighbours(l.launch, &roots, along);
            let widest = reads.iter().map(|(x, _)| l.launch.g.ty(*x).elem.size()).max();
            job.v = widest.map_or(1, |size| (16 / size as i64).min(4));
        }
        job
    }

    /// Stores the elements of segment `row`.
    fn store(&self, l: &mut Lower, row: &Expr, totals: &[Expr], out: &mut Vec<Stmt>) -> Result<()> {
        let length = l.launch.host(self.s.length);
        let values = self.s.values(l, &self.reductions, row, totals, &length, out)?;
        super::elements::store_single(l, &self.items, values, row, out);
        Ok(())
    }
}
