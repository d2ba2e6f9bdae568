//! The types of the C ABI, as `include/arraygpu.h` shows them (`docs/c-abi.md` is the contract).
//!
//! Enums that a caller passes in are `MaybeUninit<Enum>` here: C may pass any number, and [`code`] reads it without trusting it.

use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;

/// Version of this interface. Packages carry the version that they were made for; a library runs those of
/// AGPU_ABI_OLDEST up to its own.
pub const AGPU_ABI_VERSION: i32 = 5;
/// The oldest version of which packages run, and the number in the library's name: libarraygpu.so.5.
pub const AGPU_ABI_OLDEST: i32 = 5;
/// Dimensions that an agpu_view has room for. Arrays have 3 at most so far.
pub const AGPU_MAX_RANK: usize = 6;

/// The device that the environment variable ARRAYGPU_DEVICE names (cpu, cuda, cuda:1); without it the first
/// GPU that will do, else the CPU.
pub const AGPU_DEVICE_DEFAULT: i32 = 0;
/// The CPU.
pub const AGPU_DEVICE_CPU: i32 = 1;
/// The first GPU of the CUDA driver; the next number is the second one, and so on.
pub const AGPU_DEVICE_CUDA: i32 = 2;

/// What a function returns; 0 is success. agpu_last_error_message() says more.
#[repr(i32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AgpuStatus {
    /// Success.
    AgpuOk = 0,
    /// A null pointer where something is needed, a bad enum, a bad option.
    AgpuErrorInvalidArgument = 1,
    /// A null, freed or foreign handle.
    AgpuErrorInvalidHandle = 2,
    /// A view of another element type than the function takes.
    AgpuErrorTypeMismatch = 3,
    /// Extents that differ, a view of another rank, a wrong output, a function's slice that does not fit.
    AgpuErrorShape = 4,
    /// A view or copy past the end of a buffer.
    AgpuErrorOutOfBounds = 5,
    /// Two outputs of one call overlap, or an output overlaps itself.
    AgpuErrorOverlap = 6,
    /// Memory could not be had.
    AgpuErrorOutOfMemory = 7,
    /// Arguments of different contexts.
    AgpuErrorWrongContext = 8,
    /// The function read out of range or divided an integer by zero: its outputs are unspecified.
    AgpuErrorRecord = 9,
    /// A package that this library cannot use (its version, missing code).
    AgpuErrorModule = 10,
    /// No such device, or no driver that will do.
    AgpuErrorUnavailable = 11,
    /// A bug of arraygpu: please report it.
    AgpuErrorInternal = 12,
    /// The GPU or its driver failed; after some errors nothing runs on it any more in this process.
    AgpuErrorDevice = 13,
    /// The program cancelled the call: agpu_set_cancel_flag().
    AgpuErrorCancelled = 14,
}

/// An element type.
#[repr(i32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AgpuType {
    /// float
    AgpuF32 = 0,
    /// double
    AgpuF64 = 1,
    /// int32_t
    AgpuI32 = 2,
    /// int64_t
    AgpuI64 = 3,
    /// uint32_t
    AgpuU32 = 4,
    /// uint8_t
    AgpuU8 = 5,
    /// bool: one byte, 0 or 1
    AgpuBool = 6,
    /// uint64_t
    AgpuU64 = 7,
    /// int8_t
    AgpuI8 = 8,
    /// int16_t
    AgpuI16 = 9,
    /// uint16_t
    AgpuU16 = 10,
    /// agpu_half
    AgpuF16 = 11,
    /// agpu_bfloat16
    AgpuBf16 = 12,
}

/// A scalar of type AGPU_F16, in calls of a package: its bits. C++ has arraygpu::half.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AgpuHalf {
    /// IEEE 754 binary16.
    pub bits: u16,
}

/// A scalar of type AGPU_BF16, in calls of a package: its bits. C++ has arraygpu::bfloat16.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AgpuBfloat16 {
    /// The high half of a float's.
    pub bits: u16,
}

/// A device with its threads. Opaque: a number in disguise, checked at every use.
pub struct AgpuContext(());

/// An array in memory. Opaque: a number in disguise, checked at every use.
pub struct AgpuBuffer(());

/// A point of a stream to wait for. Opaque: a number in disguise, checked at every use.
pub struct AgpuEvent(());

/// A package loaded by agpu_module_load(). Opaque: a number in disguise, checked at every use.
pub struct AgpuLoadedModule(());

/// What an element is. All 0: what the buffer's elements are.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AgpuElement {
    /// An agpu_type.
    pub kind: i32,
    /// Bytes of one element; 0: not said.
    pub size: i32,
}

/// A part of a buffer: a value, free to copy. All counts are in elements. Axes come outermost first: element
/// (i, j) of a matrix is at `offset + i * stride[0] + j * stride[1]`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AgpuView {
    /// The buffer.
    pub buffer: *mut AgpuBuffer,
    /// Its element that is element 0 of the view.
    pub offset: i64,
    /// Number of dimensions, 1 to 3.
    pub rank: i64,
    /// Number of elements along each dimension; of further ones nothing is read.
    pub extent: [i64; AGPU_MAX_RANK],
    /// Distance of neighbours along each dimension.
    pub stride: [i64; AGPU_MAX_RANK],
    /// What an element is; if it is said, the buffer's must be the same.
    pub element: AgpuElement,
    /// NULL. For a length that only the device knows.
    pub length: *const i64,
    /// 0.
    pub reserved: [u64; 2],
}

impl AgpuView {
    /// A view of these extents and strides, of what the buffer's elements are.
    pub fn new(buffer: *mut AgpuBuffer, offset: i64, extents: &[i64], strides: &[i64]) -> AgpuView {
        let mut view = AgpuView {
            buffer,
            offset,
            element: AgpuElement::default(),
            rank: extents.len() as i64,
            extent: [1; AGPU_MAX_RANK],
            stride: [1; AGPU_MAX_RANK],
            length: std::ptr::null(),
            reserved: [0; 2],
        };
        view.extent[..extents.len()].copy_from_slice(extents);
        view.stride[..strides.len()].copy_from_slice(strides);
        view
    }
}

// SAFETY: the pointers in a view are a handle (a number), never dereferenced, and NULL.
unsafe impl Send for AgpuView {}
// SAFETY: as above; a view has no interior mutability.
unsafe impl Sync for AgpuView {}

/// Options of agpu_context_create().
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AgpuContextOptions {
    /// sizeof(agpu_context_options)
    pub size: usize,
    /// AGPU_DEVICE_DEFAULT, AGPU_DEVICE_CPU, or AGPU_DEVICE_CUDA plus the GPU's number.
    pub device: i32,
    /// Threads to compute with; 0: the environment variable ARRAYGPU_THREADS, else all. Results never
    /// depend on it.
    pub threads: i32,
    /// As agpu_context_set_memory_limit(); 0: no limit.
    pub memory_limit: i64,
    /// Gives `bytes` of memory at a multiple of `alignment` for arrays, temporaries and scratch on the
    /// CPU, or NULL if there are none (then the call is AGPU_ERROR_OUT_OF_MEMORY). NULL: the system's.
    pub allocate:
        Option<unsafe extern "C" fn(user: *mut c_void, bytes: usize, alignment: usize) -> *mut c_void>,
    /// Takes it back; given exactly if `allocate` is. Both may be called by any thread, until the last
    /// buffer of the context is freed.
    pub release: Option<unsafe extern "C" fn(user: *mut c_void, memory: *mut c_void, bytes: usize)>,
    /// Runs task(data, i) once for each i from 0 to `tasks`, on any threads, and returns when all have
    /// returned: the program's own thread pool. NULL: workers of the library. `threads` says how many
    /// tasks there are at most. Bits do not depend on who runs them.
    pub run_tasks: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            tasks: i64,
            task: Option<unsafe extern "C" fn(data: *mut c_void, i: i64)>,
            data: *mut c_void,
        ),
    >,
    /// What these functions are called with. They must not throw, nor call functions of this context.
    pub user: *mut c_void,
}

impl Default for AgpuContextOptions {
    fn default() -> AgpuContextOptions {
        AgpuContextOptions {
            size: size_of::<AgpuContextOptions>(),
            device: AGPU_DEVICE_DEFAULT,
            threads: 0,
            memory_limit: 0,
            allocate: None,
            release: None,
            run_tasks: None,
            user: std::ptr::null_mut(),
        }
    }
}

/// Options of one call of a package's function.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AgpuCall {
    /// sizeof(agpu_call)
    pub size: usize,
    /// Where to run; NULL: the context of the first array, else the process's default.
    pub context: *mut AgpuContext,
    /// NULL: the context's own stream. Else a CUstream of the device's primary context.
    pub stream: *mut c_void,
    /// Memory for the call's temporaries, on its device, at a multiple of 256 bytes, which nothing else uses until
    /// the call is done: then it allocates nothing but new results. NULL: the library's.
    pub workspace: *mut c_void,
    /// Its size. Too few bytes are AGPU_ERROR_OUT_OF_MEMORY, before anything runs.
    pub workspace_bytes: i64,
    /// Not NULL: nothing runs; receives how many bytes of workspace such a call takes.
    pub workspace_needed: *mut i64,
}

impl AgpuCall {
    /// A call on a context and a stream of it, both of which may be null.
    pub fn on(context: *mut AgpuContext, stream: *mut c_void) -> AgpuCall {
        AgpuCall {
            size: size_of::<AgpuCall>(),
            context,
            stream,
            workspace: std::ptr::null_mut(),
            workspace_bytes: 0,
            workspace_needed: std::ptr::null_mut(),
        }
    }
}

/// What a kernel is called with. For packages.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AgpuKernelArgs {
    /// Address of element 0, an array each, in the kernel's order.
    pub arrays: *const *mut c_void,
    /// In elements, an array each: of a matrix that of its last axis.
    pub strides: *const i64,
    /// The bits of each "in" scalar, zero-extended; strides of matrices are among them.
    pub scalars: *const u64,
    /// Address of each slot.
    pub slots: *const *mut c_void,
    /// One value a tile, an address for each scratch.
    pub scratch: *const *mut c_void,
    /// For each site the lowest element that left a record, INT64_MAX for none (atomic minimum).
    pub records: *mut i64,
    /// NULL.
    pub reserved: [*const c_void; 2],
}

/// A kernel: computes tiles tile_begin up to tile_end (units of the launch's grain: 2048 elements, unless it says fewer). For packages.
pub type AgpuKernelFn =
    Option<unsafe extern "C" fn(args: *const AgpuKernelArgs, tile_begin: i64, tile_end: i64)>;

/// The versions of one kernel; the first three are NULL in a kernel without an index space. For packages.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AgpuCpuKernel {
    /// Every last stride is 1, what must be is dense, and no output overlaps an input.
    pub contiguous: AgpuKernelFn,
    /// The same strides; an output may be exactly an input that is read at the same index.
    pub in_place: AgpuKernelFn,
    /// Any strides; otherwise as in_place.
    pub strided: AgpuKernelFn,
    /// Once, after all tiles, with (0, number of tiles); NULL if there is nothing to finish.
    pub finish: AgpuKernelFn,
    /// NULL.
    pub reserved: [*const c_void; 2],
}

// SAFETY: constant data.
unsafe impl Send for AgpuCpuKernel {}
// SAFETY: as above.
unsafe impl Sync for AgpuCpuKernel {}

impl AgpuCpuKernel {
    /// No version at all.
    pub const NONE: AgpuCpuKernel = AgpuCpuKernel {
        contiguous: None,
        in_place: None,
        strided: None,
        finish: None,
        reserved: [std::ptr::null(); 2],
    };
}

/// Code for GPUs: one version of one kernel. For packages.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AgpuImage {
    /// Which kernel.
    pub kernel: i32,
    /// Which of its versions, in the order of the module's `gpu` text.
    pub version: i32,
    /// 0: PTX, a C string; 90: machine code for sm_90.
    pub arch: i32,
    /// Bytes, without the NUL of PTX.
    pub size: i64,
    /// The code.
    pub data: *const c_void,
    /// 0.
    pub reserved: [u64; 2],
}

// SAFETY: constant data.
unsafe impl Send for AgpuImage {}
// SAFETY: as above.
unsafe impl Sync for AgpuImage {}

/// A function under construction. One thread at a time uses it.
pub struct AgpuBuilder {
    _private: [u8; 0],
}

/// A compiled function.
pub struct AgpuProgram {
    _private: [u8; 0],
}

/// A node of a builder's function: a scalar, a vector, a matrix .. 0 is none.
pub type AgpuNode = u64;

/// What a package holds. For packages.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AgpuModule {
    /// sizeof(agpu_module)
    pub size: usize,
    /// AGPU_ABI_VERSION of the header that the package was made for.
    pub abi_version: i32,
    /// The package's name.
    pub name: *const c_char,
    /// Text (docs/ir.md); entry i is the i-th plan.
    pub plans: *const c_char,
    /// Its length in bytes.
    pub plans_length: i64,
    /// How many kernels.
    pub kernels: i32,
    /// Table of the kernels for x86-64-v2; on other machines the only one.
    pub cpu_v2: *const AgpuCpuKernel,
    /// For x86-64-v3 (AVX2, FMA).
    pub cpu_v3: *const AgpuCpuKernel,
    /// For x86-64-v4 (AVX-512).
    pub cpu_v4: *const AgpuCpuKernel,
    /// Text (docs/ir.md): how the versions of each kernel are launched on a GPU; NULL: no code for GPUs.
    pub gpu: *const c_char,
    /// Its length in bytes.
    pub gpu_length: i64,
    /// Code for GPUs, in any order.
    pub images: *const AgpuImage,
    /// How many.
    pub image_count: i32,
    /// A zeroed word that the runtime owns.
    pub state: *mut *mut c_void,
    /// Text (docs/ir.md): the functions that stage scalars, as the author wrote them; NULL: none does.
    pub staged: *const c_char,
    /// Its length in bytes.
    pub staged_length: i64,
}

// SAFETY: a module is constant data; `state` is only touched by atomic operations.
unsafe impl Sync for AgpuModule {}
// SAFETY: as above.
unsafe impl Send for AgpuModule {}

impl AgpuModule {
    /// A module of this version with nothing in it; it needs a name, plans and a state of its own.
    pub const EMPTY: AgpuModule = AgpuModule {
        size: size_of::<AgpuModule>(),
        abi_version: AGPU_ABI_VERSION,
        name: std::ptr::null(),
        plans: std::ptr::null(),
        plans_length: 0,
        kernels: 0,
        cpu_v2: std::ptr::null(),
        cpu_v3: std::ptr::null(),
        cpu_v4: std::ptr::null(),
        gpu: std::ptr::null(),
        gpu_length: 0,
        images: std::ptr::null(),
        image_count: 0,
        state: std::ptr::null_mut(),
        staged: std::ptr::null(),
        staged_length: 0,
    };
}

/// What an argument of agpu_invoke() is. For packages.
#[repr(i32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AgpuArgKind {
    /// A scalar parameter.
    AgpuArgScalar = 0,
    /// An array parameter.
    AgpuArgView = 1,
    /// A scalar result, written to host memory.
    AgpuArgResultScalar = 2,
    /// An array result, written to a view; or a scalar result, written to a view of one element.
    AgpuArgResultView = 3,
    /// An array result, into a new buffer with the right extents.
    AgpuArgResultNew = 4,
}

/// An argument of agpu_invoke(): parameters come first, then results. For packages.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AgpuArg {
    /// Which of the following counts.
    pub kind: MaybeUninit<AgpuArgKind>,
    /// SCALAR: the value; RESULT_SCALAR: where to write it (host memory).
    pub scalar: *const c_void,
    /// VIEW, RESULT_VIEW.
    pub view: AgpuView,
    /// RESULT_NEW: receives the buffer, which belongs to the caller.
    pub made: *mut *mut AgpuBuffer,
    /// 0.
    pub reserved: [u64; 2],
}

impl AgpuArg {
    /// An argument of a kind, with nothing in it.
    pub fn new(kind: AgpuArgKind) -> AgpuArg {
        AgpuArg {
            kind: MaybeUninit::new(kind),
            scalar: std::ptr::null(),
            view: AgpuView::new(std::ptr::null_mut(), 0, &[], &[]),
            made: std::ptr::null_mut(),
            reserved: [0; 2],
        }
    }
}

/// A parameter or result of a package's function.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AgpuEntrySlot {
    /// Its name; lives as long as the loaded module.
    pub name: *const c_char,
    /// Its (element) type.
    pub r#type: AgpuType,
    /// 0: a scalar, 1: a vector, 2: a matrix, 3.
    pub rank: i32,
    /// Bytes of one element.
    pub element_size: i32,
    /// 0.
    pub reserved: [i32; 5],
}

/// The number that a C caller passed for an enum.
pub(crate) fn code<E: Copy>(value: MaybeUninit<E>) -> i32 {
    const { assert!(size_of::<E>() == 4 && align_of::<E>() == 4) };
    // SAFETY: the enums above are four bytes (checked), which a C caller passes initialised; every i32 is valid.
    unsafe { value.as_ptr().cast::<i32>().read() }
}
