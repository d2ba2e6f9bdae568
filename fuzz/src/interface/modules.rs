//! Calls about packages: one that is loaded and freed by all threads, and one of this program's own
//! that is called.

use super::checks::{done, gives, out};
use super::{Shared, Thread, pointer};
use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use std::ffi::{CStr, CString, c_char};
use std::ptr::null;
use std::sync::atomic::AtomicPtr;
use std::sync::{Mutex, OnceLock};

type Done = Result<bool, String>;

/// The plans of the module below, and of the library on disk.
const PLANS: &str = "plan @same { param a: f32 %0: f32 = arg 0 result out: f32 launch 0 same cost 1 { in %0 slot result 0 finish } }
plan @reversed { param x: [f32] %0: i64 = len 0 result result: [f32] extent %0 launch 1 reversed over %0 cost 4 { read param 0 write result 0 in %0 } }
";
const SOURCE: &str = include_str!("../../../capi/tests/common/tiny.c");

unsafe extern "C" fn same(args: *const AgpuKernelArgs, _: i64, _: i64) {
    // SAFETY: the runtime gives one scalar and one slot.
    unsafe { (*(*args).slots).cast::<f32>().write(f32::from_bits(*(*args).scalars as u32)) };
}

unsafe extern "C" fn reversed(args: *const AgpuKernelArgs, begin: i64, end: i64) {
    // SAFETY: the runtime gives two arrays of that many elements.
    unsafe {
        let (args, n) = (*args, *(*args).scalars as i64);
        let [from, to] = [0, 1].map(|i| (*args.arrays.add(i)).cast::<f32>());
        let [s, t] = [0, 1].map(|i| *args.strides.add(i));
        for i in begin * 2048..(end * 2048).min(n) {
            to.offset((i * t) as isize).write(from.offset(((n - 1 - i) * s) as isize).read());
        }
    }
}

static KERNELS: [AgpuCpuKernel; 2] = [
    AgpuCpuKernel { finish: Some(same), ..AgpuCpuKernel::NONE },
    AgpuCpuKernel {
        contiguous: Some(reversed),
        in_place: Some(reversed),
        strided: Some(reversed),
        ..AgpuCpuKernel::NONE
    },
];
static STATE: AtomicPtr<std::ffi::c_void> = AtomicPtr::new(std::ptr::null_mut());
static MODULE: AgpuModule = AgpuModule {
    name: c"own".as_ptr(),
    plans: PLANS.as_ptr().cast(),
    plans_length: PLANS.len() as i64,
    kernels: KERNELS.len() as i32,
    cpu_v2: KERNELS.as_ptr(),
    state: STATE.as_ptr(),
    ..AgpuModule::EMPTY
};

/// The path of a package's library, built once; none where there is no C compiler.
fn library() -> Option<&'static CStr> {
    static PATH: OnceLock<Option<CString>> = OnceLock::new();
    let build = || {
        // the folder is kept as long as the process runs
        let folder = tempfile::tempdir().ok()?.keep();
        std::fs::write(folder.join("arraygpu.h"), include_str!("../../../include/arraygpu.h")).ok()?;
        std::fs::write(folder.join("tiny.c"), SOURCE).ok()?;
        let mut cc = std::process::Command::new("cc");
        cc.current_dir(&folder).args(["-shared", "-fPIC", "-o", "libtiny.so", "tiny.c"]);
        cc.status().ok().filter(|status| status.success())?;
        CString::new(folder.join("libtiny.so").into_os_string().into_encoded_bytes()).ok()
    };
    PATH.get_or_init(build).as_deref()
}

fn modules(s: &Shared) -> &Mutex<Vec<usize>> {
    &s.modules
}

pub(super) fn load(t: &mut Thread) -> Done {
    let path = match (t.rng.below(4), library()) {
        (0, _) | (_, None) => t.text(&[c"/nowhere/libx.so", c"/etc/passwd", c"/tmp", c"libm.so.6"]),
        (_, path) => path,
    };
    // SAFETY: NULL or a text, a place for the result or none.
    let made = out::<*mut AgpuLoadedModule>(t, |out| unsafe { agpu_module_load(pointer(path), out) })?;
    made.inspect(|m| t.keep(modules, *m));
    Ok(made.is_some())
}

pub(super) fn free(t: &mut Thread) -> Done {
    let module = t.handle(modules);
    // SAFETY: handles are checked, and nothing of the library is used beside calls.
    let freed = done(unsafe { agpu_loaded_module_free(module) }, true)?;
    t.forget(modules, freed, module);
    Ok(freed)
}

pub(super) fn get(t: &mut Thread) -> Done {
    let module = t.handle(modules);
    // SAFETY: as above; a place for the result, or none. Nobody follows the pointer: another thread
    // may unload it.
    gives::<*const AgpuModule>(t, |out| unsafe { agpu_module_get(module, out) })
}

pub(super) fn entry_count(t: &mut Thread) -> Done {
    let module = t.handle(modules);
    // SAFETY: as above.
    gives::<i32>(t, |out| unsafe { agpu_module_entry_count(module, out) })
}

pub(super) fn find(t: &mut Thread) -> Done {
    let (module, name) = (t.handle(modules), t.text(&[c"same", c"reversed", c"other"]));
    // SAFETY: as above, and NULL or a text.
    gives::<i32>(t, |out| unsafe { agpu_module_find(module, pointer(name), out) })
}

pub(super) fn entry_name(t: &mut Thread) -> Done {
    let (module, entry) = (t.handle(modules), t.int() as i32);
    // SAFETY: as above.
    gives::<*const c_char>(t, |out| unsafe { agpu_module_entry_name(module, entry, out) })
}

pub(super) fn entry_shape(t: &mut Thread) -> Done {
    let (module, entry, mut results) = (t.handle(modules), t.int() as i32, -1);
    // SAFETY: as above.
    let params = out::<i32>(t, |out| unsafe { agpu_module_entry_shape(module, entry, out, &mut results) })?;
    match params {
        None if results != -1 => Err("the second output was written".into()),
        given => Ok(given.is_some()),
    }
}

pub(super) fn entry_param(t: &mut Thread) -> Done {
    let (module, entry, index) = (t.handle(modules), t.rng.pick(&[0, 0, 1, -1]), t.rng.pick(&[0, 0, 1, -1]));
    // SAFETY: as above.
    gives::<AgpuEntrySlot>(t, |out| unsafe { agpu_module_entry_param(module, entry, index, out) })
}

pub(super) fn entry_result(t: &mut Thread) -> Done {
    let (module, entry, index) = (t.handle(modules), t.rng.pick(&[0, 0, 1, -1]), t.rng.pick(&[0, 0, 1, -1]));
    // SAFETY: as above.
    gives::<AgpuEntrySlot>(t, |out| unsafe { agpu_module_entry_result(module, entry, index, out) })
}

pub(super) fn invoke(t: &mut Thread) -> Done {
    let (entry, call) = (t.rng.pick(&[0, 1, 1, 1, 2, -1]), t.call());
    let kinds: &[AgpuArgKind] = match (entry, t.rng.below(6)) {
        (_, 0) | (2 | -1, _) => &[AgpuArgKind::AgpuArgView, AgpuArgKind::AgpuArgScalar],
        (0, _) => &[AgpuArgKind::AgpuArgScalar, AgpuArgKind::AgpuArgResultScalar],
        (_, 1) => &[AgpuArgKind::AgpuArgView, AgpuArgKind::AgpuArgResultNew],
        _ => &[AgpuArgKind::AgpuArgView, AgpuArgKind::AgpuArgResultView],
    };
    let module = if t.rng.one_in(32) { null() } else { &raw const MODULE };
    let call = if t.rng.one_in(3) { null() } else { &raw const call };
    // SAFETY: the module above, arguments whose memory is this thread's.
    t.with_args(kinds, |args, count| unsafe { agpu_invoke(module, entry, call, args, count) })
}

impl Thread<'_> {
    /// Calls something with arguments of these kinds, with any views.
    pub(super) fn with_args(
        &mut self,
        kinds: &[AgpuArgKind],
        f: impl FnOnce(*const AgpuArg, i32) -> AgpuStatus,
    ) -> Done {
        let views: Vec<AgpuView> = kinds.iter().map(|_| self.view()).collect();
        self.with_views(kinds, &views, f)
    }

    /// Calls something with these arguments, a few of them changed; new buffers are kept.
    pub(super) fn with_views(
        &mut self,
        kinds: &[AgpuArgKind],
        views: &[AgpuView],
        f: impl FnOnce(*const AgpuArg, i32) -> AgpuStatus,
    ) -> Done {
        let mut words = vec![0x3f80_0000_u64; kinds.len() + 1];
        let mut made = vec![std::ptr::null_mut::<AgpuBuffer>(); kinds.len() + 1];
        let mut args = Vec::new();
        for (i, kind) in kinds.iter().enumerate() {
            let mut arg = AgpuArg { view: views[i], ..AgpuArg::new(*kind) };
            arg.scalar = words.as_mut_ptr().wrapping_add(i).cast();
            arg.made = made.as_mut_ptr().wrapping_add(i);
            match self.rng.below(30) {
                0 => arg.kind = self.number(5),
                1 => arg.scalar = null(),
                2 => arg.made = std::ptr::null_mut(),
                _ => {}
            }
            args.push(arg);
        }
        let count = if self.rng.one_in(24) { self.rng.pick(&[-1, i32::MIN]) } else { args.len() as i32 };
        let status = f(args.as_ptr(), count);
        let untouched = words.iter().all(|w| *w == 0x3f80_0000) && made.iter().all(|m| m.is_null());
        // the words of scalar parameters never change
        let done = done(status, untouched)?;
        // buffers of this thread alone: the results of valid calls are compared at the end
        self.buffers.extend(made.into_iter().filter(|m| !m.is_null()));
        Ok(done)
    }
}
