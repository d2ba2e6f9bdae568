//! Tests the promised bounds (`bounds.txt`) natively: on hard cases with exact results by MPFR
//! (`hard/`, written by `cargo xtask ulp --hard`; the format of a line is in `ulp/src/hard.rs`),
//! and for f32 on a sample of all inputs, against the functions of the system in f64. What is
//! measured over all inputs is in docs/elementary.md.

use arraygpu_math as math;
use std::fs;
use std::path::{Path, PathBuf};

/// A function in both types. A function of one number ignores the second argument.
struct Function {
    name: &'static str,
    single: fn(f32, f32) -> f32,
    double: fn(f64, f64) -> f64,
    /// The function of the system, if Rust has it.
    system: Option<fn(f64) -> f64>,
}

macro_rules! of_one {
    ($($name:ident $system:expr),*) => {
        [$(Function { name: stringify!($name), single: |x, _| math::$name(x), double: |x, _| math::$name(x), system: $system }),*]
    };
}
macro_rules! of_two {
    ($($name:ident),*) => { [$(Function { name: stringify!($name), single: math::$name, double: math::$name, system: None }),*] };
}

fn functions() -> Vec<Function> {
    // The second argument is an integer, here as in the tables.
    fn whole(n: f64) -> f64 {
        if n.is_nan() { 0.0 } else { n.round_ties_even().clamp(-4000.0, 4000.0) }
    }
    let ldexp = Function {
        name: "ldexp",
        single: |x, n| math::ldexp(x, whole(f64::from(n)) as f32),
        double: |x, n| math::ldexp(x, whole(n)),
        system: None,
    };
    let one = of_one! {
        exp Some(f64::exp), log Some(f64::ln), log2 Some(f64::log2), log10 Some(f64::log10), log1p Some(f64::ln_1p),
        sin Some(f64::sin), cos Some(f64::cos), tan Some(f64::tan), sinpi None, cospi None,
        asin Some(f64::asin), acos Some(f64::acos), atan Some(f64::atan),
        exp2 Some(f64::exp2), expm1 Some(f64::exp_m1), sinh Some(f64::sinh), cosh Some(f64::cosh), tanh Some(f64::tanh),
        cbrt Some(f64::cbrt), rsqrt None, erf None, erfc None, normcdf None
    };
    let two = of_two! { pow, atan2, hypot, fmod, copysign };
    one.into_iter().chain(two).chain([ldexp]).collect()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// Returns the bounds of f32 and f64.
fn bounds(name: &str) -> (f64, f64) {
    let text = fs::read_to_string(folder().join("bounds.txt")).unwrap();
    let line = text
        .lines()
        .find(|l| l.split(' ').next() == Some(name))
        .unwrap_or_else(|| panic!("no bounds of {name}"));
    let mut numbers = line.split(' ').skip(1).map(|n| n.parse().unwrap());
    (numbers.next().unwrap(), numbers.next().unwrap())
}

/// Returns |ours - exact| in ulps: the exact magnitude is `result` plus `fraction` of a last place.
/// The error is infinite if the sign or a NaN is wrong.
fn error(ours: u64, result: u64, fraction: f64, sign: u64) -> f64 {
    let apart = (ours & (sign - 1)) as i64 - (result & (sign - 1)) as i64;
    if ours & sign != result & sign { f64::INFINITY } else { (apart as f64 - fraction).abs() }
}

#[test]
fn every_promise_is_tested() {
    let text = fs::read_to_string(folder().join("bounds.txt")).unwrap();
    let promised: Vec<_> =
        text.lines().filter(|l| !l.starts_with('#')).filter_map(|l| l.split(' ').next()).collect();
    let untested: Vec<_> =
        promised.iter().filter(|p| **p != "frexp" && functions().iter().all(|f| f.name != **p)).collect();
    assert!(promised.len() > 25 && untested.is_empty(), "no test of {untested:?}");
}

#[test]
fn hard_cases() {
    let broken: Vec<String> = functions().iter().filter_map(|f| hard_cases_of(f).err()).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Returns the first line of the function's table for which its bound does not hold.
fn hard_cases_of(f: &Function) -> Result<(), String> {
    let (single, double) = bounds(f.name);
    let path = folder().join("hard").join(format!("{}.txt", f.name));
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    assert!(text.lines().count() > 100, "{} has cases", f.name);
    for line in text.lines() {
        let words: Vec<_> = line.split(' ').collect();
        let bits = |i: usize| u64::from_str_radix(words[i], 16).unwrap();
        let (x, y, last) = (bits(1), if words.len() == 5 { bits(2) } else { 0 }, words.len() - 1);
        let (ours, is_nan, sign, bound) = if words[0] == "f32" {
            let ours = (f.single)(f32::from_bits(x as u32), f32::from_bits(y as u32));
            (u64::from(ours.to_bits()), ours.is_nan(), 1 << 31, single)
        } else {
            let ours = (f.double)(f64::from_bits(x), f64::from_bits(y));
            (ours.to_bits(), ours.is_nan(), 1 << 63, double)
        };
        let off = match words[last - 1] {
            "nan" if is_nan => 0.0,
            "nan" => f64::INFINITY,
            _ if is_nan => f64::INFINITY,
            _ => error(ours, bits(last - 1), bits(last) as f64 / 256.0, sign),
        };
        // The fractions in the tables are truncated to 1/256.
        if off > bound + 1.0 / 256.0 {
            return Err(format!("{} {line}: {ours:x} is off by {off:.3} ulp", f.name));
        }
    }
    Ok(())
}

/// Checks that the halves of `frexp` have the right form and multiply to the number, which makes
/// them exact.
fn check_frexp(bits: impl Iterator<Item = u32>, wide: impl Iterator<Item = u64>) {
    assert_eq!(bounds("frexp"), (0.0, 0.0));
    let special = |x: f64| x == 0.0 || !x.is_finite();
    for x in bits.map(f32::from_bits) {
        let (m, e) = (math::frexp_mantissa(x), math::frexp_exponent(x));
        if special(x.into()) {
            assert!(
                e == 0.0 && (m.to_bits() == x.to_bits() || x.is_nan() && m.is_nan()),
                "{x:e}: {m:e}, {e}"
            );
            continue;
        }
        // f64 represents every product exactly.
        let back = f64::from(m) * f64::from(e).exp2();
        assert!((0.5..1.0).contains(&m.abs()) && back == f64::from(x), "{x:e}: {m:e}, {e}");
    }
    for x in wide.map(f64::from_bits) {
        let (m, e) = (math::frexp_mantissa(x), math::frexp_exponent(x));
        if special(x) {
            assert!(
                e == 0.0 && (m.to_bits() == x.to_bits() || x.is_nan() && m.is_nan()),
                "{x:e}: {m:e}, {e}"
            );
            continue;
        }
        // The power is multiplied in two steps. The first one is exact, and so is the second one if
        // m is right.
        let back = m * (e / 2.0).ceil().exp2() * (e / 2.0).floor().exp2();
        assert!((0.5..1.0).contains(&m.abs()) && back == x, "{x:e}: {m:e}, {e}");
    }
}

#[test]
fn frexp_is_exact() {
    check_frexp((0..=u32::MAX).step_by(32771), (0..=u64::MAX).step_by(0x8000_0000_0001));
}

#[test]
#[ignore = "all 2^32 numbers of f32, a minute when optimised"]
fn frexp_is_exact_everywhere() {
    check_frexp(0..=u32::MAX, (0..=u64::MAX).step_by(0x7f_ffff_ff01));
}

#[test]
fn samples_of_f32() {
    for f in functions() {
        let Some(system) = f.system else { continue };
        let (bound, _) = bounds(f.name);
        for bits in (0..=u32::MAX).step_by(32771) {
            let x = f32::from_bits(bits);
            let (ours, exact) = ((f.single)(x, 0.0), system(f64::from(x)));
            if exact.is_nan() || ours.is_nan() {
                assert!(exact.is_nan() && ours.is_nan(), "{}({x:e}) = {ours:e}", f.name);
                continue;
            }
            // The value is rounded towards zero, and the rest is the fraction.
            let near = exact as f32;
            let away = f64::from(near).abs() > exact.abs();
            let below = f32::from_bits(near.to_bits() - u32::from(away));
            let ulp = f64::from(f32::from_bits(below.to_bits() + 1)).abs() - f64::from(below).abs();
            let fraction = if below.is_infinite() || !ulp.is_finite() {
                0.0
            } else {
                (exact.abs() - f64::from(below).abs()) / ulp
            };
            let off = error(ours.to_bits().into(), below.to_bits().into(), fraction, 1 << 31);
            assert!(off <= bound + 1e-6, "{}({x:e}) = {ours:e} is off by {off:.3} ulp", f.name);
        }
    }
}
