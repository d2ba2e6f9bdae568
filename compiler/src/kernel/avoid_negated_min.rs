//! Rewrites differences that integer minima and maxima compare, so that they contain no negation: a
//! - b = not (not a + b) and -b = not (b - 1).
//!
//! ```text
//! let %d: i32 = sub(%a, %b)                     let %d: i32 = not(add(not(%a), %b))
//! let %m: i32 = min(%c, min(%a, %d))      ->    let %m: i32 = min(%c, min(%a, %d))
//! ```
//!
//! This works around a fault of NVIDIA's assembler for sm_90 and later: it merges two minima or maxima into one
//! instruction (VIMNMX3), and loses the negation of an operand, so that min(v, min(v, -v)) for v = 9 is 9. That was
//! measured with CUDA 13.0 on an H200, and is reported for 12.8 to 13.3 (pytorch/pytorch#190973). `a - b` becomes a
//! negation if the assembler finds out that `a` is 0. Integers of 64 bits are compared by other instructions, and the
//! difference from a constant is a sum; neither is affected.

use super::{Expr, Kernel, Stmt};
use crate::scalar::{BinaryOp, Lit, UnaryOp, eval_cast};

/// Runs the pass on `main`.
pub fn run(k: &mut Kernel) {
    k.rewrite_main(|k, body| {
        let mut compared = Compared { regs: vec![false; k.regs.len()], more: false, any: false };
        loop {
            compared.more = false;
            collect(k, body, &mut compared);
            if !compared.more {
                break;
            }
        }
        if compared.any {
            block(k, body, &compared.regs);
        }
    });
}

/// Which registers are operands of minima and maxima.
struct Compared {
    /// The registers that are compared, directly or through other registers.
    regs: Vec<bool>,
    /// Whether a new register was found in this round.
    more: bool,
    /// Whether there is any minimum or maximum that the assembler may merge.
    any: bool,
}

/// Returns whether an expression is a minimum or maximum that the assembler may merge with another one.
fn compares(k: &Kernel, e: &Expr) -> bool {
    matches!(e, Expr::Binary(BinaryOp::Min | BinaryOp::Max, a, _) if k.ty(a).is_int() && k.ty(a).size() <= 4)
}

/// Finds the registers that are compared.
fn collect(k: &Kernel, body: &[Stmt], compared: &mut Compared) {
    for s in body {
        if let Stmt::Let(r, e, _) | Stmt::Var(r, e) | Stmt::Assign(r, e) = s
            && compared.regs[r.0 as usize]
        {
            mark(k, e, compared);
        }
        s.expressions(&mut |e| operands(k, e, compared));
        s.blocks().into_iter().for_each(|b| collect(k, b, compared));
    }
}

fn operands(k: &Kernel, e: &Expr, compared: &mut Compared) {
    let here = compares(k, e);
    compared.any |= here;
    e.children(|child| {
        if here {
            mark(k, child, compared);
        }
        operands(k, child, compared);
    });
}

/// Marks the registers whose value a compared expression has.
fn mark(k: &Kernel, e: &Expr, compared: &mut Compared) {
    match e {
        Expr::Reg(r) => compared.more |= !std::mem::replace(&mut compared.regs[r.0 as usize], true),
        Expr::Select(_, a, b) => {
            mark(k, a, compared);
            mark(k, b, compared);
        }
        Expr::Cast(ty, a) if ty.is_int() && k.ty(a).is_int() => mark(k, a, compared),
        _ => {}
    }
}

fn block(k: &Kernel, body: &mut [Stmt], compared: &[bool]) {
    for s in body {
        if let Stmt::Let(r, e, _) | Stmt::Var(r, e) | Stmt::Assign(r, e) = s
            && compared[r.0 as usize]
        {
            write(k, e);
        }
        s.expressions_mut(&mut |e| inside(k, e));
        s.blocks_mut().for_each(|b| block(k, b, compared));
    }
}

fn inside(k: &Kernel, e: &mut Expr) {
    let here = compares(k, e);
    e.children_mut(|child| {
        if here {
            write(k, child);
        }
        inside(k, child);
    });
}

/// Rewrites a compared value so that it contains no negation.
fn write(k: &Kernel, e: &mut Expr) {
    let ty = k.ty(e);
    if !ty.is_int() {
        return;
    }
    let not = |e: Expr| Expr::Unary(UnaryOp::Not, Box::new(e));
    let minus_one = eval_cast(ty, Lit::i64(-1));
    let is_minus_one = |e: &Expr| matches!(e, Expr::Lit(l) if *l == minus_one);
    let negated = |a: &Expr| not(a.clone().plus(Expr::Lit(minus_one)));
    match e {
        Expr::Unary(UnaryOp::Neg, a) => *e = negated(a),
        Expr::Binary(BinaryOp::Sub, a, b) if !matches!(**b, Expr::Lit(_)) => {
            let (a, b) = ((**a).clone(), (**b).clone());
            *e = not(not(a).plus(b));
        }
        Expr::Binary(BinaryOp::Mul, a, b) if is_minus_one(b) => *e = negated(a),
        Expr::Binary(BinaryOp::Mul, a, b) if is_minus_one(a) => *e = negated(b),
        Expr::MulAdd(a, b, c) if is_minus_one(b) => *e = not(not((**c).clone()).plus((**a).clone())),
        Expr::MulAdd(a, b, c) if is_minus_one(a) => *e = not(not((**c).clone()).plus((**b).clone())),
        Expr::Select(_, a, b) => {
            write(k, a);
            write(k, b);
        }
        Expr::Cast(_, a) => write(k, a),
        _ => {}
    }
}
