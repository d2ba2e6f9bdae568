//! Chooses the code of an operation of kernel IR, by its element type and by which of its operands
//! are arrays.

use super::shapes::{Arrays, OntoV, VSOnto, VVOnto, binary, plain_binary, plain_ternary, ternary, unary};
use super::{Op, at, cast, float, integer};
use crate::level::Level;
use arraygpu_compiler::scalar::{BinaryOp, Ty, UnaryOp};

/// An operation, with the type of its operands.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    Unary(UnaryOp, Ty),
    Binary(BinaryOp, Ty),
    MulAdd(Ty),
    /// The type is that of the two values.
    Select(Ty),
    Cast(Ty, Ty),
    /// A float in the form in which it is stored in a result.
    Canonical(Ty),
    /// A byte of memory as a bool: any byte but 0 is true.
    IsTrue,
    /// The sums z + x * y and z - x * y of floats, rounded twice.
    Added(Ty),
    Subtracted(Ty),
}

impl Kind {
    /// The type of the result.
    pub fn result(self) -> Ty {
        match self {
            Kind::Unary(op, ty) => op.result(ty),
            Kind::Binary(op, ty) => op.result(ty),
            Kind::MulAdd(ty)
            | Kind::Select(ty)
            | Kind::Canonical(ty)
            | Kind::Added(ty)
            | Kind::Subtracted(ty) => ty,
            Kind::Cast(_, to) => to,
            Kind::IsTrue => Ty::Bool,
        }
    }

    /// Whether the result has the same bits as the operand.
    pub fn is_same(self) -> bool {
        match self {
            Kind::Unary(op, _) => matches!(op, UnaryOp::Unlikely | UnaryOp::ToBits | UnaryOp::FromBits),
            Kind::Cast(from, to) => cast::is_same(from, to),
            _ => false,
        }
    }
}

/// Calls a function with the float operation of the type.
macro_rules! floats {
    ($f:ident, $op:ident, $ty:expr, $($args:tt)*) => {
        if $ty == Ty::F32 { $f::<float::$op<f32>>($($args)*) } else { $f::<float::$op<f64>>($($args)*) }
    };
}

/// Calls a function with the operation for the integer's size, where the sign makes no difference.
/// A bool is a byte.
macro_rules! sizes {
    ($narrow:ident $wide:ident, $op:ident, $ty:expr, $($args:tt)*) => {
        match $ty.size() {
            1 => $narrow::<integer::$op<u8>>($($args)*),
            2 => $narrow::<integer::$op<u16>>($($args)*),
            4 => $wide::<integer::$op<u32>>($($args)*),
            _ => $wide::<integer::$op<u64>>($($args)*),
        }
    };
}

/// Calls a function with the operation for the integer's type, where the sign makes a difference.
macro_rules! signs {
    ($narrow:ident $wide:ident, $op:ident, $ty:expr, $($args:tt)*) => {
        match $ty {
            Ty::I8 => $narrow::<integer::$op<i8>>($($args)*),
            Ty::I16 => $narrow::<integer::$op<i16>>($($args)*),
            Ty::I32 => $wide::<integer::$op<i32>>($($args)*),
            Ty::I64 => $wide::<integer::$op<i64>>($($args)*),
            _ => sizes!($narrow $wide, $op, $ty, $($args)*),
        }
    };
}

/// Returns the code for operands some of which are arrays and the others scalars. Returns `None` if
/// this mixture has no code; operands that are all arrays always have it.
pub fn find(kind: Kind, arrays: Arrays, level: Level) -> Option<Op> {
    match kind {
        Kind::Unary(op, ty) => find_unary(op, ty, arrays, level),
        Kind::Binary(op, ty) if ty.is_float() => float_binary(op, ty, arrays, level),
        Kind::Binary(op, ty) => integer_binary(op, ty, arrays, level),
        Kind::MulAdd(ty) if ty.is_float() => floats!(ternary, MulAdd, ty, arrays, level),
        Kind::MulAdd(ty) => sizes!(plain_ternary plain_ternary, MulAdd, ty, arrays, level),
        Kind::Select(ty) => sizes!(plain_ternary ternary, Select, ty, arrays, level),
        Kind::Cast(from, to) => cast::find(from, to, arrays, level),
        Kind::Canonical(ty) => floats!(unary, Canonical, ty, arrays, level),
        Kind::IsTrue => unary::<integer::IsTrue>(arrays, level),
        Kind::Added(ty) => floats!(ternary, Added, ty, arrays, level),
        Kind::Subtracted(ty) => floats!(ternary, Subtracted, ty, arrays, level),
    }
}

fn find_unary(op: UnaryOp, ty: Ty, arrays: Arrays, level: Level) -> Option<Op> {
    match op {
        UnaryOp::Not if ty == Ty::Bool => unary::<integer::NotBool>(arrays, level),
        UnaryOp::Not => sizes!(unary unary, Not, ty, arrays, level),
        UnaryOp::Neg if ty.is_float() => floats!(unary, Neg, ty, arrays, level),
        UnaryOp::Neg => sizes!(unary unary, Neg, ty, arrays, level),
        UnaryOp::Abs if ty.is_float() => floats!(unary, Abs, ty, arrays, level),
        UnaryOp::Abs => match ty {
            Ty::I8 => unary::<integer::Abs<i8>>(arrays, level),
            Ty::I16 => unary::<integer::Abs<i16>>(arrays, level),
            Ty::I32 => unary::<integer::Abs<i32>>(arrays, level),
            _ => unary::<integer::Abs<i64>>(arrays, level),
        },
        UnaryOp::Sqrt => floats!(unary, Sqrt, ty, arrays, level),
        UnaryOp::Floor => floats!(unary, Floor, ty, arrays, level),
        UnaryOp::Ceil => floats!(unary, Ceil, ty, arrays, level),
        UnaryOp::Trunc => floats!(unary, Trunc, ty, arrays, level),
        UnaryOp::Round => floats!(unary, Round, ty, arrays, level),
        UnaryOp::RoundTiesEven => floats!(unary, RoundTiesEven, ty, arrays, level),
        _ => None,
    }
}

fn float_binary(op: BinaryOp, ty: Ty, arrays: Arrays, level: Level) -> Option<Op> {
    match op {
        BinaryOp::Add => floats!(binary, Add, ty, arrays, level),
        BinaryOp::Sub => floats!(binary, Sub, ty, arrays, level),
        BinaryOp::Mul => floats!(binary, Mul, ty, arrays, level),
        BinaryOp::Div => floats!(binary, Div, ty, arrays, level),
        BinaryOp::Min => floats!(binary, Min, ty, arrays, level),
        BinaryOp::Max => floats!(binary, Max, ty, arrays, level),
        BinaryOp::Eq => floats!(binary, Eq, ty, arrays, level),
        BinaryOp::Ne => floats!(binary, Ne, ty, arrays, level),
        BinaryOp::Lt => floats!(binary, Lt, ty, arrays, level),
        BinaryOp::Le => floats!(binary, Le, ty, arrays, level),
        BinaryOp::RemSlow => floats!(plain_binary, RemSlow, ty, arrays, level),
        _ => None,
    }
}

fn integer_binary(op: BinaryOp, ty: Ty, arrays: Arrays, level: Level) -> Option<Op> {
    match op {
        BinaryOp::Add => sizes!(plain_binary binary, Add, ty, arrays, level),
        BinaryOp::Sub => sizes!(plain_binary binary, Sub, ty, arrays, level),
        BinaryOp::Mul => sizes!(plain_binary binary, Mul, ty, arrays, level),
        BinaryOp::And => sizes!(plain_binary binary, And, ty, arrays, level),
        BinaryOp::Or => sizes!(plain_binary binary, Or, ty, arrays, level),
        BinaryOp::Xor => sizes!(plain_binary binary, Xor, ty, arrays, level),
        BinaryOp::Shl => sizes!(plain_binary binary, Shl, ty, arrays, level),
        BinaryOp::Eq => sizes!(plain_binary binary, Eq, ty, arrays, level),
        BinaryOp::Ne => sizes!(plain_binary binary, Ne, ty, arrays, level),
        BinaryOp::Shr => signs!(plain_binary binary, Shr, ty, arrays, level),
        BinaryOp::Min => signs!(plain_binary binary, Min, ty, arrays, level),
        BinaryOp::Max => signs!(plain_binary binary, Max, ty, arrays, level),
        BinaryOp::Lt => signs!(plain_binary binary, Lt, ty, arrays, level),
        BinaryOp::Le => signs!(plain_binary binary, Le, ty, arrays, level),
        BinaryOp::Div => signs!(plain_binary plain_binary, Div, ty, arrays, level),
        BinaryOp::Rem => signs!(plain_binary plain_binary, Rem, ty, arrays, level),
        _ => None,
    }
}

/// Returns the code for a result in the place of an operand: of the first one if there are two, the
/// second being an array or not; of the third one of a product and sum, whose first operand is an
/// array.
pub fn in_place(kind: Kind, second_is_array: bool, level: Level) -> Option<Op> {
    macro_rules! onto {
        ($op:ident, $ty:expr) => {
            Some(if $ty == Ty::F32 {
                at::<OntoV<float::$op<f32>>>(level)
            } else {
                at::<OntoV<float::$op<f64>>>(level)
            })
        };
    }
    macro_rules! third {
        ($op:ident, $ty:expr) => {
            Some(match ($ty, second_is_array) {
                (Ty::F32, true) => at::<VVOnto<float::$op<f32>>>(level),
                (Ty::F32, false) => at::<VSOnto<float::$op<f32>>>(level),
                (_, true) => at::<VVOnto<float::$op<f64>>>(level),
                (_, false) => at::<VSOnto<float::$op<f64>>>(level),
            })
        };
    }
    match kind {
        Kind::Binary(op, ty) if ty.is_float() => match op {
            BinaryOp::Add => onto!(Add, ty),
            BinaryOp::Mul => onto!(Mul, ty),
            BinaryOp::Min => onto!(Min, ty),
            BinaryOp::Max => onto!(Max, ty),
            _ => None,
        },
        Kind::Binary(BinaryOp::Add, ty) if ty.size() == 4 => Some(at::<OntoV<integer::Add<u32>>>(level)),
        Kind::Binary(BinaryOp::Add, ty) if ty.size() == 8 => Some(at::<OntoV<integer::Add<u64>>>(level)),
        Kind::MulAdd(ty) if ty.is_float() => third!(MulAdd, ty),
        Kind::Added(ty) => third!(Added, ty),
        Kind::Subtracted(ty) => third!(Subtracted, ty),
        _ => None,
    }
}
