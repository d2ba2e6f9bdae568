//! The types of the C ABI, as `include/arraygpu.h` shows them. `docs/c-abi.md` is the contract.
//!
//! Enums that a caller passes in are `MaybeUninit<Enum>` here, because C may pass any number.
//! `code` reads such a number without trusting it.

mod packages;

pub use packages::*;

use std::ffi::c_void;
use std::mem::MaybeUninit;

/// Version of this interface. A package carries the version that it was made for, and a library
/// runs packages of the versions AGPU_ABI_OLDEST to AGPU_ABI_VERSION.
pub const AGPU_ABI_VERSION: i32 = 8;
/// The oldest version of packages that this library runs. It is also the number in the library's
/// name, libarraygpu.so.5.
pub const AGPU_ABI_OLDEST: i32 = 5;
/// The number of dimensions that an agpu_view has room for. Arrays have at most 3 so far.
pub const AGPU_MAX_RANK: usize = 6;

/// The device that the environment variable ARRAYGPU_DEVICE names (cpu, cuda, cuda:1). If the
/// variable is not set, it is the first GPU that the library supports, or else the CPU.
pub const AGPU_DEVICE_DEFAULT: i32 = 0;
/// The CPU.
pub const AGPU_DEVICE_CPU: i32 = 1;
/// The first GPU of the CUDA driver. The next number is the second GPU, and so on.
pub const AGPU_DEVICE_CUDA: i32 = 2;

/// What a function returns; 0 is success. agpu_last_error_message() describes the error.
#[repr(i32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AgpuStatus {
    /// Success.
    AgpuOk = 0,
    /// An argument is not valid: a null pointer where a value is needed, an unknown enum value, a
    /// bad option.
    AgpuErrorInvalidArgument = 1,
    /// A handle is null, was freed, or is not of the expected kind.
    AgpuErrorInvalidHandle = 2,
    /// A view has another element type than the function takes.
    AgpuErrorTypeMismatch = 3,
    /// Extents differ, a view has the wrong rank, an output has the wrong shape, or a slice inside
    /// the function does not fit.
    AgpuErrorShape = 4,
    /// A view or a copy reaches past the end of a buffer.
    AgpuErrorOutOfBounds = 5,
    /// Two outputs of one call overlap, or an output overlaps itself.
    AgpuErrorOverlap = 6,
    /// Memory could not be allocated.
    AgpuErrorOutOfMemory = 7,
    /// The arguments belong to different contexts.
    AgpuErrorWrongContext = 8,
    /// The function read out of range or divided an integer by zero. Its outputs are unspecified.
    AgpuErrorRecord = 9,
    /// This library cannot use the package, for example because of its version or because code is
    /// missing.
    AgpuErrorModule = 10,
    /// There is no such device, or no driver that the library supports.
    AgpuErrorUnavailable = 11,
    /// This is a bug of arraygpu; please report it.
    AgpuErrorInternal = 12,
    /// The GPU or its driver failed. After some errors nothing runs on that GPU any more in this
    /// process.
    AgpuErrorDevice = 13,
    /// The program cancelled the call; see agpu_set_cancel_flag().
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

/// A scalar of type AGPU_F16 in calls of a package, given by its bits. C++ has arraygpu::half.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AgpuHalf {
    /// The bits of an IEEE 754 binary16 number.
    pub bits: u16,
}

/// A scalar of type AGPU_BF16 in calls of a package, given by its bits. C++ has arraygpu::bfloat16.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AgpuBfloat16 {
    /// The upper 16 bits of a float.
    pub bits: u16,
}

/// A device with its threads. The pointer is an opaque number, which is checked at every use.
pub struct AgpuContext(());

/// An array in memory. The pointer is an opaque number, which is checked at every use.
pub struct AgpuBuffer(());

/// A point of a stream to wait for. The pointer is an opaque number, which is checked at every use.
pub struct AgpuEvent(());

/// A package loaded by agpu_module_load(). The pointer is an opaque number, which is checked at
/// every use.
pub struct AgpuLoadedModule(());

/// The type and size of an element. If all fields are 0, they are those of the buffer.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AgpuElement {
    /// An agpu_type.
    pub kind: i32,
    /// Size of one element in bytes; 0 if it is not specified.
    pub size: i32,
}

/// A part of a buffer. It is a plain value and may be copied. All counts are in elements. The
/// outermost axis comes first, so element (i, j) of a matrix is at
/// `offset + i * stride[0] + j * stride[1]`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AgpuView {
    /// The buffer.
    pub buffer: *mut AgpuBuffer,
    /// The index in the buffer of element 0 of the view.
    pub offset: i64,
    /// Number of dimensions, 1 to 3; of bytes that are structs, one more.
    pub rank: i64,
    /// Number of elements along each dimension. Entries beyond `rank` are not read.
    pub extent: [i64; AGPU_MAX_RANK],
    /// Distance of neighbours along each dimension, in elements.
    pub stride: [i64; AGPU_MAX_RANK],
    /// The type and size of an element. If they are specified, those of the buffer must be the
    /// same.
    pub element: AgpuElement,
    /// NULL. Reserved for a length that only the device knows.
    pub length: *const i64,
    /// All 0.
    pub reserved: [u64; 2],
}

impl AgpuView {
    /// Returns a view of these extents and strides whose elements are those of the buffer.
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

// SAFETY: the pointers in a view are a handle (a number that is never dereferenced) and NULL.
unsafe impl Send for AgpuView {}
// SAFETY: as above; a view has no interior mutability.
unsafe impl Sync for AgpuView {}

/// Options of agpu_context_create().
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AgpuContextOptions {
    /// sizeof(agpu_context_options)
    pub size: usize,
    /// AGPU_DEVICE_DEFAULT, AGPU_DEVICE_CPU, or AGPU_DEVICE_CUDA plus the number of the GPU.
    pub device: i32,
    /// The number of threads to compute with. 0 means the environment variable ARRAYGPU_THREADS, or
    /// else all processors. Results never depend on it.
    pub threads: i32,
    /// The limit that agpu_context_set_memory_limit() sets, in bytes; 0: no limit.
    pub memory_limit: i64,
    /// Returns `bytes` bytes of memory at a multiple of `alignment` for arrays, temporaries and
    /// scratch on the CPU, or NULL if there is no memory; the call then fails with
    /// AGPU_ERROR_OUT_OF_MEMORY. It must not throw. If `allocate` is NULL, the system's
    /// allocator is used.
    pub allocate:
        Option<unsafe extern "C" fn(user: *mut c_void, bytes: usize, alignment: usize) -> *mut c_void>,
    /// Takes the memory back, and must not throw. It must be given if and only if `allocate` is. Any
    /// thread may call both functions until the context, its last buffer and its last memory of
    /// agpu_host_alloc() are freed, whichever comes last.
    pub release: Option<unsafe extern "C" fn(user: *mut c_void, memory: *mut c_void, bytes: usize)>,
    /// Runs task(data, i) once for each i from 0 to `tasks` - 1, on any threads, and returns when
    /// all of them have returned. A program sets it to use its own thread pool. It must not throw:
    /// where the pool does, it catches that, waits for the tasks that were started, and calls the
    /// others itself. Threads that wait in it may call the library for other contexts. If it is
    /// NULL, the library starts worker threads. `threads` is the largest number of tasks. Results
    /// have the same bits whoever runs the tasks.
    pub run_tasks: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            tasks: i64,
            task: Option<unsafe extern "C" fn(data: *mut c_void, i: i64)>,
            data: *mut c_void,
        ),
    >,
    /// The first argument of these functions. They must not throw, because an exception would end
    /// the process, or call functions of this context.
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
    /// Where to run. NULL: in the context of the first array, or else in the process's default
    /// context.
    pub context: *mut AgpuContext,
    /// NULL: the context's own stream. Otherwise a CUstream of the device's primary context.
    pub stream: *mut c_void,
    /// Memory for the call's temporaries on its device, at a multiple of 256 bytes. Nothing else
    /// may use it until the call is done. The call then allocates only its new results. NULL: the
    /// library allocates the temporaries.
    pub workspace: *mut c_void,
    /// Size of the workspace in bytes. If it is too small, the call fails with
    /// AGPU_ERROR_OUT_OF_MEMORY before anything runs.
    pub workspace_bytes: i64,
    /// If it is not NULL, nothing runs, and it receives the number of bytes of workspace that such
    /// a call needs.
    pub workspace_needed: *mut i64,
}

impl AgpuCall {
    /// Returns the options of a call on a context and one of its streams. Both may be null.
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

/// A function under construction. Only one thread at a time may use it.
pub struct AgpuBuilder {
    _private: [u8; 0],
}

/// A compiled function.
pub struct AgpuProgram {
    _private: [u8; 0],
}

/// A node of a builder's function: a scalar, a vector, a matrix and so on. 0 is no node.
pub type AgpuNode = u64;

/// Returns the number that a C caller passed for an enum.
pub(crate) fn code<E: Copy>(value: MaybeUninit<E>) -> i32 {
    const { assert!(size_of::<E>() == 4 && align_of::<E>() == 4) };
    // SAFETY: the enums above have four bytes (checked), which a C caller passes initialised, and
    // every i32 is valid.
    unsafe { value.as_ptr().cast::<i32>().read() }
}
