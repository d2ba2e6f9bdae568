//! The C functions that end a builder: its results, and the program that it becomes.

use super::builder::{identifier, with};
use super::cache;
use super::programs::insert;
use crate::abi::{AgpuBuilder, AgpuNode, AgpuProgram, AgpuStatus};
use crate::error::{INVALID_ARGUMENT, fail, out};
use arraygpu_compiler::core::Output;
use std::ffi::c_char;

/// A result, an array or a scalar. NULL as the name: r0, r1 .. by position.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_result(
    builder: *mut AgpuBuilder,
    name: *const c_char,
    value: AgpuNode,
) -> AgpuStatus {
    with("agpu_builder_result", builder, |b| {
        let n = b.results.len();
        let name = if name.is_null() { format!("r{n}") } else { identifier(name, "the name")? };
        let value = b.node(value, "the value")?;
        if b.params.iter().map(|p| &p.name).chain(b.results.iter().map(|r| &r.name)).any(|n| *n == name) {
            fail!(INVALID_ARGUMENT, "there is a parameter or result {name} already");
        }
        if !b.function().function.graph.is_closed(value) {
            fail!(
                INVALID_ARGUMENT,
                "{name} depends on a variable that no map, generate, reduce or fold binds"
            );
        }
        b.results.push(Output { name, value });
        Ok(())
    })
}

/// The program of the function. Functions that compute the same in the same way are one program, compiled
/// once in this process. The builder may go on.
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
