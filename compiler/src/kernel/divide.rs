//! Expands operations that take several steps on a GPU: 64-bit integer divisions, which get a 32-bit fast path
//! (gpucc, section 3.6: a 64-bit division takes about seventy instructions, a 32-bit one about twenty), and
//! remainders of floats.
//!
//! ```text
//! let %q: i64 = div(%a, %b)   ->   let %n: i64 = %a          let %d: i64 = %b          var %q: i64 = 0
//!                                  if eq(shr(or(%n, %d), 32), 0) { %q = cast i64(div(cast u32(%n), cast u32(%d))) }
//!                                  else { %q = div(%n, %d) }
//! ```
//!
//! On the fast path both operands are non-negative and below 2^32, where the two divisions agree, also for a divisor
//! of 0 (semantics 2.5). A division by a power of two becomes a shift, because the assembler would use the same
//! routine of seventy instructions for it; a division by another constant stays. Divisions are total and have no
//! effects, so they may be computed ahead of the expression that uses them.
//!
//! The remainder of floats x and y is computed bit by bit: |y| is doubled while it stays below |x|, then halved again
//! and again, and subtracted from |x| whenever it fits. Every operation is exact.

use super::{Expr, Kernel, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use crate::without::{self, Optimisation};

/// Runs the pass on `main`.
pub fn run(k: &mut Kernel) {
    k.rewrite_main(block);
}

fn block(k: &mut Kernel, body: &mut Vec<Stmt>) {
    let mut out = Vec::with_capacity(body.len());
    for mut s in std::mem::take(body) {
        // a loop's condition is computed again before each iteration, so its divisions stay in it
        if !matches!(s, Stmt::While(..) | Stmt::Prefetch { .. }) {
            s.expressions_mut(&mut |e| expr(k, e, &mut out));
        }
        s.blocks_mut().for_each(|b| block(k, b));
        out.push(s);
    }
    *body = out;
}

/// Moves the 64-bit divisions of an expression into statements before it, innermost first.
fn expr(k: &mut Kernel, e: &mut Expr, out: &mut Vec<Stmt>) {
    e.children_mut(|child| expr(k, child, out));
    let Expr::Binary(op, a, b) = e else { return };
    let ty = k.ty(a);
    let power = power_of_two(b);
    let divides = matches!(op, BinaryOp::Div | BinaryOp::Rem)
        && matches!(ty, Ty::I64 | Ty::U64)
        && (power.is_some() || !matches!(**b, Expr::Lit(_)))
        && !without::is_left_out(Optimisation::ShortDivisions);
    if !divides && *op != BinaryOp::RemSlow {
        return;
    }
    let (op, a, b) = (*op, (**a).clone(), (**b).clone());
    let [n, d] = [a, b].map(|operand| bind(k, "operand", operand, out));
    *e = match power {
        Some(power) => shifted(k, op, n, power),
        None if divides => quotient(k, op, n, d, out),
        None => remainder(k, ty, n, d, out),
    };
}

/// Returns the exponent of a 64-bit constant that is a power of two above 1.
fn power_of_two(e: &Expr) -> Option<u32> {
    let Expr::Lit(Lit { ty: ty @ (Ty::I64 | Ty::U64), bits }) = e else { return None };
    // 2^63 is the least number of the signed type
    let greatest = if *ty == Ty::I64 { 62 } else { 63 };
    let power = bits.trailing_zeros();
    (bits.is_power_of_two() && (1..=greatest).contains(&power)).then_some(power)
}

/// Expands n / d or n % d of 64-bit integers, where d is 2^`power`. Quotients are rounded toward zero, so d - 1 is
/// added to a negative n before the shift.
fn shifted(k: &Kernel, op: BinaryOp, n: Expr, power: u32) -> Expr {
    let ty = k.ty(&n);
    let number = |bits: u64| Expr::Lit(Lit { ty, bits });
    let low = (1 << power) - 1;
    if !ty.is_signed() {
        return match op {
            BinaryOp::Div => Expr::binary(BinaryOp::Shr, n, number(power.into())),
            _ => Expr::binary(BinaryOp::And, n, number(low)),
        };
    }
    let sign = Expr::binary(BinaryOp::Shr, n.clone(), number(63));
    let rounding = Expr::binary(BinaryOp::And, sign, number(low));
    let sum = Expr::binary(BinaryOp::Add, n.clone(), rounding);
    match op {
        BinaryOp::Div => Expr::binary(BinaryOp::Shr, sum, number(power.into())),
        _ => Expr::binary(BinaryOp::Sub, n, Expr::binary(BinaryOp::And, sum, number(!low))),
    }
}

/// Binds an expression to a register, unless it is a register, a constant or a parameter.
fn bind(k: &mut Kernel, name: &'static str, e: Expr, out: &mut Vec<Stmt>) -> Expr {
    if matches!(e, Expr::Reg(_) | Expr::Lit(_) | Expr::In(_)) {
        return e;
    }
    let ty = k.ty(&e);
    let r = k.reg(name, ty);
    out.push(Stmt::Let(r, e, Default::default()));
    Expr::Reg(r)
}

/// Expands n / d or n % d of 64-bit integers.
fn quotient(k: &mut Kernel, op: BinaryOp, n: Expr, d: Expr, out: &mut Vec<Stmt>) -> Expr {
    let ty = k.ty(&n);
    let q = k.reg("quotient", ty);
    let high = Expr::binary(BinaryOp::Or, n.clone(), d.clone());
    let high = Expr::binary(BinaryOp::Shr, high, Expr::Lit(Lit { ty, bits: 32 }));
    let fits = Expr::binary(BinaryOp::Eq, high, Expr::Lit(Lit::zero(ty)));
    let cut = |e: &Expr| Expr::Cast(Ty::U32, Box::new(e.clone()));
    let short = Expr::Cast(ty, Box::new(Expr::binary(op, cut(&n), cut(&d))));
    out.push(Stmt::Var(q, Expr::Lit(Lit::zero(ty))));
    let (short, long) = (Stmt::Assign(q, short), Stmt::Assign(q, Expr::binary(op, n, d)));
    out.push(Stmt::If(fits, vec![short], vec![long]));
    Expr::Reg(q)
}

/// Expands `fmod` of C: NaN for an infinite x or a zero y, x for an infinite y, else `x - y * trunc(x / y)` with the
/// sign of x.
fn remainder(k: &mut Kernel, ty: Ty, x: Expr, y: Expr, out: &mut Vec<Stmt>) -> Expr {
    use BinaryOp::{Add, And, Ge, Gt, Le, Lt, Mul, Sub};
    let number = |v: f64| Expr::Lit(if ty == Ty::F64 { Lit::f64(v) } else { Lit::f32(v as f32) });
    let infinite = || Expr::Lit(Lit::greatest(ty));
    let is = Expr::binary;
    let ax = bind(k, "dividend", Expr::Unary(UnaryOp::Abs, Box::new(x.clone())), out);
    let ay = bind(k, "divisor", Expr::Unary(UnaryOp::Abs, Box::new(y)), out);
    let [rest, step] = ["rest", "step"].map(|name| k.reg(name, ty));
    let (r, t) = (Expr::Reg(rest), Expr::Reg(step));
    out.extend([Stmt::Var(rest, ax.clone()), Stmt::Var(step, ay.clone())]);
    let finite = is(And, is(Gt, ay.clone(), number(0.0)), is(Lt, ax.clone(), infinite()));
    let finite = bind(k, "finite", finite, out);
    let twice = is(Add, t.clone(), t.clone());
    let double = Stmt::While(is(Le, twice.clone(), r.clone()), vec![Stmt::Assign(step, twice)]);
    let fits = is(Ge, r.clone(), t.clone());
    let subtract = Stmt::If(fits, vec![Stmt::Assign(rest, is(Sub, r.clone(), t.clone()))], vec![]);
    let half = Stmt::Assign(step, is(Mul, t.clone(), number(0.5)));
    let back = Stmt::While(is(Ge, t, ay.clone()), vec![subtract, half]);
    let both = is(And, finite.clone(), is(Lt, ay, infinite()));
    out.push(Stmt::If(both, vec![double, back], vec![]));
    // the result has the sign of x; for a NaN x it does not matter
    let negated = Expr::Unary(UnaryOp::Neg, Box::new(r.clone()));
    let bits = Expr::Unary(UnaryOp::ToBits, Box::new(x));
    let sign = if ty == Ty::F64 { Lit { ty: Ty::U64, bits: 1 << 63 } } else { Lit::u32(1 << 31) };
    let negative = is(Ge, bits, Expr::Lit(sign));
    let signed = Expr::Select(Box::new(negative), Box::new(negated), Box::new(r));
    // the result for a NaN y is NaN, because y > 0 is false then
    Expr::Select(Box::new(finite), Box::new(signed), Box::new(number(f64::NAN)))
}
