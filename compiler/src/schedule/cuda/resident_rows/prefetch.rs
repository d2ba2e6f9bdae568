//! Prefetches of later rows into the L2 cache.
//!
//! A block loads its row, computes, and stores the results. Few rows fit into the registers of a multiprocessor at
//! once. So where rows are long or elements take long to compute, too few loads are in flight while blocks compute. A
//! block therefore prefetches the row of a block that starts later: that keeps memory busy, and the later block finds
//! its elements in the L2 cache.
//!
//! Measured on an H100 with softmaxes of 268 MB, of which a copy takes 0.181 ms:
//!
//! | rows | ms | without |
//! |---|---|---|
//! | 8192 of f64 | 0.193 | 0.350 |
//! | 1024 of f64 | 0.189 | 0.230 |
//! | 32,768 of f32 | 0.195 | 0.203 |
//! | 131,072 of f32, in clusters | 0.227 | 0.244 |
//! | 1001 of f32, whose elements are an access each | 0.188 | 0.199 |
//! | 8192 of f32 | 0.194 | 0.189 |
//!
//! The best distance was 132 rows of 8192 elements of f64, 264 of 4096, and 1056 of 1024: 8.7 MB each time. Twice or
//! half that distance takes 5 to 20 % longer.

use super::cluster;
use super::mapping::ResidentRowsParams;
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Stmt, WARP};
use crate::plan::GUESSED_LENGTH;
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::expressions::{int32, thread, to_i64};
use crate::schedule::element::lower::{LaunchContext, Lower, bind};
use crate::schedule::facts::ResidentSegments;

/// The distance in bytes of an array from a block's row to the row that it prefetches.
const DISTANCE: i64 = 8 << 20;
/// The bytes that one prefetch brings: a cache line.
const LINE: i64 = 128;
/// The minimum number of operations ([`operations`]) of an element that takes long to compute.
const COSTLY: i64 = 100;
/// The minimum bytes of a long row: few of them fit onto a multiprocessor.
const LONG: i64 = 64 << 10;

/// Returns whether an element takes long to compute.
pub fn is_costly(l: &LaunchContext) -> bool {
    operations(l) >= COSTLY
}

/// Returns the operations of an element; operations count twice if an array has elements of f64.
pub fn operations(l: &LaunchContext) -> i64 {
    let is_double = l.facts.accesses.own.iter().any(|x| l.g.ty(*x).elem == Ty::F64);
    let weight = if is_double { 2 } else { 1 };
    i64::from(l.facts.cost / GUESSED_LENGTH) * weight
}

/// Whether memory would be idle at times without prefetches. `words` are those of an element in all arrays.
pub fn pays(p: &ResidentRowsParams, words: i64, is_costly: bool) -> bool {
    is_costly || p.v == 1 || i64::from(p.elements_per_block()) * words * 4 >= LONG
}

/// Prefetches the elements of a later row of these arrays. Each array comes with the row's indices along all axes but
/// the last; `number` is the number of the thread's own row.
pub fn later_row(
    l: &mut Lower,
    rows: &ResidentSegments,
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
        let vars = [(rows.segment, later)];
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
