//! `ulp FUNCTION f32|f64 [STEP]`: the greatest error of a function in units in the last place, and where.
//! f32: every STEP-th of the 2^32 inputs (1: all). f64: 2^26 / STEP inputs, random bits, around powers of two, and of moderate size.

mod functions;

use functions::{FUNCTIONS, Function};
use rayon::prelude::*;
use rug::Float;

/// An error in ulps and the input.
type Worst = (f64, u64);

fn worse(a: Worst, b: Worst) -> Worst {
    if a.0 >= b.0 { a } else { b }
}

/// The value by MPFR with 300 bits.
fn exact(f: &Function, x: f64) -> Float {
    (f.mpfr)(Float::with_val(300, x))
}

/// |ours - exact| in units of the last place of the exact value's binade (subnormals: of the smallest number). Special values count 0 or infinity.
fn error(ours: f64, exact: &Float, mantissa: i32, lowest: i32, greatest: f64) -> f64 {
    if exact.is_nan() || ours.is_nan() {
        return if exact.is_nan() && ours.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if exact.is_zero() {
        return if ours == 0.0 && ours.is_sign_negative() == exact.is_sign_negative() {
            0.0
        } else {
            f64::INFINITY
        };
    }
    let exponent = exact.get_exp().map_or(lowest, |e| (e - 1).max(lowest));
    let ulp = Float::with_val(300, 1) << (exponent - mantissa);
    if ours.is_infinite() {
        // as if the exponent had no end: half an ulp past the greatest number rounds to infinity
        let end = Float::with_val(300, greatest) + Float::with_val(300, &ulp / 2);
        return if exact.clone().abs() >= end && (ours > 0.0) == (*exact > 0) { 0.0 } else { f64::INFINITY };
    }
    if exact.is_infinite() {
        return f64::INFINITY;
    }
    (Float::with_val(300, exact - ours).abs() / ulp).to_f64()
}

/// One f32 input: by f64 where that decides, else by MPFR.
fn single(f: &Function, bits: u32) -> f64 {
    let x = f32::from_bits(bits);
    let ours = (f.single)(x);
    let near = (f.near)(f64::from(x));
    // zeros, infinities, NaN, subnormal results: rounded as f64 says is right (within 2^-29 of half an ulp)
    let settled = ours.to_bits() == (near as f32).to_bits() || ours.is_nan() && near.is_nan();
    if settled && !(1e-37..1e38).contains(&near.abs()) {
        return 0.0;
    }
    let (value, ulp) = (near.abs(), near.abs().to_bits() & 0x7ff << 52);
    // a normal result and a difference well inside what the tool reports
    if (1e-37..1e38).contains(&value) && ours.is_finite() {
        let ulp = f64::from_bits(ulp) * f64::EPSILON * (1u64 << 29) as f64;
        let e = (f64::from(ours) - near).abs() / ulp;
        if e < 0.9 {
            return e;
        }
    }
    error(f64::from(ours), &exact(f, f64::from(x)), 23, -126, f64::from(f32::MAX))
}

/// One f64 input: what glibc says, too, is off by less than 0.6 ulp or so; MPFR looks at the rest.
fn double(f: &Function, bits: u64) -> f64 {
    let x = f64::from_bits(bits);
    let (ours, near) = ((f.double)(x), (f.near)(x));
    if ours.to_bits() == near.to_bits() || ours.is_nan() && near.is_nan() {
        return 0.0;
    }
    error(ours, &exact(f, x), 52, -1022, f64::MAX)
}

/// A number of the sequence without correlation between bits (splitmix64).
fn scramble(i: u64) -> u64 {
    let z = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// The i-th f64 input.
fn input(i: u64) -> u64 {
    let r = scramble(i);
    let sign = r << 63;
    match i % 4 {
        0 => r,
        // exponents from 2^-40 to 2^11
        1 | 2 => sign | (1023 - 40 + (r >> 1) % 52) << 52 | r >> 12,
        // a few ulps around multiples of 1/8
        _ => {
            let near = ((r >> 8) % 8192) as f64 / 8.0;
            sign | near.to_bits().wrapping_add((r >> 32) % 64).wrapping_sub(32) & !(1 << 63)
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (Some(name), Some(ty)) = (args.first(), args.get(1)) else {
        let names: Vec<_> = FUNCTIONS.iter().map(|f| f.name).collect();
        return eprintln!("ulp FUNCTION f32|f64 [STEP]; functions: {}", names.join(" "));
    };
    let step: u64 = args.get(2).and_then(|s| s.parse().ok()).unwrap_or(1);
    for f in FUNCTIONS.iter().filter(|f| f.name == name || name == "all") {
        let worst = if ty == "f32" {
            let all = (0..(1u64 << 32) / step).into_par_iter();
            all.map(|i| (single(f, (i * step) as u32), i * step)).reduce(|| (0.0, 0), worse)
        } else {
            let all = (0..(1u64 << 26) / step).into_par_iter();
            all.map(|i| (double(f, input(i)), input(i))).reduce(|| (0.0, 0), worse)
        };
        let (x, y, r) = if ty == "f32" {
            let x = f32::from_bits(worst.1 as u32);
            (f64::from(x), f64::from((f.single)(x)), exact(f, f64::from(x)).to_f64())
        } else {
            let x = f64::from_bits(worst.1);
            (x, (f.double)(x), exact(f, x).to_f64())
        };
        println!("{:8} {ty} {:.4} ulp at {x:e} (0x{:x}): {y:e}, exactly {r:e}", f.name, worst.0, worst.1);
    }
}
