//! The values of several elements of a row: a fast path, and behind it a slow path that leaves error records.

use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::BinaryOp;
use crate::schedule::cuda::paths::{branch_free_values, slow_path_flag};
use crate::schedule::error_records;
use crate::schedule::lower::Lower;

/// An element of a row that is computed.
pub(super) struct Element {
    /// Its values.
    pub roots: Vec<NodeId>,
    /// Whether the row has it.
    pub is_present: Expr,
    /// The number by which error records name it.
    pub number: Expr,
}

/// Computes the values of several elements: on the fast path, with divisions that have no branches,
/// and again in a branch if the slow path is needed, which also leaves the error records if there may be some.
/// The values of absent elements are not used. If the first one is absent, all of them are.
pub(super) fn values_of(
    l: &mut Lower,
    vars: &[(NodeId, Expr)],
    elements: &[Element],
    records: bool,
    out: &mut Vec<Stmt>,
) -> Result<Vec<Expr>> {
    let roots: Vec<NodeId> = elements.iter().flat_map(|e| e.roots.iter().copied()).collect();
    let slow = slow_path_flag(l, &roots, out);
    let mut fast = Vec::new();
    let values = branch_free_values(l, vars, &roots, slow, &mut fast)?;
    let flag = match slow {
        None if records => error_records::to_flag(&mut l.k.kernel, &mut fast),
        Some(flag) => {
            error_records::flag(&mut fast, flag);
            slow
        }
        None => None,
    };
    out.append(&mut fast);
    let Some(flag) = flag else { return Ok(values) };
    let mut complete = Vec::new();
    let mut exact = Vec::new();
    l.with_full_range(true, |l| {
        if !records {
            exact = l.region(vars, &roots, &Expr::int(0), &mut complete)?;
            return Ok(());
        }
        for e in elements {
            let mut own = Vec::new();
            exact.extend(l.region(vars, &e.roots, &e.number, &mut own)?);
            error_records::guard(&mut own, &e.is_present);
            complete.append(&mut own);
        }
        Ok::<_, crate::error::Error>(())
    })?;
    let mut all = Vec::new();
    for ((root, value), exact) in roots.iter().zip(values).zip(exact) {
        let usual = l.k.reg("usual", l.launch.g.ty(*root).elem);
        out.push(Stmt::Var(usual, value));
        complete.push(Stmt::Assign(usual, exact));
        all.push(Expr::Reg(usual));
    }
    let needed = Expr::binary(BinaryOp::And, Expr::Reg(flag), elements[0].is_present.clone());
    out.push(Stmt::If(needed, complete, vec![]));
    Ok(all)
}
