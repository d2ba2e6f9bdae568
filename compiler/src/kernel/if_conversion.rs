//! If-conversion: short branches become selections, so that a warp never diverges for them.
//!
//! ```text
//! if %c { let %t: f32 = add(%acc, %x)  %acc = %t }   ->   let %t: f32 = add(%acc, %x)   %acc = select(%c, %t, %acc)
//! ```
//!
//! A branch is converted only if computing it unconditionally costs less than branching: it has few
//! operations, and no memory access, division or other effect.

use super::{Expr, Kernel, Stmt};
use crate::scalar::{BinaryOp, Ty, UnaryOp};

/// The maximum number of operations of a branch that is converted.
const MAX_OPERATIONS: u32 = 6;

/// Runs the pass on `main`.
pub fn run(k: &mut Kernel) {
    k.rewrite_main(block);
}

fn block(k: &mut Kernel, body: &mut Vec<Stmt>) {
    let mut out = Vec::with_capacity(body.len());
    for mut s in std::mem::take(body) {
        match &mut s {
            Stmt::For(.., b) | Stmt::Seq(.., b) | Stmt::While(_, b) => block(k, b),
            Stmt::If(c, a, b) => {
                block(k, a);
                block(k, b);
                if b.is_empty() && !a.is_empty() && cost(k, a).is_some_and(|n| n <= MAX_OPERATIONS) {
                    flatten(k, c, std::mem::take(a), &mut out);
                    continue;
                }
            }
            _ => {}
        }
        out.push(s);
    }
    *body = out;
}

fn flatten(k: &mut Kernel, c: &Expr, body: Vec<Stmt>, out: &mut Vec<Stmt>) {
    let condition = k.reg("when", Ty::Bool);
    out.push(Stmt::Let(condition, c.clone(), Default::default()));
    for s in body {
        out.push(match s {
            Stmt::Assign(r, e) => Stmt::Assign(
                r,
                Expr::Select(Box::new(Expr::Reg(condition)), Box::new(e), Box::new(Expr::Reg(r))),
            ),
            s => s,
        });
    }
}

/// Returns the number of operations of a branch, or `None` if it contains anything that must not run
/// unconditionally.
fn cost(k: &Kernel, body: &[Stmt]) -> Option<u32> {
    let each = body.iter().map(|s| match s {
        Stmt::Let(_, e, _) => operations(k, e),
        Stmt::Assign(_, e) => operations(k, e).map(|n| n + 1),
        Stmt::Note(_) => Some(0),
        _ => None,
    });
    each.sum()
}

fn operations(k: &Kernel, e: &Expr) -> Option<u32> {
    let own = match e {
        Expr::Lit(_) | Expr::Reg(_) | Expr::In(_) | Expr::Place(_) => 0,
        Expr::Unary(UnaryOp::Sqrt | UnaryOp::SqrtNear, _)
        | Expr::Binary(
            BinaryOp::Div | BinaryOp::DivNear | BinaryOp::DivWide | BinaryOp::Rem | BinaryOp::RemSlow,
            ..,
        ) => return None,
        Expr::Unary(..) | Expr::Binary(..) | Expr::MulAdd(..) | Expr::Select(..) | Expr::Cast(..) => {
            if k.ty(e) == Ty::F64 { 2 } else { 1 }
        }
        _ => return None,
    };
    let mut sum = Some(own);
    e.children(|child| sum = sum.and_then(|sum| Some(sum + operations(k, child)?)));
    sum
}
