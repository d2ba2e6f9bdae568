//! The C functions of programs.

use super::cache;
use super::program::Program;
use crate::abi::{AgpuArg, AgpuCall, AgpuProgram, AgpuStatus};
use crate::error::{INVALID_ARGUMENT, Result, fail, out};
use crate::guard::{guard, guard_as};
use crate::handle::{Kind, Table};
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::without_provenance_mut;
use std::sync::Arc;

pub(super) static PROGRAMS: Table<Arc<Program>> = Table::new(Kind::Program, "program");

/// Makes a handle for a program.
pub(super) fn insert(program: Arc<Program>) -> Result<*mut AgpuProgram> {
    Ok(without_provenance_mut(PROGRAMS.insert(program)?))
}

/// # Safety
/// `key` is null, or there are `length` bytes.
pub(super) unsafe fn bytes<'a>(key: *const c_void, length: i64) -> Result<&'a [u8]> {
    match usize::try_from(length) {
        // SAFETY: the caller promises it.
        Ok(n) if !key.is_null() && n > 0 => Ok(unsafe { std::slice::from_raw_parts(key.cast(), n) }),
        _ => fail!(INVALID_ARGUMENT, "a key of {length} bytes at {key:p}"),
    }
}

/// Runs a program, as agpu_invoke() does. What its device needs is compiled at its first run there.
/// Thread-safe, as long as no buffer that a call writes is used elsewhere at the same time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_program_run(
    program: *mut AgpuProgram,
    call: *const AgpuCall,
    args: *const AgpuArg,
    count: i32,
) -> AgpuStatus {
    guard(|| {
        let program = PROGRAMS.pin(program.addr()).map_err(|e| e.of("agpu_program_run"))?;
        // SAFETY: the caller promises that `call` is NULL or an agpu_call, and `count` arguments.
        unsafe { program.run(call, args, count) }
    })
}

/// Frees a program; NULL is allowed. What it compiled is kept for equal programs, up to a bounded
/// number of them. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_program_free(program: *mut AgpuProgram) -> AgpuStatus {
    guard_as("agpu_program_free", || if program.is_null() { Ok(()) } else { PROGRAMS.free(program.addr()) })
}

/// Writes the number of kernels that a run launches; of an iteration, the kernels of one step
/// count. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_program_kernels(program: *mut AgpuProgram, count: *mut i32) -> AgpuStatus {
    guard_as("agpu_program_kernels", || {
        let out = out(count, "count")?;
        out.write(i32::try_from(PROGRAMS.pin(program.addr())?.kernels()?).unwrap_or(i32::MAX));
        Ok(())
    })
}

/// Writes the text of a stage of the compiler: core, fused, plan, kernel, c, ptx, cuda, or explain; or
/// first_ptx, which is the PTX that a first call with short contiguous arrays launches on a GPU,
/// and is made as fast. The text is valid until this thread's next call of this function.
/// Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_program_text(
    program: *mut AgpuProgram,
    stage: *const c_char,
    text: *mut *const c_char,
) -> AgpuStatus {
    thread_local! {
        static TEXT: RefCell<CString> = RefCell::new(CString::default());
    }
    guard_as("agpu_program_text", || {
        let out = out(text, "text")?;
        if stage.is_null() {
            fail!(INVALID_ARGUMENT, "stage is NULL");
        }
        // SAFETY: the caller promises a C string.
        let stage = unsafe { CStr::from_ptr(stage) }.to_string_lossy();
        let text = PROGRAMS.pin(program.addr())?.text(&stage)?;
        let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
        TEXT.with(|t| {
            t.replace(text);
            out.write(t.borrow().as_ptr());
        });
        Ok(())
    })
}

/// Keeps a program under a key of the caller's own, which encodes the program's structure, for
/// agpu_run_remembered(); it replaces a program that was kept under the key before. A bounded number of
/// programs is kept; the least recently used one is dropped first. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_program_remember(
    program: *mut AgpuProgram,
    key: *const c_void,
    length: i64,
) -> AgpuStatus {
    guard_as("agpu_program_remember", || {
        let program = PROGRAMS.pin(program.addr())?.clone();
        // SAFETY: the caller promises it.
        cache::remember(unsafe { bytes(key, length) }?, program);
        Ok(())
    })
}

/// Runs the program that was remembered under a key, as agpu_program_run() does. If there is none,
/// `known` becomes false and nothing is done. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_run_remembered(
    key: *const c_void,
    length: i64,
    call: *const AgpuCall,
    args: *const AgpuArg,
    count: i32,
    known: *mut bool,
) -> AgpuStatus {
    guard(|| {
        let out = out(known, "agpu_run_remembered: known")?;
        // SAFETY: the caller promises it.
        let key = unsafe { bytes(key, length) }.map_err(|e| e.of("agpu_run_remembered"))?;
        let found = cache::recall(key);
        if let Some(program) = &found {
            // SAFETY: the caller promises that `call` is NULL or an agpu_call, and `count`
            // arguments.
            unsafe { program.run(call, args, count) }?;
        }
        out.write(found.is_some());
        Ok(())
    })
}
