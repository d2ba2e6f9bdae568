//! The loops that do the work: one for every operation, element type and kind of operands, compiled for each level of the instruction set.
//!
//! All have one signature, [`Op`]. An operand is an array of `n` elements, or one element (a scalar); which of both it is, is part of the operation: [`find`] chooses.
//! Loops over raw pointers are in order, element by element, so that a result may be exactly an operand; the compiler adds the test that vectors need.

mod cast;
mod choose;
mod float;
mod fold;
mod integer;
mod memory;
mod shapes;

pub(super) use choose::{Kind, find, in_place};
pub(super) use fold::{Fold, fold};
pub(super) use memory::{
    copy, gather, gather_if, load_if, load_masked, load_one, load_strided, ramp, record, record_linear,
    record_one, scatter, splat, store_one, store_strided,
};

use crate::level::Level;

/// An operation on `n` elements: result, up to four operands, count. Those of scalars are of one element, whatever `n` is.
///
/// # Safety
/// Every pointer that the operation uses is valid for as many elements of its type as the operation touches. The processor has the level that it was chosen for.
pub(super) type Op = unsafe fn(*mut u8, *const u8, *const u8, *const u8, usize);

/// The code of an operation, to be compiled for each level.
pub(super) trait Code {
    /// # Safety
    /// As [`Op`].
    unsafe fn run(d: *mut u8, a: *const u8, b: *const u8, c: *const u8, n: usize);
}

macro_rules! level {
    ($name:ident $(, $features:literal)?) => {
        $(#[target_feature(enable = $features)])?
        unsafe fn $name<K: Code>(d: *mut u8, a: *const u8, b: *const u8, c: *const u8, n: usize) {
            // SAFETY: the caller's promise.
            unsafe { K::run(d, a, b, c, n) }
        }
    };
}

#[cfg(target_arch = "x86_64")]
level!(v2, "sse3,ssse3,sse4.1,sse4.2,popcnt");
#[cfg(target_arch = "x86_64")]
level!(v3, "avx,avx2,bmi1,bmi2,f16c,fma,lzcnt,movbe,popcnt");
#[cfg(target_arch = "x86_64")]
level!(v4, "avx,avx2,bmi1,bmi2,f16c,fma,lzcnt,movbe,popcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl");
#[cfg(not(target_arch = "x86_64"))]
level!(v2);

/// The code for a level.
#[cfg(target_arch = "x86_64")]
pub(super) fn at<K: Code>(level: Level) -> Op {
    match level {
        Level::V2 => v2::<K>,
        Level::V3 => v3::<K>,
        Level::V4 => v4::<K>,
    }
}

/// The code for a level.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn at<K: Code>(_: Level) -> Op {
    v2::<K>
}
