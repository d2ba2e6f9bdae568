//! NVIDIA GPUs, used through the driver library alone.
//!
//! ```text
//! driver    the functions of libcuda.so.1 and their errors     open      loads it, once per process
//! device    the properties of the GPUs                         chosen    which GPU a context gets
//! gpu       a context's share of a GPU: primary context, pool
//! as_device the GPU behind the trait of `device.rs`
//! state     the data of streams, error records, pinned words and loaded code; table: where they are
//! memory    stream-ordered allocations, the limit on their bytes
//! stream    the order between streams, what the kernels on one share
//! captured  what the kernels of a captured graph share
//! words     host memory for scalar results
//! lend      streams that the library makes for the caller, host callbacks
//! event     points of a stream to wait for
//! images    what a package has for GPUs
//! code      modules and functions, loaded lazily
//! dependent launches, which may begin while the one before them ends
//! link      machine code from PTX, kept on disk
//! log       the driver's messages about code that it rejects
//! check     what ARRAYGPU_CHECK reads
//! copy      strided copies and fills on the device
//! transfer  copies to and from the host and other devices
//! execute   a call: memory, scalars, results     call      what its parts know     frame     its buffers
//! launch    queues the launches of a call
//! choice    asks the launch policy for the variants and grids of launches
//! records   error records, read when the host waits
//! ```

mod as_device;
mod call;
mod captured;
mod check;
mod choice;
pub(crate) mod chosen;
mod code;
mod copy;
mod dependent;
mod device;
mod driver;
mod event;
mod execute;
mod frame;
mod gpu;
mod images;
mod launch;
mod lend;
mod link;
mod log;
mod memory;
mod open;
mod profile;
mod records;
mod removable;
mod stamp;
mod state;
mod stream;
mod table;
mod transfer;
mod until;
mod words;

pub(crate) use crate::cuda::frame::Frame;
pub(crate) use crate::cuda::open::driver;
pub(crate) use crate::cuda::state::Stream;
pub(crate) use code::forget;
pub(crate) use execute::run;
pub(crate) use gpu::Gpu;
pub(crate) use images::Images;
pub(crate) use memory::{Allocation, wrap};
