//! Running compiled functions through the runtime, in one process with the interpreter.

#![allow(dead_code, reason = "each test uses its part")]

mod blocks;

use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::driver::{self, Compiled};
use arraygpu_compiler::package::cc;
use arraygpu_compiler::package::level::Level;
use arraygpu_compiler::plan::Plan;
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_suite::today;
use std::cell::UnsafeCell;
use std::ffi::{CStr, CString, c_void};
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

/// A compiled program, loaded for one x86-64 level.
pub struct Loaded {
    pub level: &'static str,
    pub plans: Vec<Plan>,
    module: AgpuModule,
    _text: CString,
    _name: CString,
    _library: Option<libloading::Library>,
    _blocks: Option<blocks::Held>,
}

/// How the arrays of a call lie in memory.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Layout {
    /// One after another, stride 1.
    Contiguous,
    /// From an offset on; matrices with gaps between their rows.
    Pitched,
    /// Every second element of a buffer, from an offset on; matrices with gaps between their rows, too.
    Strided,
    /// Vectors backwards, matrices one column after another.
    Transposed,
    /// One field of structs that lie in a buffer of bytes.
    Field,
    /// As contiguous; each array result is the first parameter of its type and extents, if there is one.
    InPlace,
}

impl Layout {
    pub const ALL: [Layout; 5] =
        [Layout::Contiguous, Layout::Pitched, Layout::Strided, Layout::Transposed, Layout::InPlace];

    /// An array's first element, its strides, and the number of elements in its buffer.
    fn place(self, extents: &[i64]) -> (i64, Vec<i64>, i64) {
        let (offset, mut next, gap) = match self {
            Layout::Contiguous | Layout::InPlace | Layout::Transposed => (0, 1, 0),
            Layout::Pitched => (3, 1, 5),
            Layout::Strided => (3, 2, 3),
            Layout::Field => (1, 3, 0),
        };
        let mut strides = vec![0; extents.len()];
        let mut axes: Vec<usize> = (0..extents.len()).rev().collect();
        if self == Layout::Transposed {
            axes.reverse();
        }
        for axis in axes {
            strides[axis] = next;
            next = next * extents[axis].max(1) + gap;
        }
        match extents {
            [n] if self == Layout::Transposed => ((n - 1).max(0), vec![-1], *n),
            _ => (offset, strides, offset + next),
        }
    }
}

/// The extents of values, as `Loaded::call` wants them of its results.
pub fn shapes(values: &[Value]) -> Vec<Vec<i64>> {
    let shape = |v: &Value| match v {
        Value::Scalar(_) => vec![],
        Value::Vector(v) => vec![v.len() as i64],
        Value::Array(extents, _) => extents.clone(),
    };
    values.iter().map(shape).collect()
}

/// Compiles a program with the package's own flags, for the levels of today.
pub fn load(compiled: &Compiled) -> Vec<Loaded> {
    build(compiled, &levels_of_today(), compiler())
}

/// One of the levels that this machine can run, each day another; all of them where `ARRAYGPU_LONG=1`.
pub fn levels_of_today() -> Vec<Level> {
    let all = Level::here();
    let parts = all.len();
    today::share(all, parts)
}

/// As `load`, for the highest level that this machine can run, and optimised less: the C compiler takes most of the
/// time of these tests.
pub fn load_highest(compiled: &Compiled) -> Loaded {
    let all = Level::here();
    build(compiled, &all[all.len() - 1..], compiler().quick()).remove(0)
}

fn compiler() -> cc::Compiler {
    cc::Compiler::find(true).expect("a C compiler")
}

/// As `load`, in the block interpreter: no C compiler has seen it.
pub fn load_blocks(compiled: &Compiled) -> Loaded {
    let (held, table) = blocks::hold(compiled);
    Loaded { _blocks: Some(held), ..of_table(compiled, "v2", table) }
}

fn build(compiled: &Compiled, levels: &[Level], compiler: cc::Compiler) -> Vec<Loaded> {
    let folder = tempfile::tempdir().unwrap();
    let mut out = Vec::new();
    for level in levels {
        let scratch = folder.path().join(level.name);
        std::fs::create_dir(&scratch).unwrap();
        let library = compiler.shared(&compiled.c_files, level, &scratch);
        let library = library.unwrap_or_else(|e| panic!("{e}"));
        out.push(open(compiled, level, &library));
    }
    out
}

fn open(compiled: &Compiled, level: &Level, path: &std::path::Path) -> Loaded {
    // SAFETY: the library is our own kernels: constant data and functions, no initialisers.
    let library = unsafe { libloading::Library::new(path) }.unwrap();
    let symbol = format!("{}_cpu_{level}", compiled.name);
    // SAFETY: the C file ends with a table of that name and type.
    let table: *const AgpuCpuKernel = unsafe { *library.get(symbol.as_bytes()).unwrap() };
    Loaded { _library: Some(library), ..of_table(compiled, level.name, table) }
}

/// The program with these kernels.
fn of_table(compiled: &Compiled, level: &'static str, table: *const AgpuCpuKernel) -> Loaded {
    let text =
        CString::new(compiled.functions.iter().map(|f| f.plan.to_string()).collect::<String>()).unwrap();
    let name = CString::new(compiled.name.as_str()).unwrap();
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
    Loaded { level, plans, module, _text: text, _name: name, _library: None, _blocks: None }
}

/// Compiles functions into one program.
pub fn compile(functions: Vec<arraygpu_compiler::core::Function>) -> Compiled {
    driver::compile("t", functions).unwrap()
}

/// A context with that many threads.
pub fn context(threads: i32) -> *mut AgpuContext {
    let options = AgpuContextOptions { device: AGPU_DEVICE_CPU, threads, ..AgpuContextOptions::default() };
    let mut out = null_mut();
    // SAFETY: options and out-pointer live during the call.
    ok(unsafe { agpu_context_create(&options, &mut out) });
    out
}

/// The message of the last error of this thread.
pub fn message() -> String {
    // SAFETY: a C string that lives until the next failing call.
    unsafe { CStr::from_ptr(agpu_last_error_message()) }.to_string_lossy().into_owned()
}

#[track_caller]
pub fn ok(status: AgpuStatus) {
    assert!(matches!(status, AgpuStatus::AgpuOk), "{}", message());
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

/// A buffer that a call uses, freed with it.
struct Buffer {
    handle: *mut AgpuBuffer,
    view: AgpuView,
    ty: Ty,
}

impl Buffer {
    fn new(context: *mut AgpuContext, ty: Ty, extents: &[i64], layout: Layout) -> Buffer {
        let (offset, strides, count) = layout.place(extents);
        let mut handle = null_mut();
        let (held, count) = match layout {
            Layout::Field => (AgpuType::AgpuU8, count * ty.size() as i64),
            _ => (abi_type(ty), count),
        };
        // SAFETY: the out-pointer lives during the call.
        ok(unsafe { agpu_buffer_create(context, MaybeUninit::new(held), count, &mut handle) });
        let element = AgpuElement { kind: abi_type(ty) as i32, size: ty.size() as i32 };
        Buffer { handle, view: AgpuView { element, ..AgpuView::new(handle, offset, extents, &strides) }, ty }
    }

    fn extents(&self) -> &[i64] {
        &self.view.extent[..self.view.rank as usize]
    }

    fn write(&self, values: &[Lit]) {
        let mut bytes = vec![0u8; values.len() * self.ty.size()];
        values.iter().zip(bytes.chunks_mut(self.ty.size())).for_each(|(v, b)| v.to_bytes(b));
        // SAFETY: `bytes` holds that many elements.
        ok(unsafe { agpu_copy_from_host(self.view, bytes.as_ptr().cast(), values.len() as i64) });
    }

    /// The elements in row-major order.
    fn read(&self) -> Value {
        let count = self.extents().iter().product::<i64>() as usize;
        let mut bytes = vec![0u8; count * self.ty.size()];
        // SAFETY: `bytes` has room for that many elements.
        ok(unsafe { agpu_copy_to_host(bytes.as_mut_ptr().cast(), self.view, count as i64) });
        let elements = bytes.chunks(self.ty.size()).map(|b| Lit::from_bytes(self.ty, b)).collect();
        match self.extents() {
            [_] => Value::Vector(elements),
            extents => Value::Array(extents.to_vec(), elements),
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: a handle is a number; NULL is fine.
        ok(unsafe { agpu_buffer_free(self.handle) });
    }
}

/// What a call gave: results, and the status with its message.
#[derive(Debug)]
pub struct Called {
    pub results: Vec<Value>,
    pub status: AgpuStatus,
    pub message: String,
}

impl Loaded {
    /// Calls entry `i`; array results have these extents (see `shapes`).
    pub fn call(
        &self,
        i: usize,
        context: *mut AgpuContext,
        args: &[Value],
        extents: &[Vec<i64>],
        layout: Layout,
    ) -> Called {
        let plan = &self.plans[i];
        let mut abi_args = Vec::new();
        let mut words: Vec<Box<UnsafeCell<u64>>> = Vec::new();
        let mut inputs: Vec<Option<Buffer>> = Vec::new();
        for (p, a) in plan.params.iter().zip(args) {
            match a {
                Value::Scalar(l) => {
                    words.push(Box::new(UnsafeCell::new(l.bits)));
                    inputs.push(None);
                    abi_args.push(argument(AgpuArgKind::AgpuArgScalar, words.last().unwrap().get(), None));
                }
                Value::Vector(v) | Value::Array(_, v) => {
                    let b = Buffer::new(context, p.ty.elem, &shapes(std::slice::from_ref(a))[0], layout);
                    b.write(v);
                    abi_args.push(argument(AgpuArgKind::AgpuArgView, null(), Some(b.view)));
                    inputs.push(Some(b));
                }
            }
        }
        let mut outputs: Vec<Option<Buffer>> = Vec::new();
        let mut taken = Vec::new();
        for (r, n) in plan.results.iter().zip(extents) {
            if r.ty.is_scalar() {
                words.push(Box::new(UnsafeCell::new(0)));
                outputs.push(None);
                abi_args.push(argument(AgpuArgKind::AgpuArgResultScalar, words.last().unwrap().get(), None));
                continue;
            }
            let fits = |b: &&Buffer| b.ty == r.ty.elem && b.extents() == *n && !taken.contains(&b.handle);
            let same = inputs.iter().flatten().find(fits).filter(|_| layout == Layout::InPlace);
            let b = match same {
                Some(b) => Buffer { handle: null_mut(), view: b.view, ty: b.ty },
                None => Buffer::new(context, r.ty.elem, n, layout),
            };
            taken.push(b.view.buffer);
            abi_args.push(argument(AgpuArgKind::AgpuArgResultView, null(), Some(b.view)));
            outputs.push(Some(b));
        }
        // SAFETY: module, arguments and what they point at live during the call.
        let status = unsafe {
            agpu_invoke(&self.module, i as i32, &call_of(context), abi_args.as_ptr(), abi_args.len() as i32)
        };
        let mut scalars = words.iter().skip(plan.params.iter().filter(|p| p.ty.is_scalar()).count());
        let results = plan.results.iter().zip(&outputs).map(|(r, b)| match b {
            Some(b) => b.read(),
            // SAFETY: the call is over, nothing else points there.
            None => Value::Scalar(Lit::from_bytes(
                r.ty.elem,
                &unsafe { *scalars.next().unwrap().get() }.to_le_bytes(),
            )),
        });
        Called { results: results.collect(), message: message(), status }
    }
}

fn call_of(context: *mut AgpuContext) -> AgpuCall {
    AgpuCall::on(context, null_mut())
}

fn argument(kind: AgpuArgKind, scalar: *const u64, view: Option<AgpuView>) -> AgpuArg {
    let none = AgpuArg { scalar: scalar.cast::<c_void>(), ..AgpuArg::new(kind) };
    view.map_or(none, |view| AgpuArg { view, ..none })
}
