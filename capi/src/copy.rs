//! Copies between views and host memory, and fills.

use crate::abi::{AgpuCall, AgpuStatus, AgpuView};
use crate::buffer::{self, Buffer};
use crate::error::{INVALID_ARGUMENT, OUT_OF_BOUNDS, Result, SHAPE, TYPE_MISMATCH, WRONG_CONTEXT, fail};
use crate::guard::guard_as;
use crate::handle::Pin;
use crate::invoke::context_of;
use crate::memory::{HostMemory, Storage};
use crate::span::{AXES, Span, extents, noun};
use crate::stream::no_stream;
use crate::view::resolve;
use arraygpu_compiler::scalar::Ty;
use std::ffi::c_void;
use std::sync::Arc;

fn open(view: &AgpuView) -> Result<(Pin<Buffer>, Span)> {
    let buffer = buffer::pin(view.buffer)?;
    let span = resolve(view, &buffer)?;
    Ok((buffer, span))
}

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

/// Two spans of the same extents, walked together: so many elements along each axis, and the distances on either side. The last axis is where
/// neighbours of the first span lie closest; axes along which both go on without gaps are one.
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
unsafe fn transfer_all(to: &Span, from: &Span) {
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

/// Copies between two views' buffers, wherever they are.
fn copy_views(dst: &Buffer, to: &Span, src: &Buffer, from: &Span) -> Result<()> {
    match (dst.device(), src.device()) {
        (None, None) => copy_span(to, from, &dst.context.memory),
        (Some(d), Some(s)) => d.copy_from(to, s, from),
        (Some(d), None) if from.is_flat() => d.upload(to, from.base),
        (None, Some(s)) if to.is_flat() => s.download(to.base, from),
        (d, s) => {
            let memory = if d.is_some() { &src.context.memory } else { &dst.context.memory };
            let temporary = Storage::new(from.len(), from.ty.size(), false, Some(memory))?;
            let middle = from.packed(temporary.data());
            if let Some(s) = s {
                s.download(middle.base, from)?;
                return copy_span(to, &middle, memory);
            }
            copy_span(&middle, from, memory)?;
            d.map_or(Ok(()), |d| d.upload(to, middle.base))
        }
    }
}

/// Copies a span in host memory to the caller's.
fn to_host(host: &Span, from: &Span, memory: &Arc<HostMemory>) -> Result<()> {
    copy_span(host, from, memory)?;
    if from.ty == Ty::Bool {
        for i in 0..from.len() as usize {
            let byte = host.base.wrapping_add(i);
            // SAFETY: the caller's memory holds as many bytes, written above.
            unsafe { byte.write(u8::from(byte.read() != 0)) };
        }
    }
    Ok(())
}

fn one_place_each(to: &Span) -> Result<()> {
    if to.overlaps_itself() {
        let strides: Vec<i64> = (0..to.rank as u8).map(|axis| to.stride(axis)).collect();
        match strides[..] {
            [stride] => fail!(SHAPE, "dst has the stride {stride}"),
            _ => fail!(SHAPE, "dst overlaps itself: {} with the strides {strides:?}", extents(to.shape())),
        }
    }
    Ok(())
}

/// Host memory as a span, and the first `count` elements of `span`: of more dimensions than one all of them.
fn with_host(host: *mut c_void, name: &str, count: i64, span: Span) -> Result<(Span, Span)> {
    if count < 0 {
        fail!(INVALID_ARGUMENT, "the count {count} is negative");
    }
    if span.rank > 1 && count != span.len() {
        fail!(OUT_OF_BOUNDS, "the count is {count}, the view has {} elements", extents(span.shape()));
    }
    if count > span.len() {
        fail!(OUT_OF_BOUNDS, "{count} elements do not fit into the view's length {}", span.len());
    }
    if host.is_null() && count > 0 {
        fail!(INVALID_ARGUMENT, "{name} is NULL, the count is {count}");
    }
    let span = match span.rank {
        1 => Span::new(span.base, span.ty, &[count], &[span.stride(0)]),
        _ => span,
    };
    Ok((span.packed(host.cast()), span))
}

/// Copies `count` elements from host memory to the first elements of a view; to a matrix all of its elements,
/// one row after another. Not while another thread uses the buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_copy_from_host(dst: AgpuView, src: *const c_void, count: i64) -> AgpuStatus {
    let copy = || {
        let (pin, span) = open(&dst)?;
        let (host, to) = with_host(src.cast_mut(), "src", count, span)?;
        one_place_each(&to)?;
        match pin.device() {
            Some(device) => device.upload(&to, host.base),
            None => copy_span(&to, &host, &pin.context.memory),
        }
    };
    guard_as("agpu_copy_from_host", copy)
}

/// Copies the first `count` elements of a view to host memory; of a matrix all of its elements, one row after
/// another. A bool arrives as 0 or 1. Not while another thread writes the buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_copy_to_host(dst: *mut c_void, src: AgpuView, count: i64) -> AgpuStatus {
    let copy = || {
        let (pin, span) = open(&src)?;
        let (host, from) = with_host(dst, "dst", count, span)?;
        match pin.device() {
            Some(device) => device.download(host.base, &from),
            None => to_host(&host, &from, &pin.context.memory),
        }
    };
    guard_as("agpu_copy_to_host", copy)
}

/// The stream of a call that copies from or to a buffer.
///
/// # Safety
/// `call` is null or an `agpu_call`.
unsafe fn stream_of(call: *const AgpuCall, buffer: &Buffer) -> Result<*mut c_void> {
    // SAFETY: the caller's promise.
    let (context, stream) = unsafe { context_of(call) }?;
    if context.is_some_and(|c| !Arc::ptr_eq(&c, &buffer.context)) {
        fail!(WRONG_CONTEXT, "the buffer is not of the call's context");
    }
    if buffer.device().is_none() {
        no_stream(stream)?;
    }
    Ok(stream)
}

/// The same as agpu_copy_from_host(), on the call's stream (NULL: the context's own). From pinned memory it
/// returns before it is done: the memory must stay as it is until then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_copy_from_host_async(
    dst: AgpuView,
    src: *const c_void,
    count: i64,
    call: *const AgpuCall,
) -> AgpuStatus {
    let copy = || {
        let (pin, span) = open(&dst)?;
        let (host, to) = with_host(src.cast_mut(), "src", count, span)?;
        one_place_each(&to)?;
        // SAFETY: the caller's promise.
        let stream = unsafe { stream_of(call, &pin) }?;
        match pin.device() {
            Some(device) => device.upload_on(stream.cast(), &to, host.base),
            None => copy_span(&to, &host, &pin.context.memory),
        }
    };
    guard_as("agpu_copy_from_host_async", copy)
}

/// The same as agpu_copy_to_host(), on the call's stream (NULL: the context's own). To pinned memory it
/// returns before it is done, and reports no records: agpu_context_synchronize() does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_copy_to_host_async(
    dst: *mut c_void,
    src: AgpuView,
    count: i64,
    call: *const AgpuCall,
) -> AgpuStatus {
    let copy = || {
        let (pin, span) = open(&src)?;
        let (host, from) = with_host(dst, "dst", count, span)?;
        // SAFETY: the caller's promise.
        let stream = unsafe { stream_of(call, &pin) }?;
        match pin.device() {
            Some(device) => device.download_on(stream.cast(), host.base, &from),
            None => to_host(&host, &from, &pin.context.memory),
        }
    };
    guard_as("agpu_copy_to_host_async", copy)
}

/// Copies a view to another of the same type and extents, also of another context; they may overlap. Between
/// GPUs it returns when it is queued. Not while another thread uses the buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_copy(dst: AgpuView, src: AgpuView) -> AgpuStatus {
    let copy = || {
        let (dst, to) = open(&dst).map_err(|e| e.of("dst"))?;
        let (src, from) = open(&src).map_err(|e| e.of("src"))?;
        if to.ty != from.ty {
            fail!(TYPE_MISMATCH, "dst is a {} of {}, src of {}", noun(to.rank), to.ty, from.ty);
        }
        match (to.shape(), from.shape()) {
            (a, b) if a == b => {}
            ([a], [b]) => fail!(SHAPE, "dst has the length {a}, src {b}"),
            (a, b) => fail!(SHAPE, "dst is {}, src {}", extents(a), extents(b)),
        }
        one_place_each(&to)?;
        copy_views(&dst, &to, &src, &from)
    };
    guard_as("agpu_copy", copy)
}

/// Sets every element of a view to the value at `value` (of the view's type). Not while another thread
/// uses the buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_fill(dst: AgpuView, value: *const c_void) -> AgpuStatus {
    let fill = || {
        let (pin, span) = open(&dst)?;
        if value.is_null() {
            fail!(INVALID_ARGUMENT, "value is NULL");
        }
        let mut element = [0u8; 8];
        one_place_each(&span)?;
        // SAFETY: `value` points at one element (the caller's promise), at most 8 bytes.
        unsafe { std::ptr::copy_nonoverlapping(value.cast(), element.as_mut_ptr(), span.ty.size()) };
        if let Some(device) = pin.device() {
            return device.fill(&span, u64::from_le_bytes(element));
        }
        // every element of the source is this one
        let source = Span { base: element.as_mut_ptr(), strides: [0; AXES], ..span };
        // SAFETY: a checked span.
        unsafe { transfer_all(&span, &source) };
        Ok(())
    };
    guard_as("agpu_fill", fill)
}
