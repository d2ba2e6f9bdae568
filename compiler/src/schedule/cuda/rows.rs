//! Register rows: a map over rows and columns in which neighbouring elements read the same elements of an array.
//!
//! ```text
//! block: 8 warps below each other, each R rows of 32 * v columns; a lane has v neighbouring columns
//!
//! for each line of the arrays, from above the thread's first row to below its last:
//!     load what the lane's columns read of it, by aligned accesses of several elements (`window`)
//!     compute what can be computed with it: sums shrink to one value before the next line comes
//!     store the rows that are complete
//! ```
//!
//! A line is loaded once for all rows of the thread that read it. Threads at the edges, whose rows, columns or loads are not all inside, go element by element.
//! Axes before the last two are counted by the blocks. With arrays of any strides a lane has one column.

use super::patch::Patches;
use super::plane::{self, Cut, Place, ROWS, Reach};
use super::window::{self, pieces};
use super::{Shape, bind, stages};
use crate::core::{NodeId, Strategy};
use crate::error;
use crate::kernel::{Expr, Stmt, WARP};
use crate::schedule::element::{canonical, opened};
use crate::schedule::inside::Inner;
use crate::schedule::items::{Item, Pass};
use crate::schedule::lower::Lower;
use crate::schedule::stencil::{self, Stencil};
use rustc_hash::FxHashMap as HashMap;
use std::collections::BTreeMap;

/// Registers of a thread that the lines which it needs at once may take.
const MOST_WORDS: i64 = 160;

/// What of one line of an array is loaded: constants beside the thread's first element.
pub struct Line {
    /// The array.
    pub array: NodeId,
    /// Along all axes but the last.
    pub at: Vec<i64>,
    /// (start, elements) of each access.
    pub pieces: Vec<(i64, i64)>,
}

impl Line {
    /// The row, from the thread's first.
    pub fn row(&self) -> i64 {
        self.at.last().copied().unwrap_or(0)
    }

    /// Where its loads begin, and where they end.
    pub fn columns(&self) -> (i64, i64) {
        let first = self.pieces.first().map_or(0, |p| p.0);
        (first, self.pieces.last().map_or(first, |p| p.0 + p.1))
    }
}

/// How a map over a plane is done.
pub struct Plan {
    /// In the order in which they are loaded.
    lines: Vec<Line>,
    cut: Cut,
    /// Where the block keeps what is read; None: each thread loads its own.
    patches: Option<Patches>,
}

impl Plan {
    /// Or why not.
    pub fn of(
        l: &mut Lower,
        (pass, inner): (&Pass, &Inner),
        stencils: &[Stencil],
        strategy: Strategy,
        shape: Shape,
    ) -> Result<Plan, Option<&'static str>> {
        let mine: Vec<&Stencil> = stencils.iter().filter(|s| s.is_static(&l.g)).collect();
        let shared = pass.domain.len() > 1 && mine.iter().any(|s| s.overlaps());
        if !shared || strategy == Strategy::Direct {
            return Err(None);
        }
        if stencil::may_record(&mut l.g, &pass.domain, &inner.arrays, &mine) {
            return Err(Some("an element may leave a record where it is not at an edge"));
        }
        let mut lines: Vec<Line> = mine.iter().flat_map(|s| lines(l, s, shape.v)).collect();
        // with the first line of each row all that is read beside it
        lines.sort_by_key(Line::row);
        let words = |line: &Line| {
            let size = l.g.ty(line.array).elem.size() as i64;
            line.pieces.iter().map(|p| (p.1 * size + 3) / 4).sum::<i64>()
        };
        let widest = mine.iter().map(|s| s.reach(pass.domain.len() - 2)).map(|(a, b)| b - a + 1).max();
        let all: i64 = lines.iter().map(words).sum();
        let (total, at_once) = (ROWS + widest.unwrap_or(1) - 1, widest.unwrap_or(1));
        if all * at_once / total.max(1) > MOST_WORDS {
            return Err(Some("the lines that are needed at once take too many registers"));
        }
        let rows = i64::from(shape.threads / WARP) * ROWS;
        let cut = Cut { v: shape.v, rows, columns: i64::from(WARP) * shape.v };
        let tiled = strategy == Strategy::Tile && !shape.strided;
        let patches = if tiled { Patches::of(l, &lines, cut) } else { None };
        Ok(Plan { lines, cut, patches })
    }

    /// How it is called.
    pub fn strategy(&self) -> Strategy {
        if self.patches.is_some() { Strategy::Tile } else { Strategy::Rows }
    }

    /// Elements of a thread along each axis.
    fn sizes(&self) -> Vec<i64> {
        let outer = self.lines.first().map_or(0, |line| line.at.len() - 1);
        let mut sizes = vec![1; outer];
        sizes.extend([ROWS, self.cut.v]);
        sizes
    }

    /// What a thread loads.
    fn reaches(&self) -> Vec<Reach> {
        let of = |line: &Line| {
            let outer: Vec<(i64, i64)> =
                line.at.iter().map(|i| (*i, i + 1)).chain([line.columns()]).collect();
            let array = line.array;
            outer.into_iter().enumerate().map(move |(axis, (first, end))| Reach { array, axis, first, end })
        };
        self.lines.iter().flat_map(of).collect()
    }

    /// Bytes of an array that are loaded for each element.
    pub fn loaded(&self, l: &Lower, s: &Stencil) -> f64 {
        let lines = self.lines.iter().filter(|line| line.array == s.array);
        let elements: i64 = lines.flat_map(|line| line.pieces.iter().map(|p| p.1)).sum();
        let size = l.g.ty(s.array).elem.size() as f64;
        match &self.patches {
            Some(patches) => {
                size * patches.elements(s.array) as f64 / (self.cut.rows * self.cut.columns) as f64
            }
            None => size * elements as f64 / (ROWS * self.cut.v) as f64,
        }
    }

    /// Rows and columns of a block.
    pub fn block(&self) -> (i64, i64) {
        (self.cut.rows, self.cut.columns)
    }
}

/// The lines of one array that a thread's rows read.
fn lines(l: &Lower, s: &Stencil, v: i64) -> Vec<Line> {
    let mut columns: BTreeMap<Vec<i64>, Vec<i64>> = BTreeMap::new();
    for (r, tap) in (0..ROWS).flat_map(|r| s.taps.iter().map(move |t| (r, t))) {
        let (column, before) = tap.split_last().unwrap_or((&0, &[]));
        let mut at = before.to_vec();
        at.iter_mut().next_back().into_iter().for_each(|row| *row += r);
        columns.entry(at).or_default().push(*column);
    }
    let width = window::widest(l, s.array, v);
    let line =
        |(at, taps): (Vec<i64>, Vec<i64>)| Line { array: s.array, at, pieces: pieces(&taps, v, width) };
    columns.into_iter().map(line).collect()
}

/// The body of one thread.
pub fn main(
    l: &mut Lower,
    pass: &Pass,
    inner: &Inner,
    shape: Shape,
    plan: &Plan,
) -> error::Result<Vec<Stmt>> {
    let items: Vec<&Item> = pass.items.iter().collect();
    let (mut out, mut full) = (Vec::new(), Vec::new());
    let place = plane::place(l, pass, shape, plan.cut, &mut out);
    let within = (pass, inner.margins.as_slice());
    let fits = match &plan.patches {
        Some(patches) => {
            let inside = patches.inside(l, within, plan.cut, &place);
            patches.fill(l, &place, &mut full);
            inside
        }
        None => {
            let firsts: Vec<Expr> = place.vars.iter().map(|v| v.1.clone()).collect();
            plane::fits(l, within, &firsts, &plan.sizes(), &plan.reaches())
        }
    };
    l.loaded = Some(HashMap::default());
    elements(l, (&items, &inner.arrays), plan, &place, &mut full)?;
    l.loaded = None;
    let edge = plane::edge(l, pass, &items, plan.cut.v, &place)?;
    out.push(Stmt::If(fits, full, edge));
    Ok(out)
}

/// All elements of a thread: line by line, each row stored as soon as it is complete.
fn elements(
    l: &mut Lower,
    (items, arrays): (&[&Item], &[NodeId]),
    plan: &Plan,
    place: &Place,
    out: &mut Vec<Stmt>,
) -> error::Result<()> {
    let mut roots = Vec::new();
    for (r, k) in (0..ROWS).flat_map(|r| (0..plan.cut.v).map(move |k| (r, k))) {
        let mut at = vec![0; place.vars.len()];
        let rank = at.len();
        (at[rank - 2], at[rank - 1]) = (r, k);
        let index = place.index(l, &at);
        roots.extend(arrays.iter().map(|a| opened(&mut l.g, *a, &index)));
    }
    let roots = l.shared(&roots);
    let mut rows: Vec<i64> = plan.lines.iter().map(Line::row).collect();
    rows.dedup();
    let mut ready = HashMap::default();
    for line in &plan.lines {
        for lane in line.pieces.iter().flat_map(|p| p.0..p.0 + p.1) {
            let at: Vec<i64> = line.at.iter().copied().chain([lane]).collect();
            ready.insert((line.array, place.index(l, &at)), line.row());
        }
    }
    let mut stages = stages::Stages::of(l, &roots, &ready);
    let mut vars = place.vars.clone();
    let per_row = plan.cut.v as usize * items.len();
    let mut stored = 0;
    for row in rows {
        for line in plan.lines.iter().filter(|line| line.row() == row) {
            load(l, line, plan, place, out);
        }
        stages.advance(l, row, &mut vars, out)?;
        while stored < ROWS
            && roots[stored as usize * per_row..][..per_row].iter().all(|n| stages.stage(*n) <= row)
        {
            let values = &roots[stored as usize * per_row..][..per_row];
            store(l, items, plan, place, stored, (values, &vars), out)?;
            stored += 1;
        }
    }
    Ok(())
}

/// Loads a line into registers.
fn load(l: &mut Lower, line: &Line, plan: &Plan, place: &Place, out: &mut Vec<Stmt>) {
    // at which places it is read was said when the CPU's kernels were written
    let (mem, ty) = (l.input(line.array, true), l.g.ty(line.array).elem);
    let mut start = None;
    for (first, count) in &line.pieces {
        let (mem, at) = match plan.patches.as_ref().and_then(|p| p.place(line, *first)) {
            Some(found) => found,
            None => {
                let start = match &start {
                    Some(known) => Expr::clone(known),
                    None => {
                        let line = place.line(l, mem, &line.at);
                        start.insert(bind(l, "line", line, out)).clone()
                    }
                };
                (mem, place.column(l, mem, &start, *first))
            }
        };
        let regs: Vec<_> = (0..*count).map(|_| l.k.reg("x", ty)).collect();
        for (lane, r) in (*first..).zip(&regs) {
            let at: Vec<i64> = line.at.iter().copied().chain([lane]).collect();
            let key = (line.array, place.index(l, &at));
            l.loaded.get_or_insert_default().insert(key, Expr::Reg(*r));
        }
        if *count == 1 {
            out.push(Stmt::Let(regs[0], Expr::load(mem, at), Default::default()));
        } else {
            l.vector(mem);
            out.push(Stmt::LoadVec(regs, mem, at));
        }
    }
}

/// Computes what is left of a row's values, and stores them.
fn store(
    l: &mut Lower,
    items: &[&Item],
    plan: &Plan,
    place: &Place,
    row: i64,
    (roots, vars): (&[NodeId], &[(NodeId, Expr)]),
    out: &mut Vec<Stmt>,
) -> error::Result<()> {
    let values = l.region(vars, roots, None, &Expr::int(0), out)?;
    let mut at = vec![0; place.vars.len() - 1];
    at.iter_mut().next_back().into_iter().for_each(|r| *r = row);
    for (which, item) in items.iter().enumerate() {
        let (mem, ty) = (l.output(item), l.g.ty(item.node).elem);
        let line = place.line(l, mem, &at);
        let to = place.column(l, mem, &line, 0);
        let each = values.iter().skip(which).step_by(items.len());
        let mut list: Vec<Expr> = each.map(|e| canonical(e.clone(), ty, &mut l.k, out)).collect();
        if plan.cut.v == 1 {
            out.push(Stmt::Store(mem, to, list.remove(0)));
        } else {
            l.vector(mem);
            out.push(Stmt::StoreVec(mem, to, list));
        }
    }
    Ok(())
}
