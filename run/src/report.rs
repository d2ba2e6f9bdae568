//! What the program prints, as text and as JSON.

use crate::array::Array;
use crate::benchmark::{Measured, Times};
use crate::call::Device;
use crate::kind::Number;
use crate::package::{Function, Package, shaped};
use crate::slot::Slot;
use crate::summary::{Summary, checksum, number, shortened};
use serde_json::{Value, json};
use std::fmt::Write;

/// Returns the list of a package's functions.
pub fn listing(package: &Package, described: bool) -> String {
    let n = package.functions.len();
    let mut out = format!("{}: {n} function{}\n", package.name, if n == 1 { "" } else { "s" });
    for function in &package.functions {
        if described {
            let _ = write!(out, "\n{}", package.describe(function));
        } else {
            let _ = writeln!(out, "  {}", function.signature());
        }
    }
    out
}

/// Returns a function as JSON.
pub fn function_json(package: &Package, function: &Function) -> Value {
    let slots = |slots: &[Slot]| -> Vec<Value> {
        slots.iter().map(|s| json!({ "name": s.name, "type": s.kind.to_string(), "rank": s.rank })).collect()
    };
    let about = package.about(function);
    json!({
        "name": function.name,
        "params": slots(&function.params),
        "results": slots(&function.results),
        "doc": about["doc"],
        "rules": about["rules"],
        "kernels": about["kernels"],
    })
}

/// Returns the device in words.
pub fn device(device: &Device) -> String {
    let threads = if device.is_gpu {
        String::new()
    } else {
        format!(", {} thread{}", device.threads, if device.threads == 1 { "" } else { "s" })
    };
    let driver = driver().filter(|_| device.is_gpu).map(|v| format!(", driver {v}")).unwrap_or_default();
    format!("on {}{threads}{driver} (libarraygpu {})", name(device), device.runtime.version())
}

/// Returns the device as JSON.
pub fn device_json(device: &Device) -> Value {
    json!({
        "device": name(device),
        "gpu": device.is_gpu,
        "threads": device.threads,
        "driver": driver().filter(|_| device.is_gpu),
        "libarraygpu": device.runtime.version(),
    })
}

/// Returns the device's name; of a CPU the one that Linux has in a file.
fn name(device: &Device) -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok().filter(|_| !device.is_gpu);
    let mut lines = text.as_deref().unwrap_or_default().lines().filter_map(|l| l.split_once(':'));
    let model = lines.find(|(key, _)| key.trim() == "model name").map(|(_, name)| name.trim().to_string());
    model.unwrap_or_else(|| device.name.clone())
}

/// Returns the version of NVIDIA's driver, which Linux has in a file.
fn driver() -> Option<String> {
    let text = std::fs::read_to_string("/proc/driver/nvidia/version").ok()?;
    let is_version =
        |w: &&str| w.contains('.') && w.split('.').all(|n| !n.is_empty() && n.parse::<u32>().is_ok());
    text.split_whitespace().find(is_version).map(String::from)
}

/// Returns a result as text.
pub fn result(slot: &Slot, array: &Array) -> String {
    if slot.rank == 0 {
        return format!("{} = {}\n", slot.name, array.kind.text(&array.bytes));
    }
    let mut out = format!("{}: {}\n{}\n", slot.name, shaped(array.kind, &array.extents), shortened(array));
    let s = Summary::of(array);
    if let Some((least, greatest)) = s.least.zip(s.greatest) {
        let [least, greatest] = [least, greatest].map(|x| element(array, x));
        let _ = write!(out, "least {least}, greatest {greatest}, mean {:?}, ", s.mean);
    }
    if s.nans > 0 {
        let _ = write!(out, "{} are no numbers, ", s.nans);
    }
    let _ = writeln!(out, "checksum {}", checksum(array));
    out
}

/// Returns an element's value as its type has it; an `f64` of an `f32` has more digits.
fn element(array: &Array, value: Number) -> String {
    match array.kind.bits(value) {
        Some(bits) => array.kind.text(&bits),
        None => value.to_f64().to_string(),
    }
}

/// Returns a result as JSON.
pub fn result_json(slot: &Slot, array: &Array) -> Value {
    let kind = slot.kind.to_string();
    if slot.rank == 0 {
        let value = number(array.kind, &array.bytes);
        return json!({ "name": slot.name, "type": kind, "value": value, "checksum": checksum(array) });
    }
    let s = Summary::of(array);
    let of = |extreme: Option<Number>| {
        extreme.and_then(|e| array.kind.bits(e)).map(|bits| number(array.kind, &bits))
    };
    json!({
        "name": slot.name, "type": kind, "extents": array.extents,
        "least": of(s.least), "greatest": of(s.greatest), "mean": s.mean, "nans": s.nans,
        "checksum": checksum(array),
    })
}

/// Returns what was measured as text.
pub fn measured(m: &Measured) -> String {
    let t = |t: &Times| format!("{} (least {}, most {})", time(t.median), time(t.least), time(t.most));
    let mut out =
        format!("call       {}: median of {} batches of {} calls\n", t(&m.calls), m.repetitions, m.batch);
    let _ = writeln!(out, "with wait  {}: one call, until it is done", t(&m.alone));
    let bytes = format!("{} in, {} out", size(m.bytes_in), size(m.bytes_out));
    let _ = writeln!(out, "arrays     {bytes}: {:.1} GB/s", m.bandwidth());
    match m.copies.zip(m.copy_bandwidth()) {
        Some((copies, speed)) => {
            let share = 100.0 * m.bandwidth() / speed;
            let _ = writeln!(out, "copy       {} of as many bytes: {speed:.1} GB/s", t(&copies));
            let _ = writeln!(out, "share      {share:.0} % of the copy's speed");
        }
        None => out += "copy       no memory for as many bytes\n",
    }
    let _ = writeln!(out, "launches   {} a call", m.launches);
    out
}

/// Returns what was measured as JSON, times in seconds.
pub fn measured_json(m: &Measured) -> Value {
    let times = |t: &Times| json!({ "median": t.median, "least": t.least, "most": t.most });
    let speed = m.copy_bandwidth();
    json!({
        "call_s": times(&m.calls), "with_wait_s": times(&m.alone), "copy_s": m.copies.as_ref().map(times),
        "batch": m.batch, "repetitions": m.repetitions, "bytes_in": m.bytes_in, "bytes_out": m.bytes_out,
        "gb_per_s": m.bandwidth(), "copy_gb_per_s": speed, "share_of_copy": speed.map(|s| m.bandwidth() / s),
        "launches": m.launches,
    })
}

/// Returns a time with four digits.
fn time(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s < 1e-3 => (s * 1e6, "us"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    let digits = (3 - value.abs().log10().floor().clamp(-3.0, 3.0) as i32).max(0) as usize;
    format!("{value:.digits$} {unit}")
}

/// Returns a number of bytes.
fn size(bytes: u64) -> String {
    match bytes as f64 {
        b if b < 1e4 => format!("{bytes} bytes"),
        b if b < 1e6 => format!("{:.1} kB", b / 1e3),
        b if b < 1e9 => format!("{:.1} MB", b / 1e6),
        b => format!("{:.2} GB", b / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_four_digits() {
        let times = [1.5, 0.18463, 0.0000123456, 2.5e-7].map(time);
        assert_eq!(times, ["1.500 s", "184.6 ms", "12.35 us", "0.2500 us"]);
        assert_eq!([4, 268_435_456, 65_536].map(size), ["4 bytes", "268.4 MB", "65.5 kB"]);
    }
}
