//! One call with the values of the reference interpreter, for Rust programs: a function is compiled for this
//! machine's device, its arguments are copied there, and its results back.

use super::cache;
use crate::abi::AgpuArgKind::{AgpuArgResultNew, AgpuArgResultScalar, AgpuArgScalar, AgpuArgView};
use crate::abi::{AgpuArg, AgpuBuffer, AgpuStatus, AgpuView};
use crate::buffer::{abi_type, agpu_buffer_create_array, agpu_buffer_free, agpu_buffer_view};
use crate::context::agpu_context_default;
use crate::copy::{agpu_copy_from_host, agpu_copy_to_host};
use crate::devices::agpu_context_synchronize;
use crate::guard::{agpu_last_error_message, guard};
use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::core::{Function, Type};
use arraygpu_compiler::scalar::{Lit, Ty};
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

/// A buffer on the device, which is freed when this is dropped.
struct Buffer(*mut AgpuBuffer);

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the handle is checked.
        unsafe { agpu_buffer_free(self.0) };
    }
}

/// Returns the results of a function for these arguments, which are those of the interpreter, or the message of the
/// error. It runs in the default context: on the device that `ARRAYGPU_DEVICE` names, else on the first GPU, else on
/// the CPU.
#[doc(hidden)]
pub fn run_values(f: Function, args: &[Value]) -> Result<Vec<Value>, String> {
    let outputs: Vec<Type> = f.results.iter().map(|r| f.graph.ty(r.value)).collect();
    let mut context = null_mut();
    // SAFETY: the result is written to a local.
    ok(unsafe { agpu_context_default(&mut context) })?;
    let (mut inputs, mut list) = (Vec::new(), Vec::new());
    let given: Vec<u64> = args.iter().map(|a| if let Value::Scalar(x) = a { x.bits } else { 0 }).collect();
    for ((value, param), bits) in args.iter().zip(&f.params).zip(&given) {
        let mut arg = AgpuArg::new(if param.ty.is_scalar() { AgpuArgScalar } else { AgpuArgView });
        match uploaded(value, param.ty.elem)? {
            None => arg.scalar = std::ptr::from_ref(bits).cast(),
            Some(buffer) => {
                arg.view = view(&buffer)?;
                inputs.push(buffer);
            }
        }
        list.push(arg);
    }
    let (mut scalars, mut made) = (vec![0u64; outputs.len()], vec![null_mut(); outputs.len()]);
    for ((ty, bits), made) in outputs.iter().zip(&mut scalars).zip(&mut made) {
        let mut arg = AgpuArg::new(if ty.is_scalar() { AgpuArgResultScalar } else { AgpuArgResultNew });
        (arg.scalar, arg.made) = (std::ptr::from_mut(bits).cast_const().cast(), made);
        list.push(arg);
    }
    // SAFETY: there are as many arguments as the function has parameters and results, whose places live on.
    let call = || unsafe { cache::program(f)?.run(null(), list.as_ptr(), list.len() as i32) };
    let done = ok(guard(call));
    let made: Vec<Buffer> = made.into_iter().map(Buffer).collect();
    // SAFETY: the context is the default one, which is never freed.
    done.and_then(|()| ok(unsafe { agpu_context_synchronize(context) }))?;
    let results = outputs.iter().zip(&made).zip(&scalars);
    results
        .map(|((ty, buffer), bits)| match ty.is_scalar() {
            true => Ok(Value::Scalar(Lit::from_bytes(ty.elem, &bits.to_le_bytes()))),
            false => downloaded(*ty, buffer),
        })
        .collect()
}

/// The status as a result, with the message of the error.
fn ok(status: AgpuStatus) -> Result<(), String> {
    if status == AgpuStatus::AgpuOk {
        return Ok(());
    }
    // SAFETY: the message is a C string, valid until this thread's next call.
    Err(unsafe { CStr::from_ptr(agpu_last_error_message()) }.to_string_lossy().into_owned())
}

fn view(buffer: &Buffer) -> Result<AgpuView, String> {
    let mut view = AgpuView::new(null_mut(), 0, &[], &[]);
    // SAFETY: the view is written to a local.
    ok(unsafe { agpu_buffer_view(buffer.0, &mut view) }).map(|()| view)
}

/// An array argument on the device.
fn uploaded(value: &Value, ty: Ty) -> Result<Option<Buffer>, String> {
    let (extents, elements) = match value {
        Value::Scalar(_) => return Ok(None),
        Value::Vector(v) => (vec![v.len() as i64], v),
        Value::Array(extents, v) => (extents.clone(), v),
    };
    let (mut buffer, kind) = (null_mut(), MaybeUninit::new(abi_type(ty)));
    // SAFETY: there are as many extents as the rank.
    ok(unsafe {
        agpu_buffer_create_array(null_mut(), kind, extents.len() as i32, extents.as_ptr(), &mut buffer)
    })?;
    let buffer = Buffer(buffer);
    let bytes: Vec<u8> =
        elements.iter().flat_map(|x| x.bits.to_le_bytes().into_iter().take(ty.size())).collect();
    // words, because elements of 8 bytes stand at multiples of 8
    let word = |part: &[u8]| {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        u64::from_le_bytes(word)
    };
    let words: Vec<u64> = bytes.chunks(8).map(word).collect();
    // SAFETY: the words contain that many elements.
    ok(unsafe { agpu_copy_from_host(view(&buffer)?, words.as_ptr().cast(), elements.len() as i64) })?;
    Ok(Some(buffer))
}

/// An array result.
fn downloaded(ty: Type, buffer: &Buffer) -> Result<Value, String> {
    let view = view(buffer)?;
    let extents = view.extent[..usize::from(ty.rank)].to_vec();
    let count: i64 = extents.iter().product();
    let mut words = vec![0u64; (count as usize * ty.elem.size()).div_ceil(8)];
    // SAFETY: the words have room for that many elements.
    ok(unsafe { agpu_copy_to_host(words.as_mut_ptr().cast(), view, count) })?;
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let elements =
        bytes.chunks(ty.elem.size()).take(count as usize).map(|b| Lit::from_bytes(ty.elem, b)).collect();
    Ok(if ty.rank == 1 { Value::Vector(elements) } else { Value::Array(extents, elements) })
}
