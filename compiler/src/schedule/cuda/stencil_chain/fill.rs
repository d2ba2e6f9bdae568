//! The loop in which a block's threads fill the shared-memory tiles of one stage. The tile is cut into parts of
//! `thread_rows` x `v` elements, numbered row by row, and thread `t` takes the parts `t`, `t + 256`, `t + 512`, ...:
//!
//! ```text
//! for turn in 0..turns:
//!     number = turn * 256 + thread             if number < parts
//!     row    = number / parts_of_row * thread_rows + tile's first row
//!     column = number % parts_of_row * v           + tile's first column
//!     the part is in the interior: its lines, as in register tiling; else its elements one by one
//! ```

use super::part::{Part, SharedArrays, elements, single_elements};
use super::tiles::{StageTile, THREADS};
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cuda::expressions::{int32, masked, offset, shifted, thread, to_i64};
use crate::schedule::cuda::register_tiling::placement::{PlaneTiling, ThreadPosition};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::facts::ChainStage;
use rustc_hash::FxHashMap as HashMap;

/// Fills the tiles of one stage. `block` is the row and column of the block's first element in the matrix.
pub fn fill(
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
            let value = beyond.guarded_value_at(l, &stage.fused, index, out)?;
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
