//! Resident rows (`schedule/alternatives/resident_segments.rs`) on a GPU: one launch for several stages that go over
//! the rows of a matrix, such as the maximum, the sum and the division of a softmax. A row stays in registers from
//! stage to stage: in those of 8, 16 or 32 lanes, or of the warps of a block, each of which has a tile of 2048
//! elements or half of one. Each element is loaded once, by vector accesses. A value that several stages need of an
//! element, such as an exponential, stays in a register, too. Reductions follow the fixed tree of semantics 5.1: a
//! lane folds its columns in registers, shuffles join lanes, and shared memory joins tiles.
//!
//! The cost is one pass over the row and over the results. The registers limit a row's length. Rows that are longer
//! than a block can hold are shared by the blocks of a cluster (`cluster.rs`) or lie in shared memory (`staged.rs`).
//! Even longer ones run as separate launches, one for each stage.

mod cluster;
mod columns;
mod mapping;
mod parts;
mod prefetch;
mod row;
mod span;
mod staged;
mod variants;

use super::expressions::{int32, thread, to_i64, warp_number};
use super::resident_segments::Demand;
use super::segments::lane;
use crate::core::{COLUMNS, TILE, linear};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Stmt, WARP};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::facts::{ResidentSegments, Stage};
pub use columns::{ColumnsParams, main as main_of_columns};
pub use mapping::ResidentRowsParams;
use mapping::{Group, THREADS};
pub use parts::{COLUMNS_OF_BLOCK, join as join_parts};
use row::Row;
pub use staged::{StagedRowsParams, main as main_of_staged};
pub use variants::{limit, variants, variants_of_columns};

/// Writes the kernel body: for each stage, loads of elements not loaded yet, then its reductions or stores.
pub fn main(l: &mut Lower, rows: &ResidentSegments, p: &ResidentRowsParams) -> Result<Vec<Stmt>> {
    let demand = Demand::of(l.launch, rows).expect("an array is read");
    l.k.kernel.min_resident_blocks = p.min_resident_blocks(&demand);
    let mut out = Vec::new();
    let (n, length) = (l.launch.count(), l.launch.host(rows.length));
    let lane = lane(l, p.lanes, &mut out);
    let warp = bind(l, "warp", warp_number(), &mut out);
    let (numbers, base) = match (p.blocks, p.warps) {
        (1, 1) => (rows_of_lanes(l, p, &warp, &mut out), Expr::int(0)),
        (1, _) => (vec![to_i64(Expr::Place(Gpu::Block))], first_of_warp(p, &warp)),
        _ => {
            l.k.kernel.cluster = p.blocks;
            let of_block = to_i64(cluster::rank(p)).times(Expr::int(p.elements_per_block().into()));
            (vec![cluster::row(p)], of_block.plus(first_of_warp(p, &warp)))
        }
    };
    let groups = groups(l, p, (&base, &lane, &length), &mut out);
    let mut all = Vec::new();
    for number in numbers {
        all.push(Row::begin(l, rows, p, (number, &n), (&lane, &warp), &mut out)?);
    }
    for stage in 0..rows.stages.len() {
        for row in &mut all {
            row.load(l, stage, &groups, &mut out)?;
        }
        if stage == 0 && p.prefetch {
            for row in &all {
                row.prefetch(l, &n, &mut out)?;
            }
        }
        if stage == 0 && p.blocks > 1 {
            out.push(Stmt::Note("all blocks of the cluster have begun".into()));
            out.push(Stmt::ClusterBarrier { relaxed: true });
        }
        for row in &mut all {
            match &rows.stages[stage] {
                Stage::Reduce { reductions, values } => {
                    row.reduce(l, stage, (reductions, values), &groups, &mut out)?;
                }
                Stage::Store { arrays } => {
                    let places = vec![None; arrays.len()];
                    row.store(l, stage, arrays, (&groups, &places), &mut out)?;
                }
            }
        }
    }
    Ok(out)
}

/// Returns the index in the row of a warp's first element, given the warp's number in the row.
fn first_of_warp(p: &ResidentRowsParams, warp: &Expr) -> Expr {
    let columns = p.columns * i64::from(WARP);
    let warps_of_tile = (COLUMNS / columns) as i32;
    let tile = Expr::binary(BinaryOp::Shr, warp.clone(), int32(warps_of_tile.trailing_zeros() as i32));
    let part = Expr::binary(BinaryOp::And, warp.clone(), int32(warps_of_tile - 1));
    to_i64(tile).times(Expr::int(TILE)).plus(to_i64(part).times(Expr::int(columns)))
}

/// Returns the numbers of this lane's rows, for mappings of a row to a warp or less. They may be beyond the last row.
fn rows_of_lanes(l: &mut Lower, p: &ResidentRowsParams, warp: &Expr, out: &mut Vec<Stmt>) -> Vec<Expr> {
    let per_warp = i64::from(WARP / p.lanes);
    let warps = i64::from(THREADS / WARP);
    let first_warp = to_i64(Expr::Place(Gpu::Block)).times(Expr::int(warps));
    let begin = first_warp.plus(to_i64(warp.clone())).times(Expr::int(per_warp * p.each));
    let in_warp = Expr::binary(BinaryOp::And, thread(), int32(WARP as i32 - 1));
    let group = Expr::binary(BinaryOp::Shr, in_warp, int32(p.lanes.trailing_zeros() as i32));
    let mine = bind(l, "mine", begin.plus(to_i64(group)), out);
    (0..p.each).map(|u| bind(l, "mine", mine.clone().plus(Expr::int(u * per_warp)), out)).collect()
}

/// Returns the groups of neighbours that a lane has. `base` is the index in the row of the warp's first element; lane
/// `x` has the elements `base + x v ..+ v`, then those one access of all lanes further on, and so on for each row of
/// the tile.
fn groups(
    l: &mut Lower,
    p: &ResidentRowsParams,
    (base, lane, length): (&Expr, &Expr, &Expr),
    out: &mut Vec<Stmt>,
) -> Vec<Group> {
    let (lanes, v) = (i64::from(p.lanes), p.v);
    let first = base.clone().plus(to_i64(lane.clone()).times(Expr::int(v)));
    let first = bind(l, "first", first, out);
    let last = bind(l, "last", length.clone().minus(Expr::int(v)), out);
    let mut all = Vec::new();
    // where fewer lanes than a warp share a row of the matrix, that is a single row of a tile
    let row_columns = if p.lanes == WARP { COLUMNS } else { lanes * p.columns };
    for row in 0..p.tile_rows {
        for g in 0..p.columns / v {
            let offset = row * row_columns + g * lanes * v;
            let at = bind(l, "k", first.clone().plus(Expr::int(offset)), out);
            let is_present = Expr::binary(BinaryOp::Lt, at.clone(), length.clone());
            let is_present = bind(l, "there", is_present, out);
            let inside = bind(l, "k", at.clone().min(last.clone()), out);
            l.k.kernel.in_space.extend([at, inside.clone()]);
            let (_, node) = l.launch.g.fresh_var(Ty::I64);
            let index = |q| {
                let offset = l.launch.g.lit(Lit::i64(q));
                linear::add(&mut l.launch.g, node, offset)
            };
            let indices = (0..v).map(index).collect();
            all.push(Group {
                indices,
                start: first.clone(),
                offset,
                first: (node, inside),
                is_present,
                column: (g * v) as usize,
            });
        }
    }
    all
}
