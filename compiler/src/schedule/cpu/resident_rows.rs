//! Resident rows on a CPU: all stages of a row are computed before the next row, so that the row is read from memory
//! once and then from a cache. A unit of work is a row.
//!
//! An output may be an input that is read at the same index only, because only the last stage that reads an element
//! of the row stores to it.

use super::element_loop::each;
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::Ty;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::{canonical, opened};
use crate::schedule::facts::{ResidentSegments, RowArray, RowValue, Stage};

/// The minimum length of a row that is kept. If rows are shorter, the launches that this one replaces compute the
/// trees of many of them together (`short_rows.rs`).
pub(super) const SHORTEST: u32 = 65;

pub(super) fn main(l: &mut Lower, rows: &ResidentSegments) -> Result<Vec<Stmt>> {
    let t = l.k.reg("row", Ty::I64);
    let (row, mut body) = (Expr::Reg(t), Vec::new());
    let mut vars = vec![(rows.segment, row.clone())];
    let length = l.launch.host(rows.length);
    for stage in &rows.in_memory {
        match stage {
            Stage::Reduce { values, .. } => reduce(l, rows, values, &mut vars, &mut body)?,
            Stage::Store { arrays } => store(l, rows, arrays, &vars, &length, &mut body)?,
        }
    }
    Ok(vec![Stmt::For(t, Expr::TileBegin, Expr::TileEnd, body)])
}

/// Computes the values of a row, and stores those that are items of the launch.
fn reduce(
    l: &mut Lower,
    rows: &ResidentSegments,
    values: &[RowValue],
    vars: &mut Vec<(NodeId, Expr)>,
    out: &mut Vec<Stmt>,
) -> Result<()> {
    let row = vars[0].1.clone();
    let roots: Vec<NodeId> = values.iter().map(|v| v.value).collect();
    let outer = l.region(vars, &rows.outer, &row, out)?;
    let computed = l.region(vars, &roots, &row, out)?;
    for (v, e) in values.iter().zip(computed) {
        let ty = l.launch.g.ty(v.read).elem;
        // a value that is stored and read again must be the canonical NaN
        let e = canonical(e, ty, &mut l.k.kernel, out);
        let e = bind(l, "result", e, out);
        vars.push((v.read, e.clone()));
        if let Some(it) = &v.stored {
            let mem = l.launch.output(it);
            let at = l.place_at(mem, &outer);
            out.push(Stmt::Store(mem, at, e));
        }
    }
    Ok(())
}

/// Computes and stores the elements of a row.
fn store(
    l: &mut Lower,
    rows: &ResidentSegments,
    arrays: &[RowArray],
    vars: &[(NodeId, Expr)],
    length: &Expr,
    out: &mut Vec<Stmt>,
) -> Result<()> {
    let row = &vars[0].1;
    let outer = l.region(vars, &rows.outer, row, out)?;
    let index = rows.index();
    let roots: Vec<NodeId> = arrays.iter().map(|a| opened(&mut l.launch.g, a.computed, &index)).collect();
    let elements = each(l, "k", &Expr::int(0), length, &mut |l, k, conditions, out| {
        let mut vars = vars.to_vec();
        vars.push((rows.element, k.clone()));
        if let Some(conditions) = conditions {
            return l.conditions(&vars, conditions, out);
        }
        let number = row.clone().times(length.clone()).plus(k.clone());
        let values = l.region(&vars, &roots, &number, out)?;
        let at: Vec<Expr> = outer.iter().cloned().chain([k.clone()]).collect();
        let mut stores = Vec::new();
        for (a, e) in arrays.iter().zip(values) {
            let ty = l.launch.g.ty(a.computed).elem;
            let e = canonical(e, ty, &mut l.k.kernel, out);
            let e = bind(l, "value", e, out);
            let mem = l.launch.output(&a.item);
            stores.push(Stmt::Store(mem, l.place_at(mem, &at), e));
        }
        out.append(&mut stores);
        Ok(vec![])
    })?;
    out.extend(elements);
    Ok(())
}
