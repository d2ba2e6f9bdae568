//! Reads data on a GPU for `ARRAYGPU_CHECK`: through the host, after all work of the stream.

use super::call::Call;
use super::gpu::{Gpu, Uncaptured};
use super::state::Stream;
use crate::buffer::Memory;
use crate::check::{Reader, Values};
use crate::error::{OUT_OF_MEMORY, Result, error};
use crate::guards::{self, GUARD};
use crate::span::Span;
use crate::workspace::Workspace;
use arraygpu_compiler::scalar::Ty;
use cudarc::driver::sys::CUdeviceptr;

impl Reader for &Call<'_> {
    fn values(&self, ws: &Workspace, place: usize, ty: Ty, is_scalar: bool) -> Result<Values> {
        let mut span = ws.spans[place];
        if is_scalar {
            span = Span::scalar(std::ptr::without_provenance_mut(ws.frame.scalars[place] as usize), ty);
        }
        if span.is_empty() {
            return Ok(Values { span, _copied: Vec::new() });
        }
        let (first, end) = span.reach();
        let mut copied = read(self.gpu, self.stream, first as CUdeviceptr, (end - first) as usize)?;
        span.base = copied.as_mut_ptr().wrapping_add((span.base.addr() as i64 - first) as usize);
        Ok(Values { span, _copied: copied })
    }

    fn is_overrun(&self, memory: &Memory) -> Result<bool> {
        let Memory::Device(allocation) = memory else { return Ok(false) };
        let Some(guard) = allocation.guard() else { return Ok(false) };
        Ok(!guards::is_whole(&read(self.gpu, self.stream, guard, GUARD)?))
    }
}

/// Copies bytes of the device to the host, after all that is queued on the stream.
pub(super) fn read(gpu: &Gpu, stream: &Stream, from: CUdeviceptr, bytes: usize) -> Result<Vec<u8>> {
    let _uncaptured = Uncaptured::enter(gpu.api());
    let mut host = Vec::new();
    host.try_reserve_exact(bytes)
        .map_err(|_| error(OUT_OF_MEMORY, format!("no memory to check {bytes} bytes in")))?;
    host.resize(bytes, 0u8);
    // SAFETY: both sides have that many bytes until the wait for the stream.
    let code = unsafe { (gpu.api().to_host)(host.as_mut_ptr().cast(), from, bytes, stream.raw) };
    let queued = gpu.check(code, format_args!("copying {bytes} bytes to check them"));
    let done = gpu.synchronize_stream(stream);
    queued.and(done)?;
    Ok(host)
}
