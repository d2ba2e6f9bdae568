//! Bounds checks of views, and functions that make a view of a part of a view.

use crate::abi::{AgpuElement, AgpuStatus, AgpuView};
use crate::buffer::{self, Buffer, element};
use crate::error::{INVALID_ARGUMENT, OUT_OF_BOUNDS, Result, SHAPE, TYPE_MISMATCH, error, fail, out};
use crate::guard::guard_as;
use crate::span::{AXES, RANKS, Span, count, extents};
use arraygpu_compiler::counted;
use arraygpu_compiler::scalar::Ty;

/// Checks a view against its buffer and returns its span.
pub(crate) fn resolve(view: &AgpuView, buffer: &Buffer) -> Result<Span> {
    let mut span = Span::nothing(elements(view, buffer)?);
    resolve_into(view, buffer, &mut span)?;
    Ok(span)
}

/// Returns the type of a view's elements: that of its buffer, or, of a buffer of bytes, the one that the view names.
#[inline]
pub(crate) fn elements(view: &AgpuView, buffer: &Buffer) -> Result<Ty> {
    let AgpuElement { kind, size } = view.element;
    let own = element(buffer.ty);
    if (kind, size) == (own.kind, own.size) || (kind, size) == (0, 0) {
        return Ok(buffer.ty);
    }
    of_bytes(view, buffer)
}

/// The same for a view whose elements are not those of its buffer.
#[cold]
fn of_bytes(view: &AgpuView, buffer: &Buffer) -> Result<Ty> {
    let (AgpuElement { kind, size }, own) = (view.element, element(buffer.ty));
    let named =
        usize::try_from(kind).ok().and_then(|k| Ty::ALL.get(k)).filter(|ty| ty.size() == size as usize);
    match named {
        Some(ty) if buffer.ty == Ty::U8 => {
            if !buffer.data.addr().is_multiple_of(ty.size()) {
                fail!(
                    INVALID_ARGUMENT,
                    "the buffer's bytes do not begin at a multiple of {size}, the size of the view's elements"
                );
            }
            Ok(*ty)
        }
        _ => fail!(
            TYPE_MISMATCH,
            "the view says that its elements are of type {kind} and {}, its buffer's are {} (type {}, {})",
            counted(size, "byte"),
            buffer.ty,
            own.kind,
            counted(own.size, "byte")
        ),
    }
}

/// Does the same as [`resolve`] and writes the result to a span that has the type of the view's elements.
#[inline]
pub(crate) fn resolve_into(view: &AgpuView, buffer: &Buffer, span: &mut Span) -> Result<()> {
    let Some(rank) = usize::try_from(view.rank).ok().filter(|r| (1..=AXES).contains(r)) else {
        fail!(
            SHAPE,
            "the view has rank {}, a vector has rank 1, a matrix 2; 3 is the most, and 4 of the bytes of structs",
            view.rank
        );
    };
    if rank > RANKS && span.ty != Ty::U8 {
        fail!(SHAPE, "the view has rank {rank}, which only bytes may have, as structs of three dimensions");
    }
    if !view.length.is_null() || view.reserved[0] | view.reserved[1] != 0 {
        fail!(INVALID_ARGUMENT, "the view's fields `length` and `reserved` must be 0 in this version");
    }
    let (offset, shape, strides) = (view.offset, &view.extent[..rank], &view.stride[..rank]);
    if let Some(n) = shape.iter().find(|n| **n < 0) {
        if let [n] = shape {
            fail!(OUT_OF_BOUNDS, "the view has the negative length {n}");
        }
        fail!(OUT_OF_BOUNDS, "the view of {} has the negative extent {n}", extents(shape));
    }
    let Some(count) = count(shape) else {
        fail!(OUT_OF_BOUNDS, "the view has {} elements, more than can be counted", extents(shape));
    };
    // Bytes after the last whole element hold no element.
    let held = if span.ty == buffer.ty { buffer.count } else { buffer.count / span.ty.size() as i64 };
    let is_inside = if count == 0 {
        (0..=held).contains(&offset)
    } else {
        // A distance that overflows is out of bounds.
        reach(offset, shape, strides).is_some_and(|(first, last)| first >= 0 && last < held)
    };
    if !is_inside {
        return Err(outside(view, held));
    }
    let base = buffer.data.wrapping_offset(offset as isize * span.ty.size() as isize);
    span.set(base, shape, strides);
    Ok(())
}

/// Returns the offsets of the first and the last element of a view in memory, in elements. The view
/// must not be empty.
#[inline]
fn reach(offset: i64, shape: &[i64], strides: &[i64]) -> Option<(i64, i64)> {
    let (mut first, mut last) = (offset, offset);
    for (n, stride) in shape.iter().zip(strides) {
        let far = stride.checked_mul(n - 1)?;
        let end = if far < 0 { &mut first } else { &mut last };
        *end = end.checked_add(far)?;
    }
    Some((first, last))
}

#[cold]
fn outside(view: &AgpuView, held: i64) -> crate::error::Error {
    let (offset, rank) = (view.offset, view.rank as usize);
    let list = |values: &[i64]| values.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    let (shape, strides) = (&view.extent[..rank], list(&view.stride[..rank]));
    let what = match shape {
        [len] => format!("length {len}, stride {strides}"),
        _ => format!("extents {}, strides {strides}", extents(shape)),
    };
    error(
        OUT_OF_BOUNDS,
        format!(
            "the view (offset {offset}, {what}) reaches outside of its buffer of {}",
            counted(held, "element")
        ),
    )
}

/// Runs a function of the C ABI that makes a view of a view, which is checked first.
fn part(
    name: &str,
    view: AgpuView,
    out: *mut AgpuView,
    change: impl FnOnce(&mut AgpuView) -> Result<()>,
) -> AgpuStatus {
    let make = || {
        let out = self::out(out, "out")?;
        resolve(&view, &*buffer::pin(view.buffer)?)?;
        let mut part = view;
        change(&mut part)?;
        out.write(part);
        Ok(())
    };
    guard_as(name, make)
}

/// Checks that a view of this rank has the axis.
fn axis_of(view: &AgpuView, axis: i32) -> Result<usize> {
    match usize::try_from(axis) {
        Ok(i) if i < view.rank as usize => Ok(i),
        _ => fail!(INVALID_ARGUMENT, "there is no axis {axis}, the view has rank {}", view.rank),
    }
}

/// Makes a view of the elements of a view at the indices start, start + stride, ... below stop
/// along an axis. A vector has axis 0; axis 0 of a matrix goes from row to row. Requires 0 <= start
/// <= stop <= the extent, else AGPU_ERROR_OUT_OF_BOUNDS, and stride >= 1. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_view_slice(
    view: AgpuView,
    axis: i32,
    start: i64,
    stop: i64,
    stride: i64,
    out: *mut AgpuView,
) -> AgpuStatus {
    part("agpu_view_slice", view, out, |part| {
        let axis = axis_of(&view, axis)?;
        let len = view.extent[axis];
        if stride < 1 {
            fail!(INVALID_ARGUMENT, "the stride is {stride}, it must be 1 or more");
        }
        if start < 0 || stop < start || stop > len {
            if view.rank == 1 {
                fail!(OUT_OF_BOUNDS, "the slice {start}..{stop} does not fit into the length {len}");
            }
            let shape = extents(&view.extent[..view.rank as usize]);
            fail!(
                OUT_OF_BOUNDS,
                "the slice {start}..{stop} does not fit into the extent {len} of axis {axis} of {shape}"
            );
        }
        let count = (stop - start) / stride + i64::from((stop - start) % stride != 0);
        part.extent[axis] = count;
        // A start inside the view cannot overflow. Without elements the offset does not matter.
        if !part.extent[..part.rank as usize].contains(&0) {
            part.offset += start * view.stride[axis];
        }
        // The stride of a single element does not matter.
        if count > 1 {
            part.stride[axis] = view.stride[axis].wrapping_mul(stride);
        }
        Ok(())
    })
}

/// Makes a view of the same elements with two axes exchanged; those of a matrix are 0 and 1.
/// Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_view_transpose(
    view: AgpuView,
    first: i32,
    second: i32,
    out: *mut AgpuView,
) -> AgpuStatus {
    part("agpu_view_transpose", view, out, |part| {
        let (first, second) = (axis_of(&view, first)?, axis_of(&view, second)?);
        part.extent.swap(first, second);
        part.stride.swap(first, second);
        Ok(())
    })
}

/// Makes a view of the elements at one index along an axis, which has one axis less. Of a matrix it
/// is row `index` for axis 0 and column `index` for axis 1. Requires 0 <= index < the extent, else
/// AGPU_ERROR_OUT_OF_BOUNDS. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_view_pick(
    view: AgpuView,
    axis: i32,
    index: i64,
    out: *mut AgpuView,
) -> AgpuStatus {
    part("agpu_view_pick", view, out, |part| {
        let axis = axis_of(&view, axis)?;
        let (len, rank) = (view.extent[axis], view.rank as usize);
        if rank == 1 {
            fail!(SHAPE, "the view is a vector: slice it");
        }
        if index < 0 || index >= len {
            let shape = extents(&view.extent[..rank]);
            fail!(OUT_OF_BOUNDS, "there is no index {index} along axis {axis} of {shape}");
        }
        part.extent[axis..rank].rotate_left(1);
        part.stride[axis..rank].rotate_left(1);
        (part.extent[rank - 1], part.stride[rank - 1]) = (1, 1);
        part.rank -= 1;
        // Without elements the offset does not matter.
        if !part.extent[..rank - 1].contains(&0) {
            part.offset += index * view.stride[axis];
        }
        Ok(())
    })
}
