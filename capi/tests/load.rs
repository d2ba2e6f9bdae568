//! Packages that are loaded by path. They are made here with the C compiler, if there is one.

mod common;

use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use common::*;
use std::ffi::{CStr, CString, c_void};
use std::mem::MaybeUninit;
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::Barrier;
use std::sync::atomic::Ordering;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

fn load(path: &Path) -> Result<*mut AgpuLoadedModule, AgpuStatus> {
    let (path, mut module) = (CString::new(path.to_str().unwrap()).unwrap(), null_mut());
    // SAFETY: the pointers are to locals.
    match unsafe { agpu_module_load(path.as_ptr(), &mut module) } {
        AgpuOk => Ok(module),
        status => Err(status),
    }
}

/// Loads truncated copies of a library, as a full disk leaves them. Each copy has a name of its
/// own, because the loader recognises files that it has loaded.
fn cut_off(library: &Path) {
    let whole = std::fs::read(library).unwrap();
    let (mut loaded, mut said) = (0, 0);
    for length in (0..whole.len()).step_by(997).chain([1, 6, 63, 64, 4095, 4096, 4097, whole.len()]) {
        let folder = library.with_file_name(format!("cut-{length}"));
        std::fs::create_dir_all(&folder).unwrap();
        let cut = folder.join("libtiny.so");
        std::fs::write(&cut, &whole[..length]).unwrap();
        match load(&cut) {
            Ok(module) => {
                // The missing part contains only data for debuggers.
                loaded += 1;
                // SAFETY: the argument is a handle.
                ok(unsafe { agpu_loaded_module_free(module) });
            }
            Err(status) => {
                fails(status, AgpuErrorModule, &["libtiny.so: cannot be loaded: "]);
                said += usize::from(message().ends_with("the file is cut off"));
            }
        }
    }
    assert!(loaded > 0 && said > 5, "{loaded} are loaded, {said} are cut off");
}

#[test]
fn a_package_by_its_path() {
    let folder = std::env::temp_dir().join(format!("arraygpu-load-{}", std::process::id()));
    let Some(library) = tiny::build(&folder) else { return };
    let source = folder.join("tiny.c");
    cut_off(&library);
    let other = folder.join("libother.so");
    std::fs::copy(&library, &other).unwrap();
    fails(load(&other).unwrap_err(), AgpuErrorModule, &["other_module"]);
    fails(load(&folder.join("libnone.so")).unwrap_err(), AgpuErrorModule, &["libnone.so"]);
    fails(load(&source).unwrap_err(), AgpuErrorModule, &["tiny.c"]);

    let module = load(&library).unwrap_or_else(|_| panic!("{}", message()));
    let (mut count, mut index, mut name, mut raw) = (0, -1, null(), null());
    let (mut params, mut results) = (0, 0);
    let mut slot = MaybeUninit::<AgpuEntrySlot>::uninit();
    // SAFETY: the pointers are to locals, and the module is loaded.
    unsafe {
        ok(agpu_module_entry_count(module, &mut count));
        fails(
            agpu_module_find(module, c"none".as_ptr(), &mut index),
            AgpuErrorInvalidArgument,
            &["tiny has no function none"],
        );
        ok(agpu_module_find(module, c"same".as_ptr(), &mut index));
        ok(agpu_module_entry_name(module, 0, &mut name));
        ok(agpu_module_entry_shape(module, 0, &mut params, &mut results));
        assert_eq!((count, index, CStr::from_ptr(name), params, results), (1, 0, c"same", 1, 1));
        ok(agpu_module_entry_result(module, 0, 0, slot.as_mut_ptr()));
        let slot = slot.assume_init();
        assert_eq!((CStr::from_ptr(slot.name), slot.r#type, slot.rank), (c"out", AgpuType::AgpuF32, 0));
        let mut slot = MaybeUninit::uninit();
        fails(
            agpu_module_entry_param(module, 0, 1, slot.as_mut_ptr()),
            AgpuErrorOutOfBounds,
            &["tiny::same has 1"],
        );
        fails(agpu_module_entry_name(module, 1, &mut name), AgpuErrorOutOfBounds, &["no entry 1"]);

        ok(agpu_module_get(module, &mut raw));
        let mut result = 0f32;
        let args = [scalar(&4.5f32), out_scalar(&mut result)];
        let call = AgpuCall::on(cpu(), null_mut());
        ok(agpu_invoke(raw, index, &call, args.as_ptr(), 2));
        assert_eq!(result, 4.5);

        ok(agpu_loaded_module_free(module));
        fails(agpu_loaded_module_free(module), AgpuErrorInvalidHandle, &["freed"]);
        fails(agpu_module_entry_count(module, &mut count), AgpuErrorInvalidHandle, &[]);
        ok(agpu_loaded_module_free(null_mut()));
    }
    // The package is loaded again after it was unloaded.
    let again = load(&library).unwrap_or(null_mut());
    assert!(!again.is_null());
    // SAFETY: the argument is a handle.
    ok(unsafe { agpu_loaded_module_free(again) });

    // Repeated loading does not use more memory.
    let round = || {
        let again = load(&library).unwrap_or(null_mut());
        // SAFETY: the argument is a handle.
        ok(unsafe { agpu_loaded_module_free(again) });
        counting::BYTES.load(Ordering::Relaxed)
    };
    let before = round();
    assert_eq!((0..50).map(|_| round()).max(), Some(before), "bytes after a round");

    // A package that is freed while another thread is in a call, which may use it, stays loaded
    // until that call returns.
    let again = load(&library).unwrap_or(null_mut());
    // SAFETY: the function takes this argument, and the call lives; it waits until the package was
    // freed.
    let meet = Barrier::new(2);
    std::thread::scope(|s| {
        s.spawn(|| {
            let call = AgpuCall::on(cpu(), null_mut());
            let data = (&raw const meet).cast_mut().cast();
            // SAFETY: the function takes this argument, and the call lives.
            ok(unsafe { agpu_stream_callback(&call, Some(wait_twice), data) });
        });
        meet.wait();
        // SAFETY: the argument is a handle.
        ok(unsafe { agpu_loaded_module_free(again) });
        assert!(is_loaded(&library), "its code is still there");
        meet.wait();
    });
    // The word of the thread that ended stays for the next thread.
    assert!(round() <= before + 400);
    assert!(!is_loaded(&library));
    std::fs::remove_dir_all(&folder).unwrap();
}

unsafe extern "C" fn wait_twice(meet: *mut c_void) {
    // SAFETY: the pointer is to the barrier of the test.
    let meet = unsafe { &*meet.cast::<Barrier>() };
    meet.wait();
    meet.wait();
}

/// Whether a library is loaded.
fn is_loaded(path: &Path) -> bool {
    let path = CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the path is a C string, and this does not load a library.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
    if !handle.is_null() {
        // SAFETY: the handle was opened above.
        unsafe { libc::dlclose(handle) };
    }
    !handle.is_null()
}
