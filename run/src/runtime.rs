//! libarraygpu: where it lies, and its functions. They are looked up in the shared library, so that
//! this program and the package, which needs the same library, have one runtime.

use crate::problem::{Result, failure};
use arraygpu_capi::abi::*;
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use std::ffi::{CStr, CString, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The file's name, which has the ABI's oldest version in it.
pub const FILE: &str = "libarraygpu.so.5";

type LaunchTimes = unsafe extern "C" fn(*mut AgpuContext, *mut AgpuLaunchTime, i64, *mut i64) -> i32;

/// Declares the functions that are called. Statuses are numbers: a newer library may have more.
macro_rules! functions {
    ($($name:ident($($type:ty),*);)*) => {
        /// The functions of the C ABI, as `include/arraygpu.h` declares them.
        pub struct Runtime {
            last_error_message: unsafe extern "C" fn() -> *const c_char,
            version: unsafe extern "C" fn() -> *const c_char,
            /// `agpu_context_profile`, which the first libraries do not have.
            pub profile: Option<unsafe extern "C" fn(*mut AgpuContext, bool) -> i32>,
            /// `agpu_context_launch_times`, as above.
            pub launch_times: Option<LaunchTimes>,
            tuning_load: Option<unsafe extern "C" fn(*const c_char) -> i32>,
            tuning_problem: Option<unsafe extern "C" fn(*mut *const c_char) -> i32>,
            $(
                #[allow(missing_docs, reason = "the header has them")]
                pub $name: unsafe extern "C" fn($($type),*) -> i32,
            )*
        }

        impl Runtime {
            fn of(library: &Library) -> std::result::Result<Runtime, libloading::Error> {
                // SAFETY: the header declares the symbols with these types.
                unsafe {
                    Ok(Runtime {
                        last_error_message: *library.get(b"agpu_last_error_message")?,
                        version: *library.get(b"agpu_version")?,
                        profile: library.get(b"agpu_context_profile").ok().map(|f| *f),
                        launch_times: library.get(b"agpu_context_launch_times").ok().map(|f| *f),
                        tuning_load: library.get(b"agpu_tuning_load").ok().map(|f| *f),
                        tuning_problem: library.get(b"agpu_tuning_problem").ok().map(|f| *f),
                        $($name: *library.get(concat!("agpu_", stringify!($name)).as_bytes())?,)*
                    })
                }
            }
        }
    };
}

functions! {
    module_load(*const c_char, *mut *mut AgpuLoadedModule);
    module_get(*mut AgpuLoadedModule, *mut *const AgpuModule);
    module_entry_count(*mut AgpuLoadedModule, *mut i32);
    module_entry_name(*mut AgpuLoadedModule, i32, *mut *const c_char);
    module_entry_shape(*mut AgpuLoadedModule, i32, *mut i32, *mut i32);
    module_entry_param(*mut AgpuLoadedModule, i32, i32, *mut AgpuEntrySlot);
    module_entry_result(*mut AgpuLoadedModule, i32, i32, *mut AgpuEntrySlot);
    context_create(*const AgpuContextOptions, *mut *mut AgpuContext);
    context_device(*mut AgpuContext, *mut i32);
    context_device_name(*mut AgpuContext, *mut *const c_char);
    context_threads(*mut AgpuContext, *mut i32);
    context_launches(*mut AgpuContext, *mut i64);
    context_synchronize(*mut AgpuContext);
    buffer_create_array(*mut AgpuContext, AgpuType, i32, *const i64, *mut *mut AgpuBuffer);
    buffer_free(*mut AgpuBuffer);
    buffer_view(*mut AgpuBuffer, *mut AgpuView);
    copy_from_host(AgpuView, *const c_void, i64);
    copy_to_host(*mut c_void, AgpuView, i64);
    copy(AgpuView, AgpuView);
    fill(AgpuView, *const c_void);
    invoke(*const AgpuModule, i32, *const AgpuCall, *const AgpuArg, i32);
}

impl Runtime {
    /// Loads the library: the given one, else that of `../lib` beside this program, else the one
    /// that the system's loader finds.
    pub fn load(given: Option<&Path>) -> Result<Runtime> {
        let places = match given {
            Some(path) => vec![path.to_path_buf()],
            None => beside().into_iter().chain([PathBuf::from(FILE)]).collect(),
        };
        let mut tried = Vec::new();
        for place in places {
            // SAFETY: this runs the library's initialisers, which the user asks for.
            match unsafe { Library::open(Some(&place), RTLD_NOW | RTLD_GLOBAL) } {
                Ok(library) => {
                    let runtime = Runtime::of(&library);
                    // the functions are used until the program ends
                    std::mem::forget(library);
                    return runtime.map_err(|e| {
                        failure(format!("{}: another version of libarraygpu: {e}", place.display()))
                    });
                }
                Err(e) => tried.push(format!("{}: {e}", place.display())),
            }
        }
        Err(failure(format!("libarraygpu is not found; --library FILE names it\n{}", tried.join("\n"))))
    }

    /// Checks a status.
    pub fn check(&self, status: i32) -> Result<()> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: a C string that lives until the next failing call.
        let text = unsafe { CStr::from_ptr((self.last_error_message)()) };
        Err(failure(text.to_string_lossy()))
    }

    /// Loads a tuning file.
    pub fn load_tuning(&self, path: &Path) -> Result<()> {
        let load = self
            .tuning_load
            .ok_or_else(|| failure("this libarraygpu knows no tuning files; install a newer one"))?;
        let text = CString::new(path.as_os_str().as_bytes())
            .map_err(|_| failure(format!("{}: a NUL in the path", path.display())))?;
        // SAFETY: it is a C string that lives during the call.
        self.check(unsafe { load(text.as_ptr()) })
    }

    /// Returns why a tuning file is ignored, if one is.
    pub fn tuning_problem(&self) -> Option<String> {
        let mut message = std::ptr::null();
        // SAFETY: the out-pointer is to a local.
        self.check(unsafe { self.tuning_problem?(&mut message) }).ok()?;
        // SAFETY: a C string that is never freed.
        let text = unsafe { CStr::from_ptr(message) }.to_string_lossy();
        (!text.is_empty()).then(|| text.into_owned())
    }

    /// Returns the library's version.
    pub fn version(&self) -> String {
        // SAFETY: a C string that is never freed.
        unsafe { CStr::from_ptr((self.version)()) }.to_string_lossy().into_owned()
    }
}

/// The library of the tree that this program is installed in.
fn beside() -> Option<PathBuf> {
    let path = std::env::current_exe().ok()?.parent()?.parent()?.join("lib").join(FILE);
    path.exists().then_some(path)
}
