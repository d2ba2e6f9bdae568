//! Prints expressions as CUDA C++.

use super::types::{ctype, has_shuffle, is_read_only, moved};
use crate::kernel::{Expr, Kernel, Mem};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp, near};
use std::fmt::{Display, Write};

/// Prints expressions at the end of a text.
pub struct Printer<'a> {
    pub k: &'a Kernel,
    pub out: &'a mut String,
}

/// Writing to a text cannot fail.
pub fn put(written: std::fmt::Result) {
    debug_assert!(written.is_ok());
}

impl Printer<'_> {
    pub fn text(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Prints an expression without parentheses around it.
    pub fn expr(&mut self, e: &Expr) {
        let (k, ty) = (self.k, self.k.ty(e));
        match e {
            Expr::Lit(l) => literal(*l, self.out),
            Expr::Reg(r) => put(k.regs[r.0 as usize].0.write(self.out)),
            Expr::In(i) => self.text(&k.ins[*i as usize].0),
            Expr::Place(g) => self.text(g.name()),
            Expr::Slot(i) => {
                let nonzero = if ty == Ty::Bool { " != 0" } else { "" };
                put(write!(self.out, "*{}{nonzero}", k.slots[*i as usize].name));
            }
            Expr::Load(m, i) => self.load(*m, i),
            Expr::LoadIf(m, i, c) => {
                self.atom(c);
                self.text(" ? ");
                self.load(*m, i);
                self.text(" : ");
                literal(Lit::zero(ty), self.out);
            }
            Expr::Unary(op, a) => self.unary(*op, a),
            Expr::Binary(op, a, b) => self.binary(*op, a, b),
            Expr::MulAdd(a, b, c) if ty == Ty::F32 => self.call("__fmaf_rn", &[a, b, c]),
            Expr::MulAdd(a, b, c) if ty == Ty::F64 => self.call("__fma_rn", &[a, b, c]),
            Expr::MulAdd(..) => self.cast_of_wrapping(ty, e),
            Expr::Select(c, a, b) if has_shuffle(a) || has_shuffle(b) => {
                self.call(format_args!("agpu_select<{}>", ctype(ty)), &[c, a, b]);
            }
            Expr::Select(c, a, b) => {
                self.atom(c);
                self.text(" ? ");
                self.typed(a);
                self.text(" : ");
                self.typed(b);
            }
            Expr::Cast(to, a) => self.cast(*to, a),
            Expr::ShuffleDown(a, by) => self.shuffle("__shfl_down_sync", a, *by),
            Expr::ShuffleUp(a, by) => self.shuffle("__shfl_up_sync", a, *by),
            Expr::ShuffleXor(a, by) => self.shuffle("__shfl_xor_sync", a, *by),
            Expr::Broadcast(a) => {
                put(write!(self.out, "({})agpu_broadcast<{}>(", ctype(ty), moved(ty)));
                self.expr(a);
                self.text(")");
            }
            Expr::TileBegin | Expr::TileEnd => unreachable!("verified: a GPU kernel"),
        }
    }

    /// Prints an expression so that it can be an operand of any operator.
    pub fn atom(&mut self, e: &Expr) {
        let begin = self.out.len();
        self.expr(e);
        self.parenthesise(begin);
    }

    /// Puts parentheses around what was printed from there on, unless it is an operand already.
    fn parenthesise(&mut self, begin: usize) {
        if !is_operand(&self.out[begin..]) {
            self.out.insert(begin, '(');
            self.text(")");
        }
    }

    /// Prints an operand whose C++ type is its own type, even if it is a constant of 64 bits.
    pub fn typed(&mut self, e: &Expr) {
        let ty = self.k.ty(e);
        if matches!(e, Expr::Lit(_)) && ty.is_int() && ty.size() == 8 {
            put(write!(self.out, "({})", ctype(ty)));
        }
        self.atom(e);
    }

    /// Prints the load of one element.
    fn load(&mut self, m: Mem, i: &Expr) {
        let is_read_only = is_read_only(self.k, m);
        self.text(if is_read_only { "__ldg(&" } else { "" });
        self.element(m, i);
        self.text(if is_read_only { ")" } else { "" });
        if self.k.mem(m).1 == Ty::Bool {
            self.text(" != 0");
        }
    }

    pub fn call(&mut self, name: impl Display, operands: &[&Expr]) {
        put(write!(self.out, "{name}("));
        for (i, e) in operands.iter().enumerate() {
            self.text(if i == 0 { "" } else { ", " });
            self.expr(e);
        }
        self.text(")");
    }

    /// Prints a sum, difference or product of integers, which wraps: computed in an unsigned type.
    fn cast_of_wrapping(&mut self, ty: Ty, e: &Expr) {
        if matches!(ty, Ty::U32 | Ty::U64) {
            return self.wrapping(e, false);
        }
        put(write!(self.out, "({})(", ctype(ty)));
        self.wrapping(e, false);
        self.text(")");
    }

    /// Prints an expression of an unsigned type whose low bits are those of `e`. A factor is no sum.
    fn wrapping(&mut self, e: &Expr, is_factor: bool) {
        use BinaryOp::{Add, Mul, Sub};
        let is_sum = matches!(e, Expr::Binary(Add | Sub, ..) | Expr::MulAdd(..));
        if is_sum && is_factor {
            self.text("(");
            self.wrapping(e, false);
            return self.text(")");
        }
        match e {
            Expr::Binary(op @ (Add | Sub), a, b) => {
                self.wrapping(a, false);
                let negative = if let Expr::Lit(l) = **b { l.as_int().filter(|c| *c < 0) } else { None };
                match negative {
                    Some(c) if *op == Add && c > i64::MIN => put(write!(self.out, " - {}", c.unsigned_abs())),
                    _ => {
                        self.text(if *op == Add { " + " } else { " - " });
                        self.wrapping_beside(b, *op == Sub);
                    }
                }
            }
            Expr::Binary(Mul, a, b) => {
                self.wrapping(a, true);
                self.text(" * ");
                self.wrapping_beside(b, true);
            }
            Expr::MulAdd(a, b, c) => {
                self.wrapping(a, true);
                self.text(" * ");
                self.wrapping_beside(b, true);
                self.text(" + ");
                self.wrapping_beside(c, false);
            }
            _ => {
                let ty = self.k.ty(e);
                let is_constant = matches!(e, Expr::Lit(_));
                if !matches!(ty, Ty::U32 | Ty::U64) || is_constant {
                    self.text(if ty.size() == 8 { "(uint64_t)" } else { "(unsigned)" });
                }
                self.atom(e);
            }
        }
    }

    /// Prints a later operand of a sum or product whose first one is unsigned, to which C++ converts it.
    fn wrapping_beside(&mut self, e: &Expr, is_factor: bool) {
        match e {
            Expr::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, ..) | Expr::MulAdd(..) => {
                self.wrapping(e, is_factor)
            }
            e => self.atom(e),
        }
    }

    fn unary(&mut self, op: UnaryOp, a: &Expr) {
        let ty = self.k.ty(a);
        let f = if ty == Ty::F32 { "f" } else { "" };
        match op {
            UnaryOp::Neg if ty.is_float() => {
                self.text("-");
                self.atom(a);
            }
            UnaryOp::Neg => {
                put(write!(
                    self.out,
                    "({})({} - ",
                    ctype(ty),
                    if ty.size() == 8 { "UINT64_C(0)" } else { "0u" }
                ));
                self.atom(a);
                self.text(")");
            }
            UnaryOp::Not if ty == Ty::Bool => {
                self.text("!");
                self.atom(a);
            }
            UnaryOp::Not => {
                put(write!(self.out, "({})~", ctype(ty)));
                self.typed(a);
            }
            UnaryOp::Abs if ty.is_float() => self.call(format_args!("fabs{f}"), &[a]),
            UnaryOp::Abs if ty.size() == 8 => self.call("agpu_abs_i64", &[a]),
            UnaryOp::Abs => {
                put(write!(self.out, "({})", ctype(ty)));
                self.call("agpu_abs_i32", &[a]);
            }
            UnaryOp::Sqrt => self.call(if ty == Ty::F32 { "__fsqrt_rn" } else { "__dsqrt_rn" }, &[a]),
            UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Trunc | UnaryOp::Round => {
                self.call(format_args!("{op}{f}"), &[a])
            }
            UnaryOp::RoundTiesEven => self.call(format_args!("rint{f}"), &[a]),
            UnaryOp::ToBits if ty == Ty::F32 => self.call("__float_as_uint", &[a]),
            UnaryOp::ToBits => self.call("(uint64_t)__double_as_longlong", &[a]),
            UnaryOp::FromBits if ty == Ty::U32 => self.call("__uint_as_float", &[a]),
            UnaryOp::FromBits => self.call("__longlong_as_double", &[a]),
            UnaryOp::Unlikely => self.expr(a),
            UnaryOp::SqrtNear => {
                self.call("agpu_sqrt_near", &[a, &Expr::Lit(Lit::f32(near::SQRT[0]))]);
            }
            op => self.call(format_args!("agpu_{op}"), &[a]),
        }
    }

    fn binary(&mut self, op: BinaryOp, a: &Expr, b: &Expr) {
        use BinaryOp::*;
        let ty = self.k.ty(a);
        match op {
            Add | Sub | Mul | Div if ty.is_float() => {
                let letter = if ty == Ty::F32 { 'f' } else { 'd' };
                self.call(format_args!("__{letter}{op}_rn"), &[a, b]);
            }
            Add | Sub | Mul => self.cast_of_wrapping(ty, &Expr::binary(op, a.clone(), b.clone())),
            Div | Rem if matches!(b, Expr::Lit(l) if !matches!(l.as_int(), Some(0 | -1))) => {
                self.beside(a, if op == Div { " / " } else { " % " }, b)
            }
            Div | Rem => self.call(format_args!("agpu_{op}<{}>", ctype(ty)), &[a, b]),
            Min | Max if ty.is_float() => self.call(format_args!("agpu_{op}_{ty}"), &[a, b]),
            Min | Max if matches!(ty, Ty::I32 | Ty::U32) => self.call(op, &[a, b]),
            Min | Max => self.call(format_args!("agpu_{op}<{}>", ctype(ty)), &[a, b]),
            And => self.beside(a, " & ", b),
            Or => self.beside(a, " | ", b),
            Xor => self.beside(a, " ^ ", b),
            Shl | Shr => self.shift(op, ty, a, b),
            Eq => self.beside(a, " == ", b),
            Ne => self.beside(a, " != ", b),
            Lt => self.beside(a, " < ", b),
            Le => self.beside(a, " <= ", b),
            Gt => self.beside(a, " > ", b),
            Ge => self.beside(a, " >= ", b),
            DivNear if matches!(a, Expr::Lit(l) if *l == Lit::f32(1.0)) => {
                self.call("agpu_reciprocal_near", &[b])
            }
            ApproxAdd | ApproxSub | ApproxMul | ApproxDiv | DivNear | DivWide => {
                self.call(format_args!("agpu_{op}"), &[a, b])
            }
            RemSlow => unreachable!("`divide` has made a loop of it"),
            Pow | Atan2 | Hypot | Fmod | Copysign | Ldexp => unreachable!("{op} is lowered in core IR"),
        }
    }

    fn beside(&mut self, a: &Expr, sign: &str, b: &Expr) {
        self.typed(a);
        self.text(sign);
        self.atom(b);
    }

    /// Prints a shift whose count is taken modulo the width. The shifted value of a left shift is unsigned.
    fn shift(&mut self, op: BinaryOp, ty: Ty, a: &Expr, count: &Expr) {
        let mask = 8 * ty.size() as u64 - 1;
        if op == BinaryOp::Shl {
            let wide = if ty.size() == 8 { "uint64_t" } else { "unsigned" };
            put(write!(self.out, "({})(({wide})", ctype(ty)));
        }
        self.typed(a);
        self.text(if op == BinaryOp::Shl { " << " } else { " >> " });
        match count {
            Expr::Lit(l) => put(write!(self.out, "{}", l.bits & mask)),
            count => {
                self.text("(");
                self.atom(count);
                put(write!(self.out, " & {mask})"));
            }
        }
        if op == BinaryOp::Shl {
            self.text(")");
        }
    }
}

/// Whether a text is an operand of any operator: a name or number with calls and indices behind it, or one pair of
/// parentheses; with any casts before it.
fn is_operand(mut text: &str) -> bool {
    const CASTS: [&str; 10] = [
        "(int)",
        "(unsigned)",
        "(int64_t)",
        "(uint64_t)",
        "(int8_t)",
        "(uint8_t)",
        "(int16_t)",
        "(uint16_t)",
        "(float)",
        "(double)",
    ];
    while let Some(rest) = CASTS.iter().find_map(|cast| text.strip_prefix(cast)) {
        text = rest;
    }
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let mut rest = text.trim_start_matches(is_name);
    // the type of a template
    if let Some(behind) = rest.strip_prefix('<') {
        rest = behind.trim_start_matches(is_name);
        let Some(behind) = rest.strip_prefix('>') else { return false };
        rest = behind;
    }
    let has_name = rest.len() < text.len();
    let mut groups = 0;
    while rest.starts_with(['(', '[']) {
        let mut depth = 0;
        let end = rest.find(|c| {
            depth += i32::from(matches!(c, '(' | '[')) - i32::from(matches!(c, ')' | ']'));
            depth == 0
        });
        let Some(end) = end else { return false };
        rest = &rest[end + 1..];
        groups += 1;
    }
    rest.is_empty() && (has_name || groups == 1)
}

/// Prints a constant with exactly its value: Rust prints the shortest decimal that is read back with the same bits.
fn literal(l: Lit, out: &mut String) {
    put(match l.ty {
        Ty::F32 if !l.as_f32().is_finite() => write!(out, "__uint_as_float({:#x})", l.bits),
        Ty::F64 if !l.as_f64().is_finite() => write!(out, "__longlong_as_double({:#x})", l.bits),
        Ty::F32 => write!(out, "{:?}f", l.as_f32()),
        Ty::F64 => write!(out, "{:?}", l.as_f64()),
        Ty::I32 if l.as_i32() == i32::MIN => write!(out, "INT32_MIN"),
        Ty::I64 if l.as_i64() == i64::MIN => write!(out, "INT64_MIN"),
        Ty::I64 if i32::try_from(l.as_i64()).is_err() => write!(out, "INT64_C({})", l.as_i64()),
        Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 => write!(out, "{}", l.as_int().unwrap_or(0)),
        Ty::U64 if u32::try_from(l.bits).is_err() => write!(out, "UINT64_C({})", l.bits),
        Ty::U32 | Ty::U64 => write!(out, "{}u", l.bits),
        Ty::U8 | Ty::U16 | Ty::F16 | Ty::Bf16 => write!(out, "{}", l.bits),
        Ty::Bool => write!(out, "{}", l.as_bool()),
    });
}
