//! The paths of several elements together: values of the fast path with the test for the slow path,
//! values whose divisions have no branches, and the slow path after the fast one.

use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::lower::{Lower, UnlikelyArms};
use crate::schedule::element::{division, slow_path};

/// Declares the flag that becomes true if an element needs the slow path. Returns `None` if there
/// is no slow path.
pub fn slow_path_flag(l: &mut Lower, roots: &[NodeId], out: &mut Vec<Stmt>) -> Option<Reg> {
    if slow_path::conditions(l.launch, roots).is_empty() {
        return None;
    }
    let needs_slow_path = l.k.reg("rare", Ty::Bool);
    out.push(Stmt::Var(needs_slow_path, Expr::Lit(Lit::bool(false))));
    Some(needs_slow_path)
}

/// Returns the values of the fast path, and whether the slow path is needed, in which case these values are wrong.
/// That is `None` if there is no slow path.
pub fn fast_path_values(
    l: &mut Lower,
    vars: &[(NodeId, Expr)],
    roots: &[NodeId],
    out: &mut Vec<Stmt>,
) -> Result<(Vec<Expr>, Option<Expr>)> {
    let conditions = slow_path::conditions(l.launch, roots);
    let all_roots: Vec<NodeId> = roots.iter().chain(&conditions).copied().collect();
    let path = if conditions.is_empty() { UnlikelyArms::default() } else { UnlikelyArms::skip() };
    let mut values = l.on_path(path, |l| l.region(vars, &all_roots, &Expr::int(0), out)).0?;
    let needs_slow_path =
        values.split_off(roots.len()).into_iter().reduce(|a, b| Expr::binary(BinaryOp::Or, a, b));
    Ok((values, needs_slow_path))
}

/// Returns the values of the fast path, with divisions that have no branches. They are wrong if the
/// flag `needs_slow_path` becomes true.
pub fn branch_free_values(
    l: &mut Lower,
    vars: &[(NodeId, Expr)],
    roots: &[NodeId],
    needs_slow_path: Option<Reg>,
    out: &mut Vec<Stmt>,
) -> Result<Vec<Expr>> {
    let Some(needs_slow_path) = needs_slow_path else { return l.region(vars, roots, &Expr::int(0), out) };
    let roots = division::fast_path(l, roots);
    l.on_path(UnlikelyArms::Flag(needs_slow_path, Default::default()), |l| {
        l.region(vars, &roots, &Expr::int(0), out)
    })
    .0
}

/// Computes the values on the fast path; if the slow path is needed, a branch computes all of them
/// again.
pub fn fast_then_slow(
    l: &mut Lower,
    vars: &[(NodeId, Expr)],
    roots: &[NodeId],
    out: &mut Vec<Stmt>,
) -> Result<Vec<Expr>> {
    let before = l.scope.loaded.clone();
    let (values, needs_slow_path) = fast_path_values(l, vars, roots, out)?;
    let Some(needs_slow_path) = needs_slow_path else { return Ok(values) };
    // the slow path loads its operands again, so that the fast path need not keep their registers
    l.scope.loaded = before.clone();
    let mut complete = Vec::new();
    let exact = l.region(vars, roots, &Expr::int(0), &mut complete)?;
    // what the branch loads is known inside of it alone
    l.scope.loaded = before;
    let mut vars = Vec::new();
    for ((root, value), exact) in roots.iter().zip(values).zip(exact) {
        let var = l.k.reg("usual", l.launch.g.ty(*root).elem);
        out.push(Stmt::Var(var, value));
        complete.push(Stmt::Assign(var, exact));
        vars.push(Expr::Reg(var));
    }
    out.push(Stmt::If(needs_slow_path, complete, vec![]));
    Ok(vars)
}
