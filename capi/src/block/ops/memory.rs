//! Operations that move elements, and those whose operands have shapes of their own. Of an
//! element's type, only the size matters.

use super::{Code, Op, at};
use crate::level::Level;
use std::marker::PhantomData;

macro_rules! moves {
    ($(#[$doc:meta])* $name:ident = $code:ident, |$d:ident, $a:ident, $b:ident, $c:ident, $n:ident, $t:ident| $body:expr) => {
        struct $code<T>(PhantomData<T>);
        impl<T: Copy + Default> Code for $code<T> {
            #[inline(always)]
            #[allow(unused_variables)]
            unsafe fn run($d: *mut u8, $a: *const u8, $b: *const u8, $c: *const u8, $n: usize) {
                type $t<T> = T;
                // SAFETY: the caller promises operands as the documentation of the operation says,
                // and their elements.
                unsafe { $body }
            }
        }
        $(#[$doc])*
        pub fn $name(size: usize, level: Level) -> Op {
            match size {
                1 => at::<$code<u8>>(level),
                2 => at::<$code<u16>>(level),
                4 => at::<$code<u32>>(level),
                _ => at::<$code<u64>>(level),
            }
        }
    };
}

moves! {
    /// d = a, all elements.
    copy = Copied, |d, a, b, c, n, E| std::ptr::copy(a.cast::<E<T>>(), d.cast::<E<T>>(), n)
}
moves! {
    /// d[i] = a for all i; `a` is a scalar.
    splat = Splat, |d, a, b, c, n, E| {
        let value = a.cast::<E<T>>().read();
        for i in 0..n {
            d.cast::<T>().add(i).write(value);
        }
    }
}
moves! {
    /// d = b[a]; `a` is a scalar index (i64).
    load_one = LoadOne, |d, a, b, c, n, E| d.cast::<T>().write(element::<E<T>>(b, index(a, 0)).read())
}
moves! {
    /// d = c ? b[a] : 0, of scalars; `b` is not read where `c` is false.
    load_if = LoadIf, |d, a, b, c, n, E| {
        let value = if c.read() != 0 { element::<E<T>>(b, index(a, 0)).read() } else { T::default() };
        d.cast::<T>().write(value)
    }
}
moves! {
    /// d[a] = b; `a` is a scalar index (i64).
    store_one = StoreOne, |d, a, b, c, n, E| element::<E<T>>(d, index(a, 0)).cast_mut().write(b.cast::<T>().read())
}
moves! {
    /// d[i] = a[i * b]; `b` is a scalar (i64).
    load_strided = LoadStrided, |d, a, b, c, n, E| {
        let (d, step) = (d.cast::<E<T>>(), index(b, 0));
        if step == 2 {
            for i in 0..n {
                d.add(i).write(a.cast::<T>().add(2 * i).read());
            }
        } else {
            for i in 0..n {
                d.add(i).write(element::<T>(a, step.wrapping_mul(i as i64)).read());
            }
        }
    }
}
moves! {
    /// d[i * b] = a[i]; `b` is a scalar (i64).
    store_strided = StoreStrided, |d, a, b, c, n, E| {
        let step = index(b, 0);
        for i in 0..n {
            element::<E<T>>(d, step.wrapping_mul(i as i64)).cast_mut().write(a.cast::<T>().add(i).read());
        }
    }
}
moves! {
    /// d[i] = b[a[i]]; the indices are of i64.
    gather = Gather, |d, a, b, c, n, E| {
        for i in 0..n {
            d.cast::<E<T>>().add(i).write(element::<T>(b, index(a, i)).read());
        }
    }
}
moves! {
    /// d[i] = c[i] ? b[a[i]] : 0; `b` is not read where `c` is false.
    gather_if = GatherIf, |d, a, b, c, n, E| {
        for i in 0..n {
            let value = if c.add(i).read() != 0 { element::<E<T>>(b, index(a, i)).read() } else { T::default() };
            d.cast::<T>().add(i).write(value);
        }
    }
}
moves! {
    /// d[a[i]] = b[i]; the indices are of i64.
    scatter = Scatter, |d, a, b, c, n, E| {
        for i in 0..n {
            element::<E<T>>(d, index(a, i)).cast_mut().write(b.cast::<T>().add(i).read());
        }
    }
}
moves! {
    /// d[i] = b[i] ? a[i] : 0; `a` is not read where `b` is false.
    load_masked = LoadMasked, |d, a, b, c, n, E| {
        if (0..n).fold(1, |all, i| all & b.add(i).read()) != 0 {
            std::ptr::copy(a.cast::<E<T>>(), d.cast::<T>(), n);
        } else {
            for i in 0..n {
                let value = if b.add(i).read() != 0 { element::<T>(a, i as i64).read() } else { T::default() };
                d.cast::<T>().add(i).write(value);
            }
        }
    }
}

/// Reads the i-th index.
///
/// # Safety
/// The array has an i-th element.
#[inline(always)]
unsafe fn index(p: *const u8, i: usize) -> i64 {
    // SAFETY: the caller promises it.
    unsafe { p.cast::<i64>().add(i).read() }
}

/// The address of an element. It need not be in the array: nothing is read.
#[inline(always)]
fn element<T>(base: *const u8, i: i64) -> *const T {
    base.cast::<T>().wrapping_offset(i as isize)
}

macro_rules! others {
    ($(#[$doc:meta])* $name:ident = $code:ident, |$d:ident, $a:ident, $b:ident, $c:ident, $n:ident| $body:expr) => {
        struct $code;
        impl Code for $code {
            #[inline(always)]
            #[allow(unused_variables)]
            unsafe fn run($d: *mut u8, $a: *const u8, $b: *const u8, $c: *const u8, $n: usize) {
                // SAFETY: the caller promises operands as the documentation of the operation says,
                // and their elements.
                unsafe { $body }
            }
        }
        $(#[$doc])*
        pub fn $name(level: Level) -> Op {
            at::<$code>(level)
        }
    };
}

others! {
    /// d[i] = a + b * (c + i); `a`, `b` and `c` are scalars of i64.
    ramp = Ramp, |d, a, b, c, n| {
        let step = index(b, 0);
        let start = index(a, 0).wrapping_add(step.wrapping_mul(index(c, 0)));
        for i in 0..n {
            d.cast::<i64>().add(i).write(start.wrapping_add(step.wrapping_mul(i as i64)));
        }
    }
}
others! {
    /// d = min(d, b) if a, of scalars.
    record_one = RecordOne, |d, a, b, c, n| if a.read() != 0 { least(d, index(b, 0)) }
}
others! {
    /// d = min(d, b[i]) for each i where a[i] holds; `d` is a scalar.
    record = Record, |d, a, b, c, n| if any(a, n) {
        for i in 0..n {
            if a.add(i).read() != 0 {
                least(d, index(b, i));
            }
        }
    }
}
others! {
    /// d = min(d, b + c * i) for each i where a[i] holds; all operands but `a` are scalars.
    record_linear = RecordLinear, |d, a, b, c, n| if any(a, n) {
        let (start, step) = (index(b, 0), index(c, 0));
        for i in 0..n {
            if a.add(i).read() != 0 {
                least(d, start.wrapping_add(step.wrapping_mul(i as i64)));
            }
        }
    }
}

/// # Safety
/// `p` is an array of `n` bools.
#[inline(always)]
unsafe fn any(p: *const u8, n: usize) -> bool {
    // SAFETY: the caller promises it.
    unsafe { (0..n).fold(0, |any, i| any | p.add(i).read()) != 0 }
}

/// # Safety
/// `d` is an i64.
#[inline(always)]
unsafe fn least(d: *mut u8, value: i64) {
    let d = d.cast::<i64>();
    // SAFETY: the caller promises it.
    unsafe { d.write(d.read().min(value)) }
}
