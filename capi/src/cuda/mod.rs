//! NVIDIA GPUs, through the driver alone.
//!
//! ```text
//! driver   libcuda.so.1 at run time: functions, versions, errors      device   which GPU a context gets
//! gpu      a context's share of a GPU: primary context, pool          memory   stream-ordered allocations, the cap
//! stream   the order between streams, what kernels on one share       words    host memory for scalar results
//! lend     streams that we make for the caller, host callbacks        event    points of a stream to wait for
//! images   what a package holds for GPUs                              code     modules and functions, loaded lazily
//! link     machine code from PTX, kept on disk                        log      what the driver says of code it does not take
//! check    what ARRAYGPU_CHECK reads
//! copy     strided copies and fills on the device    transfer  copies to and from hosts and other devices
//! execute  a call: memory, scalars, results                                launch  variants, grids, parameters
//! records  error records, read when the host waits
//! ```

mod as_device;
mod call;
mod check;
mod choice;
pub(crate) mod chosen;
mod code;
mod copy;
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
mod records;
mod state;
mod stream;
mod table;
mod transfer;
mod words;

pub(crate) use crate::cuda::frame::Frame;
pub(crate) use crate::cuda::open::driver;
pub(crate) use crate::cuda::state::Stream;
pub(crate) use code::forget;
pub(crate) use execute::run;
pub(crate) use gpu::Gpu;
pub(crate) use images::Images;
pub(crate) use memory::{Allocation, wrap};
