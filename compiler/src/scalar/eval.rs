//! Exact evaluation of the scalar operators: `docs/semantics.md` section 2 as code.
//!
//! The interpreter, constant folding and the host scalars of plans use it.

use super::{BinaryOp, Lit, Ty, UnaryOp, elementary, half, near};

/// A condition for which the total language has a value, but also leaves an error record (semantics
/// section 6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// An integer divided by zero.
    DivisionByZero,
}

macro_rules! float_unary {
    ($op:expr, $x:expr, $lit:path, $bits:path) => {{
        let x = $x;
        $lit(match $op {
            UnaryOp::ToBits => return $bits(x.to_bits()),
            UnaryOp::Neg => -x,
            UnaryOp::Abs => x.abs(),
            UnaryOp::Sqrt => x.sqrt(),
            UnaryOp::Floor => x.floor(),
            UnaryOp::Ceil => x.ceil(),
            UnaryOp::Trunc => x.trunc(),
            UnaryOp::Round => x.round(),
            UnaryOp::RoundTiesEven => x.round_ties_even(),
            op => match elementary::unary(op, x) {
                Some(y) => y,
                None => unreachable!("verified: {op} takes no float"),
            },
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

/// Returns `op x`. The operator must accept the operand's type. Approximations of `fast_math` are
/// computed precisely, as on every CPU.
pub fn eval_unary(op: UnaryOp, x: Lit) -> Lit {
    eval_known_unary(op, x)
}

/// Does the same as [`eval_unary`], but is inlined: see [`eval_known_binary`].
#[inline(always)]
pub fn eval_known_unary(op: UnaryOp, x: Lit) -> Lit {
    if op == UnaryOp::SqrtNear && !near::sqrt(x.as_f32()) {
        return Lit::float(x.ty, f64::NAN).canonical();
    }
    let op = op.precise().unwrap_or(op);
    match x.ty {
        // a literal consists of its bits
        ty if op == UnaryOp::FromBits => Lit { ty: op.result(ty), bits: x.bits },
        Ty::Bool if op == UnaryOp::Unlikely => x,
        Ty::F32 => float_unary!(op, x.as_f32(), Lit::f32, Lit::u32),
        Ty::F64 => float_unary!(op, x.as_f64(), Lit::f64, Lit::u64),
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

/// Converts a half to f32, in which it is computed (semantics 2.9).
fn wide(x: Lit) -> Lit {
    Lit { ty: Ty::F32, bits: half::to_f32(x.ty, x.bits as u16).to_bits().into() }
}

/// Rounds an f32 result to a half; a bool is returned unchanged.
fn rounded(ty: Ty, x: Lit) -> Lit {
    if x.ty == Ty::Bool { x } else { eval_cast(ty, x) }
}

macro_rules! float_binary {
    ($op:expr, $a:expr, $b:expr, $lit:path) => {{
        let (a, b) = ($a, $b);
        match $op {
            BinaryOp::Add => $lit(a + b),
            BinaryOp::Sub => $lit(a - b),
            BinaryOp::Mul => $lit(a * b),
            BinaryOp::Div => $lit(a / b),
            // minimum and maximum of IEEE 754-2019; equal operands differ at most in the sign of
            // zero
            BinaryOp::Min => {
                $lit(if a.is_nan() || a < b || (a == b && a.is_sign_negative()) { a } else { b })
            }
            BinaryOp::Max => {
                $lit(if a.is_nan() || a > b || (a == b && a.is_sign_positive()) { a } else { b })
            }
            BinaryOp::RemSlow => $lit(a % b),
            op => match elementary::binary(op, a, b) {
                Some(y) => $lit(y),
                None => Lit::bool(compare(op, a, b)),
            },
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

#[inline]
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

/// Returns `a op b`, and the fault if there is one. Both operands have the same type, which the
/// operator must accept. For `fast_math` see [`eval_unary`].
pub fn eval_binary(op: BinaryOp, a: Lit, b: Lit) -> (Lit, Option<Fault>) {
    eval_known_binary(op, a, b)
}

/// Does the same as [`eval_binary`], but is inlined: if the caller's operator and type are
/// constants, only one instruction is left.
#[inline(always)]
pub fn eval_known_binary(op: BinaryOp, a: Lit, b: Lit) -> (Lit, Option<Fault>) {
    if op == BinaryOp::DivNear && !near::division(a.as_f32(), b.as_f32()) {
        return (Lit::float(a.ty, f64::NAN).canonical(), None);
    }
    let op = op.precise().unwrap_or(op);
    let value = match a.ty {
        Ty::F32 => float_binary!(op, a.as_f32(), b.as_f32(), Lit::f32),
        Ty::F64 => float_binary!(op, a.as_f64(), b.as_f64(), Lit::f64),
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

/// Returns `a * b + c`, rounded once (integers wrap).
#[inline]
pub fn eval_mul_add(a: Lit, b: Lit, c: Lit) -> Lit {
    match a.ty {
        Ty::F32 => Lit::f32(a.as_f32().mul_add(b.as_f32(), c.as_f32())),
        Ty::F64 => Lit::f64(a.as_f64().mul_add(b.as_f64(), c.as_f64())),
        Ty::F16 | Ty::Bf16 => rounded(a.ty, eval_mul_add(wide(a), wide(b), wide(c))),
        _ => eval_binary(BinaryOp::Add, eval_binary(BinaryOp::Mul, a, b).0, c).0,
    }
}

/// Returns `x as to`, by the rules of semantics 2.6 (which are Rust's, extended to bool).
pub fn eval_cast(to: Ty, x: Lit) -> Lit {
    eval_known_cast(to, x)
}

/// Does the same as [`eval_cast`], but is inlined: if the caller's types are constants, only one
/// instruction is left.
#[inline(always)]
pub fn eval_known_cast(to: Ty, x: Lit) -> Lit {
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
