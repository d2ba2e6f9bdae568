//! Operations of integers and bools (a byte, 0 or 1), and those that only choose or move values.
//! Where the sign makes no difference, there are only the operations of unsigned integers.

use super::shapes::{Binary, Ternary, Unary};
use std::marker::PhantomData;

macro_rules! unary {
    ($name:ident: $($ty:ident)*; |$x:ident| $e:expr) => {
        pub(super) struct $name<T>(PhantomData<T>);
        $(impl Unary for $name<$ty> {
            type In = $ty;
            type Out = $ty;
            #[inline(always)]
            fn of($x: $ty) -> $ty {
                $e
            }
        })*
    };
}

macro_rules! binary {
    ($name:ident: $($ty:ident)*; |$x:ident, $y:ident| $e:expr) => {
        pub(super) struct $name<T>(PhantomData<T>);
        $(impl Binary for $name<$ty> {
            type In = $ty;
            type Out = $ty;
            #[inline(always)]
            fn of($x: $ty, $y: $ty) -> $ty {
                $e
            }
        })*
    };
}

macro_rules! comparison {
    ($name:ident: $($ty:ident)*; |$x:ident, $y:ident| $e:expr) => {
        pub(super) struct $name<T>(PhantomData<T>);
        $(impl Binary for $name<$ty> {
            type In = $ty;
            type Out = u8;
            #[inline(always)]
            fn of($x: $ty, $y: $ty) -> u8 {
                u8::from($e)
            }
        })*
    };
}

unary!(Neg: u8 u16 u32 u64; |x| x.wrapping_neg());
unary!(Not: u8 u16 u32 u64; |x| !x);
unary!(Abs: i8 i16 i32 i64; |x| x.wrapping_abs());
binary!(Add: u8 u16 u32 u64; |x, y| x.wrapping_add(y));
binary!(Sub: u8 u16 u32 u64; |x, y| x.wrapping_sub(y));
binary!(Mul: u8 u16 u32 u64; |x, y| x.wrapping_mul(y));
binary!(And: u8 u16 u32 u64; |x, y| x & y);
binary!(Or: u8 u16 u32 u64; |x, y| x | y);
binary!(Xor: u8 u16 u32 u64; |x, y| x ^ y);
binary!(Shl: u8 u16 u32 u64; |x, y| x.wrapping_shl(y as u32));
binary!(Shr: u8 u16 u32 u64 i8 i16 i32 i64; |x, y| x.wrapping_shr(y as u32));
binary!(Min: u8 u16 u32 u64 i8 i16 i32 i64; |x, y| x.min(y));
binary!(Max: u8 u16 u32 u64 i8 i16 i32 i64; |x, y| x.max(y));
// total functions: the quotient and the remainder by zero are zero
binary!(Div: u8 u16 u32 u64 i8 i16 i32 i64; |x, y| if y == 0 { 0 } else { x.wrapping_div(y) });
binary!(Rem: u8 u16 u32 u64 i8 i16 i32 i64; |x, y| if y == 0 { 0 } else { x.wrapping_rem(y) });
comparison!(Eq: u8 u16 u32 u64; |x, y| x == y);
comparison!(Ne: u8 u16 u32 u64; |x, y| x != y);
comparison!(Lt: u8 u16 u32 u64 i8 i16 i32 i64; |x, y| x < y);
comparison!(Le: u8 u16 u32 u64 i8 i16 i32 i64; |x, y| x <= y);

/// The negation of a bool.
pub(super) struct NotBool;

impl Unary for NotBool {
    type In = u8;
    type Out = u8;
    #[inline(always)]
    fn of(x: u8) -> u8 {
        x ^ 1
    }
}

/// A byte of memory as a bool: any byte but 0 is true.
pub(super) struct IsTrue;

impl Unary for IsTrue {
    type In = u8;
    type Out = u8;
    #[inline(always)]
    fn of(x: u8) -> u8 {
        u8::from(x != 0)
    }
}

/// The second operand where the first one holds, else the third.
pub(super) struct Select<T>(PhantomData<T>);
/// A multiply-add.
pub(super) struct MulAdd<T>(PhantomData<T>);

macro_rules! ternary {
    ($($ty:ident)*) => {
        $(impl Ternary for Select<$ty> {
            type First = u8;
            type In = $ty;
            type Out = $ty;
            #[inline(always)]
            fn of(c: u8, x: $ty, y: $ty) -> $ty {
                if c != 0 { x } else { y }
            }
        }
        impl Ternary for MulAdd<$ty> {
            type First = $ty;
            type In = $ty;
            type Out = $ty;
            #[inline(always)]
            fn of(x: $ty, y: $ty, z: $ty) -> $ty {
                x.wrapping_mul(y).wrapping_add(z)
            }
        })*
    };
}
ternary!(u8 u16 u32 u64);
