//! The C functions that end a builder: its results, and the program that it becomes.

use super::builder::{identifier, with};
use super::cache;
use super::programs::insert;
use crate::abi::{AgpuBuilder, AgpuNode, AgpuProgram, AgpuStatus};
use crate::error::out;
use std::ffi::c_char;

/// Adds a result, an array or a scalar. Results whose name is NULL are named r0, r1 .. by their
/// position.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_result(
    builder: *mut AgpuBuilder,
    name: *const c_char,
    value: AgpuNode,
) -> AgpuStatus {
    with("agpu_builder_result", builder, |b| {
        let n = b.result_count();
        let name = if name.is_null() { format!("r{n}") } else { identifier(name, "the name")? };
        let value = b.node(value, "the value")?;
        b.result(name, value)
    })
}

/// Makes the program of the function. Functions that compute the same in the same way are one
/// program, compiled once in this process. The builder may be used further.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_compile(
    builder: *mut AgpuBuilder,
    program: *mut *mut AgpuProgram,
) -> AgpuStatus {
    with("agpu_builder_compile", builder, |b| {
        let out = out(program, "program")?;
        let made = cache::program(b.finish()?)?;
        out.write(insert(made)?);
        Ok(())
    })
}
