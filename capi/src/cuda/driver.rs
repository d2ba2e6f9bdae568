//! The CUDA driver library, opened at run time: a table of its functions, with plain numbers for
//! its result codes.
//!
//! cudarc provides the types and constants. Its calls are not used, since they panic if a symbol is
//! missing, and neither is its closed enum of results, since a newer driver may return a number
//! that the enum does not have.

use crate::error::{DEVICE, Error, MODULE, OUT_OF_MEMORY, Result, UNAVAILABLE, error};
use cudarc::driver::sys::*;
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_uint, c_ushort, c_void};
use std::fmt::Display;
use std::ptr::null;

/// A result code of the driver; 0 is success.
pub(crate) type Code = i32;

macro_rules! table {
    ({ $($field:ident = $symbol:literal ($($arg:ty),*);)* } optional { $($maybe:ident = $name:literal ($($of:ty),*);)* }) => {
        /// The driver's functions.
        #[allow(missing_docs)]
        pub(crate) struct Api {
            $(pub $field: unsafe extern "C" fn($($arg),*) -> Code,)*
            $(pub $maybe: Option<unsafe extern "C" fn($($of),*) -> Code>,)*
        }

        impl Api {
            pub(super) fn load(library: &Library) -> std::result::Result<Api, &'static str> {
                // SAFETY: the symbols have these types according to the driver's headers.
                unsafe {
                    Ok(Api {
                        $($field: *library.get(concat!($symbol, "\0").as_bytes()).map_err(|_| $symbol)?,)*
                        $($maybe: library.get(concat!($name, "\0").as_bytes()).ok().map(|f| *f),)*
                    })
                }
            }
        }
    };
}

table! { {
    init = "cuInit"(c_uint);
    error_name = "cuGetErrorName"(Code, *mut *const c_char);
    error_string = "cuGetErrorString"(Code, *mut *const c_char);
    device_count = "cuDeviceGetCount"(*mut c_int);
    device_get = "cuDeviceGet"(*mut CUdevice, c_int);
    device_name = "cuDeviceGetName"(*mut c_char, c_int, CUdevice);
    device_attribute = "cuDeviceGetAttribute"(*mut c_int, CUdevice_attribute, CUdevice);
    primary_retain = "cuDevicePrimaryCtxRetain"(*mut CUcontext, CUdevice);
    primary_release = "cuDevicePrimaryCtxRelease_v2"(CUdevice);
    context_get = "cuCtxGetCurrent"(*mut CUcontext);
    context_set = "cuCtxSetCurrent"(CUcontext);
    capture_mode = "cuThreadExchangeStreamCaptureMode"(*mut c_uint);
    stream_create = "cuStreamCreate"(*mut CUstream, c_uint);
    stream_destroy = "cuStreamDestroy_v2"(CUstream);
    stream_synchronize = "cuStreamSynchronize"(CUstream);
    stream_wait = "cuStreamWaitEvent"(CUstream, CUevent, c_uint);
    stream_context = "cuStreamGetCtx"(CUstream, *mut CUcontext);
    stream_capturing = "cuStreamIsCapturing"(CUstream, *mut c_uint);
    event_create = "cuEventCreate"(*mut CUevent, c_uint);
    event_destroy = "cuEventDestroy_v2"(CUevent);
    event_record = "cuEventRecord"(CUevent, CUstream);
    event_synchronize = "cuEventSynchronize"(CUevent);
    event_query = "cuEventQuery"(CUevent);
    host_function = "cuLaunchHostFunc"(CUstream, CUhostFn, *mut c_void);
    pool_create = "cuMemPoolCreate"(*mut CUmemoryPool, *const CUmemPoolProps);
    pool_destroy = "cuMemPoolDestroy"(CUmemoryPool);
    pool_set = "cuMemPoolSetAttribute"(CUmemoryPool, CUmemPool_attribute, *mut c_void);
    pool_trim = "cuMemPoolTrimTo"(CUmemoryPool, usize);
    allocate = "cuMemAllocFromPoolAsync"(*mut CUdeviceptr, usize, CUmemoryPool, CUstream);
    free = "cuMemFreeAsync"(CUdeviceptr, CUstream);
    set_u8 = "cuMemsetD8Async"(CUdeviceptr, u8, usize, CUstream);
    set_u16 = "cuMemsetD16Async"(CUdeviceptr, c_ushort, usize, CUstream);
    set_u32 = "cuMemsetD32Async"(CUdeviceptr, c_uint, usize, CUstream);
    to_device = "cuMemcpyHtoDAsync_v2"(CUdeviceptr, *const c_void, usize, CUstream);
    to_host = "cuMemcpyDtoHAsync_v2"(*mut c_void, CUdeviceptr, usize, CUstream);
    on_device = "cuMemcpyDtoDAsync_v2"(CUdeviceptr, CUdeviceptr, usize, CUstream);
    to_peer = "cuMemcpyPeerAsync"(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, usize, CUstream);
    host_allocate = "cuMemHostAlloc"(*mut *mut c_void, usize, c_uint);
    host_address = "cuMemHostGetDevicePointer_v2"(*mut CUdeviceptr, *mut c_void, c_uint);
    host_free = "cuMemFreeHost"(*mut c_void);
    pointer_attribute = "cuPointerGetAttribute"(*mut c_void, CUpointer_attribute, CUdeviceptr);
    module_load = "cuModuleLoadDataEx"(*mut CUmodule, *const c_void, c_uint, *mut CUjit_option, *mut *mut c_void);
    module_function = "cuModuleGetFunction"(*mut CUfunction, CUmodule, *const c_char);
    set_function_attribute = "cuFuncSetAttribute"(CUfunction, CUfunction_attribute, c_int);
    module_unload = "cuModuleUnload"(CUmodule);
    link_create = "cuLinkCreate_v2"(c_uint, *mut CUjit_option, *mut *mut c_void, *mut CUlinkState);
    link_add = "cuLinkAddData_v2"(
        CUlinkState, CUjitInputType, *mut c_void, usize, *const c_char, c_uint, *mut CUjit_option, *mut *mut c_void
    );
    link_complete = "cuLinkComplete"(CUlinkState, *mut *mut c_void, *mut usize);
    link_destroy = "cuLinkDestroy"(CUlinkState);
    launch = "cuLaunchKernel"(
        CUfunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, CUstream, *mut *mut c_void, *mut *mut c_void
    );
    launch_with = "cuLaunchKernelEx"(*const CUlaunchConfig, CUfunction, *mut *mut c_void, *mut *mut c_void);
} optional {
    stream_id = "cuStreamGetId"(CUstream, *mut u64);
    event_elapsed = "cuEventElapsedTime"(*mut f32, CUevent, CUevent);
    capture_info = "cuStreamGetCaptureInfo_v2"(
        CUstream, *mut c_uint, *mut u64, *mut CUgraph, *mut *const CUgraphNode, *mut usize
    );
    user_object = "cuUserObjectCreate"(*mut CUuserObject, *mut c_void, CUhostFn, c_uint, c_uint);
    graph_retain = "cuGraphRetainUserObject"(CUgraph, CUuserObject, c_uint, c_uint);
} }

/// Formats a version as `CUDA 12.4`.
pub(super) fn version_text(version: i32) -> String {
    format!("CUDA {}.{}", version / 1000, version % 1000 / 10)
}

impl Api {
    /// Formats a result code as `CUDA_ERROR_OUT_OF_MEMORY (2): out of memory`.
    pub fn describe(&self, code: Code) -> String {
        let text = |f: unsafe extern "C" fn(Code, *mut *const c_char) -> Code| {
            let mut text = null();
            // SAFETY: the pointer is to a local variable; the driver writes a static string there,
            // or none for a code that it does not know.
            unsafe {
                match f(code, &mut text) {
                    0 if !text.is_null() => Some(CStr::from_ptr(text).to_string_lossy().into_owned()),
                    _ => None,
                }
            }
        };
        match (text(self.error_name), text(self.error_string)) {
            (Some(name), Some(string)) => format!("{name} ({code}): {string}"),
            (Some(name), None) => format!("{name} ({code})"),
            _ => format!("CUDA error {code}"),
        }
    }

    /// Turns a result code into a result; `what` says what was tried, with its sizes.
    #[inline]
    pub fn check(&self, code: Code, what: impl Display) -> Result<()> {
        if code == 0 { Ok(()) } else { Err(self.error(code, &what)) }
    }

    #[cold]
    pub fn error(&self, code: Code, what: &dyn Display) -> Error {
        let status = match code {
            2 => OUT_OF_MEMORY,
            4 => UNAVAILABLE,                      // the process is ending
            200 | 209 | 218 | 221..=223 => MODULE, // invalid code, or code for another device
            _ => DEVICE,
        };
        error(status, format!("{what}: {}", self.describe(code)))
    }
}

/// Whether nothing runs in the device's context any more after this error.
pub(crate) fn is_sticky(code: Code) -> bool {
    matches!(code, 214 | 220 | 226 | 700 | 702 | 709 | 710 | 714..=719 | 721)
}
