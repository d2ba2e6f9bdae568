//! Bins: the unit of work is a part of the elements, whose bins no other thread accesses. They are a row of the
//! result, and the elements are joined there one after another. The launch after this one joins the rows.
//!
//! C compilers do not vectorise a loop that joins, because several elements may have one bin. So what takes
//! operations is computed first, for a block of elements and into local arrays: that loop is vectorised, and its
//! error records are tested apart from it (`kernel/records_apart.rs`).

use crate::error::Result;
use crate::kernel::{Expr, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::facts::bins::Bins;
use crate::schedule::groups::FusedGroup;

/// The number of elements whose destinations and values are computed before they are joined.
const BLOCK: i64 = 256;

pub(super) fn main(l: &mut Lower, fused: &FusedGroup, bins: &Bins) -> Result<Vec<Stmt>> {
    let mem = l.launch.output(&fused.items[0]);
    let [n, of_part] = bins.lengths(&mut l.launch.g).map(|n| l.launch.host(n));
    let count = l.launch.host(bins.count);
    let [part, k] = ["part", "k"].map(|name| l.k.reg(name, Ty::I64));
    let mut body = Vec::new();
    let begin = bind(l, "begin", Expr::Reg(part).times(of_part.clone()), &mut body);
    let end = bind(l, "end", begin.clone().plus(of_part).min(n), &mut body);
    let empty = Stmt::Store(mem, bin(l, mem, part, &Expr::Reg(k)), Expr::Lit(bins.identity()));
    body.push(Stmt::For(k, Expr::int(0), count.clone(), vec![empty]));
    body.extend(elements(l, bins, (&begin, &end), |l, at, value| {
        let update = Stmt::Update(bins.op, mem, bin(l, mem, part, &at), value);
        let mut out = Vec::new();
        bins.tests(&mut l.launch.g).guarded(&at, &count, vec![update], &mut out);
        out
    })?);
    Ok(vec![Stmt::For(part, Expr::TileBegin, Expr::TileEnd.min(l.launch.count()), body)])
}

/// Returns the loop over the elements from the first index up to the second one. `join` joins a value to the bin at a
/// destination.
fn elements(
    l: &mut Lower,
    bins: &Bins,
    (begin, end): (&Expr, &Expr),
    join: impl FnOnce(&mut Lower, Expr, Expr) -> Vec<Stmt>,
) -> Result<Vec<Stmt>> {
    let i = l.k.reg("i", Ty::I64);
    let (_, index) = l.launch.g.fresh_var(Ty::I64);
    let roots = bins.element(&mut l.launch.g, index);
    let mut body = Vec::new();
    let mut values = l.region(&[(index, Expr::Reg(i))], &roots, &Expr::Reg(i), &mut body)?;
    let are_loaded = body.iter().all(|s| matches!(s, Stmt::Let(_, e, _) if is_loaded(l, e)));
    if !are_loaded || !values.iter().all(|e| is_loaded(l, e)) {
        return Ok(vec![blocks(l, bins, (begin, end), (i, body, values), join)]);
    }
    let value = values.pop().expect("the element");
    let at = bind(l, "at", values.pop().expect("its destination"), &mut body);
    body.extend(join(l, at, value));
    Ok(vec![Stmt::Seq(i, begin.clone(), end.clone(), body)])
}

/// Whether a value is an element, or an integer made of one, which a vectorised loop would not compute faster.
fn is_loaded(l: &Lower, e: &Expr) -> bool {
    match e {
        Expr::Cast(_, x) => l.k_ty(x).is_int() && is_loaded(l, x),
        e => matches!(e, Expr::Reg(_) | Expr::Lit(_) | Expr::Load(..)),
    }
}

/// Returns the loop over blocks of elements, which computes destinations and values before it joins them, given the
/// code of element `i`.
fn blocks(
    l: &mut Lower,
    bins: &Bins,
    (begin, end): (&Expr, &Expr),
    (i, mut body, values): (Reg, Vec<Stmt>, Vec<Expr>),
    join: impl FnOnce(&mut Lower, Expr, Expr) -> Vec<Stmt>,
) -> Stmt {
    let [block, k] = ["block", "k"].map(|name| l.k.reg(name, Ty::I64));
    let mut out = Vec::new();
    let first = Expr::Reg(block).times(Expr::int(BLOCK)).plus(begin.clone());
    let first = bind(l, "first", first, &mut out);
    let last = bind(l, "last", first.clone().plus(Expr::int(BLOCK)).min(end.clone()), &mut out);
    let own = Expr::Reg(i).minus(first.clone());
    let mut stored = Vec::new();
    for (value, (name, ty)) in values.into_iter().zip([("places", Ty::I64), ("values", bins.ty)]) {
        if let Expr::Lit(_) = value {
            stored.push(value);
            continue;
        }
        let local = l.k.local(name, ty, BLOCK as u32, &mut out);
        body.push(Stmt::Store(local, own.clone(), value));
        stored.push(Expr::load(local, Expr::Reg(k)));
    }
    out.push(Stmt::For(i, first.clone(), last.clone(), body));
    let mut joined = Vec::new();
    let value = stored.pop().expect("the element");
    let at = bind(l, "at", stored.pop().expect("its destination"), &mut joined);
    joined.extend(join(l, at, value));
    out.push(Stmt::Seq(k, Expr::int(0), last.minus(first), joined));
    let count = end.clone().minus(begin.clone()).plus(Expr::int(BLOCK - 1));
    let count = Expr::binary(BinaryOp::Div, count, Expr::int(BLOCK));
    Stmt::Seq(block, Expr::int(0), count, out)
}

/// Returns the index in memory of bin `k` of a part.
fn bin(l: &mut Lower, mem: Mem, part: Reg, k: &Expr) -> Expr {
    l.place_at(mem, &[Expr::Reg(part), k.clone()])
}
