//! Finish: the code that runs once when all tiles are done. It reduces the tiles' results by the
//! same tree until one is left, joins the initial value last, and computes and stores the scalar
//! results that follow.

use super::column_tree::{load, short_tree_of, store};
use crate::core::{COLUMNS, NodeId, Op, TILE, tuples};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::element::lower::{Lower, Surroundings, bind};
use crate::schedule::element::reduction::{Reduction, tiles as count_tiles};
use crate::schedule::element::{scalars, slots};
use crate::schedule::groups::FusedGroup;

/// Emits the `finish` part of a kernel, or returns `None` if there is nothing to do.
pub(super) fn finish(l: &mut Lower, fused: &FusedGroup, scalars: &[u32]) -> Result<Option<Vec<Stmt>>> {
    let mut out = Vec::new();
    let mut known: Vec<(NodeId, Expr)> = Vec::new();
    let count = l.launch.facts.filter.as_ref().and_then(|filter| filter.count);
    if let Some(count) = count {
        known.push((count, kept(l, &mut out)));
    } else if fused.sequential {
        folds(l, fused, &mut known, &mut out)?;
    } else {
        for r in Reduction::all(l.launch, fused) {
            known.append(&mut reduction(l, &r, &mut out)?);
        }
    }
    scalars::store(l, &known, scalars, &mut out)?;
    Ok((!out.is_empty()).then_some(out))
}

/// Returns the number of elements that a whole filter keeps; without elements nothing has stored it.
fn kept(l: &mut Lower, out: &mut Vec<Stmt>) -> Expr {
    let (scratch, value) = (l.launch.scratch(0, Ty::I64), l.k.reg("kept", Ty::I64));
    out.push(Stmt::Var(value, Expr::int(0)));
    let some = Expr::binary(BinaryOp::Gt, Expr::TileEnd, Expr::int(0));
    out.push(Stmt::If(some, vec![Stmt::Assign(value, Expr::load(scratch, Expr::int(0)))], vec![]));
    Expr::Reg(value)
}

/// Emits the final value of each fold: its accumulator, or its initial value if no element was
/// folded.
fn folds(
    l: &mut Lower,
    fused: &FusedGroup,
    known: &mut Vec<(NodeId, Expr)>,
    out: &mut Vec<Stmt>,
) -> Result<()> {
    let nodes: Vec<NodeId> = fused.items.iter().map(|it| it.node).collect();
    for (node, at) in nodes.into_iter().zip(0..) {
        let Op::Fold { init, .. } = *l.launch.g.op(node) else { continue };
        let ty = l.launch.g.ty(node).elem;
        let scratch = l.launch.scratch(at, ty);
        let init = tuples::components(&l.launch.g, init)[tuples::which(&l.launch.g, node)];
        let start = l.region(&[], &[init], &Expr::int(0), out)?.remove(0);
        let value = l.k.reg("folded", ty);
        out.push(Stmt::Var(value, start));
        let some = Expr::binary(BinaryOp::Gt, Expr::TileEnd, Expr::int(0));
        out.push(Stmt::If(some, vec![Stmt::Assign(value, Expr::load(scratch, Expr::int(0)))], vec![]));
        known.push((node, Expr::Reg(value)));
    }
    Ok(())
}

/// Emits the reduction of the tiles' results in the scratch array (semantics 5.1, steps 4 and 5),
/// and returns the value of each of its nodes.
fn reduction(l: &mut Lower, r: &Reduction, out: &mut Vec<Stmt>) -> Result<Vec<(NodeId, Expr)>> {
    if r.joins_by_loops(l.launch) {
        let start = l.region(&[], &r.init(l.launch), &Expr::int(0), out)?.remove(0);
        let result = &mut |_: &mut Lower, at: Expr, _: &mut Vec<Stmt>| Ok(Expr::load(r.scratch[0], at));
        let value = slots::reduce(l, r, start, Expr::TileEnd, &Surroundings::NONE, result, out)?;
        return Ok(vec![(r.nodes[0], value)]);
    }
    out.push(Stmt::Note("the tiles' results, by the same tree, until one is left".into()));
    let m = l.k.reg("left", Ty::I64);
    let tiles = l.k.reg("tiles", Ty::I64);
    let t = l.k.reg("t", Ty::I64);
    out.push(Stmt::Var(m, Expr::TileEnd));
    let up = count_tiles(Expr::Reg(m));
    let tile = tile(l, r, t, &Expr::Reg(m))?;
    let level = vec![
        Stmt::Let(tiles, up, Default::default()),
        Stmt::Seq(t, Expr::int(0), Expr::Reg(tiles), tile),
        Stmt::Assign(m, Expr::Reg(tiles)),
    ];
    out.push(Stmt::While(Expr::binary(BinaryOp::Gt, Expr::Reg(m), Expr::int(1)), level));
    let some = Expr::binary(BinaryOp::Gt, Expr::TileEnd, Expr::int(0));
    let totals = load(&r.totals(&r.scratch), &Expr::int(0));
    scalars::join_initial(l, r, &Surroundings::NONE, some, totals, out)
}

/// Emits one tile of a level that has `m` values left. The result of tile t replaces value t, which
/// no later tile reads.
fn tile(l: &mut Lower, r: &Reduction, t: crate::kernel::Reg, m: &Expr) -> Result<Vec<Stmt>> {
    let mut out = Vec::new();
    let columns: Vec<Mem> = r.each().map(|r| l.k.local("columns", r.ty, COLUMNS as u32, &mut out)).collect();
    let [base, rest, width, c, i] = ["base", "rest", "width", "c", "i"].map(|name| l.k.reg(name, Ty::I64));
    let [a, b] = [(); 2].map(|()| r.variables(l.launch));
    let join = r.join(l.launch, &a, &b);
    let column = Expr::binary(BinaryOp::And, Expr::Reg(i), Expr::int(COLUMNS - 1));
    let at = Expr::Reg(base).plus(Expr::Reg(i));
    let mut body = Vec::new();
    let mut old = load(&columns, &column);
    if r.is_counted() {
        old = old.into_iter().map(|e| bind(l, "acc", e, &mut body)).collect();
    }
    let vars: Vec<(NodeId, Expr)> =
        a.into_iter().zip(old).chain(b.into_iter().zip(load(&r.scratch, &at))).collect();
    let joined = l.region(&vars, &join, &Expr::int(0), &mut body)?;
    store(&columns, &column, joined, &mut body);
    let mut copy = Vec::new();
    store(&columns, &Expr::Reg(c), load(&r.scratch, &Expr::Reg(base).plus(Expr::Reg(c))), &mut copy);
    out.extend([
        Stmt::Let(base, Expr::Reg(t).times(Expr::int(TILE)), Default::default()),
        Stmt::Let(rest, m.clone().minus(Expr::Reg(base)).min(Expr::int(TILE)), Default::default()),
        Stmt::Let(width, Expr::Reg(rest).min(Expr::int(COLUMNS)), Default::default()),
        Stmt::For(c, Expr::int(0), Expr::Reg(width), copy),
        Stmt::Seq(i, Expr::int(COLUMNS), Expr::Reg(rest), body),
    ]);
    let values = short_tree_of(l, r, &Surroundings::NONE, &columns, Expr::Reg(width), &mut out)?;
    store(&r.scratch, &Expr::Reg(t), values, &mut out);
    Ok(out)
}
