//! A loop over independent elements, which vectorises whatever its elements hardly ever need.
//!
//! ```text
//! for i { body }    ->    var rare = 0    for i { rare |= condition }    if rare != 0 { seq i { body, with branches } } else { for i { body without } }
//! ```
//!
//! Without branches, if all that is rare is cheap, the first of these loops vectorises, too.

use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::lower::Lower;
use crate::schedule::slow_path::SlowPath;

/// Writes the body of a loop for its counter: everything, or (given conditions) only the values of
/// these.
pub type Body<'a> = dyn FnMut(&mut Lower, &Expr, Option<&[NodeId]>, &mut Vec<Stmt>) -> Result<Vec<Expr>> + 'a;

/// The loop from `lo` to `hi`: one statement, or several if there is something unlikely in it.
/// `body` must use the same variables each time.
pub fn each(l: &mut Lower, name: &'static str, lo: &Expr, hi: &Expr, body: &mut Body) -> Result<Vec<Stmt>> {
    let mut variant = |l: &mut Lower, rare: SlowPath, conditions: Option<&[NodeId]>| {
        let counter = l.k.reg(name, Ty::I64);
        let mut out = Vec::new();
        let (values, path) = l.on_path(rare, |l| body(l, &Expr::Reg(counter), conditions, &mut out));
        Ok::<_, crate::error::Error>((counter, out, values?, path))
    };
    let (i, usual, _, assumed) = variant(l, SlowPath::skip(), None)?;
    let conditions = assumed.assumed();
    let has_loops = usual.iter().any(Stmt::has_loop);
    let usual = Stmt::For(i, lo.clone(), hi.clone(), usual);
    // without code for processors an element's operations and its arrays are all that counts
    if conditions.is_empty() || !l.launch.wanted.has_cpu() {
        return Ok(vec![usual]);
    }
    // it does not vectorise anyhow: written once, loops inside of loops take no more than their own
    // code
    if has_loops {
        let (i, all, _, _) = variant(l, SlowPath::default(), None)?;
        return Ok(vec![Stmt::Seq(i, lo.clone(), hi.clone(), all)]);
    }
    let rare = l.k.reg("rare", Ty::U32);
    let (i, mut look, values, _) = variant(l, SlowPath::skip(), Some(&conditions))?;
    for value in values {
        let bit = Expr::Cast(Ty::U32, Box::new(value));
        look.push(Stmt::Assign(rare, Expr::binary(BinaryOp::Or, Expr::Reg(rare), bit)));
    }
    let look = Stmt::For(i, lo.clone(), hi.clone(), look);
    let (i, all, _, branches) = variant(l, SlowPath::default(), None)?;
    let all = match branches {
        SlowPath::Compute(false) => Stmt::For(i, lo.clone(), hi.clone(), all),
        _ => Stmt::Seq(i, lo.clone(), hi.clone(), all),
    };
    let zero = Expr::Lit(Lit::u32(0));
    let any = Expr::binary(BinaryOp::Ne, Expr::Reg(rare), zero.clone());
    Ok(vec![Stmt::Var(rare, zero), look, Stmt::If(any, vec![all], vec![usual])])
}
