//! Error records of calls on a stream: words in device memory, one for each site of a function. A kernel that leaves
//! a record raises the word, by an atomic maximum, to the complement of the element's index: so the lowest element
//! wins, and 0 means that there is no record. The host reads the words when it waits for the stream anyway.
//!
//! Each function with sites has words of its own on each stream, its *range*. When its package is gone, another
//! function gets the words, unless a captured graph holds their address. If a function is called several times before
//! a wait, the lowest element of all calls is reported.
//!
//! A *reading* moves the words to the host by a kernel, which exchanges each word for 0. So a record that another
//! thread's call or a graph leaves meanwhile is found by this reading or by the next one. A function is *pending* if
//! it was called and not read since; calls after the beginning of a reading keep it pending.

use super::copy;
use super::gpu::Gpu;
use super::state::{Range, RecordWords, Records, Stream};
use super::table::lock;
use crate::error::{RECORD, Result, error};
use crate::module::Entry;
use arraygpu_compiler::plan::sites;
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use std::sync::{Arc, MutexGuard};

/// The value of `Range::read` if the reading does not cover all calls that were counted.
const NO_READING: u64 = u64::MAX;

/// A reading of a stream's records by one thread. It begins before the thread waits for the stream, and ends when the
/// words are checked. A thread that reads several streams must begin the readings in ascending order of the streams'
/// indices, to avoid a deadlock.
pub(super) struct Reading<'a> {
    stream: &'a Stream,
    _one: MutexGuard<'a, ()>,
}

impl Gpu {
    /// Returns the device address of the words of function `entry`, of that package, on the stream. Makes them for
    /// the first call.
    pub(super) fn records(
        &self,
        stream: &Stream,
        (package, entry): (usize, &Arc<Entry>),
        captured: bool,
    ) -> Result<CUdeviceptr> {
        let records = &mut *lock(&stream.records);
        let known = records.ranges.iter_mut().find(|r| Arc::ptr_eq(&r.entry, entry));
        if let Some(range) = known {
            range.captured |= captured;
            return Ok(range.words.device);
        }
        copy::prepare_take(self)?;
        let count = entry.sites.next_power_of_two().max(8);
        let words = match records.spare.iter().position(|w| w.count == count) {
            Some(at) => records.spare.swap_remove(at),
            None => {
                let device = self.lasting(count as u64 * 8)?;
                let host = self.words.lasting(self, count)?;
                // SAFETY: the memory is new and has that many words.
                unsafe { host.0.write_bytes(0, count) };
                RecordWords { count, device, host }
            }
        };
        let (device, entry) = (words.device, entry.clone());
        let new =
            Range { entry, package, is_gone: false, words, pending: false, captured, calls: 0, read: 0 };
        records.ranges.push(new);
        Ok(device)
    }

    /// Notes that a call is queued and the stream marked: a wait that begins now must read the
    /// call's words.
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
    /// Returns the number of queued calls of functions that may leave records.
    pub(super) fn calls(&self) -> u64 {
        let records = lock(&self.records);
        records.calls_of_dropped + records.ranges.iter().map(|r| r.calls).sum::<u64>()
    }

    /// Drops the ranges of a package that is gone: now, or when their last records are read.
    pub(super) fn forget(&self, package: usize) {
        let records = &mut *lock(&self.records);
        records.ranges.iter_mut().filter(|r| r.package == package).for_each(|r| r.is_gone = true);
        records.drop_gone();
    }
}

impl Records {
    /// Drops the ranges of packages that are gone. A range stays if it has calls that were not read, or if a graph
    /// may write it.
    fn drop_gone(&mut self) {
        let mut at = 0;
        while let Some(range) = self.ranges.get(at) {
            if !range.is_gone || range.pending || range.captured {
                at += 1;
                continue;
            }
            let last = self.ranges.len() - 1;
            let range = self.ranges.swap_remove(at);
            self.order.iter_mut().filter(|i| **i == last).for_each(|i| *i = at);
            self.calls_of_dropped += range.calls;
            self.spare.push(range.words);
        }
    }
}

impl<'a> Reading<'a> {
    /// Begins a reading before the wait for the stream. Returns `None` if no function is pending.
    pub fn begin(stream: &'a Stream) -> Option<Reading<'a>> {
        if lock(&stream.records).order.is_empty() {
            return None;
        }
        let one = lock(&stream.reading);
        let Records { ranges, order, .. } = &mut *lock(&stream.records);
        order.iter().for_each(|at| ranges[*at].read = ranges[*at].calls);
        (!order.is_empty()).then_some(Reading { stream, _one: one })
    }

    /// Keeps all functions pending after this reading, because it counted calls for which the thread does not wait.
    pub fn keep(&self) {
        let Records { ranges, order, .. } = &mut *lock(&self.stream.records);
        order.iter().for_each(|at| ranges[*at].read = NO_READING);
    }

    /// Queues the reading of all pending records on `on`, where it must come after the work of the
    /// stream.
    pub fn queue(&self, gpu: &Gpu, on: CUstream) -> Result<()> {
        let records = &*lock(&self.stream.records);
        for r in records.order.iter().map(|at| &records.ranges[*at]) {
            copy::take(gpu, on, r.words.host.1, r.words.device, r.entry.sites as u64)
                .map_err(|e| e.of("reading error records"))?;
        }
        Ok(())
    }

    /// Whether a reading has found a record that was not reported. The record is not removed.
    pub fn has_found(&self) -> bool {
        let records = &*lock(&self.stream.records);
        records.order.iter().map(|at| &records.ranges[*at]).any(|range| {
            // SAFETY: the words are this library's, and this is the only reading.
            let words = unsafe { std::slice::from_raw_parts(range.words.host.0, range.entry.sites) };
            words.iter().any(|word| *word != 0)
        })
    }

    /// Returns the error of the first function that left a record, after the wait for what `queue`
    /// queued. All other records that were read are dropped.
    pub fn check(self, of: Option<&Entry>) -> Result<()> {
        let records = &mut *lock(&self.stream.records);
        let mut first = None;
        let ranges = &mut records.ranges;
        records.order.retain(|at| {
            let range = &mut ranges[*at];
            // SAFETY: the words are this library's; the kernel that wrote them has ended, and no
            // other reading has begun.
            let words = unsafe { std::slice::from_raw_parts_mut(range.words.host.0, range.entry.sites) };
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
        records.drop_gone();
        first.map_or(Ok(()), |message| Err(error(RECORD, message)))
    }
}

/// Describes the lowest element of the first launch that left a record; of several sites there, the
/// first one with that element counts.
fn describe(entry: &Entry, words: &[u64]) -> Option<String> {
    let mut words = words;
    for launch in entry.launches() {
        let (here, rest) = words.split_at(launch.sites.len());
        words = rest;
        // a word is the complement of the lowest element
        let number = |site: usize| (here[site] != 0).then(|| !here[site] as i64);
        if let Some(message) = sites::message(&launch.sites, number) {
            return Some(message);
        }
    }
    None
}
