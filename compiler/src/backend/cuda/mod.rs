//! The CUDA C++ backend prints the kernels that the PTX backend prints, for people to read and for NVIDIA's
//! compiler to compile: the same names, parameters and bits.
//!
//! Roundings are intrinsics, so no option of `nvcc` contracts them, and integers wrap because sums and products
//! are unsigned. PTX stands inline only where CUDA C++ has no word for an instruction: tensor cores, hints for
//! caches, minima of floats that return a NaN. Helpers are printed if a kernel uses them.

mod convert;
mod expr;
mod memory;
mod stmt;
mod types;

use crate::kernel::{Expr, Gpu, Kernel, SharedLayout, Stmt};
use crate::scalar::Ty;
use rustc_hash::FxHashSet;
use std::fmt::Write;
use types::{ctype, memtype};

/// The helpers, with an empty line between two of them.
const HELPERS: &str = include_str!("helpers.cuh");

/// The headers of CUDA, each with a word that needs it.
const HEADERS: [(&str, &str); 3] =
    [("__pipeline_", "cuda_pipeline.h"), ("__half", "cuda_fp16.h"), ("__float2bfloat16", "cuda_bf16.h")];

/// Not all neighbours of a vector access need to be used.
const SUPPRESS: &str = "#pragma nv_diag_suppress 177 // variables that are not used\n";

/// What every kernel begins with on devices that have dependent launches ([`super::ptx::dependent_launch`]).
const WAIT: &str = "\
#if __CUDA_ARCH__ >= 900
\tcudaGridDependencySynchronize();
\tcudaTriggerProgrammaticLaunchCompletion();
#endif";

/// The name of the shared memory that a launch asks for.
const DYNAMIC: &str = "shared_memory";

/// Writes kernels as one translation unit.
pub fn emit<'k>(kernels: impl IntoIterator<Item = &'k Kernel>) -> String {
    let kernels: Vec<String> = kernels.into_iter().map(kernel).collect();
    if kernels.is_empty() {
        return String::new();
    }
    let mut used: FxHashSet<&str> = kernels.iter().flat_map(|text| words(text)).collect();
    let mut all = Vec::new();
    // a helper calls only helpers before it
    for helper in HELPERS.trim_end().rsplit("\n\n") {
        if words(helper).next().is_some_and(|name| used.contains(name)) {
            used.extend(words(helper));
            all.push(format!("{helper}\n"));
        }
    }
    all.reverse();
    all.extend_from_slice(&kernels);
    let mut out = String::from("// made by arraygpu; compile by nvcc -O3 -std=c++17\n#include <cstdint>\n");
    for (word, header) in HEADERS {
        if all.iter().any(|text| text.contains(word)) {
            let _ = writeln!(out, "#include <{header}>");
        }
    }
    out + SUPPRESS + "\n" + &all.join("\n")
}

/// The names of helpers in a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("agpu_").map(|(at, _)| {
        let rest = &text[at..];
        rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
    })
}

/// Writes one kernel.
fn kernel(k: &Kernel) -> String {
    let mut body = String::new();
    stmt::Printer::new(k, &mut body).block(k.main.as_deref().unwrap_or_default(), 1);
    let mut out = String::new();
    let layout = k.shared_layout();
    if layout.dynamic() > 0 {
        let align = layout.alignment;
        let _ = writeln!(out, "extern __shared__ __align__({align}) unsigned char {DYNAMIC}[];\n");
    }
    out.push_str("extern \"C\" __global__ ");
    if k.cluster > 0 {
        let _ = write!(out, "__cluster_dims__({}, 1, 1) ", k.cluster);
    }
    let _ = write!(out, "__launch_bounds__({}", k.threads);
    if k.min_resident_blocks > 0 {
        let _ = write!(out, ", {}", k.min_resident_blocks);
    }
    let _ = writeln!(out, ")\nvoid {}({})\n{{\n{WAIT}", k.name, parameters(k).join(", "));
    scalars(k, &mut out);
    let mut places = [false; Gpu::ALL.len()];
    find_places(k.main.as_deref().unwrap_or_default(), &mut places);
    let texts = ["threadIdx.x", "blockIdx.x", "gridDim.x", "span_.value"];
    for ((place, text), _) in Gpu::ALL.iter().zip(texts).zip(places).filter(|p| p.1) {
        let _ = writeln!(out, "\tconst int {} = {text};", place.name());
    }
    if k.is_guarded {
        out.push_str("\tif (*guard >= 0)\n\t\treturn;\n");
    }
    shared(k, &layout, &mut out);
    out + &body + "}\n"
}

/// The parameters, in the order of docs/c-abi.md. Each has 8 bytes.
fn parameters(k: &Kernel) -> Vec<String> {
    let pointer = |constant: bool, restrict: bool, ty: Ty, name: &str| {
        let (constant, restrict) =
            (if constant { "const " } else { "" }, if restrict { "__restrict__ " } else { "" });
        format!("{constant}{} *{restrict}{name}", memtype(ty))
    };
    let arrays = k.arrays.iter().map(|a| pointer(!a.write, a.noalias, a.ty, &a.name));
    let strides = k.arrays.iter().filter(|a| a.strided).map(|a| format!("int64_t stride_of_{}", a.name));
    let ins = k.ins.iter().map(|(name, ty)| match ty.size() {
        8 => format!("{} {name}", ctype(*ty)),
        _ => format!("agpu_scalar<{}> {name}_", memtype(*ty)),
    });
    let slots = k.slots.iter().map(|s| pointer(!s.write, false, s.ty, &s.name));
    let scratch = k.scratch.iter().map(|(name, ty)| pointer(false, false, *ty, name));
    let mut list: Vec<String> = arrays.chain(strides).chain(ins).chain(slots).chain(scratch).collect();
    let has_span = k.has_counters() || k.is_multi_step;
    let others = [
        (k.has_counters(), "unsigned *counters"),
        (!k.sites.is_empty(), "unsigned long long *records"),
        (k.is_guarded, "const int64_t *guard"),
        (has_span, "agpu_scalar<int> span_"),
    ];
    list.extend(others.into_iter().filter(|o| o.0).map(|o| o.1.to_string()));
    list
}

/// Prints what takes scalars of less than 8 bytes out of their parameters.
fn scalars(k: &Kernel, out: &mut String) {
    for (name, ty) in k.ins.iter().filter(|(_, ty)| ty.size() < 8) {
        let nonzero = if *ty == Ty::Bool { " != 0" } else { "" };
        let _ = writeln!(out, "\tconst {} {name} = {name}_.value{nonzero};", ctype(*ty));
    }
}

/// Prints the declarations of shared memory.
fn shared(k: &Kernel, layout: &SharedLayout, out: &mut String) {
    let align = layout.alignment;
    for ((name, ty, len), offset) in k.shared.iter().zip(&layout.offsets) {
        let ty = memtype(*ty);
        let _ = match layout.dynamic() {
            0 => writeln!(out, "\t__shared__ __align__({align}) {ty} {name}[{len}];"),
            _ => writeln!(out, "\t{ty} *const {name} = ({ty} *)({DYNAMIC} + {offset}); // {len} elements"),
        };
    }
}

/// Marks the positions that a body reads.
fn find_places(body: &[Stmt], found: &mut [bool]) {
    fn visit(e: &Expr, found: &mut [bool]) {
        if let Expr::Place(g) = e {
            found[*g as usize] = true;
        }
        e.children(|child| visit(child, found));
    }
    for s in body {
        s.expressions(&mut |e| visit(e, found));
        s.blocks().into_iter().for_each(|b| find_places(b, found));
    }
}
