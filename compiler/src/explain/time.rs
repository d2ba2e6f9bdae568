//! Predicts the time of memory traffic and launches at a given bandwidth.

use super::formula::enclosed;
use super::model::{Amount, Predicted};

/// Time between consecutive launches on a stream, in microseconds, measured on an H200.
const LAUNCH_US: f64 = 2.7;

/// Predicts the time of moving `bytes` bytes in `launches` launches.
pub(super) fn predicted(bytes: &Amount, launches: &Amount, bandwidth: Option<f64>) -> Option<Predicted> {
    let bandwidth = bandwidth?;
    let fixed = match launches.formula.parse::<u64>() {
        Ok(n) => format!("{:.1} us", LAUNCH_US * n as f64),
        Err(_) => format!("{LAUNCH_US} us * {}", enclosed(launches.formula.clone())),
    };
    let us = bytes.value.zip(launches.value).map(|(bytes, launches)| {
        // The time is rounded to a thousandth, because further digits would claim more than is
        // known.
        let us = bytes as f64 / bandwidth / 1e3 + LAUNCH_US * launches as f64;
        (us * 1e3).round() / 1e3
    });
    Some(Predicted { formula: format!("{} / {bandwidth} ns + {fixed}", enclosed(bytes.formula.clone())), us })
}

/// Returns the share of a copy's speed that a call reaches at most: the time of the bytes that must
/// move, over the predicted time.
pub(super) fn share(least: &Amount, predicted: Option<&Predicted>, bandwidth: Option<f64>) -> Option<f64> {
    let (least, us, bandwidth) = (least.value?, predicted?.us?, bandwidth?);
    let share = least as f64 / bandwidth / 1e3 / us;
    share.is_finite().then_some((share * 1e3).round() / 1e3)
}

/// Returns the time that a device takes for these bytes and operations, in nanoseconds: that of the
/// larger part, of a copy's speed and of the arithmetic of an H200 where no bandwidth is given.
pub(super) fn roofline(bytes: f64, operations: f64, bandwidth: Option<f64>) -> f64 {
    const COPY: f64 = 4180.0;
    const OPERATIONS: f64 = 30_000.0;
    (bytes / bandwidth.unwrap_or(COPY)).max(operations / OPERATIONS)
}
