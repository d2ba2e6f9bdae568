//! Segments whose tiles are in index order (`schedule/facts/in_order.rs`): a loop over the 128 columns of a tile,
//! each of which is 16 neighbouring elements, folds them by unrolled code, so that each lane of a vector has a
//! column. In whole tiles no code tests whether an element exists. The tiles' results are joined as neighbours, too.

use super::column_tree::{short_tree_of, store};
use super::stores::Stores;
use crate::core::linear;
use crate::core::{COLUMNS, Graph, NodeId, Op, TILE};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::lower::{LaunchContext, Lower, Surroundings, bind};
use crate::schedule::element::reduction::{Reduction, bound, tiles};
use crate::schedule::facts::Segments;
use crate::schedule::facts::in_order::{InOrder, joined, stepped};
use crate::schedule::groups::{FusedGroup, Item};
use std::rc::Rc;

/// The number of elements of a column.
const ROWS: i64 = TILE / COLUMNS;
/// The maximum number of nodes of the unrolled code that folds some elements of a column.
const MAX_NODES: usize = 512;

/// A fused group that this strategy serves.
pub struct OrderedSegments {
    segments: Rc<Segments>,
    reduction: Reduction,
    order: InOrder,
}

/// Returns the fused group as one that this strategy serves.
pub fn of(l: &mut LaunchContext, fused: &FusedGroup) -> Option<OrderedSegments> {
    let segments =
        l.facts.segments.clone().filter(|s| fused.domain.len() == 1 && is_short(&l.g, s.length))?;
    let mut reductions = Reduction::all_nested(l, &segments.nested);
    let reduction = reductions.pop().filter(|_| reductions.is_empty())?;
    let order = InOrder::of(l, &segments, &reduction)?;
    Some(OrderedSegments { segments, reduction, order })
}

/// Whether a length has at most as many tiles as a tile has columns.
fn is_short(g: &Graph, length: NodeId) -> bool {
    let is_small = |n: NodeId| g.as_lit(n).is_some_and(|n| n.as_i64() <= TILE * COLUMNS);
    match *g.op(length) {
        Op::Binary(BinaryOp::Min, a, b) => is_small(a) || is_small(b),
        _ => is_small(length),
    }
}

pub(super) fn main(l: &mut Lower, fused: &FusedGroup, ordered: &OrderedSegments) -> Result<Vec<Stmt>> {
    let items: Vec<&Item> = fused.items.iter().collect();
    let (s, r, order) = (&ordered.segments, &ordered.reduction, &ordered.order);
    let (n, length) = (l.launch.count(), l.launch.host(s.length));
    let stores = Stores::new(l, &items);
    let [segment, t] = ["segment", "t"].map(|name| l.k.reg(name, Ty::I64));
    let own = (s.index, Expr::Reg(segment));
    let (mut out, mut body, mut tile) = (Vec::new(), Vec::new(), Vec::new());
    let of_tiles: Vec<Mem> =
        r.each().map(|r| l.k.local("of_tiles", r.ty, COLUMNS as u32, &mut body)).collect();
    let places = l.region(std::slice::from_ref(&own), &[order.first, order.count], &own.1, &mut body)?;
    let [first, count] = [0, 1].map(|at| bind(l, "place", places[at].clone(), &mut body));
    // the last segment has fewer tiles that have elements; joins ignore the absent ones (`passes/ordered.rs`)
    let some = count.clone().minus(first.clone()).min(length.clone());
    let has_some = Expr::binary(BinaryOp::Lt, first.clone(), count.clone());
    let left = match order.ignores_absent {
        true => Expr::Select(Box::new(has_some), Box::new(some), Box::new(length.clone())),
        false => length.clone(),
    };
    let tiles = bind(l, "tiles", tiles(left), &mut body);
    let base = bind(l, "base", first.plus(Expr::Reg(t).times(Expr::int(TILE))), &mut tile);
    let of = |l: &mut Lower, elements: &[NodeId]| -> Result<Vec<Stmt>> {
        let mut out = Vec::new();
        let values = columns(l, r, (order.index, elements), (&own, &base), &mut out)?;
        let values = halved(l, r, values, &mut out)?;
        store(&of_tiles, &Expr::Reg(t), values, &mut out);
        Ok(out)
    };
    let (whole, some) = (of(l, &order.present)?, of(l, &order.any)?);
    let last = base.clone().plus(Expr::int(TILE - 1));
    tile.push(Stmt::If(Expr::binary(BinaryOp::Lt, last, count), whole, some));
    body.push(Stmt::Seq(t, Expr::int(0), tiles.clone(), tile));
    let values = short_tree_of(l, r, &Surroundings::NONE, &of_tiles, tiles, &mut body)?;
    let place = Surroundings { vars: std::slice::from_ref(&own), at: &own.1 };
    let values = s.values(l, std::slice::from_ref(r), &place, &[r.totals(&values)], &length, &mut body)?;
    stores.store(l, values, &own.1, &own.1, &mut body);
    out.push(Stmt::Seq(segment, Expr::TileBegin, Expr::TileEnd.min(n), body));
    Ok(out)
}

/// The values of an accumulator in all columns: an array, or a constant that is the same in all columns.
enum Column {
    Array(Mem),
    Same(Lit),
}

impl Column {
    fn at(&self, k: &Expr) -> Expr {
        match self {
            Column::Array(m) => Expr::load(*m, k.clone()),
            Column::Same(value) => Expr::Lit(*value),
        }
    }
}

fn are_constant(values: &[Expr]) -> Vec<bool> {
    values.iter().map(|e| matches!(e, Expr::Lit(_))).collect()
}

/// Keeps the values of column `k`: those that `same` marks are the same constant in all columns, and the others are
/// stored to arrays. `body` gets the stores, and `out` the declarations of the arrays.
fn kept(
    l: &mut Lower,
    (values, same): (Vec<Expr>, &[bool]),
    (width, k): (i64, &Expr),
    (out, body): (&mut Vec<Stmt>, &mut Vec<Stmt>),
) -> Vec<Column> {
    let mut columns = Vec::new();
    for (e, same) in values.into_iter().zip(same) {
        columns.push(match e {
            Expr::Lit(value) if *same => Column::Same(value),
            e => {
                let m = l.k.local("columns", l.k.kernel.ty(&e), width as u32, out);
                body.push(Stmt::Store(m, k.clone(), e));
                Column::Array(m)
            }
        });
    }
    columns
}

/// Folds the columns of the tile that begins at the element `base`.
fn columns(
    l: &mut Lower,
    r: &Reduction,
    (index, elements): (NodeId, &[NodeId]),
    (segment, base): (&(NodeId, Expr), &Expr),
    out: &mut Vec<Stmt>,
) -> Result<Vec<Column>> {
    let variables = r.variables(l.launch);
    let joined = r.join(l.launch, &variables, &variables);
    let size = l.launch.g.reachable(joined.into_iter().chain(elements.iter().copied())).len().max(1);
    let batch = 1i64 << ((MAX_NODES / size) as i64).clamp(1, ROWS).ilog2();
    let rows = |l: &mut Lower, before: Option<Vec<Expr>>, at: &Expr, body: &mut Vec<Stmt>| {
        let mut acc = before;
        for row in 0..batch {
            let row = l.launch.g.lit(Lit::i64(row));
            let i = linear::add(&mut l.launch.g, index, row);
            let element: Vec<NodeId> = elements.iter().map(|n| l.launch.replace(*n, index, i)).collect();
            let values =
                stepped(l, r, acc.as_deref(), &element, &[segment.clone(), (index, at.clone())], body)?;
            acc = Some(values.into_iter().map(|e| bound(l, "next", e, body)).collect());
        }
        Ok::<_, crate::error::Error>(acc.unwrap_or_default())
    };
    let (c, mut body) = (l.k.reg("c", Ty::I64), Vec::new());
    let at = |c: &Expr, b: Expr| base.clone().plus(c.clone().times(Expr::int(ROWS))).plus(b);
    let first = bind(l, "at", at(&Expr::Reg(c), Expr::int(0)), &mut body);
    let values = rows(l, None, &first, &mut body)?;
    let mut same = are_constant(&values);
    let mut is_open = batch < ROWS;
    while is_open {
        // a value such as a count is a constant after each batch, but not the same constant: then it needs an array
        let mut before = Vec::new();
        for (e, same) in values.iter().zip(&same) {
            let ty = l.k.kernel.ty(e);
            before.push(if *same { e.clone() } else { Expr::Reg(l.k.reg("acc", ty)) });
        }
        let after = rows(l, Some(before), &first, &mut Vec::new())?;
        is_open = false;
        for ((same, before), after) in same.iter_mut().zip(&values).zip(&after) {
            let stays = matches!((before, after), (Expr::Lit(a), Expr::Lit(b)) if a == b);
            is_open |= *same && !stays;
            *same &= stays;
        }
    }
    let columns = kept(l, (values, &same), (COLUMNS, &Expr::Reg(c)), (out, &mut body));
    out.push(Stmt::For(c, Expr::int(0), Expr::int(COLUMNS), body));
    if batch < ROWS {
        let [c, b] = ["c", "b"].map(|name| l.k.reg(name, Ty::I64));
        let mut body = Vec::new();
        let next = bind(l, "at", at(&Expr::Reg(c), Expr::Reg(b).times(Expr::int(batch))), &mut body);
        let before =
            columns.iter().map(|column| bound(l, "acc", column.at(&Expr::Reg(c)), &mut body)).collect();
        let values = rows(l, Some(before), &next, &mut body)?;
        for (column, e) in columns.iter().zip(values) {
            if let Column::Array(m) = column {
                body.push(Stmt::Store(*m, Expr::Reg(c), e));
            }
        }
        let all = Stmt::For(c, Expr::int(0), Expr::int(COLUMNS), body);
        out.push(Stmt::Seq(b, Expr::int(1), Expr::int(ROWS / batch), vec![all]));
    }
    Ok(columns)
}

/// Joins neighbouring columns until one is left, and returns its values.
fn halved(l: &mut Lower, r: &Reduction, mut columns: Vec<Column>, out: &mut Vec<Stmt>) -> Result<Vec<Expr>> {
    let mut width = COLUMNS / 2;
    while width > 0 {
        let (k, mut body) = (l.k.reg("k", Ty::I64), Vec::new());
        let even = Expr::Reg(k).times(Expr::int(2));
        let [low, high] = [even.clone(), even.plus(Expr::int(1))].map(|at| {
            let values = columns.iter().map(|c| bound(l, "side", c.at(&at), &mut body));
            values.collect::<Vec<Expr>>()
        });
        let values = joined(l, r, &low, &high, &mut body)?;
        let same = are_constant(&values);
        columns = kept(l, (values, &same), (width, &Expr::Reg(k)), (out, &mut body));
        out.push(Stmt::For(k, Expr::int(0), Expr::int(width), body));
        width /= 2;
    }
    Ok(columns.iter().map(|c| c.at(&Expr::int(0))).collect())
}
