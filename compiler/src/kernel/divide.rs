//! 64-bit integer division with a 32-bit fast path (gpucc, section 3.6: a 64-bit division takes about seventy instructions, a 32-bit one about twenty).
//!
//! ```text
//! let %q: i64 = div(%a, %b)    ->    let %n: i64 = %a          let %d: i64 = %b          var %q: i64 = 0
//!                                    if eq(shr(or(%n, %d), 32), 0) { %q = cast i64(div(cast u32(%n), cast u32(%d))) }
//!                                    else { %q = div(%n, %d) }
//! ```
//!
//! Both are non-negative and below 2^32 on the fast path, where the two divisions agree, by zero included (semantics 2.5). Divisions by a constant stay: the
//! assembler multiplies. Divisions are total and have no effects, so they may be computed ahead of the expression that uses them.

use super::{Expr, Kernel, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};

/// Runs the pass on `main`.
pub fn run(k: &mut Kernel) {
    k.rewrite_main(block);
}

fn block(k: &mut Kernel, body: &mut Vec<Stmt>) {
    let mut out = Vec::with_capacity(body.len());
    for mut s in std::mem::take(body) {
        match &mut s {
            Stmt::Let(_, e, _) | Stmt::Var(_, e) | Stmt::Assign(_, e) | Stmt::StoreSlot(_, e) => {
                expr(k, e, &mut out);
            }
            Stmt::Store(_, a, b) | Stmt::Record(_, a, b) | Stmt::Arrive(_, a, b) => {
                expr(k, a, &mut out);
                expr(k, b, &mut out);
            }
            Stmt::LoadVec(_, _, i) => expr(k, i, &mut out),
            Stmt::StoreVec(_, i, values) => {
                expr(k, i, &mut out);
                values.iter_mut().for_each(|e| expr(k, e, &mut out));
            }
            Stmt::For(_, a, b, inner) | Stmt::Seq(_, a, b, inner) => {
                expr(k, a, &mut out);
                expr(k, b, &mut out);
                block(k, inner);
            }
            // a condition is computed anew before each turn: its divisions stay in it
            Stmt::While(_, inner) => block(k, inner),
            Stmt::If(c, a, b) => {
                expr(k, c, &mut out);
                block(k, a);
                block(k, b);
            }
            Stmt::Local(_) | Stmt::Note(_) | Stmt::Barrier | Stmt::Prefetch { .. } => {}
        }
        out.push(s);
    }
    *body = out;
}

/// Takes the 64-bit divisions out of an expression, innermost first.
fn expr(k: &mut Kernel, e: &mut Expr, out: &mut Vec<Stmt>) {
    e.children_mut(&mut |child| expr(k, child, out));
    let Expr::Binary(op @ (BinaryOp::Div | BinaryOp::Rem), a, b) = e else { return };
    let ty = k.ty(a);
    if !matches!(ty, Ty::I64 | Ty::U64) || matches!(**b, Expr::Lit(_)) {
        return;
    }
    let (op, a, b) = (*op, (**a).clone(), (**b).clone());
    let [n, d] = [a, b].map(|operand| match operand {
        Expr::Reg(_) | Expr::Lit(_) | Expr::In(_) => operand,
        operand => {
            let r = k.reg("operand", ty);
            out.push(Stmt::Let(r, operand, Default::default()));
            Expr::Reg(r)
        }
    });
    let q = k.reg("quotient", ty);
    let high = Expr::binary(BinaryOp::Or, n.clone(), d.clone());
    let high = Expr::binary(BinaryOp::Shr, high, Expr::Lit(Lit { ty, bits: 32 }));
    let fits = Expr::binary(BinaryOp::Eq, high, Expr::Lit(Lit::zero(ty)));
    let cut = |e: &Expr| Expr::Cast(Ty::U32, Box::new(e.clone()));
    let short = Expr::Cast(ty, Box::new(Expr::binary(op, cut(&n), cut(&d))));
    out.push(Stmt::Var(q, Expr::Lit(Lit::zero(ty))));
    let (short, long) = (Stmt::Assign(q, short), Stmt::Assign(q, Expr::binary(op, n, d)));
    out.push(Stmt::If(fits, vec![short], vec![long]));
    *e = Expr::Reg(q);
}
