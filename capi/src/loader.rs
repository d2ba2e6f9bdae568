//! Packages loaded by path, and what is in them: for tests, tools, and programs that choose a package at run time.

use crate::abi::{AgpuEntrySlot, AgpuLoadedModule, AgpuModule, AgpuStatus};
use crate::buffer::abi_type;
use crate::error::{INVALID_ARGUMENT, MODULE, OUT_OF_BOUNDS, Result, error, fail, out};
use crate::guard::{guard, guard_as};
use crate::handle::Table;
use crate::module::{Entry, Loaded};
use crate::{calls, cuda, library, package};
use arraygpu_compiler::plan::Slot;
use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::path::Path;
use std::ptr::without_provenance_mut;
use std::sync::{Mutex, PoisonError};

/// A package that its user has not freed.
struct Library(Option<Package>);

struct Package {
    module: *const AgpuModule,
    /// What was made of it, as its state word has it.
    loaded: *mut Loaded,
    /// Keeps the code in memory.
    library: Option<libloading::Library>,
}

impl Package {
    fn loaded(&self) -> &'static Loaded {
        // SAFETY: until the library is closed.
        unsafe { &*self.loaded }
    }
}

/// Packages that were freed while other threads were in calls, which may be theirs. They go with the next one that is
/// loaded or freed while no thread is.
static FREED: Mutex<Vec<Package>> = Mutex::new(Vec::new());

/// Closes what was freed, if no other thread is in a call.
fn close_freed() {
    calls::drop_when_idle(&FREED, calls::others_work);
}

impl Drop for Library {
    fn drop(&mut self) {
        FREED.lock().unwrap_or_else(PoisonError::into_inner).extend(self.0.take());
        close_freed();
    }
}

impl Drop for Package {
    /// Closes the library; if nobody else holds it, nothing can call the package any more: what was made of it goes, and its code on GPUs, too.
    fn drop(&mut self) {
        drop(self.library.take());
        let mut info = MaybeUninit::uninit();
        // SAFETY: any address may be asked about, and the answer has room.
        let held = unsafe { libc::dladdr(self.module.cast(), info.as_mut_ptr()) } != 0;
        if !held {
            // SAFETY: from a box; its state word, which alone had it, is gone with the library, and no thread is in a call.
            let loaded = unsafe { Box::from_raw(self.loaded) };
            cuda::forget(loaded.id);
        }
    }
}

impl Deref for Library {
    type Target = Package;
    fn deref(&self) -> &Package {
        match &self.0 {
            Some(package) => package,
            None => unreachable!("taken when it goes"),
        }
    }
}

// SAFETY: the module is constant data of the library.
unsafe impl Send for Package {}
// SAFETY: as above.
unsafe impl Sync for Package {}

static MODULES: Table<Library> = Table::new(0b1101, "loaded module");

/// `lib/libstats.so.1` is the package `stats`.
fn package_name(path: &Path) -> Option<&str> {
    let file = path.file_name()?.to_str()?;
    let stem = file.split('.').next()?;
    Some(stem.strip_prefix("lib").unwrap_or(stem)).filter(|s| !s.is_empty())
}

fn load(path: &Path) -> Result<Library> {
    close_freed();
    let shown = path.display();
    let Some(name) = package_name(path) else {
        fail!(INVALID_ARGUMENT, "{shown}: not the path of a package's library, lib<name>.so");
    };
    // SAFETY: runs the library's initialisers; a package has none of its own.
    let library = unsafe { library::open(path) };
    let library = library.map_err(|e| error(MODULE, format!("{shown}: cannot be loaded: {e}")))?;
    // SAFETY: the symbol of that name is the package's agpu_module, whose address dlsym gives.
    let symbol = unsafe { library.get::<*const AgpuModule>(format!("{name}_module").as_bytes()) };
    let symbol = symbol
        .map_err(|e| error(MODULE, format!("{shown}: no package, it has no symbol {name}_module: {e}")))?;
    // SAFETY: an address that is only looked at through `package::open`, which checks size and version first.
    let module =
        unsafe { symbol.try_as_raw_ptr() }.map_or(std::ptr::null(), |p| p.cast::<AgpuModule>().cast_const());
    // SAFETY: a package's module, valid while the library is loaded.
    let loaded = unsafe { package::open_raw(module) }.map_err(|e| e.of(&shown.to_string()))?;
    Ok(Library(Some(Package { module, loaded, library: Some(library) })))
}

/// Loads a package's shared library, lib<name>.so, by its path. Its functions run through agpu_invoke().
/// Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_module_load(
    path: *const c_char,
    out: *mut *mut AgpuLoadedModule,
) -> AgpuStatus {
    let load = || {
        let out = self::out(out, "out")?;
        if path.is_null() {
            fail!(INVALID_ARGUMENT, "path is NULL");
        }
        // SAFETY: a C string (the caller's promise).
        let path = unsafe { CStr::from_ptr(path) }.to_str();
        let path = path.map_err(|_| error(INVALID_ARGUMENT, "the path is not UTF-8"))?;
        out.write(without_provenance_mut(MODULES.insert(load(Path::new(path))?)?));
        Ok(())
    };
    guard_as("agpu_module_load", load)
}

/// Unloads a package; NULL is fine. Nothing of it may be used any more, graphs that hold its calls included;
/// while other threads are in calls, which may be its own, it stays in memory. Waits for the work on GPUs that
/// uses its code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_loaded_module_free(module: *mut AgpuLoadedModule) -> AgpuStatus {
    guard(|| {
        if module.is_null() {
            return Ok(());
        }
        MODULES.free(module.addr()).map_err(|e| e.of("agpu_loaded_module_free"))
    })
}

/// The common shape of the getters.
fn get<T>(name: &str, module: *mut AgpuLoadedModule, get: impl FnOnce(&Library) -> Result<T>) -> AgpuStatus {
    guard(|| MODULES.pin(module.addr()).and_then(|m| get(&m)).map(drop).map_err(|e| e.of(name)))
}

fn entry(library: &Library, entry: i32) -> Result<&'static Entry> {
    let entries = &library.loaded().entries;
    match usize::try_from(entry).ok().and_then(|i| entries.get(i)) {
        Some(entry) => Ok(entry),
        None => fail!(OUT_OF_BOUNDS, "there is no entry {entry}, there are {}", entries.len()),
    }
}

/// Writes what a parameter or result is.
fn describe(entry: &Entry, slot: &Slot, index: usize, out: &mut MaybeUninit<AgpuEntrySlot>) {
    let name = entry.names[index].as_ptr();
    out.write(AgpuEntrySlot {
        name,
        r#type: abi_type(slot.ty.elem),
        rank: slot.ty.rank.into(),
        element_size: slot.ty.elem.size() as i32,
        reserved: [0; 5],
    });
}

/// The module itself, for agpu_invoke(); it lives as long as `module`. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_module_get(
    module: *mut AgpuLoadedModule,
    out: *mut *const AgpuModule,
) -> AgpuStatus {
    get("agpu_module_get", module, |m| {
        self::out(out, "out")?.write(m.module);
        Ok(())
    })
}

/// How many functions a package has. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_module_entry_count(module: *mut AgpuLoadedModule, out: *mut i32) -> AgpuStatus {
    get("agpu_module_entry_count", module, |m| {
        self::out(out, "out")?.write(m.loaded().entries.len() as i32);
        Ok(())
    })
}

/// The function of that name: its number, for agpu_invoke(); AGPU_ERROR_INVALID_ARGUMENT if there is
/// none. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_module_find(
    module: *mut AgpuLoadedModule,
    name: *const c_char,
    out: *mut i32,
) -> AgpuStatus {
    get("agpu_module_find", module, |m| {
        let out = self::out(out, "out")?;
        if name.is_null() {
            fail!(INVALID_ARGUMENT, "name is NULL");
        }
        // SAFETY: a C string (the caller's promise).
        let name = unsafe { CStr::from_ptr(name) };
        match m.loaded().entries.iter().position(|e| e.name.as_c_str() == name) {
            Some(i) => out.write(i as i32),
            None => fail!(INVALID_ARGUMENT, "{} has no function {}", m.loaded().name, name.to_string_lossy()),
        };
        Ok(())
    })
}

/// The name of a function; it lives as long as `module`. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_module_entry_name(
    module: *mut AgpuLoadedModule,
    entry: i32,
    out: *mut *const c_char,
) -> AgpuStatus {
    get("agpu_module_entry_name", module, |m| {
        self::out(out, "out")?.write(self::entry(m, entry)?.name.as_ptr());
        Ok(())
    })
}

/// How many parameters and results a function has; agpu_invoke() takes them in this order. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_module_entry_shape(
    module: *mut AgpuLoadedModule,
    entry: i32,
    params: *mut i32,
    results: *mut i32,
) -> AgpuStatus {
    get("agpu_module_entry_shape", module, |m| {
        let (params, results) = (out(params, "params")?, out(results, "results")?);
        let plan = &self::entry(m, entry)?.plan;
        params.write(plan.params.len() as i32);
        results.write(plan.results.len() as i32);
        Ok(())
    })
}

/// What parameter `index` of a function is. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_module_entry_param(
    module: *mut AgpuLoadedModule,
    entry: i32,
    index: i32,
    out: *mut AgpuEntrySlot,
) -> AgpuStatus {
    get("agpu_module_entry_param", module, |m| {
        let (out, entry) = (self::out(out, "out")?, self::entry(m, entry)?);
        let params = &entry.plan.params;
        let Some((i, slot)) = usize::try_from(index).ok().and_then(|i| Some((i, params.get(i)?))) else {
            fail!(OUT_OF_BOUNDS, "{} has {} parameters, there is no {index}", entry.title, params.len());
        };
        describe(entry, slot, i, out);
        Ok(())
    })
}

/// What result `index` of a function is. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_module_entry_result(
    module: *mut AgpuLoadedModule,
    entry: i32,
    index: i32,
    out: *mut AgpuEntrySlot,
) -> AgpuStatus {
    get("agpu_module_entry_result", module, |m| {
        let (out, entry) = (self::out(out, "out")?, self::entry(m, entry)?);
        let (params, results) = (entry.plan.params.len(), &entry.plan.results);
        let Some((i, slot)) = usize::try_from(index).ok().and_then(|i| Some((i, results.get(i)?))) else {
            fail!(OUT_OF_BOUNDS, "{} has {} results, there is no {index}", entry.title, results.len());
        };
        describe(entry, slot, params + i, out);
        Ok(())
    })
}
