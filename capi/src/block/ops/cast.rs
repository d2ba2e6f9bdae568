//! Casts. Rust's casts are those of the language (truncation, saturation, NaN gives 0). A bool is a
//! byte, 0 or 1; f16 and bf16 are cast from and to f32 only.

use super::Op;
use super::shapes::{Arrays, Unary, unary};
use crate::level::Level;
use arraygpu_compiler::scalar::Ty;
use std::marker::PhantomData;

struct Cast<A, B>(PhantomData<(A, B)>);

macro_rules! casts {
    ($($a:ident: $($b:ident)*;)*) => { $($(
        impl Unary for Cast<$a, $b> {
            type In = $a;
            type Out = $b;
            #[inline(always)]
            fn of(x: $a) -> $b {
                x as $b
            }
        }
    )*)* };
}
// the sign makes no difference for a cast to an integer of the same or a smaller size
casts! {
    u8: u16 u32 u64 f32 f64;
    u16: u8 u32 u64 f32 f64;
    u32: u8 u16 u64 f32 f64;
    u64: u8 u16 u32 f32 f64;
    i8: u16 u32 u64 f32 f64;
    i16: u32 u64 f32 f64;
    i32: u64 f32 f64;
    i64: f32 f64;
    f32: u8 u16 u32 u64 i8 i16 i32 i64 f64;
    f64: u8 u16 u32 u64 i8 i16 i32 i64 f32;
}

/// A cast to bool, `x != 0`.
struct ToBool<T>(PhantomData<T>);

macro_rules! to_bool {
    ($($ty:ident)*) => { $(
        impl Unary for ToBool<$ty> {
            type In = $ty;
            type Out = u8;
            #[inline(always)]
            fn of(x: $ty) -> u8 {
                u8::from(x != (0 as $ty))
            }
        }
    )* };
}
to_bool!(u8 u16 u32 u64 f32 f64);

macro_rules! half {
    ($name:ident: $a:ident -> $b:ident, |$x:ident| $e:expr) => {
        struct $name;
        impl Unary for $name {
            type In = $a;
            type Out = $b;
            #[inline(always)]
            fn of($x: $a) -> $b {
                $e
            }
        }
    };
}
half!(OfBf16: u16 -> f32, |h| f32::from_bits(u32::from(h) << 16));
half!(ToBf16: f32 -> u16, |x| {
    let bits = x.to_bits();
    let nearest = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    if x.is_nan() { 0x7fc0 } else { nearest as u16 }
});
half!(OfF16: u16 -> f32, |h| {
    let (size, sign) = (u32::from(h & 0x7fff) << 13, u32::from(h & 0x8000) << 16);
    // the product corrects the exponent's bias by 2^112, which is exact, also for subnormal numbers
    let finite = (f32::from_bits(size) * f32::from_bits(0x7780_0000)).to_bits();
    f32::from_bits((if size >= 0x0f80_0000 { size.wrapping_add(0x7000_0000) } else { finite }) | sign)
});
half!(ToF16: f32 -> u16, |x| {
    let bits = x.to_bits();
    let size = bits & 0x7fff_ffff;
    let normal = size.wrapping_sub(0x3800_0000).wrapping_add(0xfff + (size >> 13 & 1)) >> 13;
    // below 2^-14 the addition of 0.5 rounds to multiples of 2^-24
    let small = (f32::from_bits(size) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
    let half = if size < 0x3880_0000 { small } else if size >= 0x4780_0000 { 0x7c00 } else { normal };
    let nan = size > 0x7f80_0000;
    (if nan { 0x7e00 } else { half | (bits >> 16 & 0x8000) }) as u16
});

/// Whether a cast changes no bits.
pub(super) fn is_same(from: Ty, to: Ty) -> bool {
    let integer = |t: Ty| t.is_int() || t == Ty::Bool;
    from == to || (to != Ty::Bool && integer(from) && integer(to) && from.size() == to.size())
}

/// Returns the code of a cast that changes bits.
pub(super) fn find(from: Ty, to: Ty, arrays: Arrays, level: Level) -> Option<Op> {
    macro_rules! of {
        ($a:ident) => {
            match to {
                Ty::F32 => unary::<Cast<$a, f32>>(arrays, level),
                Ty::F64 => unary::<Cast<$a, f64>>(arrays, level),
                _ => None,
            }
        };
        // casts to the integers that the list has, by size
        ($a:ident: $($size:literal $b:ident)*) => {
            match to.size() {
                $($size if to.is_int() => unary::<Cast<$a, $b>>(arrays, level),)*
                _ => of!($a),
            }
        };
    }
    macro_rules! of_float {
        ($a:ident, $other:ident) => {
            match to {
                Ty::U8 => unary::<Cast<$a, u8>>(arrays, level),
                Ty::U16 => unary::<Cast<$a, u16>>(arrays, level),
                Ty::U32 => unary::<Cast<$a, u32>>(arrays, level),
                Ty::U64 => unary::<Cast<$a, u64>>(arrays, level),
                Ty::I8 => unary::<Cast<$a, i8>>(arrays, level),
                Ty::I16 => unary::<Cast<$a, i16>>(arrays, level),
                Ty::I32 => unary::<Cast<$a, i32>>(arrays, level),
                Ty::I64 => unary::<Cast<$a, i64>>(arrays, level),
                _ => unary::<Cast<$a, $other>>(arrays, level),
            }
        };
    }
    match (from, to) {
        (Ty::F16, _) => unary::<OfF16>(arrays, level),
        (Ty::Bf16, _) => unary::<OfBf16>(arrays, level),
        (_, Ty::F16) => unary::<ToF16>(arrays, level),
        (_, Ty::Bf16) => unary::<ToBf16>(arrays, level),
        (Ty::F32, Ty::Bool) => unary::<ToBool<f32>>(arrays, level),
        (Ty::F64, Ty::Bool) => unary::<ToBool<f64>>(arrays, level),
        (_, Ty::Bool) => match from.size() {
            1 => unary::<ToBool<u8>>(arrays, level),
            2 => unary::<ToBool<u16>>(arrays, level),
            4 => unary::<ToBool<u32>>(arrays, level),
            _ => unary::<ToBool<u64>>(arrays, level),
        },
        (Ty::F32, _) => of_float!(f32, f64),
        (Ty::F64, _) => of_float!(f64, f32),
        (Ty::Bool | Ty::U8, _) => of!(u8: 2 u16 4 u32 8 u64),
        (Ty::U16, _) => of!(u16: 1 u8 4 u32 8 u64),
        (Ty::U32, _) => of!(u32: 1 u8 2 u16 8 u64),
        (Ty::U64, _) => of!(u64: 1 u8 2 u16 4 u32),
        (Ty::I8, _) => of!(i8: 2 u16 4 u32 8 u64),
        (Ty::I16, _) if to == Ty::I8 || to == Ty::U8 => find(Ty::U16, to, arrays, level),
        (Ty::I16, _) => of!(i16: 4 u32 8 u64),
        (Ty::I32, _) if to.is_int() && to.size() < 4 => find(Ty::U32, to, arrays, level),
        (Ty::I32, _) => of!(i32: 8 u64),
        (Ty::I64, _) if to.is_int() => find(Ty::U64, to, arrays, level),
        (Ty::I64, _) => of!(i64),
    }
}
