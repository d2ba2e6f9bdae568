//! Copies of spans in host memory.

use crate::error::Result;
use crate::memory::{HostMemory, Storage};
use crate::span::{AXES, Span};
use std::sync::Arc;

/// Copies `len` elements of `size` bytes.
///
/// # Safety
/// Both sides hold `len` elements at their strides (in elements), and do not overlap unless both strides are 1.
unsafe fn transfer(dst: *mut u8, dst_stride: i64, src: *const u8, src_stride: i64, len: i64, size: usize) {
    if len == 0 {
        return;
    }
    if dst_stride == 1 && src_stride == 1 {
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy(src, dst, len as usize * size) };
        return;
    }
    /// One element type's loop; the memory may be unaligned (host side).
    unsafe fn each<T>(dst: *mut u8, dst_stride: i64, src: *const u8, src_stride: i64, len: i64) {
        let (dst, src) = (dst.cast::<T>(), src.cast::<T>());
        for i in 0..len as isize {
            // SAFETY: element i of either side, by the caller's promise.
            unsafe {
                let value = src.offset(i * src_stride as isize).read_unaligned();
                dst.offset(i * dst_stride as isize).write_unaligned(value);
            }
        }
    }
    // SAFETY: the caller's promise.
    unsafe {
        match size {
            1 => each::<u8>(dst, dst_stride, src, src_stride, len),
            2 => each::<u16>(dst, dst_stride, src, src_stride, len),
            4 => each::<u32>(dst, dst_stride, src, src_stride, len),
            _ => each::<u64>(dst, dst_stride, src, src_stride, len),
        }
    }
}

/// Two spans of the same extents, walked together: the number of elements along each axis, and the distances on
/// either side. The last axis is where neighbours of the first span lie closest; axes along which both go on
/// without gaps are one.
pub(crate) fn walk(to: &Span, from: &Span) -> [(i64, i64, i64); AXES] {
    let mut axes = [(1, 1, 1); AXES];
    for (i, axis) in axes.iter_mut().enumerate() {
        *axis = (to.extents[i], to.strides[i], from.strides[i]);
    }
    if to.is_empty() {
        axes[0].0 = 0;
        return axes;
    }
    // one element along an axis: nothing is walked there
    axes.sort_by_key(|(n, stride, _)| if *n == 1 { i64::MIN } else { -stride.saturating_abs() });
    let mut i = AXES - 1;
    for _ in 1..AXES {
        // what lies inside of axis i - 1
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
/// They do not overlap, unless both are flat.
pub(crate) unsafe fn transfer_all(to: &Span, from: &Span) {
    let [outer, middle, inner] = walk(to, from);
    let size = to.ty.size();
    for (i, j) in (0..outer.0).flat_map(|i| (0..middle.0).map(move |j| (i, j))) {
        let at = |base: *mut u8, outer: i64, middle: i64| {
            base.wrapping_offset((i * outer + j * middle) as isize * size as isize)
        };
        let (to, from) = (at(to.base, outer.1, middle.1), at(from.base, outer.2, middle.2));
        // SAFETY: a row of either side, which are checked spans.
        unsafe { transfer(to, inner.1, from, inner.2, inner.0, size) };
    }
}

/// Copies one checked span to another of the same extents and type; they may overlap in any way.
pub(crate) fn copy_span(dst: &Span, src: &Span, memory: &Arc<HostMemory>) -> Result<()> {
    if dst.is_same(src) {
        return Ok(());
    }
    if (dst.is_flat() && src.is_flat()) || !dst.overlaps(src) {
        // SAFETY: checked spans; where there are gaps they do not overlap.
        unsafe { transfer_all(dst, src) };
        return Ok(());
    }
    let temporary = Storage::new(src.len(), src.ty.size(), false, Some(memory))?;
    let middle = src.packed(temporary.data());
    // SAFETY: the temporary holds as many elements and overlaps nothing.
    unsafe {
        transfer_all(&middle, src);
        transfer_all(dst, &middle);
    }
    Ok(())
}
