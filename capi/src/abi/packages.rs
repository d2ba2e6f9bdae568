//! The types of the C ABI for packages: their modules, kernels and images, and the arguments and
//! parameters of their functions.

use super::{AGPU_ABI_VERSION, AgpuBuffer, AgpuType, AgpuView};
use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;

/// The arguments of a kernel. For packages.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AgpuKernelArgs {
    /// The address of element 0 of each array, in the kernel's order.
    pub arrays: *const *mut c_void,
    /// One stride in elements for each array; that of a matrix is the stride of its last axis.
    pub strides: *const i64,
    /// The bits of each "in" scalar, zero-extended. Strides of matrices are among the scalars.
    pub scalars: *const u64,
    /// The address of each slot.
    pub slots: *const *mut c_void,
    /// The address of each scratch array, which has one value for each tile.
    pub scratch: *const *mut c_void,
    /// For each site the lowest index of an element that left an error record, or INT64_MAX for
    /// none. Kernels update it by an atomic minimum.
    pub records: *mut i64,
    /// NULL.
    pub reserved: [*const c_void; 2],
}

/// A kernel: it computes the tiles from tile_begin to tile_end - 1. A tile is the launch's grain:
/// 2048 elements, or fewer if the launch specifies fewer. For packages.
pub type AgpuKernelFn =
    Option<unsafe extern "C" fn(args: *const AgpuKernelArgs, tile_begin: i64, tile_end: i64)>;

/// The variants of one kernel. The first three are NULL in a kernel without an index space. For
/// packages.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AgpuCpuKernel {
    /// Every last stride is 1, arrays that must be dense are dense, and no output overlaps an
    /// input.
    pub contiguous: AgpuKernelFn,
    /// The strides are as in `contiguous`. An output may be exactly an input that is read at the
    /// same index.
    pub in_place: AgpuKernelFn,
    /// The strides are arbitrary; otherwise as in `in_place`.
    pub strided: AgpuKernelFn,
    /// Runs once after all tiles with (0, number of tiles); NULL if there is nothing to finish.
    pub finish: AgpuKernelFn,
    /// NULL.
    pub reserved: [*const c_void; 2],
}

// SAFETY: the struct is constant data.
unsafe impl Send for AgpuCpuKernel {}
// SAFETY: as above.
unsafe impl Sync for AgpuCpuKernel {}

impl AgpuCpuKernel {
    /// A kernel without any variant.
    pub const NONE: AgpuCpuKernel = AgpuCpuKernel {
        contiguous: None,
        in_place: None,
        strided: None,
        finish: None,
        reserved: [std::ptr::null(); 2],
    };
}

/// Code for GPUs: one variant of one kernel. For packages.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AgpuImage {
    /// The number of the kernel.
    pub kernel: i32,
    /// The number of the variant in the order of the module's `gpu` text.
    pub version: i32,
    /// 0 for PTX; 90 for machine code for sm_90.
    pub arch: i32,
    /// Size of the code in bytes, without a NUL.
    pub size: i64,
    /// The code. If it is not compressed, PTX ends with a NUL.
    pub data: *const c_void,
    /// Size of the code in bytes as a Zstandard frame at `data`; 0 if it is not compressed. Not 0
    /// in packages of AGPU_ABI_VERSION 6 or later only.
    pub packed: i64,
    /// 0, or 1 + the index of the image whose code is the prefix with which the frame was made.
    /// That image has no such prefix itself.
    pub base: i64,
}

// SAFETY: the struct is constant data.
unsafe impl Send for AgpuImage {}
// SAFETY: as above.
unsafe impl Sync for AgpuImage {}

/// The contents of a package. For packages.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AgpuModule {
    /// sizeof(agpu_module)
    pub size: usize,
    /// AGPU_ABI_VERSION of the header that the package was compiled with.
    pub abi_version: i32,
    /// The package's name.
    pub name: *const c_char,
    /// Text (docs/ir.md) of the plans; entry i is the i-th plan.
    pub plans: *const c_char,
    /// Length of `plans` in bytes.
    pub plans_length: i64,
    /// The number of kernels.
    pub kernels: i32,
    /// Table of the kernels for x86-64-v2. On other processors it is the only table.
    pub cpu_v2: *const AgpuCpuKernel,
    /// Table of the kernels for x86-64-v3 (AVX2, FMA).
    pub cpu_v3: *const AgpuCpuKernel,
    /// Table of the kernels for x86-64-v4 (AVX-512).
    pub cpu_v4: *const AgpuCpuKernel,
    /// Text (docs/ir.md) that says how the variants of each kernel are launched on a GPU; NULL if
    /// there is no code for GPUs.
    pub gpu: *const c_char,
    /// Length of `gpu` in bytes.
    pub gpu_length: i64,
    /// Code for GPUs, in any order.
    pub images: *const AgpuImage,
    /// The number of images.
    pub image_count: i32,
    /// A zeroed word that belongs to the runtime.
    pub state: *mut *mut c_void,
    /// Text (docs/ir.md) of the functions that stage scalars, as the author wrote them; NULL if
    /// there are none.
    pub staged: *const c_char,
    /// Length of `staged` in bytes.
    pub staged_length: i64,
}

// SAFETY: a module is constant data; `state` is only accessed by atomic operations.
unsafe impl Sync for AgpuModule {}
// SAFETY: as above.
unsafe impl Send for AgpuModule {}

impl AgpuModule {
    /// An empty module of this version. It needs a name, plans and a state word of its own.
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

/// The kind of an argument of agpu_invoke(). For packages.
#[repr(i32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AgpuArgKind {
    /// A scalar parameter.
    AgpuArgScalar = 0,
    /// An array parameter.
    AgpuArgView = 1,
    /// A scalar result, written to host memory.
    AgpuArgResultScalar = 2,
    /// An array result that is written to a view, or a scalar result that is written to a view of
    /// one element.
    AgpuArgResultView = 3,
    /// An array result that is written to a new buffer with the right extents.
    AgpuArgResultNew = 4,
    /// A field of an array result of structs, which is written to a new buffer of bytes with an axis more, the bytes
    /// of a struct. The fields with the same `made` share it; they have the same extents.
    AgpuArgResultNewField = 5,
}

/// An argument of agpu_invoke(). Parameters come first, then results. For packages.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AgpuArg {
    /// Selects which of the following fields are used.
    pub kind: MaybeUninit<AgpuArgKind>,
    /// SCALAR: points to the value. RESULT_SCALAR: receives the value, in host memory.
    pub scalar: *const c_void,
    /// VIEW, RESULT_VIEW: the array. RESULT_NEW_FIELD: `offset` is that of the field in a struct, and `stride[0]` the
    /// size of a struct, both in bytes.
    pub view: AgpuView,
    /// RESULT_NEW, RESULT_NEW_FIELD: receives the buffer, which belongs to the caller.
    pub made: *mut *mut AgpuBuffer,
    /// All 0.
    pub reserved: [u64; 2],
}

impl AgpuArg {
    /// Returns an empty argument of a kind.
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

/// A launch of a kernel, as agpu_context_launch_times() writes it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AgpuLaunchTime {
    /// Name of the kernel.
    pub kernel: *const c_char,
    /// Name of the kernel's variant on a GPU; on a CPU that of the kernel.
    pub variant: *const c_char,
    /// When it began, in seconds after the first launch.
    pub start: f64,
    /// How long it took, in seconds; on a GPU with what the two events take.
    pub seconds: f64,
    /// The class of its sizes in tuning files, such as "2^20"; "" on a CPU. NULL from earlier libraries.
    pub sizes: *const c_char,
    /// All 0.
    pub reserved: [u64; 3],
}

/// A parameter or result of a package's function.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AgpuEntrySlot {
    /// Name of the parameter or result; it is valid as long as the loaded module.
    pub name: *const c_char,
    /// Type of the scalar, or of the elements of the array.
    pub r#type: AgpuType,
    /// 0 for a scalar, 1 for a vector, 2 for a matrix, 3 for an array of rank 3.
    pub rank: i32,
    /// Size of one element in bytes.
    pub element_size: i32,
    /// All 0.
    pub reserved: [i32; 5],
}
