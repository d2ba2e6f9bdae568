//! A call of a function on a GPU: the data that all parts of its execution need.

use super::gpu::Gpu;
use super::images::Images;
use super::state::{OfCapture, Shared, Stream};
use crate::module::{Entry, Loaded};
use crate::tuning::Tuned;
use std::sync::{Arc, Mutex};

pub(super) struct Call<'a> {
    pub loaded: &'static Loaded,
    pub entry: &'static Arc<Entry>,
    pub images: &'static Images,
    pub gpu: &'a Arc<Gpu>,
    pub stream: &'a Stream,
    pub capturing: bool,
    /// The workspace of the graph that the call is captured in.
    pub of_capture: Option<OfCapture>,
    /// The choices of tuning files for the package on this device, as they were when the call began.
    pub tuned: Option<Tuned>,
}

impl Call<'_> {
    /// Returns what the launches of the call share with others that come before or after them.
    pub fn shared(&self) -> &Mutex<Shared> {
        self.of_capture.as_deref().unwrap_or(&self.stream.shared)
    }
}
