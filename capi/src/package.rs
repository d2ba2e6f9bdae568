//! Packages: `agpu_invoke`, and the loaded module behind the pointer that a package passes.

use crate::abi::{
    AGPU_ABI_OLDEST, AGPU_ABI_VERSION, AgpuArg, AgpuCall, AgpuCpuKernel, AgpuModule, AgpuStatus,
};
use crate::cuda::Images;
use crate::error::{INVALID_ARGUMENT, MODULE, Result, aligned, error, fail};
use crate::guard::guard;
use crate::guards;
use crate::invoke::invoke;
use crate::level::{Level, level};
use crate::log::log;
use crate::module::{Function, FunctionText, Kernels, Loaded, Read, Specialise, title};
use crate::online;
use crate::online::staged::Staged;
use crate::tuning::Tuning;
use crate::workspace::{self, Workspace};
use arraygpu_compiler::core;
use arraygpu_compiler::plan::{Plan, parse};
use arraygpu_compiler::text::{Block, blocks};
use std::ffi::{CStr, c_char};
use std::str::Utf8Error;
use std::sync::Arc;
use std::sync::atomic::AtomicPtr;

#[cfg(test)]
mod tests;

/// Runs entry `entry` of a module. Packages call this function. The arguments are the parameters
/// followed by the results. `call` may be NULL. Thread-safe as long as no buffer that a call writes
/// is used elsewhere at the same time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_invoke(
    module: *const AgpuModule,
    entry: i32,
    call: *const AgpuCall,
    args: *const AgpuArg,
    count: i32,
) -> AgpuStatus {
    guard(|| {
        // SAFETY: it is NULL or a package's module, which the caller guarantees.
        let loaded = unsafe { open(module) }.map_err(|e| e.of("agpu_invoke"))?;
        let number = usize::try_from(entry).unwrap_or(usize::MAX);
        let Some(function) = loaded.functions.get(number) else {
            fail!(
                INVALID_ARGUMENT,
                "{}: there is no entry {entry}, there are {}",
                loaded.name,
                loaded.functions.len()
            );
        };
        let Read { entry, staged } = read(loaded, function)?;
        if let Some(staged) = staged {
            // SAFETY: as below.
            if let Some(done) = unsafe { staged.run(loaded, entry, call, args, count) } {
                return done;
            }
        }
        // SAFETY: `call` is NULL or an agpu_call, and there are `count` arguments, which the caller
        // guarantees.
        let run = |ws: &mut Workspace| unsafe { invoke(loaded, entry, call, args, count, ws) };
        workspace::with(run).map_err(|e| e.of(&entry.title))
    })
}

/// Returns the loaded module behind a package's pointer. It is loaded at its first use; its functions are read at
/// their first calls ([`read`]).
///
/// # Safety
/// `module` is null or points at an `agpu_module` of any version, which stays valid.
pub(crate) unsafe fn open(module: *const AgpuModule) -> Result<&'static Loaded> {
    // SAFETY: the caller guarantees this. What the state word points at is valid while the package
    // is loaded.
    unsafe { open_raw(module).map(|loaded| &*loaded) }
}

/// Does the same and returns a pointer, which the owner of the library frees when the library is
/// closed.
///
/// # Safety
/// As [`open`].
pub(crate) unsafe fn open_raw(module: *const AgpuModule) -> Result<*mut Loaded> {
    if module.is_null() {
        fail!(INVALID_ARGUMENT, "the module is NULL");
    }
    aligned(module, "the module")?;
    // SAFETY: the size and the version come first in every version.
    let (size, version) =
        unsafe { ((&raw const (*module).size).read(), (&raw const (*module).abi_version).read()) };
    if !(AGPU_ABI_OLDEST..=AGPU_ABI_VERSION).contains(&version) || size < size_of::<AgpuModule>() {
        let advice = if version < AGPU_ABI_OLDEST { "make it again" } else { "install a newer libarraygpu" };
        fail!(
            MODULE,
            "the package was made for ABI version {version} (module of {size} bytes), this library runs those of \
             {AGPU_ABI_OLDEST} to {AGPU_ABI_VERSION} ({} bytes): {advice}",
            size_of::<AgpuModule>()
        );
    }
    // SAFETY: the size says that all fields are there.
    let module = unsafe { &*module };
    if module.state.is_null() {
        fail!(MODULE, "the module's state is NULL");
    }
    // SAFETY: the state word belongs to the runtime and is only accessed by this atomic.
    let state = unsafe { AtomicPtr::<Loaded>::from_ptr(module.state.cast()) };
    // SAFETY: the module is of this version.
    crate::module::state::get_or_make(state, || unsafe { load(module) })
}

/// # Safety
/// The module's pointers are null or what `agpu_module` says.
pub(crate) unsafe fn load(module: &AgpuModule) -> Result<Loaded> {
    if module.name.is_null() || module.plans.is_null() {
        fail!(MODULE, "the module's name or plans are NULL");
    }
    // SAFETY: it is a C string, by the contract.
    let name = unsafe { CStr::from_ptr(module.name) }.to_string_lossy().into_owned();
    let (Ok(length), Ok(count)) = (usize::try_from(module.plans_length), usize::try_from(module.kernels))
    else {
        fail!(MODULE, "{name}: a negative number of kernels or length of the plans");
    };
    // SAFETY: `plans` has that many bytes, by the contract.
    let plans_text = unsafe { text(module.plans, length) };
    let plans_text =
        plans_text.map_err(|e| error(MODULE, format!("{name}: the plans are not UTF-8: {e}")))?;
    let plans = blocks(plans_text, "plan")
        .map_err(|e| error(MODULE, format!("{name}: the plans cannot be read: {e}")))?;
    let level = level()?;
    let kernels = table(module, level);
    // SAFETY: the caller guarantees this.
    let images = unsafe { Images::read(module, &name) }?;
    let kernels = if kernels.is_null() { Kernels::None } else { Kernels::Table { kernels, _code: None } };
    if matches!(kernels, Kernels::None) && count > 0 && images.is_none() {
        fail!(
            MODULE,
            "{name}: the package has no code for this processor, which runs x86-64-{} and below",
            level.name()
        );
    }
    // SAFETY: the caller guarantees this.
    let mut staged = unsafe { staged(module, &name) }?;
    let mut loaded = Loaded::new(&name, images, kernels, count);
    let gpu = loaded.images.as_ref().map_or("", |images| images.text_of_launches());
    loaded.tuning = Tuning::of_package(module, &name, [plans_text, gpu]);
    for plan in plans {
        let staged = staged.iter().position(|f| f.name == plan.name).map(|i| staged.swap_remove(i).text);
        loaded.functions.push(Function::unread(&name, plan.name, FunctionText { plan: plan.text, staged })?);
    }
    if let Some(f) = staged.first() {
        fail!(MODULE, "{name}: the functions that stage cannot be read: there is no entry {}", f.name);
    }
    log!(
        Info,
        "the package {name}: {} functions, {}{}",
        loaded.functions.len(),
        if loaded.has_cpu_code() {
            format!("kernels for x86-64-{}", level.name())
        } else {
            "none for CPUs".into()
        },
        if loaded.images.is_some() { ", code for GPUs" } else { "" }
    );
    if guards::is_on() {
        read_all(&loaded)?;
    }
    Ok(loaded)
}

/// Reads what first calls would read, so that a damaged function is found before it is called.
fn read_all(loaded: &Loaded) -> Result<()> {
    for function in &loaded.functions {
        read(loaded, function)?;
    }
    match &loaded.images {
        Some(images) => images.read_all(),
        None => Ok(()),
    }
}

/// # Safety
/// There are that many bytes, and they are valid as long as what is made of the text is used.
pub(crate) unsafe fn text<'a>(
    address: *const c_char,
    length: usize,
) -> std::result::Result<&'a str, Utf8Error> {
    // SAFETY: the caller guarantees this.
    std::str::from_utf8(unsafe { std::slice::from_raw_parts(address.cast::<u8>(), length) })
}

/// Finds the functions that stage scalars.
///
/// # Safety
/// As [`load`].
unsafe fn staged(module: &AgpuModule, name: &str) -> Result<Vec<Block<'static>>> {
    if module.staged.is_null() {
        return Ok(Vec::new());
    }
    let cannot =
        |why: String| error(MODULE, format!("{name}: the functions that stage cannot be read: {why}"));
    let length = usize::try_from(module.staged_length).map_err(|e| cannot(e.to_string()))?;
    // SAFETY: `staged` has that many bytes, by the contract.
    let text = unsafe { text(module.staged, length) }.map_err(|e| cannot(e.to_string()))?;
    blocks(text, "func").map_err(|e| cannot(e.to_string()))
}

/// Returns the contents of a function's texts, which are read and checked at its first call.
#[inline]
pub(crate) fn read<'l>(loaded: &Loaded, function: &'l Function) -> Result<&'l Read> {
    function.get_or_read(|text| read_text(loaded, function, text))
}

#[cold]
fn read_text(loaded: &Loaded, function: &Function, text: &FunctionText) -> Result<Read> {
    let title = title(&loaded.name, &function.name.to_string_lossy());
    let plan =
        parse::one(text.plan).map_err(|e| error(MODULE, format!("{title}: its plan cannot be read: {e}")))?;
    let entry = loaded.entry(plan)?;
    let cannot = |why: String| error(MODULE, format!("{title}: what it stages cannot be read: {why}"));
    let staged = match text.staged {
        None => None,
        Some(text) => {
            let f = online::staged::read(text).map_err(|e| cannot(e.to_string()))?;
            if !fits(&f, &entry.plan) {
                return Err(cannot("its parameters and results are others".into()));
            }
            Staged::of(&loaded.name, f)
        }
    };
    Ok(Read { entry: Arc::new(entry), staged: staged.map(|s| Box::new(s) as Box<dyn Specialise>) })
}

/// Whether a function has the name, the parameters and the results of a plan.
fn fits(f: &core::Function, plan: &Plan) -> bool {
    let results = f.results.iter().map(|r| (&r.name, f.graph.ty(r.value)));
    f.name == plan.name
        && f.params.iter().map(|p| (&p.name, p.ty)).eq(plan.params.iter().map(|p| (&p.name, p.ty)))
        && results.eq(plan.results.iter().map(|r| (&r.name, r.ty)))
}

/// Returns the table of the best level that the package and this processor have.
pub(crate) fn table(module: &AgpuModule, level: Level) -> *const AgpuCpuKernel {
    let tables = [(Level::V4, module.cpu_v4), (Level::V3, module.cpu_v3), (Level::V2, module.cpu_v2)];
    tables.into_iter().find(|(l, t)| *l <= level && !t.is_null()).map_or(std::ptr::null(), |t| t.1)
}
