//! A part: the `thread_rows` x `v` neighbouring elements of one stage that a thread computes together. This file has
//! its position, the condition that it is in the interior, and its code: line by line, which shares loaded lines
//! among the part's rows, or element by element.

use super::tiles::StageTile;
use crate::core::NodeId;
use crate::error::{Error, Result};
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::access;
use crate::schedule::cuda::expressions::{int32, masked, offset, shifted, to_i64};
use crate::schedule::cuda::line_sums;
use crate::schedule::cuda::register_pressure::LineSchedule;
use crate::schedule::cuda::register_tiling::placement::{Line, PlaneTiling, ThreadPosition, plus};
use crate::schedule::cuda::register_window;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::{canonical, opened};
use crate::schedule::facts::ChainStage;
use rustc_hash::FxHashMap as HashMap;

/// The tile of one array in shared memory.
pub struct SharedArray {
    /// The memory.
    pub mem: Mem,
    /// The tile's first row and column, relative to the block's first element; negative where the tile has a halo.
    pub first: [i64; 2],
    /// The number of columns.
    pub columns: i64,
}

impl SharedArray {
    /// Returns the index in the tile of the element at this row and column, which are relative to the block's first
    /// element: `(row - first[0]) * columns + (column - first[1])`.
    pub fn at(&self, row: &Expr, column: &Expr) -> Expr {
        let by = -self.first[0] * self.columns - self.first[1];
        offset(row.clone().times(int32(self.columns as i32)).plus(column.clone()), by)
    }
}

/// The tiles of the arrays of all stages that are computed so far.
pub type SharedArrays = HashMap<NodeId, SharedArray>;

/// The part of a stage's elements that a thread computes together.
pub struct Part<'a> {
    /// The stage.
    pub stage: &'a ChainStage,
    /// The block's tile of the stage.
    pub tile: &'a StageTile,
    /// The number of rows and columns of the part.
    pub tiling: PlaneTiling,
    /// The indices of the part's first element in the stage's matrix, and of the block's first element of the last
    /// stage.
    pub position: ThreadPosition,
    /// The part's first row and column, relative to the block's first element.
    pub first: [Expr; 2],
    /// The index in each tile of the part's first element.
    pub starts: HashMap<NodeId, Expr>,
}

/// Writes a loop over the elements of a part. `code` writes its body; it gets the element's row and column in the
/// matrix, and those relative to the block's first element.
pub fn single_elements(
    l: &mut Lower,
    part: &Part,
    out: &mut Vec<Stmt>,
    code: impl FnOnce(&mut Lower, &[Expr; 2], &[Expr; 2], &mut Vec<Stmt>) -> Result<()>,
) -> Result<()> {
    let (k, v) = (l.k.reg("k", Ty::I32), part.tiling.v);
    let mut body = Vec::new();
    let down = bind(l, "i", shifted(Expr::Reg(k), v), &mut body);
    let right = bind(l, "j", masked(Expr::Reg(k), v), &mut body);
    let steps = [down, right];
    let mut index = [0, 1].map(|axis| {
        let e = part.position.vars[axis].1.clone().plus(to_i64(steps[axis].clone()));
        bind(l, "at", e, &mut body)
    });
    let at = [0, 1].map(|axis| {
        let e = part.first[axis].clone().plus(steps[axis].clone());
        bind(l, "near", e, &mut body)
    });
    code(l, &index, &at, &mut body)?;
    index.reverse();
    let count = part.tiling.thread_rows * v;
    out.push(Stmt::Seq(k, int32(0), int32(count as i32), body));
    Ok(())
}

impl Part<'_> {
    /// Computes the index of the part's first element in each tile that the part reads or writes.
    pub fn find_starts(&mut self, l: &mut Lower, shared: &SharedArrays, out: &mut Vec<Stmt>) {
        let read = self.stage.stencils.iter().map(|s| s.array);
        for x in read.chain(self.stage.fused.items.iter().map(|it| it.node)) {
            if let Some(tile) = shared.get(&x)
                && !self.starts.contains_key(&x)
            {
                let start = bind(l, "start", tile.at(&self.first[0], &self.first[1]), out);
                self.starts.insert(x, start);
            }
        }
    }

    /// Returns the condition that all elements of the part are in the interior of the stage's matrix and all loads
    /// from global memory are in bounds; `None` if it always holds. For each axis it is
    /// `first >= least && first + size <= end`.
    pub fn is_interior(&self, l: &mut Lower, shared: &SharedArrays) -> Option<Expr> {
        let lines = || self.tile.lines.iter().filter(|line| !shared.contains_key(&line.array));
        let sizes = [self.tiling.thread_rows, self.tiling.v];
        let mut all = None;
        for (axis, size) in sizes.into_iter().enumerate() {
            let width = if self.stage.has_edges { self.stage.inner.widths[axis] } else { (0, 0) };
            let reaches = lines().map(|line| match axis {
                0 => (line.array, line.row(), line.row() + 1),
                _ => (line.array, line.columns().0, line.columns().1),
            });
            let reaches: Vec<(NodeId, i64, i64)> = reaches.collect();
            let least = reaches.iter().map(|r| -r.1).max().unwrap_or(0).max(width.0).max(0);
            let first = &self.position.vars[axis].1;
            if least > self.tile.first[axis] {
                all = and(all, Some(Expr::binary(BinaryOp::Ge, first.clone(), Expr::int(least))));
            }
            let mut needs: Vec<(NodeId, i64)> = Vec::new();
            for r in reaches {
                let behind = r.2 - size;
                match needs.iter_mut().find(|n| n.0 == r.0) {
                    Some(n) => n.1 = n.1.max(behind),
                    None => needs.push((r.0, behind)),
                }
            }
            let own = (self.stage.fused.domain[axis], width.1);
            let end = register_window::end(l.launch, own, axis as u8, &needs);
            all = and(all, Some(Expr::binary(BinaryOp::Le, plus(first.clone(), size), end)));
        }
        all
    }
}

/// Computes all elements of a part in the interior. Lines are loaded from the top to the bottom; after each, all that
/// depends on no later line is computed, and a row of results is stored as soon as its last line has arrived. So few
/// lines are in registers at once.
pub fn elements(l: &mut Lower, part: &Part, shared: &SharedArrays, out: &mut Vec<Stmt>) -> Result<()> {
    let (stage, position, tiling) = (part.stage, &part.position, part.tiling);
    l.with_loaded(HashMap::default(), |l| {
        let mut roots = Vec::new();
        for (r, k) in (0..tiling.thread_rows).flat_map(|r| tiling.thread_columns().map(move |k| (r, k))) {
            let index = position.index(l, &[r, k]);
            roots.extend(stage.inner.arrays.iter().map(|a| opened(&mut l.launch.g, *a, &index)));
        }
        let mut roots = l.launch.shared(&roots);
        let mut rows: Vec<i64> = part.tile.lines.iter().map(Line::row).collect();
        rows.dedup();
        let mut ready = HashMap::default();
        for line in &part.tile.lines {
            for column in line.pieces.iter().flat_map(|p| p.0..p.0 + p.1) {
                ready.insert((line.array, position.index(l, &[line.row(), column])), line.row());
            }
        }
        let mut schedule = LineSchedule::of(l.launch, &roots, &ready);
        if let Some(ordered) = line_sums::by_lines(l.launch, &roots, &schedule) {
            roots = ordered;
            schedule = LineSchedule::of(l.launch, &roots, &ready);
        }
        let mut vars = position.vars.clone();
        let per_row = tiling.v as usize * stage.fused.items.len();
        let mut stored = 0;
        let mut complete =
            |l: &mut Lower, row: i64, schedule: &LineSchedule, vars: &[_], out: &mut Vec<Stmt>| {
                while stored < tiling.thread_rows {
                    let values = &roots[stored as usize * per_row..][..per_row];
                    if values.iter().any(|n| schedule.line(*n) > row) {
                        break;
                    }
                    store(l, part, stored, (values, vars), shared, out)?;
                    stored += 1;
                }
                Ok::<(), Error>(())
            };
        let all_first = part.tile.lines.iter().filter(|_| part.tile.loads_first);
        for line in all_first {
            load(l, line, part, shared, out);
        }
        for row in rows {
            let now = part.tile.lines.iter().filter(|line| line.row() == row && !part.tile.loads_first);
            for line in now {
                load(l, line, part, shared, out);
            }
            schedule.advance(l, row, &mut vars, out)?;
            complete(l, row, &schedule, &vars, out)?;
        }
        // a stage may read nothing at constant distances: then no line completes its rows
        complete(l, i64::MAX, &schedule, &vars, out)
    })
}

/// Loads a line into registers.
fn load(l: &mut Lower, line: &Line, part: &Part, shared: &SharedArrays, out: &mut Vec<Stmt>) {
    let ty = l.launch.g.ty(line.array).elem;
    let mut start: Option<(Mem, Expr)> = None;
    for (first, count) in &line.pieces {
        let (mem, at) = match (shared.get(&line.array), part.starts.get(&line.array)) {
            (Some(tile), Some(own)) => (tile.mem, offset(own.clone(), line.row() * tile.columns + first)),
            _ => {
                let (mem, start) = match &start {
                    Some(known) => known.clone(),
                    None => {
                        let mem = l.launch.input(line.array);
                        let e = part.position.line(l, mem, &line.at);
                        start.insert((mem, bind(l, "line", e, out))).clone()
                    }
                };
                (mem, part.position.column(l, mem, &start, *first))
            }
        };
        let regs: Vec<_> = (0..*count).map(|_| l.k.reg("x", ty)).collect();
        for (column, r) in (*first..).zip(&regs) {
            let key = (line.array, part.position.index(l, &[line.row(), column]));
            l.scope.loaded.get_or_insert_default().insert(key, Expr::Reg(*r));
        }
        access::load(l, mem, regs, at, out);
    }
}

/// Computes what is left of a row's values, and stores them to the stage's tile or, in the last stage, to the
/// results.
fn store(
    l: &mut Lower,
    part: &Part,
    row: i64,
    (roots, vars): (&[NodeId], &[(NodeId, Expr)]),
    shared: &SharedArrays,
    out: &mut Vec<Stmt>,
) -> Result<()> {
    let values = l.region(vars, roots, &Expr::int(0), out)?;
    let items = &part.stage.fused.items;
    for (i, it) in items.iter().enumerate() {
        let each = values.iter().skip(i).step_by(items.len()).cloned();
        if let (Some(tile), Some(own)) = (shared.get(&it.node), part.starts.get(&it.node)) {
            access::store(l, tile.mem, each.collect(), offset(own.clone(), row * tile.columns), out);
            continue;
        }
        let (mem, ty) = (l.launch.output(it), l.launch.g.ty(it.node).elem);
        let line = part.position.line(l, mem, &[row]);
        let list: Vec<Expr> = each.map(|e| canonical(e, ty, &mut l.k.kernel, out)).collect();
        let to = part.position.column(l, mem, &line, 0);
        access::store(l, mem, list, to, out);
    }
    Ok(())
}

/// Returns `a && b`, where `None` is a condition that always holds.
pub fn and(a: Option<Expr>, b: Option<Expr>) -> Option<Expr> {
    match (a, b) {
        (Some(a), Some(b)) => Some(Expr::binary(BinaryOp::And, a, b)),
        (a, b) => a.or(b),
    }
}
