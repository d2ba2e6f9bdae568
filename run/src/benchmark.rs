//! Times of calls, beside those of copies of as many bytes in the same run.

use crate::call::{Buffer, Call, Device};
use crate::kind::Kind;
use crate::problem::Result;
use std::time::{Duration, Instant};

/// How long calls are made before anything is measured: clocks rise, caches fill.
const WARM_UP: Duration = Duration::from_millis(300);
/// How long a batch of calls takes at least, unless it has the most calls.
pub(crate) const BATCH: Duration = Duration::from_millis(10);
const MOST_CALLS: u64 = 10_000;

/// Times of one thing, in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Times {
    /// The median of the batches' means.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The greatest.
    pub most: f64,
}

/// What was measured.
#[derive(Debug)]
pub struct Measured {
    /// Calls one after another.
    pub calls: Times,
    /// One call and a wait for it.
    pub alone: Times,
    /// Copies on the device that read and write as many bytes together, if there was memory.
    pub copies: Option<Times>,
    /// How many calls a batch has.
    pub batch: u64,
    /// How many batches there were.
    pub repetitions: u32,
    /// Bytes of the arguments.
    pub bytes_in: u64,
    /// Bytes of the results.
    pub bytes_out: u64,
    /// Kernels that a call launches.
    pub launches: f64,
}

impl Measured {
    /// Returns the bytes of arguments and results in a second, in GB.
    pub fn bandwidth(&self) -> f64 {
        self.bytes() / self.calls.median / 1e9
    }

    /// Returns the same of the copy, which reads half of the bytes and writes the other half.
    pub fn copy_bandwidth(&self) -> Option<f64> {
        self.copies.map(|c| (copied(self.bytes_in + self.bytes_out) * 2) as f64 / c.median / 1e9)
    }

    fn bytes(&self) -> f64 {
        (self.bytes_in + self.bytes_out) as f64
    }
}

/// Returns how many bytes the copy has: half of what a call reads and writes.
fn copied(bytes: u64) -> u64 {
    (bytes / 2).max(1)
}

/// Measures calls that were made once.
pub fn measure(device: &Device, call: &Call, repetitions: u32, bytes: [u64; 2]) -> Result<Measured> {
    let calls = || call.again();
    let batch = warm_up(device, calls)?;
    let before = device.launches()?;
    run(device, batch, calls)?;
    let launches = (device.launches()? - before) as f64 / batch as f64;
    let copy = Copy::new(device, copied(bytes[0] + bytes[1]));
    let copies = || copy.as_ref().map_or(Ok(()), Copy::run);
    let copy_batch = if copy.is_some() { warm_up(device, copies)? } else { 0 };
    let (mut of_calls, mut of_copies, mut alone) = (Vec::new(), Vec::new(), Vec::new());
    // in turn, so that a clock that changes meets both
    for _ in 0..repetitions {
        of_calls.push(run(device, batch, calls)?);
        alone.push(run(device, 1, calls)?);
        of_copies.push(run(device, copy_batch.max(1), copies)?);
    }
    Ok(Measured {
        calls: times(of_calls),
        alone: times(alone),
        copies: copy.as_ref().map(|_| times(of_copies)),
        batch,
        repetitions,
        bytes_in: bytes[0],
        bytes_out: bytes[1],
        launches,
    })
}

/// Runs it for a while, and returns how many calls a batch has.
pub(crate) fn warm_up(device: &Device, f: impl Fn() -> Result<()>) -> Result<u64> {
    let start = Instant::now();
    let (mut calls, mut each) = (1, 0.0);
    while start.elapsed() < WARM_UP {
        each = run(device, calls, &f)?;
        calls = in_time(each, BATCH);
    }
    Ok(in_time(each, BATCH))
}

/// Returns how many calls fill a time.
pub(crate) fn in_time(each: f64, time: Duration) -> u64 {
    ((time.as_secs_f64() / each).ceil() as u64).clamp(1, MOST_CALLS)
}

/// Makes calls and waits for them; seconds a call.
pub(crate) fn run(device: &Device, calls: u64, f: impl Fn() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    for _ in 0..calls {
        f()?;
    }
    device.wait()?;
    Ok(start.elapsed().as_secs_f64() / calls as f64)
}

/// Returns the median of several times, the least and the greatest.
pub(crate) fn times(mut seconds: Vec<f64>) -> Times {
    seconds.sort_by(f64::total_cmp);
    let at = |i: usize| seconds.get(i).copied().unwrap_or(f64::NAN);
    let n = seconds.len();
    // of an even number the mean of the two in the middle
    Times {
        median: (at(n / 2) + at(n.saturating_sub(1) / 2)) / 2.0,
        least: at(0),
        most: at(n.saturating_sub(1)),
    }
}

/// Two buffers of bytes.
struct Copy<'a> {
    to: Buffer<'a>,
    from: Buffer<'a>,
}

impl<'a> Copy<'a> {
    /// Makes the buffers, if there is memory for them.
    fn new(device: &Device<'a>, bytes: u64) -> Option<Copy<'a>> {
        let buffer = || {
            let buffer = Buffer::zeros(device, Kind::U8, &[i64::try_from(bytes).ok()?]).ok()?;
            // pages that were never written would all be one page of zeros
            buffer.fill(1).ok()?;
            Some(buffer)
        };
        Some(Copy { to: buffer()?, from: buffer()? })
    }

    fn run(&self) -> Result<()> {
        self.to.copy_from(&self.from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_few_times() {
        let t = |seconds: &[f64]| times(seconds.to_vec());
        assert_eq!(t(&[3.0, 1.0, 2.0]), Times { median: 2.0, least: 1.0, most: 3.0 });
        assert_eq!(t(&[4.0, 1.0]), Times { median: 2.5, least: 1.0, most: 4.0 });
        assert_eq!(t(&[1.0]).median, 1.0);
    }

    #[test]
    fn batches_are_long_enough_and_not_endless() {
        assert_eq!(in_time(0.003, BATCH), 4);
        assert_eq!(in_time(1.0, BATCH), 1);
        assert_eq!(in_time(0.0, BATCH), MOST_CALLS);
    }
}
