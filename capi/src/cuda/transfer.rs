//! Copies between a GPU and the host and between contexts, and waits.

use super::copy::{fill, normalise, on_device};
use super::gpu::{Gpu, Uncaptured};
use super::memory::Allocation;
use super::records::Reading;
use super::state::Stream;
use super::stream::Queueing;
use crate::error::Result;
use crate::span::Span;
use arraygpu_compiler::scalar::Ty;
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use std::sync::Arc;

/// The use of a stream by a copy: registers the stream as queueing, and marks it at the end.
struct Turn<'a> {
    stream: &'a Stream,
    gpu: &'a Arc<Gpu>,
    capturing: bool,
    _queueing: Queueing<'a>,
    /// Allows the waits of copies whose host memory is not pinned while another stream is being
    /// captured.
    _uncaptured: Uncaptured,
}

impl<'a> Turn<'a> {
    fn new(gpu: &'a Arc<Gpu>, raw: CUstream) -> Result<Turn<'a>> {
        let (stream, capturing) = gpu.stream(raw)?;
        let _queueing = stream.queueing();
        Ok(Turn { stream, gpu, capturing, _queueing, _uncaptured: Uncaptured::enter(gpu.api()) })
    }

    fn uses(&self, memory: &Allocation) -> Result<()> {
        if self.capturing { Ok(()) } else { memory.use_on(self.stream) }
    }

    fn end(&self) -> Result<()> {
        if self.stream.is_own() || self.capturing { Ok(()) } else { self.gpu.mark(self.stream) }
    }

    fn temporary(&self, like: &Span) -> Result<(Allocation, Span)> {
        let made = Allocation::new(self.gpu, like.len(), like.ty.size(), self.stream)?;
        let span = like.packed(made.data());
        Ok((made, span))
    }

    /// Calls `f` with a temporary of the same type and extents as `like`.
    fn through(&self, like: &Span, f: impl FnOnce(&Span) -> Result<()>) -> Result<()> {
        let (memory, span) = self.temporary(like)?;
        let done = f(&span);
        memory.free_on(self.stream);
        done
    }
}

fn address(span: &Span) -> CUdeviceptr {
    span.base.addr() as CUdeviceptr
}

/// Queues a copy of host memory to a checked span of `memory`.
fn queue_from_host(turn: &Turn, memory: &Allocation, to: &Span, host: *const u8) -> Result<()> {
    turn.uses(memory)?;
    let (gpu, raw) = (turn.gpu, turn.stream.raw);
    let flat = |to: &Span| {
        // SAFETY: the host's memory and the span have that many bytes.
        let code = unsafe { (gpu.api().to_device)(address(to), host.cast(), to.bytes(), raw) };
        gpu.check(code, format_args!("copying {} bytes to the device", to.bytes()))
    };
    if to.is_flat() {
        return flat(to);
    }
    turn.through(to, |middle| {
        flat(middle)?;
        on_device(gpu, turn.stream, to, middle)
    })
}

/// Queues a copy of a checked span of `memory` to host memory; a bool arrives as 0 or 1.
fn queue_to_host(turn: &Turn, host: *mut u8, memory: &Allocation, from: &Span) -> Result<()> {
    turn.uses(memory)?;
    let (gpu, raw) = (turn.gpu, turn.stream.raw);
    let flat = |from: &Span| {
        // SAFETY: the reason is the same as above.
        let code = unsafe { (gpu.api().to_host)(host.cast(), address(from), from.bytes(), raw) };
        gpu.check(code, format_args!("copying {} bytes to the host", from.bytes()))
    };
    if from.is_flat() && from.ty != Ty::Bool {
        return flat(from);
    }
    turn.through(from, |middle| {
        match from.ty {
            Ty::Bool => normalise(gpu, turn.stream, middle, from)?,
            _ => on_device(gpu, turn.stream, middle, from)?,
        }
        flat(middle)
    })
}

impl Allocation {
    fn waited(&self, f: impl FnOnce(&Turn) -> Result<()>) -> Result<()> {
        let _current = self.gpu.enter()?;
        let turn = Turn::new(&self.gpu, std::ptr::null_mut())?;
        f(&turn)?;
        self.gpu.synchronize_stream(turn.stream)
    }

    fn queued(&self, stream: CUstream, f: impl FnOnce(&Turn) -> Result<()>) -> Result<()> {
        let _current = self.gpu.enter()?;
        let turn = Turn::new(&self.gpu, stream)?;
        let done = f(&turn);
        done.and(turn.end())
    }

    /// Copies host memory to a checked span of this memory.
    pub fn upload(&self, to: &Span, host: *const u8) -> Result<()> {
        if to.is_empty() { Ok(()) } else { self.waited(|turn| queue_from_host(turn, self, to, host)) }
    }

    /// Queues a copy of host memory to a checked span of this memory on a stream (NULL is the
    /// context's own).
    pub fn upload_on(&self, stream: CUstream, to: &Span, host: *const u8) -> Result<()> {
        if to.is_empty() { Ok(()) } else { self.queued(stream, |turn| queue_from_host(turn, self, to, host)) }
    }

    /// Copies a checked span of this memory to host memory. Reports error records that earlier
    /// calls left.
    pub fn download(&self, host: *mut u8, from: &Span) -> Result<()> {
        if from.is_empty() {
            return Ok(());
        }
        let others = self.last_streams().into_iter().filter(|s| !s.is_own());
        let streams = std::iter::once(self.gpu.own_stream()).chain(others);
        let readings: Vec<_> = streams.filter_map(Reading::begin).collect();
        self.waited(|turn| {
            queue_to_host(turn, host, self, from)?;
            // the copy comes after the work of the memory's last stream
            readings.iter().try_for_each(|r| r.queue(&self.gpu, turn.stream.raw))
        })?;
        readings.into_iter().map(|r| r.check(None)).fold(Ok(()), Result::and)
    }

    /// Queues a copy of a checked span of this memory to host memory on a stream (NULL is the
    /// context's own).
    pub fn download_on(&self, stream: CUstream, host: *mut u8, from: &Span) -> Result<()> {
        if from.is_empty() {
            Ok(())
        } else {
            self.queued(stream, |turn| queue_to_host(turn, host, self, from))
        }
    }

    /// Sets all elements of a checked span of this memory. Returns when that is queued.
    pub fn fill(&self, to: &Span, bits: u64) -> Result<()> {
        self.queued(std::ptr::null_mut(), |turn| {
            turn.uses(self)?;
            fill(&self.gpu, turn.stream, to, bits)
        })
    }

    /// Copies a checked span of `source` to one of this memory, which has the same type and
    /// extents; they may overlap. Returns when that is queued.
    pub fn copy_from(&self, to: &Span, source: &Allocation, from: &Span) -> Result<()> {
        if to.is_empty() || to.is_same(from) {
            return Ok(());
        }
        if !Arc::ptr_eq(&self.gpu, &source.gpu) {
            return across(self, to, source, from);
        }
        self.queued(std::ptr::null_mut(), |turn| {
            turn.uses(self)?;
            turn.uses(source)?;
            let (gpu, stream) = (&self.gpu, turn.stream);
            if !to.overlaps(from) {
                return on_device(gpu, stream, to, from);
            }
            turn.through(from, |middle| {
                on_device(gpu, stream, middle, from)?;
                on_device(gpu, stream, to, middle)
            })
        })
    }
}

/// Copies between two contexts, of one device or of two: gathers the elements on the source, moves
/// them, and scatters them on the target.
fn across(target: &Allocation, to: &Span, source: &Allocation, from: &Span) -> Result<()> {
    let (here, there) = (&target.gpu, &source.gpu);
    let _there = there.enter()?;
    let giving = Turn::new(there, std::ptr::null_mut())?;
    giving.uses(source)?;
    let mut gathered = None;
    let mut sent = *from;
    if !from.is_flat() || to.overlaps(from) {
        let (memory, span) = giving.temporary(from)?;
        gathered = Some(memory);
        sent = span;
        on_device(there, giving.stream, &sent, from)?;
    }
    there.mark(giving.stream)?;

    let current = here.enter()?;
    let taking = Turn::new(here, std::ptr::null_mut())?;
    taking.uses(target)?;
    here.after(taking.stream, giving.stream)?;
    let move_to = |to: &Span| {
        let (size, raw) = (to.bytes(), taking.stream.raw);
        // SAFETY: both sides have that many bytes in their contexts.
        let code =
            unsafe { (here.api().to_peer)(address(to), here.raw, address(&sent), there.raw, size, raw) };
        here.check(
            code,
            format_args!("copying {size} bytes from {} to {}", there.device.title(), here.device.title()),
        )
    };
    if to.is_flat() {
        move_to(to)?;
    } else {
        taking.through(to, |middle| {
            move_to(middle)?;
            on_device(here, taking.stream, to, middle)
        })?;
    }
    // later work on the source's stream may change the source
    here.mark(taking.stream)?;
    drop(current);
    there.after(giving.stream, taking.stream)?;
    if let Some(memory) = gathered {
        memory.free_on(giving.stream);
    }
    Ok(())
}

impl Gpu {
    pub(super) fn synchronize_stream(&self, stream: &Stream) -> Result<()> {
        // SAFETY: the stream is one of this context and exists.
        let code = unsafe { (self.api().stream_synchronize)(stream.raw) };
        self.check(code, "waiting for the stream")
    }

    /// Waits for all calls of this context on a stream.
    pub(super) fn settle(&self, stream: &Stream) -> Result<()> {
        if stream.is_own() {
            return self.synchronize_stream(stream);
        }
        // SAFETY: the event is one of this library, while a stream of the caller may be gone.
        let code = unsafe { (self.api().event_synchronize)(stream.event) };
        self.check(code, "waiting for the calls on a stream")
    }

    /// Waits for all calls of this context on any stream; then returns the error of the first
    /// record that was left, if any.
    pub fn synchronize(&self) -> Result<()> {
        let (_current, _uncaptured) = (self.enter()?, Uncaptured::enter(self.api()));
        let mut found = Ok(());
        for stream in self.streams.iter() {
            let reading = Reading::begin(stream);
            self.settle(stream)?;
            if let Some(reading) = reading {
                reading.queue(self, self.aside)?;
                // SAFETY: the stream is one of this library.
                self.check(unsafe { (self.api().stream_synchronize)(self.aside) }, "reading error records")?;
                found = found.and(reading.check(None));
            }
        }
        found
    }
}
