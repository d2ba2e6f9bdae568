//! Loops, by the kinds of their operands: the name of each type has a letter for each operand in
//! order, V for an array and S for a scalar.

#![allow(clippy::upper_case_acronyms, reason = "a letter an operand")]

use super::{Code, Op, at};
use crate::level::Level;
use std::marker::PhantomData;

/// An operation of one operand.
pub(super) trait Unary {
    type In: Copy;
    type Out;
    fn of(x: Self::In) -> Self::Out;
}

/// An operation of two operands of one type.
pub(super) trait Binary {
    type In: Copy;
    type Out;
    fn of(x: Self::In, y: Self::In) -> Self::Out;
}

/// An operation of three operands, the first of which may have another type.
pub(super) trait Ternary {
    type First: Copy;
    type In: Copy;
    type Out;
    fn of(x: Self::First, y: Self::In, z: Self::In) -> Self::Out;
}

/// Reads the i-th element.
///
/// # Safety
/// The array has an i-th element.
#[inline(always)]
pub(super) unsafe fn get<T: Copy>(p: *const u8, i: usize) -> T {
    // SAFETY: the caller promises the element; callers' arrays are aligned to their elements.
    unsafe { p.cast::<T>().add(i).read() }
}

/// # Safety
/// The same conditions hold as for [`get`].
#[inline(always)]
pub(super) unsafe fn put<T>(p: *mut u8, i: usize, value: T) {
    // SAFETY: the caller promises it.
    unsafe { p.cast::<T>().add(i).write(value) }
}

/// A shape of a loop: `$i` is the index, and what is read before `loop` is a scalar operand. The
/// form without `loop` computes one element.
macro_rules! shape {
    ($name:ident, $of:ident, |$d:ident, $a:ident, $b:ident, $c:ident, $i:ident| { $(let $s:ident = $before:expr;)* loop $body:expr }) => {
        pub(super) struct $name<K>(PhantomData<K>);
        impl<K: $of> Code for $name<K> {
            #[inline(always)]
            #[allow(unused_variables)]
            unsafe fn run($d: *mut u8, $a: *const u8, $b: *const u8, $c: *const u8, n: usize) {
                // SAFETY: the caller promises `n` elements of each array, and one of each scalar.
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
// the result is in the place of the first operand
shape!(OntoV, Binary, |d, a, b, c, i| { loop K::of(get(d, i), get(b, i)) });

shape!(VVV, Ternary, |d, a, b, c, i| { loop K::of(get(a, i), get(b, i), get(c, i)) });
shape!(VVS, Ternary, |d, a, b, c, i| { let s = get(c, 0); loop K::of(get(a, i), get(b, i), s) });
shape!(VSV, Ternary, |d, a, b, c, i| { let s = get(b, 0); loop K::of(get(a, i), s, get(c, i)) });
shape!(VSS, Ternary, |d, a, b, c, i| { let s = get(b, 0); let t = get(c, 0); loop K::of(get(a, i), s, t) });
shape!(SSV, Ternary, |d, a, b, c, i| { let s = get(a, 0); let t = get(b, 0); loop K::of(s, t, get(c, i)) });
shape!(One3, Ternary, |d, a, b, c| K::of(get(a, 0), get(b, 0), get(c, 0)));
// the result is in the place of the third operand
shape!(VVOnto, Ternary, |d, a, b, c, i| { loop K::of(get(a, i), get(b, i), get(d, i)) });
shape!(VSOnto, Ternary, |d, a, b, c, i| { let s = get(b, 0); loop K::of(get(a, i), s, get(d, i)) });

/// Which operands are arrays.
pub(super) type Arrays<'a> = &'a [bool];

pub(super) fn unary<K: Unary>(arrays: Arrays, level: Level) -> Option<Op> {
    Some(match arrays {
        [false] => at::<One<K>>(level),
        _ => at::<V<K>>(level),
    })
}

/// Returns the code of a binary operation for any mixture of arrays and scalars.
pub(super) fn binary<K: Binary>(arrays: Arrays, level: Level) -> Option<Op> {
    Some(match arrays {
        [false, false] => at::<One2<K>>(level),
        [true, false] => at::<VS<K>>(level),
        [false, true] => at::<SV<K>>(level),
        _ => at::<VV<K>>(level),
    })
}

/// Returns the code for operands that are all scalars or all arrays. It serves operations that
/// inner loops rarely have, for which mixtures are not worth their code.
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
