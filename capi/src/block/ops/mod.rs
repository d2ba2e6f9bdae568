//! The loops that do the work: one for every operation, element type and kind of operands, compiled
//! for each level of the instruction set.
//!
//! All have one signature, [`Op`]. An operand is an array of `n` elements, or a scalar (one
//! element); which of both is part of the operation, and [`find`] chooses. The loops access raw
//! pointers element by element in order, so that a result may be exactly an operand; the compiler
//! adds the overlap test that vector code needs.

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

/// An operation on `n` elements. The parameters are the result, three operands and `n`. Operations
/// whose operands are all scalars compute one element, whatever `n` is.
///
/// # Safety
/// Every pointer that the operation uses is valid for as many elements of its type as the operation
/// accesses. The processor has the level that the code was chosen for.
pub(super) type Op = unsafe fn(*mut u8, *const u8, *const u8, *const u8, usize);

/// The code of an operation, which is compiled for each level.
pub(super) trait Code {
    /// # Safety
    /// The same conditions hold as for [`Op`].
    unsafe fn run(d: *mut u8, a: *const u8, b: *const u8, c: *const u8, n: usize);
}

macro_rules! level {
    ($name:ident $(, $features:literal)?) => {
        $(#[target_feature(enable = $features)])?
        unsafe fn $name<K: Code>(d: *mut u8, a: *const u8, b: *const u8, c: *const u8, n: usize) {
            // SAFETY: the caller promises it.
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

/// Returns the code for a level.
#[cfg(target_arch = "x86_64")]
pub(super) fn at<K: Code>(level: Level) -> Op {
    match level {
        Level::V2 => v2::<K>,
        Level::V3 => v3::<K>,
        Level::V4 => v4::<K>,
    }
}

/// Returns the code, of which there is one level only.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn at<K: Code>(_: Level) -> Op {
    v2::<K>
}
