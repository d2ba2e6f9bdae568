//! Tests of quotients that are computed by products.

use super::reciprocal;

/// Whether quotients are right at each multiple of `d` and just below it, and so everywhere between.
fn is_right(most: u64, d: u64) -> bool {
    let Some((factor, shift)) = reciprocal(most, d) else { return true };
    let right = |x: u64| x * factor < 1 << 32 && (x * factor) >> shift == x / d;
    let multiples = (0..=most / d).map(|q| q * d);
    multiples.flat_map(|x| [x, (x + d - 1).min(most)]).all(right)
}

#[test]
fn quotients_of_16_bits() {
    for d in 1..=65535 {
        assert!(is_right(65535, d), "by {d}");
    }
    for (most, d) in (1..600).flat_map(|most| (1..=most).map(move |d| (most, d))) {
        assert!(is_right(most, d), "{most} by {d}");
    }
}

#[test]
fn which_are_found() {
    assert_eq!(reciprocal(2295, 9), Some((7282, 16)));
    assert_eq!(reciprocal(65535, 9), Some((58255, 19)));
    assert_eq!(reciprocal(u32::MAX.into(), 9), None);
}
