//! Copies and fills on a GPU. Memory that is not contiguous is copied by small kernels of this
//! library.

use super::driver::Code;
use super::gpu::Gpu;
use super::images::Image;
use super::state::{KERNELS, Stream};
use crate::error::Result;
use crate::span::{AXES, Span};
use crate::span_copy::walk;
use arraygpu_compiler::counted;
use arraygpu_compiler::scalar::Ty;
use cudarc::driver::sys::{CUdeviceptr, CUfunction, CUstream};
use std::ffi::c_void;
use std::ptr::{null_mut, without_provenance_mut};

/// What a kernel of this library does with each element.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Op {
    Copy,
    /// Writes one value.
    Fill,
    /// Copies bytes; any byte except 0 becomes 1.
    Bool,
    /// Exchanges words for 0, and raises the words of the target to the old values (their maximum stays).
    Take,
}

/// How the elements are found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Walk {
    /// Along one axis.
    Each,
    /// Along three axes.
    Rows,
    /// Along four axes: structs of three dimensions.
    Structs,
}

impl Walk {
    fn entry(self) -> &'static str {
        match self {
            Walk::Each => "arraygpu_each",
            Walk::Rows => "arraygpu_rows",
            Walk::Structs => "arraygpu_structs",
        }
    }

    /// Returns the parameters of a kernel, and the axes from the innermost one on: the name of the index, and the
    /// parameter that is the axis' extent. The outermost axis needs no extent.
    fn axes(self) -> (&'static [&'static str], &'static [(&'static str, &'static str)]) {
        match self {
            Walk::Each => (&PARAMS[..5], &[]),
            Walk::Rows => (&PARAMS[..11], &[("j", "inner"), ("m", "middle"), ("o", "")]),
            Walk::Structs => (&PARAMS, &[("j", "inner"), ("m", "middle"), ("o", "outer"), ("f", "")]),
        }
    }
}

const THREADS: u32 = 256;

fn number(op: Op, size: usize, walk: Walk) -> usize {
    match op {
        Op::Take => KERNELS - 1,
        // structs are bytes, which are copied as words, or filled
        Op::Fill if walk == Walk::Structs => KERNELS - 2,
        _ => walk as usize * 12 + op as usize * 4 + size.ilog2() as usize,
    }
}

/// The parameters of all kernels, followed by those for three axes, then by those for four. Steps are in bytes;
/// `inner`, `middle` and `outer` are extents.
const PARAMS: [&str; 14] = [
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
    "outer",
    "to_far",
    "from_far",
];

/// Returns PTX that computes the indices along the axes of element %i by divisions with the extents: it is element
/// `j` of row `m` of part `o`, and so on. Divisions of 64 bits take longer than those of 32 bits, so they are only
/// used for spans of more than 2^32 elements.
fn indices(axes: &[(&str, &str)]) -> String {
    let [inner @ .., (last, _)] = axes else { return String::new() };
    let mut short = "cvt.u32.u64 %left, %i;\n    ".to_string();
    let mut long = "mov.b64 %rest, %i;\n    ".to_string();
    for (index, extent) in inner {
        short += &format!(
            "cvt.u32.u64 %small, %{extent};
    div.u32 %quotient, %left, %small;
    mul.lo.u32 %small, %quotient, %small;
    sub.u32 %small, %left, %small;
    cvt.u64.u32 %{index}, %small;
    mov.b32 %left, %quotient;
    "
        );
        long += &format!("rem.u64 %{index}, %rest, %{extent};\n    div.u64 %rest, %rest, %{extent};\n    ");
    }
    format!(
        "@%long bra divide;
    {short}cvt.u64.u32 %{last}, %left;
    bra found;
divide:
    {long}mov.b64 %{last}, %rest;
found:
    "
    )
}

/// Returns the PTX of a kernel over `n` elements of `size` bytes. A fill has its value in the place
/// of the source.
fn ptx(op: Op, size: usize, walk: Walk) -> String {
    let bits = size * 8;
    let (params, axes) = walk.axes();
    let index = if axes.is_empty() { "%i" } else { "%j" };
    let address = |side: &str| {
        let mut text = format!("mad.lo.s64 %a, {index}, %{side}_step, %{side};\n    ");
        for ((index, _), step) in axes.iter().skip(1).zip(["middle", "outer", "far"]) {
            text += &format!("mad.lo.s64 %a, %{index}, %{side}_{step}, %a;\n    ");
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
        // the target is in host memory, which is accessed only if there is something to write
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
    .reg .b32 %block, %size, %thread, %small, %left, %quotient;
    .reg .b64 {registers}%i, %by, %a, %v, %old, %rest, %j, %m, %o, %f;
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
    {}{load}{change}{}st.global.u{bits} [%a], %v;
skip:
    add.s64 %i, %i, %by;
    bra next;
done:
    ret;
}}
\0",
        walk.entry(),
        list.join(", "),
        indices(axes),
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

/// Returns two spans of bytes whose rows are contiguous, such as structs, as spans of wider words: the widest that
/// divide the rows and their addresses.
fn as_words(to: &Span, from: &Span) -> Option<[Span; 2]> {
    const LAST: usize = AXES - 1;
    if to.ty.size() != 1 || to.strides[LAST] != 1 || from.strides[LAST] != 1 {
        return None;
    }
    let fits = |size: usize| {
        let of = |s: &Span| {
            let mut steps = s.extents.iter().zip(&s.strides).take(LAST).filter(|(n, _)| **n > 1);
            s.base.addr().is_multiple_of(size) && steps.all(|(_, step)| step % size as i64 == 0)
        };
        to.extents[LAST] % size as i64 == 0 && of(to) && of(from)
    };
    let ty = [Ty::U64, Ty::U32, Ty::U16].into_iter().find(|ty| fits(ty.size()))?;
    let words = |s: &Span| {
        let mut words = Span { ty, ..*s };
        words.extents[LAST] /= ty.size() as i64;
        words.strides[..LAST].iter_mut().for_each(|step| *step /= ty.size() as i64);
        words
    };
    Some([words(to), words(from)])
}

fn way(to: &Span, from: &Span) -> Walk {
    match walk(to, from) {
        [(1, ..), (1, ..), (1, ..), _] => Walk::Each,
        [(1, ..), ..] => Walk::Rows,
        _ => Walk::Structs,
    }
}

/// Runs a kernel over all elements of a checked span, and those of another span with the same
/// extents.
fn each(gpu: &Gpu, stream: &Stream, op: Op, to: &Span, from: &Span) -> Result<()> {
    let words = if op == Op::Copy { as_words(to, from) } else { None };
    let [to, from] = words.as_ref().map_or([to, from], |[to, from]| [to, from]);
    let size = to.ty.size();
    let ([far, outer, middle, inner], way) = (walk(to, from), way(to, from));
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
        outer.0 as u64,
        step(far.1),
        step(far.2),
    ];
    // SAFETY: both sides are checked spans of the same number of elements.
    let code = unsafe { launch(gpu, stream.raw, gpu.copy_kernel(op, size, way)?, values) };
    gpu.check(code, format_args!("copying {} of {}", counted(to.len(), "element"), counted(size, "byte")))
}

/// # Safety
/// The function is a kernel of this library. The words, or the first of them, are its parameters,
/// which name memory of that many elements.
unsafe fn launch(gpu: &Gpu, stream: CUstream, function: CUfunction, mut values: [u64; PARAMS.len()]) -> Code {
    let blocks = values[4].div_ceil(THREADS.into()).min(u64::from(gpu.device.multiprocessors) * 16) as u32;
    let mut params = values.each_mut().map(|v| (&raw mut *v).cast::<c_void>());
    // SAFETY: there are at least the words that the kernel takes.
    unsafe {
        (gpu.api().launch)(function, blocks, 1, 1, THREADS, 1, 1, 0, stream, params.as_mut_ptr(), null_mut())
    }
}

/// Loads the kernel that [`take`] needs, so that `take` cannot fail for lack of it.
pub(super) fn prepare_take(gpu: &Gpu) -> Result<()> {
    gpu.copy_kernel(Op::Take, 8, Walk::Each).map(drop)
}

/// Exchanges this library's words for 0, and raises as many other words to the old values. A word that a kernel
/// raises meanwhile keeps its new value.
pub(super) fn take(
    gpu: &Gpu,
    stream: CUstream,
    to: CUdeviceptr,
    from: CUdeviceptr,
    words: u64,
) -> Result<()> {
    // SAFETY: the words are the caller's, and live as long as the context.
    let code = unsafe {
        let values = [to, 8, from, 8, words, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        launch(gpu, stream, gpu.copy_kernel(Op::Take, 8, Walk::Each)?, values)
    };
    gpu.check(code, format_args!("taking {words} words"))
}

/// Loads the kernel that a copy from contiguous memory to the span needs.
pub(super) fn prepare(gpu: &Gpu, to: &Span) -> Result<()> {
    if to.is_flat() {
        return Ok(());
    }
    let from = to.packed(to.base);
    let [to, from] = as_words(to, &from).unwrap_or([*to, from]);
    gpu.copy_kernel(Op::Copy, to.ty.size(), way(&to, &from)).map(drop)
}

/// Copies between checked spans on one device, which have the same extents and do not overlap.
pub(super) fn on_device(gpu: &Gpu, stream: &Stream, to: &Span, from: &Span) -> Result<()> {
    let address = |s: &Span| s.base.addr() as CUdeviceptr;
    if to.is_empty() {
        return Ok(());
    }
    if !(to.is_flat() && from.is_flat()) {
        return each(gpu, stream, Op::Copy, to, from);
    }
    let bytes = to.bytes();
    // SAFETY: both sides are checked spans of that many bytes.
    let code = unsafe { (gpu.api().on_device)(address(to), address(from), bytes, stream.raw) };
    gpu.check(code, format_args!("copying {bytes} bytes on the device"))
}

/// Copies bytes; any byte except 0 becomes 1.
pub(super) fn normalise(gpu: &Gpu, stream: &Stream, to: &Span, from: &Span) -> Result<()> {
    each(gpu, stream, Op::Bool, to, from)
}

/// Sets all elements of a checked span to the value with these bits.
pub(super) fn fill(gpu: &Gpu, stream: &Stream, to: &Span, bits: u64) -> Result<()> {
    let (address, len) = (to.base.addr() as CUdeviceptr, to.len() as usize);
    // the source of a fill is its value
    let value = Span { base: without_provenance_mut(bits as usize), strides: [0; AXES], ..*to };
    if len == 0 {
        return Ok(());
    }
    let halves = (bits as u32, (bits >> 32) as u32);
    // SAFETY: the target is a checked span of `len` elements.
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
    gpu.check(code, format_args!("filling {}", counted(len, "element")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arraygpu_suite::ptxas;

    #[test]
    fn every_kernel_has_a_number_and_assembles() {
        let tool = ptxas::find();
        let mut modules: Vec<Option<ptxas::Module>> = (0..KERNELS).map(|_| None).collect();
        for op in [Op::Copy, Op::Fill, Op::Bool, Op::Take] {
            for size in if op == Op::Take { &[8][..] } else { &[1, 2, 4, 8] } {
                let size = *size;
                let walks = match (op, size) {
                    (Op::Take, _) => &[Walk::Each][..],
                    (Op::Copy, _) | (Op::Fill, 1) => &[Walk::Each, Walk::Rows, Walk::Structs],
                    _ => &[Walk::Each, Walk::Rows],
                };
                for walk in walks {
                    let (name, text) = (format!("{} of {size}", op as usize), ptx(op, size, *walk));
                    let ptx = text.trim_end_matches('\0').to_string();
                    let module = ptxas::Module { name, ptx, is_dependent: false };
                    assert!(modules[number(op, size, *walk)].replace(module).is_none());
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
