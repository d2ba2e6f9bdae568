//! Operations of f32 and f64. They compute what `scalar/eval.rs` defines, in a form whose loops the
//! compiler can vectorise.

use super::shapes::{Binary, Ternary, Unary};
use std::marker::PhantomData;

macro_rules! unary {
    ($name:ident, |$x:ident: $t:ident| $e:expr) => {
        pub(super) struct $name<T>(PhantomData<T>);
        unary!(@ $name, f32, |$x, $t| $e);
        unary!(@ $name, f64, |$x, $t| $e);
    };
    (@ $name:ident, $ty:ident, |$x:ident, $t:ident| $e:expr) => {
        impl Unary for $name<$ty> {
            type In = $ty;
            type Out = $ty;
            #[inline(always)]
            fn of($x: $ty) -> $ty {
                #[allow(dead_code, reason = "only expressions with constants name the type")]
                type $t = $ty;
                $e
            }
        }
    };
}

macro_rules! binary {
    ($name:ident, $out:ident, |$x:ident, $y:ident| $e:expr) => {
        pub(super) struct $name<T>(PhantomData<T>);
        binary!(@ $name, f32, $out, |$x, $y| $e);
        binary!(@ $name, f64, $out, |$x, $y| $e);
    };
    (@ $name:ident, $ty:ident, same, |$x:ident, $y:ident| $e:expr) => { binary!(@@ $name, $ty, $ty, |$x, $y| $e); };
    (@ $name:ident, $ty:ident, $out:ident, |$x:ident, $y:ident| $e:expr) => { binary!(@@ $name, $ty, $out, |$x, $y| $e); };
    (@@ $name:ident, $ty:ident, $out:ident, |$x:ident, $y:ident| $e:expr) => {
        impl Binary for $name<$ty> {
            type In = $ty;
            type Out = $out;
            #[inline(always)]
            fn of($x: $ty, $y: $ty) -> $out {
                $e
            }
        }
    };
}

unary!(Neg, |x: T| -x);
unary!(Abs, |x: T| x.abs());
unary!(Sqrt, |x: T| x.sqrt());
unary!(Floor, |x: T| x.floor());
unary!(Ceil, |x: T| x.ceil());
unary!(Trunc, |x: T| x.trunc());
unary!(RoundTiesEven, |x: T| x.round_ties_even());
// rounds halves away from zero; x - trunc(x) is exact
unary!(Round, |x: T| {
    let whole = x.trunc();
    let up: T = if (x - whole).abs() >= 0.5 { 1.0 } else { 0.0 };
    (whole.abs() + up).copysign(x)
});
// the form in which a result is stored: every NaN becomes the one canonical NaN
unary!(Canonical, |x: T| if x.is_nan() { T::NAN } else { x });

binary!(Add, same, |x, y| x + y);
binary!(Sub, same, |x, y| x - y);
binary!(Mul, same, |x, y| x * y);
binary!(Div, same, |x, y| x / y);
binary!(RemSlow, same, |x, y| x % y);
// A NaN wins, and -0 < +0. Equal operands differ at most in the sign of zero, so "or" of the bits
// is the lesser one, and "and" the greater.
binary!(Min, same, |x, y| {
    let least = if x < y { x } else { y };
    let least = if x == y { from_bits(bits(x) | bits(y)) } else { least };
    if x.is_nan() { x } else { least }
});
binary!(Max, same, |x, y| {
    let greatest = if x > y { x } else { y };
    let greatest = if x == y { from_bits(bits(x) & bits(y)) } else { greatest };
    if x.is_nan() { x } else { greatest }
});
binary!(Eq, u8, |x, y| u8::from(x == y));
binary!(Ne, u8, |x, y| u8::from(x != y));
binary!(Lt, u8, |x, y| u8::from(x < y));
binary!(Le, u8, |x, y| u8::from(x <= y));

/// A fused multiply-add, which rounds once.
pub(super) struct MulAdd<T>(PhantomData<T>);
/// A product added to z, or subtracted from it, each operation rounded by itself: z + x * y, z - x
/// * y.
pub(super) struct Added<T>(PhantomData<T>);
pub(super) struct Subtracted<T>(PhantomData<T>);

macro_rules! ternary {
    ($name:ident, $ty:ident, |$x:ident, $y:ident, $z:ident| $e:expr) => {
        impl Ternary for $name<$ty> {
            type First = $ty;
            type In = $ty;
            type Out = $ty;
            #[inline(always)]
            fn of($x: $ty, $y: $ty, $z: $ty) -> $ty {
                $e
            }
        }
    };
}
ternary!(MulAdd, f32, |x, y, z| x.mul_add(y, z));
ternary!(MulAdd, f64, |x, y, z| x.mul_add(y, z));
ternary!(Added, f32, |x, y, z| z + x * y);
ternary!(Added, f64, |x, y, z| z + x * y);
ternary!(Subtracted, f32, |x, y, z| z - x * y);
ternary!(Subtracted, f64, |x, y, z| z - x * y);

/// The bits of f32 and f64, as an integer type.
trait Float: Copy {
    type Bits;
    fn to(self) -> Self::Bits;
    fn of(bits: Self::Bits) -> Self;
}

impl Float for f32 {
    type Bits = u32;
    #[inline(always)]
    fn to(self) -> u32 {
        self.to_bits()
    }
    #[inline(always)]
    fn of(bits: u32) -> f32 {
        f32::from_bits(bits)
    }
}

impl Float for f64 {
    type Bits = u64;
    #[inline(always)]
    fn to(self) -> u64 {
        self.to_bits()
    }
    #[inline(always)]
    fn of(bits: u64) -> f64 {
        f64::from_bits(bits)
    }
}

#[inline(always)]
fn bits<T: Float>(x: T) -> T::Bits {
    x.to()
}

#[inline(always)]
fn from_bits<T: Float>(bits: T::Bits) -> T {
    T::of(bits)
}
