//! A call of a function on a GPU: the data that all parts of its execution need.

use super::gpu::Gpu;
use super::images::Images;
use super::state::Stream;
use crate::module::{Entry, Loaded};
use crate::tuning::Tuned;
use std::sync::Arc;

pub(super) struct Call<'a> {
    pub loaded: &'static Loaded,
    pub entry: &'static Arc<Entry>,
    pub images: &'static Images,
    pub gpu: &'a Arc<Gpu>,
    pub stream: &'a Stream,
    pub capturing: bool,
    /// What was measured for the package on this device, as it was known when the call began.
    pub tuned: Option<Tuned>,
}
