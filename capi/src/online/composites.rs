//! The C function that adds a composite: a construct that the compiler makes of others.

use super::builder::{Builder, variables_of};
use super::joined::{function_of, make_all};
use crate::abi::{AgpuBuilder, AgpuNode, AgpuStatus};
use crate::error::{INVALID_ARGUMENT, fail};
use crate::interrupt::refused;
use arraygpu_compiler::build::{Composite, Operands};
use arraygpu_compiler::counted;
use std::ffi::{CStr, c_char};

/// Adds a construct that is made of others, by its name: scan, scan_exclusive, scan_rows, scan_cols,
/// scan_planes and these with _exclusive, argsort, argsort_descending, sort, sort_descending,
/// segmented_reduce, segmented_scan, segmented_scan_exclusive, filter, unique, run_lengths,
/// reduce_by_key, filled, destinations, destinations_ignored, destinations_clamped, histogram,
/// scatter, scatter_unique, scatter_reduce or scatter_reduce_unordered (docs/c-abi.md has their
/// operands and values, docs/semantics.md 5.18 to 5.22 their meaning). Some take an operator of so many components: `variables` stand for those of its
/// left operand, then for those of its right one, `body` is its result. `nodes` receives the values, of which there
/// must be `count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_composite(
    builder: *mut AgpuBuilder,
    name: *const c_char,
    operands: *const AgpuNode,
    operand_count: i32,
    variables: *const AgpuNode,
    body: *const AgpuNode,
    components: i32,
    nodes: *mut AgpuNode,
    count: i32,
) -> AgpuStatus {
    let made = |b: &mut Builder| {
        if name.is_null() {
            fail!(INVALID_ARGUMENT, "the name is NULL");
        }
        // SAFETY: the caller promises a C string.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        let Some(which) = Composite::parse(&name) else {
            fail!(INVALID_ARGUMENT, "there is no composite `{name}`")
        };
        if !(0..=2048).contains(&components) {
            fail!(INVALID_ARGUMENT, "{components} components: 0 to 2048 are possible");
        }
        // SAFETY: the caller promises as many nodes.
        let (operands, variables, body) = unsafe {
            (
                b.nodes(operands, operand_count, "operand")?,
                variables_of(b, variables, 2 * components)?,
                b.nodes(body, components, "component of the body")?,
            )
        };
        let operator = if components > 0 { Some(function_of(b, &variables, body)?) } else { None };
        let of = Operands { values: &operands, operator: operator.as_ref() };
        let values = b.function().composite(which, of).map_err(refused)?;
        if i32::try_from(values.len()) != Ok(count) {
            fail!(INVALID_ARGUMENT, "{name} has {}, not {count}", counted(values.len(), "value"));
        }
        Ok(values)
    };
    // SAFETY: the caller promises room for the nodes.
    unsafe { make_all("agpu_builder_composite", builder, nodes, (count, 0), made) }
}
