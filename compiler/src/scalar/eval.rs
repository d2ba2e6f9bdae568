//! Exact evaluation of the scalar operators: `docs/semantics.md` section 2 as code.
//!
//! Used by the interpreter, by constant folding and by the host scalars of plans.

use super::{BinaryOp, Lit, Ty, UnaryOp, half};

/// Something the total language gives a value for but also leaves an error record about (semantics section 6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// An integer divided by zero.
    DivisionByZero,
}

/// The elementary functions of the system's libm, called directly so that interpreter and generated C call the same code.
mod libm {
    macro_rules! libm {
        ($($f64:ident $f32:ident ($($arg:ident),*));* $(;)?) => {
            #[link(name = "m")]
            unsafe extern "C" { $( pub safe fn $f64($($arg: f64),*) -> f64; pub safe fn $f32($($arg: f32),*) -> f32; )* }
        };
    }
    libm! {
        exp expf (x); exp2 exp2f (x); expm1 expm1f (x); log logf (x); log2 log2f (x); log10 log10f (x); log1p log1pf (x);
        sin sinf (x); cos cosf (x); tan tanf (x); asin asinf (x); acos acosf (x); atan atanf (x);
        sinh sinhf (x); cosh coshf (x); tanh tanhf (x); cbrt cbrtf (x); erf erff (x); erfc erfcf (x);
        pow powf (x, y); atan2 atan2f (x, y);
    }
}

macro_rules! float_unary {
    ($op:expr, $x:expr, $lit:path, $($variant:ident $f:ident),*) => {{
        let x = $x;
        $lit(match $op {
            UnaryOp::Neg => -x,
            UnaryOp::Abs => x.abs(),
            UnaryOp::Sqrt => x.sqrt(),
            UnaryOp::Floor => x.floor(),
            UnaryOp::Ceil => x.ceil(),
            UnaryOp::Trunc => x.trunc(),
            UnaryOp::Round => x.round(),
            UnaryOp::RoundTiesEven => x.round_ties_even(),
            $(UnaryOp::$variant => libm::$f(x),)*
            UnaryOp::Not => unreachable!("verified: not takes no float"),
        })
    }};
}

macro_rules! int_unary {
    ($op:expr, $x:expr, $lit:path, $abs:expr) => {{
        let x = $x;
        $lit(match $op {
            UnaryOp::Neg => x.wrapping_neg(),
            UnaryOp::Abs => $abs(x),
            UnaryOp::Not => !x,
            _ => unreachable!("verified: {} takes no integer", $op),
        })
    }};
}

/// `op x`. The operand's type must be one that the operator accepts.
pub fn eval_unary(op: UnaryOp, x: Lit) -> Lit {
    match x.ty {
        Ty::F32 => float_unary!(
            op, x.as_f32(), Lit::f32, Exp expf, Exp2 exp2f, Expm1 expm1f, Log logf, Log2 log2f, Log10 log10f,
            Log1p log1pf, Sin sinf, Cos cosf, Tan tanf, Asin asinf, Acos acosf, Atan atanf, Sinh sinhf, Cosh coshf,
            Tanh tanhf, Cbrt cbrtf, Erf erff, Erfc erfcf
        ),
        Ty::F64 => float_unary!(
            op, x.as_f64(), Lit::f64, Exp exp, Exp2 exp2, Expm1 expm1, Log log, Log2 log2, Log10 log10, Log1p log1p,
            Sin sin, Cos cos, Tan tan, Asin asin, Acos acos, Atan atan, Sinh sinh, Cosh cosh, Tanh tanh, Cbrt cbrt,
            Erf erf, Erfc erfc
        ),
        Ty::I32 => int_unary!(op, x.as_i32(), Lit::i32, i32::wrapping_abs),
        Ty::I64 => int_unary!(op, x.as_i64(), Lit::i64, i64::wrapping_abs),
        Ty::U32 => int_unary!(op, x.as_u32(), Lit::u32, std::convert::identity),
        Ty::F16 | Ty::Bf16 => rounded(x.ty, eval_unary(op, wide(x))),
        Ty::I8 => int_unary!(op, x.as_i8(), Lit::i8, i8::wrapping_abs),
        Ty::I16 => int_unary!(op, x.as_i16(), Lit::i16, i16::wrapping_abs),
        Ty::U16 => int_unary!(op, x.as_u16(), Lit::u16, std::convert::identity),
        Ty::U64 => int_unary!(op, x.as_u64(), Lit::u64, std::convert::identity),
        Ty::U8 => int_unary!(op, x.as_u8(), Lit::u8, std::convert::identity),
        Ty::Bool => Lit::bool(!x.as_bool()),
    }
}

/// A half as f32, where it is computed with (semantics 2.9).
fn wide(x: Lit) -> Lit {
    Lit { ty: Ty::F32, bits: half::to_f32(x.ty, x.bits as u16).to_bits().into() }
}

/// A result of f32 as a half; a bool stays one.
fn rounded(ty: Ty, x: Lit) -> Lit {
    if x.ty == Ty::Bool { x } else { eval_cast(ty, x) }
}

macro_rules! float_binary {
    ($op:expr, $a:expr, $b:expr, $lit:path, $pow:ident, $atan2:ident) => {{
        let (a, b) = ($a, $b);
        match $op {
            BinaryOp::Add => $lit(a + b),
            BinaryOp::Sub => $lit(a - b),
            BinaryOp::Mul => $lit(a * b),
            BinaryOp::Div => $lit(a / b),
            // IEEE 754-2019 minimum and maximum; equal operands differ at most in the sign of zero
            BinaryOp::Min => {
                $lit(if a.is_nan() || a < b || (a == b && a.is_sign_negative()) { a } else { b })
            }
            BinaryOp::Max => {
                $lit(if a.is_nan() || a > b || (a == b && a.is_sign_positive()) { a } else { b })
            }
            BinaryOp::Pow => $lit(libm::$pow(a, b)),
            BinaryOp::Atan2 => $lit(libm::$atan2(a, b)),
            _ => Lit::bool(compare($op, a, b)),
        }
    }};
}

macro_rules! int_binary {
    ($op:expr, $a:expr, $b:expr, $lit:path) => {{
        let (a, b) = ($a, $b);
        match $op {
            BinaryOp::Add => $lit(a.wrapping_add(b)),
            BinaryOp::Sub => $lit(a.wrapping_sub(b)),
            BinaryOp::Mul => $lit(a.wrapping_mul(b)),
            BinaryOp::Div => $lit(if b == 0 { 0 } else { a.wrapping_div(b) }),
            BinaryOp::Rem => $lit(if b == 0 { 0 } else { a.wrapping_rem(b) }),
            BinaryOp::Min => $lit(a.min(b)),
            BinaryOp::Max => $lit(a.max(b)),
            BinaryOp::And => $lit(a & b),
            BinaryOp::Or => $lit(a | b),
            BinaryOp::Xor => $lit(a ^ b),
            BinaryOp::Shl => $lit(a.wrapping_shl(b as u32)),
            BinaryOp::Shr => $lit(a.wrapping_shr(b as u32)),
            _ => Lit::bool(compare($op, a, b)),
        }
    }};
}

fn compare<T: PartialOrd>(op: BinaryOp, a: T, b: T) -> bool {
    match op {
        BinaryOp::Eq => a == b,
        BinaryOp::Ne => a != b,
        BinaryOp::Lt => a < b,
        BinaryOp::Le => a <= b,
        BinaryOp::Gt => a > b,
        BinaryOp::Ge => a >= b,
        _ => unreachable!("verified: {op} does not take this type"),
    }
}

/// `a op b`, and the fault that goes with it. The operands have one type, which the operator accepts.
pub fn eval_binary(op: BinaryOp, a: Lit, b: Lit) -> (Lit, Option<Fault>) {
    let value = match a.ty {
        Ty::F32 => float_binary!(op, a.as_f32(), b.as_f32(), Lit::f32, powf, atan2f),
        Ty::F64 => float_binary!(op, a.as_f64(), b.as_f64(), Lit::f64, pow, atan2),
        Ty::I32 => int_binary!(op, a.as_i32(), b.as_i32(), Lit::i32),
        Ty::I64 => int_binary!(op, a.as_i64(), b.as_i64(), Lit::i64),
        Ty::U32 => int_binary!(op, a.as_u32(), b.as_u32(), Lit::u32),
        Ty::F16 | Ty::Bf16 => rounded(a.ty, eval_binary(op, wide(a), wide(b)).0),
        Ty::I8 => int_binary!(op, a.as_i8(), b.as_i8(), Lit::i8),
        Ty::I16 => int_binary!(op, a.as_i16(), b.as_i16(), Lit::i16),
        Ty::U16 => int_binary!(op, a.as_u16(), b.as_u16(), Lit::u16),
        Ty::U64 => int_binary!(op, a.as_u64(), b.as_u64(), Lit::u64),
        Ty::U8 => int_binary!(op, a.as_u8(), b.as_u8(), Lit::u8),
        Ty::Bool => {
            let (a, b) = (a.as_bool(), b.as_bool());
            Lit::bool(match op {
                BinaryOp::And => a & b,
                BinaryOp::Or => a | b,
                BinaryOp::Xor => a ^ b,
                _ => compare(op, a, b),
            })
        }
    };
    let by_zero = matches!(op, BinaryOp::Div | BinaryOp::Rem) && b.as_int() == Some(0);
    (value, by_zero.then_some(Fault::DivisionByZero))
}

/// `a * b + c`, rounded once (integers wrap).
pub fn eval_mul_add(a: Lit, b: Lit, c: Lit) -> Lit {
    match a.ty {
        Ty::F32 => Lit::f32(a.as_f32().mul_add(b.as_f32(), c.as_f32())),
        Ty::F64 => Lit::f64(a.as_f64().mul_add(b.as_f64(), c.as_f64())),
        Ty::F16 | Ty::Bf16 => rounded(a.ty, eval_mul_add(wide(a), wide(b), wide(c))),
        _ => eval_binary(BinaryOp::Add, eval_binary(BinaryOp::Mul, a, b).0, c).0,
    }
}

/// `x as to`, by the rules of semantics 2.6 (which are Rust's, with bool added).
pub fn eval_cast(to: Ty, x: Lit) -> Lit {
    if to.is_half() {
        let bits = match x.as_float() {
            Some(x) => half::of_f64(to, x),
            None if x.ty == Ty::U64 => half::of_int(to, x.bits.into()),
            None => half::of_int(to, x.as_int().unwrap_or(0).into()),
        };
        return Lit { ty: to, bits: bits.into() };
    }
    macro_rules! from {
        ($v:expr, $zero:expr) => {{
            let v = $v;
            match to {
                Ty::F32 => Lit::f32(v as f32),
                Ty::F64 => Lit::f64(v as f64),
                Ty::I32 => Lit::i32(v as i32),
                Ty::I64 => Lit::i64(v as i64),
                Ty::U32 => Lit::u32(v as u32),
                Ty::I8 => Lit::i8(v as i8),
                Ty::I16 => Lit::i16(v as i16),
                Ty::U16 => Lit::u16(v as u16),
                Ty::U64 => Lit::u64(v as u64),
                Ty::U8 => Lit::u8(v as u8),
                Ty::Bool => Lit::bool(v != $zero),
                Ty::F16 | Ty::Bf16 => unreachable!("rounded above"),
            }
        }};
    }
    match x.ty {
        Ty::F32 => from!(x.as_f32(), 0.0),
        Ty::F64 => from!(x.as_f64(), 0.0),
        Ty::I32 => from!(x.as_i32(), 0),
        Ty::I64 => from!(x.as_i64(), 0),
        Ty::U32 => from!(x.as_u32(), 0),
        Ty::F16 | Ty::Bf16 => eval_cast(to, wide(x)),
        Ty::I8 => from!(x.as_i8(), 0),
        Ty::I16 => from!(x.as_i16(), 0),
        Ty::U16 => from!(x.as_u16(), 0),
        Ty::U64 => from!(x.as_u64(), 0),
        Ty::U8 | Ty::Bool => from!(x.as_u8(), 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn min_max_order_zeros_and_prefer_nan() {
        let max = |a, b| eval_binary(BinaryOp::Max, Lit::f32(a), Lit::f32(b)).0.as_f32();
        let min = |a, b| eval_binary(BinaryOp::Min, Lit::f32(a), Lit::f32(b)).0.as_f32();
        assert!(max(f32::NAN, 1.0).is_nan() && max(1.0, f32::NAN).is_nan());
        assert!(min(f32::NAN, 1.0).is_nan() && min(1.0, f32::NAN).is_nan());
        for (a, b) in [(0.0, -0.0), (-0.0, 0.0)] {
            assert_eq!(max(a, b).to_bits(), 0.0f32.to_bits());
            assert_eq!(min(a, b).to_bits(), (-0.0f32).to_bits());
        }
    }

    #[test]
    fn integer_division_is_total() {
        let div = |a, b| eval_binary(BinaryOp::Div, Lit::i32(a), Lit::i32(b));
        assert_eq!(div(7, 0), (Lit::i32(0), Some(Fault::DivisionByZero)));
        assert_eq!(div(i32::MIN, -1), (Lit::i32(i32::MIN), None));
        assert_eq!(eval_binary(BinaryOp::Rem, Lit::i32(i32::MIN), Lit::i32(-1)), (Lit::i32(0), None));
        assert_eq!(div(-7, 2).0, Lit::i32(-3));
    }

    #[test]
    fn casts_saturate_and_wrap() {
        assert_eq!(eval_cast(Ty::I32, Lit::f32(f32::NAN)), Lit::i32(0));
        assert_eq!(eval_cast(Ty::I32, Lit::f64(1e300)), Lit::i32(i32::MAX));
        assert_eq!(eval_cast(Ty::U8, Lit::f32(-1.0)), Lit::u8(0));
        assert_eq!(eval_cast(Ty::U8, Lit::i32(-1)), Lit::u8(255));
        assert_eq!(eval_cast(Ty::I64, Lit::u32(u32::MAX)), Lit::i64(4294967295));
        assert_eq!(eval_cast(Ty::Bool, Lit::f32(f32::NAN)), Lit::bool(true));
    }
}
