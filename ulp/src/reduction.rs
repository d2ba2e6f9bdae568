//! Finds the numbers of each binade that are nearest to a multiple of pi / 2, for which the
//! reduction of an argument loses most.

use rug::Float;

/// Precision in bits, which suffices for 2^1023 times 2 / pi with the first 150 bits of its
/// fraction.
const PRECISION: u32 = 1400;

/// Returns, for every exponent e of the format, numbers m 2^e that are nearly multiples of pi / 2,
/// where m is an integer with `mantissa + 1` bits: a denominator of the continued fraction of 2^e 2
/// / pi. (For f64 the nearest of all is 6381956970095103 2^797.)
pub fn near_multiples(mantissa: u32, bias: i32) -> Vec<f64> {
    let ratio = Float::with_val(PRECISION, 2) / Float::with_val(PRECISION, rug::float::Constant::Pi);
    let mantissa = mantissa as i32;
    let mut out = Vec::new();
    for e in -mantissa..=bias - mantissa {
        let mut rest = ratio.clone() << e;
        let (mut before, mut now) = (0u128, 1u128);
        while now < 1 << (mantissa + 1) {
            // This is the multiple of the denominator that has full length; shorter ones are
            // numbers of other binades, too.
            let full = (1u128 << mantissa).div_ceil(now) * now;
            for m in [now, full] {
                if m < 1 << (mantissa + 1) {
                    out.push(m as f64 * 2f64.powi(e));
                }
            }
            let fraction = rest.clone().fract();
            if fraction.is_zero() {
                break;
            }
            rest = fraction.recip();
            let digit = rest.to_f64().trunc();
            if digit >= 1e18 {
                break;
            }
            (before, now) = (now, digit as u128 * now + before);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::near_multiples;

    #[test]
    fn the_nearest() {
        let all = near_multiples(52, 1023);
        assert!(all.contains(&(6381956970095103.0 * 2f64.powi(797))));
        assert!(all.len() > 10_000);
        // The nearest number of f32 is 16367173 2^72.
        assert!(near_multiples(23, 127).contains(&(16367173.0 * 2f64.powi(72))));
    }
}
