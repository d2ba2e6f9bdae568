//! Views: bounds, slices, and whether two views share memory.

use crate::abi::{AgpuStatus, AgpuView};
use crate::buffer::{self, Buffer};
use crate::error::{INVALID_ARGUMENT, OUT_OF_BOUNDS, Result, SHAPE, error, fail, guard_as, out};
use arraygpu_compiler::scalar::Ty;

/// A view that was checked against its buffer: addresses `base + i * stride` for i in `0..len` are elements of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub base: *mut u8,
    pub len: i64,
    /// In elements; 1 where it does not matter (one element or none).
    pub stride: i64,
    pub ty: Ty,
}

impl Span {
    /// Neighbours lie side by side.
    pub fn is_contiguous(&self) -> bool {
        self.stride == 1
    }

    /// The same elements in the same order.
    pub fn is_same(&self, other: &Span) -> bool {
        self.base == other.base && self.len == other.len && self.stride == other.stride && self.ty == other.ty
    }

    /// Whether any byte belongs to both, exactly: views that interleave do not overlap.
    pub fn overlaps(&self, other: &Span) -> bool {
        if self.len == 0 || other.len == 0 {
            return false;
        }
        let (a, b) = (Progression::of(self), Progression::of(other));
        if a.end() <= b.start || b.end() <= a.start {
            return false;
        }
        (a.step == a.size && b.step == b.size) || a.meets(&b)
    }
}

/// The bytes of a span: `count` elements of `size` bytes, `step` bytes apart, ascending.
#[derive(Clone, Copy)]
struct Progression {
    start: i128,
    count: i128,
    step: i128,
    size: i128,
}

impl Progression {
    fn of(s: &Span) -> Progression {
        let size = s.ty.size() as i128;
        let (start, step) = (s.base.addr() as i128, i128::from(s.stride) * size);
        match step {
            0 => Progression { start, count: 1, step: size, size },
            step if step < 0 => Progression {
                start: start + i128::from(s.len - 1) * step,
                count: s.len.into(),
                step: -step,
                size,
            },
            step => Progression { start, count: s.len.into(), step, size },
        }
    }

    fn end(&self) -> i128 {
        self.start + (self.count - 1) * self.step + self.size
    }

    /// Are there i, j with |a + i s - (b + j t)| less than an element? One linear Diophantine equation for each distance.
    fn meets(&self, other: &Progression) -> bool {
        let (g, u) = gcd(self.step, other.step);
        let (s, t) = (self.step / g, other.step / g);
        (1 - self.size..other.size).any(|d| {
            // i * self.step - j * other.step = c
            let c = other.start - self.start + d;
            if c % g != 0 {
                return false;
            }
            // the least i >= 0 that solves it, then steps of t in i and of s in j
            let i = (u.rem_euclid(t) * (c / g).rem_euclid(t)).rem_euclid(t);
            if i >= self.count {
                return false;
            }
            let (j, steps) = ((i * self.step - c) / other.step, (self.count - 1 - i) / t);
            let first = if j < 0 { (-j + s - 1) / s } else { 0 };
            first <= steps && j + first * s < other.count
        })
    }
}

/// Greatest common divisor g of a and b, and u with a u = g modulo b.
fn gcd(a: i128, b: i128) -> (i128, i128) {
    let (mut r, mut u) = ((a, b), (1, 0));
    while r.1 != 0 {
        let q = r.0 / r.1;
        r = (r.1, r.0 - q * r.1);
        u = (u.1, u.0 - q * u.1);
    }
    (r.0, u.0)
}

/// Checks a view against its buffer.
pub(crate) fn resolve(view: &AgpuView, buffer: &Buffer) -> Result<Span> {
    let (offset, len, stride) = (view.offset, view.extent[0], view.stride[0]);
    if view.rank != 1 {
        fail!(SHAPE, "the view has rank {}, a vector has rank 1", view.rank);
    }
    if len < 0 {
        fail!(OUT_OF_BOUNDS, "the view has the negative length {len}");
    }
    // the element at the other end; its distance cannot overflow 128 bits
    let last = i128::from(offset) + i128::from(stride) * i128::from((len - 1).max(0));
    let inside = |i: i128| i >= 0 && i < i128::from(buffer.count);
    if if len == 0 { offset < 0 || offset > buffer.count } else { !inside(offset.into()) || !inside(last) } {
        return Err(outside(view, buffer));
    }
    let base = buffer.data.wrapping_offset(offset as isize * buffer.ty.size() as isize);
    Ok(Span { base, len, stride: if len > 1 { stride } else { 1 }, ty: buffer.ty })
}

#[cold]
fn outside(view: &AgpuView, buffer: &Buffer) -> crate::error::Error {
    let (offset, len, stride) = (view.offset, view.extent[0], view.stride[0]);
    error(
        OUT_OF_BOUNDS,
        format!(
            "the view (offset {offset}, length {len}, stride {stride}) reaches outside of its buffer of {} elements",
            buffer.count
        ),
    )
}

/// The elements start, start + stride, ... below stop of a view. Needs 0 <= start <= stop <= length, else
/// AGPU_ERROR_OUT_OF_BOUNDS, and stride >= 1. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_view_slice(
    view: AgpuView,
    start: i64,
    stop: i64,
    stride: i64,
    out: *mut AgpuView,
) -> AgpuStatus {
    let slice = || {
        let out = self::out(out, "out")?;
        let span = resolve(&view, &*buffer::pin(view.buffer)?)?;
        let len = span.len;
        if stride < 1 {
            fail!(INVALID_ARGUMENT, "the stride is {stride}, it must be 1 or more");
        }
        if start < 0 || stop < start || stop > len {
            fail!(OUT_OF_BOUNDS, "the slice {start}..{stop} does not fit into the length {len}");
        }
        let count = (stop - start) / stride + i64::from((stop - start) % stride != 0);
        let mut slice = view;
        slice.extent[0] = count;
        // a start inside of the view cannot overflow; one at its end has no elements
        slice.offset = if count == 0 { view.offset } else { view.offset + start * view.stride[0] };
        slice.stride[0] = if count > 1 { view.stride[0] * stride } else { 1 };
        out.write(slice);
        Ok(())
    };
    guard_as("agpu_view_slice", slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(base: usize, len: i64, stride: i64, ty: Ty) -> Span {
        Span { base: std::ptr::without_provenance_mut(base), len, stride, ty }
    }

    /// Every pair of small progressions, against the sets of bytes.
    #[test]
    fn overlap_is_exact() {
        let bytes = |s: &Span| -> Vec<i128> {
            let size = s.ty.size() as i128;
            let element =
                |i: i64| (0..size).map(move |k| s.base.addr() as i128 + i128::from(i * s.stride) * size + k);
            (0..s.len).flat_map(element).collect()
        };
        let a = span(1000, 5, 3, Ty::F32);
        for ty in [Ty::F32, Ty::F64, Ty::U8] {
            for (base, len) in (960..1080).step_by(ty.size()).flat_map(|b| (0..5).map(move |n| (b, n))) {
                for stride in [-5, -3, -1, 0, 1, 2, 3, 4, 6] {
                    let b = span(base, len, if len > 1 { stride } else { 1 }, ty);
                    let set = bytes(&a);
                    let expected = bytes(&b).iter().any(|x| set.contains(x));
                    assert_eq!(a.overlaps(&b), expected, "{a:?} {b:?}");
                    assert_eq!(b.overlaps(&a), expected, "{b:?} {a:?}");
                }
            }
        }
    }

    #[test]
    fn huge_spans_do_not_overflow() {
        let a = span(16, i64::MAX / 8, 1, Ty::F64);
        let b = span(24, i64::MAX / 1024, 63, Ty::F64);
        assert!(a.overlaps(&b));
        let (even, odd) = (span(1 << 20, 1 << 50, 2, Ty::U8), span((1 << 20) + 1, 1 << 50, 2, Ty::U8));
        assert!(!even.overlaps(&odd));
        assert!(even.overlaps(&span((1 << 20) + 1, 1 << 49, 3, Ty::U8)));
    }
}
