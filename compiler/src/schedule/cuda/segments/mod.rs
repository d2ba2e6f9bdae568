//! Segmented reductions (`schedule/segments.rs`) on a GPU, by the length of the segments.
//!
//! - [`rows`]: a warp a segment, several segments at a time while they are short; from 2048 elements on a warp a tile, and the last block of a segment joins its tiles.
//! - [`columns`]: lanes side by side over neighbouring segments; a thread a segment where these are longer than 2^22.
//!
//! The order is the tree of semantics 5.1 in all of them.

mod columns;
mod rows;
mod warp;

use super::{Conditions, GpuPass, Shape, access, draft, push};
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::plan::gpu::Grid;
use crate::schedule::inside::Inner;
use crate::schedule::items::{Item, Pass};
use crate::schedule::lower::Lower;
use crate::schedule::reduction::Reduction;
use crate::schedule::segments::{self, Along, Segments};

/// A segmented reduction being lowered.
struct Job<'a> {
    s: &'a Segments,
    items: Vec<&'a Item>,
    reductions: Vec<Reduction>,
    /// Neighbours that are read at once.
    v: i64,
}

/// Blocks at once on a multiprocessor: 64 registers a thread, 85 where a segment has many warps (with 64, eight rows in flight spill).
fn blocks(way: Way) -> u32 {
    if way == Way::Tiles { 3 } else { 4 }
}

/// How one version works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// So many lanes take so many segments together.
    Warp(u32, i64),
    /// A thread takes neighbouring segments, side by side with others.
    Own,
    /// Many warps a segment.
    Tiles,
    /// Strips of neighbouring segments.
    Strips,
    /// A thread a segment.
    Threads,
}

/// The versions: suffix, conditions, greatest length of a segment, way.
fn versions(along: Along) -> Vec<(&'static str, Conditions, Option<u32>, Way)> {
    let unit = |narrow, separate| Conditions { contiguous: true, narrow, separate, ..Conditions::default() };
    let any = |narrow| Conditions { narrow, ..Conditions::default() };
    if along == Along::Columns {
        let most = Some(columns::LONGEST);
        return vec![
            ("_short", unit(true, true), Some(128), Way::Own),
            ("", unit(true, true), most, Way::Strips),
            ("_wide", unit(false, false), most, Way::Strips),
            ("_any", any(true), most, Way::Strips),
            ("_any_wide", any(false), None, Way::Threads),
        ];
    }
    vec![
        ("_8", unit(true, true), Some(32), Way::Warp(8, 4)),
        ("_16", unit(true, true), Some(64), Way::Warp(16, 4)),
        ("_short", unit(true, true), Some(256), Way::Warp(32, 4)),
        ("_warp", unit(true, true), Some(2048), Way::Warp(32, 1)),
        ("", unit(true, true), None, Way::Tiles),
        ("_wide", unit(false, false), None, Way::Tiles),
        ("_any_warp", any(true), Some(2048), Way::Warp(32, 1)),
        ("_any", any(true), None, Way::Tiles),
        ("_any_wide", any(false), None, Way::Tiles),
    ]
}

/// All versions of a pass, if it is a segmented reduction.
pub fn kernels(l: &mut Lower, name: &str, pass: &Pass, cost: u32, out: &mut GpuPass) -> Result<bool> {
    let Some(s) = l.segments.clone() else { return Ok(false) };
    for (suffix, conditions, longest, way) in versions(s.along) {
        if way == Way::Threads {
            let shape = Shape { v: 1, strided: true, threads: super::map::THREADS, ..Shape::default() };
            let (k, grid) = super::body(l, (pass, &Inner::everywhere(pass)), &[], shape, cost)?;
            let draft = draft(k, format!("{name}{suffix}"), false);
            push(out, draft, grid, conditions, l.form, Vec::new(), longest);
            continue;
        }
        l.begin("", !conditions.contiguous);
        l.k.threads = rows::THREADS;
        l.k.blocks = blocks(way);
        let job = Job::new(l, &s, pass, conditions.contiguous);
        let mut body = match way {
            Way::Strips => columns::main(l, &job)?,
            Way::Own => columns::own(l, &job)?,
            _ => rows::main(l, &job, way)?,
        };
        let mut all = std::mem::take(&mut l.prologue);
        all.append(&mut body);
        l.k.main = Some(all);
        let accessed = std::mem::take(&mut l.vectors);
        let flat: Vec<u32> = l.flat.drain(..).collect();
        let mut k = l.finished(!conditions.contiguous, false);
        let grid = match way {
            Way::Warp(lanes, each) => Grid::Segments(rows::THREADS / lanes * each as u32),
            Way::Own => Grid::Segments(columns::THREADS * job.v as u32),
            Way::Tiles => Grid::Chunks(1, rows::MOST_SPAN),
            _ => Grid::Strips(32 * job.v as u32, 1, columns::MOST_SPAN),
        };
        if matches!(way, Way::Warp(..) | Way::Own) {
            k.scratch.clear();
        }
        accessed.into_iter().for_each(|i| k.arrays[i as usize].aligned = true);
        let draft = draft(k, format!("{name}{suffix}"), conditions.separate);
        push(out, draft, grid, conditions, l.form_of_elements(), flat, longest);
    }
    Ok(true)
}

/// Loads what the roots read side by side along an index, at neighbouring values of it, of which `first` is the first.
fn load(
    l: &mut Lower,
    roots: &[NodeId],
    (along, values): (NodeId, &[NodeId]),
    first: &Expr,
    vars: &[(NodeId, Expr)],
    out: &mut Vec<Stmt>,
) -> Result<()> {
    for (x, outer) in segments::neighbours(l, roots, along) {
        let (mem, ty) = (l.input(x, false), l.g.ty(x).elem);
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
    fn new(l: &mut Lower, s: &'a Segments, pass: &'a Pass, vectors: bool) -> Job<'a> {
        let reductions: Vec<Reduction> =
            s.nested.iter().enumerate().map(|(at, n)| Reduction::segmented(l, *n, at)).collect();
        let mut job = Job { s, items: pass.items.iter().collect(), reductions, v: 1 };
        if vectors {
            let (_, k) = l.g.fresh_var(crate::scalar::Ty::I64);
            let roots: Vec<NodeId> = job.reductions.iter().map(|r| r.first(l, k)).collect();
            let along = if s.along == Along::Rows { k } else { s.index };
            let reads = segments::neighbours(l, &roots, along);
            let widest = reads.iter().map(|(x, _)| l.g.ty(*x).elem.size()).max();
            job.v = widest.map_or(1, |size| (16 / size as i64).min(4));
        }
        job
    }

    /// Stores the elements of segment `row`.
    fn store(&self, l: &mut Lower, row: &Expr, totals: &[Expr], out: &mut Vec<Stmt>) -> Result<()> {
        let length = l.host(self.s.length);
        let values = self.s.values(l, &self.reductions, row, totals, &length, out)?;
        super::elements::store_single(l, &self.items, values, row, out);
        Ok(())
    }
}
