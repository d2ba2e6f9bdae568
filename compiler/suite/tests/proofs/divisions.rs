//! Divisions of integers are too much for bit-vectors of 16 bits and more. Where both sides of a claim divide,
//! division is a function of which a script knows nothing but what is claimed here: by 0, 1 and -1 for all operands
//! by the solver, and that 16 bits divide as 32 do by trying all.

use super::claim::{Claim, How};
use super::smt::{Script, Value, bits, literal};
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty, UnaryOp, eval_binary, eval_cast};

/// What a script may know of quotient or remainder of two operands.
pub fn facts(s: &mut Script, op: BinaryOp, a: &Value, b: &Value) {
    let result = s.binary(op, a, b);
    by_units(s, op, a, b, &result);
    if a.ty.size() > 2 {
        return;
    }
    // what is not negative divides as unsigned, too
    let all: &[Ty] = if a.ty.is_signed() { &[Ty::I32] } else { &[Ty::I32, Ty::U32] };
    for wide in all {
        let [x, y] = [a, b].map(|v| s.cast(*wide, v));
        let (short, long) = (s.cast(*wide, &result), s.binary(op, &x, &y));
        let minus = bits(16, 0xffff);
        let exception = if a.ty.is_signed() { format!("(= {} {minus})", b.term) } else { "false".into() };
        s.assume(&format!("(or {exception} (= {} {}))", short.term, long.term));
    }
}

/// By 0, 1 and -1.
pub fn by_units(s: &mut Script, op: BinaryOp, a: &Value, b: &Value, result: &Value) {
    if s.is_opaque() {
        for fact in units(op, a, b, result) {
            s.assume(&fact);
        }
    }
}

/// A division of which 0 is no divisor, and -1 not of the least integer: there it is anything.
pub fn partial(s: &mut Script, op: BinaryOp, a: &Value, b: &Value) -> Value {
    let plain = s.binary(op, a, b);
    // of the bits of integers as well as of the integers
    by_units(s, op, a, b, &plain);
    let open = s.fresh(a.ty);
    let zero = literal(Lit::zero(a.ty)).term;
    let by_zero = format!("(= {} {zero})", b.term);
    let undefined = match a.ty.is_signed() {
        true => {
            let least = literal(Lit::least(a.ty)).term;
            format!("(or {by_zero} (and (= {} {least}) (= {} (bvnot {zero}))))", a.term, b.term)
        }
        false => by_zero,
    };
    s.define(a.ty, &format!("(ite {undefined} {} {})", open.term, plain.term))
}

fn units(op: BinaryOp, a: &Value, b: &Value, result: &Value) -> Vec<String> {
    let width = 8 * a.ty.size() as u32;
    let (zero, one) = (bits(width, 0), bits(width, 1));
    let by_one = if op == BinaryOp::Div { a.term.clone() } else { zero.clone() };
    let mut out = vec![(zero.clone(), zero.clone()), (one, by_one)];
    if a.ty.is_signed() {
        let negated = if op == BinaryOp::Div { format!("(bvneg {})", a.term) } else { zero.clone() };
        out.push((format!("(bvnot {zero})"), negated));
    }
    let fact =
        |(divisor, is): (String, String)| format!("(=> (= {} {divisor}) (= {} {is}))", b.term, result.term);
    out.into_iter().map(fact).collect()
}

/// What `facts` says.
pub fn claims() -> Vec<Claim> {
    let mut out = Vec::new();
    for op in [BinaryOp::Div, BinaryOp::Rem] {
        for ty in [Ty::I16, Ty::U16, Ty::I32, Ty::U32, Ty::I64, Ty::U64] {
            let mut s = Script::default();
            let [a, b] = ["a", "b"].map(|name| s.any(ty, name));
            let result = s.binary(op, &a, &b);
            let all = units(op, &a, &b, &result).join(" ");
            out.push(
                Claim::solved(
                    &format!("{op} by 0, 1, -1"),
                    ty.name(),
                    &all,
                    s.prove(&format!("(and {all})")),
                )
                .at("compiler/suite/tests/proofs/divisions.rs"),
            );
        }
    }
    for (ty, all) in [(Ty::I16, signed_quotients as fn() -> Option<String>), (Ty::U16, unsigned_quotients)] {
        let says = "it is that of 32 bits, but of the least integer by -1";
        let quotient = Claim::new("div of 16 bits", ty.name(), says, How::Exhaustive(all));
        out.extend([quotient, remainder(ty)].map(|c| c.at("compiler/src/backend/ptx/expr.rs")));
    }
    out
}

/// The remainder is what the quotient leaves, and smaller than the divisor: so that of 16 bits is that of 32, as the
/// quotients are equal.
fn remainder(ty: Ty) -> Claim {
    let wide = if ty.is_signed() { Ty::I32 } else { Ty::U32 };
    let mut s = Script::default();
    let [a, b, q] = ["a", "b", "q"].map(|name| s.any(ty, name));
    let mut rest = |a: &Value, b: &Value, q: &Value| {
        let product = s.binary(BinaryOp::Mul, b, q);
        s.binary(BinaryOp::Sub, a, &product)
    };
    let short = rest(&a, &b, &q);
    let [x, y, p] = [a, b, q].map(|v| Value { ty: wide, term: super::ptx::extended(ty, &v.term) });
    let long = rest(&x, &y, &p);
    let sizes = [&long, &y].map(|v| if ty.is_signed() { s.unary(UnaryOp::Abs, v) } else { v.clone() });
    s.assume(&format!("(bvult {} {})", sizes[0].term, sizes[1].term));
    let claim = format!("(= {} {})", super::ptx::extended(ty, &short.term), long.term);
    let says = "a - b q of 16 bits is that of 32, where it is smaller than b";
    Claim::solved("rem of 16 bits", ty.name(), says, s.prove(&claim))
}

fn signed_quotients() -> Option<String> {
    short(Ty::I16)
}
fn unsigned_quotients() -> Option<String> {
    short(Ty::U16)
}
/// All pairs: the arithmetic of the language in 16 bits, the machine's in 32.
fn short(ty: Ty) -> Option<String> {
    (0..=u16::MAX).find_map(|a| {
        (0..=u16::MAX).find_map(|b| {
            let exception = ty == Ty::I16 && b == u16::MAX || b == 0;
            let [x, y] = [a, b].map(|v| if ty == Ty::I16 { i32::from(v as i16) } else { i32::from(v) });
            let (p, q) = (x as u32, y as u32);
            let long = || x / y;
            let unsigned = || p / q;
            let value = |v: u16| Lit { ty, bits: v.into() };
            let found = || eval_cast(Ty::I32, eval_binary(BinaryOp::Div, value(a), value(b)).0).as_i32();
            let right = || long() == found() && (ty == Ty::I16 || unsigned() == found() as u32);
            (!exception && !right()).then(|| format!("{a} / {b}"))
        })
    })
}
