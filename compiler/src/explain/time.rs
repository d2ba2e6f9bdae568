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
