//! Copies and fills on a GPU. What is not contiguous goes through small kernels of our own.

use super::driver::Code;
use super::gpu::Gpu;
use super::images::Image;
use super::stream::Stream;
use crate::error::Result;
use crate::view::Span;
use cudarc::driver::sys::{CUdeviceptr, CUfunction, CUstream};
use std::ffi::c_void;
use std::ptr::null_mut;

/// What a kernel of ours does with each element.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Op {
    Copy,
    /// Writes one value.
    Fill,
    /// Copies bytes; what is not 0 becomes 1.
    Bool,
    /// Exchanges words for 0, and raises the target to them.
    Take,
}

/// Kernels of ours: each operation for elements of 1, 2, 4 and 8 bytes; words are taken 8 bytes at a time only.
pub(super) const KERNELS: usize = 13;
const THREADS: u32 = 256;

fn number(op: Op, size: usize) -> usize {
    match op {
        Op::Take => KERNELS - 1,
        _ => op as usize * 4 + size.ilog2() as usize,
    }
}

/// `n` elements of `size` bytes; steps are in bytes. A fill's value comes in place of the source.
fn ptx(op: Op, size: usize) -> String {
    let bits = size * 8;
    let load = match op {
        Op::Fill => String::new(),
        Op::Take => {
            "mad.lo.s64 %a, %i, %from_step, %from;\n    atom.global.exch.b64 %v, [%a], 0;\n    ".into()
        }
        _ => format!("mad.lo.s64 %a, %i, %from_step, %from;\n    ld.global.u{bits} %v, [%a];\n    "),
    };
    let change = match op {
        Op::Bool => "setp.ne.u64 %p, %v, 0;\n    selp.b64 %v, 1, 0, %p;\n    ",
        // the target is the host's: touched only if there is something
        Op::Take => {
            "setp.eq.u64 %p, %v, 0;
    @%p bra skip;
    mad.lo.s64 %a, %i, %to_step, %to;
    ld.global.u64 %old, [%a];
    max.u64 %v, %v, %old;
    "
        }
        _ => "",
    };
    format!(
        ".version 7.0
.target sm_80
.address_size 64
.visible .entry arraygpu_each(.param .u64 to, .param .u64 to_step, .param .u64 from, .param .u64 from_step, .param .u64 count)
{{
    .reg .pred %p;
    .reg .b32 %block, %size, %thread;
    .reg .b64 %to, %to_step, %from, %from_step, %count, %i, %by, %a, %v, %old;
    ld.param.u64 %to, [to];
    ld.param.u64 %to_step, [to_step];
    ld.param.u64 %from, [from];
    ld.param.u64 %from_step, [from_step];
    ld.param.u64 %count, [count];
    mov.u32 %block, %ctaid.x;
    mov.u32 %size, %ntid.x;
    mov.u32 %thread, %tid.x;
    mul.wide.u32 %i, %block, %size;
    cvt.u64.u32 %by, %thread;
    add.s64 %i, %i, %by;
    mov.u32 %block, %nctaid.x;
    mul.wide.u32 %by, %block, %size;
    mov.b64 %v, %from;
next:
    setp.ge.s64 %p, %i, %count;
    @%p bra done;
    {load}{change}mad.lo.s64 %a, %i, %to_step, %to;
    st.global.u{bits} [%a], %v;
skip:
    add.s64 %i, %i, %by;
    bra next;
done:
    ret;
}}
\0"
    )
}

impl Gpu {
    fn copy_kernel(&self, op: Op, size: usize) -> Result<CUfunction> {
        self.code.own(number(op, size), || {
            let text = ptx(op, size);
            let image = Image { arch: 0, data: text.as_ptr().cast() };
            self.load_own(image, "arraygpu_each").map_err(|e| e.of("a copy kernel"))
        })
    }
}

/// Runs a kernel of ours over `n` elements. Strides are in elements.
fn each(gpu: &Gpu, stream: &Stream, op: Op, to: &Span, from: u64, from_stride: i64) -> Result<()> {
    let size = to.ty.size();
    let step = |stride: i64| stride.wrapping_mul(size as i64) as u64;
    let values = [to.base.addr() as u64, step(to.stride), from, step(from_stride), to.len as u64];
    // SAFETY: both sides are checked spans of `len` elements.
    let code = unsafe { launch(gpu, stream.raw, gpu.copy_kernel(op, size)?, values) };
    gpu.check(code, format_args!("copying {} elements of {size} bytes", to.len))
}

/// # Safety
/// The function is a kernel of ours, of which the words are the parameters: memory of that many elements.
unsafe fn launch(gpu: &Gpu, stream: CUstream, function: CUfunction, mut values: [u64; 5]) -> Code {
    let blocks = values[4].div_ceil(THREADS.into()).min(u64::from(gpu.device.multiprocessors) * 16) as u32;
    let mut params = values.each_mut().map(|v| (&raw mut *v).cast::<c_void>());
    // SAFETY: five words, which the kernel takes.
    unsafe {
        (gpu.api().launch)(function, blocks, 1, 1, THREADS, 1, 1, 0, stream, params.as_mut_ptr(), null_mut())
    }
}

/// Loads what `take` needs.
pub(super) fn prepare_take(gpu: &Gpu) -> Result<()> {
    gpu.copy_kernel(Op::Take, 8).map(drop)
}

/// Exchanges words of ours for 0, and raises as many others to them: nothing that is raised meanwhile is lost.
pub(super) fn take(
    gpu: &Gpu,
    stream: CUstream,
    to: CUdeviceptr,
    from: CUdeviceptr,
    words: u64,
) -> Result<()> {
    // SAFETY: the caller's words, which live as long as the context.
    let code = unsafe { launch(gpu, stream, gpu.copy_kernel(Op::Take, 8)?, [to, 8, from, 8, words]) };
    gpu.check(code, format_args!("taking {words} words"))
}

/// Loads what a copy to the span from contiguous memory needs.
pub(super) fn prepare(gpu: &Gpu, to: &Span) -> Result<()> {
    if to.is_contiguous() { Ok(()) } else { gpu.copy_kernel(Op::Copy, to.ty.size()).map(drop) }
}

/// Copies between checked spans on one device, of the same length, that do not overlap.
pub(super) fn on_device(gpu: &Gpu, stream: &Stream, to: &Span, from: &Span) -> Result<()> {
    let address = |s: &Span| s.base.addr() as CUdeviceptr;
    if to.len == 0 {
        return Ok(());
    }
    if !(to.is_contiguous() && from.is_contiguous()) {
        return each(gpu, stream, Op::Copy, to, address(from), from.stride);
    }
    let bytes = to.len as usize * to.ty.size();
    // SAFETY: checked spans of that many bytes.
    let code = unsafe { (gpu.api().on_device)(address(to), address(from), bytes, stream.raw) };
    gpu.check(code, format_args!("copying {bytes} bytes on the device"))
}

/// Copies bytes to contiguous memory; what is not 0 becomes 1.
pub(super) fn normalise(gpu: &Gpu, stream: &Stream, to: &Span, from: &Span) -> Result<()> {
    each(gpu, stream, Op::Bool, to, from.base.addr() as u64, from.stride)
}

/// Sets all elements of a checked span to the value with these bits.
pub(super) fn fill(gpu: &Gpu, stream: &Stream, to: &Span, bits: u64) -> Result<()> {
    let (address, len) = (to.base.addr() as CUdeviceptr, to.len as usize);
    if len == 0 {
        return Ok(());
    }
    let halves = (bits as u32, (bits >> 32) as u32);
    // SAFETY: a checked span of `len` elements.
    let code = unsafe {
        match to.ty.size() {
            _ if !to.is_contiguous() => return each(gpu, stream, Op::Fill, to, bits, 0),
            1 => (gpu.api().set_u8)(address, bits as u8, len, stream.raw),
            2 => (gpu.api().set_u16)(address, bits as u16, len, stream.raw),
            4 => (gpu.api().set_u32)(address, halves.0, len, stream.raw),
            _ if halves.0 == halves.1 => (gpu.api().set_u32)(address, halves.0, 2 * len, stream.raw),
            _ => return each(gpu, stream, Op::Fill, to, bits, 0),
        }
    };
    gpu.check(code, format_args!("filling {len} elements"))
}

#[cfg(test)]
#[path = "../../../compiler/tests/common/ptxas.rs"]
mod ptxas;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_has_a_number_and_assembles() {
        let tool = ptxas::find();
        let mut modules: Vec<Option<ptxas::Module>> = (0..KERNELS).map(|_| None).collect();
        for op in [Op::Copy, Op::Fill, Op::Bool, Op::Take] {
            for size in if op == Op::Take { &[8][..] } else { &[1, 2, 4, 8] } {
                let size = *size;
                let (name, text) = (format!("{} of {size}", op as usize), ptx(op, size));
                let ptx = text.trim_end_matches('\0').to_string();
                assert!(modules[number(op, size)].replace(ptxas::Module { name, ptx }).is_none());
            }
        }
        let modules: Vec<_> = modules.into_iter().flatten().collect();
        let archs = ptxas::architectures(&tool);
        let jobs: Vec<_> = modules.iter().flat_map(|m| archs.iter().map(move |a| (m, *a))).collect();
        assert_eq!(jobs.len(), KERNELS * 3);
        assert!(ptxas::assemble(&tool, &jobs).iter().all(|u| u.spills == 0));
    }
}
