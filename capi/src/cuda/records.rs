//! Error records of calls on a stream: words in device memory that kernels raise, read when the host waits for the stream anyway.
//!
//! Each function with sites has words of its own on each stream, which stay: a captured graph holds their address. So of several calls of one
//! function before a wait, the lowest element of all is reported.

use super::gpu::{Gpu, Uncaptured};
use super::stream::{Stream, lock};
use crate::error::{RECORD, Result, error};
use crate::module::Entry;
use cudarc::driver::sys::{CUdeviceptr, CUstream};

/// The words of one function: as many as all its launches have sites.
struct Range {
    entry: &'static Entry,
    device: CUdeviceptr,
    /// Pinned memory that they are read into.
    host: *mut u64,
    /// Called since the last look.
    pending: bool,
    /// In a graph, which may run at any time.
    captured: bool,
}

/// The records of a stream.
#[derive(Default)]
pub(super) struct Records {
    ranges: Vec<Range>,
    /// Which are pending, in the order of their first calls.
    order: Vec<usize>,
}

impl Gpu {
    /// The words for a call of `entry` on the stream, to be looked at after the next wait.
    pub(super) fn records(
        &self,
        stream: &Stream,
        entry: &'static Entry,
        captured: bool,
    ) -> Result<CUdeviceptr> {
        let records = &mut *lock(&stream.records);
        let known = records.ranges.iter().position(|r| std::ptr::eq(r.entry, entry));
        let at = match known {
            Some(at) => at,
            None => {
                let device = self.lasting(entry.sites as u64 * 8)?;
                let host = self.words.lasting(self, entry.sites)?;
                records.ranges.push(Range { entry, device, host, pending: false, captured: false });
                records.ranges.len() - 1
            }
        };
        let range = &mut records.ranges[at];
        range.captured |= captured;
        if !std::mem::replace(&mut range.pending, true) {
            records.order.push(at);
        }
        Ok(range.device)
    }

    /// Queues the reading of all pending records on `on`, which comes after the work of `stream`. True if there are any.
    pub(super) fn read_records(&self, stream: &Stream, on: CUstream) -> Result<bool> {
        let records = &*lock(&stream.records);
        for at in &records.order {
            let r = &records.ranges[*at];
            // SAFETY: both sides have a word for each site, and stay until the context goes.
            let code = unsafe { (self.api().to_host)(r.host.cast(), r.device, r.entry.sites * 8, on) };
            self.check(code, "reading error records")?;
        }
        Ok(!records.order.is_empty())
    }

    /// After the wait for what `read_records` queued: the record of the first call that left one. All are cleared.
    pub(super) fn check_records(&self, stream: &Stream, of: Option<&Entry>) -> Result<()> {
        let records = &mut *lock(&stream.records);
        let mut first = None;
        for at in std::mem::take(&mut records.order) {
            let range = &mut records.ranges[at];
            range.pending = range.captured;
            if range.pending {
                records.order.push(at);
            }
            // SAFETY: the words were read into this memory, or are still as they were made or cleared.
            let words = unsafe { std::slice::from_raw_parts_mut(range.host, range.entry.sites) };
            let Some(message) = describe(range.entry, words) else { continue };
            let ours = of.is_some_and(|e| std::ptr::eq(e, range.entry));
            first.get_or_insert_with(|| {
                let title = &range.entry.title;
                if ours { message } else { format!("an earlier call of {title}: {message}") }
            });
            words.fill(0);
            let _uncaptured = Uncaptured::enter(self.api());
            // SAFETY: the range's words in device memory, and our stream: no later call's record is cleared with them.
            unsafe {
                let code = (self.api().set_u8)(range.device, 0, words.len() * 8, self.aside);
                self.check(code, "clearing error records")?;
                self.check((self.api().stream_synchronize)(self.aside), "clearing error records")?;
            }
        }
        first.map_or(Ok(()), |message| Err(error(RECORD, message)))
    }
}

/// Of the first launch that left a record, the lowest element; of several sites there, the first.
fn describe(entry: &Entry, words: &[u64]) -> Option<String> {
    let mut words = words;
    for launch in entry.launches() {
        let (here, rest) = words.split_at(launch.sites.len());
        words = rest;
        // a word is the complement of the lowest element
        let lowest = here.iter().zip(&launch.sites).filter(|(w, _)| **w != 0).min_by_key(|(w, _)| !**w);
        if let Some((word, site)) = lowest {
            return Some(format!("{site}, first at element {}", !word));
        }
    }
    None
}

// SAFETY: the pinned words are the range's own.
unsafe impl Send for Records {}
