//! Error records of calls on a stream: words in device memory that kernels raise, taken when the host waits for the stream anyway.
//!
//! Each function with sites has words of its own on each stream, which stay: a captured graph holds their address. So of several calls of one
//! function before a wait, the lowest element of all is reported.
//!
//! A kernel takes the words: it exchanges each for 0, so whatever is raised meanwhile, by other threads' calls or by a graph, is found by this
//! reading or the next. A function stays pending if it was called since its reading began.

use super::copy;
use super::gpu::Gpu;
use super::state::{Range, Records, Stream};
use super::table::lock;
use crate::error::{RECORD, Result, error};
use crate::module::Entry;
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use std::sync::{Arc, MutexGuard};

/// Instead of a number of calls.
const NO_READING: u64 = u64::MAX;

/// One thread's reading of a stream's records, from before its wait until they are looked at. Who holds several began them by ascending
/// index of the stream.
pub(super) struct Reading<'a> {
    stream: &'a Stream,
    _one: MutexGuard<'a, ()>,
}

impl Gpu {
    /// The words for a call of `entry` on the stream.
    pub(super) fn records(&self, stream: &Stream, entry: &Arc<Entry>, captured: bool) -> Result<CUdeviceptr> {
        let records = &mut *lock(&stream.records);
        let known = records.ranges.iter_mut().find(|r| Arc::ptr_eq(&r.entry, entry));
        if let Some(range) = known {
            range.captured |= captured;
            return Ok(range.device);
        }
        copy::prepare_take(self)?;
        let device = self.lasting(entry.sites as u64 * 8)?;
        let host = self.words.lasting(self, entry.sites)?;
        // SAFETY: fresh memory of that many words.
        unsafe { host.0.write_bytes(0, entry.sites) };
        let new = Range { entry: entry.clone(), device, host, pending: false, captured, calls: 0, read: 0 };
        records.ranges.push(new);
        Ok(device)
    }

    /// A call is queued, and the stream marked: its words are to be looked at after a wait that begins now.
    pub(super) fn called(&self, stream: &Stream, entry: &Entry) {
        let records = &mut *lock(&stream.records);
        let Some(at) = records.ranges.iter().position(|r| std::ptr::eq(&*r.entry, entry)) else { return };
        let range = &mut records.ranges[at];
        range.calls += 1;
        if !std::mem::replace(&mut range.pending, true) {
            records.order.push(at);
        }
    }
}

impl Stream {
    /// How many calls of functions that may leave records were queued.
    pub(super) fn calls(&self) -> u64 {
        lock(&self.records).ranges.iter().map(|r| r.calls).sum()
    }
}

impl<'a> Reading<'a> {
    /// Begins before the wait for the stream. None if no function is pending.
    pub fn begin(stream: &'a Stream) -> Option<Reading<'a>> {
        if lock(&stream.records).order.is_empty() {
            return None;
        }
        let one = lock(&stream.reading);
        let Records { ranges, order } = &mut *lock(&stream.records);
        order.iter().for_each(|at| ranges[*at].read = ranges[*at].calls);
        (!order.is_empty()).then_some(Reading { stream, _one: one })
    }

    /// All functions stay pending: calls are counted that the wait was not for.
    pub fn keep(&self) {
        let Records { ranges, order } = &mut *lock(&self.stream.records);
        order.iter().for_each(|at| ranges[*at].read = NO_READING);
    }

    /// Queues the taking of all pending records on `on`, where it comes after the work of the stream.
    pub fn queue(&self, gpu: &Gpu, on: CUstream) -> Result<()> {
        let records = &*lock(&self.stream.records);
        for r in records.order.iter().map(|at| &records.ranges[*at]) {
            copy::take(gpu, on, r.host.1, r.device, r.entry.sites as u64)
                .map_err(|e| e.of("reading error records"))?;
        }
        Ok(())
    }

    /// After the wait for what was queued: the record of the first function that left one. All that were taken are forgotten.
    pub fn check(self, of: Option<&Entry>) -> Result<()> {
        let records = &mut *lock(&self.stream.records);
        let mut first = None;
        let ranges = &mut records.ranges;
        records.order.retain(|at| {
            let range = &mut ranges[*at];
            // SAFETY: words of ours; the kernel that wrote them has ended, and no other reading has begun.
            let words = unsafe { std::slice::from_raw_parts_mut(range.host.0, range.entry.sites) };
            if let Some(message) = describe(&range.entry, words) {
                words.fill(0);
                let ours = of.is_some_and(|e| std::ptr::eq(e, &*range.entry));
                first.get_or_insert_with(|| {
                    let title = &range.entry.title;
                    if ours { message } else { format!("an earlier call of {title}: {message}") }
                });
            }
            range.pending = range.captured || range.calls != range.read;
            range.pending
        });
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
