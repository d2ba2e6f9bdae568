//! Loops by the kinds of their operands: V an array, S a scalar. In the type's name they stand in order.

#![allow(clippy::upper_case_acronyms, reason = "a letter an operand")]

use super::{Code, Op, at};
use crate::level::Level;
use std::marker::PhantomData;

/// What an operation does with elements.
pub(super) trait Unary {
    type In: Copy;
    type Out;
    fn of(x: Self::In) -> Self::Out;
}

/// The same of two.
pub(super) trait Binary {
    type In: Copy;
    type Out;
    fn of(x: Self::In, y: Self::In) -> Self::Out;
}

/// The same of three, the first of which may have another type.
pub(super) trait Ternary {
    type First: Copy;
    type In: Copy;
    type Out;
    fn of(x: Self::First, y: Self::In, z: Self::In) -> Self::Out;
}

/// The i-th element.
///
/// # Safety
/// It is there.
#[inline(always)]
pub(super) unsafe fn get<T: Copy>(p: *const u8, i: usize) -> T {
    // SAFETY: the caller's promise; the arrays of callers need not be aligned more than their elements, and no less.
    unsafe { p.cast::<T>().add(i).read() }
}

/// # Safety
/// As [`get`].
#[inline(always)]
pub(super) unsafe fn put<T>(p: *mut u8, i: usize, value: T) {
    // SAFETY: the caller's promise.
    unsafe { p.cast::<T>().add(i).write(value) }
}

/// A shape of a loop: `$i` counts, `$n` is the count (1 without a loop), and what is read before the loop is a scalar.
macro_rules! shape {
    ($name:ident, $of:ident, |$d:ident, $a:ident, $b:ident, $c:ident, $i:ident| { $(let $s:ident = $before:expr;)* loop $body:expr }) => {
        pub(super) struct $name<K>(PhantomData<K>);
        impl<K: $of> Code for $name<K> {
            #[inline(always)]
            #[allow(unused_variables)]
            unsafe fn run($d: *mut u8, $a: *const u8, $b: *const u8, $c: *const u8, n: usize) {
                // SAFETY: the caller promises so many elements of each operand.
                unsafe {
                    $(let $s = $before;)*
                    for $i in 0..n {
                        put($d, $i, $body);
                    }
                }
            }
        }
    };
    ($name:ident, $of:ident, |$d:ident, $a:ident, $b:ident, $c:ident| $body:expr) => {
        pub(super) struct $name<K>(PhantomData<K>);
        impl<K: $of> Code for $name<K> {
            #[inline(always)]
            #[allow(unused_variables)]
            unsafe fn run($d: *mut u8, $a: *const u8, $b: *const u8, $c: *const u8, _: usize) {
                // SAFETY: the caller promises one element of each operand.
                unsafe { put($d, 0, $body) }
            }
        }
    };
}

shape!(V, Unary, |d, a, b, c, i| { loop K::of(get(a, i)) });
shape!(One, Unary, |d, a, b, c| K::of(get(a, 0)));

shape!(VV, Binary, |d, a, b, c, i| { loop K::of(get(a, i), get(b, i)) });
shape!(VS, Binary, |d, a, b, c, i| { let s = get(b, 0); loop K::of(get(a, i), s) });
shape!(SV, Binary, |d, a, b, c, i| { let s = get(a, 0); loop K::of(s, get(b, i)) });
shape!(One2, Binary, |d, a, b, c| K::of(get(a, 0), get(b, 0)));
// the result is the first operand
shape!(OntoV, Binary, |d, a, b, c, i| { loop K::of(get(d, i), get(b, i)) });

shape!(VVV, Ternary, |d, a, b, c, i| { loop K::of(get(a, i), get(b, i), get(c, i)) });
shape!(VVS, Ternary, |d, a, b, c, i| { let s = get(c, 0); loop K::of(get(a, i), get(b, i), s) });
shape!(VSV, Ternary, |d, a, b, c, i| { let s = get(b, 0); loop K::of(get(a, i), s, get(c, i)) });
shape!(VSS, Ternary, |d, a, b, c, i| { let s = get(b, 0); let t = get(c, 0); loop K::of(get(a, i), s, t) });
shape!(SSV, Ternary, |d, a, b, c, i| { let s = get(a, 0); let t = get(b, 0); loop K::of(s, t, get(c, i)) });
shape!(One3, Ternary, |d, a, b, c| K::of(get(a, 0), get(b, 0), get(c, 0)));
// the result is the third operand
shape!(VVOnto, Ternary, |d, a, b, c, i| { loop K::of(get(a, i), get(b, i), get(d, i)) });
shape!(VSOnto, Ternary, |d, a, b, c, i| { let s = get(b, 0); loop K::of(get(a, i), s, get(d, i)) });

/// Which operands are arrays; the code for it, if there is.
pub(super) type Arrays<'a> = &'a [bool];

pub(super) fn unary<K: Unary>(arrays: Arrays, level: Level) -> Option<Op> {
    Some(match arrays {
        [false] => at::<One<K>>(level),
        _ => at::<V<K>>(level),
    })
}

/// With scalars as operands of loops.
pub(super) fn binary<K: Binary>(arrays: Arrays, level: Level) -> Option<Op> {
    Some(match arrays {
        [false, false] => at::<One2<K>>(level),
        [true, false] => at::<VS<K>>(level),
        [false, true] => at::<SV<K>>(level),
        _ => at::<VV<K>>(level),
    })
}

/// Without: for what is rarely in an inner loop.
pub(super) fn plain_binary<K: Binary>(arrays: Arrays, level: Level) -> Option<Op> {
    match arrays {
        [false, false] => Some(at::<One2<K>>(level)),
        [true, true] => Some(at::<VV<K>>(level)),
        _ => None,
    }
}

pub(super) fn ternary<K: Ternary>(arrays: Arrays, level: Level) -> Option<Op> {
    Some(match arrays {
        [false, false, false] => at::<One3<K>>(level),
        [true, true, false] => at::<VVS<K>>(level),
        [true, false, true] => at::<VSV<K>>(level),
        [true, false, false] => at::<VSS<K>>(level),
        [false, false, true] => at::<SSV<K>>(level),
        [true, true, true] => at::<VVV<K>>(level),
        _ => return None,
    })
}

pub(super) fn plain_ternary<K: Ternary>(arrays: Arrays, level: Level) -> Option<Op> {
    match arrays {
        [false, false, false] => Some(at::<One3<K>>(level)),
        [true, true, true] => Some(at::<VVV<K>>(level)),
        _ => None,
    }
}
