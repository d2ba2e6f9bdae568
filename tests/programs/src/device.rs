//! Programs in the runtime, on one thread of the CPU or on a GPU, and the time of their calls.

use crate::array::Array;
use arraygpu_capi::abi::{
    AGPU_ABI_VERSION, AGPU_DEVICE_CPU, AgpuArg, AgpuArgKind, AgpuBuffer, AgpuCall, AgpuContext,
    AgpuContextOptions, AgpuCpuKernel, AgpuImage, AgpuModule, AgpuStatus, AgpuType, AgpuView,
};
use arraygpu_capi::{
    agpu_buffer_create, agpu_buffer_free, agpu_context_create, agpu_copy_from_host, agpu_copy_to_host,
    agpu_invoke, agpu_last_error_message, agpu_stream_synchronize,
};
use arraygpu_compiler::core::Type;
use arraygpu_compiler::driver::Compiled;
use arraygpu_compiler::package::cc::Compiler;
use arraygpu_compiler::package::level::Level;
use arraygpu_compiler::plan::{HostId, Plan, host};
use arraygpu_compiler::scalar::{Lit, Ty, eval_cast};
use std::cell::UnsafeCell;
use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

/// The least time that calls are repeated for.
const ENOUGH: Duration = Duration::from_millis(200);
/// The time of a turn, one call at least, of functions that take turns.
const TURN: Duration = Duration::from_millis(10);

/// A device: a context of one thread of the CPU, or of a GPU.
pub struct Device {
    context: *mut AgpuContext,
    is_gpu: bool,
}

fn done(status: AgpuStatus) -> Result<(), String> {
    if status == AgpuStatus::AgpuOk {
        return Ok(());
    }
    // SAFETY: a C string that lives until the next failing call.
    Err(unsafe { CStr::from_ptr(agpu_last_error_message()) }.to_string_lossy().into_owned())
}

impl Device {
    /// Opens the first GPU, or one thread of the CPU.
    pub fn open(is_gpu: bool) -> Result<Device, String> {
        let device = if is_gpu { 0 } else { AGPU_DEVICE_CPU };
        let options = AgpuContextOptions { device, threads: 1, ..AgpuContextOptions::default() };
        let mut context = null_mut();
        // SAFETY: options and out-pointer live during the call.
        done(unsafe { agpu_context_create(&options, &mut context) })?;
        Ok(Device { context, is_gpu })
    }

    /// Returns the results of a call.
    pub fn results(&self, c: &Compiled, inputs: &[Array]) -> Result<Vec<Array>, String> {
        let loaded = Loaded::new(c, self.is_gpu)?;
        let plan = &c.functions[0].plan;
        let mut call = Call::new(self, plan, inputs)?;
        let on = AgpuCall::on(self.context, null_mut());
        // SAFETY: module, arguments and what they point at live during the call.
        done(unsafe { agpu_invoke(&loaded.module, 0, &on, call.abi.as_ptr(), call.abi.len() as i32) })?;
        // SAFETY: the context is one.
        done(unsafe { agpu_stream_synchronize(self.context, null_mut()) })?;
        let results = plan.results.iter().zip(plan.params.len()..);
        results.map(|(slot, place)| call.result(slot.ty, place)).collect()
    }

    /// Returns the time of a call, the least of several, in seconds.
    pub fn time(&self, c: &Compiled, inputs: &[Array]) -> Result<f64, String> {
        let ready = Ready::new(self, c, inputs)?;
        ready.run()?;
        let mut least = f64::MAX;
        repeated(ENOUGH, &mut least, &|| ready.run())?;
        Ok(least)
    }

    /// Returns the times of another function and of a call, the least of several, in seconds. They take turns, so
    /// that both have the same share of a machine that others use.
    pub fn times_in_turn(
        &self,
        c: &Compiled,
        inputs: &[Array],
        other: &dyn Fn(),
    ) -> Result<[f64; 2], String> {
        let ready = Ready::new(self, c, inputs)?;
        let other = || {
            other();
            Ok(())
        };
        other()?;
        ready.run()?;
        let (begin, mut least) = (Instant::now(), [f64::MAX; 2]);
        while begin.elapsed() < ENOUGH * 3 {
            repeated(TURN, &mut least[0], &other)?;
            repeated(TURN, &mut least[1], &|| ready.run())?;
        }
        Ok(least)
    }
}

/// Calls a function for a time, once at least, and lowers `least` to the least of its times in seconds.
fn repeated(time: Duration, least: &mut f64, call: &dyn Fn() -> Result<(), String>) -> Result<(), String> {
    let begin = Instant::now();
    loop {
        let start = Instant::now();
        call()?;
        *least = least.min(start.elapsed().as_secs_f64());
        if begin.elapsed() >= time {
            return Ok(());
        }
    }
}

/// A call with its code.
struct Ready<'a> {
    device: &'a Device,
    loaded: Loaded,
    call: Call,
}

impl Ready<'_> {
    fn new<'a>(device: &'a Device, c: &Compiled, inputs: &[Array]) -> Result<Ready<'a>, String> {
        let loaded = Loaded::new(c, device.is_gpu)?;
        Ok(Ready { device, loaded, call: Call::new(device, &c.functions[0].plan, inputs)? })
    }

    fn run(&self) -> Result<(), String> {
        let on = AgpuCall::on(self.device.context, null_mut());
        let (args, count) = (self.call.abi.as_ptr(), self.call.abi.len() as i32);
        // SAFETY: module, arguments and what they point at live during the call.
        done(unsafe { agpu_invoke(&self.loaded.module, 0, &on, args, count) })?;
        match self.device.is_gpu {
            // SAFETY: the context is one.
            true => done(unsafe { agpu_stream_synchronize(self.device.context, null_mut()) }),
            false => Ok(()),
        }
    }
}

/// A program with its code.
struct Loaded {
    module: AgpuModule,
    _texts: Vec<CString>,
    _images: Vec<AgpuImage>,
    _library: Option<libloading::Library>,
}

impl Loaded {
    fn new(c: &Compiled, is_gpu: bool) -> Result<Loaded, String> {
        let text: String = c.functions.iter().map(|f| f.plan.to_string()).collect();
        let mut texts = vec![];
        for text in [text, c.name.clone(), c.gpu_launches()] {
            texts.push(CString::new(text).map_err(|e| e.to_string())?);
        }
        let mut module = AgpuModule {
            abi_version: AGPU_ABI_VERSION,
            plans: texts[0].as_ptr(),
            plans_length: texts[0].as_bytes().len() as i64,
            name: texts[1].as_ptr(),
            kernels: c.kernels.len() as i32,
            state: Box::leak(Box::new(null_mut())),
            ..AgpuModule::EMPTY
        };
        if !is_gpu {
            let library = library(c, &mut module)?;
            return Ok(Loaded { module, _texts: texts, _images: vec![], _library: Some(library) });
        }
        let mut images = Vec::new();
        for (of, kernel) in c.kernels.iter().zip(0..) {
            for (code, version) in of.gpu_variants().iter().zip(0..) {
                let text = CString::new(code.ptx.as_str()).map_err(|e| e.to_string())?;
                let (size, data) = (text.as_bytes().len() as i64, text.as_ptr().cast());
                images.push(AgpuImage { kernel, version, arch: 0, size, data, packed: 0, base: 0 });
                texts.push(text);
            }
        }
        (module.gpu, module.gpu_length) = (texts[2].as_ptr(), texts[2].as_bytes().len() as i64);
        (module.images, module.image_count) = (images.as_ptr(), images.len() as i32);
        Ok(Loaded { module, _texts: texts, _images: images, _library: None })
    }
}

/// Compiles the C for the highest level of this processor, with a package's own flags.
fn library(c: &Compiled, module: &mut AgpuModule) -> Result<libloading::Library, String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let all = Level::here();
    let level = all.last().ok_or("no level of x86-64")?;
    let compiler = Compiler::find(true).map_err(|e| e.to_string())?;
    let path = compiler.shared(&c.c_files, level, folder.path()).map_err(|e| e.to_string())?;
    // SAFETY: the library is our own kernels: constant data and functions, no initialisers.
    let library = unsafe { libloading::Library::new(path) }.map_err(|e| e.to_string())?;
    let symbol = format!("{}_cpu_{level}", c.name);
    // SAFETY: the C file ends with a table of that name and type.
    let table: *const AgpuCpuKernel = unsafe { *library.get(symbol.as_bytes()).map_err(|e| e.to_string())? };
    match level.name {
        "v2" => module.cpu_v2 = table,
        "v3" => module.cpu_v3 = table,
        _ => module.cpu_v4 = table,
    }
    Ok(library)
}

/// Returns the extents of the results of a call with these inputs.
pub fn extents_of_results(plan: &Plan, inputs: &[Array]) -> Vec<Vec<i64>> {
    let mut values = Vec::new();
    let length = |p: u32, axis: u8| inputs[p as usize].extents[axis as usize] as i64;
    let arg = |p: u32| eval_cast(plan.params[p as usize].ty.elem, Lit::f64(inputs[p as usize].elements[0]));
    host::evaluate(plan, false, length, arg, &mut values);
    let of = |h: &HostId| values[h.0 as usize].as_i64();
    plan.results.iter().map(|slot| slot.extents.iter().map(of).collect()).collect()
}

/// The arguments and results of a call.
struct Call {
    abi: Vec<AgpuArg>,
    buffers: Vec<*mut AgpuBuffer>,
    /// A word for each parameter and result, which holds it if it is a scalar.
    words: Vec<UnsafeCell<u64>>,
}

impl Drop for Call {
    fn drop(&mut self) {
        for b in &self.buffers {
            // SAFETY: a handle is a number.
            unsafe { agpu_buffer_free(*b) };
        }
    }
}

impl Call {
    fn new(device: &Device, plan: &Plan, inputs: &[Array]) -> Result<Call, String> {
        let count = plan.params.len() + plan.results.len();
        let words = (0..count).map(|_| UnsafeCell::new(0)).collect();
        let mut call = Call { abi: vec![], buffers: vec![], words };
        for (slot, a) in plan.params.iter().zip(inputs) {
            let lits = a.elements.iter().map(|x| eval_cast(slot.ty.elem, Lit::f64(*x)));
            if slot.ty.is_scalar() {
                let bits = lits.map(|l| l.bits).next().unwrap_or(0);
                call.scalar(AgpuArgKind::AgpuArgScalar, bits);
                continue;
            }
            let extents: Vec<i64> = a.extents.iter().map(|n| *n as i64).collect();
            let view = call.array(device, AgpuArgKind::AgpuArgView, slot.ty, &extents)?;
            let size = slot.ty.elem.size();
            let mut bytes = vec![0u8; a.len() * size];
            lits.zip(bytes.chunks_mut(size)).for_each(|(l, b)| l.to_bytes(b));
            // SAFETY: `bytes` holds that many elements.
            done(unsafe { agpu_copy_from_host(view, bytes.as_ptr().cast(), a.len() as i64) })?;
        }
        for (slot, extents) in plan.results.iter().zip(extents_of_results(plan, inputs)) {
            match slot.ty.is_scalar() {
                true => call.scalar(AgpuArgKind::AgpuArgResultScalar, 0),
                false => {
                    call.array(device, AgpuArgKind::AgpuArgResultView, slot.ty, &extents)?;
                }
            }
        }
        Ok(call)
    }

    /// Returns a result.
    fn result(&mut self, ty: Type, place: usize) -> Result<Array, String> {
        let size = ty.elem.size();
        let number = |bytes: &[u8]| {
            let value = eval_cast(Ty::F64, Lit::from_bytes(ty.elem, bytes));
            value.as_float().unwrap_or(f64::NAN)
        };
        if ty.is_scalar() {
            return Ok(Array::scalar(number(&self.words[place].get_mut().to_le_bytes())));
        }
        let view = self.abi[place].view;
        let extents: Vec<usize> = view.extent[..usize::from(ty.rank)].iter().map(|n| *n as usize).collect();
        let count: usize = extents.iter().product();
        let mut bytes = vec![0u8; count * size];
        // SAFETY: `bytes` has room for that many elements.
        done(unsafe { agpu_copy_to_host(bytes.as_mut_ptr().cast(), view, count as i64) })?;
        Ok(Array { extents, elements: bytes.chunks(size).map(number).collect() })
    }

    /// Adds a scalar, which is in the word of its place.
    fn scalar(&mut self, kind: AgpuArgKind, bits: u64) {
        let word = &mut self.words[self.abi.len()];
        *word.get_mut() = bits;
        self.abi.push(AgpuArg { scalar: word.get().cast_const().cast(), ..AgpuArg::new(kind) });
    }

    fn array(
        &mut self,
        device: &Device,
        kind: AgpuArgKind,
        ty: Type,
        extents: &[i64],
    ) -> Result<AgpuView, String> {
        let (mut handle, count) = (null_mut(), extents.iter().product());
        // SAFETY: the out-pointer lives during the call.
        done(unsafe {
            agpu_buffer_create(device.context, MaybeUninit::new(abi_type(ty.elem)), count, &mut handle)
        })?;
        self.buffers.push(handle);
        let mut strides = vec![1i64; extents.len()];
        for axis in (1..extents.len()).rev() {
            strides[axis - 1] = strides[axis] * extents[axis].max(1);
        }
        let view = AgpuView::new(handle, 0, extents, &strides);
        self.abi.push(AgpuArg { view, scalar: null(), ..AgpuArg::new(kind) });
        Ok(view)
    }
}

fn abi_type(ty: Ty) -> AgpuType {
    match ty {
        Ty::F32 => AgpuType::AgpuF32,
        Ty::F64 => AgpuType::AgpuF64,
        Ty::I32 => AgpuType::AgpuI32,
        Ty::I64 => AgpuType::AgpuI64,
        Ty::U32 => AgpuType::AgpuU32,
        Ty::U8 => AgpuType::AgpuU8,
        Ty::Bool => AgpuType::AgpuBool,
        Ty::U64 => AgpuType::AgpuU64,
        Ty::I8 => AgpuType::AgpuI8,
        Ty::I16 => AgpuType::AgpuI16,
        Ty::U16 => AgpuType::AgpuU16,
        Ty::F16 => AgpuType::AgpuF16,
        Ty::Bf16 => AgpuType::AgpuBf16,
    }
}
