//! Copies between views and host memory, and fills.

use crate::abi::{AgpuCall, AgpuStatus, AgpuView};
use crate::buffer::{self, Buffer};
use crate::call_options::context_of;
use crate::error::{
    INVALID_ARGUMENT, OUT_OF_BOUNDS, OVERLAP, Result, SHAPE, TYPE_MISMATCH, WRONG_CONTEXT, fail,
};
use crate::guard::guard_as;
use crate::handle::Pin;
use crate::memory::{HostMemory, Storage};
use crate::span::{AXES, Span, extents, noun};
use crate::span_copy::{copy_span, transfer_all};
use crate::view::resolve;
use arraygpu_compiler::counted;
use arraygpu_compiler::scalar::Ty;
use std::ffi::c_void;
use std::sync::Arc;

fn open(view: &AgpuView) -> Result<(Pin<Buffer>, Span)> {
    let buffer = buffer::pin(view.buffer)?;
    let span = resolve(view, &buffer)?;
    Ok((buffer, span))
}

/// Copies between the buffers of two views, which may be on any devices.
fn copy_views(dst: &Buffer, to: &Span, src: &Buffer, from: &Span) -> Result<()> {
    match (dst.device(), src.device()) {
        (None, None) => copy_span(to, from, &dst.context.host.memory),
        (Some(d), Some(s)) => d.copy_from(to, s, from),
        (Some(d), None) if from.is_flat() => d.upload(to, from.base),
        (None, Some(s)) if to.is_flat() => s.download(to.base, from),
        (d, s) => {
            let memory = if d.is_some() { &src.context.host.memory } else { &dst.context.host.memory };
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

/// Copies a span in host memory to the caller's memory.
fn to_host(host: &Span, from: &Span, memory: &Arc<HostMemory>) -> Result<()> {
    copy_span(host, from, memory)?;
    if from.ty == Ty::Bool {
        for i in 0..from.len() as usize {
            let byte = host.base.wrapping_add(i);
            // SAFETY: the caller's memory holds as many bytes, which were written above.
            unsafe { byte.write(u8::from(byte.read() != 0)) };
        }
    }
    Ok(())
}

fn one_place_each(to: &Span) -> Result<()> {
    if to.overlaps_itself() {
        let strides: Vec<i64> = (0..to.rank as u8).map(|axis| to.stride(axis)).collect();
        match strides[..] {
            [stride] => fail!(OVERLAP, "dst has the stride {stride}"),
            _ => fail!(OVERLAP, "dst overlaps itself: {} with the strides {strides:?}", extents(to.shape())),
        }
    }
    Ok(())
}

/// Returns host memory as a span, and the span of the first `count` elements of `span`. With more
/// than one dimension `count` must be the number of all elements.
fn with_host(host: *mut c_void, name: &str, count: i64, span: Span) -> Result<(Span, Span)> {
    if count < 0 {
        fail!(INVALID_ARGUMENT, "the count {count} is negative");
    }
    if span.rank > 1 && count != span.len() {
        fail!(
            OUT_OF_BOUNDS,
            "the count is {count}, the view has {}",
            counted(extents(span.shape()), "element")
        );
    }
    if count > span.len() {
        fail!(
            OUT_OF_BOUNDS,
            "there is no room for {} in the view's length {}",
            counted(count, "element"),
            span.len()
        );
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

/// Copies `count` elements from host memory to the first elements of a view. For a matrix, `count`
/// is the number of all its elements, which are copied row by row. No other thread may use the
/// buffer at the same time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_copy_from_host(dst: AgpuView, src: *const c_void, count: i64) -> AgpuStatus {
    let copy = || {
        let (pin, span) = open(&dst)?;
        let (host, to) = with_host(src.cast_mut(), "src", count, span)?;
        one_place_each(&to)?;
        match pin.device() {
            Some(device) => device.upload(&to, host.base),
            None => copy_span(&to, &host, &pin.context.host.memory),
        }
    };
    guard_as("agpu_copy_from_host", copy)
}

/// Copies the first `count` elements of a view to host memory. For a matrix, `count` is the number
/// of all its elements, which are copied row by row. A bool arrives as 0 or 1. No other thread may
/// write to the buffer at the same time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_copy_to_host(dst: *mut c_void, src: AgpuView, count: i64) -> AgpuStatus {
    let copy = || {
        let (pin, span) = open(&src)?;
        let (host, from) = with_host(dst, "dst", count, span)?;
        match pin.device() {
            Some(device) => device.download(host.base, &from),
            None => to_host(&host, &from, &pin.context.host.memory),
        }
    };
    guard_as("agpu_copy_to_host", copy)
}

/// Returns the stream of a call that copies from or to a buffer.
///
/// # Safety
/// `call` is null or an `agpu_call`.
unsafe fn stream_of(call: *const AgpuCall, buffer: &Buffer) -> Result<*mut c_void> {
    // SAFETY: the caller guarantees this.
    let (context, stream) = unsafe { context_of(call) }?;
    if context.is_some_and(|c| !Arc::ptr_eq(&c, &buffer.context)) {
        fail!(WRONG_CONTEXT, "the buffer is not of the call's context");
    }
    buffer.context.device.check_stream(stream)?;
    Ok(stream)
}

/// Does what agpu_copy_from_host() does, on the call's stream (NULL: the context's own). From
/// pinned memory it returns before the copy is done, and the memory must not change until then.
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
        // SAFETY: the caller guarantees this.
        let stream = unsafe { stream_of(call, &pin) }?;
        match pin.device() {
            Some(device) => device.upload_on(stream.cast(), &to, host.base),
            None => copy_span(&to, &host, &pin.context.host.memory),
        }
    };
    guard_as("agpu_copy_from_host_async", copy)
}

/// Does what agpu_copy_to_host() does, on the call's stream (NULL: the context's own). To pinned
/// memory it returns before the copy is done, and does not report error records;
/// agpu_context_synchronize() does.
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
        // SAFETY: the caller guarantees this.
        let stream = unsafe { stream_of(call, &pin) }?;
        match pin.device() {
            Some(device) => device.download_on(stream.cast(), host.base, &from),
            None => to_host(&host, &from, &pin.context.host.memory),
        }
    };
    guard_as("agpu_copy_to_host_async", copy)
}

/// Copies a view to another one of the same type and extents, which may be in another context; the
/// views may overlap. Between GPUs it returns when the copy is queued. No other thread may use the
/// buffers at the same time.
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

/// Sets every element of a view to the value at `value`, which has the view's type. No other thread
/// may use the buffer at the same time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_fill(dst: AgpuView, value: *const c_void) -> AgpuStatus {
    let fill = || {
        let (pin, span) = open(&dst)?;
        if value.is_null() {
            fail!(INVALID_ARGUMENT, "value is NULL");
        }
        let mut element = [0u8; 8];
        one_place_each(&span)?;
        // SAFETY: `value` points at one element of at most 8 bytes, which the caller guarantees.
        unsafe { std::ptr::copy_nonoverlapping(value.cast(), element.as_mut_ptr(), span.ty.size()) };
        if let Some(device) = pin.device() {
            return device.fill(&span, u64::from_le_bytes(element));
        }
        // All strides of the source are 0, so that every element is this one.
        let source = Span { base: element.as_mut_ptr(), strides: [0; AXES], ..span };
        // SAFETY: the span is checked.
        unsafe { transfer_all(&span, &source) };
        Ok(())
    };
    guard_as("agpu_fill", fill)
}
