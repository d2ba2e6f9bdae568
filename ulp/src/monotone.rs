//! Checks whether a function keeps the order of neighbouring numbers.

use crate::format::Format;
use crate::inputs;
use crate::search::Subject;
use rayon::prelude::*;

/// Returns whether the function falls instead of rising, and the number from which on it is
/// monotone, or None if it is not monotone.
fn direction(name: &str) -> Option<(bool, f64)> {
    const RISING: [&str; 14] = [
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "cbrt", "asin", "atan", "sinh", "tanh",
        "erf", "normcdf",
    ];
    let everywhere = f64::NEG_INFINITY;
    match name {
        _ if RISING.contains(&name) => Some((false, everywhere)),
        "acos" | "erfc" => Some((true, everywhere)),
        // The function is not monotone from one zero to the other.
        "rsqrt" => Some((true, f64::from_bits(1))),
        "cosh" => Some((false, 0.0)),
        _ => None,
    }
}

/// The number of pairs of neighbours that break the order, and the bits of one such number.
#[derive(Clone, Copy, Default, Debug)]
pub struct Breaks {
    pub pairs: u64,
    pub count: u64,
    pub at: u64,
}

impl Breaks {
    fn and(self, other: Breaks) -> Breaks {
        let at = if self.count > 0 { self.at } else { other.at };
        Breaks { pairs: self.pairs + other.pairs, count: self.count + other.count, at }
    }
}

/// Number of neighbours in one run.
const RUN: u64 = 1 << 12;

/// Checks all neighbours for f32, and `count` of them in runs for f64. Returns None if the function
/// is not monotone.
pub fn check(subject: &Subject, count: u64) -> Option<Breaks> {
    let (falls, from) = direction(subject.function.name)?;
    let f = subject.format;
    let runs = if f == Format::Single { 1 << 32 } else { count } / RUN;
    let start = |i: u64| match f {
        Format::Single => i * RUN,
        Format::Double => rank(f, inputs::one(f, i)).saturating_sub(RUN / 2),
    };
    let check = |i: u64| {
        let first = start(i);
        // The range includes one number more, for the pair across the end of the run.
        let last = first.saturating_add(RUN).min(u64::MAX >> (64 - f.width()));
        let mut breaks = Breaks::default();
        let mut before = f64::NAN;
        for r in first..=last {
            let x = unrank(f, r);
            let y = if f.value(x) >= from { subject.ours(x, 0) } else { f64::NAN };
            let wrong = if falls { y > before } else { y < before };
            breaks = breaks.and(Breaks { pairs: (r > first).into(), count: wrong.into(), at: x });
            before = y;
        }
        breaks
    };
    Some((0..runs).into_par_iter().map(check).reduce(Breaks::default, Breaks::and))
}

/// Returns the position of a number in the order of all numbers; negative NaNs are first.
fn rank(f: Format, bits: u64) -> u64 {
    if bits & f.sign() != 0 { f.sign() - 1 - (bits & (f.sign() - 1)) } else { bits | f.sign() }
}

fn unrank(f: Format, rank: u64) -> u64 {
    if rank & f.sign() != 0 { rank & (f.sign() - 1) } else { f.sign() | (f.sign() - 1 - rank) }
}

#[cfg(test)]
mod tests {
    use super::{check, rank, unrank};
    use crate::format::Format;
    use crate::functions::Function;
    use crate::search::Subject;

    #[test]
    fn ranks() {
        for f in [Format::Single, Format::Double] {
            let numbers = [f64::NEG_INFINITY, -1.0, -0.0, 0.0, 1.0, 2.0, f64::INFINITY];
            let ranks = numbers.map(|x| rank(f, f.bits(x)));
            assert!(ranks.is_sorted());
            assert_eq!(ranks.map(|r| f.value(unrank(f, r))), numbers);
            assert_eq!(ranks[3], ranks[2] + 1);
        }
    }

    #[test]
    fn finds_breaks() {
        let of = |double: fn(f64, f64) -> f64| {
            let f =
                Function { name: "exp", two: false, single: |x, _| x, double, near: double, mpfr: |x, _| x };
            check(&Subject::new(Box::leak(Box::new(f)), Format::Double), 1 << 20).unwrap_or_default()
        };
        assert_eq!(of(|x, _| x * 0.1).count, 0);
        assert!(of(|x, _| f64::from_bits(x.to_bits() ^ 1)).count > 1000);
    }
}
