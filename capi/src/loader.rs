//! Packages loaded by path, and their contents, for tests, tools, and programs that choose a
//! package at run time.

use crate::abi::{AgpuEntrySlot, AgpuLoadedModule, AgpuModule, AgpuStatus};
use crate::buffer::abi_type;
use crate::error::{INVALID_ARGUMENT, MODULE, OUT_OF_BOUNDS, Result, error, fail, out};
use crate::guard::{guard, guard_as};
use crate::handle::{Kind, Table};
use crate::module::{Entry, Function, Loaded};
use crate::{calls, cuda, library, package};
use arraygpu_compiler::counted;
use arraygpu_compiler::plan::Slot;
use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::path::Path;
use std::ptr::without_provenance_mut;
use std::sync::{Mutex, PoisonError};

/// A package that its user has not freed yet.
struct Library(Option<Package>);

struct Package {
    module: *const AgpuModule,
    /// The loaded module, which the package's state word points at.
    loaded: *mut Loaded,
    /// Keeps the code in memory.
    library: Option<libloading::Library>,
}

impl Package {
    fn loaded(&self) -> &'static Loaded {
        // SAFETY: the module is valid until the library is closed.
        unsafe { &*self.loaded }
    }
}

/// Packages that were freed while other threads were in calls, which may use them. They are closed
/// at the next load or free during which no other thread is in a call.
static FREED: Mutex<Vec<Package>> = Mutex::new(Vec::new());

/// Closes the freed packages, if no other thread is in a call.
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
    /// Closes the library. If nobody else holds the library, nothing can call the package any more,
    /// and its loaded module and its code on GPUs are freed, too.
    fn drop(&mut self) {
        drop(self.library.take());
        let mut info = MaybeUninit::uninit();
        // SAFETY: dladdr accepts any address, and `info` has room for its answer.
        let held = unsafe { libc::dladdr(self.module.cast(), info.as_mut_ptr()) } != 0;
        if !held {
            // SAFETY: it came from a box. The state word, which alone pointed at it, is gone with
            // the library, and no thread is in a call.
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

static MODULES: Table<Library> = Table::new(Kind::Module, "loaded module");

/// The package's name: that of `lib/libstats.so.1` is `stats`.
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
    // SAFETY: this runs the library's initialisers; a package has none of its own.
    let library = unsafe { library::open(path) };
    let library = library.map_err(|e| error(MODULE, format!("{shown}: cannot be loaded: {e}")))?;
    // SAFETY: the symbol of that name is the package's agpu_module, and dlsym returns its address.
    let symbol = unsafe { library.get::<*const AgpuModule>(format!("{name}_module").as_bytes()) };
    let symbol = symbol
        .map_err(|e| error(MODULE, format!("{shown}: no package, it has no symbol {name}_module: {e}")))?;
    // SAFETY: the address is only read by `package::open_raw`, which checks size and version first.
    let module =
        unsafe { symbol.try_as_raw_ptr() }.map_or(std::ptr::null(), |p| p.cast::<AgpuModule>().cast_const());
    // SAFETY: it is a package's module, which is valid while the library is loaded.
    let loaded = unsafe { package::open_raw(module) }.map_err(|e| e.of(&shown.to_string()))?;
    Ok(Library(Some(Package { module, loaded, library: Some(library) })))
}

/// Loads a package's shared library, lib<name>.so, by its path. agpu_invoke() runs its functions.
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
        // SAFETY: it is a C string, which the caller guarantees.
        let path = unsafe { CStr::from_ptr(path) }.to_str();
        let path = path.map_err(|_| error(INVALID_ARGUMENT, "the path is not UTF-8"))?;
        out.write(without_provenance_mut(MODULES.insert(load(Path::new(path))?)?));
        Ok(())
    };
    guard_as("agpu_module_load", load)
}

/// Unloads a package; NULL is allowed. Nothing of the package may be used afterwards, including
/// graphs that hold its calls. If other threads are in calls, which may use the package, it stays
/// in memory until they return. Waits for the work on GPUs that uses the package's code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_loaded_module_free(module: *mut AgpuLoadedModule) -> AgpuStatus {
    guard(|| {
        if module.is_null() {
            return Ok(());
        }
        MODULES.free(module.addr()).map_err(|e| e.of("agpu_loaded_module_free"))
    })
}

/// The common part of the functions that read from a module.
fn get<T>(name: &str, module: *mut AgpuLoadedModule, get: impl FnOnce(&Library) -> Result<T>) -> AgpuStatus {
    guard(|| MODULES.pin(module.addr()).and_then(|m| get(&m)).map(drop).map_err(|e| e.of(name)))
}

/// Returns a function of a package by its number.
fn function(library: &Library, entry: i32) -> Result<&'static Function> {
    let functions = &library.loaded().functions;
    match usize::try_from(entry).ok().and_then(|i| functions.get(i)) {
        Some(function) => Ok(function),
        None => fail!(OUT_OF_BOUNDS, "there is no entry {entry}, there are {}", functions.len()),
    }
}

fn entry(library: &Library, entry: i32) -> Result<&'static Entry> {
    Ok(&package::read(library.loaded(), function(library, entry)?)?.entry)
}

/// Writes the description of a parameter or result.
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

/// Writes the address of the module for agpu_invoke() to `out`; it is valid as long as `module`.
/// Thread-safe.
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

/// Writes the number of functions of a package to `out`. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_module_entry_count(module: *mut AgpuLoadedModule, out: *mut i32) -> AgpuStatus {
    get("agpu_module_entry_count", module, |m| {
        self::out(out, "out")?.write(m.loaded().functions.len() as i32);
        Ok(())
    })
}

/// Writes the number of the function with that name, for agpu_invoke(), to `out`;
/// AGPU_ERROR_INVALID_ARGUMENT if there is none. Thread-safe.
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
        // SAFETY: it is a C string, which the caller guarantees.
        let name = unsafe { CStr::from_ptr(name) };
        match m.loaded().functions.iter().position(|e| e.name.as_c_str() == name) {
            Some(i) => out.write(i as i32),
            None => fail!(INVALID_ARGUMENT, "{} has no function {}", m.loaded().name, name.to_string_lossy()),
        };
        Ok(())
    })
}

/// Writes the name of a function to `out`; it is valid as long as `module`. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_module_entry_name(
    module: *mut AgpuLoadedModule,
    entry: i32,
    out: *mut *const c_char,
) -> AgpuStatus {
    get("agpu_module_entry_name", module, |m| {
        self::out(out, "out")?.write(function(m, entry)?.name.as_ptr());
        Ok(())
    })
}

/// Writes the numbers of parameters and results of a function to `params` and `results`.
/// agpu_invoke() takes the parameters first, then the results. Thread-safe.
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

/// Writes the description of parameter `index` of a function to `out`. Thread-safe.
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
            fail!(
                OUT_OF_BOUNDS,
                "{} has {}, there is no {index}",
                entry.title,
                counted(params.len(), "parameter")
            );
        };
        describe(entry, slot, i, out);
        Ok(())
    })
}

/// Writes the description of result `index` of a function to `out`. Thread-safe.
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
            fail!(
                OUT_OF_BOUNDS,
                "{} has {}, there is no {index}",
                entry.title,
                counted(results.len(), "result")
            );
        };
        describe(entry, slot, params + i, out);
        Ok(())
    })
}
