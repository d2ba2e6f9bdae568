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

use super::window::{self, pieces};
use super::{Shape, bind, int32, stages, thread, wide};
use crate::core::{NodeId, Strategy, linear};
use crate::error;
use crate::kernel::{Expr, Gpu, Mem, Stmt, WARP};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::{canonical, opened};
use crate::schedule::items::{Item, Pass};
use crate::schedule::lower::Lower;
use crate::schedule::stencil::{self, Stencil};
use rustc_hash::FxHashMap as HashMap;
use std::collections::BTreeMap;

/// Rows of a thread.
const ROWS: i64 = 4;
/// Registers of a thread that the lines which it needs at once may take.
const MOST_WORDS: i64 = 160;

/// What of one line of an array is loaded: constants beside the thread's first element.
struct Line {
    array: NodeId,
    /// Along all axes but the last.
    at: Vec<i64>,
    /// (start, elements) of each access.
    pieces: Vec<(i64, i64)>,
}

impl Line {
    /// The row, from the thread's first.
    fn row(&self) -> i64 {
        self.at.last().copied().unwrap_or(0)
    }
}

/// How a map over a plane is done.
pub struct Plan {
    /// In the order in which they are loaded.
    lines: Vec<Line>,
    v: i64,
}

impl Plan {
    /// Or why not.
    pub fn of(
        l: &mut Lower,
        pass: &Pass,
        stencils: &[Stencil],
        strategy: Strategy,
        shape: Shape,
    ) -> Result<Plan, Option<&'static str>> {
        let mine: Vec<&Stencil> = stencils.iter().filter(|s| s.is_static(&l.g)).collect();
        let shared = pass.domain.len() > 1 && mine.iter().any(|s| s.overlaps());
        if !shared || strategy == Strategy::Direct {
            return Err(None);
        }
        if stencil::may_record(&mut l.g, pass, &mine) {
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
        Ok(Plan { lines, v: shape.v })
    }

    /// Bytes of an array that are loaded for each element.
    pub fn loaded(&self, l: &Lower, s: &Stencil) -> f64 {
        let lines = self.lines.iter().filter(|line| line.array == s.array);
        let elements: i64 = lines.flat_map(|line| line.pieces.iter().map(|p| p.1)).sum();
        elements as f64 * l.g.ty(s.array).elem.size() as f64 / (ROWS * self.v) as f64
    }

    /// Rows and columns of a block.
    pub fn block(&self, shape: Shape) -> (i64, i64) {
        (i64::from(shape.threads / WARP) * ROWS, i64::from(WARP) * self.v)
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

/// Where a thread is: for each axis the variable of its first index, and its register.
struct Place {
    vars: Vec<(NodeId, Expr)>,
}

impl Place {
    /// The indices so far from the first, in the graph.
    fn index(&self, l: &mut Lower, at: &[i64]) -> Vec<NodeId> {
        let step = |l: &mut Lower, var: NodeId, by: i64| {
            let by = l.g.lit(Lit::i64(by));
            linear::add(&mut l.g, var, by)
        };
        self.vars.iter().zip(at).map(|(v, by)| step(l, v.0, *by)).collect()
    }

    /// Where an element so far from the first lies, up to its column.
    fn line(&self, l: &mut Lower, mem: Mem, at: &[i64]) -> Expr {
        let indices: Vec<Expr> = self.vars.iter().zip(at).map(|(v, by)| plus(v.1.clone(), *by)).collect();
        along(l, mem, &indices)
    }

    /// Where an element of such a line lies.
    fn column(&self, l: &mut Lower, mem: Mem, line: &Expr, by: i64) -> Expr {
        let last = self.vars.len() - 1;
        let column = self.vars[last].1.clone();
        match l.strided {
            true => line.clone().plus(plus(column, by).times(l.stride(mem, last as u8))),
            false => plus(line.clone().plus(column), by),
        }
    }
}

fn plus(e: Expr, by: i64) -> Expr {
    if by == 0 { e } else { e.plus(Expr::int(by)) }
}

/// The sum of indices times strides, for as many axes as there are indices.
fn along(l: &mut Lower, mem: Mem, indices: &[Expr]) -> Expr {
    let mut sum: Option<Expr> = None;
    for (i, axis) in indices.iter().zip(0..) {
        let e = i.clone().times(l.stride(mem, axis));
        sum = Some(sum.map_or(e.clone(), |s| s.plus(e)));
    }
    sum.unwrap_or(Expr::int(0))
}

/// The body of one thread.
pub fn main(l: &mut Lower, pass: &Pass, shape: Shape, plan: &Plan) -> error::Result<Vec<Stmt>> {
    let items: Vec<&Item> = pass.items.iter().collect();
    let mut out = Vec::new();
    let place = place(l, pass, shape, plan, &mut out);
    let fits = fits(l, pass, plan, &place);
    let mut full = Vec::new();
    l.loaded = Some(HashMap::default());
    elements(l, &items, plan, &place, &mut full)?;
    l.loaded = None;
    let edge = edge(l, pass, &items, plan, &place)?;
    out.push(Stmt::If(fits, full, edge));
    Ok(out)
}

/// The thread's first indices, from its number and its block's.
fn place(l: &mut Lower, pass: &Pass, shape: Shape, plan: &Plan, out: &mut Vec<Stmt>) -> Place {
    let (rows, columns) = plan.block(shape);
    let mut block = Expr::Place(Gpu::Block);
    if shape.descending {
        block = Expr::Place(Gpu::Blocks).minus(int32(1)).minus(block);
    }
    let rank = pass.domain.len();
    let mut vars = vec![Expr::int(0); rank];
    // neighbouring blocks are neighbours along the columns
    for (axis, each) in
        [(rank - 1, columns), (rank - 2, rows)].into_iter().chain((0..rank - 2).rev().map(|a| (a, 1)))
    {
        let mut own = block.clone();
        if axis > 0 {
            let blocks = l.host(pass.domain[axis]).plus(Expr::int(each - 1));
            let blocks = Expr::binary(BinaryOp::Shr, blocks, Expr::int(each.ilog2().into()));
            let blocks = bind(l, "blocks", Expr::Cast(Ty::U32, Box::new(blocks)), out);
            let before =
                Expr::binary(BinaryOp::Div, Expr::Cast(Ty::U32, Box::new(block.clone())), blocks.clone());
            let before = bind(l, "before", Expr::Cast(Ty::I32, Box::new(before)), out);
            let blocks = Expr::Cast(Ty::I32, Box::new(blocks));
            own = bind(l, "own", block.minus(before.clone().times(blocks)), out);
            block = before;
        }
        let first = wide(own).times(Expr::int(each));
        let first = match rank - 1 - axis {
            0 => first.plus(wide(Expr::binary(BinaryOp::And, thread(), int32(31))).times(Expr::int(plan.v))),
            1 => first.plus(wide(Expr::binary(BinaryOp::Shr, thread(), int32(5))).times(Expr::int(ROWS))),
            _ => first,
        };
        vars[axis] = bind(l, ["column", "row", "outer"][(rank - 1 - axis).min(2)], first, out);
    }
    Place { vars: vars.into_iter().map(|e| (l.g.fresh_var(Ty::I64).1, e)).collect() }
}

/// Whether all rows, columns and loads of a thread are inside.
fn fits(l: &mut Lower, pass: &Pass, plan: &Plan, place: &Place) -> Expr {
    let rank = pass.domain.len();
    let mut all: Option<Expr> = None;
    for axis in 0..rank {
        let size = if axis == rank - 1 {
            plan.v
        } else if axis == rank - 2 {
            ROWS
        } else {
            1
        };
        let reach = |line: &Line| match line.pieces.as_slice() {
            [first, .., last] if axis == rank - 1 => (first.0, last.0 + last.1),
            [only] if axis == rank - 1 => (only.0, only.0 + only.1),
            _ => (line.at[axis], line.at[axis] + 1),
        };
        let mut tests = Vec::new();
        let first = plan.lines.iter().map(|line| reach(line).0).min().unwrap_or(0);
        if first < 0 {
            tests.push(Expr::binary(BinaryOp::Ge, place.vars[axis].1.clone(), Expr::int(-first)));
        }
        let mut needs: Vec<(NodeId, i64)> = Vec::new();
        for line in &plan.lines {
            let beyond = reach(line).1 - size;
            match needs.iter_mut().find(|n| n.0 == line.array) {
                Some(n) => n.1 = n.1.max(beyond),
                None => needs.push((line.array, beyond)),
            }
        }
        let n = l.host(pass.domain[axis]);
        let end = window::end(l, pass.domain[axis], axis as u8, &needs);
        // along outer axes there is one index, which is inside
        if axis + 2 >= rank || end != n {
            tests.push(Expr::binary(BinaryOp::Le, plus(place.vars[axis].1.clone(), size), end));
        }
        for test in tests {
            all = Some(all.map_or(test.clone(), |all| Expr::binary(BinaryOp::And, all, test)));
        }
    }
    all.unwrap_or(Expr::Lit(Lit::bool(true)))
}

/// All elements of a thread: line by line, each row stored as soon as it is complete.
fn elements(
    l: &mut Lower,
    items: &[&Item],
    plan: &Plan,
    place: &Place,
    out: &mut Vec<Stmt>,
) -> error::Result<()> {
    let mut roots = Vec::new();
    for (r, k) in (0..ROWS).flat_map(|r| (0..plan.v).map(move |k| (r, k))) {
        let mut at = vec![0; place.vars.len()];
        let rank = at.len();
        (at[rank - 2], at[rank - 1]) = (r, k);
        let index = place.index(l, &at);
        roots.extend(items.iter().map(|it| opened(&mut l.g, it.node, &index)));
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
    let per_row = plan.v as usize * items.len();
    let mut stored = 0;
    for row in rows {
        for line in plan.lines.iter().filter(|line| line.row() == row) {
            load(l, line, place, out);
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
fn load(l: &mut Lower, line: &Line, place: &Place, out: &mut Vec<Stmt>) {
    // at which places it is read was said when the CPU's kernels were written
    let (mem, ty) = (l.input(line.array, true), l.g.ty(line.array).elem);
    let start = place.line(l, mem, &line.at);
    let start = bind(l, "line", start, out);
    for (first, count) in &line.pieces {
        let at = place.column(l, mem, &start, *first);
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
        if plan.v == 1 {
            out.push(Stmt::Store(mem, to, list.remove(0)));
        } else {
            l.vector(mem);
            out.push(Stmt::StoreVec(mem, to, list));
        }
    }
    Ok(())
}

/// The elements of a thread at the edges, one after another.
fn edge(l: &mut Lower, pass: &Pass, items: &[&Item], plan: &Plan, place: &Place) -> error::Result<Vec<Stmt>> {
    let rank = pass.domain.len();
    let [r, c] = ["r", "c"].map(|name| l.k.reg(name, Ty::I64));
    let mut body = Vec::new();
    let mut index: Vec<Expr> = place.vars.iter().map(|v| v.1.clone()).collect();
    index[rank - 2] = bind(l, "i", index[rank - 2].clone().plus(Expr::Reg(r)), &mut body);
    index[rank - 1] = bind(l, "j", index[rank - 1].clone().plus(Expr::Reg(c)), &mut body);
    let vars: Vec<(NodeId, Expr)> = index.iter().map(|e| (l.g.fresh_var(Ty::I64).1, e.clone())).collect();
    let own: Vec<NodeId> = vars.iter().map(|v| v.0).collect();
    let roots: Vec<NodeId> = items.iter().map(|it| opened(&mut l.g, it.node, &own)).collect();
    let extents: Vec<Expr> = pass.domain.iter().map(|n| l.host(*n)).collect();
    // what records name
    let number = index
        .iter()
        .zip(&extents)
        .skip(1)
        .fold(index[0].clone(), |k, (i, n)| k.times(n.clone()).plus(i.clone()));
    let mut element = Vec::new();
    let values = l.region_at(&vars, &roots, (None, own), &number, &mut element)?;
    let mut stores = Vec::new();
    for (item, e) in items.iter().zip(values) {
        let (mem, ty) = (l.output(item), l.g.ty(item.node).elem);
        let e = bind(l, "value", e, &mut element);
        let (last, before) = index.split_last().map_or((Expr::int(0), &[][..]), |(j, i)| (j.clone(), i));
        let to = along(l, mem, before);
        let last = if l.strided { last.times(l.stride(mem, rank as u8 - 1)) } else { last };
        stores.push(Stmt::Store(mem, to.plus(last), canonical(e, ty, &mut l.k, &mut element)));
    }
    element.append(&mut stores);
    let inside = |axis: usize| Expr::binary(BinaryOp::Lt, index[axis].clone(), extents[axis].clone());
    let is_inside = Expr::binary(BinaryOp::And, inside(rank - 2), inside(rank - 1));
    body.push(Stmt::If(is_inside, element, vec![]));
    let columns = vec![Stmt::Seq(c, Expr::int(0), Expr::int(plan.v), body)];
    Ok(vec![Stmt::Seq(r, Expr::int(0), Expr::int(ROWS), columns)])
}
