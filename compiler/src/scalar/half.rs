//! f16 and bf16: conversion of numbers to their bits, rounded once to nearest even, and back.
//!
//! This module does not use the crate `half`, which is used for authors' constants. That crate's
//! conversions from f64 drop the low 32 bits of the mantissa before they round, so a number just
//! above a tie is rounded to even, and NaNs keep a payload, whereas results have one canonical NaN.
//! For f32 both agree (`dsl/tests/halves.rs`).

use super::Ty;

/// Returns the number of mantissa bits, without the leading one, and the exponent of the least
/// normal number.
fn format(ty: Ty) -> (i32, i32) {
    if ty == Ty::F16 { (10, -14) } else { (7, -126) }
}

/// Returns the canonical NaN of results (semantics 2.4).
pub fn nan(ty: Ty) -> u16 {
    if ty == Ty::F16 { 0x7e00 } else { 0x7fc0 }
}

/// Returns the value with those bits.
pub fn to_f32(ty: Ty, bits: u16) -> f32 {
    if ty == Ty::Bf16 {
        return f32::from_bits(u32::from(bits) << 16);
    }
    let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f32::from(bits & 0x3ff));
    let size = match exponent {
        0 => mantissa * 2f32.powi(-24),
        31 if mantissa == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (mantissa + 1024.0) * 2f32.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -size } else { size }
}

/// Returns the nearest f16 or bf16.
pub fn of_f64(ty: Ty, x: f64) -> u16 {
    let (bits, least) = format(ty);
    if x.is_nan() {
        return nan(ty);
    }
    let sign = u16::from(x.is_sign_negative()) << 15;
    let exponent = (x.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    // the number of units in the last place of x, rounded; the product is exact except far below
    // the least subnormal
    let step = exponent.max(least) - bits;
    let steps = (x.abs() * 2f64.powi(-step)).round_ties_even();
    if exponent > 127 {
        return sign | infinity(ty);
    }
    // the sum carries into the exponent if rounding overflows the mantissa
    let magnitude = ((exponent.max(least) - least) as u64).wrapping_shl(bits as u32) + steps as u64;
    sign | u16::try_from(magnitude).map_or(infinity(ty), |m| m.min(infinity(ty)))
}

fn infinity(ty: Ty) -> u16 {
    if ty == Ty::F16 { 0x7c00 } else { 0x7f80 }
}

/// Returns the nearest f16 or bf16 of an integer.
pub fn of_int(ty: Ty, x: i128) -> u16 {
    let size = x.unsigned_abs();
    // bits beyond the 53 bits of an f64 are joined into the last one, so that no tie arises falsely
    let cut = (128 - size.leading_zeros()).saturating_sub(53);
    let rest = u128::from(size & ((1 << cut) - 1) != 0);
    let odd = (((size >> cut) | rest) as f64) * 2f64.powi(cut as i32);
    of_f64(ty, if x < 0 { -odd } else { odd })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPES: [Ty; 2] = [Ty::F16, Ty::Bf16];

    /// Returns every finite value, in ascending order, with its bits.
    fn finite(ty: Ty) -> Vec<(f64, u16)> {
        (0..infinity(ty)).map(|b| (f64::from(to_f32(ty, b)), b)).collect()
    }

    #[test]
    fn all_bits_come_back() {
        for ty in TYPES {
            for bits in 0..=u16::MAX {
                let x = to_f32(ty, bits);
                let expected = if x.is_nan() { nan(ty) } else { bits };
                assert_eq!(of_f64(ty, x.into()), expected, "{ty} {bits:x}");
            }
            assert!(finite(ty).is_sorted_by(|a, b| a.0 < b.0));
        }
    }

    #[test]
    fn ties_go_to_even_and_their_neighbours_do_not() {
        for ty in TYPES {
            let all = finite(ty);
            let beyond = (2.0 * all[all.len() - 1].0 - all[all.len() - 2].0, infinity(ty));
            let above = all.iter().skip(1).chain([&beyond]);
            for (&(low, a), &(high, b)) in all.iter().zip(above) {
                let tie = (low + high) / 2.0;
                let even = if a & 1 == 0 { a } else { b };
                let [below, over] = [tie.next_down(), tie.next_up()];
                for (x, bits) in [(tie, even), (below, a), (over, b)] {
                    assert_eq!(of_f64(ty, x), bits, "{ty} {x:e}");
                    assert_eq!(of_f64(ty, -x), bits | 0x8000, "{ty} -{x:e}");
                }
            }
            let ends =
                [(f64::MAX, infinity(ty)), (f64::INFINITY, infinity(ty)), (5e-324, 0), (0.0, 0), (1e-300, 0)];
            assert!(ends.iter().all(|(x, bits)| of_f64(ty, *x) == *bits), "{ty}");
        }
    }

    #[test]
    fn integers_round_once() {
        // a tie of bf16, and that tie plus one, which f32 and f64 cannot tell apart
        let tie = (1i128 << 62) + (1 << 54);
        assert_eq!(of_int(Ty::Bf16, tie), of_f64(Ty::Bf16, 2f64.powi(62)));
        assert_eq!(of_int(Ty::Bf16, tie + 1), of_f64(Ty::Bf16, 2f64.powi(62)) + 1);
        assert_eq!(of_int(Ty::Bf16, -tie - 1), (of_f64(Ty::Bf16, 2f64.powi(62)) + 1) | 0x8000);
        assert_eq!(
            [65519, 65520, i128::from(u64::MAX)].map(|x| of_int(Ty::F16, x)),
            [0x7bff, 0x7c00, 0x7c00]
        );
    }
}
