//! Implements the operations on f32 and f64 of the machine.

use crate::{Bits, Flag, Real};
use std::num::Wrapping;

macro_rules! native {
    ($f:ty, $u:ty, $double:expr) => {
        impl Real for $f {
            type Bits = Wrapping<$u>;
            type Flag = bool;
            const DOUBLE: bool = $double;

            #[inline(always)]
            fn lit(self, x: f64) -> $f {
                x as $f
            }
            #[inline(always)]
            fn mul_add(self, b: $f, c: $f) -> $f {
                <$f>::mul_add(self, b, c)
            }
            #[inline(always)]
            fn sqrt(self) -> $f {
                <$f>::sqrt(self)
            }
            #[inline(always)]
            fn abs(self) -> $f {
                <$f>::abs(self)
            }
            #[inline(always)]
            fn trunc(self) -> $f {
                <$f>::trunc(self)
            }
            #[inline(always)]
            fn floor(self) -> $f {
                <$f>::floor(self)
            }
            #[inline(always)]
            fn round_ties_even(self) -> $f {
                <$f>::round_ties_even(self)
            }
            #[inline(always)]
            fn rem_slow(self, y: $f) -> $f {
                self % y
            }
            #[inline(always)]
            fn bits(self) -> Wrapping<$u> {
                Wrapping(self.to_bits())
            }
            #[inline(always)]
            fn lt(self, y: $f) -> bool {
                self < y
            }
            #[inline(always)]
            fn le(self, y: $f) -> bool {
                self <= y
            }
            #[inline(always)]
            fn eq(self, y: $f) -> bool {
                self == y
            }
            #[inline(always)]
            fn ne(self, y: $f) -> bool {
                self != y
            }
            #[inline(always)]
            fn select(c: bool, a: $f, b: $f) -> $f {
                if c { a } else { b }
            }
        }

        impl Bits for Wrapping<$u> {
            type Real = $f;
            type Flag = bool;

            #[inline(always)]
            fn lit(self, x: u64) -> Wrapping<$u> {
                Wrapping(x as $u)
            }
            #[inline(always)]
            fn shl(self, k: u32) -> Wrapping<$u> {
                self << k as usize
            }
            #[inline(always)]
            fn shr(self, k: u32) -> Wrapping<$u> {
                self >> k as usize
            }
            #[inline(always)]
            fn eq(self, y: Wrapping<$u>) -> bool {
                self == y
            }
            #[inline(always)]
            fn lt(self, y: Wrapping<$u>) -> bool {
                self < y
            }
            #[inline(always)]
            fn select(c: bool, a: Wrapping<$u>, b: Wrapping<$u>) -> Wrapping<$u> {
                if c { a } else { b }
            }
            #[inline(always)]
            fn real(self) -> $f {
                <$f>::from_bits(self.0)
            }
        }
    };
}

impl Flag for bool {
    #[inline(always)]
    fn unlikely(self) -> bool {
        self
    }
}

native!(f32, u32, false);
native!(f64, u64, true);
