//! Programs: functions that are compiled in this process.
//!
//! A program has a module for each kind of device, which is made when it first runs there. On a GPU
//! the first module has only the variants of its kernels that are the least to compile: those for
//! contiguous arrays, and for few elements where there are such variants. When a call needs another
//! variant, a module for contiguous arrays of any length is made, and last one with all variants.

use super::allowance;
use super::cc;
use crate::abi::{AgpuArg, AgpuArgKind, AgpuCall, code};
use crate::call_options::context_of;
use crate::cpu::Blocks;
use crate::cuda::{self, Images};
use crate::error::{Error, Result, UNAVAILABLE, aligned, fail};
use crate::interrupt::{self, refused};
use crate::invoke::invoke;
use crate::level::level;
use crate::log::log;
use crate::module::{Kernels, Loaded, Specialise};
use crate::workspace::{self, Workspace};
use crate::{buffer, context};
use arraygpu_compiler::backend::ptx;
use arraygpu_compiler::budget::Code;
use arraygpu_compiler::core::Function;
use arraygpu_compiler::counted;
use arraygpu_compiler::driver::{self, Scope, Targets};
use arraygpu_compiler::explain;
use arraygpu_compiler::schedule::{CpuVariants, Draft};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A compiled function.
pub(crate) struct Program {
    /// The name of the module, for messages; empty if the function was built in this process.
    module: String,
    /// The function as it was built.
    source: Function,
    /// The function after all passes.
    fused: Function,
    staged: Option<Box<dyn Specialise>>,
    /// Whether the block interpreter may run the kernels. It is slower than the general version of a package's
    /// function, for which nothing but compiled code is a gain.
    may_interpret: bool,
    /// What the code of all modules may take.
    code: Arc<Code>,
    /// Whether the C of the kernels counts as code. It counts once, however often a compilation is stopped.
    has_counted_c: AtomicBool,
    /// Held by the thread that compiles.
    making: Mutex<()>,
    cpu: OnceLock<Result<Module>>,
    /// One module for each of [`SCOPES`].
    cuda: [OnceLock<Result<Module>>; SCOPES.len()],
    /// Whether a call had more elements, or other arrays, than the first module serves. The second
    /// module, which serves all contiguous arrays, has then been compiled.
    is_long: AtomicBool,
}

/// The variants of its kernels that a program makes for GPUs: it goes on to the next scope until
/// one serves the call.
const SCOPES: [Scope; 3] = [Scope::ShortGpu, Scope::ContiguousGpu, Scope::Gpu];

/// A module of this process. A thread that runs it holds its program.
pub(crate) struct Module(&'static Loaded);

impl Module {
    fn new(loaded: Loaded) -> Module {
        Module(Box::leak(Box::new(loaded)))
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        cuda::forget(self.0.id);
        // SAFETY: `new` made it, and it is freed once; a thread that runs it holds the program that
        // holds this.
        drop(unsafe { Box::from_raw(std::ptr::from_ref(self.0).cast_mut()) });
    }
}

impl Program {
    /// Makes the program of a function that was built in this process. Nothing is compiled yet.
    pub fn new(source: Function, fused: Function, staged: Option<Box<dyn Specialise>>) -> Program {
        Program { staged, ..Program::of_module("", source, fused, true) }
    }

    /// Makes the program of a module's function.
    pub fn of_module(module: &str, source: Function, fused: Function, may_interpret: bool) -> Program {
        let module = module.into();
        let code = Arc::new(allowance::code_of(&source));
        Program {
            module,
            source,
            fused,
            staged: None,
            may_interpret,
            code,
            has_counted_c: AtomicBool::new(false),
            making: Mutex::new(()),
            cpu: OnceLock::new(),
            cuda: [const { OnceLock::new() }; SCOPES.len()],
            is_long: AtomicBool::new(false),
        }
    }

    /// Returns the module for a device; on a GPU that for one of [`SCOPES`]. Any error is one of making code.
    fn module(&self, on_gpu: bool, which: usize) -> Result<&'static Loaded> {
        let cell = if on_gpu { &self.cuda[which] } else { &self.cpu };
        if cell.get().is_none() {
            let _one = self.making.lock().unwrap_or_else(PoisonError::into_inner);
            if cell.get().is_none() {
                let made = if on_gpu { self.for_gpu(SCOPES[which]) } else { self.for_cpu() };
                let made = made.and_then(|made| interrupt::check().map(|()| made));
                match made.map_err(Error::of_code) {
                    Err(e) if interrupt::is_passing(&e) => return Err(e),
                    made => drop(cell.set(made)),
                }
            }
        }
        match cell.get() {
            Some(made) => made.as_ref().map(|m| m.0).map_err(Clone::clone),
            None => unreachable!("set above"),
        }
    }

    fn for_gpu(&self, scope: Scope) -> Result<Module> {
        let made = allowance::within(|| driver::schedule(&self.fused, scope))?;
        let count = made.kernels.len();
        let images = Images::made(made.kernels.into_iter().filter_map(|k| k.gpu), self.code.clone());
        log!(Info, "{}: {} for GPUs ({scope:?})", self.fused.name, counted(count, "kernel"));
        Loaded::in_memory(&self.module, made.plan, Some(images), Kernels::None, count).map(Module::new)
    }

    fn for_cpu(&self) -> Result<Module> {
        let made = allowance::within(|| driver::schedule(&self.fused, Scope::Cpu))?;
        let count = made.kernels.len();
        let variants: Vec<Option<CpuVariants>> = made.kernels.into_iter().map(|k| k.cpu).collect();
        let count_c = |bytes| match self.has_counted_c.swap(true, Ordering::Relaxed) {
            true => Ok(()),
            false => self.code.write(bytes),
        };
        let (kernels, how) = match cc::kernels(&variants, level()?, count_c)? {
            Some(compiled) => (compiled, "compiled by the system's C compiler"),
            None if !self.may_interpret && !variants.is_empty() => {
                fail!(UNAVAILABLE, "{}: no C compiler works", self.fused.name)
            }
            None => (
                Kernels::Blocks(variants.into_iter().map(|v| v.map(Blocks::new)).collect()),
                "run by the block interpreter",
            ),
        };
        log!(Info, "{}: {} for the CPU, {how}", self.fused.name, counted(count, "kernel"));
        Loaded::in_memory(&self.module, made.plan, None, kernels, count).map(Module::new)
    }

    /// Whether every module that was made so far has one launch only.
    pub fn has_one_launch(&self) -> bool {
        let made = self.cuda.iter().chain([&self.cpu]).filter_map(|cell| cell.get()?.as_ref().ok());
        made.map(|module| module.0.made().launches().count()).all(|launches| launches == 1)
    }

    /// Returns the number of kernels that a run launches.
    pub fn kernels(&self) -> Result<usize> {
        let module = self.module(false, 0)?;
        Ok(module.made().launches().count())
    }

    /// Runs the program.
    ///
    /// # Safety
    /// `call` is null or an `agpu_call`; `args` are `count` arguments.
    pub unsafe fn run(&self, call: *const AgpuCall, args: *const AgpuArg, count: i32) -> Result<()> {
        // SAFETY: the caller promises it.
        let on_gpu = unsafe { on_gpu(call, args, count) }?;
        let first = usize::from(self.is_long.load(Ordering::Relaxed));
        let last = if on_gpu { SCOPES.len() - 1 } else { first };
        if let Some(staged) = &self.staged {
            let general = self.module(on_gpu, first)?;
            // SAFETY: the caller promises it.
            let done = unsafe { staged.run(general, general.made(), call, args, count) };
            if let Some(done) = done {
                return done;
            }
        }
        for which in first..=last {
            let loaded = self.module(on_gpu, which)?;
            let entry = loaded.made();
            let mut lacks = false;
            let run = |ws: &mut Workspace| {
                ws.frame.lacks_variant.set(false);
                // SAFETY: the caller promises it.
                let done = unsafe { invoke(loaded, entry, call, args, count, ws) };
                lacks = ws.frame.lacks_variant.get();
                done
            };
            let done = workspace::with(run).map_err(|e| e.of(&entry.title));
            if !lacks || which == last {
                return done;
            }
            self.is_long.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Whether a call runs on a GPU.
///
/// # Safety
/// The same conditions hold as for [`Program::run`].
unsafe fn on_gpu(call: *const AgpuCall, args: *const AgpuArg, count: i32) -> Result<bool> {
    // SAFETY: the caller promises it.
    let (given, _) = unsafe { context_of(call) }?;
    if let Some(context) = given {
        return Ok(context.device.gpu().is_some());
    }
    aligned(args, "the arguments")?;
    for i in 0..if args.is_null() { 0 } else { usize::try_from(count).unwrap_or(0) } {
        // SAFETY: there are `count` arguments; only those that are views have a view.
        let (kind, view) = unsafe {
            let arg = args.add(i);
            (code((&raw const (*arg).kind).read()), &raw const (*arg).view)
        };
        if kind == AgpuArgKind::AgpuArgView as i32 || kind == AgpuArgKind::AgpuArgResultView as i32 {
            // SAFETY: the reason is the same as above.
            return Ok(buffer::pin(unsafe { view.read() }.buffer)?.context.device.gpu().is_some());
        }
    }
    Ok(context::default()?.1.device.gpu().is_some())
}

impl Program {
    /// Returns the PTX of each kernel's first variant.
    fn first_ptx(&self) -> Result<String> {
        let made = allowance::within(|| driver::schedule(&self.fused, Scope::ShortGpu))?;
        let code = allowance::code_of(&self.source);
        let write = |draft: Draft| {
            let ptx = ptx::emit(&draft.finish()?);
            code.write(ptx.len()).map(|()| ptx)
        };
        let first = made.kernels.into_iter().filter_map(|k| k.gpu?.drafts.into_iter().next());
        first.map(|draft| write(draft).map_err(refused)).collect()
    }

    pub fn text(&self, stage: &str) -> Result<String> {
        if stage == "first_ptx" {
            return self.first_ptx();
        }
        let targets = Targets { cpu: true, cuda: true };
        let (budget, name) = (allowance::allowed(), &self.source.name);
        let compiled = driver::compile_within(budget, name, vec![self.source.clone()], targets);
        let compiled = compiled.map_err(refused)?;
        match stage {
            "explain" => compiled.explain(&explain::Options::default(), explain::Format::Text),
            stage => compiled.emit(stage),
        }
        .map_err(refused)
    }
}
