//! Several steps of an iteration at once: a stencil of one matrix whose values stay in the registers of a block from step to step.
//!
//! ```text
//! block: 8 warps below each other; a lane has 8 rows of v neighbouring columns. It loads its part of the matrix once, and so many rows and columns around what it
//! stores that each step may spoil a ring of them.
//!
//! for each step:
//!     each warp shows its first and last rows to the warps above and below (shared memory, two areas in turn: one barrier a step)
//!     lanes exchange their first and last columns (shuffles)
//!     every element becomes its next value
//! store what is not spoiled
//! ```
//!
//! Overlapped tiles: rows and columns at a block's edge are computed by its neighbours, too, instead of being exchanged with them. Blocks at the edges of the matrix do the
//! same with an element that is right there (`edges`); what lies outside is loaded as 0, computed, and never selected.

use super::plane::{along, lane, plus, warp};
use super::{bind, int32, thread, wide};
use crate::core::{NodeId, Op, linear};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Mem, Reg, Stmt, WARP};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::edges::{self, Domain, Everywhere};
use crate::schedule::element::{canonical, opened};
use crate::schedule::inside::{Inner, Margin};
use crate::schedule::items::{Pass, is_nested, is_store};
use crate::schedule::lower::Lower;
use crate::schedule::stencil::{self, Stencil};
use rustc_hash::FxHashMap as HashMap;
use std::collections::BTreeSet;

/// Rows of a lane.
const ROWS: i64 = 8;
/// Warps of a block.
const WARPS: i64 = 8;
/// Threads of a block.
pub const THREADS: u32 = WARPS as u32 * WARP;
/// Steps of a launch at most.
const MOST_STEPS: i64 = 8;
/// Arrays beside the state whose elements a lane keeps at most.
const MOST_OTHERS: usize = 2;

/// How an iteration is done.
pub struct Plan {
    /// The matrix that the steps change.
    state: NodeId,
    /// Others, of which an element reads its own one.
    others: Vec<NodeId>,
    /// What an element reads of the state: distances of rows and columns.
    taps: BTreeSet<[i64; 2]>,
    /// How far that reaches: rows, columns.
    reach: [i64; 2],
    /// Neighbours of a lane.
    v: i64,
    /// An element right within margins, and one that is right everywhere.
    inner: NodeId,
    margins: Vec<Margin>,
    edge: Everywhere,
    /// How many steps at once, at most: a version each, the most first.
    pub versions: Vec<i64>,
    /// Of the version that is written.
    steps: i64,
}

impl Plan {
    /// None: it is no such stencil, or it would not pay.
    pub fn of(l: &mut Lower, pass: &Pass, inner: &Inner) -> Option<Plan> {
        let ([item], [rows, columns]) = (&pass.items[..], &pass.domain[..]) else { return None };
        let state = l.repeated()?;
        let [whole_rows, whole_columns] = [0, 1].map(|axis| l.g.add(Op::Len(state, axis)));
        let ty = l.g.ty(state);
        let same = (*rows, *columns) == (whole_rows, whole_columns) && l.g.ty(item.node) == ty;
        if !same || !is_store(&l.g, item) || is_nested(&l.g, item) || !matches!(ty.elem.size(), 4 | 8) {
            return None;
        }
        let stencils = stencil::stencils(&mut l.g, &pass.domain, &inner.arrays);
        if stencils.iter().any(|s| !s.is_static(&l.g)) {
            return None;
        }
        let refs: Vec<&Stencil> = stencils.iter().collect();
        if stencil::may_record(&mut l.g, &pass.domain, &inner.arrays, &refs)
            || !only_reads(l, inner, &stencils)
        {
            return None;
        }
        let own = stencils.iter().find(|s| s.array == state)?;
        let others: Vec<NodeId> = stencils.iter().map(|s| s.array).filter(|x| *x != state).collect();
        let simple = |s: &&Stencil| {
            s.array == state || s.is_pointwise() && l.g.ty(s.array).elem.size() == ty.elem.size()
        };
        if others.len() > MOST_OTHERS || !refs.iter().all(simple) {
            return None;
        }
        let reach = [0, 1].map(|axis| {
            let (first, last) = own.reach(axis);
            (-first).max(last).max(0)
        });
        let v = 16 / ty.elem.size() as i64;
        let versions = steps(reach, v);
        let steps = *versions.first()?;
        let hull = move |x: NodeId| match x == state {
            true => reach.map(|r| (-r, r)).to_vec(),
            false => vec![(0, 0); 2],
        };
        let vars: Vec<_> = pass.domain.iter().map(|_| l.g.fresh_var(Ty::I64)).collect();
        let index: Vec<NodeId> = vars.iter().map(|v| v.1).collect();
        let root = opened(&mut l.g, item.node, &index);
        let domain = Domain { index: &index, extents: &pass.domain, reach: &hull };
        let edge = edges::everywhere(&mut l.g, &domain, root)?;
        // as an array, so that it can be opened at any indices
        let binders: Vec<_> = vars.iter().map(|v| (v.0, Ty::I64)).collect();
        let lambda = l.g.close(&binders, edge.value);
        let edge = Everywhere { value: l.g.add(Op::Generate(pass.domain.clone(), lambda)), ..edge };
        // at the edges there may be other distances
        let there = stencil::stencils(&mut l.g, &pass.domain, &[edge.value]);
        let of_state = [&stencils, &there].into_iter().flatten().filter(|s| s.array == state);
        let taps = of_state.flat_map(|s| &s.taps).map(|t| [t[0], t[1]]).collect();
        let (inner, margins) = (inner.arrays[0], inner.margins.clone());
        Some(Plan { state, others, taps, reach, v, inner, margins, edge, versions, steps })
    }

    /// For a version of so many steps.
    pub fn with(self, steps: i64) -> Plan {
        Plan { steps, ..self }
    }

    /// Blocks on a multiprocessor: what a lane keeps, and what it needs beside it, has registers then. Four Jacobi steps of 8192 x 8192 elements of f32 take 0.153 ms with three
    /// blocks, 0.179 with two.
    pub fn blocks(&self, l: &Lower) -> u32 {
        let words =
            ROWS * self.v * l.g.ty(self.state).elem.size() as i64 / 4 * (1 + self.others.len() as i64);
        match words {
            ..=32 if self.taps.len() <= 9 => 3,
            ..=64 => 2,
            _ => 1,
        }
    }

    /// Rows and columns around what is stored.
    fn halo(&self) -> [i64; 2] {
        halo(self.reach, self.v, self.steps)
    }

    /// Rows and columns of a block with the halo.
    fn region(&self) -> [i64; 2] {
        [WARPS * ROWS, i64::from(WARP) * self.v]
    }

    /// Rows and columns that a block stores.
    pub fn block(&self) -> [i64; 2] {
        let (region, halo) = (self.region(), self.halo());
        [region[0] - 2 * halo[0], region[1] - 2 * halo[1]]
    }

    /// The least length of an axis.
    pub fn least(&self) -> i64 {
        self.edge.least
    }
}

fn halo(reach: [i64; 2], v: i64, steps: i64) -> [i64; 2] {
    [reach[0] * steps, (reach[1] * steps + v - 1) / v * v]
}

/// How many steps are made at once: where there are many, as many as a third of a block's elements are spoiled by (8 steps of Jacobi take 0.230 ms, 0.029 a step, twice
/// 4 steps 0.305); and half as many, for iterations that have no more.
fn steps(reach: [i64; 2], v: i64) -> Vec<i64> {
    // a lane exchanges columns with its neighbours only
    if reach == [0, 0] || reach[1] > v || reach[0] > ROWS {
        return Vec::new();
    }
    let is_stored = |steps: i64| {
        let halo = halo(reach, v, steps);
        let [rows, columns] = [WARPS * ROWS - 2 * halo[0], i64::from(WARP) * v - 2 * halo[1]];
        let all = WARPS * ROWS * i64::from(WARP) * v;
        rows > 0 && columns > 0 && 8 * rows * columns > 5 * all
    };
    let most = (2..=MOST_STEPS).rev().find(|n| is_stored(*n));
    let less = most.map(|n| n / 2).filter(|n| *n > 1);
    most.into_iter().chain(less).collect()
}

/// Whether an element reads these arrays at these places, and nothing else.
fn only_reads(l: &mut Lower, inner: &Inner, stencils: &[Stencil]) -> bool {
    let mut taps = 0;
    let reads = l.g.reachable(inner.arrays.iter().copied());
    for n in reads {
        match l.g.op(n) {
            Op::Elem(..) | Op::At(..) if !l.g.is_closed(n) => taps += 1,
            _ => {}
        }
    }
    taps == stencils.iter().map(|s| s.taps.len()).sum::<usize>()
}

/// The body of one thread.
pub fn main(l: &mut Lower, pass: &Pass, plan: &Plan) -> Result<Vec<Stmt>> {
    let mut out = Vec::new();
    let first = place(l, pass, plan, &mut out);
    let fits = fits(l, pass, plan, &first);
    let own = own(l, &first, plan, &mut out);
    let shown = plan.region()[1] * 2 * plan.reach[0].max(1) * WARPS * 2;
    let area = l.k.share("shown", l.g.ty(plan.state).elem, shown as u32);
    let mut ways = Vec::new();
    for inside in [true, false] {
        let mut body = Vec::new();
        way(l, pass, plan, &Way { own: own.clone(), area, inside }, &mut body)?;
        ways.push(body);
    }
    let edge = ways.pop().unwrap_or_default();
    out.push(Stmt::If(fits, ways.pop().unwrap_or_default(), edge));
    Ok(out)
}

/// First row and column of the block's region.
fn place(l: &mut Lower, pass: &Pass, plan: &Plan, out: &mut Vec<Stmt>) -> [Expr; 2] {
    let (block, halo) = (plan.block(), plan.halo());
    let columns = l.host(pass.domain[1]).plus(Expr::int(block[1] - 1));
    let across = Expr::binary(BinaryOp::Div, columns, Expr::int(block[1]));
    let across = bind(l, "across", Expr::Cast(Ty::I32, Box::new(across)), out);
    let number = Expr::Place(Gpu::Block);
    let down = bind(l, "down", Expr::binary(BinaryOp::Div, number.clone(), across.clone()), out);
    let right = bind(l, "right", number.minus(down.clone().times(across)), out);
    let first = |l: &mut Lower, e: Expr, axis: usize, name: &str, out: &mut Vec<Stmt>| {
        let at = wide(e).times(Expr::int(block[axis])).minus(Expr::int(halo[axis]));
        bind(l, name, at, out)
    };
    [first(l, down, 0, "top", out), first(l, right, 1, "left", out)]
}

/// Whether the whole region is inside, and what it computes first is within the margins.
fn fits(l: &mut Lower, pass: &Pass, plan: &Plan, first: &[Expr; 2]) -> Expr {
    let mut all: Option<Expr> = None;
    for axis in 0..2 {
        let [before, behind] =
            [plan.margins[axis].0, plan.margins[axis].1].map(|m| (m - plan.reach[axis]).max(0));
        let low = Expr::binary(BinaryOp::Ge, first[axis].clone(), Expr::int(before));
        let end = plus(first[axis].clone(), plan.region()[axis] + behind);
        let high = Expr::binary(BinaryOp::Le, end, l.host(pass.domain[axis]));
        for test in [low, high] {
            all = Some(all.map_or(test.clone(), |all| Expr::binary(BinaryOp::And, all, test)));
        }
    }
    all.unwrap_or(Expr::Lit(Lit::bool(true)))
}

/// First row and column of the lane.
fn own(l: &mut Lower, first: &[Expr; 2], plan: &Plan, out: &mut Vec<Stmt>) -> [Expr; 2] {
    let row = wide(warp().times(int32(ROWS as i32)));
    let column = wide(lane().times(int32(plan.v as i32)));
    let row = bind(l, "row", first[0].clone().plus(row), out);
    [row, bind(l, "column", first[1].clone().plus(column), out)]
}

/// How a block goes.
struct Way {
    /// First row and column of the lane.
    own: [Expr; 2],
    /// Where warps show rows.
    area: Mem,
    /// All of it is inside.
    inside: bool,
}

/// Elements of a lane, in registers.
type Grid = Vec<Vec<Reg>>;

fn way(l: &mut Lower, pass: &Pass, plan: &Plan, way: &Way, out: &mut Vec<Stmt>) -> Result<()> {
    let vars: Vec<(NodeId, Expr)> = way.own.iter().map(|e| (l.g.fresh_var(Ty::I64).1, e.clone())).collect();
    let now = load(l, pass, plan, way, plan.state, true, out);
    l.loaded = Some(HashMap::default());
    for other in &plan.others {
        let held = load(l, pass, plan, way, *other, false, out);
        for (r, row) in (0..).zip(&held) {
            keep(l, *other, &vars, r, 0, row);
        }
    }
    let step = l.k.reg("step", Ty::I64);
    let mut body = Vec::new();
    exchange(l, plan, way, &vars, &now, step, &mut body);
    let array = if way.inside { plan.inner } else { plan.edge.value };
    let mut roots = Vec::new();
    for (r, k) in (0..ROWS).flat_map(|r| (0..plan.v).map(move |k| (r, k))) {
        let index = at(l, &vars, [r, k]);
        roots.push(opened(&mut l.g, array, &index));
    }
    let roots = l.shared(&roots);
    let values = l.region(&vars, &roots, None, &Expr::int(0), &mut body)?;
    let mut next = Vec::new();
    for e in values {
        next.push(bind(l, "next", e, &mut body));
    }
    for (r, e) in now.iter().flatten().zip(next) {
        body.push(Stmt::Assign(*r, e));
    }
    out.push(Stmt::Seq(step, Expr::int(0), wide(Expr::Place(Gpu::Span)), body));
    l.loaded = None;
    store(l, pass, plan, way, &now, out);
    Ok(())
}

/// The indices of an element of the lane, in the graph.
fn at(l: &mut Lower, vars: &[(NodeId, Expr)], by: [i64; 2]) -> Vec<NodeId> {
    let step = |l: &mut Lower, var: NodeId, by: i64| {
        let by = l.g.lit(Lit::i64(by));
        linear::add(&mut l.g, var, by)
    };
    vars.iter().zip(by).map(|(v, by)| step(l, v.0, by)).collect()
}

/// Notes that neighbours of a row, from a column on, are in these registers.
fn keep(l: &mut Lower, array: NodeId, vars: &[(NodeId, Expr)], row: i64, column: i64, regs: &[Reg]) {
    for (c, r) in (column..).zip(regs) {
        let index = at(l, vars, [row, c]);
        l.loaded.get_or_insert_default().insert((array, index), Expr::Reg(*r));
    }
}

fn both(a: Expr, b: Expr) -> Expr {
    Expr::binary(BinaryOp::And, a, b)
}

/// 0 <= i < n
fn is_inside(i: Expr, n: Expr) -> Expr {
    both(Expr::binary(BinaryOp::Ge, i.clone(), Expr::int(0)), Expr::binary(BinaryOp::Lt, i, n))
}

/// The lane's part of an array: outside of it, 0. `changes`: the registers are assigned to.
fn load(
    l: &mut Lower,
    pass: &Pass,
    plan: &Plan,
    way: &Way,
    array: NodeId,
    changes: bool,
    out: &mut Vec<Stmt>,
) -> Grid {
    // at which places it is read was said when the CPU's kernels were written
    let (mem, ty) = (l.input(array, true), l.g.ty(array).elem);
    let extents = [0, 1].map(|axis| l.host(pass.domain[axis]));
    let (mut grid, mut inits) = (Grid::new(), Vec::new());
    for r in 0..ROWS {
        let row = plus(way.own[0].clone(), r);
        let line = along(l, mem, std::slice::from_ref(&row)).plus(way.own[1].clone());
        let line = bind(l, "line", line, out);
        let regs: Vec<Reg> = (0..plan.v).map(|_| l.k.reg("x", ty)).collect();
        if way.inside {
            l.vector(mem);
            out.push(Stmt::LoadVec(regs.clone(), mem, line));
        } else {
            let row = bind(l, "is_row", is_inside(row, extents[0].clone()), out);
            for (k, r) in (0..).zip(&regs) {
                let column = is_inside(plus(way.own[1].clone(), k), extents[1].clone());
                let is_there = bind(l, "is_there", both(row.clone(), column), out);
                let e = Expr::LoadIf(mem, Box::new(plus(line.clone(), k)), Box::new(is_there));
                out.push(Stmt::Let(*r, e, Default::default()));
            }
        }
        if !changes {
            grid.push(regs);
            continue;
        }
        let vars: Vec<Reg> = regs.iter().map(|_| l.k.reg("now", ty)).collect();
        inits.extend(vars.iter().zip(regs).map(|(v, r)| Stmt::Var(*v, Expr::Reg(r))));
        grid.push(vars);
    }
    out.append(&mut inits);
    grid
}

/// What the step reads beyond the lane's own elements, and all of it noted for the values to come.
fn exchange(
    l: &mut Lower,
    plan: &Plan,
    way: &Way,
    vars: &[(NodeId, Expr)],
    now: &Grid,
    step: Reg,
    out: &mut Vec<Stmt>,
) {
    let mut rows: Vec<(i64, Vec<Reg>)> = (0..).zip(now.iter().cloned()).collect();
    let reach = plan.reach[0];
    if reach > 0 {
        let width = plan.region()[1];
        // an area has for each warp its first rows, then its last ones
        let of_warp = 2 * reach * width;
        let turn = Expr::Cast(Ty::I32, Box::new(both(Expr::Reg(step), Expr::int(1))));
        let area = turn.times(int32((WARPS * of_warp) as i32));
        let column = lane().times(int32(plan.v as i32));
        let base = bind(l, "base", area.plus(column), out);
        let of = |warp: Expr| base.clone().plus(warp.times(int32(of_warp as i32)));
        let mine = bind(l, "mine", of(warp()), out);
        let add = |e: &Expr, by: i64| e.clone().plus(int32(by as i32));
        for r in 0..reach {
            let list = |row: i64| now[row as usize].iter().map(|r| Expr::Reg(*r)).collect();
            out.push(Stmt::StoreVec(way.area, add(&mine, r * width), list(r)));
            out.push(Stmt::StoreVec(way.area, add(&mine, (reach + r) * width), list(ROWS - reach + r)));
        }
        out.push(Stmt::Barrier);
        // of the first and the last warp: anything, it is spoiled
        let above = Expr::binary(BinaryOp::Max, warp().minus(int32(1)), int32(0));
        let below = warp().plus(int32(1)).min(int32(WARPS as i32 - 1));
        let (above, below) = (bind(l, "above", of(above), out), bind(l, "below", of(below), out));
        let ty = l.g.ty(plan.state).elem;
        for r in 0..reach {
            for (row, from) in
                [(r - reach, add(&above, (reach + r) * width)), (ROWS + r, add(&below, r * width))]
            {
                let regs: Vec<Reg> = (0..plan.v).map(|_| l.k.reg("shown", ty)).collect();
                out.push(Stmt::LoadVec(regs.clone(), way.area, from));
                rows.push((row, regs));
            }
        }
    }
    for (row, regs) in rows {
        keep(l, plan.state, vars, row, 0, &regs);
        beside(l, plan, vars, row, &regs, out);
    }
}

/// The elements left and right of a lane's part of a row, as far as any element reads them.
fn beside(l: &mut Lower, plan: &Plan, vars: &[(NodeId, Expr)], row: i64, regs: &[Reg], out: &mut Vec<Stmt>) {
    let reads = |column: i64| {
        let own = |t: &[i64; 2]| (0..ROWS).contains(&(row - t[0])) && (0..plan.v).contains(&(column - t[1]));
        plan.taps.iter().any(own)
    };
    for c in 1..=plan.reach[1] {
        let (left, right) = (-c, plan.v - 1 + c);
        if reads(left) {
            let e = Expr::ShuffleUp(Box::new(Expr::Reg(regs[(plan.v - c) as usize])), 1);
            shuffled(l, plan, vars, [row, left], e, out);
        }
        if reads(right) {
            let e = Expr::ShuffleDown(Box::new(Expr::Reg(regs[(c - 1) as usize])), 1);
            shuffled(l, plan, vars, [row, right], e, out);
        }
    }
}

fn shuffled(l: &mut Lower, plan: &Plan, vars: &[(NodeId, Expr)], by: [i64; 2], e: Expr, out: &mut Vec<Stmt>) {
    let r = l.k.reg("beside", l.g.ty(plan.state).elem);
    out.push(Stmt::Let(r, e, Default::default()));
    keep(l, plan.state, vars, by[0], by[1], &[r]);
}

/// Stores what no step spoiled.
fn store(l: &mut Lower, pass: &Pass, plan: &Plan, way: &Way, now: &Grid, out: &mut Vec<Stmt>) {
    let item = &pass.items[0];
    let (mem, ty) = (l.output(item), l.g.ty(item.node).elem);
    let extents = [0, 1].map(|axis| l.host(pass.domain[axis]));
    let (halo, region) = (plan.halo(), plan.region());
    let within = |e: Expr, halo: i64, end: i64| {
        let low = Expr::binary(BinaryOp::Ge, e.clone(), int32(halo as i32));
        both(low, Expr::binary(BinaryOp::Lt, e, int32((end - halo) as i32)))
    };
    let column = within(lane().times(int32(plan.v as i32)), halo[1], region[1]);
    let column = bind(l, "is_column", column, out);
    let top =
        bind(l, "of_block", Expr::binary(BinaryOp::Shr, thread(), int32(5)).times(int32(ROWS as i32)), out);
    for (r, regs) in (0..).zip(now) {
        let row = plus(way.own[0].clone(), r);
        let mine = both(column.clone(), within(top.clone().plus(int32(r as i32)), halo[0], region[0]));
        let mut body = Vec::new();
        let to = along(l, mem, std::slice::from_ref(&row)).plus(way.own[1].clone());
        let list: Vec<Expr> =
            regs.iter().map(|r| canonical(Expr::Reg(*r), ty, &mut l.k, &mut body)).collect();
        if way.inside {
            l.vector(mem);
            body.push(Stmt::StoreVec(mem, to, list));
            out.push(Stmt::If(mine, body, vec![]));
            continue;
        }
        let to = bind(l, "to", to, &mut body);
        for (k, e) in (0..).zip(list) {
            let is_there = Expr::binary(BinaryOp::Lt, plus(way.own[1].clone(), k), extents[1].clone());
            body.push(Stmt::If(is_there, vec![Stmt::Store(mem, plus(to.clone(), k), e)], vec![]));
        }
        let mine = both(mine, Expr::binary(BinaryOp::Lt, row, extents[0].clone()));
        out.push(Stmt::If(mine, body, vec![]));
    }
}
