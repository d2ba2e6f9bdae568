//! libarraygpu: contexts, memory, views, plan execution and errors behind a C ABI.
//!
//! `docs/c-abi.md` is the contract, `include/arraygpu.h` the header, which is made from this crate.
//!
//! The files form layers, listed here from the lowest on (`xtask/src/tidy/layers.rs` has the
//! complete list):
//!
//! ```text
//! handles, errors    abi error guard handle calls interrupt cancel log
//! host memory        memory span span_copy overlap guards usage disk
//! modules            module cpu block/ cuda/images        plans with the code of their kernels
//! devices            device (the trait)   host, pool (the CPU)   cuda/ (a GPU: streams, memory, loaded code)
//! contexts, arrays   context buffer view pinned devices
//! one call           invoke: arguments, call_options, outputs; then execute or cuda/execute
//! online             functions that are compiled while a program runs
//! packages           package (agpu_invoke)   loader
//! ```
//!
//! A call checks everything before it allocates, launches or writes anything. A thread reuses one
//! `workspace` for all its calls. No function prints, aborts, or unwinds into the caller:
//! `guard::guard` wraps every function.

// The header says for each function which pointers may be NULL and what they must point at.
#![allow(clippy::missing_safety_doc)]

pub mod abi;
#[doc(hidden)]
mod arguments;
pub mod block;
mod buffer;
mod call_options;
mod calls;
mod cancel;
mod check;
mod context;
mod copy;
mod cpu;
mod cuda;
mod device;
mod devices;
mod disk;
mod environment;
mod error;
mod event;
mod execute;
mod float_environment;
mod guard;
mod guards;
mod handle;
mod host;
mod idle;
mod interrupt;
mod invoke;
mod launch;
mod level;
mod library;
mod loader;
mod log;
mod memory;
mod module;
mod online;
mod outputs;
mod overlap;
mod package;
mod pinned;
mod places;
mod pool;
mod profile;
mod repeat;
#[doc(hidden)]
pub mod reserve;
mod span;
mod span_copy;
mod stream;
mod sync;
mod times;
mod tuning;
mod usage;
mod view;
mod workspace;

pub use crate::online::compile::agpu_builder_compile;
pub use crate::online::compile::agpu_builder_result;
pub use crate::online::operations::agpu_builder_apply;
pub use crate::online::operations::agpu_builder_bind;
pub use crate::online::operations::agpu_builder_cast;
pub use crate::online::operations::agpu_builder_dot;
pub use crate::online::operations::agpu_builder_fill;
pub use crate::online::operations::agpu_builder_fold;
pub use crate::online::operations::agpu_builder_generate;
pub use crate::online::operations::agpu_builder_iota;
pub use crate::online::operations::agpu_builder_length;
pub use crate::online::operations::agpu_builder_map;
pub use crate::online::operations::agpu_builder_materialize;
pub use crate::online::operations::agpu_builder_matmul;
pub use crate::online::operations::agpu_builder_pick;
pub use crate::online::operations::agpu_builder_read;
pub use crate::online::operations::agpu_builder_reduce;
pub use crate::online::operations::agpu_builder_reduce_axis;
pub use crate::online::operations::agpu_builder_reverse;
pub use crate::online::operations::agpu_builder_slice;
pub use crate::online::operations::agpu_builder_spread;
pub use crate::online::operations::agpu_builder_squared_deviations;
pub use crate::online::operations::agpu_builder_stage;
pub use crate::online::operations::agpu_builder_transpose;
pub use crate::online::programs::agpu_program_free;
pub use crate::online::programs::agpu_program_kernels;
pub use crate::online::programs::agpu_program_remember;
pub use crate::online::programs::agpu_program_run;
pub use crate::online::programs::agpu_program_text;
pub use crate::online::programs::agpu_run_remembered;
pub use crate::online::values::run_values;
pub use crate::package::agpu_invoke;
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
pub use devices::{
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
pub use loader::{
    agpu_loaded_module_free, agpu_module_entry_count, agpu_module_entry_name, agpu_module_entry_param,
    agpu_module_entry_result, agpu_module_entry_shape, agpu_module_find, agpu_module_get, agpu_module_load,
};
pub use online::builder::agpu_builder_constant;
pub use online::builder::agpu_builder_create;
pub use online::builder::agpu_builder_fast_math;
pub use online::builder::agpu_builder_free;
pub use online::builder::agpu_builder_param;
pub use online::builder::agpu_builder_tensor_cores;
pub use online::builder::agpu_builder_variable;
pub use online::cc::agpu_allow_cpu_compiler;
pub use online::composites::agpu_builder_composite;
pub use online::iterated::{agpu_builder_iterate, agpu_builder_step};
pub use online::joined::{
    agpu_builder_fold_tuples, agpu_builder_loop, agpu_builder_reduce_noncommutative,
    agpu_builder_reduce_tuples,
};
pub use online::stencils::{agpu_builder_pad, agpu_builder_replace, agpu_builder_stencil};
pub use online::written::{agpu_builder_at, agpu_builder_at_column, agpu_builder_word};
pub use pinned::{agpu_host_alloc, agpu_host_free};
pub use stream::{
    agpu_stream_callback, agpu_stream_callback_once, agpu_stream_create, agpu_stream_free,
    agpu_stream_synchronize,
};
pub use times::{agpu_context_launch_times, agpu_context_profile};
pub use tuning::{agpu_tuning_load, agpu_tuning_problem};
pub use view::{agpu_view_pick, agpu_view_slice, agpu_view_transpose};
