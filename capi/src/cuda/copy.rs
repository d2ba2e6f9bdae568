//! Copies and fills on a GPU. What is not contiguous goes through small kernels of our own.

use super::driver::Code;
use super::gpu::Gpu;
use super::images::Image;
use super::state::{KERNELS, Stream};
use crate::error::Result;
use crate::span::{AXES, Span};
use crate::span_copy::walk;
use cudarc::driver::sys::{CUdeviceptr, CUfunction, CUstream};
use std::ffi::c_void;
use std::ptr::{null_mut, without_provenance_mut};

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

/// How the elements are found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Walk {
    /// Along one axis.
    Each,
    /// Along three.
    Rows,
}

impl Walk {
    fn entry(self) -> &'static str {
        if self == Walk::Each { "arraygpu_each" } else { "arraygpu_rows" }
    }
}

const THREADS: u32 = 256;

fn number(op: Op, size: usize, walk: Walk) -> usize {
    match op {
        Op::Take => KERNELS - 1,
        _ => walk as usize * 12 + op as usize * 4 + size.ilog2() as usize,
    }
}

/// The parameters of all kernels, then those of three axes. Steps are in bytes; `inner` and `middle` are extents.
const PARAMS: [&str; 11] = [
    "to",
    "to_step",
    "from",
    "from_step",
    "count",
    "inner",
    "middle",
    "to_middle",
    "to_outer",
    "from_middle",
    "from_outer",
];

/// What finds the element's three indices: element `i` of them all is `j` of row `m` of part `o`.
const INDICES: &str = "@%long bra divide;
    cvt.u32.u64 %small, %i;
    cvt.u32.u64 %by_inner, %inner;
    cvt.u32.u64 %by_middle, %middle;
    div.u32 %row, %small, %by_inner;
    mul.lo.u32 %thread, %row, %by_inner;
    sub.u32 %thread, %small, %thread;
    cvt.u64.u32 %j, %thread;
    div.u32 %small, %row, %by_middle;
    cvt.u64.u32 %o, %small;
    mul.lo.u32 %small, %small, %by_middle;
    sub.u32 %small, %row, %small;
    cvt.u64.u32 %m, %small;
    bra found;
divide:
    div.u64 %o, %i, %inner;
    rem.u64 %j, %i, %inner;
    rem.u64 %m, %o, %middle;
    div.u64 %o, %o, %middle;
found:
    ";

/// `n` elements of `size` bytes. A fill's value comes in place of the source.
fn ptx(op: Op, size: usize, walk: Walk) -> String {
    let bits = size * 8;
    let (params, index, indices) = match walk {
        Walk::Each => (&PARAMS[..5], "%i", ""),
        Walk::Rows => (&PARAMS[..], "%j", INDICES),
    };
    let address = |side: &str| {
        let mut text = format!("mad.lo.s64 %a, {index}, %{side}_step, %{side};\n    ");
        if walk == Walk::Rows {
            text += &format!(
                "mad.lo.s64 %a, %m, %{side}_middle, %a;\n    mad.lo.s64 %a, %o, %{side}_outer, %a;\n    "
            );
        }
        text
    };
    let load = match op {
        Op::Fill => String::new(),
        Op::Take => format!("{}atom.global.exch.b64 %v, [%a], 0;\n    ", address("from")),
        _ => format!("{}ld.global.u{bits} %v, [%a];\n    ", address("from")),
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
    let list: Vec<String> = params.iter().map(|p| format!(".param .u64 {p}")).collect();
    let registers: String = params.iter().map(|p| format!("%{p}, ")).collect();
    let loads: String = params.iter().map(|p| format!("ld.param.u64 %{p}, [{p}];\n    ")).collect();
    format!(
        ".version 7.0
.target sm_80
.address_size 64
.visible .entry {}({})
{{
    .reg .pred %p, %long;
    .reg .b32 %block, %size, %thread, %small, %row, %by_inner, %by_middle;
    .reg .b64 {registers}%i, %by, %a, %v, %old, %j, %m, %o;
    {loads}mov.u32 %block, %ctaid.x;
    mov.u32 %size, %ntid.x;
    mov.u32 %thread, %tid.x;
    mul.wide.u32 %i, %block, %size;
    cvt.u64.u32 %by, %thread;
    add.s64 %i, %i, %by;
    mov.u32 %block, %nctaid.x;
    mul.wide.u32 %by, %block, %size;
    mov.b64 %v, %from;
    setp.gt.u64 %long, %count, 0xffffffff;
next:
    setp.ge.s64 %p, %i, %count;
    @%p bra done;
    {indices}{load}{change}{}st.global.u{bits} [%a], %v;
skip:
    add.s64 %i, %i, %by;
    bra next;
done:
    ret;
}}
\0",
        walk.entry(),
        list.join(", "),
        address("to")
    )
}

impl Gpu {
    fn copy_kernel(&self, op: Op, size: usize, walk: Walk) -> Result<CUfunction> {
        self.code.own(number(op, size, walk), || {
            let text = ptx(op, size, walk);
            let image = Image { arch: 0, data: text.as_ptr().cast() };
            self.load_own(image, walk.entry()).map_err(|e| e.of("a copy kernel"))
        })
    }
}

fn way(to: &Span, from: &Span) -> Walk {
    let [outer, middle, _] = walk(to, from);
    if outer.0 == 1 && middle.0 == 1 { Walk::Each } else { Walk::Rows }
}

/// Runs a kernel of ours over all elements of a checked span, and those of another of the same extents.
fn each(gpu: &Gpu, stream: &Stream, op: Op, to: &Span, from: &Span) -> Result<()> {
    let size = to.ty.size();
    let ([outer, middle, inner], way) = (walk(to, from), way(to, from));
    let step = |stride: i64| stride.wrapping_mul(size as i64) as u64;
    let values = [
        to.base.addr() as u64,
        step(inner.1),
        from.base.addr() as u64,
        step(inner.2),
        to.len() as u64,
        inner.0 as u64,
        middle.0 as u64,
        step(middle.1),
        step(outer.1),
        step(middle.2),
        step(outer.2),
    ];
    // SAFETY: both sides are checked spans of as many elements.
    let code = unsafe { launch(gpu, stream.raw, gpu.copy_kernel(op, size, way)?, values) };
    gpu.check(code, format_args!("copying {} elements of {size} bytes", to.len()))
}

/// # Safety
/// The function is a kernel of ours, of which the words, or the first of them, are the parameters: memory of that many elements.
unsafe fn launch(gpu: &Gpu, stream: CUstream, function: CUfunction, mut values: [u64; PARAMS.len()]) -> Code {
    let blocks = values[4].div_ceil(THREADS.into()).min(u64::from(gpu.device.multiprocessors) * 16) as u32;
    let mut params = values.each_mut().map(|v| (&raw mut *v).cast::<c_void>());
    // SAFETY: at least the words that the kernel takes.
    unsafe {
        (gpu.api().launch)(function, blocks, 1, 1, THREADS, 1, 1, 0, stream, params.as_mut_ptr(), null_mut())
    }
}

/// Loads what `take` needs.
pub(super) fn prepare_take(gpu: &Gpu) -> Result<()> {
    gpu.copy_kernel(Op::Take, 8, Walk::Each).map(drop)
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
    let code = unsafe {
        let values = [to, 8, from, 8, words, 0, 0, 0, 0, 0, 0];
        launch(gpu, stream, gpu.copy_kernel(Op::Take, 8, Walk::Each)?, values)
    };
    gpu.check(code, format_args!("taking {words} words"))
}

/// Loads what a copy to the span from flat memory needs.
pub(super) fn prepare(gpu: &Gpu, to: &Span) -> Result<()> {
    if to.is_flat() {
        return Ok(());
    }
    gpu.copy_kernel(Op::Copy, to.ty.size(), way(to, &to.packed(to.base))).map(drop)
}

/// Copies between checked spans on one device, of the same extents, that do not overlap.
pub(super) fn on_device(gpu: &Gpu, stream: &Stream, to: &Span, from: &Span) -> Result<()> {
    let address = |s: &Span| s.base.addr() as CUdeviceptr;
    if to.is_empty() {
        return Ok(());
    }
    if !(to.is_flat() && from.is_flat()) {
        return each(gpu, stream, Op::Copy, to, from);
    }
    let bytes = to.bytes();
    // SAFETY: checked spans of that many bytes.
    let code = unsafe { (gpu.api().on_device)(address(to), address(from), bytes, stream.raw) };
    gpu.check(code, format_args!("copying {bytes} bytes on the device"))
}

/// Copies bytes; what is not 0 becomes 1.
pub(super) fn normalise(gpu: &Gpu, stream: &Stream, to: &Span, from: &Span) -> Result<()> {
    each(gpu, stream, Op::Bool, to, from)
}

/// Sets all elements of a checked span to the value with these bits.
pub(super) fn fill(gpu: &Gpu, stream: &Stream, to: &Span, bits: u64) -> Result<()> {
    let (address, len) = (to.base.addr() as CUdeviceptr, to.len() as usize);
    // of a fill, the source is the value
    let value = Span { base: without_provenance_mut(bits as usize), strides: [0; AXES], ..*to };
    if len == 0 {
        return Ok(());
    }
    let halves = (bits as u32, (bits >> 32) as u32);
    // SAFETY: a checked span of `len` elements.
    let code = unsafe {
        match to.ty.size() {
            _ if !to.is_flat() => return each(gpu, stream, Op::Fill, to, &value),
            1 => (gpu.api().set_u8)(address, bits as u8, len, stream.raw),
            2 => (gpu.api().set_u16)(address, bits as u16, len, stream.raw),
            4 => (gpu.api().set_u32)(address, halves.0, len, stream.raw),
            _ if halves.0 == halves.1 => (gpu.api().set_u32)(address, halves.0, 2 * len, stream.raw),
            _ => return each(gpu, stream, Op::Fill, to, &value),
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
                for walk in if op == Op::Take { &[Walk::Each][..] } else { &[Walk::Each, Walk::Rows] } {
                    let (name, text) = (format!("{} of {size}", op as usize), ptx(op, size, *walk));
                    let ptx = text.trim_end_matches('\0').to_string();
                    assert!(modules[number(op, size, *walk)].replace(ptxas::Module { name, ptx }).is_none());
                }
            }
        }
        let modules: Vec<_> = modules.into_iter().flatten().collect();
        let archs = ptxas::architectures(&tool);
        let jobs: Vec<_> = modules.iter().flat_map(|m| archs.iter().map(move |a| (m, *a))).collect();
        assert_eq!(jobs.len(), KERNELS * 3);
        assert!(ptxas::assemble(&tool, &jobs).iter().all(|u| u.spills == 0));
    }
}
