//! The code of one thread of a chain of stencils.

use super::THREADS;
use super::tiles::{ChainTiles, StageTile};
use crate::core::{NodeId, linear};
use crate::error::{Error, Result};
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cuda::access;
use crate::schedule::cuda::expressions::{int32, masked, offset, shifted, thread, to_i64};
use crate::schedule::cuda::line_sums;
use crate::schedule::cuda::register_pressure::LineSchedule;
use crate::schedule::cuda::register_tiling::placement::{
    self, Line, PlaneTiling, ThreadPosition, along, lane, plus, warp,
};
use crate::schedule::cuda::register_window;
use crate::schedule::cuda::thread_layout::ThreadLayout;
use crate::schedule::element::{canonical, opened};
use crate::schedule::facts::{BeyondEdges, ChainStage};
use crate::schedule::groups::FusedGroup;
use crate::schedule::lower::{Loaded, Lower, named as bind};
use rustc_hash::FxHashMap as HashMap;

/// The tile of one array in shared memory.
struct SharedArray {
    mem: Mem,
    first: [i64; 2],
    columns: i64,
}

impl SharedArray {
    /// Returns the index of the element at this row and column from the block's first ones.
    fn at(&self, row: &Expr, column: &Expr) -> Expr {
        let by = -self.first[0] * self.columns - self.first[1];
        offset(row.clone().times(int32(self.columns as i32)).plus(column.clone()), by)
    }
}

type SharedArrays = HashMap<NodeId, SharedArray>;

/// The part of a stage's elements that a thread computes at once.
struct Part<'a> {
    stage: &'a ChainStage,
    tile: &'a StageTile,
    tiling: PlaneTiling,
    /// The indices of its first element in the stage's index space; the block's are not those of the stage.
    position: ThreadPosition,
    /// Its first row and column from the block's first ones.
    first: [Expr; 2],
    /// The index of its first element in each tile.
    starts: HashMap<NodeId, Expr>,
}

/// Writes the body of one thread.
pub fn main(
    l: &mut Lower,
    fused: &FusedGroup,
    layout: ThreadLayout,
    tiles: &ChainTiles,
) -> Result<Vec<Stmt>> {
    let Some(chain) = l.launch.facts.stencil_chain.clone() else {
        return Err(Error::bug("E0404", "a chain of stencils without facts"));
    };
    let mut out = Vec::new();
    let mut own = placement::position(l, fused, layout, tiles.tiling, &mut out);
    own.block[0] = bind(l, "top", own.block[0].clone(), &mut out);
    let mut shared = SharedArrays::default();
    let (last, before) = chain.stages.split_last().expect("a chain has stages");
    for (stage, tile) in before.iter().zip(&tiles.tiles) {
        for it in &stage.fused.items {
            let len = (tile.size[0] * tile.size[1]) as u32;
            let mem = l.k.share("tile", l.launch.g.ty(it.node).elem, len);
            shared.insert(it.node, SharedArray { mem, first: tile.first, columns: tile.size[1] });
        }
        fill(l, (stage, tile), tiles.tiling, &own.block, &shared, &mut out)?;
        out.push(Stmt::Barrier);
    }
    let down = warp().times(int32(tiles.tiling.thread_rows as i32));
    let first = [
        bind(l, "down", down, &mut out),
        bind(l, "right", lane().times(int32(tiles.tiling.v as i32)), &mut out),
    ];
    let Some(tile) = tiles.tiles.last() else { return Ok(out) };
    let mut part =
        Part { stage: last, tile, tiling: tiles.tiling, position: own, first, starts: HashMap::default() };
    part.find_starts(l, &shared, &mut out);
    store_results(l, &part, &shared, &mut out)?;
    let is_read = |x: &NodeId| l.launch.is_input(*x);
    if shared.keys().any(is_read) {
        return Err(Error::bug("E0404", "a chain of stencils reads what it has not stored"));
    }
    Ok(out)
}

/// Fills the tiles of one stage.
fn fill(
    l: &mut Lower,
    (stage, tile): (&ChainStage, &StageTile),
    tiling: PlaneTiling,
    block: &[Expr],
    shared: &SharedArrays,
    out: &mut Vec<Stmt>,
) -> Result<()> {
    let threads = i64::from(THREADS);
    let of_row = tile.size[1] / tiling.v;
    let parts = tile.size[0] / tile.thread_rows * of_row;
    let turns = (parts + threads - 1) / threads;
    let turn = l.k.reg("turn", Ty::I32);
    let mut body = Vec::new();
    let number = Expr::Reg(turn).times(int32(threads as i32)).plus(thread());
    let number = bind(l, "number", number, &mut body);
    let down = match of_row.count_ones() {
        1 => shifted(number.clone(), of_row),
        _ => Expr::binary(BinaryOp::Div, number.clone(), int32(of_row as i32)),
    };
    let down = bind(l, "down", down, &mut body);
    let right = match of_row.count_ones() {
        1 => masked(number.clone(), of_row),
        _ => number.clone().minus(down.clone().times(int32(of_row as i32))),
    };
    let right = bind(l, "right", right, &mut body);
    let first = [(down, tile.thread_rows), (right, tiling.v)];
    let first = [0, 1].map(|axis| {
        let (e, each) = &first[axis];
        offset(e.clone().times(int32(*each as i32)), tile.first[axis])
    });
    let first = first.map(|e| bind(l, "first", e, &mut body));
    let mut vars = Vec::new();
    for (axis, name) in ["row", "column"].into_iter().enumerate() {
        let at = bind(l, name, block[axis].clone().plus(to_i64(first[axis].clone())), &mut body);
        vars.push((l.launch.g.fresh_var(Ty::I64).1, at));
    }
    let position = ThreadPosition { vars, block: block.to_vec() };
    let tiling = PlaneTiling { thread_rows: tile.thread_rows, ..tiling };
    let mut part = Part { stage, tile, tiling, position, first, starts: HashMap::default() };
    part.find_starts(l, shared, &mut body);
    let inside = part.is_interior(l, shared);
    let (mut full, mut edge) = (Vec::new(), Vec::new());
    elements(l, &part, shared, &mut full)?;
    single_elements(l, &part, &mut edge, |l, index, at, out| {
        for (it, beyond) in stage.fused.items.iter().zip(&stage.beyond) {
            let value = beyond_edges(l, &stage.fused, beyond, index, out)?;
            let to = &shared[&it.node];
            out.push(Stmt::Store(to.mem, to.at(&at[0], &at[1]), value));
        }
        Ok(())
    })?;
    body.push(match inside {
        Some(inside) => Stmt::If(inside, full, edge),
        None => Stmt::If(Expr::Lit(Lit::bool(true)), full, vec![]),
    });
    if parts % threads != 0 {
        let rest = body.split_off(1);
        body.push(Stmt::If(Expr::binary(BinaryOp::Lt, number, int32(parts as i32)), rest, vec![]));
    }
    out.push(Stmt::Seq(turn, int32(0), int32(turns as i32), body));
    Ok(())
}

/// Returns the value of an array at indices that may be beyond its edges. Where nobody needs it, it is 0.
fn beyond_edges(
    l: &mut Lower,
    fused: &FusedGroup,
    beyond: &BeyondEdges,
    index: &[Expr; 2],
    out: &mut Vec<Stmt>,
) -> Result<Expr> {
    let vars: Vec<(NodeId, Expr)> = beyond.at.iter().copied().zip(index.iter().cloned()).collect();
    let value = |l: &mut Lower, out: &mut Vec<Stmt>| {
        let known = |l: &mut Lower| l.region(&vars, &[beyond.value], &Expr::int(0), out);
        Ok(l.with_loaded(Loaded::default(), known)?.remove(0))
    };
    if !beyond.is_plain {
        return value(l, out);
    }
    let ty = l.launch.g.ty(beyond.value).elem;
    let result = l.k.reg("value", ty);
    out.push(Stmt::Var(result, Expr::Lit(Lit::zero(ty))));
    let mut inner = Vec::new();
    let e = value(l, &mut inner)?;
    inner.push(Stmt::Assign(result, e));
    let mut inside: Option<Expr> = None;
    for (i, n) in index.iter().zip(&fused.domain) {
        let low = Expr::binary(BinaryOp::Ge, i.clone(), Expr::int(0));
        let high = Expr::binary(BinaryOp::Lt, i.clone(), l.launch.host(*n));
        inside = and(and(inside, Some(low)), Some(high));
    }
    out.push(Stmt::If(inside.unwrap_or(Expr::Lit(Lit::bool(true))), inner, vec![]));
    Ok(Expr::Reg(result))
}

/// Computes and stores the elements of the last stage.
fn store_results(l: &mut Lower, part: &Part, shared: &SharedArrays, out: &mut Vec<Stmt>) -> Result<()> {
    let (mut full, mut edge) = (Vec::new(), Vec::new());
    elements(l, part, shared, &mut full)?;
    let stage = part.stage;
    let extents: Vec<Expr> = stage.fused.domain.iter().map(|n| l.launch.host(*n)).collect();
    single_elements(l, part, &mut edge, |l, index, at, out| {
        let mut body = Vec::new();
        let values = match stage.has_edges {
            true => whole_element(l, stage, index, &mut body)?,
            false => element_of_tiles(l, stage, (index, at), shared, &mut body)?,
        };
        for (it, e) in stage.fused.items.iter().zip(values) {
            let (mem, ty) = (l.launch.output(it), l.launch.g.ty(it.node).elem);
            let to = along(l, mem, &index[..1]).plus(index[1].clone());
            let e = canonical(e, ty, &mut l.k.kernel, &mut body);
            body.push(Stmt::Store(mem, to, e));
        }
        let inside = |axis: usize| Expr::binary(BinaryOp::Lt, index[axis].clone(), extents[axis].clone());
        let inside = Expr::binary(BinaryOp::And, inside(0), inside(1));
        out.push(Stmt::If(inside, body, vec![]));
        Ok(())
    })?;
    let whole = part.is_interior(l, shared).unwrap_or(Expr::Lit(Lit::bool(true)));
    out.push(Stmt::If(whole, full, edge));
    Ok(())
}

/// Computes one element of the last stage from arrays in memory alone.
fn whole_element(
    l: &mut Lower,
    stage: &ChainStage,
    index: &[Expr; 2],
    out: &mut Vec<Stmt>,
) -> Result<Vec<Expr>> {
    let (mut vars, mut roots) = (Vec::new(), Vec::new());
    for beyond in &stage.beyond {
        vars.extend(beyond.at.iter().copied().zip(index.iter().cloned()));
        roots.push(beyond.value);
    }
    l.with_loaded(Loaded::default(), |l| l.region(&vars, &roots, &Expr::int(0), out))
}

/// Computes one element of the last stage from tiles, which hold what it reads beyond the edges as well.
fn element_of_tiles(
    l: &mut Lower,
    stage: &ChainStage,
    (index, at): (&[Expr; 2], &[Expr; 2]),
    shared: &SharedArrays,
    out: &mut Vec<Stmt>,
) -> Result<Vec<Expr>> {
    let vars: Vec<(NodeId, Expr)> =
        index.iter().map(|e| (l.launch.g.fresh_var(Ty::I64).1, e.clone())).collect();
    let own: Vec<NodeId> = vars.iter().map(|v| v.0).collect();
    let roots: Vec<NodeId> = stage.inner.arrays.iter().map(|a| opened(&mut l.launch.g, *a, &own)).collect();
    let loaded = single_loads(l, stage, (&own, at), shared, out);
    l.with_loaded(loaded, |l| {
        let roots = l.launch.shared(&roots);
        l.region(&vars, &roots, &Expr::int(0), out)
    })
}

/// Loads what one element reads of the tiles.
fn single_loads(
    l: &mut Lower,
    stage: &ChainStage,
    (index, at): (&[NodeId], &[Expr; 2]),
    shared: &SharedArrays,
    out: &mut Vec<Stmt>,
) -> Loaded {
    let mut loaded = Loaded::default();
    for s in &stage.stencils {
        let Some(tile) = shared.get(&s.array) else { continue };
        let ty = l.launch.g.ty(s.array).elem;
        let start = bind(l, "start", tile.at(&at[0], &at[1]), out);
        for tap in &s.taps {
            let r = l.k.reg("x", ty);
            let from = offset(start.clone(), tap[0] * tile.columns + tap[1]);
            out.push(Stmt::Let(r, Expr::load(tile.mem, from), Default::default()));
            let key: Vec<NodeId> = index
                .iter()
                .zip(tap)
                .map(|(i, by)| {
                    let by = l.launch.g.lit(Lit::i64(*by));
                    linear::add(&mut l.launch.g, *i, by)
                })
                .collect();
            let key = l.launch.normal(&key);
            loaded.insert((s.array, key), Expr::Reg(r));
        }
    }
    loaded
}

/// Writes a loop over the elements of a part, with its indices, and its row and column from the block's first
/// ones.
fn single_elements(
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
    /// Computes where the part lies in the tiles that it reads or writes.
    fn find_starts(&mut self, l: &mut Lower, shared: &SharedArrays, out: &mut Vec<Stmt>) {
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

    /// Returns the condition that all elements are in the interior of the stage's index space, and that all
    /// that is loaded from memory is in bounds; `None` if it always holds.
    fn is_interior(&self, l: &mut Lower, shared: &SharedArrays) -> Option<Expr> {
        let lines = || self.tile.lines.iter().filter(|line| !shared.contains_key(&line.array));
        let sizes = [self.tiling.thread_rows, self.tiling.v];
        let mut all = None;
        for axis in 0..2 {
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
                let behind = r.2 - sizes[axis];
                match needs.iter_mut().find(|n| n.0 == r.0) {
                    Some(n) => n.1 = n.1.max(behind),
                    None => needs.push((r.0, behind)),
                }
            }
            let own = (self.stage.fused.domain[axis], width.1);
            let end = register_window::end(l.launch, own, axis as u8, &needs);
            all = and(all, Some(Expr::binary(BinaryOp::Le, plus(first.clone(), sizes[axis]), end)));
        }
        all
    }
}

/// Computes all elements of a part, line by line, and stores each row as soon as it is complete.
fn elements(l: &mut Lower, part: &Part, shared: &SharedArrays, out: &mut Vec<Stmt>) -> Result<()> {
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
        // a stage may read nothing at constant distances
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

/// Computes the rest of a row's values, and stores them: in a tile, or as results.
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

fn and(a: Option<Expr>, b: Option<Expr>) -> Option<Expr> {
    match (a, b) {
        (Some(a), Some(b)) => Some(Expr::binary(BinaryOp::And, a, b)),
        (a, b) => a.or(b),
    }
}
