//! Launches of kernels. On devices with programmatic dependent launches, a kernel may begin while the previous kernel
//! of the stream ends: its code waits for the previous kernel before it reads or writes memory
//! ([`dependent_launch`]).

use super::call::Call;
use super::driver::Code;
use super::frame::Running;
use arraygpu_compiler::backend::ptx::dependent_launch;
use cudarc::driver::sys::{
    CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue, CUlaunchConfig, CUstream,
};
use std::ffi::c_void;
use std::ptr::null_mut;

/// The version of the oldest drivers that capture dependent launches.
const CAPTURES: i32 = 12_030;

impl Call<'_> {
    /// Queues a launch, and returns the driver's code.
    ///
    /// # Safety
    /// `extra` is as `cuLaunchKernel` wants it, with the kernel's parameters, and what they point at stays valid
    /// until the launch has ended.
    pub(super) unsafe fn queue_kernel(&self, p: &Running, stream: CUstream, extra: *mut *mut c_void) -> Code {
        let (api, blocks, threads, shared) = (self.gpu.api(), p.blocks, p.variant.threads, p.variant.shared);
        if !self.is_dependent() {
            // SAFETY: as the caller guarantees.
            return unsafe {
                (api.launch)(p.function, blocks, 1, 1, threads, 1, 1, shared, stream, null_mut(), extra)
            };
        }
        let mut attribute = CUlaunchAttribute {
            id: CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            pad: [0; 4],
            value: CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
        };
        let config = CUlaunchConfig {
            gridDimX: blocks,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: threads,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: shared,
            hStream: stream,
            attrs: &raw mut attribute,
            numAttrs: 1,
        };
        // SAFETY: as the caller guarantees; the attribute lives as long as the call.
        unsafe { (api.launch_with)(&raw const config, p.function, null_mut(), extra) }
    }

    /// Whether a launch may begin while the one before it ends.
    fn is_dependent(&self) -> bool {
        self.images.waits
            && self.gpu.device.policy().capability >= dependent_launch::CAPABILITY
            && (!self.capturing || self.gpu.driver.version >= CAPTURES)
    }
}
