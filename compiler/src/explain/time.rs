//! Predicts the time of a call on an H200: of memory traffic at a given bandwidth, of operations, and of launches.
//!
//! A launch takes the longer of two times, because one hides most of the other (the roofline model). The time of its
//! bytes is a formula for any size. The time of its operations is computed for given sizes, and is the longer one of
//!
//! - throughput: all operations at the rate at which the device issues instructions;
//! - latency: the operations of one thread, each of which waits for the one before (which counts if few threads run;
//!   not for products, whose threads have many independent results; the steps of a batch do not wait for one another,
//!   but for the few operations of an accumulator or a state).
//!
//! The rates are those of the device; none is fitted to a program.

use super::formula::enclosed;
use super::model::{Amount, Launched, Predicted};
use crate::driver::Compiled;
use crate::plan::Launch;
use crate::schedule::batches;
use crate::schedule::strategy::Strategy;

/// Time between consecutive launches on a stream, in microseconds, measured on an H200.
pub const LAUNCH_US: f64 = 2.7;

/// The operations in a nanosecond: an instruction of each of 128 lanes of 132 multiprocessors in each cycle of 1.76
/// GHz. The stencils of `schedule/cuda/stencil_cost.rs` were measured at this rate.
const OPERATIONS: f64 = 30_000.0;

/// The operations in a nanosecond of a product of matrices of 4096 x 4096 elements of f32, measured. A multiply-add
/// counts as two, but is one instruction.
const OF_PRODUCT: f64 = 46_400.0;

/// Time from an operation of a thread to the next one that waits for it, in nanoseconds: four cycles.
const WAIT: f64 = 2.3;

/// What a launch computes.
pub(super) struct Computing {
    /// The scalar operations.
    operations: f64,
    strategy: Strategy,
    /// The steps of its loops that go on together.
    together: f64,
    /// The threads that share them.
    threads: f64,
}

impl Computing {
    /// Returns what a launch computes that takes `operations` operations for `elements` elements. Returns None if no
    /// kernel runs, or if tensor cores make the operations.
    pub fn of(
        c: &Compiled,
        l: &Launch,
        launched: &Launched,
        operations: u64,
        elements: u64,
    ) -> Option<Computing> {
        let first = launched.kernels.first()?;
        let variants = &c.kernels.get(l.kernel as usize)?.gpu.as_ref()?.variants;
        let code = variants.iter().find(|v| v.launch.entry == first.entry)?;
        let (strategy, together) = (code.strategy, if code.batches { batches::BATCH as f64 } else { 1.0 });
        let started = launched.kernels.iter().map(|k| k.blocks.saturating_mul(k.threads.into())).max()?;
        let threads = match strategy {
            Strategy::TensorProduct => return None,
            Strategy::SequentialFold => 1,
            Strategy::Map | Strategy::ElementLoops | Strategy::ThreadRows => started.min(elements),
            _ => started,
        };
        let [operations, threads] = [operations, threads.max(1)].map(|n| n as f64);
        Some(Computing { operations, strategy, together, threads })
    }

    /// Returns the time, in nanoseconds.
    fn ns(&self) -> f64 {
        let (rate, wait) = match self.strategy {
            // a thread computes many results, whose operations do not wait for one another
            Strategy::Product => (OF_PRODUCT, 0.0),
            Strategy::Contraction => (OPERATIONS, 0.0),
            _ => (OPERATIONS, WAIT),
        };
        (self.operations / rate).max(self.operations / self.threads / self.together * wait)
    }

    /// Returns by how many microseconds the operations take longer than moving `bytes` bytes; 0 if they do not.
    pub fn beyond(&self, bytes: &Amount, bandwidth: Option<f64>) -> f64 {
        let moving = bytes.value.zip(bandwidth).map(|(bytes, bandwidth)| bytes as f64 / bandwidth);
        moving.map_or(0.0, |moving| (self.ns() - moving).max(0.0) / 1e3)
    }
}

/// Predicts the time of moving `bytes` bytes in `launches` launches, plus `beyond` microseconds by which operations
/// take longer.
pub(super) fn predicted(
    bytes: &Amount,
    launches: &Amount,
    beyond: f64,
    bandwidth: Option<f64>,
) -> Option<Predicted> {
    let bandwidth = bandwidth?;
    let fixed = match launches.formula.parse::<u64>() {
        Ok(n) => format!("{:.1} us", LAUNCH_US * n as f64),
        Err(_) => format!("{LAUNCH_US} us * {}", enclosed(launches.formula.clone())),
    };
    let us = bytes.value.zip(launches.value).map(|(bytes, launches)| {
        // The time is rounded to a thousandth, because further digits would claim more than is
        // known.
        let us = bytes as f64 / bandwidth / 1e3 + LAUNCH_US * launches as f64 + beyond;
        (us * 1e3).round() / 1e3
    });
    let computing =
        if beyond >= 0.05 { format!(" + {beyond:.1} us more of operations") } else { String::new() };
    Some(Predicted {
        formula: format!("{} / {bandwidth} ns + {fixed}{computing}", enclosed(bytes.formula.clone())),
        us,
    })
}

/// Returns the share of a copy's speed that a call reaches at most: the time of the bytes that must
/// move, over the predicted time.
pub(super) fn share(least: &Amount, predicted: Option<&Predicted>, bandwidth: Option<f64>) -> Option<f64> {
    let (least, us, bandwidth) = (least.value?, predicted?.us?, bandwidth?);
    let share = least as f64 / bandwidth / 1e3 / us;
    share.is_finite().then_some((share * 1e3).round() / 1e3)
}

/// Returns the time for these bytes and operations by the roofline model, in nanoseconds. Without a bandwidth, it is
/// that of a copy on an H200.
pub(super) fn roofline(bytes: f64, operations: f64, bandwidth: Option<f64>) -> f64 {
    const COPY: f64 = 4180.0;
    (bytes / bandwidth.unwrap_or(COPY)).max(operations / OPERATIONS)
}
