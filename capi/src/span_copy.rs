//! Copies of spans in host memory.

use crate::error::Result;
use crate::memory::{HostMemory, Storage};
use crate::span::{AXES, Span};
use std::sync::Arc;

/// Copies `len` elements of `size` bytes.
///
/// # Safety
/// Both sides hold `len` elements at their strides, which are in elements. They do not overlap
/// unless both strides are 1.
unsafe fn transfer(dst: *mut u8, dst_stride: i64, src: *const u8, src_stride: i64, len: i64, size: usize) {
    if len == 0 {
        return;
    }
    if dst_stride == 1 && src_stride == 1 {
        // SAFETY: the caller guarantees this.
        unsafe { std::ptr::copy(src, dst, len as usize * size) };
        return;
    }
    /// Copies elements of one type. The memory of the host's side may be unaligned.
    unsafe fn each<T>(dst: *mut u8, dst_stride: i64, src: *const u8, src_stride: i64, len: i64) {
        let (dst, src) = (dst.cast::<T>(), src.cast::<T>());
        for i in 0..len as isize {
            // SAFETY: these are element i of either side, which the caller guarantees.
            unsafe {
                let value = src.offset(i * src_stride as isize).read_unaligned();
                dst.offset(i * dst_stride as isize).write_unaligned(value);
            }
        }
    }
    // SAFETY: the caller guarantees this.
    unsafe {
        match size {
            1 => each::<u8>(dst, dst_stride, src, src_stride, len),
            2 => each::<u16>(dst, dst_stride, src, src_stride, len),
            4 => each::<u32>(dst, dst_stride, src, src_stride, len),
            _ => each::<u64>(dst, dst_stride, src, src_stride, len),
        }
    }
}

/// Returns the axes by which two spans of the same extents are walked together: for each axis the
/// number of elements and the strides of `to` and of `from`. The last axis is the one along which
/// neighbours in `to` lie closest. Axes along which both spans continue without gaps are merged.
pub(crate) fn walk(to: &Span, from: &Span) -> [(i64, i64, i64); AXES] {
    let mut axes = [(1, 1, 1); AXES];
    for (i, axis) in axes.iter_mut().enumerate() {
        *axis = (to.extents[i], to.strides[i], from.strides[i]);
    }
    if to.is_empty() {
        axes[0].0 = 0;
        return axes;
    }
    // An axis of one element is not walked, so it goes last in the order of strides.
    axes.sort_by_key(|(n, stride, _)| if *n == 1 { i64::MIN } else { -stride.saturating_abs() });
    let mut i = AXES - 1;
    for _ in 1..AXES {
        // Axis i is merged with axis i - 1 if one step of the latter continues the former.
        let ((n, to, from), outer) = (axes[i], axes[i - 1]);
        let follows = |outer: i64, inner: i64| inner.checked_mul(n) == Some(outer);
        if outer.0 == 1 || (follows(outer.1, to) && follows(outer.2, from)) {
            axes[i] = (n * outer.0, to, from);
            axes[..i].rotate_right(1);
            axes[0] = (1, 1, 1);
        } else {
            i -= 1;
        }
    }
    axes
}

/// Copies the elements of one checked span to another of the same extents.
///
/// # Safety
/// The spans do not overlap, unless both are flat.
pub(crate) unsafe fn transfer_all(to: &Span, from: &Span) {
    let axes = walk(to, from);
    // SAFETY: the axes are those of the spans.
    unsafe { transfer_rows(to.base, from.base, &axes, to.ty.size()) };
}

/// Copies elements of `size` bytes along axes (see [`walk`]), the last of which is a row.
///
/// # Safety
/// Both sides hold elements at all indices of the axes; they do not overlap, unless the elements follow each other
/// without gaps.
unsafe fn transfer_rows(to: *mut u8, from: *const u8, axes: &[(i64, i64, i64)], size: usize) {
    match axes {
        [] => {}
        // SAFETY: it is a row of either side.
        [(n, to_step, from_step)] => unsafe { transfer(to, *to_step, from, *from_step, *n, size) },
        [(n, to_step, from_step), inner @ ..] => {
            for i in 0..*n {
                let at = |step: i64| (i * step) as isize * size as isize;
                // SAFETY: it is the part at index i of either side.
                unsafe {
                    transfer_rows(
                        to.wrapping_offset(at(*to_step)),
                        from.wrapping_offset(at(*from_step)),
                        inner,
                        size,
                    )
                };
            }
        }
    }
}

/// Copies one checked span to another of the same extents and type. They may overlap in any way.
pub(crate) fn copy_span(dst: &Span, src: &Span, memory: &Arc<HostMemory>) -> Result<()> {
    if dst.is_same(src) {
        return Ok(());
    }
    if (dst.is_flat() && src.is_flat()) || !dst.overlaps(src) {
        // SAFETY: the spans are checked, and spans with gaps do not overlap here.
        unsafe { transfer_all(dst, src) };
        return Ok(());
    }
    let temporary = Storage::new(src.len(), src.ty.size(), false, Some(memory))?;
    let middle = src.packed(temporary.data());
    // SAFETY: the temporary holds as many elements and does not overlap either span.
    unsafe {
        transfer_all(&middle, src);
        transfer_all(dst, &middle);
    }
    Ok(())
}
