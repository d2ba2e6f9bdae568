//! Host memory that a GPU copies from and to at full speed, and asynchronously.

use crate::abi::{AgpuContext, AgpuStatus};
use crate::context;
use crate::cuda::Pinned;
use crate::error::{INVALID_ARGUMENT, Result, error, fail, out};
use crate::guard::guard_as;
use crate::memory::Storage;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{LazyLock, Mutex, PoisonError};

enum Block {
    Plain(Storage),
    Pinned(Pinned),
}

/// All blocks, by address.
static BLOCKS: LazyLock<Mutex<HashMap<usize, Block>>> = LazyLock::new(Mutex::default);

fn allocate(context: *mut AgpuContext, bytes: i64) -> Result<*mut c_void> {
    if bytes < 0 {
        fail!(INVALID_ARGUMENT, "{bytes} bytes are negative");
    }
    let context = context::pin_or_default(context)?;
    let (address, block) = match &context.gpu {
        // also nothing has an address of its own
        None => {
            let storage = Storage::new(bytes.max(1), 1, false, Some(&context.memory))?;
            (storage.data().cast::<c_void>(), Block::Plain(storage))
        }
        Some(gpu) => {
            let pinned = Pinned::new(gpu, bytes.max(1) as usize)?;
            (pinned.address(), Block::Pinned(pinned))
        }
    };
    BLOCKS.lock().unwrap_or_else(PoisonError::into_inner).insert(address.addr(), block);
    Ok(address)
}

/// Host memory for so many bytes, not cleared, aligned to 64 bytes. In a GPU's context (NULL: the default
/// one) it is pinned: copies from and to it are faster, and asynchronous where asked. Thread-safe.
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

/// Frees memory of agpu_host_alloc(); NULL is fine. Not before copies from and to it are done.
/// Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_host_free(memory: *mut c_void) -> AgpuStatus {
    let free = || {
        if memory.is_null() {
            return Ok(());
        }
        let block = BLOCKS.lock().unwrap_or_else(PoisonError::into_inner).remove(&memory.addr());
        match block {
            Some(Block::Plain(storage)) => drop(storage),
            Some(Block::Pinned(pinned)) => drop(pinned),
            None => {
                return Err(error(INVALID_ARGUMENT, format!("{memory:p} is no memory of agpu_host_alloc()")));
            }
        }
        Ok(())
    };
    guard_as("agpu_host_free", free)
}
