//! The two formats, and the error of a result in units in the last place.

use rug::Float;

/// The format f32 or f64. Inputs and results are kept as bits (for f32 in the low 32) or as f64.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Single,
    Double,
}

/// Precision of exact values in bits, which is sufficient for all functions here.
const PRECISION: u32 = 300;

impl Format {
    pub fn name(self) -> &'static str {
        if self == Format::Double { "f64" } else { "f32" }
    }
    /// Returns the number of mantissa bits without the leading one.
    pub fn mantissa(self) -> u32 {
        if self == Format::Double { 52 } else { 23 }
    }
    /// Returns the number of bits of the format.
    pub fn width(self) -> u32 {
        if self == Format::Double { 64 } else { 32 }
    }
    pub fn sign(self) -> u64 {
        1 << (self.width() - 1)
    }
    /// Returns the exponent field of 1; exponents of normal numbers are from `1 - bias` to `bias`.
    pub fn bias(self) -> i64 {
        if self == Format::Double { 1023 } else { 127 }
    }
    /// Returns the bits of infinity.
    pub fn infinity(self) -> u64 {
        (2 * self.bias() as u64 + 1) << self.mantissa()
    }
    pub fn value(self, bits: u64) -> f64 {
        if self == Format::Double { f64::from_bits(bits) } else { f64::from(f32::from_bits(bits as u32)) }
    }
    /// Returns the bits of `x`, rounded to this format.
    pub fn bits(self, x: f64) -> u64 {
        if self == Format::Double { x.to_bits() } else { u64::from((x as f32).to_bits()) }
    }

    /// Returns |ours - exact| in units in the last place of the exact value's binade; for subnormal
    /// values the unit is the smallest number. An infinite result counts as the power of two above
    /// the greatest number. The error is infinite if NaN, an infinity or the sign of a zero is
    /// wrong.
    pub fn error(self, ours: f64, exact: &Float) -> f64 {
        if exact.is_nan() || ours.is_nan() {
            return if exact.is_nan() && ours.is_nan() { 0.0 } else { f64::INFINITY };
        }
        let one_is_zero = exact.is_zero() || ours == 0.0;
        if one_is_zero && exact.is_sign_negative() != ours.is_sign_negative() {
            return f64::INFINITY;
        }
        let (low, high) = (1 - self.bias() as i32, self.bias() as i32);
        let exponent = exact.get_exp().map_or(low, |e| (e - 1).clamp(low, high));
        let ulp = Float::with_val(PRECISION, 1) << (exponent - self.mantissa() as i32);
        let mut value = Float::with_val(PRECISION, ours);
        if ours.is_infinite() {
            let end = Float::with_val(PRECISION, 1) << (high + 1);
            if exact.clone().abs() >= end {
                return if exact.is_sign_negative() == (ours < 0.0) { 0.0 } else { f64::INFINITY };
            }
            value = if ours < 0.0 { -end } else { end };
        }
        if exact.is_infinite() {
            return f64::INFINITY;
        }
        (Float::with_val(PRECISION, &value - exact).abs() / ulp).to_f64()
    }

    /// Returns the error of an f32, where the exact value is given as an f64, which is accurate
    /// enough.
    pub fn error_of_single(ours: f32, exact: f64) -> f64 {
        if exact.is_nan() || ours.is_nan() {
            return if exact.is_nan() && ours.is_nan() { 0.0 } else { f64::INFINITY };
        }
        if (exact == 0.0 || ours == 0.0) && exact.is_sign_negative() != ours.is_sign_negative() {
            return f64::INFINITY;
        }
        let exponent = ((exact.to_bits() >> 52 & 0x7ff) as i64 - 1023).clamp(-126, 127);
        let inverse = f64::from_bits(((1023 + 23 - exponent) as u64) << 52);
        let mut value = f64::from(ours);
        if ours.is_infinite() {
            let end = f64::from_bits((1023 + 128) << 52);
            if exact.abs() >= end {
                return if (exact < 0.0) == (ours < 0.0) { 0.0 } else { f64::INFINITY };
            }
            value = end.copysign(value);
        }
        (value - exact).abs() * inverse
    }
}

/// Converts a number for MPFR.
pub fn precise(x: f64) -> Float {
    Float::with_val(PRECISION, x)
}

#[cfg(test)]
mod tests {
    use super::{Format, precise};

    #[test]
    fn errors() {
        let both = |ours: f32, exact: f64| {
            let (a, b) = (
                Format::error_of_single(ours, exact),
                Format::Single.error(f64::from(ours), &precise(exact)),
            );
            assert!(a == b, "{ours} {exact}: {a} {b}");
            a
        };
        assert_eq!(both(1.0, 1.0 + f64::from(f32::EPSILON) * 0.75), 0.75);
        assert_eq!(both(1.0, 1.0 - f64::from(f32::EPSILON) * 0.25), 0.5);
        assert_eq!(both(0.0, -0.0), f64::INFINITY);
        assert_eq!(both(-0.0, 1e-300), f64::INFINITY);
        assert_eq!(both(f32::NAN, 0.0), f64::INFINITY);
        assert_eq!(both(f32::NAN, f64::NAN), 0.0);
        assert_eq!(both(f32::from_bits(1), 0.0), 1.0);
        let above = f64::from(f32::MAX) + 0.25 * 2f64.powi(104);
        assert_eq!(both(f32::INFINITY, above), 0.75);
        assert_eq!(both(f32::MAX, above), 0.25);
        assert_eq!(both(f32::INFINITY, 1e300), 0.0);
        assert_eq!(both(f32::INFINITY, f64::INFINITY), 0.0);
        assert_eq!(both(f32::NEG_INFINITY, 1e300), f64::INFINITY);
        assert_eq!(both(f32::MAX, f64::INFINITY), f64::INFINITY);
    }
}
