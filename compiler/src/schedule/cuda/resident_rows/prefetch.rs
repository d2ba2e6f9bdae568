//! Prefetches of later rows into the L2 cache.
//!
//! A block loads its row, computes, and stores it. Few rows fit into the registers of a
//! multiprocessor at once, so where an element takes long to compute, the memory waits for the
//! computations and these wait for the memory. A block therefore asks for the row of a block that
//! starts later: its elements are in the L2 cache by then, and the memory is busy meanwhile.
//!
//! Measured on an H100 with softmaxes of f64 (268 MB, a copy takes 0.181 ms): rows of 8192 elements
//! take 0.193 ms and 0.350 without, of 1024 0.189 and 0.230. The best distance is 132 rows of 8192,
//! 264 of 4096, and 1056 of 1024 elements: 8.7 MB each time, and twice or half of it costs 5 to 20 %.
//! Rows of 1001 elements of f32, each of which is an access of its own, take 0.188 ms and 0.199
//! without. Rows of f32 at multiples of 16 bytes lose 3 %.

use super::cluster;
use super::mapping::ResidentRowsParams;
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Stmt, WARP};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::expressions::{int32, thread, to_i64};
use crate::schedule::facts::ResidentRows;
use crate::schedule::lower::{LaunchContext, Lower, named as bind};

/// How many bytes of an array lie between a block's row and the row that it asks for.
const DISTANCE: i64 = 8 << 20;
/// The bytes that one prefetch brings: a line of the cache.
const LINE: i64 = 128;
/// The least operations of an element, those of f64 counted twice, with which rows are asked for.
const LEAST_OPERATIONS: i64 = 100;

/// Returns whether elements take long enough to compute. Rows of single accesses always ask for later
/// ones.
pub fn pays(l: &LaunchContext, rows: &ResidentRows, operations: i64) -> bool {
    let is_double = l.facts.accesses.own.iter().any(|x| l.g.ty(*x).elem == Ty::F64);
    let weight = if is_double { 2 } else { 1 };
    !rows.outer.is_empty() && operations * weight >= LEAST_OPERATIONS
}

/// Asks for the elements of a later row of these arrays, each given with the indices of its row.
pub fn later_row(
    l: &mut Lower,
    rows: &ResidentRows,
    p: &ResidentRowsParams,
    arrays: &[(NodeId, Vec<NodeId>)],
    (number, n, lane): (&Expr, &Expr, &Expr),
    out: &mut Vec<Stmt>,
) -> Result<()> {
    let (place, threads) = match (p.blocks, p.warps) {
        (1, 1) => (lane.clone(), p.lanes),
        (1, warps) => (thread(), warps * WARP),
        (blocks, warps) => {
            let first = Expr::binary(BinaryOp::Mul, cluster::rank(p), int32((warps * WARP) as i32));
            (Expr::binary(BinaryOp::Add, first, thread()), blocks * warps * WARP)
        }
    };
    let length = l.launch.host(rows.length);
    for (x, outer) in arrays {
        let (mem, size) = (l.launch.input(*x), l.launch.g.ty(*x).elem.size() as i64);
        let bytes = i64::from(p.longest()) * size;
        let distance = (DISTANCE / bytes).max(1);
        let later = bind(l, "later", number.clone().plus(Expr::int(distance)), out);
        let exists = Expr::binary(BinaryOp::Lt, later.clone(), n.clone());
        let vars = [(rows.row, later)];
        let mut hints = Vec::new();
        for line in (0..bytes / LINE).step_by(threads as usize) {
            let line = to_i64(place.clone()).plus(Expr::int(line));
            let first = bind(l, "line", line.times(Expr::int(LINE / size)), &mut hints);
            let is_present = Expr::binary(BinaryOp::Lt, first.clone(), length.clone());
            let mut hint = Vec::new();
            let index = l.element_address(mem, outer, first, &vars, &mut hint)?;
            hint.push(Stmt::Prefetch { array: mem, index, wide: false });
            hints.push(Stmt::If(is_present, hint, vec![]));
        }
        out.push(Stmt::If(exists, hints, vec![]));
    }
    Ok(())
}
