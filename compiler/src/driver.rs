//! Compiles functions into everything that a package needs, in memory.

use crate::backend;
use crate::backend::ptx::merge_equal::KnownKernels;
use crate::core::{Function, print};
use crate::error::{Error, Result};
use crate::interrupt::{self, Why};
use crate::kernel::Kernel;
use crate::passes::pipeline;
use crate::plan::Plan;
use crate::plan::gpu::{GpuKernel, GpuVariant};
pub use crate::schedule::Scope;
use crate::schedule::stencil::Kept;
use crate::schedule::strategy::Strategy;
use crate::schedule::{self, Scheduled};
use crate::schedule::{CpuVariants, Draft};

/// Size of the stack of the compiler passes, in bytes. They recurse over expressions as deep as the
/// author's program.
const STACK: usize = 256 << 20;

/// A compiled program.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The package's name.
    pub name: String,
    /// The targets that it was compiled for.
    pub targets: Targets,
    /// The functions as the author wrote them.
    pub sources: Vec<Function>,
    /// The functions after all passes, in the author's order.
    pub functions: Vec<Function>,
    /// The plans; plan i belongs to function i.
    pub plans: Vec<Plan>,
    /// The variants of all kernels for CPUs, in the order of the tables.
    pub variants: Vec<CpuVariants>,
    /// The names of the kernels.
    pub kernels: Vec<String>,
    /// How each kernel is launched on a GPU; empty if that target was not requested.
    pub gpu: Vec<GpuKernel>,
    /// The decisions about the stencils of each kernel, in the order of `gpu`.
    pub stencils: Vec<Vec<Kept>>,
    /// The code of each kernel's variants, in the order of `gpu`.
    pub gpu_code: Vec<Vec<GpuCode>>,
    /// Warnings for the author, such as places that are slow on some target. Entry i belongs to
    /// function i.
    pub warnings: Vec<Vec<String>>,
    /// One self-contained C file with all kernels and the table `<name>_cpu_<AGPU_LEVEL>`.
    pub c_source: String,
}

/// One variant of a kernel for GPUs.
#[derive(Clone, Debug)]
pub struct GpuCode {
    /// The strategy by which it was written.
    pub strategy: Strategy,
    /// The kernel IR.
    pub kernel: Kernel,
    /// The PTX, a module with one entry.
    pub ptx: String,
    /// Whether an earlier variant of the package has the same code, which is launched for this one
    /// as well.
    pub is_merged: bool,
}

/// The targets to compile for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Targets {
    /// Whether to write C for processors.
    pub cpu: bool,
    /// Whether to write PTX for NVIDIA GPUs.
    pub cuda: bool,
}

/// The forms of the program that [`Compiled::emit`] prints.
pub const STAGES: [&str; 6] = ["core", "fused", "plan", "kernel", "c", "ptx"];

/// Compiles a package's functions for all targets.
pub fn compile(name: &str, functions: Vec<Function>) -> Result<Compiled> {
    compile_for(name, functions, Targets { cpu: true, cuda: true })
}

/// Compiles a package's functions.
pub fn compile_for(name: &str, functions: Vec<Function>, targets: Targets) -> Result<Compiled> {
    on_big_stack(|| compile_here(name, functions, targets))
}

/// Runs `f` on a stack for deep programs, on this thread, because waking another thread takes time.
pub fn on_big_stack<T>(f: impl FnOnce() -> Result<T>) -> Result<T> {
    // `stacker` panics if there is no memory for the stack.
    if Vec::<u8>::new().try_reserve_exact(STACK).is_err() {
        return Err(interrupt::stopped(Why::OutOfMemory));
    }
    stacker::grow(STACK, f)
}

/// Runs all compiler passes over one function. Functions of the same structure become equal,
/// however they were written.
pub fn fuse(f: &Function) -> Result<Function> {
    // A node becomes at most some dozens of levels, namely if it is an elementary function.
    on_enough_stack(f, 16 << 10, || pipeline::run(f, &mut |_, _| ())).map_err(|e| e.at(f.loc.as_ref()))
}

/// Returns plan and kernels of one function after the passes, without printing them.
pub fn schedule(fused: &Function, scope: Scope) -> Result<Scheduled> {
    on_enough_stack(fused, 8 << 10, || schedule::schedule(fused, 0, scope))
        .map_err(|e| e.at(fused.loc.as_ref()))
}

/// Runs `f` on the present stack if that has `each` bytes for every node of the function, which
/// suffices however deep it is. A stack of its own costs as much as the passes over a small
/// function.
fn on_enough_stack<T>(function: &Function, each: usize, f: impl FnOnce() -> Result<T>) -> Result<T> {
    const LEAST: usize = 1 << 20;
    let steps: usize = function.steps.iter().map(|s| s.graph.len()).sum();
    let wanted = LEAST + (function.graph.len() + steps) * each;
    match stacker::remaining_stack() {
        Some(left) if left > wanted => f(),
        _ => on_big_stack(f),
    }
}

fn compile_here(name: &str, sources: Vec<Function>, targets: Targets) -> Result<Compiled> {
    let mut out = Compiled {
        name: name.into(),
        targets,
        functions: Vec::new(),
        plans: Vec::new(),
        variants: Vec::new(),
        kernels: Vec::new(),
        gpu: Vec::new(),
        stencils: Vec::new(),
        gpu_code: Vec::new(),
        warnings: Vec::new(),
        c_source: String::new(),
        sources,
    };
    let scope = if targets.cuda { Scope::All } else { Scope::Cpu };
    let mut known = KnownKernels::default();
    for f in &out.sources {
        let at = |e: Error| e.at(f.loc.as_ref());
        let fused = pipeline::run(f, &mut |_, _| ()).map_err(at)?;
        let scheduled = schedule::schedule(&fused, out.variants.len() as u32, scope).map_err(at)?;
        out.functions.push(fused);
        out.plans.push(scheduled.plan);
        out.variants.extend(scheduled.kernels);
        out.warnings.push(scheduled.warnings);
        for pass in scheduled.gpu {
            let code = |draft: Draft| {
                let (strategy, kernel) = (draft.strategy, draft.finish()?);
                Ok(GpuCode { strategy, ptx: backend::ptx::emit(&kernel), kernel, is_merged: false })
            };
            let mut launch = pass.kernel;
            let codes = pass.drafts.into_iter().map(code).collect::<Result<Vec<_>>>();
            let mut codes = codes.map_err(at)?;
            for (code, variant) in codes.iter_mut().zip(&mut launch.variants) {
                merge(&mut known, code, variant);
            }
            out.gpu.push(launch);
            out.stencils.push(pass.stencils);
            out.gpu_code.push(codes);
        }
    }
    out.kernels = out.variants.iter().map(|v| v.contiguous.name.clone()).collect();
    if targets.cpu {
        out.c_source = backend::c::emit(name, &out.variants);
    }
    Ok(out)
}

/// Gives a variant the entry of an earlier one that has the same code.
fn merge(known: &mut KnownKernels, code: &mut GpuCode, variant: &mut GpuVariant) {
    if let Some(entry) = known.find(&code.ptx, &variant.entry) {
        code.kernel.name.clone_from(&entry);
        (code.ptx, code.is_merged) = (backend::ptx::emit(&code.kernel), true);
        variant.entry = entry;
    }
}

impl Compiled {
    /// Returns the whole program in one of the forms of [`STAGES`].
    pub fn emit(&self, stage: &str) -> Result<String> {
        let join = |texts: Vec<String>| texts.join("\n");
        Ok(match stage {
            "core" => join(self.sources.iter().map(|f| print::print(f, true)).collect()),
            "fused" => join(self.functions.iter().map(|f| print::print(f, true)).collect()),
            "plan" => join(self.plans.iter().map(|p| p.to_string()).collect()),
            "kernel" => join(self.kernel_texts().into_iter().map(|v| v.text).collect()),
            "c" => self.c_source.clone(),
            "ptx" => {
                let own = self.gpu_code.iter().flatten().filter(|code| !code.is_merged);
                join(own.map(|code| code.ptx.clone()).collect())
            }
            other => {
                let list = STAGES.join(", ");
                return Err(Error::user("E0106", format!("there is no stage `{other}`; there are {list}")));
            }
        })
    }

    /// Returns every variant of every kernel of the targets: kernel IR behind a comment with the
    /// target, the strategy and the conditions of its launch.
    pub fn kernel_texts(&self) -> Vec<VariantText> {
        let mut out = Vec::new();
        for (i, variants) in self.variants.iter().enumerate() {
            if self.targets.cpu {
                out.extend(cpu_texts(variants));
            }
            if let Some(launch) = self.gpu.get(i) {
                out.extend(gpu_texts(launch, &self.gpu_code[i]));
            }
        }
        out
    }
}

/// One variant of a kernel as text.
#[derive(Clone, Debug)]
pub struct VariantText {
    /// The kernel's name.
    pub name: String,
    /// The comment and the kernel IR.
    pub text: String,
}

fn cpu_texts(v: &CpuVariants) -> impl Iterator<Item = VariantText> {
    let all = [
        (Some(&v.contiguous), "contiguous separate"),
        (v.in_place.as_ref(), "contiguous"),
        (v.strided.as_ref(), "any strides"),
    ];
    let text = |((k, guards), strategy): ((Option<&Kernel>, &str), Strategy)| {
        k.map(|k| VariantText {
            name: k.name.clone(),
            text: format!("; cpu, {}: {guards}\n{k}", strategy.name()),
        })
    };
    all.into_iter().zip(v.strategies).filter_map(text)
}

fn gpu_texts(launch: &GpuKernel, codes: &[GpuCode]) -> Vec<VariantText> {
    if let Some(why) = &launch.absent {
        let text = format!("; cuda: no kernel @{}: {}\n", launch.name, why.replace('\n', " "));
        return vec![VariantText { name: launch.name.clone(), text }];
    }
    let text = launch.to_string();
    let lines = text.lines().map(str::trim).filter(|l| l.starts_with("version "));
    let text = |(line, code): (&str, &GpuCode)| {
        // The code is listed at the variant whose entry it shares.
        let kernel =
            if code.is_merged { "; the code is that entry's\n".to_string() } else { code.kernel.to_string() };
        let text = format!("; cuda, {}: {line}\n{kernel}", code.strategy.name());
        VariantText { name: code.kernel.name.clone(), text }
    };
    lines.zip(codes).map(text).collect()
}
