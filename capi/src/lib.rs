//! libarraygpu: contexts, memory, views, plan execution and errors behind a C ABI.
//!
//! `docs/c-abi.md` is the contract, `include/arraygpu.h` its header (made from this crate). A call goes
//!
//! ```text
//! invoke   arguments: kinds, handles, types, bounds, contexts; host scalars, shape rules, output lengths, overlaps; memory
//! execute  the plan's steps: a launch chooses a variant of its kernel, then records are read
//! cpu      tiles over threads; cuda/ does all of this on a GPU's stream
//! ```
//!
//! with what [`module`] parsed once and a [`workspace`] that its thread reuses. [`handle`] is why a wrong handle is an error.
//! Nothing here prints, aborts, or unwinds into the caller: [`guard::guard`] wraps every function.

// The functions are C's: which pointers may be NULL, and what they must point at, is said in the header.
#![allow(clippy::missing_safety_doc)]

pub mod abi;
#[doc(hidden)]
pub mod block;
mod buffer;
mod calls;
mod cancel;
mod check;
mod context;
mod copy;
mod cpu;
mod cuda;
mod device;
mod environment;
mod error;
mod event;
mod execute;
mod float_environment;
mod guard;
mod guards;
mod handle;
mod interrupt;
mod invoke;
mod level;
mod library;
mod loader;
mod log;
mod memory;
mod module;
mod online;
mod overlap;
mod pinned;
mod places;
mod pool;
mod repeat;
#[doc(hidden)]
pub mod reserve;
mod span;
mod span_copy;
mod stream;
mod sync;
mod usage;
mod view;
mod workspace;

pub use buffer::{
    agpu_buffer_context, agpu_buffer_count, agpu_buffer_create, agpu_buffer_create_array, agpu_buffer_data,
    agpu_buffer_free, agpu_buffer_type, agpu_buffer_view, agpu_buffer_wrap,
};
pub use cancel::agpu_set_cancel_flag;
pub use context::{agpu_context_create, agpu_context_default, agpu_context_free, agpu_context_threads};
pub use copy::{
    agpu_copy, agpu_copy_from_host, agpu_copy_from_host_async, agpu_copy_to_host, agpu_copy_to_host_async,
    agpu_fill,
};
pub use device::{
    agpu_cache_problem, agpu_context_device, agpu_context_device_name, agpu_context_launches,
    agpu_context_memory, agpu_context_set_memory_limit, agpu_context_stream, agpu_context_synchronize,
    agpu_device_count, agpu_device_problem,
};
pub use error::{agpu_abi_version, agpu_status_name, agpu_version};
pub use event::{
    agpu_event_create, agpu_event_free, agpu_event_query, agpu_event_record, agpu_event_synchronize,
    agpu_event_wait,
};
pub use guard::agpu_last_error_message;
pub use invoke::agpu_invoke;
pub use loader::{
    agpu_loaded_module_free, agpu_module_entry_count, agpu_module_entry_name, agpu_module_entry_param,
    agpu_module_entry_result, agpu_module_entry_shape, agpu_module_find, agpu_module_get, agpu_module_load,
};
pub use online::builder::{
    agpu_builder_apply, agpu_builder_at, agpu_builder_cast, agpu_builder_compile, agpu_builder_constant,
    agpu_builder_create, agpu_builder_fast_math, agpu_builder_fold, agpu_builder_free, agpu_builder_generate,
    agpu_builder_map, agpu_builder_param, agpu_builder_reduce, agpu_builder_reduce_axis, agpu_builder_result,
    agpu_builder_variable,
};
pub use online::cc::agpu_allow_cpu_compiler;
pub use online::nodes::{
    agpu_builder_bind, agpu_builder_dot, agpu_builder_fill, agpu_builder_iota, agpu_builder_length,
    agpu_builder_materialize, agpu_builder_matmul, agpu_builder_pick, agpu_builder_read,
    agpu_builder_reverse, agpu_builder_slice, agpu_builder_spread, agpu_builder_stage,
    agpu_builder_transpose,
};
pub use online::program::{
    agpu_program_free, agpu_program_kernels, agpu_program_remember, agpu_program_run, agpu_program_text,
    agpu_run_remembered,
};
pub use pinned::{agpu_host_alloc, agpu_host_free};
pub use stream::{agpu_stream_callback, agpu_stream_create, agpu_stream_free, agpu_stream_synchronize};
pub use view::{agpu_view_pick, agpu_view_slice, agpu_view_transpose};
