//! Prints expressions as C. Every operator becomes one C operator, a builtin or a helper of the
//! prelude.

use crate::kernel::{Expr, Kernel, Mem};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};

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

/// Prints an expression without parentheses around it.
pub fn expr(k: &Kernel, e: &Expr) -> String {
    match e {
        Expr::Lit(l) => literal(*l),
        Expr::Reg(r) => k.regs[r.0 as usize].0.to_string(),
        Expr::In(i) => k.ins[*i as usize].0.clone(),
        Expr::Slot(i) => format!("{}[0]", k.slots[*i as usize].name),
        Expr::Load(m, i) => load(k, *m, i),
        Expr::LoadIf(m, i, c) => load_if(k, *m, i, c),
        Expr::Unary(op, a) => unary(k, *op, a),
        Expr::Binary(op, a, b) => binary(k, *op, a, b),
        Expr::MulAdd(a, b, c) => match k.ty(a) {
            Ty::F32 => format!("__builtin_fmaf({}, {}, {})", expr(k, a), expr(k, b), expr(k, c)),
            Ty::F64 => format!("__builtin_fma({}, {}, {})", expr(k, a), expr(k, b), expr(k, c)),
            ty => {
                let [a, b] = beside(k, a, b);
                narrow(ty, format!("{a} * {b} + {}", atom(k, c)))
            }
        },
        Expr::Select(c, a, b) => {
            let [a, b] = beside(k, a, b);
            format!("{} ? {a} : {b}", atom(k, c))
        }
        Expr::Cast(to, a) => cast(k, *to, a),
        Expr::TileBegin => "tile_begin".into(),
        Expr::TileEnd => "tile_end".into(),
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
pub fn atom(k: &Kernel, e: &Expr) -> String {
    let text = expr(k, e);
    let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let is_call = match e {
        Expr::Unary(op, a) => {
            !(matches!(op, UnaryOp::Neg | UnaryOp::Not)) && !text.starts_with('(') || is_promoted(k.ty(a))
        }
        Expr::Load(m, _) => k.mem(*m).1 != Ty::Bool,
        Expr::MulAdd(a, ..) => k.ty(a).is_float(),
        _ => false,
    };
    if text.chars().all(plain) || is_call || matches!(e, Expr::Binary(..)) && is_one_call(&text) {
        text
    } else {
        format!("({text})")
    }
}

/// Prints two operands of one type. C gives a small constant the type int, so if both operands are
/// constants, the first one is printed with a cast to its type.
fn beside(k: &Kernel, a: &Expr, b: &Expr) -> [String; 2] {
    let first = if let Expr::Lit(_) = b { typed(k, a) } else { atom(k, a) };
    [first, atom(k, b)]
}

/// Prints an expression whose C type is its own type, even if it is a constant.
fn typed(k: &Kernel, e: &Expr) -> String {
    let (text, ty) = (atom(k, e), k.ty(e));
    let is_wide = matches!(e, Expr::Lit(_)) && ty.is_int() && ty.size() == 8;
    if is_wide { format!("({}){text}", ctype(ty)) } else { text }
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

fn load(k: &Kernel, m: Mem, i: &Expr) -> String {
    let (name, ty) = k.mem(m);
    let element = format!("{name}[{}]", index(k, m, i));
    if ty == Ty::Bool { format!("{element} != 0") } else { element }
}

/// Prints the load as a call, because GCC 13 reads the array in `(c ? a[i] : 0) | 1` even if the
/// condition is false.
fn load_if(k: &Kernel, m: Mem, i: &Expr, c: &Expr) -> String {
    let (name, ty) = k.mem(m);
    let read = |ty: Ty| format!("agpu_load_if_{ty}({}, &{name}[{}])", expr(k, c), index(k, m, i));
    if ty == Ty::Bool { format!("{} != 0", read(Ty::U8)) } else { read(ty) }
}

/// Prints the index of a memory access; the index into a strided array is multiplied by the stride.
pub fn index(k: &Kernel, m: Mem, i: &Expr) -> String {
    match m {
        Mem::Array(a) if k.arrays[a as usize].strided => {
            format!("{} * stride_of_{}", atom(k, i), k.arrays[a as usize].name)
        }
        _ => expr(k, i),
    }
}

/// Whether C promotes integers of this type to int before it computes with them.
fn is_promoted(ty: Ty) -> bool {
    ty.is_int() && ty.size() < 4
}

/// Casts a promoted result back to its type.
fn narrow(ty: Ty, text: String) -> String {
    if is_promoted(ty) { format!("({})({text})", ctype(ty)) } else { text }
}

fn unary(k: &Kernel, op: UnaryOp, a: &Expr) -> String {
    let ty = k.ty(a);
    let suffix = if ty == Ty::F32 { "f" } else { "" };
    match op {
        UnaryOp::Neg => narrow(ty, format!("-{}", typed(k, a))),
        UnaryOp::Not if ty == Ty::Bool => format!("!{}", atom(k, a)),
        UnaryOp::Not => narrow(ty, format!("~{}", typed(k, a))),
        UnaryOp::Abs if ty.is_float() => format!("__builtin_fabs{suffix}({})", expr(k, a)),
        UnaryOp::Abs => format!("agpu_abs_{ty}({})", expr(k, a)),
        UnaryOp::Round => format!("agpu_round_{ty}({})", expr(k, a)),
        UnaryOp::RoundTiesEven => format!("__builtin_rint{suffix}({})", expr(k, a)),
        UnaryOp::ToBits | UnaryOp::FromBits => format!("agpu_{op}_{ty}({})", expr(k, a)),
        UnaryOp::Unlikely => expr(k, a),
        UnaryOp::Sqrt | UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Trunc => {
            format!("__builtin_{op}{suffix}({})", expr(k, a))
        }
        op => unreachable!("{op} is lowered in core IR"),
    }
}

fn binary(k: &Kernel, op: BinaryOp, a: &Expr, b: &Expr) -> String {
    use BinaryOp::*;
    let ty = k.ty(a);
    let infix = |sign: &str| {
        let [a, b] = beside(k, a, b);
        format!("{a} {sign} {b}")
    };
    let call = |name: &str| format!("{name}({}, {})", expr(k, a), expr(k, b));
    match op {
        Add | Sub if ty.is_float() && (zero_has_known_sign(k, a) || zero_has_known_sign(k, b)) => {
            call(&format!("agpu_{op}_{ty}"))
        }
        Add => narrow(ty, infix("+")),
        Sub => narrow(ty, infix("-")),
        Mul => narrow(ty, infix("*")),
        Div if ty.is_float() => infix("/"),
        // A constant count below the width needs no mask.
        Shl | Shr if matches!(b, Expr::Lit(l) if l.as_int().is_some_and(|c| (0..8 * ty.size() as i64).contains(&c))) => {
            narrow(
                ty,
                if op == Shl && ty.is_signed() {
                    call(&format!("agpu_shl_{ty}"))
                } else {
                    infix(if op == Shl { "<<" } else { ">>" })
                },
            )
        }
        Div | Rem | Min | Max | Shl | Shr => call(&format!("agpu_{op}_{ty}")),
        And => infix("&"),
        Or => infix("|"),
        Xor => infix("^"),
        Eq => infix("=="),
        Ne => infix("!="),
        Lt => infix("<"),
        Le => infix("<="),
        Gt => infix(">"),
        Ge => infix(">="),
        // The exact remainder is representable, so every libm returns the same bits.
        RemSlow => call(if ty == Ty::F32 { "fmodf" } else { "fmod" }),
        ApproxAdd | ApproxSub | ApproxMul | ApproxDiv | DivNear | DivWide => unreachable!("precise on a CPU"),
        Pow | Atan2 | Hypot | Fmod | Copysign | Ldexp => unreachable!("{op} is lowered in core IR"),
    }
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

fn cast(k: &Kernel, to: Ty, a: &Expr) -> String {
    let from = k.ty(a);
    match (from.is_float(), to) {
        (_, to) if to == from => expr(k, a),
        (_, to) if to.is_half() || from.is_half() => format!("agpu_{to}_of_{from}({})", expr(k, a)),
        (_, Ty::Bool) => format!("{} != 0", atom(k, a)),
        (true, to) if to.is_int() => format!("agpu_{to}_of_{from}({})", expr(k, a)),
        _ => format!("({}){}", ctype(to), atom(k, a)),
    }
}

/// Prints a constant with exactly its value: Rust prints the shortest decimal that is read back
/// with the same bits.
fn literal(l: Lit) -> String {
    let float = |text: String, infinite: bool, negative: bool, suffix: &str| {
        let sign = if negative { "-" } else { "" };
        if infinite { format!("{sign}__builtin_inf{suffix}()") } else { format!("{text}{suffix}") }
    };
    match l.ty {
        Ty::F32 if l.is_nan() => "__builtin_nanf(\"\")".into(),
        Ty::F64 if l.is_nan() => "__builtin_nan(\"\")".into(),
        Ty::F32 => float(format!("{:?}", l.as_f32()), l.as_f32().is_infinite(), l.as_f32() < 0.0, "f"),
        Ty::F64 => float(format!("{:?}", l.as_f64()), l.as_f64().is_infinite(), l.as_f64() < 0.0, ""),
        Ty::I32 if l.as_i32() == i32::MIN => "INT32_MIN".into(),
        Ty::I64 if l.as_i64() == i64::MIN => "INT64_MIN".into(),
        Ty::I64 if i32::try_from(l.as_i64()).is_err() => format!("INT64_C({})", l.as_i64()),
        Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 => l.as_int().unwrap_or(0).to_string(),
        Ty::U32 => format!("{}u", l.bits),
        Ty::U64 if u32::try_from(l.bits).is_err() => format!("UINT64_C({})", l.bits),
        Ty::U64 => format!("{}u", l.bits),
        Ty::U8 | Ty::U16 | Ty::F16 | Ty::Bf16 => l.bits.to_string(),
        Ty::Bool => l.as_bool().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use crate::kernel::{Stmt, parse};

    /// Prints an expression of the scalars a and b, all of one type, as C.
    fn text(ty: &str, e: &str) -> String {
        let text = format!("kernel @k {{ in a: {ty} in b: {ty} main {{ let %x: {ty} = {e} }} }}");
        let k = parse::parse(&text).unwrap().remove(0);
        let Some([Stmt::Let(_, e, _)]) = k.main.as_deref() else { panic!("one statement") };
        super::expr(&k, e)
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
