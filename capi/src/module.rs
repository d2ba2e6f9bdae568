//! Modules: plans with the code of their kernels. A module comes from a package or was compiled in this
//! process. The functions of a package are read when they are first called, because a program that calls one
//! of many should not wait for all their plans.

mod check;
mod entry;
pub(crate) mod state;

pub(crate) use entry::{Entry, title};

use crate::abi::{AgpuArg, AgpuCall, AgpuCpuKernel};
use crate::cpu::{Blocks, Code, Variant};
use crate::cuda::Images;
use crate::error::Result;
use crate::tuning::Tuning;
use arraygpu_compiler::plan::Plan;
use entry::c_string;
use std::ffi::CString;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// A module ready for use. A package's module lives as long as its library, because the package's
/// state word points at it. A program's module lives as long as the program.
pub(crate) struct Loaded {
    /// A number that is unique in this process.
    pub id: usize,
    pub name: String,
    pub functions: Vec<Function>,
    /// Code for GPUs, if there is any.
    pub images: Option<Images>,
    /// What was measured of it; nothing if it was compiled in this process.
    pub tuning: Tuning,
    kernels: Kernels,
    count: usize,
}

/// A function that specialises itself for the values of a call's staged scalars.
pub(crate) trait Specialise: Send + Sync {
    /// Runs a call of the function whose general version is `entry` of `loaded`. Returns `None` if
    /// the general version is to run; in that case nothing was done.
    ///
    /// # Safety
    /// `call` is null or an `agpu_call`; `args` are `count` arguments.
    unsafe fn run(
        &self,
        loaded: &Loaded,
        entry: &Entry,
        call: *const AgpuCall,
        args: *const AgpuArg,
        count: i32,
    ) -> Option<Result<()>>;
}

/// A function of a module, which may not have been read yet.
pub(crate) struct Function {
    pub name: CString,
    /// What a package says of it; empty if it was compiled in this process.
    text: FunctionText,
    read: OnceLock<Read>,
}

/// The texts of a function of a package, which stay as long as its library.
#[derive(Clone, Copy, Default)]
pub(crate) struct FunctionText {
    pub plan: &'static str,
    /// The author's function, if it stages scalars.
    pub staged: Option<&'static str>,
}

/// What a function's texts say.
pub(crate) struct Read {
    pub entry: Arc<Entry>,
    /// What specialises the function for a call's staged scalars, if it has any.
    pub staged: Option<Box<dyn Specialise>>,
}

impl Function {
    /// Makes a function of a package that is not read yet.
    pub fn unread(module: &str, name: &str, text: FunctionText) -> Result<Function> {
        Ok(Function { name: c_string(module, name)?, text, read: OnceLock::new() })
    }

    /// Makes a function from a plan, which is checked.
    pub fn of(loaded: &Loaded, plan: Plan) -> Result<Function> {
        let read = Read { entry: Arc::new(loaded.entry(plan)?), staged: None };
        Ok(Function { name: read.entry.name.clone(), text: FunctionText::default(), read: read.into() })
    }

    /// Returns what was read of the function, or reads it. An error is not kept, since memory may have lacked; two
    /// threads may read at the same time.
    #[inline]
    pub fn get_or_read(&self, read: impl FnOnce(&FunctionText) -> Result<Read>) -> Result<&Read> {
        match self.read.get() {
            Some(known) => Ok(known),
            None => read(&self.text).map(|fresh| self.read.get_or_init(|| fresh)),
        }
    }

    /// What was read of the function, if it was read.
    pub fn known(&self) -> Option<&Read> {
        self.read.get()
    }
}

/// Kernels for this processor.
pub(crate) enum Kernels {
    None,
    /// Compiled kernels of a package, or of a library that `_code` keeps loaded.
    Table {
        kernels: *const AgpuCpuKernel,
        _code: Option<libloading::Library>,
    },
    /// Kernels that are interpreted block by block.
    Blocks(Vec<Option<Blocks>>),
}

// SAFETY: the table of kernels is constant data of the package.
unsafe impl Send for Kernels {}
// SAFETY: as above.
unsafe impl Sync for Kernels {}

impl Loaded {
    /// Makes a module of code that was compiled in this process.
    pub fn in_memory(
        name: &str,
        plan: Plan,
        images: Option<Images>,
        kernels: Kernels,
        count: usize,
    ) -> Result<Loaded> {
        let mut loaded = Loaded::new(name, images, kernels, count);
        loaded.functions = vec![Function::of(&loaded, plan)?];
        Ok(loaded)
    }

    /// Makes a module without functions.
    pub fn new(name: &str, images: Option<Images>, kernels: Kernels, count: usize) -> Loaded {
        let (functions, tuning) = (Vec::new(), Tuning::default());
        Loaded { id: next_id(), name: name.into(), functions, images, tuning, kernels, count }
    }

    /// Makes a function of this module from a plan that may be wrong.
    pub fn entry(&self, plan: Plan) -> Result<Entry> {
        let has = |kernel, variant| self.has(kernel, variant);
        let has = self.has_cpu_code().then_some(&has as &dyn Fn(u32, Variant) -> bool);
        check::check(&title(&self.name, &plan.name), &plan, self.count, has)?;
        Entry::new(&self.name, plan)
    }

    /// Returns the function of a module that was compiled in this process.
    pub fn made(&self) -> &Arc<Entry> {
        match self.functions.first().and_then(Function::known) {
            Some(read) => &read.entry,
            None => unreachable!("made with its function"),
        }
    }

    /// Whether there are kernels for this processor.
    pub fn has_cpu_code(&self) -> bool {
        self.count == 0 || !matches!(self.kernels, Kernels::None)
    }

    fn has(&self, index: u32, variant: Variant) -> bool {
        match &self.kernels {
            Kernels::Blocks(list) => {
                list[index as usize].as_ref().is_some_and(|k| k.kernel(variant).is_some())
            }
            _ => matches!(self.code(index, variant), Ok(Some(_))),
        }
    }

    /// The code of a variant of a kernel, if it has that variant.
    pub fn code(&self, index: u32, variant: Variant) -> Result<Option<Code>> {
        assert!((index as usize) < self.count);
        match &self.kernels {
            Kernels::None => Ok(None),
            Kernels::Table { kernels, .. } => {
                // SAFETY: the table has `count` kernels as long as the package is loaded, and the
                // package is making this call.
                let k = unsafe { &*kernels.add(index as usize) };
                let code = match variant {
                    Variant::Contiguous => k.contiguous,
                    Variant::InPlace => k.in_place,
                    Variant::Strided => k.strided,
                    Variant::Finish => k.finish,
                };
                Ok(code.map(Code::Native))
            }
            Kernels::Blocks(list) => list[index as usize].as_ref().map_or(Ok(None), |k| k.code(variant)),
        }
    }
}

/// Returns a new number, by which a device distinguishes what it keeps for different modules.
fn next_id() -> usize {
    static IDS: AtomicUsize = AtomicUsize::new(0);
    IDS.fetch_add(1, Ordering::Relaxed)
}
