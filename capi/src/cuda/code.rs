//! Code on the device: each variant of a kernel is loaded when it is first launched in a context,
//! and its function is looked up once.

use super::driver::{Api, version_text};
use super::gpu::{Gpu, Uncaptured};
use super::images::{Image, Images, Stored};
use super::log::Log;
use super::removable::Removable;
use super::state::{Code, Function, Variant};
use super::table::lock;
use crate::error::{Error, MODULE, Result, error, fail};
use arraygpu_compiler::backend::ptx::dependent_launch::for_device;
use arraygpu_compiler::plan::gpu::GpuVariant;
use cudarc::driver::sys::{CUfunction, CUfunction_attribute};
use std::borrow::Cow;
use std::ffi::{CStr, CString, c_int};
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, OnceLock, Weak};

/// The number of a package that stands for this library, which has kernels of its own.
const OURS: usize = usize::MAX;

/// All contexts on GPUs.
static CONTEXTS: Mutex<Vec<Weak<Gpu>>> = Mutex::new(Vec::new());

impl Code {
    pub fn new() -> Code {
        Code {
            packages: Removable::new(),
            own: [const { OnceLock::new() }; _],
            modules: Mutex::default(),
            captured: Mutex::default(),
        }
    }

    /// Returns a kernel of this library, loaded at its first use.
    pub fn own(&self, number: usize, load: impl FnOnce() -> Result<CUfunction>) -> Result<CUfunction> {
        match self.own[number].get() {
            Some(function) => Ok(function.0),
            None => {
                let function = Function(load()?);
                Ok(self.own[number].get_or_init(|| function).0)
            }
        }
    }

    /// Unloads the modules of the packages for which `of` returns true. No work uses them any more,
    /// and the context is current.
    pub fn unload(&self, api: &Api, of: impl Fn(usize) -> bool) {
        for (_, module) in lock(&self.modules).extract_if(.., |(package, _)| of(*package)) {
            // SAFETY: this library loaded it, and unloads it once.
            unsafe { (api.module_unload)(module) };
        }
    }
}

impl Gpu {
    /// Registers the context for `forget`.
    pub(super) fn register(gpu: &Arc<Gpu>) {
        let contexts = &mut *lock(&CONTEXTS);
        contexts.retain(|c| c.strong_count() > 0);
        contexts.push(Arc::downgrade(gpu));
    }
}

/// Unloads a package's code from all contexts, after the work that is queued, except where a graph holds a call of
/// it. The package is gone and its number is never reused, so no thread looks for its functions any more.
pub(crate) fn forget(package: usize) {
    let contexts: Vec<_> = lock(&CONTEXTS).iter().filter_map(Weak::upgrade).collect();
    for gpu in contexts {
        // SAFETY: no thread looks for the package's functions, as is said above.
        unsafe { gpu.code.packages.remove(package) };
        if !lock(&gpu.code.modules).iter().any(|(p, _)| *p == package) {
            continue;
        }
        // errors (the process is ending, the device failed) are ignored
        let Ok(_current) = gpu.switch() else { continue };
        let _uncaptured = Uncaptured::enter(gpu.api());
        gpu.streams.iter().for_each(|s| drop(gpu.settle(s)));
        if !lock(&gpu.code.captured).contains(&package) {
            gpu.code.unload(gpu.api(), |p| p == package);
        }
        gpu.streams.iter().for_each(|s| s.forget(package));
    }
}

impl Gpu {
    /// Returns the function of a variant. After the first call this takes three loads.
    #[inline]
    pub(super) fn function(
        &self,
        package: usize,
        images: &Images,
        kernel: usize,
        variant: usize,
    ) -> Result<CUfunction> {
        let number = images.number(kernel, variant);
        match self.code.packages.get(package).and_then(|p| p.get(number)?.function.get()) {
            Some(function) => Ok(function.0),
            None => self.load(package, images, kernel, variant),
        }
    }

    #[cold]
    fn load(&self, package: usize, images: &Images, kernel: usize, variant: usize) -> Result<CUfunction> {
        let GpuVariant { entry, shared, .. } = &images.kernel(kernel as u32)?.variants[variant];
        let number = images.number(kernel, variant);
        let of = |e: Error| e.of(&format!("kernel {entry}"));
        let variants = || (0..images.count()).map(|_| Variant::default()).collect();
        let Variant { function: cell, loading } = &self.code.packages.get_or_init(package, variants)[number];
        // the driver may compile for a long time, so each variant has its own lock
        let _one = lock(loading);
        if let Some(known) = cell.get() {
            return Ok(known.0);
        }
        if let Some(ptx) = images.text(number) {
            let function = ptx.and_then(|ptx| self.load_linked(package, ptx, entry)).map_err(of)?;
            self.allow_shared(function, *shared).map_err(of)?;
            let _ = cell.set(Function(function));
            return Ok(function);
        }
        let candidates = images.candidates(number, self.device);
        let Some((best, others)) = candidates.split_first() else {
            let (holds, title) = (images.describe(number), self.device.title());
            fail!(MODULE, "kernel {entry}: the package holds {holds}, the device is {title}");
        };
        // if machine code is damaged or the driver rejects it, try PTX; if that fails, too, report the first error
        let load = |code: &Stored| code.with(|image| self.load_image(package, image, entry));
        let function = load(best).or_else(|e| others.iter().find_map(|i| load(i).ok()).ok_or(e));
        let function = function.map_err(of)?;
        self.allow_shared(function, *shared).map_err(of)?;
        let _ = cell.set(Function(function));
        Ok(function)
    }

    /// Allows launches of a function to ask for this many bytes of shared memory, which is more than the default.
    fn allow_shared(&self, function: CUfunction, bytes: u32) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the function was loaded in this context, which is current.
        let code = unsafe {
            let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            (self.api().set_function_attribute)(function, attribute, bytes as c_int)
        };
        self.check(code, format_args!("allowing {bytes} bytes of shared memory"))
    }

    /// Loads code of this library and looks up its entry. The context is current.
    pub(super) fn load_own(&self, image: Image, entry: &str) -> Result<CUfunction> {
        self.load_image(OURS, image, entry)
    }

    pub(super) fn load_image(&self, package: usize, image: Image, entry: &str) -> Result<CUfunction> {
        if image.arch > 0 {
            return self.load_module(package, image, entry);
        }
        // SAFETY: PTX ends with a NUL.
        let text = self.text_for_device(unsafe { CStr::from_ptr(image.data.cast()) })?;
        self.load_module(package, Image { data: text.as_ptr().cast(), ..image }, entry)
    }

    /// Returns the text that this device gets of a module in PTX.
    pub(super) fn text_for_device<'a>(&self, ptx: &'a CStr) -> Result<Cow<'a, CStr>> {
        let Ok(text) = ptx.to_str() else { return Ok(ptx.into()) };
        match for_device(text, self.device.policy().capability) {
            Cow::Borrowed(_) => Ok(ptx.into()),
            Cow::Owned(text) => {
                let text = CString::new(text).map_err(|_| error(MODULE, "a NUL in the PTX"))?;
                Ok(text.into())
            }
        }
    }

    /// Loads a module as it is, and looks up its entry.
    pub(super) fn load_module(&self, package: usize, image: Image, entry: &str) -> Result<CUfunction> {
        let api = self.api();
        let name = CString::new(entry).map_err(|_| error(MODULE, "a NUL in the name"))?;
        let mut log = Log::new();
        let (mut module, mut function) = (null_mut(), null_mut());
        let _uncaptured = Uncaptured::enter(api);
        // SAFETY: the image is a package's or this library's, the options have values, and the
        // pointers are to local variables.
        let code = unsafe {
            let (count, options, values) = log.options();
            (api.module_load)(&mut module, image.data, count, options, values)
        };
        if code != 0 {
            let kind =
                if image.arch == 0 { "the PTX".into() } else { format!("the code for sm_{}", image.arch) };
            let (title, version) = (self.device.title(), version_text(self.driver.version));
            let e = self.check(code, format_args!("loading {kind} on {title}, the driver is for {version}"));
            return e.map(|()| function).map_err(|e| Error { message: e.message + &log.says(), ..e });
        }
        lock(&self.code.modules).push((package, module));
        // SAFETY: the module was loaded above, the name is a C string, and the pointer is to a
        // local variable.
        let code = unsafe { (api.module_function)(&mut function, module, name.as_ptr()) };
        self.check(code, "cuModuleGetFunction")?;
        Ok(function)
    }
}
