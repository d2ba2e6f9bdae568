//! Loops of a thread on a GPU that go on by several short steps at once (unrolling), so that the loads of a batch are
//! in flight together, and a batch has one test of the end.

use crate::core::{Graph, NodeId, Op};
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::element::lower::{Lower, Surroundings, bind};
use rustc_hash::FxHashSet as HashSet;

/// The steps of a batch.
pub const BATCH: i64 = 4;
/// The maximum number of operations of a reduction's step that is written several times.
pub const OF_REDUCTION: usize = 40;
/// The same for a step of a fold or of an element's own loop, which is written once otherwise.
pub const OF_ELEMENT_LOOP: usize = 100;

/// The maximum number of reads of a step that stand before the steps of a batch.
const MAX_READS_AHEAD: usize = 8;

/// Values that are read ahead of a step.
pub type Ahead = Vec<(NodeId, Expr)>;

/// Emits what a step reads ahead ([`reads_ahead`]). The step's number is an expression plus a constant.
pub type Reads<'a> = dyn FnMut(&mut Lower, (Expr, i64), &mut Vec<Stmt>) -> Result<Ahead> + 'a;

/// Emits a step, given what was read ahead of it.
pub type Numbered<'a> = dyn FnMut(&mut Lower, (Expr, i64), Ahead, &mut Vec<Stmt>) -> Result<()> + 'a;

/// Whether a kernel has room for several versions of a loop. Kernels for calls with gaps or strides have little code
/// instead, and kernels that stage tiles have few registers: more code beside the tiles made products of all pairs
/// 1.25 times as slow (one H200).
pub fn has_room(l: &Lower) -> bool {
    !l.k.strided && !l.k.kernel.stages_tiles()
}

/// Returns the number of operations of some values; `None` if they have loops.
pub fn operations(g: &Graph, roots: &[NodeId]) -> Option<usize> {
    let inside = g.reachable_until(roots.iter().copied(), |n| g.is_closed(n));
    inside.iter().all(|n| !g.op(*n).is_loop()).then_some(inside.len())
}

/// Whether a loop goes on by batches whose step has the values that `next` makes: the step has at most `most`
/// operations, has no loops, and leaves no records, unless these become a flag.
pub fn pay(l: &mut Lower, most: usize, next: impl FnOnce(&mut Lower) -> Vec<NodeId>) -> bool {
    if !l.k.is_gpu() || !has_room(l) || l.scope.depth > 1 {
        return false;
    }
    let next = next(l);
    let g = &l.launch.g;
    let inside = g.reachable_until(next, |n| g.is_closed(n));
    let records = |n: NodeId| !l.scope.records_are_flags && g.op(n).may_record(g);
    inside.len() <= most && !inside.iter().any(|n| g.op(*n).is_loop() || records(*n))
}

/// Returns what a step reads in any case and without knowing the state, whose variables are `states`. The reads of
/// all steps of a batch can stand before its first step: an assembler moves no load over a branch, such as the one of
/// a division. Values in `known` are not examined. There are none if they are so many that registers would run out.
pub fn reads_ahead(l: &Lower, next: &[NodeId], states: &[NodeId], known: &[NodeId]) -> Vec<NodeId> {
    let g = &l.launch.g;
    let depends = |n: NodeId| {
        states.iter().any(|s| matches!(g.op(*s), Op::Var(state, _) if g.node(n).free.contains(state)))
    };
    let (mut reads, mut seen, mut stack) = (Vec::new(), HashSet::default(), next.to_vec());
    while let Some(n) = stack.pop() {
        if g.is_closed(n) || known.contains(&n) || !seen.insert(n) {
            continue;
        }
        match g.op(n) {
            Op::Elem(..) | Op::At(..) if !depends(n) => reads.push(n),
            // an arm may be needed in no step
            Op::Select(condition, ..) => stack.push(*condition),
            op if op.lambda().is_none() => stack.extend(op.operands()),
            _ => {}
        }
    }
    reads.sort_unstable();
    if reads.len() > MAX_READS_AHEAD { Vec::new() } else { reads }
}

/// Emits a loop over the numbers from `begin` up to, not including, `end`, which is not less: by batches first, if
/// these pay, and then step by step.
pub fn steps(
    l: &mut Lower,
    name: &'static str,
    (begin, end): (i64, Expr),
    pays: bool,
    out: &mut Vec<Stmt>,
    (read, step): (&mut Reads, &mut Numbered),
) -> Result<()> {
    // first, so that the places of a step's records are listed in the order of the program
    let (k, mut single) = (l.k.reg(name, Ty::I64), Vec::new());
    l.in_block(|l| step(l, (Expr::Reg(k), 0), Ahead::new(), &mut single))?;
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
        l.in_block(|l| {
            let ahead =
                (0..BATCH).map(|i| read(l, (at.clone(), i), &mut body)).collect::<Result<Vec<Ahead>>>()?;
            (0..).zip(ahead).try_for_each(|(i, ahead)| step(l, (at.clone(), i), ahead, &mut body))
        })?;
        out.push(Stmt::Seq(batch, Expr::int(0), whole.clone(), body));
        from = bind(l, "from", first(whole), out);
    }
    out.push(Stmt::Seq(k, from, end, single));
    Ok(())
}

/// Emits these reads, given what is known, and returns what they read.
pub fn read_ahead(
    l: &mut Lower,
    place: &Surroundings,
    (reads, known): (&[NodeId], &[(NodeId, Expr)]),
    out: &mut Vec<Stmt>,
) -> Result<Ahead> {
    let values = place.values(l, known, reads, out)?;
    Ok(reads.iter().copied().zip(values.into_iter().map(|e| bind(l, "ahead", e, out))).collect())
}
