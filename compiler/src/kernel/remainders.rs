//! Computes remainders from quotients that the kernel needs, too: an integer division takes about twenty
//! instructions, a product and a difference two.
//!
//! ```text
//! let %q: u32 = div(%a, %n)          let %q: u32 = div(%a, %n)
//! let %r: u32 = rem(%a, %n)    ->    let %r: u32 = select(eq(%n, 0), 0, sub(%a, mul(div(%a, %n), %n)))
//! ```
//!
//! The division that this adds is the one that was there: [`super::cse`] keeps its quotient in a register, or the
//! remainder would have computed it as well. A remainder by 0 is 0 (semantics 2.5). Divisions by constants and by
//! powers of two stay as they are: the assembler knows shorter forms.

use super::{Expr, Kernel, Stmt};
use crate::scalar::{BinaryOp, Lit};
use rustc_hash::FxHashSet;

/// Runs the pass on `main`.
pub fn run(k: &mut Kernel) {
    k.rewrite_main(|k, body| {
        let mut quotients = FxHashSet::default();
        find_quotients(k, body, &mut quotients);
        if !quotients.is_empty() {
            rewrite(k, body, &quotients);
        }
    });
}

/// The dividends and divisors of integer divisions by what is no constant.
type Quotients = FxHashSet<(Expr, Expr)>;

fn find_quotients(k: &Kernel, body: &[Stmt], out: &mut Quotients) {
    fn in_expression(k: &Kernel, e: &Expr, out: &mut Quotients) {
        if let Expr::Binary(BinaryOp::Div, a, b) = e
            && k.ty(a).is_int()
            && is_value(a)
            && is_value(b)
            && !matches!(**b, Expr::Lit(_))
        {
            out.insert(((**a).clone(), (**b).clone()));
        }
        e.children(|child| in_expression(k, child, out));
    }
    for s in body {
        s.expressions(&mut |e| in_expression(k, e, out));
        s.blocks().into_iter().for_each(|b| find_quotients(k, b, out));
    }
}

/// Whether an operand may be repeated, because it takes no operation but conversions.
fn is_value(e: &Expr) -> bool {
    match e {
        Expr::Reg(_) | Expr::In(_) | Expr::Lit(_) => true,
        Expr::Cast(_, a) => is_value(a),
        _ => false,
    }
}

fn rewrite(k: &Kernel, body: &mut [Stmt], quotients: &Quotients) {
    for s in body {
        s.expressions_mut(&mut |e| expression(k, e, quotients));
        s.blocks_mut().for_each(|b| rewrite(k, b, quotients));
    }
}

fn expression(k: &Kernel, e: &mut Expr, quotients: &Quotients) {
    if let Expr::Binary(BinaryOp::Rem, a, b) = e
        && quotients.contains(&((**a).clone(), (**b).clone()))
    {
        let (a, b) = ((**a).clone(), (**b).clone());
        let zero = || Expr::Lit(Lit::zero(k.ty(&a)));
        let quotient = Expr::binary(BinaryOp::Div, a.clone(), b.clone());
        let rest = a.clone().minus(quotient.times(b.clone()));
        *e = Expr::binary(BinaryOp::Eq, b, zero()).select(zero(), rest);
    }
    e.children_mut(|child| expression(k, child, quotients));
}
