//! The C functions of pinned memory: host memory from and to which a GPU copies at full speed, and
//! asynchronously.

use crate::abi::{AgpuContext, AgpuStatus};
use crate::context;
use crate::device::HostBlock;
use crate::error::{INVALID_ARGUMENT, Result, error, fail, out};
use crate::guard::guard_as;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{LazyLock, Mutex, PoisonError};

/// All blocks, by address.
static BLOCKS: LazyLock<Mutex<HashMap<usize, Box<dyn HostBlock>>>> = LazyLock::new(Mutex::default);

fn allocate(context: *mut AgpuContext, bytes: i64) -> Result<*mut c_void> {
    if bytes < 0 {
        fail!(INVALID_ARGUMENT, "{bytes} bytes are negative");
    }
    let context = context::pin_or_default(context)?;
    // A block of no bytes has an address of its own, too.
    let block = context.device.allocate_on_host(bytes.max(1) as usize)?;
    let address = block.address();
    BLOCKS.lock().unwrap_or_else(PoisonError::into_inner).insert(address.addr(), block);
    Ok(address)
}

/// Allocates host memory of this many bytes. It is not cleared, and is aligned to 64 bytes. In the
/// context of a GPU (NULL: the default context) it is pinned: copies from and to it are faster, and
/// asynchronous where the caller asks for that. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_host_alloc(
    context: *mut AgpuContext,
    bytes: i64,
    memory: *mut *mut c_void,
) -> AgpuStatus {
    let make = || {
        let out = out(memory, "memory")?;
        out.write(allocate(context, bytes)?);
        Ok(())
    };
    guard_as("agpu_host_alloc", make)
}

/// Frees memory of agpu_host_alloc(). NULL is allowed. Copies from and to the memory must be done.
/// Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_host_free(memory: *mut c_void) -> AgpuStatus {
    let free = || {
        if memory.is_null() {
            return Ok(());
        }
        let block = BLOCKS.lock().unwrap_or_else(PoisonError::into_inner).remove(&memory.addr());
        match block {
            // The memory is freed after the lock is released.
            Some(block) => drop(block),
            None => {
                return Err(error(INVALID_ARGUMENT, format!("{memory:p} is no memory of agpu_host_alloc()")));
            }
        }
        Ok(())
    };
    guard_as("agpu_host_free", free)
}
