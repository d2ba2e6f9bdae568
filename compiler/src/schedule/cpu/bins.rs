//! Bins: the unit of work is a part of the elements, whose bins no other thread accesses. They are a row of the
//! result, and the elements are joined there one after another. The launch after this one joins the rows.
//!
//! C compilers do not vectorise a loop that joins, because several elements may have one bin. So what takes
//! operations is computed first, for a block of elements and into local arrays: that loop is vectorised, and its
//! error records are tested apart from it (`kernel/records_apart.rs`).
//!
//! Most CPUs have no vectors of floats that become 64-bit integers. Where a destination is made of a float, it is
//! computed in 32 bits, if there are fewer than 2^31 bins: what is beyond 32 bits becomes the least or the greatest
//! number, which has no bin either.

use crate::error::Result;
use crate::kernel::{Expr, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::facts::bins::Bins;
use crate::schedule::groups::FusedGroup;

/// The number of elements whose destinations and values are computed before they are joined.
const BLOCK: i64 = 256;

pub(super) fn main(l: &mut Lower, fused: &FusedGroup, bins: &Bins, staged: bool) -> Result<Vec<Stmt>> {
    let mem = l.launch.output(&fused.items[0]);
    let [n, of_part] = bins.lengths(&mut l.launch.g).map(|n| l.launch.host(n));
    let count = l.launch.host(bins.count);
    let [part, k] = ["part", "k"].map(|name| l.k.reg(name, Ty::I64));
    let mut body = Vec::new();
    let begin = bind(l, "begin", Expr::Reg(part).times(of_part.clone()), &mut body);
    let end = bind(l, "end", begin.clone().plus(of_part).min(n), &mut body);
    let empty = Stmt::Store(mem, bin(l, mem, part, &Expr::Reg(k)), Expr::Lit(bins.identity()));
    body.push(Stmt::For(k, Expr::int(0), count.clone(), vec![empty]));
    let join = |l: &mut Lower, at: Expr, value: Expr| {
        let update = Stmt::Update(bins.op, mem, bin(l, mem, part, &at), value);
        let mut out = Vec::new();
        bins.tests(&mut l.launch.g).guarded(&at, &count, vec![update], &mut out);
        out
    };
    body.extend(joined(l, bins, [&begin, &end], &join, staged)?);
    Ok(vec![Stmt::For(part, Expr::TileBegin, Expr::TileEnd.min(l.launch.count()), body)])
}

/// Returns the loops over the elements from the first index of a range up to the second one. `join` joins a value to
/// the bin at a destination.
pub(super) fn joined(
    l: &mut Lower,
    bins: &Bins,
    range: [&Expr; 2],
    join: &dyn Fn(&mut Lower, Expr, Expr) -> Vec<Stmt>,
    staged: bool,
) -> Result<Vec<Stmt>> {
    let of = Part { bins, range, join };
    let (all, is_narrow) = of.elements(l, false)?;
    if staged || !is_narrow {
        return Ok(all);
    }
    let count = l.launch.host(bins.count);
    let are_few = Expr::binary(BinaryOp::Le, count, Expr::int(i64::from(i32::MAX)));
    Ok(vec![Stmt::If(are_few, of.elements(l, true)?.0, all)])
}

/// A part of the elements.
struct Part<'a> {
    bins: &'a Bins,
    /// The first index, and the one after the last.
    range: [&'a Expr; 2],
    /// Joins a value to the bin at a destination.
    join: &'a dyn Fn(&mut Lower, Expr, Expr) -> Vec<Stmt>,
}

impl Part<'_> {
    /// Returns the loop over the elements, whose destinations are computed in 32 bits if `in_32_bits`, and whether
    /// they may be.
    fn elements(&self, l: &mut Lower, in_32_bits: bool) -> Result<(Vec<Stmt>, bool)> {
        let i = l.k.reg("i", Ty::I64);
        let (_, index) = l.launch.g.fresh_var(Ty::I64);
        let roots = self.bins.element(&mut l.launch.g, index);
        let mut body = Vec::new();
        let mut values = l.region(&[(index, Expr::Reg(i))], &roots, &Expr::Reg(i), &mut body)?;
        let are_loaded = body.iter().all(|s| matches!(s, Stmt::Let(_, e, _) if is_loaded(l, e)));
        if !are_loaded || !values.iter().all(|e| is_loaded(l, e)) {
            let number = match &values[0] {
                Expr::Cast(Ty::I64, x) if l.k_ty(x).is_float() => Some(x.clone()),
                _ => None,
            };
            let is_narrow = number.is_some();
            if let Some(number) = number.filter(|_| in_32_bits) {
                values[0] = Expr::Cast(Ty::I32, number);
            }
            return Ok((vec![self.blocks(l, (i, body, values))], is_narrow));
        }
        let value = values.pop().expect("the element");
        let at = bind(l, "at", values.pop().expect("its destination"), &mut body);
        body.extend((self.join)(l, at, value));
        let [begin, end] = self.range.map(Expr::clone);
        Ok((vec![Stmt::Seq(i, begin, end, body)], false))
    }

    /// Returns the loop over blocks of elements, which computes destinations and values before it joins them, given
    /// the code of element `i`.
    fn blocks(&self, l: &mut Lower, (i, mut body, values): (Reg, Vec<Stmt>, Vec<Expr>)) -> Stmt {
        let [begin, end] = self.range.map(Expr::clone);
        let [block, k] = ["block", "k"].map(|name| l.k.reg(name, Ty::I64));
        let mut out = Vec::new();
        let first = Expr::Reg(block).times(Expr::int(BLOCK)).plus(begin.clone());
        let first = bind(l, "first", first, &mut out);
        let last = bind(l, "last", first.clone().plus(Expr::int(BLOCK)).min(end.clone()), &mut out);
        let own = Expr::Reg(i).minus(first.clone());
        let mut stored = Vec::new();
        for (value, name) in values.into_iter().zip(["places", "values"]) {
            if let Expr::Lit(_) = value {
                stored.push(value);
                continue;
            }
            let local = l.k.local(name, l.k_ty(&value), BLOCK as u32, &mut out);
            body.push(Stmt::Store(local, own.clone(), value));
            stored.push(Expr::load(local, Expr::Reg(k)));
        }
        out.push(Stmt::For(i, first.clone(), last.clone(), body));
        let mut joined = Vec::new();
        let value = stored.pop().expect("the element");
        let at = stored.pop().expect("its destination");
        let at = if l.k_ty(&at) == Ty::I64 { at } else { Expr::Cast(Ty::I64, Box::new(at)) };
        let at = bind(l, "at", at, &mut joined);
        joined.extend((self.join)(l, at, value));
        out.push(Stmt::Seq(k, Expr::int(0), last.minus(first), joined));
        let count = end.minus(begin).plus(Expr::int(BLOCK - 1));
        let count = Expr::binary(BinaryOp::Div, count, Expr::int(BLOCK));
        Stmt::Seq(block, Expr::int(0), count, out)
    }
}

/// Whether a value is an element, or an integer made of one, which a vectorised loop would not compute faster.
fn is_loaded(l: &Lower, e: &Expr) -> bool {
    match e {
        Expr::Cast(_, x) => l.k_ty(x).is_int() && is_loaded(l, x),
        e => matches!(e, Expr::Reg(_) | Expr::Lit(_) | Expr::Load(..)),
    }
}

/// Returns the index in memory of bin `k` of a part.
fn bin(l: &mut Lower, mem: Mem, part: Reg, k: &Expr) -> Expr {
    l.place_at(mem, &[Expr::Reg(part), k.clone()])
}
