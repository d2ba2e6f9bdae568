//! Moving elements, and what has its own shape. Only the size of an element matters.

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
                // SAFETY: the caller promises that the operands are as the documentation says, and the elements there.
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
    /// d = a, a scalar; d, an array, is that everywhere.
    splat = Splat, |d, a, b, c, n, E| {
        let value = a.cast::<E<T>>().read();
        for i in 0..n {
            d.cast::<T>().add(i).write(value);
        }
    }
}
moves! {
    /// d = b[a]: a scalar index (i64).
    load_one = LoadOne, |d, a, b, c, n, E| d.cast::<T>().write(element::<E<T>>(b, index(a, 0)).read())
}
moves! {
    /// d = c ? b[a] : 0.
    load_if = LoadIf, |d, a, b, c, n, E| {
        let value = if c.read() != 0 { element::<E<T>>(b, index(a, 0)).read() } else { T::default() };
        d.cast::<T>().write(value)
    }
}
moves! {
    /// d[a] = b: a scalar index.
    store_one = StoreOne, |d, a, b, c, n, E| element::<E<T>>(d, index(a, 0)).cast_mut().write(b.cast::<T>().read())
}
moves! {
    /// d[i] = a[i * b]: b a scalar (i64).
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
    /// d[i * b] = a[i].
    store_strided = StoreStrided, |d, a, b, c, n, E| {
        let step = index(b, 0);
        for i in 0..n {
            element::<E<T>>(d, step.wrapping_mul(i as i64)).cast_mut().write(a.cast::<T>().add(i).read());
        }
    }
}
moves! {
    /// d[i] = b[a[i]]: indices (i64).
    gather = Gather, |d, a, b, c, n, E| {
        for i in 0..n {
            d.cast::<E<T>>().add(i).write(element::<T>(b, index(a, i)).read());
        }
    }
}
moves! {
    /// d[i] = c[i] ? b[a[i]] : 0.
    gather_if = GatherIf, |d, a, b, c, n, E| {
        for i in 0..n {
            let value = if c.add(i).read() != 0 { element::<E<T>>(b, index(a, i)).read() } else { T::default() };
            d.cast::<T>().add(i).write(value);
        }
    }
}
moves! {
    /// d[a[i]] = b[i].
    scatter = Scatter, |d, a, b, c, n, E| {
        for i in 0..n {
            element::<E<T>>(d, index(a, i)).cast_mut().write(b.cast::<T>().add(i).read());
        }
    }
}
moves! {
    /// d[i] = b[i] ? a[i] : 0; where it is 0, nothing is read.
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

/// The i-th index.
///
/// # Safety
/// It is there.
#[inline(always)]
unsafe fn index(p: *const u8, i: usize) -> i64 {
    // SAFETY: the caller's promise.
    unsafe { p.cast::<i64>().add(i).read() }
}

/// The address of an element.
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
                // SAFETY: the caller promises that the operands are as the documentation says, and the elements there.
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
    /// d[i] = a + b * (c + i): scalars, of i64.
    ramp = Ramp, |d, a, b, c, n| {
        let step = index(b, 0);
        let start = index(a, 0).wrapping_add(step.wrapping_mul(index(c, 0)));
        for i in 0..n {
            d.cast::<i64>().add(i).write(start.wrapping_add(step.wrapping_mul(i as i64)));
        }
    }
}
others! {
    /// d = min(d, b) if a: scalars.
    record_one = RecordOne, |d, a, b, c, n| if a.read() != 0 { least(d, index(b, 0)) }
}
others! {
    /// d = min(d, b[i]) for each i with a[i]: d a scalar.
    record = Record, |d, a, b, c, n| if any(a, n) {
        for i in 0..n {
            if a.add(i).read() != 0 {
                least(d, index(b, i));
            }
        }
    }
}
others! {
    /// d = min(d, b + c * i) for each i with a[i]: all others scalars.
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
/// `n` bools are there.
#[inline(always)]
unsafe fn any(p: *const u8, n: usize) -> bool {
    // SAFETY: the caller's promise.
    unsafe { (0..n).fold(0, |any, i| any | p.add(i).read()) != 0 }
}

/// # Safety
/// `d` is an i64.
#[inline(always)]
unsafe fn least(d: *mut u8, value: i64) {
    let d = d.cast::<i64>();
    // SAFETY: the caller's promise.
    unsafe { d.write(d.read().min(value)) }
}
