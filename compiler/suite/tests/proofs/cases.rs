//! One operation each: all operators, casts and constants that reach a backend, on every type.

use super::smt::{Script, Value, to_fp};
use arraygpu_compiler::kernel::Expr;
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty, UnaryOp, eval_cast};

/// One operation of parameters a, b and c: what is printed, and what it means.
pub struct Case {
    pub name: String,
    /// The types of the parameters.
    pub ins: Vec<Ty>,
    pub e: Expr,
}

impl Case {
    /// It divides integers that are too long for bit-vectors.
    pub fn divides(&self) -> bool {
        let long = self.ins[0].is_int() && self.ins[0].size() > 1;
        let by_any = |e: &Expr| match e {
            Expr::Binary(BinaryOp::Div | BinaryOp::Rem, _, b) => !matches!(**b, Expr::Lit(_)),
            _ => false,
        };
        long && by_any(&self.e)
    }
}

/// Of all operators, and of constants where the backend looks at them.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let ins = |i: u32| Box::new(Expr::In(i));
    for ty in Ty::ALL.into_iter().filter(|t| !t.is_half()) {
        for &op in UnaryOp::ALL.iter().filter(|o| o.accepts(ty) && **o <= UnaryOp::Unlikely) {
            cases.push(Case { name: format!("{op}, {ty}"), ins: vec![ty], e: Expr::Unary(op, ins(0)) });
        }
        for &op in BinaryOp::ALL.iter().filter(|o| o.accepts(ty) && is_printed(**o)) {
            let e = Expr::Binary(op, ins(0), ins(1));
            cases.push(Case { name: format!("{op}, {ty}"), ins: vec![ty; 2], e });
            if ty.is_int() && matches!(op, BinaryOp::Div | BinaryOp::Rem | BinaryOp::Shl | BinaryOp::Shr) {
                cases.extend(constants(op, ty));
            }
            if op.is_comparison() && ty != Ty::Bool {
                cases.push(joined(op, ty));
            }
        }
        if ty != Ty::Bool {
            let e = Expr::MulAdd(ins(0), ins(1), ins(2));
            cases.push(Case { name: format!("mul_add, {ty}"), ins: vec![ty; 3], e });
        }
        let e = Expr::Select(ins(0), ins(1), ins(2));
        cases.push(Case { name: format!("select, {ty}"), ins: vec![Ty::Bool, ty, ty], e });
    }
    for from in Ty::ALL {
        for to in Ty::ALL {
            let half = from.is_half() || to.is_half();
            if from != to && (!half || from == Ty::F32 || to == Ty::F32) {
                cases.push(Case {
                    name: format!("cast, {from} to {to}"),
                    ins: vec![from],
                    e: Expr::Cast(to, ins(0)),
                });
            }
        }
    }
    cases
}

/// What the backend looks at constants for.
fn constants(op: BinaryOp, ty: Ty) -> impl Iterator<Item = Case> {
    let values = [0i64, 1, 7, 33, -1, -7].into_iter().filter(move |c| ty.is_signed() || *c >= 0);
    values.map(move |c| {
        let by = eval_cast(ty, Lit::i64(c));
        let e = Expr::binary(op, Expr::In(0), Expr::Lit(by));
        Case { name: format!("{op} by {c}, {ty}"), ins: vec![ty], e }
    })
}

/// A comparison that is joined with a condition is one instruction.
fn joined(op: BinaryOp, ty: Ty) -> Case {
    let e = Expr::binary(BinaryOp::And, Expr::binary(op, Expr::In(0), Expr::In(1)), Expr::In(2));
    Case { name: format!("{op} and, {ty}"), ins: vec![ty, ty, Ty::Bool], e }
}

/// What reaches a backend, and is no approximation.
fn is_printed(op: BinaryOp) -> bool {
    op < BinaryOp::RemSlow
}

/// Any value of a type; of a half by its bits.
pub fn input(script: &mut Script, ty: Ty, name: &str) -> Value {
    if !ty.is_half() {
        return script.any(ty, name);
    }
    let bits = script.any(Ty::U16, &format!("{name}_bits"));
    script.define(ty, &format!("({} {})", to_fp(ty), bits.term))
}
