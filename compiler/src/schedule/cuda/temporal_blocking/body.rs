//! The kernel body of temporal blocking. A lane loads its elements of the states into registers; in each step it
//! exchanges elements with neighbouring lanes and computes its elements' next values; at the end it stores those that
//! are still valid. There are two copies of all this: one for blocks in the interior, one for boundary blocks.

use super::exchange::{self, Exchange, at, note_loaded};
use super::{State, THREADS, TemporalBlockingParams, WARPS};
use crate::core::NodeId;
use crate::error::{Error, Result};
use crate::kernel::{Expr, Gpu, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cuda::access;
use crate::schedule::cuda::expressions::{int32, thread, to_i64};
use crate::schedule::cuda::register_tiling::placement::{along, lane, plus, warp};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::{canonical, opened};
use crate::schedule::groups::FusedGroup;
use rustc_hash::FxHashMap as HashMap;

/// Writes the body of one thread.
pub fn main(l: &mut Lower, fused: &FusedGroup, params: &TemporalBlockingParams) -> Result<Vec<Stmt>> {
    (l.k.kernel.threads, l.k.kernel.is_multi_step) = (THREADS, true);
    l.k.kernel.min_resident_blocks = params.min_resident_blocks(l.launch);
    let mut out = Vec::new();
    let first = region_origin(l, fused, params, &mut out);
    let is_interior = is_interior(l, fused, params, &first);
    let origin = lane_origin(l, &first, params, &mut out);
    let area = |s: &State| {
        let (ty, len) = (l.launch.g.ty(s.array).elem, params.exchange_len(s));
        (len > 0).then(|| l.k.share("shown", ty, len as u32))
    };
    let areas: Vec<Option<Mem>> = params.states.iter().map(area).collect();
    let mut paths = Vec::new();
    for interior in [true, false] {
        let mut body = Vec::new();
        block_path(
            l,
            fused,
            params,
            &BlockPath { origin: origin.clone(), areas: areas.clone(), interior },
            &mut body,
        )?;
        paths.push(body);
    }
    let edge = paths.pop().unwrap_or_default();
    out.push(Stmt::If(is_interior, paths.pop().unwrap_or_default(), edge));
    Ok(out)
}

/// Computes the matrix row and column of the region's first element, halo included; negative at the first edges. The
/// region belongs to a block or, for vectors, to a warp.
fn region_origin(
    l: &mut Lower,
    fused: &FusedGroup,
    params: &TemporalBlockingParams,
    out: &mut Vec<Stmt>,
) -> [Expr; 2] {
    let (stored, halo) = (params.stored(), params.halo());
    let number = Expr::Place(Gpu::Block);
    let first = |l: &mut Lower, e: Expr, axis: usize, name: &'static str, out: &mut Vec<Stmt>| {
        let at = to_i64(e).times(Expr::int(stored[axis])).minus(Expr::int(halo[axis]));
        bind(l, name, at, out)
    };
    if params.rank == 1 {
        let part = number.times(int32(WARPS as i32)).plus(warp());
        return [Expr::int(0), first(l, part, 1, "left", out)];
    }
    let columns = l.launch.host(fused.domain[1]).plus(Expr::int(stored[1] - 1));
    let across = Expr::binary(BinaryOp::Div, columns, Expr::int(stored[1]));
    let across = bind(l, "across", Expr::Cast(Ty::I32, Box::new(across)), out);
    let down = bind(l, "down", Expr::binary(BinaryOp::Div, number.clone(), across.clone()), out);
    let right = bind(l, "right", number.minus(down.clone().times(across)), out);
    [first(l, down, 0, "top", out), first(l, right, 1, "left", out)]
}

/// Returns the extents of rows and columns. A vector is a row.
fn extents(l: &mut Lower, fused: &FusedGroup) -> [Expr; 2] {
    match fused.domain[..] {
        [columns] => [Expr::int(1), l.launch.host(columns)],
        _ => [0, 1].map(|axis| l.launch.host(fused.domain[axis])),
    }
}

/// Returns the condition that the whole region is in bounds, and that every element whose value in the first step is
/// valid is in the interior. Those elements are `reach` away from the region's edges.
fn is_interior(
    l: &mut Lower,
    fused: &FusedGroup,
    params: &TemporalBlockingParams,
    first: &[Expr; 2],
) -> Expr {
    let mut all: Option<Expr> = None;
    for (axis, first) in first.iter().enumerate().skip(2 - params.rank) {
        let width = params.widths[axis + params.rank - 2];
        let [before, behind] = [width.0, width.1].map(|m| (m - params.reach[axis]).max(0));
        let low = Expr::binary(BinaryOp::Ge, first.clone(), Expr::int(before));
        let end = plus(first.clone(), params.region()[axis] + behind);
        let high = Expr::binary(BinaryOp::Le, end, l.launch.host(fused.domain[axis + params.rank - 2]));
        for test in [low, high] {
            all = Some(all.map_or(test.clone(), |all| Expr::binary(BinaryOp::And, all, test)));
        }
    }
    all.unwrap_or(Expr::Lit(Lit::bool(true)))
}

/// Returns the first row and column of the lane.
fn lane_origin(
    l: &mut Lower,
    first: &[Expr; 2],
    params: &TemporalBlockingParams,
    out: &mut Vec<Stmt>,
) -> [Expr; 2] {
    let column = to_i64(lane().times(int32(params.columns as i32)));
    let row = match params.rank {
        1 => first[0].clone(),
        _ => {
            let row = to_i64(warp().times(int32(params.rows as i32)));
            bind(l, "row", first[0].clone().plus(row), out)
        }
    };
    [row, bind(l, "column", first[1].clone().plus(column), out)]
}

/// One of the two copies of a block's code: for blocks in the interior, or for boundary blocks.
struct BlockPath {
    /// The first row and column of the lane.
    origin: [Expr; 2],
    /// The shared memory through which warps exchange rows of each state.
    areas: Vec<Option<Mem>>,
    /// Whether it is the code of blocks in the interior.
    interior: bool,
}

/// The elements of a lane, in registers.
type LaneTile = Vec<Vec<Reg>>;

fn block_path(
    l: &mut Lower,
    fused: &FusedGroup,
    params: &TemporalBlockingParams,
    path: &BlockPath,
    out: &mut Vec<Stmt>,
) -> Result<()> {
    let vars: Vec<(NodeId, Expr)> =
        path.origin[2 - params.rank..].iter().map(|e| (l.launch.g.fresh_var(Ty::I64).1, e.clone())).collect();
    let mut now = Vec::new();
    for state in &params.states {
        now.push(load(l, fused, params, path, state.array, true, out));
    }
    l.with_loaded(HashMap::default(), |l| {
        for other in &params.others {
            let held = load(l, fused, params, path, *other, false, out);
            for (r, row) in (0..).zip(&held) {
                note_loaded(l, *other, &vars, r, 0, row);
            }
        }
        let step = l.k.reg("step", Ty::I64);
        let mut body = Vec::new();
        let place = Exchange { areas: &path.areas, vars: &vars, step };
        exchange::rows_and_columns(l, params, &place, &now, &mut body);
        let (mut roots, mut changed) = (Vec::new(), Vec::new());
        for (r, k) in (0..params.rows).flat_map(|r| (0..params.columns).map(move |k| (r, k))) {
            let index = at(l, &vars, [r, k]);
            for (state, tile) in params.states.iter().zip(&now) {
                let array = if path.interior { state.inner } else { state.edge };
                roots.push(opened(&mut l.launch.g, array, &index));
                changed.push(tile[r as usize][k as usize]);
            }
        }
        let roots = l.launch.shared(&roots);
        let values = l.region(&vars, &roots, &Expr::int(0), &mut body)?;
        // every element is computed before the first one changes
        let mut next = Vec::new();
        for e in values {
            next.push(bind(l, "next", e, &mut body));
        }
        body.extend(changed.into_iter().zip(next).map(|(r, e)| Stmt::Assign(r, e)));
        out.push(Stmt::Seq(step, Expr::int(0), to_i64(Expr::Place(Gpu::Span)), body));
        Ok::<_, Error>(())
    })?;
    for (state, tile) in params.states.iter().zip(&now) {
        store(l, fused, params, path, (state, tile), out);
    }
    Ok(())
}

fn and(a: Expr, b: Expr) -> Expr {
    Expr::binary(BinaryOp::And, a, b)
}

/// 0 <= i < n
fn is_inside(i: Expr, n: Expr) -> Expr {
    and(Expr::binary(BinaryOp::Ge, i.clone(), Expr::int(0)), Expr::binary(BinaryOp::Lt, i, n))
}

/// Returns `i` modulo `n`, for `-n <= i < 2 n`.
fn wrapped(i: Expr, n: Expr) -> Expr {
    let select = |c: Expr, a: Expr, b: Expr| Expr::Select(Box::new(c), Box::new(a), Box::new(b));
    let before = Expr::binary(BinaryOp::Lt, i.clone(), Expr::int(0));
    let behind = Expr::binary(BinaryOp::Ge, i.clone(), n.clone());
    select(before, i.clone().plus(n.clone()), select(behind, i.clone().minus(n), i))
}

/// Loads the lane's part of an array, with 0 for elements out of bounds, or with the other end's elements on an axis
/// that wraps. If `changes`, the registers are variables, to which the steps assign.
fn load(
    l: &mut Lower,
    fused: &FusedGroup,
    params: &TemporalBlockingParams,
    path: &BlockPath,
    array: NodeId,
    changes: bool,
    out: &mut Vec<Stmt>,
) -> LaneTile {
    // the facts have noted this access already
    let (mem, ty) = (l.launch.input(array), l.launch.g.ty(array).elem);
    let extents = extents(l, fused);
    let (mut tile, mut inits) = (LaneTile::new(), Vec::new());
    let place = |l: &mut Lower, axis: usize, by: i64, out: &mut Vec<Stmt>| {
        let e = plus(path.origin[axis].clone(), by);
        match params.wrapped[axis] && !path.interior {
            true => bind(l, "there", wrapped(e, extents[axis].clone()), out),
            false => e,
        }
    };
    let mut columns = Vec::new();
    if !path.interior {
        for k in 0..params.columns {
            let column = place(l, 1, k, out);
            let is_there = bind(l, "oncolumn", is_inside(column.clone(), extents[1].clone()), out);
            columns.push((column, is_there));
        }
    }
    for r in 0..params.rows {
        let row = place(l, 0, r, out);
        let line = along(l, mem, &std::slice::from_ref(&row)[2 - params.rank..]);
        let regs: Vec<Reg> = (0..params.columns).map(|_| l.k.reg("x", ty)).collect();
        if path.interior {
            let line = bind(l, "line", line.plus(path.origin[1].clone()), out);
            for (k, regs) in (0..).step_by(params.access()).zip(regs.chunks(params.access())) {
                access::load(l, mem, regs.to_vec(), plus(line.clone(), k), out);
            }
        } else {
            let line = bind(l, "line", line, out);
            let on_row = (params.rank > 1).then(|| bind(l, "onrow", is_inside(row, extents[0].clone()), out));
            for ((column, on_column), r) in columns.iter().zip(&regs) {
                let is_there = match &on_row {
                    Some(on_row) => bind(l, "present", and(on_row.clone(), on_column.clone()), out),
                    None => on_column.clone(),
                };
                let at = line.clone().plus(column.clone());
                let e = Expr::LoadIf(mem, Box::new(at), Box::new(is_there));
                out.push(Stmt::Let(*r, e, Default::default()));
            }
        }
        if !changes {
            tile.push(regs);
            continue;
        }
        let vars: Vec<Reg> = regs.iter().map(|_| l.k.reg("now", ty)).collect();
        inits.extend(vars.iter().zip(regs).map(|(v, r)| Stmt::Var(*v, Expr::Reg(r))));
        tile.push(vars);
    }
    out.append(&mut inits);
    tile
}

/// Stores the lane's elements that are still valid: those inside the halo and in bounds.
fn store(
    l: &mut Lower,
    fused: &FusedGroup,
    params: &TemporalBlockingParams,
    path: &BlockPath,
    (state, now): (&State, &LaneTile),
    out: &mut Vec<Stmt>,
) {
    let item = &fused.items[state.item];
    let (mem, ty) = (l.launch.output(item), l.launch.g.ty(item.node).elem);
    let extents = extents(l, fused);
    let (halo, region) = (params.halo(), params.region());
    let within = |e: Expr, halo: i64, end: i64| {
        let low = Expr::binary(BinaryOp::Ge, e.clone(), int32(halo as i32));
        and(low, Expr::binary(BinaryOp::Lt, e, int32((end - halo) as i32)))
    };
    let column = within(lane().times(int32(params.columns as i32)), halo[1], region[1]);
    let column = bind(l, "oncolumn", column, out);
    let top = Expr::binary(BinaryOp::Shr, thread(), int32(5)).times(int32(params.rows as i32));
    let top = bind(l, "share", top, out);
    for (r, regs) in (0..).zip(now) {
        let row = plus(path.origin[0].clone(), r);
        let mine = match params.rank {
            1 => column.clone(),
            _ => and(column.clone(), within(top.clone().plus(int32(r as i32)), halo[0], region[0])),
        };
        let mut body = Vec::new();
        let to = along(l, mem, &std::slice::from_ref(&row)[2 - params.rank..]).plus(path.origin[1].clone());
        let list: Vec<Expr> =
            regs.iter().map(|r| canonical(Expr::Reg(*r), ty, &mut l.k.kernel, &mut body)).collect();
        let to =
            if path.interior && regs.len() == params.access() { to } else { bind(l, "to", to, &mut body) };
        if path.interior {
            for (k, list) in (0..).step_by(params.access()).zip(list.chunks(params.access())) {
                access::store(l, mem, list.to_vec(), plus(to.clone(), k), &mut body);
            }
            out.push(Stmt::If(mine, body, vec![]));
            continue;
        }
        for (k, e) in (0..).zip(list) {
            let is_there = Expr::binary(BinaryOp::Lt, plus(path.origin[1].clone(), k), extents[1].clone());
            body.push(Stmt::If(is_there, vec![Stmt::Store(mem, plus(to.clone(), k), e)], vec![]));
        }
        let mine = match params.rank {
            1 => mine,
            _ => and(mine, Expr::binary(BinaryOp::Lt, row, extents[0].clone())),
        };
        out.push(Stmt::If(mine, body, vec![]));
    }
}
