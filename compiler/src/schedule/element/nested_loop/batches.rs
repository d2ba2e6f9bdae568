//! Loops of a thread on a GPU that go on by several short steps at once (unrolling), so that the loads of a batch are
//! in flight together, and a batch has one test of the end.

use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::element::lower::{Lower, bind};

/// The steps of a batch.
pub const BATCH: i64 = 4;
/// The maximum number of operations of a reduction's step that is written several times.
pub const OF_REDUCTION: usize = 40;
/// The same for a step of an element's own loop, which is written once otherwise.
pub const OF_ELEMENT_LOOP: usize = 100;

/// Emits a step: number `first` plus a constant.
pub type Numbered<'a> = dyn FnMut(&mut Lower, (Expr, i64), &mut Vec<Stmt>) -> Result<()> + 'a;

/// Whether a kernel has room for several versions of a loop. Kernels for calls with gaps or strides have little code
/// instead, and kernels that stage tiles have few registers: more code beside the tiles made products of all pairs
/// 1.25 times as slow (one H200).
pub fn has_room(l: &Lower) -> bool {
    !l.k.strided && !l.k.kernel.stages_tiles()
}

/// Whether a loop goes on by batches whose step has the values that `next` makes: the step has at most `most`
/// operations, leaves no records and has no loops.
pub fn pay(l: &mut Lower, most: usize, next: impl FnOnce(&mut Lower) -> Vec<NodeId>) -> bool {
    if !l.k.is_gpu() || !has_room(l) || l.scope.depth > 1 {
        return false;
    }
    let next = next(l);
    let inside = l.launch.g.reachable_until(next, |n| l.launch.g.is_closed(n));
    inside.len() <= most
        && !inside.iter().any(|n| l.launch.g.op(*n).is_loop() || l.launch.g.op(*n).may_record(&l.launch.g))
}

/// Emits a loop over the numbers from `begin` up to, not including, `end`, which is not less: by batches first, if
/// these pay, and then step by step.
pub fn steps(
    l: &mut Lower,
    name: &'static str,
    (begin, end): (i64, Expr),
    pays: bool,
    out: &mut Vec<Stmt>,
    step: &mut Numbered,
) -> Result<()> {
    let mut from = Expr::int(begin);
    if pays {
        l.k.batches = true;
        let batch = l.k.reg("batch", Ty::I64);
        let whole =
            Expr::binary(BinaryOp::Shr, end.clone().minus(from), Expr::int(BATCH.trailing_zeros().into()));
        let whole = bind(l, "batches", whole, out);
        let first = |batch: Expr| batch.times(Expr::int(BATCH)).plus(Expr::int(begin));
        let mut body = Vec::new();
        let at = bind(l, name, first(Expr::Reg(batch)), &mut body);
        l.in_block(|l| (0..BATCH).try_for_each(|i| step(l, (at.clone(), i), &mut body)))?;
        out.push(Stmt::Seq(batch, Expr::int(0), whole.clone(), body));
        from = bind(l, "from", first(whole), out);
    }
    let (k, mut body) = (l.k.reg(name, Ty::I64), Vec::new());
    step(l, (Expr::Reg(k), 0), &mut body)?;
    out.push(Stmt::Seq(k, from, end, body));
    Ok(())
}
