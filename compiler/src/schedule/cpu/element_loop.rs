//! A loop over independent elements that vectorises although elements have unlikely arms (the slow path of an
//! elementary function, for example), which would need branches. A first loop only tests whether any element needs
//! such an arm. Nearly always none does, and a second loop computes the elements without the arms: the fast path.
//!
//! ```text
//! for i { body }    ->    var rare = 0    for i { rare |= condition }
//!                         if rare != 0 { seq i { body, with branches } } else { for i { body without } }
//! ```
//!
//! If no unlikely arm is expensive, the slow loop computes all arms without branches, and vectorises as well.

use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::lower::{Lower, UnlikelyArms};

/// Emits the body of a loop for a value of its counter. If conditions are given, it emits only these and returns
/// their values; else it emits the whole element.
pub type Body<'a> = dyn FnMut(&mut Lower, &Expr, Option<&[NodeId]>, &mut Vec<Stmt>) -> Result<Vec<Expr>> + 'a;

/// Returns the loop from `lo` to `hi`: one statement, or several if an element has unlikely arms.
/// `body` must use the same variables each time.
pub fn each(l: &mut Lower, name: &'static str, lo: &Expr, hi: &Expr, body: &mut Body) -> Result<Vec<Stmt>> {
    let mut variant = |l: &mut Lower, rare: UnlikelyArms, conditions: Option<&[NodeId]>| {
        let counter = l.k.reg(name, Ty::I64);
        let mut out = Vec::new();
        let (values, path) = l.on_path(rare, |l| body(l, &Expr::Reg(counter), conditions, &mut out));
        Ok::<_, crate::error::Error>((counter, out, values?, path))
    };
    let (i, fast, _, assumed) = variant(l, UnlikelyArms::skip(), None)?;
    let conditions = assumed.assumed();
    let has_loops = fast.iter().any(Stmt::has_loop);
    let fast = Stmt::For(i, lo.clone(), hi.clone(), fast);
    // if no code for CPUs is wanted, the caller only needs an element's operations and its arrays
    if conditions.is_empty() || !l.launch.wanted.has_cpu() {
        return Ok(vec![fast]);
    }
    // a loop around other loops does not vectorise, so a second copy of its body would be of no use, and in nests of
    // loops the number of copies would double at each level
    if has_loops {
        let (i, all, _, _) = variant(l, UnlikelyArms::default(), None)?;
        return Ok(vec![Stmt::Seq(i, lo.clone(), hi.clone(), all)]);
    }
    let rare = l.k.reg("rare", Ty::U32);
    let (i, mut look, values, _) = variant(l, UnlikelyArms::skip(), Some(&conditions))?;
    for value in values {
        let bit = Expr::Cast(Ty::U32, Box::new(value));
        look.push(Stmt::Assign(rare, Expr::binary(BinaryOp::Or, Expr::Reg(rare), bit)));
    }
    let look = Stmt::For(i, lo.clone(), hi.clone(), look);
    let (i, all, _, branches) = variant(l, UnlikelyArms::default(), None)?;
    let all = match branches {
        UnlikelyArms::Compute(false) => Stmt::For(i, lo.clone(), hi.clone(), all),
        _ => Stmt::Seq(i, lo.clone(), hi.clone(), all),
    };
    let zero = Expr::Lit(Lit::u32(0));
    let any = Expr::binary(BinaryOp::Ne, Expr::Reg(rare), zero.clone());
    Ok(vec![Stmt::Var(rare, zero), look, Stmt::If(any, vec![all], vec![fast])])
}
