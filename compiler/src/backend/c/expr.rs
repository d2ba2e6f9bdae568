//! Prints expressions as C. Every operator becomes one C operator, a builtin or a helper of the
//! prelude.

use super::parity::parity;
use crate::kernel::{Expr, Kernel, Mem};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use std::fmt::{Display, Write};

/// Returns the C type of a value. A 16-bit float is held as its bits, because it is only moved and
/// converted from and to float.
pub fn ctype(ty: Ty) -> &'static str {
    match ty {
        Ty::F32 => "float",
        Ty::F64 => "double",
        Ty::I32 => "int32_t",
        Ty::I64 => "int64_t",
        Ty::U32 => "uint32_t",
        Ty::U8 => "uint8_t",
        Ty::U64 => "uint64_t",
        Ty::I8 => "int8_t",
        Ty::I16 => "int16_t",
        Ty::U16 | Ty::F16 | Ty::Bf16 => "uint16_t",
        Ty::Bool => "bool",
    }
}

/// Returns the C type of an element in memory.
pub fn memtype(ty: Ty) -> &'static str {
    if ty == Ty::Bool { "uint8_t" } else { ctype(ty) }
}

/// Prints expressions at the end of a text: texts of their own would be as many allocations.
pub struct Printer<'a> {
    pub k: &'a Kernel,
    pub out: &'a mut String,
}

impl Printer<'_> {
    fn text(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Prints an expression without parentheses around it.
    pub fn expr(&mut self, e: &Expr) {
        let k = self.k;
        match e {
            Expr::Lit(l) => literal(*l, self.out),
            Expr::Reg(r) => put(k.regs[r.0 as usize].0.write(self.out)),
            Expr::In(i) => self.text(&k.ins[*i as usize].0),
            Expr::Slot(i) => put(write!(self.out, "{}[0]", k.slots[*i as usize].name)),
            Expr::Load(m, i) => self.load(*m, i),
            Expr::LoadIf(m, i, c) => self.load_if(*m, i, c),
            Expr::Unary(op, a) => self.unary(*op, a),
            Expr::Binary(op, a, b) => self.binary(*op, a, b),
            Expr::MulAdd(a, b, c) => match k.ty(a) {
                Ty::F32 => self.call("__builtin_fmaf", &[a, b, c]),
                Ty::F64 => self.call("__builtin_fma", &[a, b, c]),
                ty => self.narrow(ty, |p| {
                    p.beside(a, " * ", b);
                    p.text(" + ");
                    p.atom(c);
                }),
            },
            Expr::Select(c, a, b) => {
                self.atom(c);
                self.text(" ? ");
                self.beside(a, " : ", b);
            }
            Expr::Cast(to, a) => self.cast(*to, a),
            Expr::TileBegin => self.text("tile_begin"),
            Expr::TileEnd => self.text("tile_end"),
            Expr::Place(_)
            | Expr::ShuffleDown(..)
            | Expr::ShuffleUp(..)
            | Expr::ShuffleXor(..)
            | Expr::Broadcast(_) => {
                unreachable!("verified: a CPU kernel")
            }
        }
    }

    /// Prints an expression so that it can be an operand of any operator.
    pub fn atom(&mut self, e: &Expr) {
        // only its operand is printed
        if let Expr::Unary(UnaryOp::Unlikely, a) = e {
            return self.atom(a);
        }
        let (k, begin) = (self.k, self.out.len());
        self.expr(e);
        let text = &self.out[begin..];
        let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let is_call = match e {
            Expr::Unary(op, a) => {
                !(matches!(op, UnaryOp::Neg | UnaryOp::Not)) && !text.starts_with('(') || is_promoted(k.ty(a))
            }
            Expr::Load(m, _) => k.mem(*m).1 != Ty::Bool,
            Expr::MulAdd(a, ..) => k.ty(a).is_float(),
            _ => false,
        };
        if !(text.chars().all(plain) || is_call || matches!(e, Expr::Binary(..)) && is_one_call(text)) {
            self.out.insert(begin, '(');
            self.text(")");
        }
    }

    /// Prints two operands of one type, with a sign between them. C gives a small constant the type
    /// int, so if both operands are constants, the first one is printed with a cast to its type.
    fn beside(&mut self, a: &Expr, sign: &str, b: &Expr) {
        if let Expr::Lit(_) = b {
            self.typed(a)
        } else {
            self.atom(a)
        }
        self.text(sign);
        self.atom(b);
    }

    /// Prints an expression whose C type is its own type, even if it is a constant.
    fn typed(&mut self, e: &Expr) {
        let ty = self.k.ty(e);
        let is_wide = matches!(e, Expr::Lit(_)) && ty.is_int() && ty.size() == 8;
        if is_wide {
            put(write!(self.out, "({})", ctype(ty)));
        }
        self.atom(e);
    }

    fn load(&mut self, m: Mem, i: &Expr) {
        let (name, ty) = self.k.mem(m);
        self.text(name);
        self.text("[");
        self.index(m, i);
        self.text(if ty == Ty::Bool { "] != 0" } else { "]" });
    }

    /// Prints the load as a call, because GCC 13 reads the array in `(c ? a[i] : 0) | 1` even if the
    /// condition is false.
    fn load_if(&mut self, m: Mem, i: &Expr, c: &Expr) {
        let (name, ty) = self.k.mem(m);
        put(write!(self.out, "agpu_load_if_{}(", if ty == Ty::Bool { Ty::U8 } else { ty }));
        self.expr(c);
        put(write!(self.out, ", &{name}["));
        self.index(m, i);
        self.text(if ty == Ty::Bool { "]) != 0" } else { "])" });
    }

    /// Prints the index of a memory access; the index into a strided array is multiplied by the
    /// stride.
    pub fn index(&mut self, m: Mem, i: &Expr) {
        match m {
            Mem::Array(a) if self.k.arrays[a as usize].strided => {
                self.atom(i);
                put(write!(self.out, " * stride_of_{}", self.k.arrays[a as usize].name));
            }
            _ => self.expr(i),
        }
    }

    /// Prints what `text` does, cast back to its type if C promotes it.
    fn narrow(&mut self, ty: Ty, text: impl FnOnce(&mut Self)) {
        if is_promoted(ty) {
            put(write!(self.out, "({})(", ctype(ty)));
        }
        text(self);
        if is_promoted(ty) {
            self.text(")");
        }
    }

    fn call(&mut self, name: impl Display, operands: &[&Expr]) {
        put(write!(self.out, "{name}("));
        for (i, e) in operands.iter().enumerate() {
            self.text(if i == 0 { "" } else { ", " });
            self.expr(e);
        }
        self.text(")");
    }

    fn unary(&mut self, op: UnaryOp, a: &Expr) {
        let ty = self.k.ty(a);
        let suffix = if ty == Ty::F32 { "f" } else { "" };
        let sign = |p: &mut Self, sign: &str| {
            p.narrow(ty, |p| {
                p.text(sign);
                p.typed(a);
            });
        };
        match op {
            UnaryOp::Neg => sign(self, "-"),
            UnaryOp::Not if ty == Ty::Bool => {
                self.text("!");
                self.atom(a);
            }
            UnaryOp::Not => sign(self, "~"),
            UnaryOp::Abs if ty.is_float() => self.call(format_args!("__builtin_fabs{suffix}"), &[a]),
            UnaryOp::Abs => self.call(format_args!("agpu_abs_{ty}"), &[a]),
            UnaryOp::Round => self.call(format_args!("agpu_round_{ty}"), &[a]),
            UnaryOp::RoundTiesEven => self.call(format_args!("__builtin_rint{suffix}"), &[a]),
            UnaryOp::ToBits | UnaryOp::FromBits => self.call(format_args!("agpu_{op}_{ty}"), &[a]),
            UnaryOp::Unlikely => self.expr(a),
            UnaryOp::Sqrt | UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Trunc => {
                self.call(format_args!("__builtin_{op}{suffix}"), &[a])
            }
            op => unreachable!("{op} is lowered in core IR"),
        }
    }

    fn binary(&mut self, op: BinaryOp, a: &Expr, b: &Expr) {
        use BinaryOp::*;
        let (k, ty) = (self.k, self.k.ty(a));
        let narrow = |p: &mut Self, sign: &str| p.narrow(ty, |p| p.beside(a, sign, b));
        match op {
            Add | Sub if ty.is_float() && (zero_has_known_sign(k, a) || zero_has_known_sign(k, b)) => {
                self.call(format_args!("agpu_{op}_{ty}"), &[a, b])
            }
            Add => narrow(self, " + "),
            Sub => narrow(self, " - "),
            Mul => narrow(self, " * "),
            Div if ty.is_float() => self.beside(a, " / ", b),
            // A constant count below the width needs no mask.
            Shl | Shr if matches!(b, Expr::Lit(l) if l.as_int().is_some_and(|c| (0..8 * ty.size() as i64).contains(&c))) => {
                if op == Shl && ty.is_signed() {
                    self.narrow(ty, |p| p.call(format_args!("agpu_shl_{ty}"), &[a, b]))
                } else {
                    narrow(self, if op == Shl { " << " } else { " >> " })
                }
            }
            Min | Max if ty.is_float() && !ty.is_half() && bound_of(op, a, b).is_some() => {
                let (x, bound) = bound_of(op, a, b).unwrap_or((a, b));
                self.call(format_args!("agpu_{op}_bound_{ty}"), &[x, bound]);
            }
            Rem if matches!((ty, b), (Ty::I32 | Ty::I64, Expr::Lit(l)) if l.as_int() == Some(2)) => {
                self.call(format_args!("agpu_rem_of_2_{ty}"), &[a]);
            }
            Div | Rem | Min | Max | Shl | Shr => self.call(format_args!("agpu_{op}_{ty}"), &[a, b]),
            And | Or if ty == Ty::Bool => {
                self.condition(a);
                self.text(if op == And { " & " } else { " | " });
                self.condition(b);
            }
            And => self.beside(a, " & ", b),
            Or => self.beside(a, " | ", b),
            Xor => self.beside(a, " ^ ", b),
            Eq => self.beside(a, " == ", b),
            Ne => self.beside(a, " != ", b),
            Lt => self.beside(a, " < ", b),
            Le => self.beside(a, " <= ", b),
            Gt => self.beside(a, " > ", b),
            Ge => self.beside(a, " >= ", b),
            // The exact remainder is representable, so every libm returns the same bits.
            RemSlow => self.call(if ty == Ty::F32 { "fmodf" } else { "fmod" }, &[a, b]),
            ApproxAdd | ApproxSub | ApproxMul | ApproxDiv | DivNear | DivWide => {
                unreachable!("precise on a CPU")
            }
            Pow | Atan2 | Hypot | Fmod | Copysign | Ldexp => unreachable!("{op} is lowered in core IR"),
        }
    }

    /// Prints an operand of a conjunction or disjunction.
    fn condition(&mut self, e: &Expr) {
        match parity(self.k, e) {
            Some((x, is_even)) => {
                self.text(if is_even { "" } else { "!" });
                self.call(format_args!("agpu_is_even_{}", self.k.ty(x)), &[x]);
            }
            None => self.atom(e),
        }
    }

    fn cast(&mut self, to: Ty, a: &Expr) {
        let from = self.k.ty(a);
        match (from.is_float(), to) {
            (_, to) if to == from => self.expr(a),
            (_, to) if to.is_half() || from.is_half() => self.call(format_args!("agpu_{to}_of_{from}"), &[a]),
            (_, Ty::Bool) => {
                self.atom(a);
                self.text(" != 0");
            }
            (true, to) if to.is_int() => self.call(format_args!("agpu_{to}_of_{from}"), &[a]),
            _ => {
                put(write!(self.out, "({})", ctype(to)));
                self.atom(a);
            }
        }
    }
}

/// Returns the operands of a minimum or maximum, the constant one last, if one is a constant for which a
/// comparison decides. It does not for zeros: their signs are equal in comparisons.
fn bound_of<'e>(op: BinaryOp, a: &'e Expr, b: &'e Expr) -> Option<(&'e Expr, &'e Expr)> {
    let decides = |e: &Expr| match e {
        Expr::Lit(l) => l.as_float().is_some_and(|c| {
            let kept = if op == BinaryOp::Min { 0.0f64 } else { -0.0 };
            !c.is_nan() && (c != 0.0 || c.to_bits() == kept.to_bits())
        }),
        _ => false,
    };
    if decides(b) {
        return Some((a, b));
    }
    decides(a).then_some((b, a))
}

/// Writing to a text cannot fail.
fn put(written: std::fmt::Result) {
    debug_assert!(written.is_ok());
}

/// Whether the text is one call `agpu_name(...)` with nothing behind it, unlike
/// `agpu_name(...) + (...)`.
fn is_one_call(text: &str) -> bool {
    let mut depth = 0;
    let end = text.find(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ')' && depth == 0
    });
    text.starts_with("agpu_") && end.is_some_and(|i| i + 1 == text.len())
}

/// Whether C promotes integers of this type to int before it computes with them.
fn is_promoted(ty: Ty) -> bool {
    ty.is_int() && ty.size() < 4
}

/// Whether the C compiler can see that a float, or the operand of its negation, is never -0. GCC
/// (at least 12 and 13) then rewrites `0.0 - x` and `-x + 0.0`, which are 0.0 for x = 0.0, as `-x`.
/// If the operation is in a function of its own, GCC does not see this.
fn zero_has_known_sign(k: &Kernel, e: &Expr) -> bool {
    match e {
        Expr::Cast(_, a) => !k.ty(a).is_float(),
        Expr::Unary(UnaryOp::Neg, a) => zero_has_known_sign(k, a),
        Expr::Unary(UnaryOp::Abs, _) | Expr::Select(..) => true,
        _ => false,
    }
}

/// Prints a constant with exactly its value: Rust prints the shortest decimal that is read back
/// with the same bits.
fn literal(l: Lit, out: &mut String) {
    put(match l.ty {
        Ty::F32 if l.is_nan() => write!(out, "__builtin_nanf(\"\")"),
        Ty::F64 if l.is_nan() => write!(out, "__builtin_nan(\"\")"),
        Ty::F32 if l.as_f32().is_infinite() => write!(out, "{}__builtin_inff()", sign(l.as_f32() < 0.0)),
        Ty::F64 if l.as_f64().is_infinite() => write!(out, "{}__builtin_inf()", sign(l.as_f64() < 0.0)),
        Ty::F32 => write!(out, "{:?}f", l.as_f32()),
        Ty::F64 => write!(out, "{:?}", l.as_f64()),
        Ty::I32 if l.as_i32() == i32::MIN => write!(out, "INT32_MIN"),
        Ty::I64 if l.as_i64() == i64::MIN => write!(out, "INT64_MIN"),
        Ty::I64 if i32::try_from(l.as_i64()).is_err() => write!(out, "INT64_C({})", l.as_i64()),
        Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 => write!(out, "{}", l.as_int().unwrap_or(0)),
        Ty::U32 => write!(out, "{}u", l.bits),
        Ty::U64 if u32::try_from(l.bits).is_err() => write!(out, "UINT64_C({})", l.bits),
        Ty::U64 => write!(out, "{}u", l.bits),
        Ty::U8 | Ty::U16 | Ty::F16 | Ty::Bf16 => write!(out, "{}", l.bits),
        Ty::Bool => write!(out, "{}", l.as_bool()),
    });
}

fn sign(is_negative: bool) -> &'static str {
    if is_negative { "-" } else { "" }
}

#[cfg(test)]
mod tests {
    use crate::kernel::{Stmt, parse};

    /// Prints an expression of the scalars a and b, all of one type, as C.
    fn text(ty: &str, e: &str) -> String {
        let text = format!("kernel @k {{ in a: {ty} in b: {ty} main {{ let %x: {ty} = {e} }} }}");
        let k = parse::parse(&text).unwrap().remove(0);
        let Some([Stmt::Let(_, e, _)]) = k.main.as_deref() else { panic!("one statement") };
        let mut out = String::new();
        super::Printer { k: &k, out: &mut out }.expr(e);
        out
    }

    #[test]
    fn what_begins_with_a_call_is_not_always_one() {
        let sum = "add(div(a, b), sub(a, b))";
        assert_eq!(text("i32", &format!("mul(a, {sum})")), "a * (agpu_div_i32(a, b) + (a - b))");
        assert_eq!(text("i32", "mul(a, div(a, sub(a, b)))"), "a * agpu_div_i32(a, a - b)");
    }

    #[test]
    fn constants_of_64_bits_are_no_ints() {
        let product = "mul_add(4294967295u64, 4294967295u64, a)";
        assert_eq!(text("u64", product), "(uint64_t)4294967295u * 4294967295u + a");
        assert_eq!(text("i64", "mul(100000i64, 100000i64)"), "(int64_t)100000 * 100000");
        assert_eq!(text("i64", "mul(a, 100000i64)"), "a * 100000");
        assert_eq!(text("u64", "not(9u64)"), "~(uint64_t)9u");
        assert_eq!(text("u64", "shl(4294967295u64, 4u64)"), "(uint64_t)4294967295u << 4u");
        assert_eq!(
            text("i64", "mul(select(true, 70000i64, 1i64), 70000i64)"),
            "(true ? (int64_t)70000 : 1) * 70000"
        );
    }
}
