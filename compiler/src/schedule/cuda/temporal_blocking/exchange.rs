//! The exchange at the start of a step, which brings what the taps reach beyond a lane's own elements: rows of the
//! warps above and below pass through shared memory, columns of the neighbouring lanes come by shuffles. Afterwards
//! the element scope knows a register for each array element that the step reads.

use super::{State, TemporalBlockingParams, WARPS};
use crate::core::{NodeId, linear};
use crate::kernel::{Expr, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cuda::expressions::{int32, offset};
use crate::schedule::cuda::register_tiling::placement::{lane, warp};
use crate::schedule::element::lower::{Lower, bind};

/// What an exchange needs to know.
pub struct Exchange<'a> {
    /// The shared memory for the rows of each state; `None` if the state is read in its own row only.
    pub areas: &'a [Option<Mem>],
    /// The lane's first row and column.
    pub vars: &'a [(NodeId, Expr)],
    /// The number of the step.
    pub step: Reg,
}

/// Exchanges what the step reads of all states, with one barrier, and notes which registers hold these elements.
/// `now` has the registers of the lane's own elements, for each state.
pub fn rows_and_columns(
    l: &mut Lower,
    params: &TemporalBlockingParams,
    place: &Exchange,
    now: &[Vec<Vec<Reg>>],
    out: &mut Vec<Stmt>,
) {
    let shown = shown_rows(l, params, place, now, out);
    if shown.iter().any(Option::is_some) {
        out.push(Stmt::Barrier);
    }
    for ((state, own), shown) in params.states.iter().zip(now).zip(shown) {
        let mut rows: Vec<(i64, Vec<Reg>)> = (0..).zip(own.iter().cloned()).collect();
        if let Some(shown) = shown {
            rows.extend(neighbouring_rows(l, params, state, &shown, out));
        }
        for (row, regs) in rows {
            note_loaded(l, state.array, place.vars, row, 0, &regs);
            columns(l, params, (state, place.vars), row, &regs, out);
        }
    }
}

/// The rows of a state in shared memory. Each warp stores its first rows, then its last ones, row by row:
///
/// ```text
/// buffer 0: | warp 0: first rows, last rows | warp 1: ... | ... | warp 7: ... |    even steps
/// buffer 1: likewise                                                               odd steps
/// ```
struct Shown {
    area: Mem,
    /// The index in `area` of the lane's first column, in the part of the first warp of this step's buffer.
    base: Expr,
    /// The number of elements that a warp stores.
    of_warp: i64,
}

impl Shown {
    fn of(&self, warp: Expr) -> Expr {
        self.base.clone().plus(warp.times(int32(self.of_warp as i32)))
    }
}

/// Stores the lane's columns of the rows that the warps above and below read.
fn shown_rows(
    l: &mut Lower,
    params: &TemporalBlockingParams,
    place: &Exchange,
    now: &[Vec<Vec<Reg>>],
    out: &mut Vec<Stmt>,
) -> Vec<Option<Shown>> {
    let width = params.region()[1];
    let mut shown = Vec::new();
    for ((state, own), area) in params.states.iter().zip(now).zip(place.areas) {
        let Some(area) = *area else {
            shown.push(None);
            continue;
        };
        let of_warp = params.exchange_len_of_warp(state);
        let odd = Expr::binary(BinaryOp::And, Expr::Reg(place.step), Expr::int(1));
        let buffer = Expr::Cast(Ty::I32, Box::new(odd)).times(int32((WARPS * of_warp) as i32));
        let column = lane().times(int32(params.columns as i32));
        let base = bind(l, "base", buffer.plus(column), out);
        let state_shown = Shown { area, base, of_warp };
        let mine = bind(l, "mine", state_shown.of(warp()), out);
        let [above, below] = state.rows();
        // the warp above reads the first rows, the one below the last
        for (r, row) in (0..).zip((0..below).chain(params.rows - above..params.rows)) {
            let list = own[row as usize].iter().map(|r| Expr::Reg(*r)).collect();
            out.push(Stmt::StoreVec(area, offset(mine.clone(), r * width), list));
        }
        shown.push(Some(state_shown));
    }
    shown
}

/// Loads the lane's columns of the rows above and below its own. Each row has its number relative to the lane's first
/// row.
fn neighbouring_rows(
    l: &mut Lower,
    params: &TemporalBlockingParams,
    state: &State,
    shown: &Shown,
    out: &mut Vec<Stmt>,
) -> Vec<(i64, Vec<Reg>)> {
    let (width, ty) = (params.region()[1], l.launch.g.ty(state.array).elem);
    let [above, below] = state.rows();
    // the first warp has no warp above it and the last none below: they read their own rows, and what they compute
    // from these lies in the part of the halo that this step makes invalid
    let previous = Expr::binary(BinaryOp::Max, warp().minus(int32(1)), int32(0));
    let next = warp().plus(int32(1)).min(int32(WARPS as i32 - 1));
    let previous = bind(l, "above", shown.of(previous), out);
    let next = bind(l, "below", shown.of(next), out);
    let lasts = (0..above).map(|r| (r - above, offset(previous.clone(), (below + r) * width)));
    let firsts = (0..below).map(|r| (params.rows + r, offset(next.clone(), r * width)));
    let mut rows = Vec::new();
    for (row, from) in lasts.chain(firsts) {
        let regs: Vec<Reg> = (0..params.v).map(|_| l.k.reg("shown", ty)).collect();
        out.push(Stmt::LoadVec(regs.clone(), shown.area, from));
        rows.push((row, regs));
    }
    rows
}

/// Fetches the elements to the left and right of a lane's part of a row from the neighbouring lanes, as far as taps
/// reach them.
fn columns(
    l: &mut Lower,
    params: &TemporalBlockingParams,
    (state, vars): (&State, &[(NodeId, Expr)]),
    row: i64,
    regs: &[Reg],
    out: &mut Vec<Stmt>,
) {
    let reads = |column: i64| {
        let own = |t: &[i64; 2]| {
            (0..params.rows).contains(&(row - t[0])) && (0..params.columns).contains(&(column - t[1]))
        };
        state.taps.iter().any(own)
    };
    let ty = l.launch.g.ty(state.array).elem;
    let mut shuffled = |l: &mut Lower, column: i64, e: Expr| {
        let r = l.k.reg("beside", ty);
        out.push(Stmt::Let(r, e, Default::default()));
        note_loaded(l, state.array, vars, row, column, &[r]);
    };
    for c in 1..=state.reach(1) {
        let (left, right) = (-c, params.columns - 1 + c);
        if reads(left) {
            shuffled(l, left, Expr::ShuffleUp(Box::new(Expr::Reg(regs[(params.columns - c) as usize])), 1));
        }
        if reads(right) {
            shuffled(l, right, Expr::ShuffleDown(Box::new(Expr::Reg(regs[(c - 1) as usize])), 1));
        }
    }
}

/// Notes that these registers hold neighbouring elements of a row, the first of them in `column`. Row and column are
/// relative to the lane's first element.
pub fn note_loaded(
    l: &mut Lower,
    array: NodeId,
    vars: &[(NodeId, Expr)],
    row: i64,
    column: i64,
    regs: &[Reg],
) {
    for (c, r) in (column..).zip(regs) {
        let index = at(l, vars, [row, c]);
        l.scope.loaded.get_or_insert_default().insert((array, index), Expr::Reg(*r));
    }
}

/// Returns the index, as nodes, of the element at the distance `by` from the lane's first one.
pub fn at(l: &mut Lower, vars: &[(NodeId, Expr)], by: [i64; 2]) -> Vec<NodeId> {
    let step = |l: &mut Lower, var: NodeId, by: i64| {
        let by = l.launch.g.lit(Lit::i64(by));
        linear::add(&mut l.launch.g, var, by)
    };
    vars.iter().zip(&by[2 - vars.len()..]).map(|(v, by)| step(l, v.0, *by)).collect()
}
