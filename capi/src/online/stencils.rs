//! The C functions for what stencils need beside slices: margins beyond the edges, arrays with a part replaced, and
//! the strategy of GPUs.

use super::builder::{Builder, make, with};
use crate::abi::{AgpuBuilder, AgpuNode, AgpuStatus};
use crate::error::{INVALID_ARGUMENT, Result, fail};
use crate::interrupt::refused;
use arraygpu_compiler::build::Boundary;
use arraygpu_compiler::core::{NodeId, StencilHint, Type};
use arraygpu_compiler::scalar::Ty;
use std::ffi::{CStr, c_char};

/// Fails if a node has another type than this.
fn is_of(b: &mut Builder, node: NodeId, ty: Type, what: &str) -> Result<()> {
    match b.function().ty(node) {
        found if found == ty => Ok(()),
        found => fail!(INVALID_ARGUMENT, "{what} is a {found}, it must be a {ty}"),
    }
}

/// Adds the array with `before` more elements in front and `after` behind along an axis. The boundary
/// says what they are: `clamp` the element at the edge, `mirror` the array mirrored there, `wrap` the
/// array again, `constant` the value, which is no node (0) for the others. Both widths are i64 scalars
/// that the host can compute; it is a shape rule that they are not negative, and at most the array's
/// length where it is mirrored or repeated (docs/semantics.md has the others).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_pad(
    builder: *mut AgpuBuilder,
    array: AgpuNode,
    axis: i32,
    before: AgpuNode,
    after: AgpuNode,
    boundary: *const c_char,
    value: AgpuNode,
    node: *mut AgpuNode,
) -> AgpuStatus {
    make("agpu_builder_pad", builder, node, |b| {
        if boundary.is_null() {
            fail!(INVALID_ARGUMENT, "the boundary is NULL");
        }
        // SAFETY: the caller promises a C string.
        let name = unsafe { CStr::from_ptr(boundary) }.to_string_lossy();
        let array = b.node(array, "the array")?;
        let margins = [b.node(before, "before")?, b.node(after, "after")?];
        let axis = crate::online::nodes::axis(b.function(), array, axis)?;
        for (margin, what) in margins.into_iter().zip(["before", "after"]) {
            is_of(b, margin, Type::scalar(Ty::I64), what)?;
        }
        let boundary = match &*name {
            "clamp" => Boundary::Clamp,
            "mirror" => Boundary::Mirror,
            "wrap" => Boundary::Wrap,
            "constant" => {
                let value = b.node(value, "the value")?;
                let ty = Type::scalar(b.function().ty(array).elem);
                is_of(b, value, ty, "the value")?;
                Boundary::Constant(value)
            }
            _ => {
                fail!(INVALID_ARGUMENT, "there is no boundary `{name}`: clamp, mirror, wrap and constant are")
            }
        };
        b.function().pad(array, axis, margins, &boundary).map_err(refused)
    })
}

/// Adds the array with the elements of `part` in place of those from `start` on, an i64 index for each
/// axis that the host can compute. All of the part lies inside, and it has an element: both are shape
/// rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_replace(
    builder: *mut AgpuBuilder,
    array: AgpuNode,
    part: AgpuNode,
    start: *const AgpuNode,
    rank: i32,
    node: *mut AgpuNode,
) -> AgpuStatus {
    make("agpu_builder_replace", builder, node, |b| {
        let (array, part) = (b.node(array, "the array")?, b.node(part, "the part")?);
        // SAFETY: the caller promises as many nodes.
        let start = unsafe { b.nodes(start, rank, "index") }?;
        let ty = b.function().ty(array);
        if start.len() != usize::from(ty.rank) || ty.is_scalar() {
            fail!(INVALID_ARGUMENT, "{} indices of a {ty}", start.len());
        }
        is_of(b, part, ty, "the part")?;
        for index in &start {
            is_of(b, *index, Type::scalar(Ty::I64), "an index")?;
        }
        let construct = if start.len() == 1 { "with_slice" } else { "with_block" };
        b.function().replace(construct, array, part, &start).map_err(refused)
    })
}

/// Chooses how GPUs keep the program's stencils, where that is possible: `direct`, `window`, `tile`, `rows` or
/// `planes`. If the name is NULL, the compiler chooses. No bit of a result changes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_stencil(
    builder: *mut AgpuBuilder,
    strategy: *const c_char,
) -> AgpuStatus {
    with("agpu_builder_stencil", builder, |b| {
        b.asked.stencil = None;
        if strategy.is_null() {
            return Ok(());
        }
        // SAFETY: the caller promises a C string.
        let name = unsafe { CStr::from_ptr(strategy) }.to_string_lossy();
        let Some((strategy, _)) = StencilHint::ALL.iter().find(|(_, known)| *known == name) else {
            fail!(
                INVALID_ARGUMENT,
                "there is no strategy `{name}`: direct, window, tile, rows and planes are"
            );
        };
        b.asked.stencil = Some(*strategy);
        Ok(())
    })
}
