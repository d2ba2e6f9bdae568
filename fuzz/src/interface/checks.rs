//! The table of calls, and what each of them must keep.

use super::{Thread, arrays, build, composites, devices, iterated, joined, modules, stencils};
use arraygpu_capi::abi::AgpuStatus;
use arraygpu_capi::*;
use std::ffi::CStr;
use std::mem::MaybeUninit;

/// What a place for a result holds before a call.
const UNTOUCHED: u8 = 0xa5;

/// A call: whether it succeeded, or what it must not do.
pub(super) type Call = fn(&mut Thread) -> Result<bool, String>;

/// Every function of the interface.
pub(super) const CALLS: &[(&str, Call)] = &[
    ("agpu_last_error_message", devices::last_error_message),
    ("agpu_status_name", devices::status_name),
    ("agpu_abi_version", devices::abi_version),
    ("agpu_version", devices::version),
    ("agpu_device_count", devices::device_count),
    ("agpu_device_problem", devices::device_problem),
    ("agpu_cache_problem", devices::cache_problem),
    ("agpu_tuning_load", devices::tuning_load),
    ("agpu_tuning_problem", devices::tuning_problem),
    ("agpu_context_device", devices::context_device),
    ("agpu_context_device_name", devices::context_device_name),
    ("agpu_context_stream", devices::context_stream),
    ("agpu_context_synchronize", devices::context_synchronize),
    ("agpu_context_set_memory_limit", devices::context_set_memory_limit),
    ("agpu_context_memory", devices::context_memory),
    ("agpu_context_launches", devices::context_launches),
    ("agpu_context_profile", devices::context_profile),
    ("agpu_context_launch_times", devices::context_launch_times),
    ("agpu_context_create", devices::context_create),
    ("agpu_context_default", devices::context_default),
    ("agpu_context_free", devices::context_free),
    ("agpu_context_threads", devices::context_threads),
    ("agpu_buffer_create", arrays::buffer_create),
    ("agpu_buffer_create_array", arrays::buffer_create_array),
    ("agpu_buffer_wrap", arrays::buffer_wrap),
    ("agpu_buffer_free", arrays::buffer_free),
    ("agpu_buffer_count", arrays::buffer_count),
    ("agpu_buffer_type", arrays::buffer_type),
    ("agpu_buffer_context", arrays::buffer_context),
    ("agpu_buffer_data", arrays::buffer_data),
    ("agpu_buffer_view", arrays::buffer_view),
    ("agpu_view_slice", arrays::view_slice),
    ("agpu_view_transpose", arrays::view_transpose),
    ("agpu_view_pick", arrays::view_pick),
    ("agpu_copy_from_host", arrays::copy_from_host),
    ("agpu_copy_to_host", arrays::copy_to_host),
    ("agpu_copy_from_host_async", arrays::copy_from_host_async),
    ("agpu_copy_to_host_async", arrays::copy_to_host_async),
    ("agpu_copy", arrays::copy),
    ("agpu_fill", arrays::fill),
    ("agpu_host_alloc", arrays::host_alloc),
    ("agpu_host_free", arrays::host_free),
    ("agpu_stream_create", devices::stream_create),
    ("agpu_stream_free", devices::stream_free),
    ("agpu_stream_synchronize", devices::stream_synchronize),
    ("agpu_stream_callback", devices::stream_callback),
    ("agpu_stream_callback_once", devices::stream_callback_once),
    ("agpu_event_create", devices::event_create),
    ("agpu_event_free", devices::event_free),
    ("agpu_event_record", devices::event_record),
    ("agpu_event_wait", devices::event_wait),
    ("agpu_event_synchronize", devices::event_synchronize),
    ("agpu_event_query", devices::event_query),
    ("agpu_module_load", modules::load),
    ("agpu_loaded_module_free", modules::free),
    ("agpu_module_get", modules::get),
    ("agpu_module_entry_count", modules::entry_count),
    ("agpu_module_find", modules::find),
    ("agpu_module_entry_name", modules::entry_name),
    ("agpu_module_entry_shape", modules::entry_shape),
    ("agpu_module_entry_param", modules::entry_param),
    ("agpu_module_entry_result", modules::entry_result),
    ("agpu_invoke", modules::invoke),
    ("agpu_builder_create", build::create),
    ("agpu_builder_free", build::free),
    ("agpu_builder_at", build::at),
    ("agpu_builder_at_column", build::at_column),
    ("agpu_builder_word", build::word),
    ("agpu_builder_fast_math", build::fast_math),
    ("agpu_builder_tensor_cores", build::tensor_cores),
    ("agpu_builder_stencil", stencils::strategy),
    ("agpu_builder_param", build::param),
    ("agpu_builder_constant", build::constant),
    ("agpu_builder_variable", build::variable),
    ("agpu_builder_apply", build::apply),
    ("agpu_builder_cast", build::cast),
    ("agpu_builder_map", build::map),
    ("agpu_builder_generate", build::generate),
    ("agpu_builder_reduce", build::reduce),
    ("agpu_builder_reduce_axis", build::reduce_axis),
    ("agpu_builder_fold", build::fold),
    ("agpu_builder_reduce_tuples", joined::reduce_tuples),
    ("agpu_builder_reduce_noncommutative", joined::reduce_noncommutative),
    ("agpu_builder_fold_tuples", joined::fold_tuples),
    ("agpu_builder_loop", joined::looped),
    ("agpu_builder_composite", composites::composite),
    ("agpu_builder_pad", stencils::pad),
    ("agpu_builder_replace", stencils::replace),
    ("agpu_builder_step", iterated::step),
    ("agpu_builder_iterate", iterated::iterate),
    ("agpu_builder_result", build::result),
    ("agpu_builder_compile", build::compile),
    ("agpu_builder_length", build::length),
    ("agpu_builder_dot", build::dot),
    ("agpu_builder_matmul", build::matmul),
    ("agpu_builder_squared_deviations", build::squared_deviations),
    ("agpu_builder_read", build::read),
    ("agpu_builder_slice", build::slice),
    ("agpu_builder_reverse", build::reverse),
    ("agpu_builder_transpose", build::transpose),
    ("agpu_builder_pick", build::pick),
    ("agpu_builder_spread", build::spread),
    ("agpu_builder_iota", build::iota),
    ("agpu_builder_fill", build::fill),
    ("agpu_builder_bind", build::bind),
    ("agpu_builder_stage", build::stage),
    ("agpu_builder_materialize", build::materialize),
    ("agpu_program_run", build::program_run),
    ("agpu_program_free", build::program_free),
    ("agpu_program_kernels", build::program_kernels),
    ("agpu_program_text", build::program_text),
    ("agpu_program_remember", build::program_remember),
    ("agpu_run_remembered", build::run_remembered),
    ("agpu_allow_cpu_compiler", devices::allow_cpu_compiler),
    ("agpu_set_cancel_flag", devices::set_cancel_flag),
];

/// Whether a call succeeded. One that fails says why, and has written nothing; none has an internal
/// error.
pub(super) fn done(status: AgpuStatus, untouched: bool) -> Result<bool, String> {
    if status == AgpuStatus::AgpuOk {
        return Ok(true);
    }
    let message = message()?;
    match status {
        AgpuStatus::AgpuErrorInternal => Err(format!("an internal error: {message}")),
        _ if message.is_empty() => Err(format!("{status:?} without a message")),
        _ if !untouched => Err(format!("an output was written by a call that failed: {message}")),
        _ => Ok(false),
    }
}

/// This thread's last message.
pub(super) fn message() -> Result<String, String> {
    // SAFETY: a text of the library's, which stays until this thread's next call fails.
    let text = unsafe { CStr::from_ptr(agpu_last_error_message()) };
    text.to_str().map(String::from).map_err(|e| format!("a message that is no UTF-8: {e}"))
}

/// A call with a place for what it gives: that, if it succeeds. Now and then there is no place,
/// which it must refuse.
pub(super) fn out<T>(t: &mut Thread, call: impl FnOnce(*mut T) -> AgpuStatus) -> Result<Option<T>, String> {
    if t.rng.one_in(24) {
        let succeeded = done(call(std::ptr::null_mut()), true)?;
        return if succeeded { Err("NULL is taken as a place for a result".into()) } else { Ok(None) };
    }
    let mut place = MaybeUninit::<T>::uninit();
    let bytes = place.as_mut_ptr().cast::<u8>();
    // SAFETY: the place is so large.
    unsafe { bytes.write_bytes(UNTOUCHED, size_of::<T>()) };
    let status = call(place.as_mut_ptr());
    // SAFETY: all bytes were written above.
    let untouched = (0..size_of::<T>()).all(|i| unsafe { bytes.add(i).read() } == UNTOUCHED);
    let succeeded = done(status, untouched)?;
    // SAFETY: a call that succeeds has written it.
    Ok(succeeded.then(|| unsafe { place.assume_init() }))
}

/// [`out`] where the result is not used.
pub(super) fn gives<T>(t: &mut Thread, call: impl FnOnce(*mut T) -> AgpuStatus) -> Result<bool, String> {
    out(t, call).map(|given| given.is_some())
}
