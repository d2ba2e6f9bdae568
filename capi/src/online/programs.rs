//! The C functions of programs.

use super::cache;
use super::program::Program;
use crate::abi::{AgpuArg, AgpuCall, AgpuProgram, AgpuStatus};
use crate::error::{INVALID_ARGUMENT, Result, fail, out};
use crate::guard::{guard, guard_as};
use crate::handle::Table;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::without_provenance_mut;
use std::sync::Arc;

pub(super) static PROGRAMS: Table<Arc<Program>> = Table::new(0b0111, "program");

/// The handle of a program.
pub(super) fn insert(program: Arc<Program>) -> Result<*mut AgpuProgram> {
    Ok(without_provenance_mut(PROGRAMS.insert(program)?))
}

/// # Safety
/// There are that many bytes.
pub(super) unsafe fn bytes<'a>(key: *const c_void, length: i64) -> Result<&'a [u8]> {
    match usize::try_from(length) {
        // SAFETY: the caller's promise.
        Ok(n) if !key.is_null() && n > 0 => Ok(unsafe { std::slice::from_raw_parts(key.cast(), n) }),
        _ => fail!(INVALID_ARGUMENT, "a key of {length} bytes at {key:p}"),
    }
}

/// Runs a program; as agpu_invoke(). What its device needs is compiled at its first run there. Thread-safe,
/// as long as no buffer that a call writes is used elsewhere at the same time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_program_run(
    program: *mut AgpuProgram,
    call: *const AgpuCall,
    args: *const AgpuArg,
    count: i32,
) -> AgpuStatus {
    guard(|| {
        let program = PROGRAMS.pin(program.addr()).map_err(|e| e.of("agpu_program_run"))?;
        // SAFETY: `call` is NULL or an agpu_call, and there are `count` arguments (the caller's promise).
        unsafe { program.run(call, args, count) }
    })
}

/// Frees a program; NULL is fine. What it compiled stays for equal ones, within bounds. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_program_free(program: *mut AgpuProgram) -> AgpuStatus {
    guard_as("agpu_program_free", || if program.is_null() { Ok(()) } else { PROGRAMS.free(program.addr()) })
}

/// How many kernels a run launches (of an iteration: those of one step). Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_program_kernels(program: *mut AgpuProgram, count: *mut i32) -> AgpuStatus {
    guard_as("agpu_program_kernels", || {
        let out = out(count, "count")?;
        out.write(i32::try_from(PROGRAMS.pin(program.addr())?.kernels()?).unwrap_or(i32::MAX));
        Ok(())
    })
}

/// A stage of the compiler as text: core, fused, plan, kernel, c, ptx, or explain; or first_ptx, which is
/// what a first call of short contiguous arrays on a GPU launches, and as fast made. Valid until this thread's
/// next call of this function. Thread-safe.
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
        // SAFETY: a C string (the caller's promise).
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

/// Keeps a program under a key of the caller's own, its encoding of the structure, for
/// agpu_run_remembered(). A bounded number is kept; those go that were not used for longest. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_program_remember(
    program: *mut AgpuProgram,
    key: *const c_void,
    length: i64,
) -> AgpuStatus {
    guard_as("agpu_program_remember", || {
        let program = PROGRAMS.pin(program.addr())?.clone();
        // SAFETY: the caller's promise.
        cache::remember(unsafe { bytes(key, length) }?, program);
        Ok(())
    })
}

/// Runs the program that was remembered under a key, as agpu_program_run(). `known` is false if there is
/// none: then nothing was done. Thread-safe.
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
        // SAFETY: the caller's promise.
        let key = unsafe { bytes(key, length) }.map_err(|e| e.of("agpu_run_remembered"))?;
        let found = cache::recall(key);
        if let Some(program) = &found {
            // SAFETY: `call` is NULL or an agpu_call, and there are `count` arguments (the caller's promise).
            unsafe { program.run(call, args, count) }?;
        }
        out.write(found.is_some());
        Ok(())
    })
}
