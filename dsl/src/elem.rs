//! Element types, and what each can do.
//!
//! The traits are ours and sealed, so that rustc's messages about a wrong type are ours, too.

use arraygpu_compiler::scalar::{Lit, Ty};
use half::{bf16, f16};

mod sealed {
    pub trait Sealed {}
}

/// An element type: `f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 bool`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element type of arraygpu",
    label = "expected f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64 or bool",
    note = "lengths and indices are i64: write `n as i64` for a `usize`"
)]
pub trait Elem: sealed::Sealed + Copy + 'static {
    #[doc(hidden)]
    const TY: Ty;
    #[doc(hidden)]
    fn lit(self) -> Lit;
    #[doc(hidden)]
    fn of(lit: Lit) -> Self;
}

/// A number: every element type but bool.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number type: it has no arithmetic and no order",
    label = "this operation needs f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32 or u64",
    note = "for bools write `&`, `|`, `^`, `!`, `cond(c, a, b)`, or make numbers of them: `.cast::<i32>()`"
)]
pub trait Num: Elem {}

/// A number with a sign.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no sign",
    label = "this operation needs f32, f64, f16, bf16, i8, i16, i32 or i64",
    note = "an unsigned number is its own absolute value"
)]
pub trait Signed: Num {}

/// `f32`, `f64`, `f16` or `bf16`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a floating-point type",
    label = "this operation needs f32, f64, f16 or bf16",
    note = "element types never convert by themselves: write `.cast::<f32>()` or `.cast::<f64>()` first"
)]
pub trait Float: Signed {}

/// An integer type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an integer type",
    label = "this operation needs i8, i16, i32, i64, u8, u16, u32 or u64",
    note = "element types never convert by themselves: write `.cast::<i32>()` or another integer type first"
)]
pub trait Int: Num + Bits {}

/// Types with bitwise operators: integers and bool.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no bitwise operators",
    label = "this operation needs an integer type or bool",
    note = "compare numbers to get a bool: `.gt(0.0)`, `.ne(0.0)`"
)]
pub trait Bits: Elem {}

macro_rules! elements {
    ($($ty:ident $variant:ident $from:ident: $($class:ident)*;)*) => { $(
        impl sealed::Sealed for $ty {}
        impl Elem for $ty {
            const TY: Ty = Ty::$variant;
            fn lit(self) -> Lit {
                Lit::$ty(self)
            }
            fn of(lit: Lit) -> $ty {
                lit.$from()
            }
        }
        $(impl $class for $ty {})*
    )* };
}

elements! {
    f32 F32 as_f32: Num Signed Float;
    f64 F64 as_f64: Num Signed Float;
    i32 I32 as_i32: Num Signed Int Bits;
    i64 I64 as_i64: Num Signed Int Bits;
    u32 U32 as_u32: Num Int Bits;
    i8 I8 as_i8: Num Signed Int Bits;
    i16 I16 as_i16: Num Signed Int Bits;
    u16 U16 as_u16: Num Int Bits;
    u64 U64 as_u64: Num Int Bits;
    u8 U8 as_u8: Num Int Bits;
    bool Bool as_bool: Bits;
}

macro_rules! halves {
    ($($ty:ident $variant:ident;)*) => { $(
        impl sealed::Sealed for $ty {}
        impl Elem for $ty {
            const TY: Ty = Ty::$variant;
            fn lit(self) -> Lit {
                Lit { ty: Ty::$variant, bits: self.to_bits().into() }
            }
            fn of(lit: Lit) -> $ty {
                $ty::from_bits(lit.bits as u16)
            }
        }
        impl Num for $ty {}
        impl Signed for $ty {}
        impl Float for $ty {}
    )* };
}

halves! {
    f16 F16;
    bf16 Bf16;
}

/// An `i32` literal written beside floats, if the float type holds it exactly.
pub(crate) fn exact_float(value: i32, ty: Ty) -> Option<Lit> {
    match ty {
        ty if ty.is_float() => {
            Some(Lit::float(ty, value.into())).filter(|l| l.as_float() == Some(value.into()))
        }
        _ => None,
    }
}
