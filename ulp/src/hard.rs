//! Writes hard cases with their exact results, for tests that have no MPFR: special values, inputs
//! at which results leave the normal numbers, inputs near multiples of pi / 2, and the worst inputs
//! that a search finds.
//!
//! Each line has the form `f32|f64 x [y] result fraction`, in hexadecimal. The result is the exact
//! one rounded towards zero (infinity if it is beyond the greatest number), and the fraction (0 to
//! ff) is the rest, in 1/256 of the last place. `nan` is any NaN.

use crate::format::{Format, precise};
use crate::functions::Function;
use crate::search::{Subject, Worst};
use crate::{Options, inputs, reduction, worst};
use rug::Float;
use rug::float::Round;

/// Maximum number of the worst inputs, and of those near multiples of pi / 2.
const WORST: usize = 40;

/// Returns the lines of one function.
pub fn lines(function: &'static Function) -> String {
    let mut out = String::new();
    for format in [Format::Single, Format::Double] {
        let subject = Subject::new(function, format);
        let mut cases = cases(&subject);
        cases.sort_unstable();
        cases.dedup();
        for (x, y) in cases {
            let y_text = if function.two { format!(" {y:x}") } else { String::new() };
            out += &format!("{} {x:x}{y_text} {}\n", format.name(), result(format, &subject.exact(x, y)));
        }
    }
    out
}

/// Returns the exact result as text.
fn result(f: Format, exact: &Float) -> String {
    if exact.is_nan() {
        return "nan 0".into();
    }
    let sign = if exact.is_sign_negative() { f.sign() } else { 0 };
    let size = exact.clone().abs();
    let end: Float = precise(2.0) << f.bias() as i32;
    if size >= end {
        return format!("{:x} 0", sign | f.infinity());
    }
    let below = if f == Format::Double {
        size.to_f64_round(Round::Zero)
    } else {
        f64::from(size.to_f32_round(Round::Zero))
    };
    let low = 1 - f.bias() as i32;
    let exponent = size.get_exp().map_or(low, |e| (e - 1).max(low));
    let rest: Float = Float::with_val(300, &size - below) << (f.mantissa() as i32 - exponent + 8);
    format!("{:x} {:x}", sign | f.bits(below), rest.to_f64() as u8)
}

fn cases(subject: &Subject) -> Vec<(u64, u64)> {
    let f = subject.format;
    let special = inputs::few(f);
    if subject.function.two {
        let options = Options { step: 16, points: None, monotone: false, json: false };
        worst(subject, &options);
        let pairs = special.iter().flat_map(|&x| special.iter().map(move |&y| (x, y)));
        return pairs.chain(found(subject)).collect();
    }
    let step = if f == Format::Single { 61 } else { 1 };
    worst(subject, &Options { step, points: Some(1 << 24), monotone: false, json: false });
    let mut all: Vec<u64> = inputs::special(f).into_iter().chain(ends(subject)).collect();
    if ["sin", "cos", "tan"].contains(&subject.function.name) {
        let near = reduction::near_multiples(f.mantissa(), f.bias() as i32);
        all.extend(near.iter().step_by(near.len() / WORST + 1).map(|&x| f.bits(x)));
    }
    all.into_iter().map(|x| (x, 0)).chain(found(subject)).collect()
}

/// Returns the worst inputs that the search found.
fn found(subject: &Subject) -> impl Iterator<Item = (u64, u64)> + use<> {
    subject.leaders().into_iter().take(WORST).map(|Worst { x, y, .. }| (x, y))
}

/// Returns the inputs at which results become infinite, zero or subnormal, on both sides of 0, with
/// their neighbours.
fn ends(subject: &Subject) -> Vec<u64> {
    let f = subject.format;
    let kind = |x: u64| {
        let y = subject.ours(x, 0).abs();
        (y == f64::INFINITY, y == 0.0, y < f.value(1 << f.mantissa()))
    };
    let mut out = Vec::new();
    for sign in [0, f.sign()] {
        for (from, to) in [(f.bits(1.0), f.infinity() - 1), (1, f.bits(1.0))] {
            let (mut low, mut high) = (from | sign, to | sign);
            let at_low = kind(low);
            if kind(high) == at_low {
                continue;
            }
            while high - low > 1 {
                let middle = low + (high - low) / 2;
                if kind(middle) == at_low { low = middle } else { high = middle }
            }
            out.extend([low.saturating_sub(1), low, high, high + 1]);
        }
    }
    out
}
