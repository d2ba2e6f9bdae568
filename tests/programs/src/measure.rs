//! Predicted beside measured times: each program at a size that fits the device, beside what the
//! device takes for the bytes and operations that the program asks for.

use crate::array::Array;
use crate::check;
use crate::device::Device;
use crate::figures::{Figures, figures, predicted};
use crate::measured::Measured;
use crate::program::{Corpus, Program};
use arraygpu_compiler::driver::{self, Targets};

/// What a device can do, measured by two programs of the corpus: bytes and operations in a second,
/// and the time of a launch.
pub struct Speed {
    /// Bytes in a second of `axpy`.
    pub bytes: f64,
    /// Operations in a second of `gemm`.
    pub operations: f64,
    /// Seconds of a call of `axpy` on few elements.
    pub launch: f64,
}

/// The device on which the committed rows of 2026-11-29 were measured.
pub const H200: Speed = Speed { bytes: 4.33e12, operations: 46.4e12, launch: 9.7e-6 };

impl Speed {
    /// Returns the time of what is moved and computed, where the longer of the two hides the other.
    fn of(&self, bytes: f64, operations: f64, launches: f64) -> f64 {
        (bytes / self.bytes).max(operations / self.operations) + launches * self.launch
    }

    /// Predicts the seconds of a call on a GPU: those of `--explain` at this speed, and those of its launches.
    pub fn predict(&self, p: &Program, c: &driver::Compiled, n: i64, launches: f64) -> Result<f64, String> {
        let us = predicted(p, c, n, self.bytes / 1e9).map_err(|e| e.to_string())?;
        Ok(us * 1e-6 + launches * self.launch)
    }
}

/// The time of a program.
pub struct Time {
    /// The size of its extents.
    pub extent: i64,
    /// Of its launches at the device's speed, in seconds.
    pub predicted: f64,
    /// Of what it asks for.
    pub ideal: f64,
    /// Measured.
    pub measured: f64,
}

/// The greatest sizes that are measured.
pub struct Limits {
    /// Operations of all launches.
    pub operations: f64,
    /// Bytes of all arrays.
    pub bytes: f64,
}

impl Limits {
    /// What takes tenths of a second at most.
    pub fn of(is_gpu: bool) -> Limits {
        match is_gpu {
            true => Limits { operations: 4e11, bytes: 5e8 },
            false => Limits { operations: 5e8, bytes: 2.5e8 },
        }
    }
}

/// Compiles a program for one kind of device.
pub fn compiled(p: &Program, is_gpu: bool) -> Result<driver::Compiled, String> {
    let targets = Targets { cpu: !is_gpu, cuda: is_gpu };
    driver::compile_for("p", vec![p.function.clone()], targets).map_err(|e| e.to_string())
}

/// Measures the device.
pub fn speed(corpus: &Corpus, device: &Device, is_gpu: bool) -> Result<Speed, String> {
    let program = |name: &str| {
        let found = corpus.programs.iter().find(|p| p.name == name);
        found.ok_or_else(|| format!("the corpus has no {name}"))
    };
    let run = |name: &str, n: i64| -> Result<(Figures, f64), String> {
        let (p, c) = (program(name)?, compiled(program(name)?, is_gpu)?);
        let f = figures(p, &c, n).map_err(|e| e.to_string())?;
        Ok((f, device.time(&c, &p.large_inputs(n))?))
    };
    let (copy, of_copy) = run("axpy", if is_gpu { 1 << 28 } else { 1 << 24 })?;
    let (product, of_product) = run("gemm", if is_gpu { 4096 } else { 512 })?;
    let (_, launch) = run("axpy", 64)?;
    Ok(Speed { bytes: copy.bytes / of_copy, operations: product.launched.operations / of_product, launch })
}

/// All of the arrays that a program gets, whether or not it reads them.
fn bytes_of_inputs(p: &Program, n: i64) -> f64 {
    let scaled = |e: &usize| p.scaled(*e, n) as f64;
    let of = p.inputs.iter().zip(&p.function.params);
    let bytes =
        of.map(|(a, param)| a.extents.iter().map(scaled).product::<f64>() * param.ty.elem.size() as f64);
    bytes.sum()
}

/// Returns the largest size within the limits and up to `largest`, and what the program asks for
/// there; None if there is none of 16 or more.
pub fn within(
    p: &Program,
    c: &driver::Compiled,
    limits: &Limits,
    largest: i64,
) -> Result<Option<(i64, Figures)>, String> {
    let mut n = largest;
    while n >= 16 {
        let f = figures(p, c, n).map_err(|e| e.to_string())?;
        let bytes = f.bytes.max(f.asked.bytes).max(bytes_of_inputs(p, n));
        if f.launched.operations <= limits.operations && bytes <= limits.bytes {
            return Ok(Some((n, f)));
        }
        n /= 2;
    }
    Ok(None)
}

/// Measures a program at the largest size within the limits and up to `largest`; None if there is
/// none of 16 or more.
pub fn time(
    p: &Program,
    device: &Device,
    speed: &Speed,
    limits: &Limits,
    (is_gpu, largest): (bool, i64),
) -> Result<Option<Time>, String> {
    let c = compiled(p, is_gpu)?;
    let Some((n, f)) = within(p, &c, limits, largest)? else { return Ok(None) };
    let predicted = match is_gpu {
        true => speed.predict(p, &c, n, f.launches)?,
        false => speed.of(f.bytes, f.launched.operations, f.launches),
    };
    Ok(Some(Time {
        extent: n,
        predicted,
        ideal: speed.of(f.asked.bytes, f.asked.operations, p.fewest),
        measured: device.time(&c, &p.large_inputs(n))?,
    }))
}

/// Returns for a program with a committed row of a GPU its extent, and the microseconds that were predicted, are
/// predicted now, and were measured.
pub fn prediction(p: &Program, rows: &Measured) -> Result<Option<(i64, [f64; 3])>, String> {
    let Some((n, row)) = rows.gpu.get(p.name) else { return Ok(None) };
    let c = compiled(p, true)?;
    let launches = figures(p, &c, *n).map_err(|e| e.to_string())?.launches;
    let now = H200.predict(p, &c, *n, launches)? * 1e6;
    Ok(Some((*n, [row.predicted, now, row.measured])))
}

/// Compares the predictions of this compiler with the committed times of the `wanted` programs ([`Corpus::wanted`]),
/// without a device.
pub fn predictions(corpus: &Corpus, wanted: &str, rows: &Measured) -> Result<String, String> {
    let mut out = String::from("program | extent | predicted us in the row | predicted us | measured us\n");
    let mut all: Vec<[f64; 3]> = Vec::new();
    for p in corpus.wanted(wanted) {
        if let Some((n, us)) = prediction(p, rows)? {
            out += &format!("{} | {n} | {:.1} | {:.1} | {:.1}\n", p.name, us[0], us[1], us[2]);
            all.push(us);
        }
    }
    for (what, at) in [("in the rows", 0), ("now", 1)] {
        let within = |least: f64, most: f64| {
            let ratios = all.iter().map(|us| us[at] / us[2]);
            ratios.filter(|ratio| (least..=most).contains(ratio)).count()
        };
        let (near, twice, of) = (within(0.85, 1.15), within(0.5, 2.0), all.len());
        out += &format!("{what}: {near} of {of} within 15 %, {twice} within a factor of 2\n");
    }
    Ok(out)
}

/// Calls the `wanted` programs ([`Corpus::wanted`]) with their small inputs, and returns the number of
/// those that agree with their references, and what is wrong with the others.
pub fn check(corpus: &Corpus, wanted: &str, is_gpu: bool) -> Result<(usize, Vec<String>), String> {
    let device = Device::open(is_gpu)?;
    let (mut right, mut wrong) = (0, Vec::new());
    for p in corpus.wanted(wanted) {
        let results = compiled(p, is_gpu).and_then(|c| device.results(&c, &p.inputs));
        match results.map(|results| check::difference(p, &results)) {
            Ok(None) => right += 1,
            Ok(Some(e)) | Err(e) => wrong.push(format!("{}: {e}", p.name)),
        }
    }
    Ok((right, wrong))
}

/// Compares the results of large calls on the first GPU with those of one thread of the CPU in every bit. Returns the
/// number of programs that agree, and a message for each of the others.
pub fn compare(corpus: &Corpus, wanted: &str, largest: i64) -> Result<(usize, Vec<String>), String> {
    let devices = [(Device::open(true)?, true), (Device::open(false)?, false)];
    let limits = Limits { operations: 2e9, bytes: 5e8 };
    let (mut equal, mut different) = (0, Vec::new());
    for p in corpus.wanted(wanted) {
        let of = |(device, is_gpu): &(Device, bool), inputs: &[Array]| {
            device.results(&compiled(p, *is_gpu)?, inputs)
        };
        let compared = || {
            let Some((n, _)) = within(p, &compiled(p, true)?, &limits, largest)? else { return Ok(None) };
            let inputs = p.large_inputs(n);
            let found = check::first_difference(&of(&devices[0], &inputs)?, &of(&devices[1], &inputs)?);
            Ok::<_, String>(Some(found.map(|e| format!("extents of {n}: {e}"))))
        };
        match compared() {
            Ok(None) => {}
            Ok(Some(None)) => equal += 1,
            Ok(Some(Some(e))) | Err(e) => different.push(format!("{}: {e}", p.name)),
        }
    }
    Ok((equal, different))
}

/// Measures the `wanted` programs ([`Corpus::wanted`]), with extents up to `largest`, and returns the table, the
/// farthest from the ideal first.
pub fn table(corpus: &Corpus, wanted: &str, is_gpu: bool, largest: i64) -> Result<String, String> {
    let device = Device::open(is_gpu)?;
    let (speed, limits) = (speed(corpus, &device, is_gpu)?, Limits::of(is_gpu));
    let mut rows = Vec::new();
    let mut out = format!(
        "axpy {:.1} GB/s, gemm {:.1} operations a ns, a call {:.2} us\n",
        speed.bytes / 1e9,
        speed.operations / 1e9,
        speed.launch * 1e6
    );
    for p in corpus.wanted(wanted) {
        match time(p, &device, &speed, &limits, (is_gpu, largest)) {
            Ok(Some(t)) => {
                eprintln!("{}: {:.2} of the ideal", p.name, t.measured / t.ideal);
                rows.push((p.name, t));
            }
            Ok(None) => out += &format!("{}: too much work at any size\n", p.name),
            Err(e) => out += &format!("{}: {e}\n", p.name),
        }
    }
    let ratio = |t: &Time| t.measured / t.ideal;
    rows.sort_by(|a, b| ratio(&b.1).total_cmp(&ratio(&a.1)));
    out += "program | extent | ideal us | predicted us | measured us | of ideal | of predicted\n";
    for (name, t) in &rows {
        let us = [t.ideal, t.predicted, t.measured].map(|s| format!("{:.1}", s * 1e6)).join(" | ");
        let (ideal, predicted) = (ratio(t), t.measured / t.predicted);
        out += &format!("{name} | {} | {us} | {ideal:.2} | {predicted:.2}\n", t.extent);
    }
    Ok(out)
}
