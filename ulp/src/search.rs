//! Searches the greatest error over many inputs. A quick judge (the system's function in a wider
//! format) measures all of them; MPFR measures those that may be the worst, and some of the others
//! to check the judge.

use crate::extended::{self, Judge};
use crate::format::{Format, precise};
use crate::functions::Function;
use crate::inputs;
use rayon::prelude::*;
use rug::Float;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// An error in ulps, by MPFR, with the bits of the input.
#[derive(Clone, Copy, Debug)]
pub struct Worst {
    pub ulps: f64,
    pub x: u64,
    pub y: u64,
}

impl Worst {
    pub const NONE: Worst = Worst { ulps: 0.0, x: 0, y: 0 };

    pub fn or(self, other: Worst) -> Worst {
        if other.ulps > self.ulps { other } else { self }
    }
}

/// A function in one format, with its judge.
pub struct Subject {
    pub function: &'static Function,
    pub format: Format,
    extended: Option<Judge>,
    /// The greatest error so far; smaller ones need no MPFR.
    record: AtomicU64,
    /// Number of times that MPFR disagreed with the judge by more than its tolerance.
    misjudged: AtomicU64,
    /// The worst input of each chunk, according to the judge.
    leaders: Mutex<Vec<Worst>>,
}

/// Number of inputs that are measured between two accesses to the record.
const CHUNK: u64 = 1 << 14;
/// Number of leaders whose neighbourhood [`Subject::refine`] searches, and number of inputs for
/// each.
const LEADERS: usize = 256;
const AROUND: u64 = 1 << 14;

impl Subject {
    pub fn new(function: &'static Function, format: Format) -> Subject {
        let extended = extended::judge(function.name);
        let (record, misjudged) = (AtomicU64::new(0), AtomicU64::new(0));
        Subject { function, format, extended, record, misjudged, leaders: Mutex::default() }
    }

    /// Whether every f64 result is judged, and not only those that differ from glibc's.
    pub fn judges_all(&self) -> bool {
        self.format == Format::Single || self.extended.is_some()
    }

    pub fn misjudged(&self) -> u64 {
        self.misjudged.load(Relaxed)
    }

    pub fn ours(&self, x: u64, y: u64) -> f64 {
        match self.format {
            Format::Single => {
                f64::from((self.function.single)(f32::from_bits(x as u32), f32::from_bits(y as u32)))
            }
            Format::Double => (self.function.double)(f64::from_bits(x), f64::from_bits(y)),
        }
    }

    /// Returns the value by MPFR.
    pub fn exact(&self, x: u64, y: u64) -> Float {
        (self.function.mpfr)(precise(self.format.value(x)), precise(self.format.value(y)))
    }

    /// Returns the error by MPFR.
    pub fn error(&self, x: u64, y: u64) -> f64 {
        self.format.error(self.ours(x, y), &self.exact(x, y))
    }

    /// Returns the error according to the quick judge, and the maximum error of this judgement.
    fn quick(&self, x: u64, y: u64) -> (f64, f64) {
        match (self.format, self.extended) {
            (Format::Single, _) => {
                let (x, y) = (f32::from_bits(x as u32), f32::from_bits(y as u32));
                let near = (self.function.near)(f64::from(x), f64::from(y));
                // The tolerance is some ulps of f64, because the formulas for functions such as
                // normcdf lose a few bits.
                (Format::error_of_single((self.function.single)(x, y), near), 1e-5)
            }
            (Format::Double, Some(judge)) => {
                let ours = self.ours(x, y);
                (judge(f64::from_bits(x), f64::from_bits(y), ours), extended::TOLERANCE)
            }
            (Format::Double, None) => {
                let (ours, near) =
                    (self.ours(x, y), (self.function.near)(f64::from_bits(x), f64::from_bits(y)));
                let same = ours.to_bits() == near.to_bits() || ours.is_nan() && near.is_nan();
                (if same { 0.0 } else { f64::INFINITY }, 0.0)
            }
        }
    }

    /// Returns the error by MPFR, if it may be above the record or `sampled` holds, and the error
    /// according to the judge.
    fn measure(&self, record: f64, x: u64, y: u64, sampled: bool) -> (Option<f64>, f64) {
        let (quick, tolerance) = self.quick(x, y);
        let candidate = quick > tolerance && quick + tolerance > record;
        if !candidate && !sampled {
            return (None, quick);
        }
        if (1e4..f64::INFINITY).contains(&quick) {
            // The result is plainly wrong, perhaps for many inputs, so MPFR is not needed.
            return (Some(quick), quick);
        }
        let ulps = self.error(x, y);
        if self.judges_all() && (ulps - quick).abs() > tolerance * (1.0 + ulps) {
            self.misjudged.fetch_add(1, Relaxed);
        }
        (Some(ulps), quick)
    }

    /// Returns the worst of `count` inputs.
    pub fn search(&self, count: u64, input: impl Fn(u64) -> (u64, u64) + Sync) -> Worst {
        let chunks = (0..count.div_ceil(CHUNK)).into_par_iter();
        chunks
            .map(|c| self.chunk(c * CHUNK..((c + 1) * CHUNK).min(count), &input))
            .reduce(|| Worst::NONE, Worst::or)
    }

    fn chunk(&self, range: Range<u64>, input: impl Fn(u64) -> (u64, u64)) -> Worst {
        let mut record = f64::from_bits(self.record.load(Relaxed));
        let (mut worst, mut leader) = (Worst::NONE, Worst::NONE);
        for i in range {
            let (x, y) = input(i);
            let (ulps, quick) = self.measure(record, x, y, i % 8192 == 77);
            leader = leader.or(Worst { ulps: quick, x, y });
            if let Some(ulps) = ulps {
                worst = worst.or(Worst { ulps, x, y });
                record = record.max(ulps);
            }
        }
        // The bits of numbers that are not negative have the same order as the numbers.
        self.record.fetch_max(record.to_bits(), Relaxed);
        if let Ok(mut leaders) = self.leaders.lock() {
            leaders.push(leader);
            if leaders.len() > 1 << 16 {
                keep_worst(&mut leaders);
            }
        }
        worst
    }

    /// Returns the worst inputs of the chunks, according to the judge, beginning with the worst of
    /// all.
    pub fn leaders(&self) -> Vec<Worst> {
        let mut leaders = self.leaders.lock().map(|l| l.clone()).unwrap_or_default();
        keep_worst(&mut leaders);
        leaders
    }

    /// Returns the worst input in the neighbourhood of the worst ones found so far.
    pub fn refine(&self) -> Worst {
        let leaders = self.leaders();
        self.search(leaders.len() as u64 * AROUND, |i| {
            let at = leaders[(i / AROUND) as usize];
            let y = if self.function.two { inputs::around(self.format, at.y, !i) } else { 0 };
            (inputs::around(self.format, at.x, i), y)
        })
    }
}

fn keep_worst(all: &mut Vec<Worst>) {
    all.sort_by(|a, b| b.ulps.total_cmp(&a.ulps));
    all.truncate(LEADERS);
}

#[cfg(test)]
mod tests {
    use super::{Subject, Worst};
    use crate::format::Format;
    use crate::functions::Function;
    use crate::inputs;
    use rug::ops::Pow;

    fn of_two(
        name: &'static str,
        near: fn(f64, f64) -> f64,
        single: fn(f32, f32) -> f32,
        mpfr: fn(rug::Float, rug::Float) -> rug::Float,
    ) -> Function {
        Function { name, two: true, single, double: near, near, mpfr }
    }

    fn worst(function: Function, format: Format, count: u64) -> Worst {
        let subject = Subject::new(Box::leak(Box::new(function)), format);
        let special = inputs::special(format);
        let n = special.len() as u64;
        let worst = subject.search(n * n, |i| (special[(i / n) as usize], special[(i % n) as usize]));
        let worst = worst.or(subject.search(count, |i| inputs::two(format, i)));
        assert_eq!(subject.misjudged(), 0, "{} {}", subject.function.name, format.name());
        worst
    }

    /// Checks properties of the system's functions of two numbers: for the generated inputs and the
    /// special values, MPFR agrees with C99.
    #[test]
    fn of_the_system() {
        let all = [
            of_two("pow", f64::powf, |x, y| f64::from(x).powf(f64::from(y)) as f32, |x, y| x.pow(y)),
            of_two("atan2", f64::atan2, |x, y| f64::from(x).atan2(f64::from(y)) as f32, |y, x| y.atan2(&x)),
            of_two("hypot", f64::hypot, |x, y| f64::from(x).hypot(f64::from(y)) as f32, |x, y| x.hypot(&y)),
            of_two("fmod", |x, y| x % y, |x, y| x % y, |x, y| x % y),
        ];
        for f in all {
            let exact = f.name == "fmod";
            for (format, bound) in [(Format::Single, 0.501), (Format::Double, 1.0)] {
                let worst = worst(Function { ..f }, format, 1 << 18);
                let ok = if exact { worst.ulps == 0.0 } else { (0.49..bound).contains(&worst.ulps) };
                assert!(ok, "{} {format:?}: {worst:?}", f.name);
            }
        }
    }

    /// Checks that a wrong sign of zero, a result that is one ulp off, and a NaN are found.
    #[test]
    fn finds_errors() {
        let find = |double: fn(f64, f64) -> f64| {
            worst(
                of_two("fmod", |x, y| x % y, |x, y| x % y, |x, y| x % y).with(double),
                Format::Double,
                1 << 14,
            )
        };
        assert_eq!(find(|x, y| x % y).ulps, 0.0);
        assert_eq!(find(|x, y| x % y + 0.0).ulps, f64::INFINITY);
        assert!(find(|x, y| if x == 3.0 { 7.0 } else { x % y }).ulps > 1.0);
        assert_eq!(find(|x, y| if x == 5.0 { f64::NAN } else { x % y }).ulps, f64::INFINITY);
    }

    impl Function {
        fn with(self, double: fn(f64, f64) -> f64) -> Function {
            Function { double, ..self }
        }
    }
}
