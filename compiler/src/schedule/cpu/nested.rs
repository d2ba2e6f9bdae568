//! One tile of a nested reduction on a CPU: the loops over a row's 128 columns are independent and vectorise, as those of [`super::reduce`].

use super::each::each;
use super::reduce::{short_tree_of, tree_of};
use crate::core::{COLUMNS, NodeId};
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::lower::Lower;
use crate::schedule::nested::Place;
use crate::schedule::reduction::Reduction;

/// The value of the `count` (1 to 2048) elements from `base` on.
pub fn tile(
    l: &mut Lower,
    r: &Reduction,
    place: &Place,
    base: Expr,
    count: Expr,
    out: &mut Vec<Stmt>,
) -> Result<Expr> {
    let columns = l.k.local("columns", r.ty, COLUMNS as u32, out);
    let [width, rows, row, start, left] =
        ["width", "rows", "row", "start", "left"].map(|name| l.k.reg(name, Ty::I64));
    out.push(Stmt::Let(width, count.clone().min(Expr::int(COLUMNS)), Default::default()));
    let up = count.clone().plus(Expr::int(COLUMNS - 1));
    let up = Expr::binary(BinaryOp::Shr, up, Expr::int(COLUMNS.trailing_zeros().into()));
    out.push(Stmt::Let(rows, up, Default::default()));
    let of_row = |l: &mut Lower, first: bool, base: Expr, count: Expr| -> Result<Vec<Stmt>> {
        let (_, index) = l.g.fresh_var(Ty::I64);
        let (_, acc) = l.g.fresh_var(r.ty);
        let root: NodeId = if first { r.first(l, index) } else { r.step(l, acc, index) };
        each(l, "c", &Expr::int(0), &count, &mut |l, c, conditions, out| {
            let mut vars = place.vars.to_vec();
            let i = l.k.reg("i", Ty::I64);
            out.push(Stmt::Let(i, base.clone().plus(c.clone()), Default::default()));
            vars.push((index, Expr::Reg(i)));
            if !first {
                let old = l.k.reg("acc", r.ty);
                out.push(Stmt::Let(old, Expr::load(columns, c.clone()), Default::default()));
                vars.push((acc, Expr::Reg(old)));
            }
            if let Some(conditions) = conditions {
                return l.conditions(&vars, conditions, None, out);
            }
            let value = l.region(&vars, &[root], None, place.at, out)?.remove(0);
            out.push(Stmt::Store(columns, c.clone(), value));
            Ok(vec![])
        })
    };
    let identity = r.identity(l);
    if let Some(identity) = identity {
        // what may stand for absent columns makes all loops of the tree constant, for short sequences too
        let c = l.k.reg("c", Ty::I64);
        let fill = vec![Stmt::Store(columns, Expr::Reg(c), Expr::Lit(identity))];
        out.push(Stmt::For(c, Expr::int(0), Expr::int(COLUMNS), fill));
    } else {
        out.extend(of_row(l, true, base.clone(), Expr::Reg(width))?);
    }
    let mut body = vec![
        Stmt::Let(start, Expr::Reg(row).times(Expr::int(COLUMNS)), Default::default()),
        Stmt::Let(left, count.minus(Expr::Reg(start)).min(Expr::int(COLUMNS)), Default::default()),
    ];
    body.extend(of_row(l, false, base.plus(Expr::Reg(start)), Expr::Reg(left))?);
    out.push(Stmt::Seq(row, Expr::int(i64::from(identity.is_none())), Expr::Reg(rows), body));
    if identity.is_some() {
        let e = tree_of(l, r, place, columns, out)?;
        let value = l.k.reg("whole", r.ty);
        out.push(Stmt::Let(value, e, Default::default()));
        return Ok(Expr::Reg(value));
    }
    // 128 columns join by vectors
    let value = l.k.reg("whole", r.ty);
    out.push(Stmt::Var(value, Expr::Lit(Lit::zero(r.ty))));
    let (mut full, mut short) = (Vec::new(), Vec::new());
    let e = tree_of(l, r, place, columns, &mut full)?;
    full.push(Stmt::Assign(value, e));
    let e = short_tree_of(l, r, place, columns, Expr::Reg(width), &mut short)?;
    short.push(Stmt::Assign(value, e));
    out.push(Stmt::If(Expr::binary(BinaryOp::Eq, Expr::Reg(width), Expr::int(COLUMNS)), full, short));
    Ok(Expr::Reg(value))
}
