//! Compiles functions into everything that a package needs, in memory.

use crate::backend;
use crate::backend::ptx::merge_equal::KnownKernels;
use crate::budget::{self, Budget};
use crate::core::{Function, print};
use crate::counts::{copies, law, structure};
use crate::error::{Error, Result};
use crate::interrupt::{self, Why};
use crate::kernel::{Kernel, parts};
use crate::loc::Loc;
use crate::passes::pipeline;
use crate::plan::Plan;
use crate::plan::gpu::{GpuKernel, GpuVariant};
pub use crate::schedule::Scope;
use crate::schedule::facts::stencil::Kept;
use crate::schedule::facts::transposed::TiledArray;
use crate::schedule::strategy::Strategy;
use crate::schedule::{self, CpuVariant, CpuVariants, GpuVariants, KernelVariants, Origin, Scheduled};

/// Size of the stack of the compiler passes, in bytes. They recurse over expressions as deep as the
/// author's program.
const STACK: usize = 512 << 20;

/// A compiled program.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The package's name.
    pub name: String,
    /// The targets that it was compiled for.
    pub targets: Targets,
    /// What compiling one function may take.
    pub budget: Budget,
    /// The functions, in the author's order.
    pub functions: Vec<CompiledFunction>,
    /// The kernels of all functions, in the order of the tables. The launches of the plans number
    /// them.
    pub kernels: Vec<CompiledKernel>,
    /// One self-contained C file with all kernels and the table `<name>_cpu_<AGPU_LEVEL>`.
    pub c_source: String,
    /// The C of `c_source` split into several files, which can be compiled in parallel.
    pub c_files: Vec<backend::c::File>,
}

/// A function of a compiled program.
#[derive(Clone, Debug)]
pub struct CompiledFunction {
    /// The function as the author wrote it.
    pub source: Function,
    /// The function after all passes.
    pub fused: Function,
    /// Its plan.
    pub plan: Plan,
    /// Warnings for the author, such as places that are slow on some target.
    pub warnings: Vec<String>,
    /// Launches that are no chain of stencils with the one before, by name, and why.
    pub refused_chains: Vec<(String, String)>,
}

/// The kernel of one launch of a compiled program.
#[derive(Clone, Debug)]
pub struct CompiledKernel {
    /// The kernel's name.
    pub name: String,
    /// The variants for CPUs. They are made for all targets, because the plan depends on them.
    pub cpu: Option<CpuVariants>,
    /// The code for GPUs, if that target was requested.
    pub gpu: Option<CompiledGpuKernel>,
}

/// The code of a kernel for GPUs.
#[derive(Clone, Debug, Default)]
pub struct CompiledGpuKernel {
    /// The variants, in order of preference.
    pub variants: Vec<GpuCode>,
    /// The reason why there are no variants, if there are none.
    pub absent: Option<String>,
    /// The decisions about the kernel's stencils.
    pub stencils: Vec<Kept>,
    /// The decisions about arrays that the kernel reads transposed.
    pub transposed: Vec<TiledArray>,
    /// For a kernel with resident rows or columns: the greatest length of one, and what limits it.
    pub limit: Option<String>,
    /// For a chain of stencils: what a block has in shared memory.
    pub shared: Option<String>,
}

/// One variant of a kernel for GPUs.
#[derive(Clone, Debug)]
pub struct GpuCode {
    /// How it is launched, and when.
    pub launch: GpuVariant,
    /// The strategy by which it was written.
    pub strategy: Strategy,
    /// Whether loops of elements go on by batches of steps.
    pub batches: bool,
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
pub const STAGES: [&str; 7] = ["core", "fused", "plan", "kernel", "c", "ptx", "cuda"];

/// Compiles a package's functions for all targets.
pub fn compile(name: &str, functions: Vec<Function>) -> Result<Compiled> {
    compile_for(name, functions, Targets { cpu: true, cuda: true })
}

/// Compiles a package's functions.
pub fn compile_for(name: &str, functions: Vec<Function>, targets: Targets) -> Result<Compiled> {
    compile_within(Budget::default(), name, functions, targets)
}

/// Compiles a package's functions, each within a budget.
pub fn compile_within(
    budget: Budget,
    name: &str,
    functions: Vec<Function>,
    targets: Targets,
) -> Result<Compiled> {
    on_big_stack(|| compile_here(budget, name, functions, targets))
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

fn compile_here(budget: Budget, name: &str, sources: Vec<Function>, targets: Targets) -> Result<Compiled> {
    let mut out = Compiled {
        name: name.into(),
        targets,
        budget,
        functions: Vec::with_capacity(sources.len()),
        kernels: Vec::new(),
        c_source: String::new(),
        c_files: Vec::new(),
    };
    let mut c = backend::c::Source::new(name);
    let mut known = KnownKernels::default();
    for source in sources {
        let loc = line_of(&source).cloned();
        budget::within(budget, || compile_function(source, &mut out, &mut c, &mut known))
            .map_err(|e| e.at(loc.as_ref()))?;
    }
    if targets.cpu {
        (out.c_source, out.c_files) = (c.whole(), c.files());
    }
    Ok(out)
}

/// Returns the author's line of a function: its own, or one of its results.
fn line_of(f: &Function) -> Option<&Loc> {
    let of_results = || f.results.iter().find_map(|r| f.graph.node(r.value).loc.first());
    f.loc.as_ref().or_else(of_results)
}

/// Compiles one function, and adds it and its kernels to `out`.
fn compile_function(
    source: Function,
    out: &mut Compiled,
    c: &mut backend::c::Source,
    known: &mut KnownKernels,
) -> Result<()> {
    let scope = if out.targets.cuda { Scope::All } else { Scope::Cpu };
    let fused = pipeline::run(&source, &mut |_, _| ())?;
    let scheduled = schedule::schedule(&fused, out.kernels.len() as u32, scope)?;
    let Scheduled { plan, kernels, mut warnings, refused_chains } = scheduled;
    if cfg!(debug_assertions) {
        warnings.extend(law::excess(&source, &fused)?);
        warnings.extend(structure::excess(&fused)?);
    }
    if out.targets.cpu {
        let line = line_of(&source);
        budget::write(c.add(&source.name, line, kernels.iter().map(|k| k.cpu.as_ref())));
        budget::check()?;
    }
    let first = out.kernels.len();
    for KernelVariants { name, cpu, gpu } in kernels {
        let gpu = gpu.map(|variants| finished(variants, known)).transpose()?;
        out.kernels.push(CompiledKernel { name, cpu, gpu });
    }
    if cfg!(debug_assertions) {
        let program = copies::of_program(&fused);
        warnings.extend(out.kernels[first..].iter().flat_map(|kernel| kernel.excess(program)));
    }
    out.functions.push(CompiledFunction { source, fused, plan, warnings, refused_chains });
    Ok(())
}

/// Writes the PTX of a kernel's variants. A variant gets the entry of an earlier one that has the
/// same code.
fn finished(variants: GpuVariants, known: &mut KnownKernels) -> Result<CompiledGpuKernel> {
    let GpuVariants { kernel, drafts, stencils, transposed, limit, shared } = variants;
    let GpuKernel { variants, absent, .. } = kernel;
    let (mut code, mut launches) = (Vec::with_capacity(variants.len()), variants.into_iter());
    schedule::finish_all(drafts, |Origin { strategy, batches }, kernel| {
        let Some(launch) = launches.next() else { return Ok(()) };
        let ptx = backend::ptx::emit(&kernel);
        budget::write(ptx.len());
        budget::check().map_err(|e| e.at(kernel.main.as_deref().and_then(parts::line)))?;
        let mut made = GpuCode { launch, strategy, batches, kernel, ptx, is_merged: false };
        if let Some(entry) = known.find(&made.ptx, &made.launch.entry) {
            made.kernel.name.clone_from(&entry);
            (made.ptx, made.is_merged) = (backend::ptx::emit(&made.kernel), true);
            made.launch.entry = entry;
        }
        code.push(made);
        Ok(())
    })?;
    Ok(CompiledGpuKernel { variants: code, absent, stencils, transposed, limit, shared })
}

impl CompiledKernel {
    /// Returns what breaks the law of copies, in a function of so many operations.
    pub fn excess(&self, program: usize) -> impl Iterator<Item = String> {
        let cpu = self.cpu.iter().flat_map(CpuVariants::all).flatten().map(|v| (v.strategy, &v.kernel));
        let gpu = self.gpu_variants().iter().map(|code| (code.strategy, &code.kernel));
        cpu.chain(gpu).filter_map(move |(strategy, kernel)| copies::excess(program, strategy, kernel))
    }

    /// Returns the variants for GPUs, in order of preference. There are none without that target.
    pub fn gpu_variants(&self) -> &[GpuCode] {
        self.gpu.as_ref().map_or(&[], |gpu| &gpu.variants)
    }

    /// Returns how the kernel is launched on a GPU, as the package says it, if that target was
    /// requested.
    pub fn gpu_kernel(&self) -> Option<GpuKernel> {
        let gpu = self.gpu.as_ref()?;
        let variants = gpu.variants.iter().map(|code| code.launch.clone()).collect();
        Some(GpuKernel { name: self.name.clone(), variants, absent: gpu.absent.clone() })
    }
}

impl Compiled {
    /// Returns the variants of all kernels for GPUs.
    pub fn gpu_variants(&self) -> impl Iterator<Item = &GpuCode> {
        self.kernels.iter().flat_map(CompiledKernel::gpu_variants)
    }

    /// Returns the text of how all kernels are launched on a GPU; it is empty without that target.
    pub fn gpu_launches(&self) -> String {
        self.kernels.iter().filter_map(|k| Some(k.gpu_kernel()?.to_string())).collect()
    }

    /// Returns the whole program in one of the forms of [`STAGES`].
    pub fn emit(&self, stage: &str) -> Result<String> {
        let join = |texts: Vec<String>| texts.join("\n");
        Ok(match stage {
            "core" => join(self.functions.iter().map(|f| print::print(&f.source, true)).collect()),
            "fused" => join(self.functions.iter().map(|f| print::print(&f.fused, true)).collect()),
            "plan" => join(self.functions.iter().map(|f| f.plan.to_string()).collect()),
            "kernel" => join(self.kernel_texts().into_iter().map(|v| v.text).collect()),
            "c" => self.c_source.clone(),
            "ptx" => {
                let own = self.gpu_variants().filter(|code| !code.is_merged);
                join(own.map(|code| code.ptx.clone()).collect())
            }
            "cuda" => {
                let own = self.gpu_variants().filter(|code| !code.is_merged);
                backend::cuda::emit(own.map(|code| &code.kernel))
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
        for kernel in &self.kernels {
            if let Some(variants) = kernel.cpu.as_ref().filter(|_| self.targets.cpu) {
                out.extend(cpu_texts(variants));
            }
            if let Some(launch) = kernel.gpu_kernel() {
                out.extend(gpu_texts(&launch, kernel.gpu_variants()));
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
    let text = |(variant, guards): (Option<&CpuVariant>, &str)| {
        let CpuVariant { kernel, strategy } = variant?;
        let text = format!("; cpu, {}: {guards}\n{kernel}", strategy.name());
        Some(VariantText { name: kernel.name.clone(), text })
    };
    v.all().into_iter().zip(["contiguous separate", "contiguous", "any strides"]).filter_map(text)
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
