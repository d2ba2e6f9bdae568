//! Compiled functions in the runtime: loaded from a library or into the block interpreter, and
//! called through the C ABI.

#[path = "../../../tests/common/blocks.rs"]
mod blocks;
mod call;
mod place;

pub use call::{Called, Laid, extents};
pub use place::Layout;

use arraygpu_capi::abi::{
    AGPU_ABI_VERSION, AgpuContext, AgpuContextOptions, AgpuCpuKernel, AgpuImage, AgpuModule,
};
use arraygpu_capi::{agpu_context_create, agpu_last_error_message};
use arraygpu_compiler::driver::Compiled;
use arraygpu_compiler::package::cc;
use arraygpu_compiler::package::level::Level;
use arraygpu_compiler::plan::Plan;
use std::ffi::{CStr, CString};
use std::path::Path;
use std::ptr::{null, null_mut};

/// A compiled program with kernels of one level.
pub struct Loaded {
    /// The plans of its functions.
    pub plans: Vec<Plan>,
    module: AgpuModule,
    _text: CString,
    _name: CString,
    _library: Option<libloading::Library>,
    _blocks: Option<blocks::Held>,
    _gpu: Option<GpuCode>,
    /// Its arrays are in the memory of a GPU.
    is_gpu: bool,
}

/// What a module says of its kernels for GPUs.
struct GpuCode {
    /// How they are launched.
    text: CString,
    images: Vec<AgpuImage>,
    /// PTX.
    _texts: Vec<CString>,
}

impl GpuCode {
    fn of(compiled: &Compiled) -> GpuCode {
        let text = compiled.gpu_launches();
        let (mut images, mut texts) = (Vec::new(), Vec::new());
        for (of, kernel) in compiled.kernels.iter().zip(0..) {
            for (code, version) in of.gpu_variants().iter().zip(0..) {
                let text = CString::new(code.ptx.as_str()).unwrap_or_default();
                let (size, data) = (text.as_bytes().len() as i64, text.as_ptr().cast());
                images.push(AgpuImage { kernel, version, arch: 0, size, data, packed: 0, base: 0 });
                texts.push(text);
            }
        }
        GpuCode { text: CString::new(text).unwrap_or_default(), images, _texts: texts }
    }
}

impl Loaded {
    /// Loads a program into the block interpreter.
    pub fn blocks(compiled: &Compiled) -> Loaded {
        let (held, table) = blocks::hold(compiled);
        Loaded { _blocks: Some(held), ..of_table(compiled, "v2", table) }
    }

    /// Loads a program for GPUs.
    pub fn gpu(compiled: &Compiled) -> Loaded {
        let code = GpuCode::of(compiled);
        let mut loaded = of_table(compiled, "", null());
        loaded.module.gpu = code.text.as_ptr();
        loaded.module.gpu_length = code.text.as_bytes().len() as i64;
        loaded.module.images = code.images.as_ptr();
        loaded.module.image_count = code.images.len() as i32;
        Loaded { _gpu: Some(code), is_gpu: true, ..loaded }
    }

    /// Loads a program from a library that was compiled for a level.
    pub fn library(compiled: &Compiled, level: &Level, path: &Path) -> Result<Loaded, String> {
        // SAFETY: the library is our own kernels: constant data and functions, no initialisers.
        let library = unsafe { libloading::Library::new(path) }.map_err(|e| e.to_string())?;
        let symbol = format!("{}_cpu_{level}", compiled.name);
        // SAFETY: the C file ends with a table of that name and type.
        let table: *const AgpuCpuKernel =
            unsafe { *library.get(symbol.as_bytes()).map_err(|e| e.to_string())? };
        Ok(Loaded { _library: Some(library), ..of_table(compiled, level.name, table) })
    }
}

/// Compiles a program's C with the package's own flags, for a level; what the C compiler says if it
/// is not content, warnings included.
pub fn build(compiled: &Compiled, level: &Level, folder: &Path) -> Result<Loaded, String> {
    let library = cc::Compiler::find(true).and_then(|cc| cc.shared(&compiled.c_files, level, folder));
    let library = library.map_err(|e| e.to_string())?;
    Loaded::library(compiled, level, &library)
}

/// The program with these kernels.
fn of_table(compiled: &Compiled, level: &str, table: *const AgpuCpuKernel) -> Loaded {
    let text: String = compiled.functions.iter().map(|f| f.plan.to_string()).collect();
    let [text, name] = [text, compiled.name.clone()].map(|t| CString::new(t).unwrap_or_default());
    let at = |l: &str| if l == level { table } else { null() };
    let module = AgpuModule {
        size: size_of::<AgpuModule>(),
        abi_version: AGPU_ABI_VERSION,
        name: name.as_ptr(),
        plans: text.as_ptr(),
        plans_length: text.as_bytes().len() as i64,
        kernels: compiled.kernels.len() as i32,
        cpu_v2: at("v2"),
        cpu_v3: at("v3"),
        cpu_v4: at("v4"),
        gpu: null(),
        gpu_length: 0,
        images: null(),
        image_count: 0,
        state: Box::leak(Box::new(null_mut())),
        staged: null(),
        staged_length: 0,
    };
    let plans = compiled.functions.iter().map(|f| f.plan.clone()).collect();
    Loaded {
        plans,
        module,
        _text: text,
        _name: name,
        _library: None,
        _blocks: None,
        _gpu: None,
        is_gpu: false,
    }
}

/// A context of a device; on a CPU with that many threads.
pub fn context(device: i32, threads: i32) -> Result<*mut AgpuContext, String> {
    let options = AgpuContextOptions { device, threads, ..AgpuContextOptions::default() };
    let mut out = null_mut();
    // SAFETY: options and out-pointer live during the call.
    let status = unsafe { agpu_context_create(&options, &mut out) };
    if status as i32 == 0 { Ok(out) } else { Err(message()) }
}

/// The message of the last error of this thread.
fn message() -> String {
    // SAFETY: a C string that lives until the next failing call.
    unsafe { CStr::from_ptr(agpu_last_error_message()) }.to_string_lossy().into_owned()
}
