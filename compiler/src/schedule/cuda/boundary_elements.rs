//! Boundary elements of register tiling: the elements that no thread computes together with its
//! neighbours, because they are not in the interior.
//!
//! In a warp at the left or right edge, the elements of one or two lanes are at the edge. All lanes of the warp share
//! these elements: each lane takes one at a time, out of the warp's rows side by side, until none is left. A warp
//! whose rows are at an edge computes all its elements in this way.
//!
//! ```text
//! lane       0 1 2 3 4 5 .. 8 9 ..    4 columns per lane, lane 0 at the edge: 4 rows x 4 columns
//! row        0 0 0 0 - - .. 1 1 ..
//! column     0 1 2 3 - - .. 0 1 ..
//! ```

use super::expressions::{int32, to_i64};
use super::register_tiling::placement::{InteriorBounds, PlaneTiling, ThreadPosition, along, lane};
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Stmt, WARP};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::{canonical, opened};
use crate::schedule::groups::{FusedGroup, Item};

/// Computes the elements of a warp that has lanes outside of the interior, except those of its
/// interior lanes. `bounds` is `None` if no lane is interior.
pub fn elements(
    l: &mut Lower,
    (fused, items): (&FusedGroup, &[&Item]),
    tiling: PlaneTiling,
    position: &ThreadPosition,
    bounds: Option<&InteriorBounds>,
) -> Result<Vec<Stmt>> {
    let rank = fused.domain.len();
    let mut out = Vec::new();
    let (before, first_behind) = match bounds {
        Some(bounds) => lanes(l, tiling, position, bounds, &mut out),
        None => (int32(0), int32(0)),
    };
    let boundary_lanes = before.clone().plus(int32(WARP as i32)).minus(first_behind.clone());
    let count = bind(l, "count", boundary_lanes.times(int32(tiling.v as i32)), &mut out);
    // the number of lanes that share a row
    let lanes_per_row = i64::from(WARP) / tiling.thread_rows;
    let down = Expr::binary(BinaryOp::Shr, lane(), int32(lanes_per_row.ilog2() as i32));
    let mut index: Vec<Expr> = position.vars.iter().map(|v| v.1.clone()).collect();
    index[rank - 2] = bind(l, "i", index[rank - 2].clone().plus(to_i64(down)), &mut out);
    let number = l.k.reg("number", Ty::I32);
    out.push(Stmt::Var(number, Expr::binary(BinaryOp::And, lane(), int32(lanes_per_row as i32 - 1))));

    let mut body = Vec::new();
    let shift = int32(tiling.v.ilog2() as i32);
    let boundary_lane = bind(l, "of", Expr::binary(BinaryOp::Shr, Expr::Reg(number), shift), &mut body);
    let is_before = Expr::binary(BinaryOp::Lt, boundary_lane.clone(), before.clone());
    let behind = boundary_lane.clone().plus(first_behind.minus(before));
    let lane_in_row = Expr::Select(Box::new(is_before), Box::new(boundary_lane), Box::new(behind));
    let column = Expr::binary(BinaryOp::And, Expr::Reg(number), int32(tiling.v as i32 - 1));
    let column =
        if tiling.column_stride == 1 { column } else { column.times(int32(tiling.column_stride as i32)) };
    let right = lane_in_row.times(int32(tiling.lane_stride() as i32)).plus(column);
    index[rank - 1] = bind(l, "j", position.block[rank - 1].clone().plus(to_i64(right)), &mut body);
    let extents: Vec<Expr> = fused.domain.iter().map(|n| l.launch.host(*n)).collect();
    let inside = |axis: usize| Expr::binary(BinaryOp::Lt, index[axis].clone(), extents[axis].clone());
    let is_inside = Expr::binary(BinaryOp::And, inside(rank - 2), inside(rank - 1));
    body.push(Stmt::If(is_inside, element(l, items, &index, &extents)?, vec![]));
    body.push(Stmt::Assign(number, Expr::Reg(number).plus(int32(lanes_per_row as i32))));
    out.push(Stmt::While(Expr::binary(BinaryOp::Lt, Expr::Reg(number), count), body));
    Ok(out)
}

/// Returns the number of leading lanes that are not interior, and the first of the trailing lanes
/// that are not interior; 0 and 0 if no lane is interior.
fn lanes(
    l: &mut Lower,
    tiling: PlaneTiling,
    position: &ThreadPosition,
    bounds: &InteriorBounds,
    out: &mut Vec<Stmt>,
) -> (Expr, Expr) {
    let left = position.block[position.block.len() - 1].clone();
    let step = tiling.lane_stride();
    let number = |columns: Expr| {
        let lanes = Expr::binary(BinaryOp::Shr, columns, Expr::int(i64::from(step.ilog2())));
        Expr::binary(BinaryOp::Max, lanes, Expr::int(0)).min(Expr::int(i64::from(WARP)))
    };
    let before = number(Expr::int(bounds.left + step - 1).minus(left.clone()));
    let before = bind(l, "before", before, out);
    let first_behind = number(bounds.right.clone().minus(left).plus(Expr::int(step - tiling.span())));
    let first_behind = bind(l, "from", first_behind, out);
    let mut any_interior = Expr::binary(BinaryOp::Lt, before.clone(), first_behind.clone());
    if let Some(rows) = &bounds.rows {
        any_interior = Expr::binary(BinaryOp::And, rows.clone(), any_interior);
    }
    let any_interior = bind(l, "some", any_interior, out);
    let mut lanes_or_zero = |e: Expr| {
        let e = Expr::Cast(Ty::I32, Box::new(e));
        bind(l, "lanes", Expr::Select(Box::new(any_interior.clone()), Box::new(e), Box::new(int32(0))), out)
    };
    (lanes_or_zero(before), lanes_or_zero(first_behind))
}

/// Computes the items' values at these indices, and stores them.
fn element(l: &mut Lower, items: &[&Item], index: &[Expr], extents: &[Expr]) -> Result<Vec<Stmt>> {
    let vars: Vec<(NodeId, Expr)> =
        index.iter().map(|e| (l.launch.g.fresh_var(Ty::I64).1, e.clone())).collect();
    let own: Vec<NodeId> = vars.iter().map(|v| v.0).collect();
    let roots: Vec<NodeId> = items.iter().map(|it| opened(&mut l.launch.g, it.node, &own)).collect();
    // the number of the element, which an error record names
    let number = index
        .iter()
        .zip(extents)
        .skip(1)
        .fold(index[0].clone(), |k, (i, n)| k.times(n.clone()).plus(i.clone()));
    let (mut out, mut stores) = (Vec::new(), Vec::new());
    let values = l.region(&vars, &roots, &number, &mut out)?;
    for (item, e) in items.iter().zip(values) {
        let (mem, ty) = (l.launch.output(item), l.launch.g.ty(item.node).elem);
        let e = bind(l, "value", e, &mut out);
        let (last, before) = index.split_last().map_or((Expr::int(0), &[][..]), |(j, i)| (j.clone(), i));
        let to = along(l, mem, before);
        let last = if l.k.strided { last.times(l.launch.stride(mem, index.len() as u8 - 1)) } else { last };
        stores.push(Stmt::Store(mem, to.plus(last), canonical(e, ty, &mut l.k.kernel, &mut out)));
    }
    out.append(&mut stores);
    Ok(out)
}
